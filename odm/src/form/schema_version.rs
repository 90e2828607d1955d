//! Versions of documents: older documents are upgraded when they are read, and written in the present
//! form.

use crate::base::{
    bson::{
        Bson, DecodeError, Document, RawBsonRef, RawDocument, RawDocumentBuf, decode_document, doc,
        to_raw_document,
    },
    error::BoxedError,
};

/// The version of the documents of a model.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct SchemaVersion {
    /// The name of the model's struct.
    pub model: &'static str,
    /// The present version, from 1.
    pub version: u32,
    /// The stored name of the field with the version.
    pub field: &'static str,
    /// Changes a document to the form of the next version.
    pub upgrade: fn(u32, &mut Document) -> Result<(), BoxedError>,
}

/// Why a stored document has no present form.
#[derive(Debug)]
pub(crate) enum Outdated {
    /// It has a newer version.
    Newer { stored: i64 },
    /// The upgrade from a version failed.
    Upgrade { from: u32, source: BoxedError },
    /// The version is not a positive integer, or the document is malformed.
    Invalid(DecodeError),
}

/// Which version a document without the field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WithoutField {
    /// Version 1: it was written before the model had a version.
    Old,
    /// The present one: the result of an aggregation.
    Present,
}

impl SchemaVersion {
    /// The document in its present form. `None` if it has this form.
    pub(crate) fn upgraded(
        self,
        raw: &RawDocument,
        without_field: WithoutField,
    ) -> Result<Option<RawDocumentBuf>, Outdated> {
        let stored = match raw.get(self.field).map_err(|e| Outdated::invalid("", e))? {
            Some(value) => self.number(value)?,
            None if without_field == WithoutField::Present => return Ok(None),
            None => 1,
        };
        let present = i64::from(self.version);
        if stored == present {
            return Ok(None);
        }
        match u32::try_from(stored) {
            Ok(from) if from < self.version => self.upgrade(raw, from).map(Some),
            _ => Err(Outdated::Newer { stored }),
        }
    }

    /// The version in a document.
    fn number(self, value: RawBsonRef<'_>) -> Result<i64, Outdated> {
        let number = match value {
            RawBsonRef::Int32(number) => Some(i64::from(number)),
            RawBsonRef::Int64(number) => Some(number),
            // Written by a shell.
            RawBsonRef::Double(number) if number.fract() == 0.0 && number.abs() < 1e9 =>
            {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "an integer of less than 10 digits"
                )]
                Some(number as i64)
            }
            RawBsonRef::Null => Some(1),
            _ => None,
        };
        match number {
            Some(number) if number > 0 => Ok(number),
            _ => Err(Outdated::invalid(
                self.field,
                "expected a version: a positive integer",
            )),
        }
    }

    /// The filter of documents without the present version or a newer one.
    pub(crate) fn older(self) -> Document {
        doc! { self.field: { "$not": { "$gte": self.stored() } } }
    }

    /// Whether the filter [`older`](Self::older) matches the document.
    pub(crate) fn is_older(self, raw: &RawDocument) -> bool {
        let stored = raw.get(self.field).ok().flatten();
        let stored = stored.and_then(|stored| self.number(stored).ok());
        stored.is_none_or(|stored| stored < i64::from(self.version))
    }

    /// The version of a document; 1 if it has no valid one.
    pub(crate) fn of(self, raw: &RawDocument) -> u32 {
        let stored = raw.get(self.field).ok().flatten();
        let stored = stored.and_then(|stored| self.number(stored).ok());
        stored.and_then(|stored| u32::try_from(stored).ok()).unwrap_or(1)
    }

    #[cold]
    fn upgrade(self, raw: &RawDocument, from: u32) -> Result<RawDocumentBuf, Outdated> {
        let mut document = decode_document(raw.as_bytes()).map_err(Outdated::Invalid)?;
        let id = document.get("_id").cloned();
        for from in from..self.version {
            let upgraded = (self.upgrade)(from, &mut document);
            upgraded.map_err(|source| Outdated::Upgrade { from, source })?;
            if document.get("_id") != id.as_ref() {
                let source = "the function has changed `_id`, which cannot change".into();
                return Err(Outdated::Upgrade { from, source });
            }
        }
        self.mark(&mut document);
        to_raw_document(&document).map_err(|e| Outdated::Upgrade {
            from,
            source: e.message().to_owned().into(),
        })
    }

    /// Sets the present version.
    pub(crate) fn mark(self, document: &mut Document) {
        document.insert(self.field, self.stored());
    }

    /// The present version as a stored value.
    pub(crate) fn stored(self) -> Bson {
        match i32::try_from(self.version) {
            Ok(version) => Bson::Int32(version),
            Err(_) => Bson::Int64(self.version.into()),
        }
    }
}

impl Outdated {
    fn invalid(path: &str, message: impl std::fmt::Display) -> Self {
        let error = DecodeError::new(message.to_string());
        Outdated::Invalid(if path.is_empty() {
            error
        } else {
            error.in_field(path)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: SchemaVersion = SchemaVersion {
        model: "Person",
        version: 3,
        field: "v",
        upgrade: |from, document| {
            if document.contains_key("broken") {
                return Err("broken".into());
            }
            document.insert(format!("from_{from}"), true);
            if document.contains_key("moved") {
                document.insert("_id", 2);
            }
            Ok(())
        },
    };

    fn upgraded(document: &Document) -> Result<Option<Document>, Outdated> {
        let raw = to_raw_document(document).expect("a document");
        let upgraded = VERSION.upgraded(&raw, WithoutField::Old)?;
        Ok(upgraded.map(|raw| decode_document(raw.as_bytes()).expect("a document")))
    }

    #[test]
    fn the_function_is_called_for_each_version() {
        let two = doc! { "_id": 1, "from_1": true, "from_2": true, "v": 3 };
        assert_eq!(upgraded(&doc! { "_id": 1 }).unwrap(), Some(two));
        for two in [Bson::Int32(2), Bson::Int64(2), Bson::Double(2.0)] {
            let found = upgraded(&doc! { "_id": 1, "v": two }).unwrap();
            assert_eq!(found, Some(doc! { "_id": 1, "v": 3, "from_2": true }));
        }
        assert_eq!(upgraded(&doc! { "_id": 1, "v": 3_i64 }).unwrap(), None);
        let raw = to_raw_document(&doc! { "_id": 1 }).expect("a document");
        let result = VERSION.upgraded(&raw, WithoutField::Present).unwrap();
        assert!(result.is_none());
    }

    #[test]
    fn what_cannot_be_upgraded_is_an_error() {
        let newer = upgraded(&doc! { "v": 4 });
        assert!(matches!(newer, Err(Outdated::Newer { stored: 4 })), "{newer:?}");
        let newer = upgraded(&doc! { "v": i64::MAX });
        assert!(
            matches!(newer, Err(Outdated::Newer { stored: i64::MAX })),
            "{newer:?}"
        );
        for broken in ["broken", "moved"] {
            let failed = upgraded(&doc! { "_id": 1, broken: 1, "v": 2 });
            assert!(
                matches!(failed, Err(Outdated::Upgrade { from: 2, .. })),
                "{failed:?}"
            );
        }
        let other = [
            Bson::from("2"),
            0.into(),
            (-1).into(),
            1.5.into(),
            f64::NAN.into(),
            f64::MAX.into(),
        ];
        for value in other {
            let invalid = upgraded(&doc! { "v": value });
            let Err(Outdated::Invalid(error)) = &invalid else {
                panic!("{invalid:?}");
            };
            assert_eq!(error.path(), "v");
        }
    }
}

//! DBRefs: the convention for references to documents.
//!
//! Specification: <https://github.com/mongodb/specifications/blob/master/source/dbref/dbref.md>.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::error::DecodeError;
use super::{Bson, Document, exact};

/// A reference to a document: an embedded document
/// `{"$ref": collection, "$id": _id, "$db": database}`. The database and further fields are
/// optional.
///
/// Neither the driver nor the server resolves references. As a field of a struct it is deserialized
/// from fields in any order, and serialized in the order of the specification.
///
/// ```
/// use marula_driver::bson::{Bson, DbRef, doc};
///
/// let reference = DbRef::new("trees", 7).with_database("grove");
/// let document = doc! { "$ref": "trees", "$id": 7, "$db": "grove" };
/// assert_eq!(DbRef::try_from(document.clone())?, reference);
/// assert_eq!(Bson::from(reference), Bson::Document(document));
/// # Ok::<(), marula_driver::bson::DecodeError>(())
/// ```
///
/// The `_id` and the further fields are read as they are stored; see [`exact`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "Document")]
#[non_exhaustive]
pub struct DbRef {
    /// Collection of the referenced document.
    pub collection: String,
    /// `_id` of the referenced document, of any type.
    pub id: Bson,
    /// Database of the referenced document. Default: that of the reference.
    pub database: Option<String>,
    /// Further fields, in their order. Fields named `$ref`, `$id` and `$db` are not serialized.
    pub extra: Document,
}

impl DbRef {
    /// A reference within the same database.
    pub fn new(collection: impl Into<String>, id: impl Into<Bson>) -> Self {
        Self {
            collection: collection.into(),
            id: id.into(),
            database: None,
            extra: Document::new(),
        }
    }

    /// Sets the database.
    #[must_use]
    pub fn with_database(mut self, database: impl Into<String>) -> Self {
        self.database = Some(database.into());
        self
    }
}

impl<'de> Deserialize<'de> for DbRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document: Document = exact::deserialize(deserializer)?;
        Self::try_from(document).map_err(D::Error::custom)
    }
}

impl TryFrom<Document> for DbRef {
    type Error = DecodeError;

    fn try_from(document: Document) -> Result<Self, DecodeError> {
        let (mut collection, mut id, mut database) = (None, None, None);
        let mut extra = Document::new();
        for (key, value) in document {
            match key.as_str() {
                "$ref" => collection = Some(string(value, "$ref")?),
                "$id" => id = Some(value),
                "$db" => database = Some(string(value, "$db")?),
                _ => {
                    extra.insert(key, value);
                }
            }
        }
        let missing = |key| DecodeError::new("a DBRef needs this field").in_field(key);
        Ok(Self {
            collection: collection.ok_or_else(|| missing("$ref"))?,
            id: id.ok_or_else(|| missing("$id"))?,
            database,
            extra,
        })
    }
}

fn string(value: Bson, key: &str) -> Result<String, DecodeError> {
    match value {
        Bson::String(text) => Ok(text),
        other => Err(DecodeError::mismatch("a string", other.element_type()).in_field(key)),
    }
}

impl From<DbRef> for Document {
    fn from(reference: DbRef) -> Self {
        let mut document = Self::new();
        document.insert("$ref", reference.collection);
        document.insert("$id", reference.id);
        if let Some(database) = reference.database {
            document.insert("$db", database);
        }
        let reserved = |key: &str| matches!(key, "$ref" | "$id" | "$db");
        let extra = reference.extra.into_iter();
        document.extend(extra.filter(|(key, _)| !reserved(key)));
        document
    }
}

impl From<DbRef> for Bson {
    fn from(reference: DbRef) -> Self {
        Self::Document(reference.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::{ObjectId, append_document, doc, from_slice, to_vec};

    /// Decodes explicitly and as a field of a struct, and encodes both.
    fn round_trip(document: Document) -> (DbRef, Vec<String>) {
        #[derive(Serialize, Deserialize)]
        struct Holder {
            at: DbRef,
        }
        let reference = DbRef::try_from(document.clone()).unwrap();
        let written = Document::from(reference.clone());
        let mut bytes = Vec::new();
        append_document(&doc! { "at": document }, &mut bytes).unwrap();
        let holder: Holder = from_slice(&bytes).unwrap();
        assert_eq!(holder.at, reference);
        let mut expected = Vec::new();
        append_document(&doc! { "at": written.clone() }, &mut expected).unwrap();
        assert_eq!(to_vec(&holder).unwrap(), expected);
        (reference, written.keys().cloned().collect())
    }

    #[test]
    fn basic_references_go_both_ways() {
        let oid = ObjectId::parse_str("60a6fe9a54f4180c86309efa").unwrap();
        for id in [Bson::ObjectId(oid), Bson::Int32(1), Bson::Null] {
            let (reference, keys) = round_trip(doc! { "$ref": "coll0", "$id": id.clone() });
            assert_eq!(reference, DbRef::new("coll0", id));
            assert_eq!(keys, ["$ref", "$id"]);
        }
        let (reference, keys) = round_trip(doc! { "$ref": "coll0", "$id": 1, "$db": "db0" });
        assert_eq!(reference, DbRef::new("coll0", 1).with_database("db0"));
        assert_eq!(keys, ["$ref", "$id", "$db"]);
    }

    #[test]
    fn further_fields_are_kept() {
        for (document, order) in [
            (
                doc! { "$ref": "c", "$id": 1, "$db": "d", "foo": "bar" },
                &["$ref", "$id", "$db", "foo"][..],
            ),
            (
                doc! { "$ref": "c", "$id": 1, "foo": true, "bar": false },
                &["$ref", "$id", "foo", "bar"],
            ),
            (
                doc! { "$ref": "c", "$id": 1, "meta": { "foo": 1, "bar": 2 } },
                &["$ref", "$id", "meta"],
            ),
            (
                doc! { "$ref": "c", "$id": 1, "$foo": "bar" },
                &["$ref", "$id", "$foo"],
            ),
            (
                doc! { "$ref": "c", "$id": 1, "foo.bar": 0 },
                &["$ref", "$id", "foo.bar"],
            ),
        ] {
            let (reference, keys) = round_trip(document.clone());
            assert_eq!(keys, order);
            for (key, value) in &reference.extra {
                assert_eq!(document.get(key), Some(value));
            }
            assert_eq!(Document::from(reference), document);
        }
    }

    #[test]
    fn fields_are_put_in_order() {
        for (document, order) in [
            (doc! { "$id": 1, "$ref": "c" }, &["$ref", "$id"][..]),
            (
                doc! { "$db": "d", "$ref": "c", "$id": 1 },
                &["$ref", "$id", "$db"],
            ),
            (doc! { "foo": 1, "$id": 1, "$ref": "c" }, &["$ref", "$id", "foo"]),
            (
                doc! { "foo": 1, "$ref": "c", "$id": 1, "$db": "d" },
                &["$ref", "$id", "$db", "foo"],
            ),
            (
                doc! { "foo": 1, "$ref": "c", "$id": 1, "$db": "d", "bar": 1 },
                &["$ref", "$id", "$db", "foo", "bar"],
            ),
        ] {
            assert_eq!(round_trip(document).1, order);
        }
        let mut reference = DbRef::new("c", 1);
        reference.extra = doc! { "$ref": "other", "$db": 3, "foo": 1 };
        assert_eq!(
            Document::from(reference),
            doc! { "$ref": "c", "$id": 1, "foo": 1 }
        );
    }

    #[test]
    fn other_documents_are_refused() {
        let oid = ObjectId::parse_str("60a6fe9a54f4180c86309efa").unwrap();
        for (document, message) in [
            (doc! { "$ref": "coll0" }, "$id: a DBRef needs this field"),
            (doc! { "$id": oid }, "$ref: a DBRef needs this field"),
            (doc! { "$db": "db0" }, "$ref: a DBRef needs this field"),
            (
                doc! { "$ref": true, "$id": 1 },
                "$ref: expected a string, found Boolean",
            ),
            (
                doc! { "$ref": "coll0", "$id": 1, "$db": 1 },
                "$db: expected a string, found Int32",
            ),
        ] {
            let mut bytes = Vec::new();
            append_document(&document, &mut bytes).unwrap();
            assert_eq!(DbRef::try_from(document).unwrap_err().to_string(), message);
            let error = from_slice::<DbRef>(&bytes).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}

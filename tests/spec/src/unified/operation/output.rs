//! The results of operations.

use marula_driver::{
    ChangeStream, Collection, Cursor,
    bson::{Bson, Document},
};
use std::sync::Arc;

use crate::unified::{
    entity::{CursorEntity, Entity},
    matcher::{Lookup, matches, show},
    stop::{Step, failed},
};

/// The fields that expected documents of the legacy format can lack: what the server adds to documents with fields of
/// Queryable Encryption, and the `_id`, which two cases leave out.
const OPTIONAL: [&str; 2] = ["__safeContent__", "_id"];

/// A result in the form of the test format.
#[derive(Debug)]
pub(crate) enum Output {
    /// No result.
    Nothing,
    /// A value. A document is a root document.
    Value(Bson),
    /// The values of a field, which are not root documents.
    Values(Vec<Bson>),
    /// The documents of a cursor, which are root documents.
    Documents(Vec<Document>),
    /// An open cursor.
    Cursor(Cursor<Document>),
    ChangeStream(Box<ChangeStream<Document>>),
    Collection(Collection<Document>),
}

impl Output {
    pub(crate) fn show(&self) -> String {
        match self {
            Self::Nothing => "no result".to_owned(),
            Self::Value(value) => show(value),
            Self::Values(values) => show(&Bson::Array(values.clone())),
            Self::Documents(documents) => show(&array(documents)),
            Self::Cursor(_) => "a cursor".to_owned(),
            Self::ChangeStream(_) => "a change stream".to_owned(),
            Self::Collection(_) => "a collection".to_owned(),
        }
    }

    /// Compares the result with that of the legacy format, which has all fields of the documents. Only the fields of
    /// [`OPTIONAL`] can be missing.
    pub(crate) fn check_exactly(&self, expected: &Bson, lookup: &dyn Lookup) -> Result<(), String> {
        let compare = |expected: &Bson, actual: &Bson| {
            let mut actual = actual.clone();
            if let (Bson::Document(expected), Bson::Document(actual)) = (expected, &mut actual) {
                for name in OPTIONAL.iter().filter(|name| !expected.contains_key(**name)) {
                    actual.remove(name);
                }
            }
            matches(expected, Some(&actual), false, lookup)
        };
        match (self, expected) {
            (Self::Value(value), expected) => compare(expected, value),
            (Self::Documents(documents), Bson::Array(wanted)) if wanted.len() == documents.len() => {
                for (index, (wanted, document)) in wanted.iter().zip(documents).enumerate() {
                    compare(wanted, &Bson::Document(document.clone()))
                        .map_err(|why| format!("[{index}]{}", why.trim_start_matches('$')))?;
                }
                Ok(())
            }
            _ => self.check(expected, lookup),
        }
    }

    /// Compares the result with `expectResult`.
    pub(crate) fn check(&self, expected: &Bson, lookup: &dyn Lookup) -> Result<(), String> {
        match self {
            Self::Nothing | Self::Cursor(_) | Self::ChangeStream(_) | Self::Collection(_) => match expected {
                Bson::Null => Ok(()),
                other => matches(other, None, true, lookup),
            },
            Self::Value(value) => matches(expected, Some(value), true, lookup),
            Self::Values(values) => matches(expected, Some(&Bson::Array(values.clone())), false, lookup),
            Self::Documents(documents) => check_documents(expected, documents, lookup),
        }
    }

    /// Converts the result to the entity for `saveResultAsEntity`.
    pub(crate) fn into_entity(self) -> Step<Entity> {
        Ok(match self {
            Self::Nothing => return failed("no result to save as an entity"),
            Self::Value(value) => Entity::Value(value),
            Self::Values(values) => Entity::Value(Bson::Array(values)),
            Self::Documents(documents) => Entity::Value(array(&documents)),
            Self::Cursor(cursor) => Entity::Cursor(Arc::new(CursorEntity::new(cursor))),
            Self::ChangeStream(stream) => Entity::Cursor(Arc::new(CursorEntity::of_change_stream(stream))),
            Self::Collection(collection) => Entity::Collection(collection),
        })
    }
}

fn array(documents: &[Document]) -> Bson {
    Bson::Array(documents.iter().cloned().map(Bson::Document).collect())
}

/// Matches the documents of a cursor as root documents. Their number must be equal.
fn check_documents(expected: &Bson, documents: &[Document], lookup: &dyn Lookup) -> Result<(), String> {
    match expected {
        Bson::Array(wanted) => {
            if wanted.len() != documents.len() {
                return Err(format!(
                    "expected {} document(s), found {}: {}",
                    wanted.len(),
                    documents.len(),
                    show(&array(documents))
                ));
            }
            for (index, (wanted, document)) in wanted.iter().zip(documents).enumerate() {
                matches(wanted, Some(&Bson::Document(document.clone())), true, lookup)
                    .map_err(|why| format!("[{index}]{}", why.trim_start_matches('$')))?;
            }
            Ok(())
        }
        Bson::Document(operator) if operator.len() == 1 && operator.contains_key("$$unsetOrMatches") => {
            operator
                .get("$$unsetOrMatches")
                .map_or(Ok(()), |inner| check_documents(inner, documents, lookup))
        }
        other => matches(other, Some(&array(documents)), true, lookup),
    }
}

#[cfg(test)]
mod tests {
    use marula_driver::bson::{bson, doc};

    use super::*;
    use crate::unified::entity::Entities;

    #[test]
    fn documents_of_cursors_are_root_documents_and_counted() {
        let entities = Entities::default();
        let output = Output::Documents(vec![doc! { "a": 1, "b": 2 }]);
        assert!(output.check(&bson!([{ "a": 1 }]), &entities).is_ok());
        assert!(output.check(&bson!([{ "a": 2 }]), &entities).is_err());
        assert!(output.check(&bson!([{ "a": 1 }, { "a": 1 }]), &entities).is_err());
        assert!(output.check(&bson!([]), &entities).is_err());
        let values = Output::Values(vec![bson!({ "a": 1, "b": 2 })]);
        assert!(values.check(&bson!([{ "a": 1 }]), &entities).is_err());
    }

    #[test]
    fn results_of_the_legacy_format_have_all_fields() {
        let entities = Entities::default();
        let found = doc! { "_id": 1, "a": 1, "__safeContent__": [] };
        let outputs = [
            (Output::Value(Bson::Document(found.clone())), false),
            (Output::Documents(vec![found]), true),
        ];
        for (output, is_list) in outputs {
            for (expected, fits) in [
                (doc! { "_id": 1, "a": 1 }, true),
                (doc! { "a": 1 }, true),
                (doc! { "_id": 1, "a": 1, "__safeContent__": [] }, true),
                (doc! { "_id": 1 }, false),
                (doc! { "_id": 2, "a": 1 }, false),
                (doc! { "_id": 1, "a": 1, "__safeContent__": [1] }, false),
                (doc! { "_id": 1, "a": 1, "b": 1 }, false),
            ] {
                let document = Bson::Document(expected.clone());
                let expected = if is_list {
                    Bson::Array(vec![document])
                } else {
                    document
                };
                let checked = output.check_exactly(&expected, &entities);
                assert_eq!(checked.is_ok(), fits, "{expected}: {checked:?}");
            }
        }
        let none = Output::Documents(Vec::new());
        assert!(none.check_exactly(&bson!([{ "a": 1 }]), &entities).is_err());
    }

    #[test]
    fn no_result_matches_unset_or_matches_only() {
        let entities = Entities::default();
        assert!(
            Output::Nothing
                .check(&bson!({ "$$unsetOrMatches": { "a": 1 } }), &entities)
                .is_ok()
        );
        assert!(Output::Nothing.check(&bson!({ "a": 1 }), &entities).is_err());
        assert!(Output::Nothing.into_entity().is_err());
    }
}

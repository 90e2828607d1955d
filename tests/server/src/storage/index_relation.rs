//! Compares a new index with the existing indexes: different, identical or conflicting.

use super::index::Index;
use crate::error::{Error, Result, code};
use crate::value::{format, identical_documents};

/// The relation of a new index to the existing ones.
pub(crate) enum Relation {
    New,
    /// An identical index exists.
    Same,
}

/// Compares a new index with the existing ones. Returns an error for a conflict in name, key or
/// options.
pub(crate) fn relate(existing: &[Index], new: &Index) -> Result<Relation> {
    for index in existing {
        let key = |index: &Index| crate::command::plan::normalized(&index.key_pattern());
        let same_key = identical_documents(&key(index), &key(new));
        let same_partial =
            index.spec.get("partialFilterExpression") == new.spec.get("partialFilterExpression");
        // Indexes with the same key are distinct if they differ in collation or in the documents
        // that they omit.
        let signature = same_key
            && index.collation == new.collation
            && same_partial
            && index.sparse == new.sparse
            && index.unique == new.unique
            && index.spec.get("wildcardProjection") == new.spec.get("wildcardProjection");
        let options = signature
            && index.expire_after_seconds == new.expire_after_seconds
            && index.spec.get("weights") == new.spec.get("weights");
        if index.name == new.name {
            if options || index.name == "_id_" {
                return Ok(Relation::Same);
            }
            if signature {
                return Err(Error::new(
                    code::INDEX_OPTIONS_CONFLICT,
                    format!(
                        "An equivalent index already exists with the same name but different options. Requested index: {}, existing index: {}",
                        format::document(&new.spec),
                        format::document(&index.spec)
                    ),
                ));
            }
            return Err(Error::new(
                code::INDEX_KEY_SPECS_CONFLICT,
                format!(
                    "An existing index has the same name as the requested index. When index names are not specified, they are auto generated and can cause conflicts. Please refer to our documentation. Requested index: {}, existing index: {}",
                    format::document(&new.spec),
                    format::document(&index.spec)
                ),
            ));
        }
        if signature {
            return Err(Error::new(
                code::INDEX_OPTIONS_CONFLICT,
                format!("Index already exists with a different name: {}", index.name),
            ));
        }
        if new.spec.contains_key("textIndexVersion") && index.spec.contains_key("textIndexVersion") {
            return Err(Error::new(
                code::INDEX_OPTIONS_CONFLICT,
                format!(
                    "An equivalent index already exists with a different name and options: {}",
                    index.name
                ),
            ));
        }
    }
    Ok(Relation::New)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::index_spec::parse;
    use bson::{Document, doc};

    fn outcome(new: &Document) -> std::result::Result<bool, i32> {
        let index = |spec: &Document| parse(spec, None).unwrap();
        let existing = [index(&doc! { "key": { "a": 1 }, "name": "a_1", "unique": true })];
        match relate(&existing, &index(new)) {
            Ok(Relation::New) => Ok(true),
            Ok(Relation::Same) => Ok(false),
            Err(error) => Err(error.code),
        }
    }

    #[test]
    fn same_name_with_different_signature_is_a_conflict() {
        for spec in [
            doc! { "key": { "a": 1 }, "name": "a_1" },
            doc! { "key": { "a": 1 }, "name": "a_1", "unique": true, "sparse": true },
            doc! { "key": { "a": 1 }, "name": "a_1", "unique": true, "partialFilterExpression": { "a": 1 } },
            doc! { "key": { "b": 1 }, "name": "a_1", "unique": true },
        ] {
            assert_eq!(outcome(&spec), Err(86), "{spec}");
        }
    }

    #[test]
    fn same_signature_with_different_options_is_a_conflict() {
        let spec = doc! { "key": { "a": 1 }, "name": "a_1", "unique": true, "expireAfterSeconds": 1 };
        assert_eq!(outcome(&spec), Err(85));
        let spec = doc! { "key": { "a": 1 }, "name": "other", "unique": true };
        assert_eq!(outcome(&spec), Err(85));
    }

    #[test]
    fn identical_and_different_indexes() {
        let spec = doc! { "key": { "a": 1 }, "name": "a_1", "unique": true };
        assert_eq!(outcome(&spec), Ok(false));
        // Indexes with the same key are distinct if only one of them is unique.
        assert_eq!(outcome(&doc! { "key": { "a": 1 }, "name": "plain" }), Ok(true));
    }
}

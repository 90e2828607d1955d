//! The collection that a command of the application is about.

use crate::bson::{RawDocument, RawElements};

/// The commands whose first field is the name of a collection.
const ON_A_COLLECTION: [&str; 29] = [
    "aggregate",
    "analyze",
    "cloneCollectionAsCapped",
    "collMod",
    "collStats",
    "compact",
    "convertToCapped",
    "count",
    "create",
    "createIndexes",
    "createSearchIndexes",
    "delete",
    "distinct",
    "drop",
    "dropIndexes",
    "dropSearchIndex",
    "find",
    "findAndModify",
    "insert",
    "killCursors",
    "listIndexes",
    "listSearchIndexes",
    "mapReduce",
    "planCacheClear",
    "planCacheClearFilters",
    "reIndex",
    "update",
    "updateSearchIndex",
    "validate",
];

/// The collection of a command: the value of its first field, or the field `collection` of a
/// `getMore`. `None` for commands on a database or on the deployment, for commands that are not
/// known here, and for a command that is malformed.
pub fn collection_of(command: &RawDocument) -> Option<&str> {
    let mut elements = RawElements::new(command.as_bytes()).ok()?;
    let first = elements.next_element().ok()??;
    if first.key == "getMore" {
        while let Some(element) = elements.next_element().ok()? {
            if element.key == "collection" {
                return element.value.str().ok();
            }
        }
        return None;
    }
    // `aggregate: 1` is an aggregation on a database.
    ON_A_COLLECTION
        .contains(&first.key)
        .then(|| first.value.str().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::rawdoc;

    #[test]
    fn the_collection_is_found_in_known_commands_only() {
        for (command, collection) in [
            (rawdoc! { "find": "c", "filter": {} }, Some("c")),
            (
                rawdoc! { "getMore": 7_i64, "batchSize": 2, "collection": "c" },
                Some("c"),
            ),
            (rawdoc! { "getMore": 7_i64 }, None),
            (rawdoc! { "aggregate": "c" }, Some("c")),
            (rawdoc! { "aggregate": 1 }, None),
            (rawdoc! { "ping": 1 }, None),
            (rawdoc! { "dropUser": "ada" }, None),
            (rawdoc! { "getParameter": "*" }, None),
            (rawdoc! {}, None),
        ] {
            assert_eq!(collection_of(&command), collection, "{command:?}");
        }
        let malformed = RawDocument::from_bytes(&[9, 0, 0, 0, 0x10, b'a', 0, 1, 0]);
        assert!(malformed.is_err() || malformed.is_ok_and(|command| collection_of(command).is_none()));
    }
}

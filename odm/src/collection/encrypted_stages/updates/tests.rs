//! Stages that set encrypted fields.

use super::*;
use crate::bson::doc;

#[test]
fn stages_that_set_encrypted_fields() {
    let conditional = doc! { "$cond": { "if": true, "then": { "ssn": "x" }, "else": "$$ROOT" } };
    let field = |name: &str| doc! { "$setField": { "field": name, "input": "$$ROOT", "value": "x" } };
    for (stage, expected) in [
        (doc! { "$set": { "ssn": "x" } }, true),
        (
            doc! { "$addFields": { "address": { "street": { "$concat": ["a", "b"] } } } },
            true,
        ),
        (doc! { "$set": { "address.street.x": 1 } }, true),
        (
            doc! { "$set": { "address": { "$mergeObjects": ["$address", { "street": "x" }] } } },
            true,
        ),
        (
            doc! { "$set": { "address": { "$literal": { "street": "x" } } } },
            true,
        ),
        (
            doc! { "$replaceWith": { "$mergeObjects": ["$$ROOT", { "ssn": "x" }] } },
            true,
        ),
        (
            doc! { "$replaceRoot": { "newRoot": { "$literal": { "address": { "street": "x" } } } } },
            true,
        ),
        (
            doc! { "$replaceWith": { "$let": { "vars": { "new": { "ssn": "x" } }, "in": "$$new" } } },
            true,
        ),
        (doc! { "$replaceWith": field("ssn") }, true),
        (
            doc! { "$replaceWith": { "$switch": { "branches": [{ "case": true, "then": { "ssn": "x" } }], "default": "$$ROOT" } } },
            true,
        ),
        (
            doc! { "$replaceWith": { "$let": { "vars": { "v": "x" }, "in": { "ssn": "$$v" } } } },
            true,
        ),
        (
            doc! { "$replaceWith": { "$reduce": { "input": ["x"], "initialValue": {}, "in": { "ssn": "$$this" } } } },
            true,
        ),
        (
            doc! { "$replaceWith": { "$mergeObjects": ["$$ROOT", { "$arrayToObject": [[{ "k": "ssn", "v": "x" }]] }] } },
            true,
        ),
        (
            doc! { "$replaceWith": { "$arrayToObject": { "$literal": [["ssn", "x"]] } } },
            true,
        ),
        (
            doc! { "$replaceWith": { "$mergeObjects": ["$$ROOT", { "$literal": { "ssn": "$100" } }] } },
            true,
        ),
        (
            doc! { "$replaceWith": { "$mergeObjects": ["$$ROOT", { "$literal": { "address": { "street": "$1" } } }] } },
            true,
        ),
        (doc! { "$replaceWith": conditional }, true),
        (
            doc! { "$project": { "name": 1, "ssn": { "$literal": "x" } } },
            true,
        ),
        (
            doc! { "$set": { "name": "x", "address": { "city": "x" } } },
            false,
        ),
        (
            doc! { "$set": { "ssn": "$old", "address": "$home", "other": { "ssn": "x" } } },
            false,
        ),
        (doc! { "$set": { "ssn": "$$REMOVE" } }, false),
        (
            doc! { "$project": { "ssn": 1, "address": { "street": 1 } } },
            false,
        ),
        (doc! { "$project": { "ssn": 0 } }, false),
        (doc! { "$unset": "ssn" }, false),
        (
            doc! { "$replaceWith": { "$mergeObjects": [{ "count": 0 }, "$$ROOT"] } },
            false,
        ),
        (doc! { "$replaceWith": field("name") }, false),
        (
            doc! { "$replaceWith": { "$setField": { "field": { "$literal": "name" }, "input": "$$ROOT", "value": "x" } } },
            false,
        ),
        (
            doc! { "$replaceWith": { "$mergeObjects": ["$$ROOT", { "$literal": { "address": { "city": "$1" } } }] } },
            false,
        ),
        (
            doc! { "$replaceWith": { "$arrayToObject": { "$filter": { "input": { "$objectToArray": "$$ROOT" }, "cond": true } } } },
            false,
        ),
        (
            doc! { "$replaceWith": { "$switch": { "branches": [{ "case": true, "then": "$old" }], "default": "$$CURRENT.new" } } },
            false,
        ),
    ] {
        let paths = ["ssn", "address.street"];
        assert_eq!(paths.iter().any(|path| sets(&stage, path)), expected, "{stage}");
    }
}

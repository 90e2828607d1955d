//! The encrypted values in the values of operators.

use super::*;
use crate::bson::doc;
use crate::collection::encrypted_stages::filtered;

fn found(stages: &[Document]) -> Option<String> {
    filtered(
        stages,
        &["ssn".to_owned(), "address.street".to_owned()],
        Vec::new(),
    )
}

#[test]
fn values_of_operators_are_followed() {
    let equal = |value: Bson| doc! { "$eq": ["$address", value] };
    let documents = doc! { "if": true, "then": "$address", "else": {} };
    let cases = doc! { "branches": [{ "case": equal(Bson::Null), "then": "$address" }], "default": 0 };
    for (value, path, expected) in [
        (
            doc! { "$cond": documents.clone() },
            "x.street",
            Some("address.street"),
        ),
        (doc! { "$cond": documents }, "x.city", None),
        (
            doc! { "$cond": [true, 1, "$address"] },
            "x.street",
            Some("address.street"),
        ),
        (doc! { "$cond": ["$address", "a", "b"] }, "x", None),
        (doc! { "$cond": [equal(Bson::Null), "a", "b"] }, "x", None),
        (
            doc! { "$cond": [equal(1.into()), "a", "b"] },
            "x",
            Some("address.street"),
        ),
        (
            doc! { "$switch": cases.clone() },
            "x.street",
            Some("address.street"),
        ),
        (doc! { "$switch": cases }, "x.city", None),
        (equal(Bson::Null), "x", None),
        (equal(1.into()), "x", Some("address.street")),
        (doc! { "$gt": ["$ssn", Bson::Null] }, "x", None),
        (doc! { "$not": ["$address"] }, "x", None),
        (doc! { "$and": ["$address", equal(Bson::Null)] }, "x", None),
        (
            doc! { "$or": [false, equal(1.into())] },
            "x",
            Some("address.street"),
        ),
        (
            doc! { "$sortArray": { "input": ["$address"], "sortBy": { "street": 1 } } },
            "x.street",
            Some("address.street"),
        ),
        (
            doc! { "$sortArray": { "input": ["$address"], "sortBy": { "street": 1 } } },
            "x.city",
            None,
        ),
        (
            doc! { "$firstN": { "input": "$address", "n": 2 } },
            "x.city",
            None,
        ),
        (
            doc! { "$top": { "output": { "a": "$address" }, "sortBy": { "ssn": 1 } } },
            "x.a.city",
            None,
        ),
        (
            doc! { "$top": { "output": { "a": "$address" }, "sortBy": { "ssn": 1 } } },
            "x.a.street",
            Some("address.street"),
        ),
        (
            doc! { "$let": { "vars": { "a": "$address", "n": "$name" }, "in": { "s": "$$a.street", "n": "$$n" } } },
            "x.s",
            Some("address.street"),
        ),
        (
            doc! { "$let": { "vars": { "a": "$address", "n": "$name" }, "in": { "s": "$$a.street", "n": "$$n" } } },
            "x.n",
            None,
        ),
        (
            doc! { "$reduce": { "input": ["$address"], "initialValue": [], "in": { "$concatArrays": ["$$value", ["$$this"]] } } },
            "x.city",
            None,
        ),
        (
            doc! { "$reduce": { "input": ["$address"], "initialValue": [], "in": { "$concatArrays": ["$$value", ["$$this"]] } } },
            "x.street",
            Some("address.street"),
        ),
        (
            doc! { "$reduce": { "input": ["$ssn"], "initialValue": Bson::Null, "in": { "next": "$$value", "s": "$$this" } } },
            "x.next.next.s",
            Some("ssn"),
        ),
        (doc! { "$getField": "ssn" }, "x", Some("ssn")),
        (doc! { "$getField": "name" }, "x", None),
        (
            doc! { "$getField": { "field": { "$literal": "street" }, "input": "$address" } },
            "x",
            Some("address.street"),
        ),
        (
            doc! { "$getField": { "field": "address", "input": "$$ROOT" } },
            "x.street",
            Some("address.street"),
        ),
        (doc! { "$getField": { "$concat": ["s", "sn"] } }, "x", Some("ssn")),
    ] {
        let text = format!("{value}, {path}");
        let stages = [doc! { "$set": { "x": value } }, doc! { "$match": { path: "x" } }];
        assert_eq!(found(&stages).as_deref(), expected, "{text}");
    }
}

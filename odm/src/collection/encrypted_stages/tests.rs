//! Stages and conditions with encrypted values.

use super::*;
use crate::bson::doc;

fn found(stages: &[Document]) -> Option<String> {
    filtered(stages, &["ssn".to_owned(), "address.street".to_owned()], &[])
}

#[test]
fn encrypted_values_are_followed_through_stages() {
    for (stage, path, expected) in [
        (doc! { "$limit": 1 }, "ssn", Some("ssn")),
        (doc! { "$project": { "_id": 0, "ssn": 1 } }, "ssn", Some("ssn")),
        (doc! { "$project": { "_id": 0, "name": 1 } }, "ssn", None),
        (doc! { "$project": { "name": 0 } }, "ssn", Some("ssn")),
        (
            doc! { "$project": { "address": { "street": 1 } } },
            "address.street",
            Some("address.street"),
        ),
        (
            doc! { "$project": { "address": { "street": 1 } } },
            "address.city",
            None,
        ),
        (
            doc! { "$project": { "home": "$address" } },
            "home.street",
            Some("address.street"),
        ),
        (
            doc! { "$project": { "home": "$address" } },
            "home",
            Some("address.street"),
        ),
        (doc! { "$project": { "home": "$address" } }, "home.city", None),
        (
            doc! { "$project": { "home": { "$ifNull": ["$address", Bson::Null] } } },
            "home.street",
            Some("address.street"),
        ),
        (
            doc! { "$project": { "home": { "$objectToArray": "$address" } } },
            "home.v",
            Some("address.street"),
        ),
        (
            doc! { "$project": { "home": { "$literal": "$address" } } },
            "home",
            None,
        ),
        (doc! { "$set": { "again": "$$ROOT" } }, "again.ssn", Some("ssn")),
        (
            doc! { "$replaceWith": "$address" },
            "street",
            Some("address.street"),
        ),
        (doc! { "$replaceWith": "$address" }, "city", None),
        (
            doc! { "$replaceRoot": { "newRoot": { "a": "$$CURRENT.ssn" } } },
            "a",
            Some("ssn"),
        ),
        (
            doc! { "$group": { "_id": "$address" } },
            "_id.street",
            Some("address.street"),
        ),
        (
            doc! { "$group": { "_id": "$name", "all": { "$push": { "n": "$ssn" } } } },
            "all.0.n",
            Some("ssn"),
        ),
        (
            doc! { "$group": { "_id": "$name", "all": { "$sum": 1 } } },
            "all",
            None,
        ),
        (doc! { "$sortByCount": "$ssn" }, "_id", Some("ssn")),
        (doc! { "$count": "ssn" }, "ssn", None),
        (
            doc! { "$bucketAuto": { "groupBy": "$ssn", "output": { "n": { "$sum": 1 } } } },
            "_id.min",
            Some("ssn"),
        ),
        (
            doc! { "$setWindowFields": { "output": { "before": { "$first": "$ssn", "window": {} } } } },
            "before",
            Some("ssn"),
        ),
        (
            doc! { "$facet": { "all": [{ "$limit": 1 }] } },
            "all.ssn",
            Some("ssn"),
        ),
        (
            doc! { "$project": { "all": { "$map": { "input": ["$address"], "as": "a", "in": { "s": "$$a.street" } } } } },
            "all.s",
            Some("address.street"),
        ),
    ] {
        let text = format!("{stage}, {path}");
        assert_eq!(found(&[stage, matched(path)]).as_deref(), expected, "{text}");
    }
}

#[test]
fn conditions_on_values_that_contain_encrypted_ones_are_comparisons() {
    for (filter, expected) in [
        (doc! { "address": { "$exists": true } }, None),
        (doc! { "address": Bson::Null }, None),
        (doc! { "address": { "$not": { "$eq": Bson::Null } } }, None),
        (
            doc! { "address": { "$eq": { "street": "x" } } },
            Some("address.street"),
        ),
        (
            doc! { "$or": [{ "name": 1 }, { "address": { "$ne": {} } }] },
            Some("address.street"),
        ),
        (doc! { "address": { "$elemMatch": { "city": "x" } } }, None),
        (
            doc! { "address": { "$elemMatch": { "street": "x" } } },
            Some("address.street"),
        ),
        (
            doc! { "address": { "$elemMatch": { "$eq": {} } } },
            Some("address.street"),
        ),
        (doc! { "ssn": { "$exists": true } }, Some("ssn")),
        (doc! { "$expr": { "$eq": ["$name", "x"] } }, None),
        (
            doc! { "$expr": { "$eq": ["$address", {}] } },
            Some("address.street"),
        ),
        (doc! { "$expr": { "$gt": [{ "$size": "$address" }, 1] } }, None),
    ] {
        let text = filter.to_string();
        let stages = [doc! { "$unwind": "$x" }, doc! { "$match": filter }];
        assert_eq!(found(&stages).as_deref(), expected, "{text}");
    }
}

fn matched(path: &str) -> Document {
    doc! { "$match": { path: "x" } }
}

#[test]
fn projections_of_stages_in_bson_are_followed() {
    for (project, path, expected) in [
        (doc! { "_id": "$ssn" }, "_id", Some("ssn")),
        (doc! { "_id": "$ssn" }, "ssn", None),
        (doc! { "_id": 0 }, "ssn", Some("ssn")),
        (doc! { "_id": 1 }, "ssn", None),
        (doc! { "_id": 0, "name": 1 }, "ssn", None),
        (doc! { "address": { "city": 0 } }, "ssn", Some("ssn")),
        (
            doc! { "address": { "city": 0 } },
            "address.street",
            Some("address.street"),
        ),
        (doc! { "address": { "city": 1 } }, "ssn", None),
        (
            doc! { "address": { "home": "$ssn" } },
            "address.home",
            Some("ssn"),
        ),
    ] {
        let text = format!("{project}, {path}");
        let stages = [doc! { "$project": project }, matched(path)];
        assert_eq!(found(&stages).as_deref(), expected, "{text}");
    }
    let by_id = doc! { "$group": { "_id": "$ssn", "n": { "$sum": 1 } } };
    let stages = [by_id, doc! { "$project": { "n": 1 } }, matched("_id")];
    assert_eq!(found(&stages).as_deref(), Some("ssn"));
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
        let stages = [doc! { "$set": { "x": value } }, matched(path)];
        assert_eq!(found(&stages).as_deref(), expected, "{text}");
    }
}

#[test]
fn schemas_and_names_of_digits_in_filters() {
    let of = |name: &str, schema: Document| doc! { "$jsonSchema": { "properties": { name: schema } } };
    for (filter, expected) in [
        (of("name", doc! { "enum": ["x"] }), None),
        (of("ssn", doc! { "enum": ["x"] }), Some("ssn")),
        (of("address", doc! { "bsonType": "object" }), None),
        (of("address", doc! { "enum": [{}] }), Some("address.street")),
        (
            of("address", doc! { "properties": { "street": { "pattern": "x" } } }),
            Some("address.street"),
        ),
        (
            doc! { "$jsonSchema": { "anyOf": [{ "not": { "properties": { "ssn": {} } } }] } },
            Some("ssn"),
        ),
        (
            doc! { "$expr": { "$eq": [{ "$getField": "ssn" }, "x"] } },
            Some("ssn"),
        ),
        (doc! { "$expr": { "$eq": ["$address", Bson::Null] } }, None),
        (doc! { "2024": "x" }, None),
        (doc! { "2024.0": "x" }, None),
        (doc! { "address.0.street": "x" }, Some("address.street")),
    ] {
        let text = filter.to_string();
        assert_eq!(found(&[doc! { "$match": filter }]).as_deref(), expected, "{text}");
    }
}

#[test]
fn encrypted_values_of_other_collections_and_variables() {
    let patients = ["ssn".to_owned()];
    let visits = ["notes".to_owned()];
    let flow = Flow {
        joined: vec![("patients", &patients), ("visits", &visits)],
    };
    let lookup = |stages: Vec<Document>| {
        let stages: Vec<Bson> = stages.into_iter().map(Bson::from).collect();
        doc! { "$lookup": { "from": "visits", "let": { "outer": "$$ROOT" }, "pipeline": stages, "as": "all" } }
    };
    let outer = || doc! { "$match": { "$expr": { "$eq": ["$$outer.ssn", "x"] } } };
    let hidden = doc! { "$lookup": { "from": "towns", "let": { "outer": "$city" }, "pipeline": [outer()], "as": "towns" } };
    let inner = doc! { "$lookup": { "from": "towns", "pipeline": [outer()], "as": "towns" } };
    let graph = |filter: Document| doc! { "$graphLookup": { "from": "visits", "as": "g", "restrictSearchWithMatch": filter } };
    let union = |stage: Document| doc! { "$unionWith": { "coll": "visits", "pipeline": [stage] } };
    for (stages, expected) in [
        (vec![lookup(vec![]), matched("all.notes")], Some("notes")),
        (vec![lookup(vec![]), matched("all.ssn")], None),
        (vec![lookup(vec![]), matched("all.place")], None),
        (vec![lookup(vec![matched("notes")])], Some("notes")),
        (vec![lookup(vec![matched("ssn")])], None),
        (vec![lookup(vec![outer()])], Some("ssn")),
        (
            vec![lookup(vec![doc! { "$project": { "place": 1 } }, outer()])],
            Some("ssn"),
        ),
        (vec![lookup(vec![doc! { "$count": "n" }, outer()])], Some("ssn")),
        (
            vec![lookup(vec![doc! { "$replaceWith": "$x" }, outer()])],
            Some("ssn"),
        ),
        (
            vec![lookup(vec![doc! { "$facet": { "a": [outer()] } }])],
            Some("ssn"),
        ),
        (vec![lookup(vec![inner])], Some("ssn")),
        (vec![lookup(vec![hidden])], None),
        (vec![lookup(vec![union(outer())])], Some("ssn")),
        (
            vec![lookup(vec![graph(
                outer().get_document("$match").cloned().unwrap(),
            )])],
            Some("ssn"),
        ),
        (
            vec![
                lookup(vec![doc! { "$set": { "s": "$$outer.ssn" } }]),
                matched("all.s"),
            ],
            Some("ssn"),
        ),
        (
            vec![lookup(vec![]), doc! { "$match": { "outer.ssn": "x" } }],
            None,
        ),
        (vec![union(doc! { "$limit": 1 }), matched("notes")], Some("notes")),
        (vec![union(matched("notes"))], Some("notes")),
        (
            vec![doc! { "$unionWith": "visits" }, matched("notes")],
            Some("notes"),
        ),
        (vec![doc! { "$unionWith": "towns" }, matched("notes")], None),
        (vec![graph(doc! { "notes": "x" })], Some("notes")),
        (
            vec![graph(doc! { "place": "x" }), matched("g.notes")],
            Some("notes"),
        ),
    ] {
        assert_eq!(
            flow.filtered(&stages, &patients).as_deref(),
            expected,
            "{stages:?}"
        );
    }
}

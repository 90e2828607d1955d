//! Stages and conditions with encrypted values.

use super::*;
use crate::bson::doc;

fn found(stages: &[Document]) -> Option<String> {
    filtered(
        stages,
        &["ssn".to_owned(), "address.street".to_owned()],
        Vec::new(),
    )
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
            doc! { "$jsonSchema": { "anyOf": [{ "not": { "properties": { "ssn": { "minLength": 3 } } } }] } },
            Some("ssn"),
        ),
        (of("ssn", doc! { "bsonType": "binData", "title": "x" }), None),
        (
            of(
                "address",
                doc! { "properties": { "street": { "bsonType": "binData" } }, "required": ["street"] },
            ),
            None,
        ),
        (
            doc! { "$jsonSchema": { "additionalProperties": { "bsonType": "string" }, "required": ["ssn"] } },
            None,
        ),
        (
            doc! { "$jsonSchema": { "patternProperties": { "^s": { "pattern": "x" } } } },
            Some("ssn"),
        ),
        (
            doc! { "$jsonSchema": { "additionalProperties": { "properties": { "street": { "enum": ["x"] } } } } },
            Some("ssn"),
        ),
        (
            doc! { "$expr": { "$eq": [{ "$getField": "ssn" }, "x"] } },
            Some("ssn"),
        ),
        (doc! { "$expr": { "$eq": ["$address", Bson::Null] } }, None),
        (doc! { "2024": "x" }, None),
        (doc! { "2024.0": "x" }, None),
        (doc! { "address.1.0.street.2": "x" }, Some("address.street")),
        (doc! { "$expr": { "$gt": [{ "$bsonSize": "$$ROOT" }, 10] } }, None),
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
        operands: None,
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

#[test]
fn fields_whose_names_are_digits_are_no_positions() {
    let paths = ["years.2024.st".to_owned(), "all.st".to_owned()];
    for (filter, expected) in [
        (doc! { "years.2024.st": "x" }, Some("years.2024.st")),
        (doc! { "years.0.2024.1.st": "x" }, Some("years.2024.st")),
        (doc! { "years.2025.st": "x" }, None),
        (doc! { "all.2024.st": "x" }, Some("all.st")),
        (doc! { "all.2024.city": "x" }, None),
    ] {
        let text = filter.to_string();
        if expected == Some(&*paths[0]) {
            assert!(is_on(&filter, &paths[0]), "{text}");
        }
        let found = filtered(&[doc! { "$match": filter }], &paths, Vec::new());
        assert_eq!(found.as_deref(), expected, "{text}");
    }
}

#[test]
fn stages_that_replace_or_remove_a_value_leave_no_encrypted_one() {
    let set = |value: Bson| doc! { "$set": { "ssn": value } };
    let switch = doc! { "branches": [{ "case": true, "then": "$name" }], "default": "$ssn" };
    let merged = |last: Bson| doc! { "$replaceWith": { "$mergeObjects": ["$$ROOT", last] } };
    for (stages, is_known) in [
        (vec![doc! { "$unset": "ssn" }], false),
        (vec![doc! { "$unset": ["name", "ssn"] }], false),
        (vec![doc! { "$unset": ["name", "ssn.x"] }], false),
        (vec![doc! { "$project": { "ssn": 0 } }], false),
        (vec![doc! { "$project": { "name": 0, "_id": 1 } }], true),
        (vec![set("$name".into())], false),
        (vec![set("$ssn".into())], true),
        (vec![set(doc! { "$ifNull": ["$ssn", Bson::Null] }.into())], true),
        (vec![set(doc! { "$ifNull": ["$ssn", "x"] }.into())], false),
        (vec![set(doc! { "$concat": ["$ssn", "x"] }.into())], false),
        (vec![set(doc! { "$cond": [true, "$ssn", "$name"] }.into())], false),
        (
            vec![set(doc! { "$cond": [true, "$ssn", "$$ROOT.ssn"] }.into())],
            true,
        ),
        (vec![set(doc! { "$switch": switch }.into())], false),
        (vec![merged(doc! { "name": "x" }.into())], true),
        (vec![merged(doc! { "ssn": "$name" }.into())], false),
        (vec![merged("$extra".into())], false),
        (vec![doc! { "$lookup": { "from": "towns", "as": "ssn" } }], false),
        (
            vec![doc! { "$unwind": { "path": "$x", "includeArrayIndex": "ssn" } }],
            false,
        ),
        (
            vec![doc! { "$setWindowFields": { "output": { "ssn": { "$first": "$name" } } } }],
            false,
        ),
        (
            vec![doc! { "$fill": { "output": { "ssn": { "value": "x" } } } }],
            false,
        ),
        (
            vec![doc! { "$fill": { "output": { "ssn": { "method": "locf" } } } }],
            true,
        ),
        (vec![doc! { "$sort": { "name": 1 } }, doc! { "$limit": 1 }], true),
    ] {
        let filter = doc! { "ssn": { "$eq": "x" } };
        let text = format!("{stages:?}");
        let operand = EncryptedOperand {
            path: "ssn".into(),
            filter: filter.clone(),
        };
        let stages: Vec<Document> = stages.into_iter().chain([doc! { "$match": filter }]).collect();
        let found = unsendable(&stages, &["ssn".to_owned()], Vec::new(), &[operand]);
        assert_eq!(found.is_none(), is_known, "{text}");
    }
}

#[test]
fn places_are_kept_once() {
    let copies = doc! { "$set": { "x": "$$ROOT.ssn", "y": "$$ROOT" } };
    let branches: Vec<Bson> = (0..20)
        .map(|_| doc! { "case": true, "then": "$address" }.into())
        .collect();
    let switch =
        doc! { "$set": { "address": { "$switch": { "branches": branches, "default": "$address" } } } };
    let mut stages = vec![copies; 3];
    stages.extend(vec![switch; 12]);
    stages.push(matched("address.city"));
    assert_eq!(found(&stages), None);
}

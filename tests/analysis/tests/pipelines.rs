//! Pipelines are returned in the form of mongocryptd: `jstests/fle/query_analysis/agg_sort_by_count.js` and others of its tests.

use bson::{Bson, Document, Uuid, doc};
use marula_query_analysis::analyze;

/// The pipeline that the analysis returns.
fn analyzed(pipeline: Vec<Document>, properties: Document) -> Vec<Bson> {
    let command = doc! {
        "aggregate": "c", "pipeline": pipeline, "cursor": {}, "$db": "db",
        "jsonSchema": { "bsonType": "object", "properties": properties }, "isRemoteSchema": false,
    };
    let reply = analyze(command).expect("a command that can be analyzed");
    let result = reply.get_document("result").expect("a result");
    result.get_array("pipeline").expect("a pipeline").clone()
}

fn encrypted() -> Document {
    let algorithm = "AEAD_AES_256_CBC_HMAC_SHA_512-Deterministic";
    doc! { "ssn": { "encrypt": { "algorithm": algorithm, "bsonType": "string", "keyId": [Uuid::new()] } } }
}

#[track_caller]
fn check(stage: Document, expected: Vec<Document>) {
    let expected: Vec<Bson> = expected.into_iter().map(Bson::Document).collect();
    assert_eq!(analyzed(vec![stage], encrypted()), expected);
}

#[test]
fn constants_of_groups() {
    check(
        doc! { "$group": { "_id": 1, "n": { "$sum": 1 }, "m": { "$count": {} } } },
        vec![
            doc! { "$group": { "_id": { "$const": 1 }, "n": { "$sum": { "$const": 1 } }, "m": { "$sum": { "$const": 1 } } } },
        ],
    );
    check(
        doc! { "$sortByCount": "$foo" },
        vec![
            doc! { "$group": { "_id": "$foo", "count": { "$sum": { "$const": 1 } } } },
            doc! { "$sort": { "count": -1 } },
        ],
    );
    let bounds =
        doc! { "$and": [{ "$gte": ["$price", { "$const": 0 }] }, { "$lt": ["$price", { "$const": 200 }] }] };
    let switch =
        doc! { "branches": [{ "case": bounds, "then": { "$const": 0 } }], "default": { "$const": "Other" } };
    check(
        doc! { "$bucket": { "groupBy": "$price", "boundaries": [0, 200], "default": "Other" } },
        vec![
            doc! { "$group": { "_id": { "$switch": switch }, "count": { "$sum": { "$const": 1 } } } },
            doc! { "$sort": { "_id": 1 } },
        ],
    );
}

#[test]
fn constants_of_expressions() {
    check(
        doc! { "$addFields": { "a": { "$cond": { "if": { "$gt": ["$b", 1] }, "then": "x", "else": "$c" } }, "b": { "c": 2 } } },
        vec![
            doc! { "$addFields": { "a": { "$cond": [{ "$gt": ["$b", { "$const": 1 }] }, { "$const": "x" }, "$c"] }, "b": { "c": { "$const": 2 } } } },
        ],
    );
    check(
        doc! { "$project": { "a": 1, "b": { "$literal": "$x" }, "c": { "$toUpper": "$d" } } },
        vec![doc! { "$project": { "a": 1, "b": { "$const": "$x" }, "c": { "$toUpper": ["$d"] } } }],
    );
    check(
        doc! { "$replaceWith": { "$filter": { "input": "$a", "as": "x", "cond": { "$eq": ["$$x", 1] } } } },
        vec![
            doc! { "$replaceRoot": { "newRoot": { "$filter": { "input": "$a", "as": "x", "cond": { "$eq": ["$$x", { "$const": 1 }] } } } } },
        ],
    );
}

#[test]
fn pipelines_on_collections_without_encrypted_fields_are_unchanged() {
    let stage = doc! { "$group": { "_id": 1 } };
    assert_eq!(analyzed(vec![stage.clone()], doc! {}), [Bson::Document(stage)]);
}

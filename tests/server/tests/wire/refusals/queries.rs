//! The rows of `src/refusal/queries.rs`.

use super::{Case, Otherwise, case, check};
use bson::{Document, doc};

/// A collection with a text index and an index for `$near`.
fn indexed() -> Vec<Document> {
    vec![doc! { "createIndexes": "c", "indexes": [
        { "key": { "t": "text" }, "name": "t_text" },
        { "key": { "p": "2dsphere" }, "name": "p_2dsphere" },
    ] }]
}

/// A capped collection with the indexes.
fn tailable() -> Vec<Document> {
    let mut setup = vec![doc! { "create": "c", "capped": true, "size": 4096 }];
    setup.extend(indexed());
    setup
}

fn matching(filter: &Document) -> Document {
    doc! { "aggregate": "c", "pipeline": [{ "$match": filter.clone() }], "cursor": {} }
}

fn upserts() -> Vec<Case> {
    let filter = doc! { "$expr": { "$gt": ["$a", 1] } };
    let nested = doc! { "_id": 1, "$or": [{ "b": 1 }, { "$and": [filter.clone()] }] };
    let update = |filter: &Document| {
        doc! { "update": "c", "updates": [{ "q": filter.clone(), "u": { "$set": { "a": 1 } }, "upsert": true }] }
    };
    vec![
        case("upsert-expr", vec![], update(&filter)),
        case("upsert-expr", vec![], update(&nested)),
        case(
            "upsert-expr",
            vec![doc! { "insert": "c", "documents": [{ "_id": 1, "a": 2 }] }],
            doc! { "findAndModify": "c", "query": filter.clone(), "update": [{ "$set": { "a": 1 } }], "upsert": true },
        ),
        case(
            "upsert-expr",
            vec![],
            doc! { "bulkWrite": 1, "$db": "admin", "ops": [{ "update": 0, "filter": filter, "updateMods": { "$set": { "a": 1 } }, "upsert": true }],
            "nsInfo": [{ "ns": "upserts.c" }] },
        ).since(8, 0),
    ]
}

/// Updates that store fields with a dollar sign.
fn dollars() -> Vec<Case> {
    let inserted = || vec![doc! { "insert": "c", "documents": [{ "_id": 1 }] }];
    let update = |update: Document| {
        let request = doc! { "update": "c", "updates": [{ "q": {}, "u": update }] };
        case("update-dollar-field", inserted(), request)
    };
    let modify =
        doc! { "findAndModify": "c", "query": {}, "update": { "$addToSet": { "a": { "$sort": 1 } } } };
    vec![
        update(doc! { "$push": { "a": { "$slice": 1 } } }),
        update(doc! { "$set": { "a": { "b": { "$inc": 1 } } } }),
        update(doc! { "a": { "$inc": 1 } }),
        case("update-dollar-field", inserted(), modify),
    ]
}

fn orders() -> Vec<Case> {
    let text = doc! { "$text": { "$search": "word" } };
    let near = doc! { "p": { "$near": { "$geometry": { "type": "Point", "coordinates": [0, 0] } } } };
    let find = |filter: &Document, option: Document| {
        let mut find = doc! { "find": "c", "filter": filter.clone() };
        find.extend(option);
        find
    };
    let natural = doc! { "$natural": 1 };
    let one = || vec![doc! { "insert": "c", "documents": [{ "_id": 1, "t": "word" }] }];
    vec![
        case(
            "natural-sort-hint",
            indexed(),
            doc! { "find": "c", "sort": { "$natural": 1 }, "hint": "_id_" },
        ),
        case(
            "natural-direction",
            indexed(),
            doc! { "find": "c", "sort": { "$natural": 1 }, "hint": { "$natural": -1 } },
        ),
        case(
            "text-tailable",
            tailable(),
            find(&text, doc! { "tailable": true }),
        ),
        case(
            "near-tailable",
            tailable(),
            find(&near, doc! { "tailable": true }),
        )
        .otherwise(Otherwise::Either(vec![2])),
        case(
            "sort-specification",
            vec![],
            doc! { "find": "c", "sort": { "a": { "$meta": "searchScore" } } },
        )
        .otherwise(Otherwise::Either(vec![40218])),
        case("negative-count", vec![], doc! { "find": "c", "skip": -1 })
            .otherwise(Otherwise::Refuses(vec![2, 51024])),
        case(
            "negative-option-before-8",
            vec![],
            doc! { "find": "c", "limit": -1 },
        )
        .otherwise(Otherwise::Refuses(vec![2])),
        case("negative-option", vec![], doc! { "find": "c", "batchSize": -1 })
            .otherwise(Otherwise::Refuses(vec![2, 51024])),
        case("near-in-match", indexed(), matching(&near)).otherwise(Otherwise::Refuses(vec![2])),
        case("near-in-match-old", indexed(), matching(&near)).otherwise(Otherwise::Refuses(vec![5_626_500])),
        case(
            "text-natural-sort",
            indexed(),
            find(&text, doc! { "sort": natural.clone() }),
        ),
        case("text-index-required", vec![], find(&text, doc! {})),
        case("text-index-required", one(), matching(&text)),
        case(
            "text-index-required",
            one(),
            doc! { "delete": "c", "deletes": [{ "q": text.clone(), "limit": 1 }] },
        ),
        case("text-hint", indexed(), find(&text, doc! { "hint": "t_text" })),
        case(
            "near-natural-sort",
            indexed(),
            find(&near, doc! { "sort": natural.clone() }),
        ),
        case(
            "near-natural-hint",
            indexed(),
            find(&near, doc! { "hint": natural }),
        ),
        case(
            "text-score-sort",
            indexed(),
            find(&text, doc! { "sort": { "score": { "$meta": "textScore" } } }),
        ),
    ]
}

fn expressions() -> Vec<Case> {
    let project = |expression: Document| {
        doc! { "aggregate": "c", "pipeline": [{ "$project": { "a": expression } }], "cursor": {} }
    };
    vec![
        case(
            "projected-expression",
            vec![],
            doc! { "find": "c", "projection": { "a": { "$add": ["$b", 1] } } },
        ),
        case(
            "projected-expression",
            vec![],
            doc! { "findAndModify": "c", "query": {}, "remove": true, "fields": { "a": { "b": 1 } } },
        ),
        case(
            "projection-mix",
            vec![],
            doc! { "find": "c", "projection": { "a": 1, "b": 0 } },
        )
        .otherwise(Otherwise::Refuses(vec![31254])),
        case(
            "projection-exclusion",
            vec![],
            doc! { "find": "c", "projection": { "a": 1, "b": 0 } },
        )
        .otherwise(Otherwise::Refuses(vec![2])),
        case(
            "projection-inclusion",
            vec![],
            doc! { "find": "c", "projection": { "a": 0, "b": 1 } },
        )
        .otherwise(Otherwise::Refuses(vec![2])),
        case(
            "empty-modifier",
            vec![],
            doc! { "update": "c", "updates": [{ "q": {}, "u": { "$set": {} } }] },
        ),
        case(
            "if-null-arguments",
            vec![],
            project(doc! { "$ifNull": ["$a", "$b", 1] }),
        ),
        case(
            "filter-limit",
            vec![],
            project(doc! { "$filter": { "input": "$a", "cond": true, "limit": 1 } }),
        ),
        case(
            "get-field-constant",
            vec![],
            project(doc! { "$getField": { "$concat": ["$b", "c"] } }),
        )
        .otherwise(Otherwise::Either(vec![168])),
        case(
            "set-field-path",
            vec![],
            project(doc! { "$setField": { "field": "$a", "input": "$b", "value": 1 } }),
        )
        .since(5, 0),
        case(
            "set-field-constant",
            vec![],
            project(doc! { "$unsetField": { "field": { "$concat": ["$a", "x"] }, "input": "$b" } }),
        )
        .since(5, 0),
        case("get-field-path", vec![], project(doc! { "$getField": "$b" }))
            .otherwise(Otherwise::Either(vec![168])),
        case(
            "array-filters-pipeline",
            vec![],
            doc! { "update": "c", "updates": [{ "q": {}, "u": [{ "$set": { "a": 1 } }], "arrayFilters": [{ "x": 1 }] }] },
        ),
    ]
}

#[tokio::test]
async fn rows_are_refused_where_they_apply() {
    let cases = [upserts(), dollars(), orders(), expressions()];
    check("Queries", cases.into_iter().flatten().collect()).await;
}

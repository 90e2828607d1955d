//! The rows of `src/refusal/aggregation.rs`.

use super::{Case, Otherwise, case, check};
use bson::{Bson, Document, doc};

fn aggregate(stages: Vec<Document>) -> Document {
    doc! { "aggregate": "c", "pipeline": stages, "cursor": {} }
}

/// The collection `c` with a document.
fn inserted() -> Vec<Document> {
    vec![doc! { "insert": "c", "documents": [{ "_id": 1, "a": 1 }] }]
}

fn merge(id: &'static str, spec: Document) -> Case {
    case(id, inserted(), aggregate(vec![doc! { "$merge": spec }]))
}

fn merges() -> Vec<Case> {
    let modes = |matched: Bson, otherwise: &str| {
        merge(
            "merge-modes",
            doc! { "into": "d", "whenMatched": matched, "whenNotMatched": otherwise },
        )
    };
    let unique = |options: Document| {
        let mut index = doc! { "key": { "a": 1 }, "name": "a", "unique": true };
        index.extend(options);
        vec![doc! { "createIndexes": "d", "indexes": [index] }]
    };
    let mut cases = vec![
        modes("keepExisting".into(), "discard"),
        modes("keepExisting".into(), "fail"),
        modes("fail".into(), "discard"),
        modes("fail".into(), "fail"),
        case(
            "merge-same-collection",
            inserted(),
            aggregate(vec![doc! { "$merge": "c" }]),
        ),
        merge(
            "merge-let",
            doc! { "into": "d", "let": { "x": 1 }, "whenMatched": "replace" },
        ),
        merge(
            "merge-let-new",
            doc! { "into": "d", "let": { "new": "$a" }, "whenMatched": [{ "$set": { "b": 1 } }] },
        ),
        merge("merge-special-collection", doc! { "into": "system.views" })
            .otherwise(Otherwise::Refuses(vec![73])),
        merge(
            "merge-internal-database",
            doc! { "into": { "db": "config", "coll": "marula" } },
        )
        .otherwise(Otherwise::Either(vec![73])),
        merge("merge-duplicate-on", doc! { "into": "d", "on": ["_id", "_id"] })
            .otherwise(Otherwise::Either(vec![51183, 51190])),
    ];
    let by = |id: &'static str, value: Option<Bson>, sparse: bool| {
        let mut document = doc! { "_id": 1 };
        document.extend(value.map(|value| ("k".to_owned(), value)));
        let index = doc! { "key": { "k": 1 }, "name": "k", "unique": true, "sparse": sparse };
        let setup = vec![
            doc! { "insert": "c", "documents": [document] },
            doc! { "createIndexes": "d", "indexes": [index] },
        ];
        let merge = aggregate(vec![doc! { "$merge": { "into": "d", "on": "k" } }]);
        case(id, setup, merge)
    };
    let taken = doc! { "insert": "d", "documents": [{ "_id": 1 }] };
    let mut duplicate = merge("merge-duplicate", doc! { "into": "d", "whenMatched": "fail" });
    duplicate.setup.push(taken);
    cases.push(duplicate);
    cases.extend([
        by("merge-on-array", Some(Bson::Array(vec![1.into()])), false),
        by("merge-on-missing", None, false),
        by("merge-on-missing", Some(Bson::Null), false),
        by("merge-on-sparse", None, true).otherwise(Otherwise::Refuses(vec![51132])),
    ]);
    for id in ["merge-on-index", "merge-on-index-mongos"] {
        let other = Otherwise::Refuses(vec![51183, 51190]);
        cases.push(merge(id, doc! { "into": "d", "on": "a" }).otherwise(other));
        for options in [
            doc! { "partialFilterExpression": { "a": { "$gt": 0 } } },
            doc! { "collation": { "locale": "fr" } },
        ] {
            let other = Otherwise::Refuses(vec![51183, 51190]);
            let mut case = merge(id, doc! { "into": "d", "on": "a" }).otherwise(other);
            case.setup.extend(unique(options));
            cases.push(case);
        }
    }
    cases
}

/// A case of a document with a time that is written into a time series collection.
fn into_time_series(id: &'static str, stage: Document) -> Case {
    let mut setup = inserted();
    setup.push(doc! { "create": "ts", "timeseries": { "timeField": "t" } });
    let time = doc! { "$set": { "t": bson::DateTime::from_millis(0) } };
    case(id, setup, aggregate(vec![time, stage])).since(5, 0)
}

/// Cases of `$vectorSearch`. The servers of the matrix have no search.
fn vector_filters() -> Vec<Case> {
    let regex = Bson::RegularExpression(bson::Regex {
        pattern: "a".try_into().unwrap(),
        options: "".try_into().unwrap(),
    });
    let rows = [
        ("vector-filter", doc! { "a": { "$not": { "$eq": 1 } } }),
        ("vector-filter-null", doc! { "a": { "$in": [Bson::Null] } }),
        ("vector-filter-regex", doc! { "a": { "$in": [regex] } }),
    ];
    let cases = rows.into_iter().map(|(id, filter)| {
        let stage = doc! { "$vectorSearch": {
            "index": "i", "path": "v", "queryVector": [1], "exact": true, "limit": 1, "filter": filter,
        } };
        case(id, vec![], aggregate(vec![stage])).otherwise(Otherwise::Refuses(vec![31082, 40324]))
    });
    cases.collect()
}

fn outputs() -> Vec<Case> {
    let out = |id: &'static str, spec: Bson| case(id, inserted(), aggregate(vec![doc! { "$out": spec }]));
    let concern = |stage: Document| {
        let mut command = aggregate(vec![stage]);
        command.insert("readConcern", doc! { "level": "linearizable" });
        command
    };
    vec![
        out("out-object", doc! { "db": "outputs", "coll": "d" }.into()),
        out(
            "out-timeseries",
            doc! { "db": "outputs", "coll": "t", "timeseries": { "timeField": "t" } }.into(),
        )
        .otherwise(Otherwise::Refuses(vec![14, 238])),
        out("out-special-collection", "system.views".into()),
        out(
            "out-internal-database",
            doc! { "db": "config", "coll": "marula" }.into(),
        )
        .otherwise(Otherwise::Refuses(vec![14])),
        case(
            "out-capped",
            vec![doc! { "create": "capped", "capped": true, "size": 4096 }],
            aggregate(vec![doc! { "$out": "capped" }]),
        ),
        into_time_series("out-into-timeseries", doc! { "$out": "ts" })
            .otherwise(Otherwise::Either(vec![2, 238])),
        into_time_series("merge-into-timeseries-before-7", doc! { "$merge": "ts" })
            .otherwise(Otherwise::Refuses(vec![166, 238])),
        into_time_series("merge-into-timeseries", doc! { "$merge": "ts" })
            .otherwise(Otherwise::Refuses(vec![166, 238])),
        case(
            "output-not-last",
            vec![],
            aggregate(vec![doc! { "$out": "d" }, doc! { "$match": {} }]),
        ),
        case("output-linearizable", vec![], concern(doc! { "$out": "d" })),
        case("output-linearizable", vec![], concern(doc! { "$merge": "d" })),
        case("stage-read-concern", inserted(), {
            let mut command = aggregate(vec![doc! { "$collStats": { "count": {} } }]);
            command.insert("readConcern", doc! { "level": "majority" });
            command
        }),
    ]
}

fn views() -> Vec<Case> {
    let view = |id: &'static str, stage: Document| {
        case(
            id,
            vec![],
            doc! { "create": "v", "viewOn": "c", "pipeline": [stage] },
        )
    };
    vec![
        view("output-in-view", doc! { "$out": "d" }),
        view("output-in-view", doc! { "$merge": "d" }),
        view("change-stream-in-view", doc! { "$changeStream": {} }),
        view("collectionless-in-view", doc! { "$documents": [{ "a": 1 }] }).since(5, 1),
        view("collectionless-in-view", doc! { "$currentOp": {} }),
    ]
}

fn nested() -> Vec<Case> {
    let lookup = |pipeline: Vec<Document>| {
        aggregate(vec![
            doc! { "$lookup": { "from": "d", "pipeline": pipeline, "as": "b" } },
        ])
    };
    let union = |pipeline: Vec<Document>| {
        aggregate(vec![doc! { "$unionWith": { "coll": "d", "pipeline": pipeline } }])
    };
    let facet = |pipeline: Vec<Document>| aggregate(vec![doc! { "$facet": { "f": pipeline } }]);
    let mut cases = Vec::new();
    for stage in [
        doc! { "$out": "x" },
        doc! { "$merge": "x" },
        doc! { "$changeStream": {} },
    ] {
        cases.push(case("stage-in-lookup", vec![], lookup(vec![stage.clone()])));
        cases.push(
            case("stage-in-union", vec![], union(vec![stage.clone()]))
                .otherwise(Otherwise::Refuses(vec![40324])),
        );
        cases.push(case("stage-in-facet", vec![], facet(vec![stage])));
    }
    for stage in [
        doc! { "$facet": { "g": [{ "$match": {} }] } },
        doc! { "$indexStats": {} },
    ] {
        cases.push(case("stage-in-facet", vec![], facet(vec![stage])));
    }
    cases.push(case("empty-facet", vec![], facet(vec![])));
    cases
}

fn lookups() -> Vec<Case> {
    let lookup =
        |id: &'static str, spec: Document| case(id, inserted(), aggregate(vec![doc! { "$lookup": spec }]));
    let documents = doc! { "pipeline": [{ "$documents": [{ "a": 1 }] }], "as": "b" };
    vec![
        lookup(
            "lookup-fields-and-pipeline",
            doc! { "from": "d", "localField": "a", "foreignField": "a", "pipeline": [], "as": "b" },
        ),
        lookup("lookup-without-from", documents),
        lookup(
            "lookup-without-documents",
            doc! { "localField": "a", "foreignField": "a", "as": "b" },
        )
        .otherwise(Otherwise::Refuses(vec![9])),
        lookup(
            "lookup-let",
            doc! { "from": "d", "localField": "a", "foreignField": "a", "let": { "x": 1 }, "as": "b" },
        ),
    ]
}

#[tokio::test]
async fn rows_are_refused_where_they_apply() {
    let cases = [
        merges(),
        outputs(),
        views(),
        nested(),
        lookups(),
        vector_filters(),
    ];
    check("Aggregation", cases.into_iter().flatten().collect()).await;
}

//! The rows of `src/refusal/timeseries.rs`.

use super::{Case, Otherwise, case, check};
use Otherwise::{Either, Refuses};
use bson::{DateTime, Document, Uuid, doc};

/// Versions without time series collections refuse the option.
fn old() -> Vec<i32> {
    vec![72, 40_415]
}

fn create(series: Document, options: Document) -> Document {
    let mut command = doc! { "create": "c", "timeseries": series };
    command.extend(options);
    command
}

fn series() -> Document {
    create(doc! { "timeField": "t", "metaField": "m" }, doc! {})
}

fn creation() -> Vec<Case> {
    let with = |name: &'static str, value: bson::Bson| {
        let request = create(doc! { "timeField": "t" }, doc! { name: value });
        case("timeseries-option", vec![], request).otherwise(Refuses(vec![72, 14, 40_415]))
    };
    let meta = |id: &'static str, meta: &str| {
        let request = create(doc! { "timeField": "t", "metaField": meta }, doc! {});
        case(id, vec![], request).otherwise(Refuses(old()))
    };
    let spans = |id: &'static str, fields: Document, codes: &[i32]| {
        let mut series = doc! { "timeField": "t" };
        series.extend(fields);
        let codes = codes.iter().copied().chain(old()).collect();
        case(id, vec![], create(series, doc! {})).otherwise(Either(codes))
    };
    vec![
        with("validator", doc! { "a": 1 }.into()),
        case(
            "timeseries-option",
            vec![],
            create(doc! { "timeField": "t" }, doc! { "capped": true, "size": 4096 }),
        )
        .otherwise(Refuses(old())),
        with("viewOn", "d".into()),
        meta("timeseries-meta-id", "_id"),
        meta("timeseries-meta-time", "t"),
        meta("timeseries-meta-dotted", "a.b"),
        case(
            "timeseries-time-dotted",
            vec![],
            create(doc! { "timeField": "a.b" }, doc! {}),
        )
        .otherwise(Refuses(old())),
        spans("timeseries-granularity", doc! { "granularity": "days" }, &[]),
        spans("timeseries-max-span", doc! { "bucketMaxSpanSeconds": 60 }, &[]),
        spans(
            "timeseries-rounding-version",
            doc! { "bucketMaxSpanSeconds": 3600, "bucketRoundingSeconds": 3600 },
            &[],
        ),
        spans(
            "timeseries-span-and-granularity",
            doc! { "granularity": "hours", "bucketMaxSpanSeconds": 60 },
            &[5_510_500],
        ),
        spans(
            "timeseries-rounding-and-granularity",
            doc! { "granularity": "hours", "bucketRoundingSeconds": 60 },
            &[],
        ),
        spans(
            "timeseries-span-and-rounding",
            doc! { "bucketMaxSpanSeconds": 60, "bucketRoundingSeconds": 30 },
            &[5_510_500],
        ),
    ]
}

fn modification() -> Vec<Case> {
    let plain = || doc! { "create": "c" };
    let index = || doc! { "createIndexes": "c", "indexes": [{ "key": { "m": 1 }, "name": "i" }] };
    let modify = |options: Document| {
        let mut command = doc! { "collMod": "c" };
        command.extend(options);
        command
    };
    let minutes = create(doc! { "timeField": "t", "granularity": "minutes" }, doc! {});
    vec![
        case(
            "timeseries-transition",
            vec![minutes],
            modify(doc! { "timeseries": { "granularity": "seconds" } }),
        ),
        case(
            "timeseries-mod-option",
            vec![series()],
            modify(doc! { "validator": {} }),
        ),
        case(
            "timeseries-mod-only",
            vec![plain()],
            modify(doc! { "timeseries": { "granularity": "hours" } }),
        )
        .otherwise(Refuses(old())),
        case(
            "timeseries-mod-combined",
            vec![series()],
            modify(doc! { "timeseries": { "granularity": "hours" }, "expireAfterSeconds": 60 }),
        ),
        case(
            "timeseries-mod-ttl-index",
            vec![series(), index()],
            modify(doc! { "index": { "name": "i", "expireAfterSeconds": 1 } }),
        ),
        case(
            "timeseries-mod-prepare-unique",
            vec![series(), index()],
            modify(doc! { "index": { "name": "i", "prepareUnique": true } }),
        )
        .otherwise(Refuses(vec![40_415])),
    ]
}

fn indexes() -> Vec<Case> {
    let index = |id: &'static str, key: Document, options: Document, codes: &[i32]| {
        let mut spec = doc! { "key": key, "name": "i" };
        spec.extend(options);
        let request = doc! { "createIndexes": "c", "indexes": [spec] };
        case(id, vec![series()], request).otherwise(Either(codes.to_vec()))
    };
    let ttl = || doc! { "expireAfterSeconds": 1 };
    vec![
        index(
            "timeseries-index-unique",
            doc! { "m": 1 },
            doc! { "unique": true },
            &[],
        ),
        index("timeseries-index-text", doc! { "m": "text" }, doc! {}, &[]),
        index(
            "timeseries-index-sparse-before-6",
            doc! { "m": 1 },
            doc! { "sparse": true },
            &[],
        ),
        index(
            "timeseries-index-sparse",
            doc! { "a": 1 },
            doc! { "sparse": true },
            &[67, 72],
        ),
        index(
            "timeseries-index-partial",
            doc! { "m": 1 },
            doc! { "partialFilterExpression": { "m": 1 } },
            &[],
        ),
        index(
            "timeseries-index-partial-collation",
            doc! { "m": 1 },
            doc! { "partialFilterExpression": { "m": 1 }, "collation": { "locale": "en" } },
            &[72],
        ),
        index("timeseries-index-ttl-before-7", doc! { "t": 1 }, ttl(), &[72]),
        index("timeseries-index-ttl", doc! { "t": 1 }, ttl(), &[72]),
        index(
            "timeseries-index-ttl-field",
            doc! { "m": 1 },
            doc! { "expireAfterSeconds": 1, "partialFilterExpression": { "m": 1 } },
            &[72],
        ),
        index("timeseries-index-measurement", doc! { "a": 1 }, doc! {}, &[]),
        index("timeseries-index-wildcard", doc! { "$**": 1 }, doc! {}, &[67]),
        index(
            "timeseries-index-wildcard-before-7",
            doc! { "x.$**": 1 },
            doc! {},
            &[67, 7_246_201],
        ),
        index("timeseries-index-time-type", doc! { "t": "hashed" }, doc! {}, &[]),
        index(
            "timeseries-index-measurement-type",
            doc! { "a": "hashed" },
            doc! {},
            &[67],
        ),
    ]
}

fn in_transaction(mut command: Document) -> Document {
    command.extend(doc! {
        "lsid": { "id": Uuid::new() },
        "txnNumber": 1_i64,
        "autocommit": false,
        "startTransaction": true,
    });
    command
}

fn deletes() -> Vec<Case> {
    let delete = |id: &'static str, series: Document, statement: Document| {
        case(id, vec![series], doc! { "delete": "c", "deletes": [statement] })
    };
    let no_meta = || create(doc! { "timeField": "t" }, doc! {});
    let all = doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] };
    vec![
        case(
            "timeseries-transaction-delete",
            vec![series()],
            in_transaction(all),
        )
        .otherwise(Either(vec![20])),
        delete(
            "timeseries-delete-one",
            series(),
            doc! { "q": { "m": 1 }, "limit": 1 },
        ),
        delete(
            "timeseries-delete-no-meta",
            no_meta(),
            doc! { "q": { "m": 1 }, "limit": 0 },
        ),
        delete(
            "timeseries-delete-query",
            series(),
            doc! { "q": { "a": 1 }, "limit": 0 },
        ),
    ]
}

fn writes() -> Vec<Case> {
    let update = |id: &'static str, statement: Document| {
        case(id, vec![series()], doc! { "update": "c", "updates": [statement] })
    };
    let no_meta = || create(doc! { "timeField": "t" }, doc! {});
    let set = || doc! { "$set": { "m.a": 1 } };
    let measurement = doc! { "t": DateTime::from_millis(0), "m": 1 };
    let insert = |document: &Document| doc! { "insert": "c", "documents": [document] };
    vec![
        case(
            "timeseries-time-missing",
            vec![series()],
            insert(&doc! { "m": 1 }),
        ),
        case(
            "timeseries-transaction",
            vec![series()],
            in_transaction(insert(&measurement)),
        )
        .otherwise(Refuses(vec![20])),
        case(
            "timeseries-transaction-update",
            vec![series()],
            in_transaction(doc! { "update": "c", "updates": [{ "q": {}, "u": set(), "multi": true }] }),
        )
        .otherwise(Either(vec![20])),
        update("timeseries-update-one", doc! { "q": { "m": 1 }, "u": set() }),
        case(
            "timeseries-find-and-modify-update",
            vec![series()],
            doc! { "findAndModify": "c", "query": { "m": 1 }, "update": set() },
        )
        .otherwise(Refuses(vec![166])),
        update(
            "timeseries-upsert",
            doc! { "q": { "m": 1 }, "u": set(), "multi": true, "upsert": true },
        ),
        case(
            "timeseries-update-no-meta",
            vec![no_meta()],
            doc! { "update": "c", "updates": [{ "q": {}, "u": set(), "multi": true }] },
        ),
        update(
            "timeseries-update-query",
            doc! { "q": { "a": 1 }, "u": set(), "multi": true },
        ),
        update(
            "timeseries-update-pipeline",
            doc! { "q": {}, "u": [{ "$set": { "m": 1 } }], "multi": true },
        ),
        update(
            "timeseries-update-field",
            doc! { "q": {}, "u": { "$set": { "a": 1 } }, "multi": true },
        ),
        case(
            "timeseries-find-and-modify-sort",
            vec![series()],
            doc! { "findAndModify": "c", "query": {}, "sort": { "t": 1 }, "remove": true },
        )
        .otherwise(Refuses(vec![166])),
        case(
            "timeseries-find-and-modify",
            vec![series()],
            doc! { "findAndModify": "c", "query": { "m": 1 }, "remove": true },
        ),
    ]
}

#[tokio::test]
async fn rows_are_refused_where_they_apply() {
    let mut cases = creation();
    cases.extend(modification());
    cases.extend(indexes());
    cases.extend(writes());
    cases.extend(deletes());
    check("Time series", cases).await;
}

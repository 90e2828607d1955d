//! Aggregation: stages, expressions, errors.

use crate::checks::Checks;
use crate::context::{Context, docs, ids};
use mongodb::bson::{Bson, DateTime, Document, doc};
use mongodb::error::Result;

/// A name, a pipeline, and its result.
type Case = (&'static str, Vec<Document>, Vec<Document>);

pub(crate) async fn run(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("sales");
    let at = |id: i32| DateTime::parse_rfc3339_str(format!("2024-0{}-03T04:05:06.007Z", 1 + id % 2));
    for id in 0..6 {
        c.insert_one(
            doc! { "_id": id, "k": (if id % 2 == 0 { "a" } else { "b" }), "n": id, "c": id % 3, "at": at(id)? },
        )
        .await?;
    }
    context
        .collection("customers")
        .insert_many([
            doc! { "_id": 0, "name": "Zoe", "boss": 1 },
            doc! { "_id": 1, "name": "Ann" },
        ])
        .await?;
    for (name, pipeline, expected) in stages().into_iter().chain(joins()).chain(expressions()) {
        let got = docs(c.aggregate(pipeline).await).await;
        checks.eq(&format!("aggregate: {name}"), got, expected);
    }
    writing(checks, context).await?;
    options(checks, context).await?;
    rejected(checks, context).await;
    Ok(())
}

fn stages() -> Vec<Case> {
    vec![
        (
            "$group with accumulators",
            vec![
                doc! { "$sort": { "_id": 1 } },
                doc! { "$group": {
                    "_id": "$k", "sum": { "$sum": "$n" }, "avg": { "$avg": "$n" }, "min": { "$min": "$n" },
                    "max": { "$max": "$n" }, "all": { "$push": "$n" }, "first": { "$first": "$n" }, "count": { "$sum": 1 },
                } },
                doc! { "$sort": { "_id": 1 } },
            ],
            vec![
                doc! { "_id": "a", "sum": 6, "avg": 2.0, "min": 0, "max": 4, "all": [0, 2, 4], "first": 0, "count": 3 },
                doc! { "_id": "b", "sum": 9, "avg": 3.0, "min": 1, "max": 5, "all": [1, 3, 5], "first": 1, "count": 3 },
            ],
        ),
        (
            "$group of all",
            vec![doc! { "$group": { "_id": Bson::Null, "n": { "$sum": "$n" } } }],
            vec![doc! { "_id": Bson::Null, "n": 15 }],
        ),
        (
            "$match, $sort, $skip, $limit, $project",
            vec![
                doc! { "$match": { "n": { "$gt": 0 } } },
                doc! { "$sort": { "c": -1, "n": 1 } },
                doc! { "$skip": 1 },
                doc! { "$limit": 2 },
                doc! { "$project": { "n": 1, "_id": 0 } },
            ],
            vec![doc! { "n": 5 }, doc! { "n": 1 }],
        ),
        (
            "$facet",
            vec![doc! { "$facet": {
                "n": [{ "$count": "n" }],
                "top": [{ "$sort": { "n": -1 } }, { "$limit": 1 }, { "$project": { "n": 1 } }],
            } }],
            vec![doc! { "n": [{ "n": 6 }], "top": [{ "_id": 5, "n": 5 }] }],
        ),
        (
            "$bucket with a default",
            vec![doc! { "$bucket": { "groupBy": "$n", "boundaries": [0, 2, 5], "default": "rest" } }],
            vec![
                doc! { "_id": 0, "count": 2 },
                doc! { "_id": 2, "count": 3 },
                doc! { "_id": "rest", "count": 1 },
            ],
        ),
        (
            "$sortByCount",
            vec![
                doc! { "$match": { "n": { "$ne": 0 } } },
                doc! { "$sortByCount": "$k" },
            ],
            vec![doc! { "_id": "b", "count": 3 }, doc! { "_id": "a", "count": 2 }],
        ),
        (
            "$count without documents",
            vec![doc! { "$match": { "n": 99 } }, doc! { "$count": "n" }],
            vec![],
        ),
        (
            "$addFields and $unset",
            vec![
                doc! { "$match": { "_id": 2 } },
                doc! { "$addFields": { "twice": { "$multiply": ["$n", 2] }, "k": "new" } },
                doc! { "$unset": ["at", "c"] },
            ],
            vec![doc! { "_id": 2, "k": "new", "n": 2, "twice": 4 }],
        ),
        (
            "$unwind with its options",
            vec![
                doc! { "$match": { "_id": { "$lt": 2 } } },
                doc! { "$sort": { "_id": 1 } },
                doc! { "$project": { "l": { "$cond": [{ "$eq": ["$_id", 0] }, ["x", "y"], []] } } },
                doc! { "$unwind": { "path": "$l", "includeArrayIndex": "i", "preserveNullAndEmptyArrays": true } },
            ],
            vec![
                doc! { "_id": 0, "l": "x", "i": 0_i64 },
                doc! { "_id": 0, "l": "y", "i": 1_i64 },
                doc! { "_id": 1, "i": Bson::Null },
            ],
        ),
        (
            "$replaceRoot",
            vec![
                doc! { "$match": { "_id": 3 } },
                doc! { "$replaceRoot": { "newRoot": { "v": "$n" } } },
            ],
            vec![doc! { "v": 3 }],
        ),
        (
            "$project of a missing field",
            vec![
                doc! { "$limit": 1 },
                doc! { "$project": { "_id": 0, "x": "$none", "y": { "z": "$none" } } },
            ],
            vec![doc! { "y": {} }],
        ),
    ]
}

fn joins() -> Vec<Case> {
    let first = |field: &str| doc! { "$project": { "_id": 0, field: 1 } };
    vec![
        (
            "$lookup",
            vec![
                doc! { "$match": { "_id": { "$lt": 3 } } },
                doc! { "$sort": { "_id": 1 } },
                doc! { "$lookup": { "from": "customers", "localField": "c", "foreignField": "_id", "as": "who" } },
                doc! { "$project": { "_id": 0, "names": "$who.name" } },
            ],
            vec![
                doc! { "names": ["Zoe"] },
                doc! { "names": ["Ann"] },
                doc! { "names": [] },
            ],
        ),
        (
            "$lookup with a pipeline and let",
            vec![
                doc! { "$match": { "_id": 1 } },
                doc! { "$lookup": {
                    "from": "customers", "let": { "c": "$c" }, "as": "w",
                    "pipeline": [{ "$match": { "$expr": { "$eq": ["$_id", "$$c"] } } }, { "$project": { "name": 1 } }],
                } },
                first("w"),
            ],
            vec![doc! { "w": [{ "_id": 1, "name": "Ann" }] }],
        ),
        (
            "$lookup in a missing collection",
            vec![
                doc! { "$match": { "_id": 1 } },
                doc! { "$lookup": { "from": "missing", "localField": "c", "foreignField": "_id", "as": "w" } },
                first("w"),
            ],
            vec![doc! { "w": [] }],
        ),
        (
            "$unionWith",
            vec![
                doc! { "$match": { "_id": 5 } },
                doc! { "$project": { "n": 1 } },
                doc! { "$unionWith": { "coll": "customers", "pipeline": [{ "$match": { "boss": 1 } }] } },
            ],
            vec![
                doc! { "_id": 5, "n": 5 },
                doc! { "_id": 0, "name": "Zoe", "boss": 1 },
            ],
        ),
    ]
}

fn expressions() -> Vec<Case> {
    let cases: Vec<(&'static str, Bson, Bson)> = vec![
        ("$add of a long", doc! { "$add": ["$n", 1_i64] }.into(), 4_i64.into()),
        ("$divide returns a double", doc! { "$divide": [6, 3] }.into(), 2.0.into()),
        ("$mod and $abs", doc! { "$mod": [{ "$abs": -7 }, 4] }.into(), 3.into()),
        ("overflow widens", doc! { "$add": [i32::MAX, 1] }.into(), 2_147_483_648_i64.into()),
        ("null spreads", doc! { "$add": ["$none", 1] }.into(), Bson::Null),
        ("$ifNull", doc! { "$ifNull": ["$none", "d"] }.into(), "d".into()),
        ("$concat", doc! { "$concat": ["$k", "-", "z"] }.into(), "b-z".into()),
        ("$toUpper", doc! { "$toUpper": "straße" }.into(), "STRAßE".into()),
        ("$substrCP counts characters", doc! { "$substrCP": ["äöü", 1, 1] }.into(), "ö".into()),
        ("$strLenBytes", doc! { "$strLenBytes": "äöü" }.into(), 6.into()),
        ("$split", doc! { "$split": ["a,b", ","] }.into(), vec!["a", "b"].into()),
        (
            "$switch",
            doc! { "$switch": { "branches": [{ "case": { "$gt": ["$n", 2] }, "then": "big" }], "default": "small" } }
                .into(),
            "big".into(),
        ),
        ("$cmp across types", doc! { "$cmp": [1, "1"] }.into(), (-1).into()),
        (
            "$map, $filter, $reduce",
            doc! { "$reduce": {
                "input": { "$filter": {
                    "input": { "$map": { "input": { "$range": [1, 5] }, "in": { "$multiply": ["$$this", 2] } } },
                    "as": "x", "cond": { "$gt": ["$$x", 2] },
                } },
                "initialValue": 0, "in": { "$add": ["$$value", "$$this"] },
            } }
            .into(),
            18.into(),
        ),
        ("$arrayElemAt from the end", doc! { "$arrayElemAt": [[1, 2, 3], -1] }.into(), 3.into()),
        ("$in", doc! { "$in": ["$k", ["a", "b"]] }.into(), true.into()),
        ("$setUnion", doc! { "$size": { "$setUnion": [[1, 2], [2, 3]] } }.into(), 3.into()),
        ("$objectToArray", doc! { "$objectToArray": { "a": 1 } }.into(), vec![doc! { "k": "a", "v": 1 }].into()),
        ("$month", doc! { "$month": "$at" }.into(), 2.into()),
        ("$dateToString", doc! { "$dateToString": { "date": "$at", "format": "%Y-%m-%d %H:%M:%S.%L" } }.into(), "2024-02-03 04:05:06.007".into()),
        (
            "$dateDiff",
            doc! { "$dateDiff": {
                "startDate": "$at", "unit": "day",
                "endDate": { "$dateAdd": { "startDate": "$at", "unit": "month", "amount": 1 } },
            } }
            .into(),
            29_i64.into(),
        ),
        ("$toString", doc! { "$toString": 2.5 }.into(), "2.5".into()),
        ("$convert with onError", doc! { "$convert": { "input": "x", "to": "int", "onError": -1 } }.into(), (-1).into()),
        ("$type", doc! { "$type": "$at" }.into(), "date".into()),
        ("$let", doc! { "$let": { "vars": { "x": 2 }, "in": { "$pow": ["$$x", 3] } } }.into(), 8.into()),
        ("$$ROOT", "$$ROOT.k".into(), "b".into()),
    ];
    let case = |(name, expression, value): (&'static str, Bson, Bson)| {
        let project = doc! { "$project": { "_id": 0, "v": expression } };
        (
            name,
            vec![doc! { "$match": { "_id": 3 } }, project],
            vec![doc! { "v": value }],
        )
    };
    cases.into_iter().map(case).collect()
}

async fn writing(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("sales");
    let written = context.collection("written");
    written.insert_one(doc! { "_id": "old" }).await?;
    let out = [
        doc! { "$match": { "k": "a" } },
        doc! { "$project": { "n": 1 } },
        doc! { "$out": "written" },
    ];
    checks.eq(
        "$out returns no documents",
        docs(c.aggregate(out).await).await.map(|all| all.len()),
        0,
    );
    checks.eq(
        "$out replaces",
        ids(written.find(doc! {}).sort(doc! { "_id": 1 }).await).await,
        [0, 2, 4],
    );
    let merge = [
        doc! { "$project": { "n": { "$multiply": ["$n", 10] } } },
        doc! { "$merge": { "into": "written", "whenMatched": "merge", "whenNotMatched": "discard" } },
    ];
    docs(c.aggregate(merge).await).await?;
    checks.eq(
        "$merge merges",
        docs(written.find(doc! {}).sort(doc! { "_id": 1 }).await).await,
        [
            doc! { "_id": 0, "n": 0 },
            doc! { "_id": 2, "n": 20 },
            doc! { "_id": 4, "n": 40 },
        ],
    );
    let insert = [doc! { "$merge": { "into": "written", "whenMatched": "fail" } }];
    checks.code("$merge that fails on a match", 11000, c.aggregate(insert).await);
    Ok(())
}

async fn options(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("sales");
    let variable = c
        .aggregate([
            doc! { "$match": { "$expr": { "$eq": ["$n", "$$v"] } } },
            doc! { "$count": "n" },
        ])
        .let_vars(doc! { "v": 3 })
        .await;
    checks.eq("aggregate: let", docs(variable).await, [doc! { "n": 1 }]);
    let collated = c
        .aggregate([doc! { "$match": { "k": "A" } }, doc! { "$count": "n" }])
        .collation(crate::context::case_insensitive())
        .await;
    checks.eq("aggregate: collation", docs(collated).await, [doc! { "n": 3 }]);
    let database = context
        .db
        .aggregate([doc! { "$documents": [{ "a": 1 }, { "a": 2 }] }])
        .await;
    checks.eq(
        "aggregate: $documents",
        docs(database).await,
        [doc! { "a": 1 }, doc! { "a": 2 }],
    );
    let sample = docs(c.aggregate([doc! { "$sample": { "size": 4 } }]).await).await;
    checks.eq("aggregate: $sample", sample.map(|all| all.len()), 4);
    Ok(())
}

async fn rejected(checks: &mut Checks, context: &Context) {
    let c = context.collection("sales");
    let cases = [
        ("unknown stage", 40324, doc! { "$foo": 1 }),
        ("two stages in one", 40323, doc! { "$limit": 1, "$skip": 1 }),
        (
            "unknown expression",
            168,
            doc! { "$project": { "a": { "$foo": 1 } } },
        ),
        (
            "divide by zero",
            2,
            doc! { "$project": { "a": { "$divide": [1, 0] } } },
        ),
        (
            "a root that is not a document",
            40228,
            doc! { "$replaceRoot": { "newRoot": "$n" } },
        ),
        ("$limit 0", 15958, doc! { "$limit": 0 }),
        (
            "$group without _id",
            15955,
            doc! { "$group": { "n": { "$sum": 1 } } },
        ),
        (
            "unknown accumulator",
            15952,
            doc! { "$group": { "_id": 1, "n": { "$foo": 1 } } },
        ),
        ("$unwind without a dollar", 28818, doc! { "$unwind": "l" }),
        ("an empty $project", 51272, doc! { "$project": {} }),
        (
            "$add of a string",
            14,
            doc! { "$project": { "a": { "$add": ["$k", 1] } } },
        ),
        (
            "$toInt of text",
            241,
            doc! { "$project": { "a": { "$toInt": "x" } } },
        ),
        (
            "an undefined variable",
            17276,
            doc! { "$project": { "a": "$$none" } },
        ),
        (
            "$concat of a number",
            16702,
            doc! { "$project": { "a": { "$concat": ["$k", 1] } } },
        ),
        (
            "$arrayElemAt of text",
            28689,
            doc! { "$project": { "a": { "$arrayElemAt": ["$k", 0] } } },
        ),
        ("$count without a name", 40157, doc! { "$count": "" }),
        ("an empty $facet", 40169, doc! { "$facet": {} }),
        (
            "$out within $facet",
            40600,
            doc! { "$facet": { "a": [{ "$out": "x" }] } },
        ),
    ];
    for (name, code, stage) in cases {
        let result = docs(c.aggregate([stage]).await).await;
        checks.code(&format!("aggregate rejected: {name}"), code, result);
    }
    let early = c.aggregate([doc! { "$out": "x" }, doc! { "$limit": 1 }]).await;
    checks.code("aggregate rejected: $out not last", 40601, early);
    let without = doc! { "aggregate": "sales", "pipeline": [] };
    checks.code(
        "aggregate rejected: no cursor",
        9,
        context.db.run_command(without).await,
    );
}

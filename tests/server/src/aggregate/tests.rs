//! Pipeline semantics.

use super::*;
use crate::storage::{Collection, Namespace};
use bson::doc;

fn run_in(catalog: &Catalog, stages: Vec<Document>, input: Vec<Document>) -> Result<Vec<Document>> {
    let env = Env::default();
    let stages: Vec<Bson> = stages.into_iter().map(Bson::Document).collect();
    let source = Source {
        catalog,
        database: "db",
        collection: Some("c"),
        host: "h",
        lsid: None,
    };
    Pipeline::parse(&stages, &env)?.run(input, source, &env)
}

fn run(stages: Vec<Document>, input: Vec<Document>) -> Vec<Document> {
    run_in(&Catalog::default(), stages, input).unwrap()
}

fn error(stages: Vec<Document>) -> i32 {
    run_in(&Catalog::default(), stages, vec![doc! {}])
        .unwrap_err()
        .code
}

fn sales() -> Vec<Document> {
    vec![
        doc! {"_id": 1, "k": "a", "n": 1},
        doc! {"_id": 2, "k": "b", "n": 5},
        doc! {"_id": 3, "k": "a", "n": 3},
    ]
}

#[test]
fn match_sort_skip_limit() {
    let stages = vec![
        doc! {"$match": {"n": {"$gt": 0}}},
        doc! {"$sort": {"n": -1}},
        doc! {"$skip": 1},
        doc! {"$limit": 1},
    ];
    assert_eq!(run(stages, sales()), [doc! {"_id": 3, "k": "a", "n": 3}]);
}

#[test]
fn groups() {
    let group = doc! {"$group": {
        "_id": "$k", "sum": {"$sum": "$n"}, "avg": {"$avg": "$n"}, "all": {"$push": "$n"}, "first": {"$first": "$n"},
        "max": {"$max": "$n"}, "count": {"$count": {}},
    }};
    assert_eq!(
        run(vec![group, doc! {"$sort": {"_id": 1}}], sales()),
        [
            doc! {"_id": "a", "sum": 4, "avg": 2.0, "all": [1, 3], "first": 1, "max": 3, "count": 2},
            doc! {"_id": "b", "sum": 5, "avg": 5.0, "all": [5], "first": 5, "max": 5, "count": 1},
        ]
    );
    assert_eq!(
        run(vec![doc! {"$group": {"_id": null, "n": {"$sum": 1}}}], vec![]),
        []
    );
    let missing = vec![doc! {"$group": {"_id": "$none", "n": {"$sum": "$none"}}}];
    assert_eq!(run(missing, sales()), [doc! {"_id": null, "n": 0}]);
    assert_eq!(error(vec![doc! {"$group": {"n": {"$sum": 1}}}]), 15955);
    assert_eq!(error(vec![doc! {"$group": {"_id": 1, "n": {"$foo": 1}}}]), 15952);
}

#[test]
fn project_add_fields_unset() {
    assert_eq!(
        run(
            vec![doc! {"$project": {"_id": 0, "twice": {"$multiply": ["$n", 2]}}}],
            sales()
        )[0],
        doc! {"twice": 2}
    );
    let shaped = run(
        vec![
            doc! {"$set": {"x.y": "$n", "k": "$$REMOVE"}},
            doc! {"$unset": "n"},
        ],
        sales(),
    );
    assert_eq!(shaped[0], doc! {"_id": 1, "x": {"y": 1}});
    assert_eq!(error(vec![doc! {"$project": {}}]), 51272);
}

#[test]
fn replace_root_and_count() {
    assert_eq!(
        run(vec![doc! {"$replaceWith": {"v": "$n"}}], sales())[1],
        doc! {"v": 5}
    );
    assert_eq!(run(vec![doc! {"$count": "total"}], sales()), [doc! {"total": 3}]);
    assert_eq!(run(vec![doc! {"$count": "total"}], vec![]), []);
    assert_eq!(error(vec![doc! {"$replaceRoot": {"newRoot": "$n"}}]), 40228);
}

#[test]
fn unwind() {
    let input = vec![
        doc! {"_id": 1, "a": [1, 2]},
        doc! {"_id": 2, "a": []},
        doc! {"_id": 3},
        doc! {"_id": 4, "a": 9},
    ];
    let ids = |rows: Vec<Document>| {
        rows.iter()
            .map(|row| row.get_i32("_id").unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(run(vec![doc! {"$unwind": "$a"}], input.clone())), [1, 1, 4]);
    let kept = run(
        vec![doc! {"$unwind": {"path": "$a", "includeArrayIndex": "i", "preserveNullAndEmptyArrays": true}}],
        input,
    );
    assert_eq!(ids(kept.clone()), [1, 1, 2, 3, 4]);
    assert_eq!(kept[1], doc! {"_id": 1, "a": 2, "i": 1_i64});
    assert_eq!(kept[2], doc! {"_id": 2, "i": null});
    assert_eq!(error(vec![doc! {"$unwind": "a"}]), 28818);
}

fn with_customers() -> Catalog {
    let mut catalog = Catalog::default();
    let mut customers = Collection::new(None);
    for customer in [
        doc! {"_id": "a", "name": "Ann", "tags": ["x"]},
        doc! {"_id": "b", "name": "Bob"},
    ] {
        customers.insert(customer, "db.customers", false).unwrap();
    }
    catalog.put(&Namespace::new("db", "customers").unwrap(), customers);
    catalog
}

#[test]
fn lookup_by_fields() {
    let stage = doc! {"$lookup": {"from": "customers", "localField": "k", "foreignField": "_id", "as": "c"}};
    let rows = run_in(
        &with_customers(),
        vec![stage],
        vec![doc! {"k": "a"}, doc! {"k": ["a", "b"]}, doc! {}],
    )
    .unwrap();
    let counts: Vec<usize> = rows.iter().map(|row| row.get_array("c").unwrap().len()).collect();
    assert_eq!(counts, [1, 2, 0]);
    let missing =
        doc! {"$lookup": {"from": "customers", "localField": "k", "foreignField": "tags", "as": "c"}};
    let rows = run_in(&with_customers(), vec![missing], vec![doc! {}]).unwrap();
    assert_eq!(
        rows[0].get_array("c").unwrap().len(),
        1,
        "a missing field equals a missing field"
    );
}

#[test]
fn lookup_by_pipeline() {
    let stage = doc! {"$lookup": {
        "from": "customers", "let": {"key": "$k"}, "as": "c",
        "pipeline": [{"$match": {"$expr": {"$eq": ["$_id", "$$key"]}}}, {"$project": {"_id": 0, "name": 1}}],
    }};
    let rows = run_in(&with_customers(), vec![stage], vec![doc! {"k": "b"}]).unwrap();
    assert_eq!(rows, [doc! {"k": "b", "c": [{"name": "Bob"}]}]);
}

#[test]
fn facets_buckets_unions() {
    let facet =
        doc! {"$facet": {"big": [{"$match": {"n": {"$gt": 2}}}, {"$count": "n"}], "all": [{"$count": "n"}]}};
    assert_eq!(
        run(vec![facet], sales()),
        [doc! {"big": [{"n": 2}], "all": [{"n": 3}]}]
    );
    let bucket = doc! {"$bucket": {"groupBy": "$n", "boundaries": [0, 2, 4], "default": "other"}};
    assert_eq!(
        run(vec![bucket], sales()),
        [
            doc! {"_id": 0, "count": 1},
            doc! {"_id": 2, "count": 1},
            doc! {"_id": "other", "count": 1}
        ]
    );
    let union = doc! {"$unionWith": {"coll": "customers", "pipeline": [{"$limit": 1}]}};
    assert_eq!(run_in(&with_customers(), vec![union], sales()).unwrap().len(), 4);
    assert_eq!(
        run(vec![doc! {"$sortByCount": "$k"}], sales())[0],
        doc! {"_id": "a", "count": 2}
    );
}

#[test]
fn documents_and_sample() {
    assert_eq!(
        run(vec![doc! {"$documents": [{"a": {"$add": [1, 1]}}]}], vec![]),
        [doc! {"a": 2}]
    );
    assert_eq!(run(vec![doc! {"$sample": {"size": 2}}], sales()).len(), 2);
}

#[test]
fn what_is_unknown_or_not_served_is_refused() {
    assert_eq!(error(vec![doc! {"$foo": 1}]), 40324);
    assert_eq!(error(vec![doc! {"$search": {}}]), 238);
    assert_eq!(error(vec![doc! {"$match": {}, "$limit": 1}]), 40323);
    assert_eq!(error(vec![doc! {"$limit": 0}]), 15958);
    assert_eq!(error(vec![doc! {"$out": "x"}, doc! {"$limit": 1}]), 40601);
}

#[test]
fn updates_take_some_stages_only() {
    let env = Env::default();
    let parse = |stage: Document| Pipeline::parse_update(&[Bson::Document(stage)], &env);
    let updated = parse(doc! {"$set": {"b": {"$add": ["$a", 1]}}})
        .unwrap()
        .run_on_one(doc! {"a": 1}, &env)
        .unwrap();
    assert_eq!(updated, doc! {"a": 1, "b": 2});
    assert_eq!(parse(doc! {"$match": {}}).unwrap_err().code, 72);
    assert_eq!(parse(doc! {"$foo": {}}).unwrap_err().code, 40324);
}

#[test]
fn sums_of_decimals_are_exact() {
    let decimal = |text: &str| text.parse::<bson::Decimal128>().unwrap();
    let input = vec![doc! {"n": decimal("0.1")}, doc! {"n": decimal("0.2")}];
    let rows = run(
        vec![doc! {"$group": {"_id": null, "s": {"$sum": "$n"}, "a": {"$avg": "$n"}}}],
        input,
    );
    assert_eq!(rows[0].get("s").unwrap().to_string(), "0.3");
    assert_eq!(rows[0].get("a").unwrap().to_string(), "0.15");
}

#[test]
fn sums_of_groups_are_compensated() {
    let input: Vec<Document> = (0..10).map(|_| doc! {"a": 0.1}).collect();
    let group = doc! {"$group": {"_id": null, "sum": {"$sum": "$a"}, "avg": {"$avg": "$a"}}};
    assert_eq!(
        run(vec![group], input),
        [doc! {"_id": null, "sum": 1.0, "avg": 0.1}]
    );
}

fn scores() -> Vec<Document> {
    [
        ("a", 3, "x"),
        ("a", 9, "y"),
        ("b", 4, "z"),
        ("a", 9, "w"),
        ("b", 1, "v"),
    ]
    .into_iter()
    .map(|(team, score, name)| doc! {"team": team, "score": score, "name": name})
    .collect()
}

fn by_team(accumulator: Document) -> Vec<Bson> {
    let stages = vec![
        doc! {"$group": {"_id": "$team", "v": accumulator}},
        doc! {"$sort": {"_id": 1}},
    ];
    run(stages, scores())
        .into_iter()
        .map(|mut row| row.remove("v").unwrap())
        .collect()
}

#[test]
fn the_first_rows_by_an_order() {
    let top = |operator: &str, direction: i32| {
        by_team(doc! { operator: {"output": "$name", "sortBy": {"score": direction}} })
    };
    assert_eq!(top("$top", -1), ["y".into(), "z".into()]);
    assert_eq!(top("$top", 1), ["x".into(), "v".into()]);
    // Of rows that compare as equal the first one stays.
    assert_eq!(top("$bottom", 1), ["y".into(), "z".into()]);
    assert_eq!(
        by_team(doc! {"$topN": {"n": 2, "output": "$name", "sortBy": {"score": -1, "name": 1}}}),
        [vec!["w", "y"].into(), vec!["z", "v"].into()]
    );
    assert_eq!(
        by_team(doc! {"$bottomN": {"n": 2, "output": ["$name", "$none"], "sortBy": {"score": 1}}})[0],
        Bson::Array(vec![
            Bson::Array(vec!["y".into(), Bson::Null]),
            Bson::Array(vec!["w".into(), Bson::Null]),
        ])
    );
}

#[test]
fn the_first_last_least_and_greatest_rows() {
    let n = |operator: &str, input: &str| by_team(doc! { operator: {"n": 2, "input": input} });
    assert_eq!(n("$firstN", "$score"), [vec![3, 9].into(), vec![4, 1].into()]);
    assert_eq!(
        n("$lastN", "$name"),
        [vec!["y", "w"].into(), vec!["z", "v"].into()]
    );
    assert_eq!(n("$minN", "$score"), [vec![3, 9].into(), vec![1, 4].into()]);
    assert_eq!(n("$maxN", "$score"), [vec![9, 9].into(), vec![4, 1].into()]);
    assert_eq!(n("$maxN", "$none"), [Bson::Array(vec![]), Bson::Array(vec![])]);
    assert_eq!(
        by_team(doc! {"$median": {"input": "$score", "method": "approximate"}}),
        [9.0.into(), 1.0.into()]
    );
    assert_eq!(
        by_team(doc! {"$percentile": {"input": "$score", "p": [0.0, 1.0], "method": "approximate"}}),
        [vec![3.0, 9.0].into(), vec![1.0, 4.0].into()]
    );
}

#[test]
fn the_number_of_rows_may_depend_on_the_group() {
    let stages = vec![
        doc! {"$group": {"_id": {"t": "$team"}, "v": {
            "$firstN": {"input": "$score", "n": {"$cond": [{"$eq": ["$t", "a"]}, 2, 1]}}
        }}},
        doc! {"$sort": {"_id": 1}},
        doc! {"$project": {"_id": 0}},
    ];
    assert_eq!(run(stages, scores()), [doc! {"v": [3, 9]}, doc! {"v": [4]}]);
}

#[test]
fn malformed_accumulators() {
    let code = |accumulator: Document| error(vec![doc! {"$group": {"_id": null, "v": accumulator}}]);
    assert_eq!(code(doc! {"$push": ["$a"]}), 40237);
    assert_eq!(code(doc! {"$sum": ["$a", "$b"]}), 40237);
    assert_eq!(code(doc! {"$top": 1}), 5_788_001);
    assert_eq!(code(doc! {"$top": {"n": 1}}), 5_788_002);
    assert_eq!(code(doc! {"$topN": {"output": 1, "sortBy": {"a": 1}}}), 5_788_003);
    assert_eq!(code(doc! {"$top": {"sortBy": {"a": 1}}}), 5_788_004);
    assert_eq!(code(doc! {"$top": {"output": 1}}), 5_788_005);
    assert_eq!(code(doc! {"$top": {"output": 1, "sortBy": {"a": 2}}}), 15975);
    assert_eq!(code(doc! {"$maxN": {"input": 1, "n": 0}}), 5_787_908);
    assert_eq!(code(doc! {"$maxN": {"input": 1, "m": 0}}), 5_787_901);
    assert_eq!(code(doc! {"$firstN": {"n": 1}}), 5_787_907);
}

#[test]
fn sorting_by_two_arrays_is_refused() {
    let refused = run_in(
        &Catalog::default(),
        vec![doc! {"$sort": {"a": 1, "b": 1}}],
        vec![doc! {"a": [1], "b": [1]}],
    );
    assert_eq!(refused.unwrap_err().code, 2);
}

#[test]
fn buckets_of_about_the_same_size() {
    let input: Vec<Document> = [5, 1, 4, 1, 3, 2].into_iter().map(|n| doc! {"n": n}).collect();
    let buckets = |stage: Document| run(vec![doc! {"$bucketAuto": stage}], input.clone());
    assert_eq!(
        buckets(doc! {"groupBy": "$n", "buckets": 3}),
        [
            doc! {"_id": {"min": 1, "max": 2}, "count": 2},
            doc! {"_id": {"min": 2, "max": 4}, "count": 2},
            doc! {"_id": {"min": 4, "max": 5}, "count": 2},
        ]
    );
    // Equal values stay together, and accumulators see the input's order.
    assert_eq!(
        buckets(doc! {"groupBy": {"$min": ["$n", 3]}, "buckets": 2, "output": {"all": {"$push": "$n"}}}),
        [
            doc! {"_id": {"min": 1, "max": 3}, "all": [1, 1, 2]},
            doc! {"_id": {"min": 3, "max": 3}, "all": [5, 4, 3]},
        ]
    );
    assert_eq!(buckets(doc! {"groupBy": "$n", "buckets": 100}).len(), 5);
    let code = |stage: Document| error(vec![doc! {"$bucketAuto": stage}]);
    assert_eq!(code(doc! {"groupBy": 1, "buckets": 1}), 40239);
    assert_eq!(code(doc! {"groupBy": "$n", "buckets": "x"}), 40241);
    assert_eq!(code(doc! {"groupBy": "$n", "buckets": 1.5}), 40242);
    assert_eq!(code(doc! {"groupBy": "$n", "buckets": 0}), 40243);
    assert_eq!(code(doc! {"groupBy": "$n"}), 40246);
    assert_eq!(
        code(doc! {"groupBy": "$n", "buckets": 1, "granularity": "R5"}),
        238
    );
}

#[test]
fn redaction_by_level() {
    let stage = doc! {"$redact": {"$cond": [{"$gt": ["$level", 2]}, "$$PRUNE", "$$DESCEND"]}};
    let input = doc! {
        "_id": 1, "level": 1, "a": {"level": 3}, "b": {"level": 2, "c": [{"level": 5}, 7, [{"level": 1}]]},
    };
    assert_eq!(
        run(vec![stage], vec![input]),
        [doc! {"_id": 1, "level": 1, "b": {"level": 2, "c": [7, [{"level": 1}]]}}]
    );
    let kept = doc! {"$redact": {"$cond": [{"$eq": ["$$ROOT.n", 1]}, "$$KEEP", "$$PRUNE"]}};
    assert_eq!(run(vec![kept], sales()).len(), 1);
    assert_eq!(error(vec![doc! {"$redact": 1}]), 17053);
    assert_eq!(error(vec![doc! {"$project": {"a": "$$KEEP"}}]), 17276);
}

#[test]
fn errors_of_fields_name_the_stage() {
    let message = |stage: Document| {
        run_in(&Catalog::default(), vec![stage], vec![])
            .unwrap_err()
            .message
    };
    assert_eq!(
        message(doc! {"$set": {}}),
        "Invalid $set :: caused by :: specification must have at least one field"
    );
    assert_eq!(
        message(doc! {"$addFields": {"a.": 1}}),
        "Invalid $addFields :: caused by :: FieldPath must not end with a '.'."
    );
}

#[test]
fn gaps_are_filled() {
    let input = vec![
        doc! {"t": 5, "k": "a", "v": null},
        doc! {"t": 1, "k": "a", "v": 10},
        doc! {"t": 3, "k": "a"},
        doc! {"t": 2, "k": "b"},
        doc! {"t": 9, "k": "a", "v": 14},
    ];
    let filled = |stage: Document| -> Vec<Bson> {
        run(vec![doc! {"$fill": stage}], input.clone())
            .into_iter()
            .map(|mut row| row.remove("v").unwrap())
            .collect()
    };
    // Fixed values leave the order as it is.
    assert_eq!(
        filled(doc! {"output": {"v": {"value": "$t"}}}),
        [5.into(), 10.into(), 3.into(), 2.into(), 14.into()]
    );
    assert_eq!(
        filled(doc! {"sortBy": {"t": 1}, "output": {"v": {"method": "locf"}}}),
        [10.into(), 10.into(), 10.into(), 10.into(), 14.into()]
    );
    let by_key = doc! {"sortBy": {"t": 1}, "partitionBy": "$k", "output": {"v": {"method": "linear"}}};
    assert_eq!(
        filled(by_key),
        [10.into(), 11.0.into(), 12.0.into(), 14.into(), Bson::Null]
    );
    let by_fields =
        doc! {"sortBy": {"t": -1}, "partitionByFields": ["k"], "output": {"v": {"method": "locf"}}};
    assert_eq!(
        filled(by_fields),
        [14.into(), 14.into(), 14.into(), 10.into(), Bson::Null]
    );
    let code = |stage: Document| {
        run_in(&Catalog::default(), vec![doc! {"$fill": stage}], input.clone())
            .unwrap_err()
            .code
    };
    assert_eq!(code(doc! {}), 40414);
    assert_eq!(code(doc! {"output": {}}), 6_050_203);
    assert_eq!(code(doc! {"output": {"v": 1}}), 6_050_200);
    assert_eq!(
        code(doc! {"output": {"v": {"method": "locf", "value": 1}}}),
        6_050_201
    );
    assert_eq!(code(doc! {"output": {"v": {"method": "x"}}}), 6_050_202);
    assert_eq!(code(doc! {"output": {"v": {"method": "linear"}}}), 605_001);
    assert_eq!(
        code(doc! {"sortBy": {"k": 1}, "output": {"v": {"method": "linear"}}}),
        14
    );
    assert_eq!(
        code(doc! {"sortBy": {"t": 1}, "output": {"k": {"method": "linear"}}}),
        14
    );
}

#[test]
fn capped_collections_take_no_output() {
    use crate::storage::collection::Capped;
    let mut catalog = with_customers();
    let namespace = Namespace::new("db", "customers").unwrap();
    let env = Env::default();
    let out = Pipeline::parse(&[Bson::Document(doc! {"$out": "customers"})], &env).unwrap();
    let write = |catalog: &mut Catalog| {
        let now = || bson::Timestamp {
            time: 1,
            increment: 1,
        };
        let output = out.output.as_ref().unwrap();
        output
            .write(vec![], catalog, "db", &env, &now, false)
            .map_err(|error| error.code)
    };
    assert_eq!(write(&mut catalog), Ok(()));
    catalog.get_mut(&namespace).unwrap().capped = Some(Capped {
        size: 4096,
        max: None,
    });
    assert_eq!(write(&mut catalog), Err(17152));
}

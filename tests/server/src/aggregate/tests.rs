//! Tests of pipelines: results and errors of the stages.

use super::*;
use crate::storage::{Collection, Namespace};
use bson::doc;

mod accumulators;
mod joins;
mod stages;

fn run_in(catalog: &Catalog, stages: Vec<Document>, input: Vec<Document>) -> Result<Vec<Document>> {
    let env = Env::default();
    let stages: Vec<Bson> = stages.into_iter().map(Bson::Document).collect();
    let source = Source {
        catalog,
        database: "db",
        collection: Some("c"),
        host: "h",
        lsid: None,
        profile: ServerProfile::default(),
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
fn unknown_and_unimplemented_stages_are_rejected() {
    assert_eq!(error(vec![doc! {"$foo": 1}]), 40324);
    assert_eq!(error(vec![doc! {"$search": {}}]), 31082);
    assert_eq!(error(vec![doc! {"$match": {}, "$limit": 1}]), 40323);
    assert_eq!(error(vec![doc! {"$limit": 0}]), 15958);
    for stage in [
        doc! {"$geoNear": {"near": [0, 0], "distanceField": "d"}},
        doc! {"$match": {"$text": {"$search": "x"}}},
    ] {
        assert_eq!(error(vec![doc! {"$facet": {"a": [stage]}}]), 40600);
    }
    assert_eq!(error(vec![doc! {"$out": "x"}, doc! {"$limit": 1}]), 40601);
}

#[test]
fn updates_allow_some_stages_only() {
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
fn sorting_by_two_arrays_is_rejected() {
    let refused = run_in(
        &Catalog::default(),
        vec![doc! {"$sort": {"a": 1, "b": 1}}],
        vec![doc! {"a": [1], "b": [1]}],
    );
    assert_eq!(refused.unwrap_err().code, 2);
}

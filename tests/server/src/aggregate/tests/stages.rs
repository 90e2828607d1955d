//! Tests of `$bucketAuto`, `$redact`, `$fill`, and errors of some stages.

use super::*;

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
    // Equal values are in the same bucket, and accumulators process documents in input order.
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
        40258
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
fn null_and_missing_fields_are_filled() {
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
    // Without `sortBy` the order of the documents is unchanged.
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
fn output_to_capped_collections_is_rejected() {
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

#[test]
fn buckets_with_a_granularity() {
    // The examples of the documentation: the numbers from 0 to 99 in five buckets.
    let input: Vec<Document> = (0..100).map(|n| doc! { "n": n }).collect();
    let buckets = |granularity: &str| {
        let stage = doc! { "groupBy": "$n", "buckets": 5, "granularity": granularity };
        let rows = run(vec![doc! { "$bucketAuto": stage }], input.clone());
        let bounds = rows.iter().map(|row| {
            let id = row.get_document("_id").unwrap();
            let number = |name: &str| match id.get(name) {
                Some(Bson::Int32(number)) => f64::from(*number),
                other => other.and_then(Bson::as_f64).unwrap(),
            };
            (number("min"), number("max"), row.get_i32("count").unwrap())
        });
        bounds.collect::<Vec<_>>()
    };
    assert_eq!(
        buckets("R20"),
        [
            (0.0, 20.0, 20),
            (20.0, 40.0, 20),
            (40.0, 63.0, 23),
            (63.0, 90.0, 27),
            (90.0, 100.0, 10)
        ]
    );
    assert_eq!(
        buckets("E24"),
        [
            (0.0, 20.0, 20),
            (20.0, 43.0, 23),
            (43.0, 68.0, 25),
            (68.0, 91.0, 23),
            (91.0, 100.0, 9)
        ]
    );
    assert_eq!(
        buckets("1-2-5"),
        [(0.0, 20.0, 20), (20.0, 50.0, 30), (50.0, 100.0, 50)]
    );
    assert_eq!(
        buckets("POWERSOF2"),
        [(0.0, 32.0, 32), (32.0, 64.0, 32), (64.0, 128.0, 36)]
    );
    assert_eq!(
        error(vec![
            doc! { "$bucketAuto": { "groupBy": "$n", "buckets": 1, "granularity": 1 } }
        ]),
        40261
    );
}

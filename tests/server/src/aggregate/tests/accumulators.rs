//! Tests of accumulators.

use super::*;

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
    // Of rows with equal sort keys the first is selected.
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

//! Tests of `$setWindowFields`, with the data of MongoDB's documentation.

use crate::aggregate::{Pipeline, Source};
use crate::error::Result;
use crate::query::Env;
use crate::storage::Catalog;
use bson::{Bson, DateTime, Document, doc};

fn try_run(stage: Document, input: Vec<Document>) -> Result<Vec<Document>> {
    let env = Env::default();
    let catalog = Catalog::default();
    let source = Source {
        catalog: &catalog,
        database: "db",
        collection: Some("c"),
        host: "h",
        lsid: None,
        profile: crate::refusal::ServerProfile::default(),
    };
    let stages = [Bson::Document(doc! { "$setWindowFields": stage })];
    Pipeline::parse(&stages, &env)?.run(input, source, &env)
}

/// The values of the field `v`, in the order of `_id`.
fn values(stage: Document, input: Vec<Document>) -> Vec<Bson> {
    let mut rows = try_run(stage, input).unwrap();
    rows.sort_by_key(|row| row.get_i32("_id").unwrap());
    rows.iter()
        .map(|row| row.get("v").cloned().unwrap_or(Bson::Undefined))
        .collect()
}

fn code(stage: Document) -> i32 {
    try_run(stage, vec![doc! { "_id": 1, "n": 1, "s": "x" }])
        .unwrap_err()
        .code
}

fn date(text: &str) -> Bson {
    Bson::DateTime(DateTime::parse_rfc3339_str(text).unwrap())
}

/// The collection `cakeSales` of the documentation.
fn cakes() -> Vec<Document> {
    vec![
        doc! { "_id": 0, "type": "chocolate", "at": date("2020-05-18T14:10:30Z"), "state": "CA", "price": 13, "quantity": 120 },
        doc! { "_id": 1, "type": "chocolate", "at": date("2021-03-20T11:30:05Z"), "state": "WA", "price": 14, "quantity": 140 },
        doc! { "_id": 2, "type": "vanilla", "at": date("2021-01-11T06:31:15Z"), "state": "CA", "price": 12, "quantity": 145 },
        doc! { "_id": 3, "type": "vanilla", "at": date("2020-02-08T13:13:23Z"), "state": "WA", "price": 13, "quantity": 104 },
        doc! { "_id": 4, "type": "strawberry", "at": date("2019-05-18T16:09:01Z"), "state": "CA", "price": 41, "quantity": 162 },
        doc! { "_id": 5, "type": "strawberry", "at": date("2019-01-08T06:12:03Z"), "state": "WA", "price": 43, "quantity": 134 },
    ]
}

fn by_state(function: Document) -> Vec<Bson> {
    let stage = doc! { "partitionBy": "$state", "sortBy": { "at": 1 }, "output": { "v": function } };
    values(stage, cakes())
}

fn ints(values: [i32; 6]) -> Vec<Bson> {
    values.into_iter().map(Bson::Int32).collect()
}

#[test]
fn cumulative_and_moving_windows() {
    let sum = doc! { "$sum": "$quantity", "window": { "documents": ["unbounded", "current"] } };
    assert_eq!(by_state(sum), ints([282, 378, 427, 238, 162, 134]));
    let by_year = doc! {
        "partitionBy": { "$year": "$at" }, "sortBy": { "at": 1 },
        "output": { "v": { "$avg": "$quantity", "window": { "documents": [-1, 0] } } },
    };
    let averages = [112.0, 142.5, 145.0, 104.0, 148.0, 134.0].map(Bson::Double);
    assert_eq!(values(by_year, cakes()), averages);
    let all = doc! { "$max": "$quantity" };
    assert_eq!(by_state(all), ints([162, 140, 162, 140, 162, 140]));
}

#[test]
fn windows_by_value() {
    let stage = doc! {
        "partitionBy": "$state", "sortBy": { "price": 1 },
        "output": { "v": { "$sum": "$quantity", "window": { "range": [-10, 10] } } },
    };
    assert_eq!(values(stage, cakes()), ints([265, 244, 265, 244, 162, 134]));
    let within = |lower: &str, upper: i32| {
        by_state(doc! { "$push": "$_id", "window": { "range": [lower, upper], "unit": "month" } })
    };
    assert_eq!(
        within("unbounded", 10),
        [
            vec![4, 0, 2],
            vec![5, 3, 1],
            vec![4, 0, 2],
            vec![5, 3],
            vec![4],
            vec![5]
        ]
        .map(Bson::from)
    );
    let ties = vec![
        doc! { "_id": 1, "n": 1 },
        doc! { "_id": 2, "n": 1 },
        doc! { "_id": 3, "n": 2 },
    ];
    let counted = doc! {
        "sortBy": { "n": 1 },
        "output": { "v": { "$count": {}, "window": { "range": ["unbounded", "current"] } } },
    };
    assert_eq!(values(counted, ties), [2, 2, 3].map(Bson::Int32));
}

#[test]
fn ranks() {
    let ranked = |name: &str| {
        let input = [5, 7, 7, 9]
            .into_iter()
            .zip(1..)
            .map(|(n, id)| doc! { "_id": id, "n": n });
        values(
            doc! { "sortBy": { "n": -1 }, "output": { "v": { name: {} } } },
            input.collect(),
        )
    };
    assert_eq!(ranked("$rank"), [4, 2, 2, 1].map(Bson::Int32));
    assert_eq!(ranked("$denseRank"), [3, 2, 2, 1].map(Bson::Int32));
    assert_eq!(ranked("$documentNumber"), [4, 2, 3, 1].map(Bson::Int32));
}

#[test]
fn shifted_values() {
    let stage = doc! {
        "partitionBy": "$state", "sortBy": { "quantity": -1 },
        "output": { "v": { "$shift": { "output": "$quantity", "by": -1, "default": "Not available" } } },
    };
    let none = || Bson::from("Not available");
    assert_eq!(
        values(stage, cakes()),
        [145.into(), none(), 162.into(), 134.into(), none(), 140.into()]
    );
    let last = doc! { "$shift": { "output": "$quantity", "by": 1 } };
    assert_eq!(by_state(last)[1], Bson::Null);
}

#[test]
fn derivative_and_integral_with_units() {
    let trucks = |field: &str, values: [f64; 4]| {
        let minutes = ["00", "30", "00", "30"].into_iter().zip(["10", "10", "11", "11"]);
        minutes
            .zip(values)
            .zip(1..)
            .map(|(((minute, hour), value), id)| {
                doc! { "_id": id, "at": date(&format!("2020-05-18T{hour}:{minute}:00Z")), field: value }
            })
            .collect::<Vec<_>>()
    };
    let speed = doc! {
        "sortBy": { "at": 1 },
        "output": { "v": { "$derivative": { "input": "$miles", "unit": "hour" }, "window": { "range": [-30, 0], "unit": "minute" } } },
    };
    let speeds = values(speed, trucks("miles", [10.0, 20.0, 40.0, 45.0]));
    assert_eq!(speeds[0], Bson::Null);
    let near = |value: &Bson, expected: f64| (value.as_f64().unwrap() - expected).abs() < 1e-9;
    assert!(
        near(&speeds[1], 20.0) && near(&speeds[2], 40.0) && near(&speeds[3], 10.0),
        "{speeds:?}"
    );
    let energy = doc! {
        "sortBy": { "at": 1 },
        "output": { "v": { "$integral": { "input": "$kw", "unit": "hour" }, "window": { "range": ["unbounded", "current"], "unit": "hour" } } },
    };
    assert_eq!(
        values(energy, trucks("kw", [2.0, 4.0, 4.0, 0.0])),
        [0.0, 1.5, 3.5, 4.5].map(Bson::Double)
    );
}

#[test]
fn moving_averages() {
    let input = [13.0, 15.4, 12.0, 11.7].into_iter().zip(1..);
    let prices: Vec<Document> = input.map(|(n, id)| doc! { "_id": id, "n": n }).collect();
    let average = |weight: Document| {
        let mut function = weight;
        function.insert("input", "$n");
        values(
            doc! { "sortBy": { "_id": 1 }, "output": { "v": { "$expMovingAvg": function } } },
            prices.clone(),
        )
    };
    let expected = [13.0, 14.2, 13.1, 12.4];
    for weight in [doc! { "N": 3 }, doc! { "alpha": 0.5 }] {
        let averages = average(weight);
        let mut pairs = averages.iter().zip(expected);
        assert!(
            pairs.all(|(average, expected)| (average.as_f64().unwrap() - expected).abs() < 1e-9),
            "{averages:?}"
        );
    }
}

#[test]
fn covariances() {
    let stage = doc! {
        "partitionBy": "$state", "sortBy": { "at": 1 },
        "output": { "v": { "$covariancePop": [{ "$year": "$at" }, "$quantity"], "window": { "documents": ["unbounded", "current"] } } },
    };
    let result = values(stage, cakes());
    let near = |value: &Bson, expected: f64| (value.as_f64().unwrap() - expected).abs() < 1e-9;
    // The values of the documentation.
    assert!(near(&result[0], -10.5) && near(&result[1], 2.0), "{result:?}");
    assert!(
        near(&result[2], -17.0 / 3.0) && near(&result[3], -7.5),
        "{result:?}"
    );
    assert_eq!(result[4], Bson::Double(0.0));
    let sample =
        by_state(doc! { "$covarianceSamp": ["$price", "$quantity"], "window": { "documents": [0, 0] } });
    assert_eq!(sample, vec![Bson::Null; 6]);
}

#[test]
fn filled_values() {
    let input = [
        Bson::Int32(500),
        Bson::Null,
        Bson::Null,
        Bson::Int32(515),
        Bson::Null,
    ];
    let prices: Vec<Document> = (1..)
        .zip(input)
        .map(|(id, n)| doc! { "_id": id, "n": n })
        .collect();
    let fill = |name: &str| {
        values(
            doc! { "sortBy": { "_id": 1 }, "output": { "v": { name: "$n" } } },
            prices.clone(),
        )
    };
    assert_eq!(
        fill("$linearFill"),
        [500.into(), 505.0.into(), 510.0.into(), 515.into(), Bson::Null]
    );
    assert_eq!(fill("$locf"), [500, 500, 500, 515, 515].map(Bson::Int32));
}

#[test]
fn selections_in_windows() {
    let window = doc! { "documents": ["unbounded", "current"] };
    let two = doc! { "$minN": { "input": "$quantity", "n": 2 }, "window": window.clone() };
    assert_eq!(by_state(two)[2], Bson::from(vec![120, 145]));
    let top = doc! { "$top": { "output": "$type", "sortBy": { "price": -1 } }, "window": window };
    assert_eq!(by_state(top)[1], Bson::from("strawberry"));
    let none = doc! { "$sum": "$quantity", "window": { "documents": [5, 6] } };
    assert_eq!(by_state(none), ints([0; 6]));
    let first = doc! { "$first": "$_id", "window": { "documents": [1, 1] } };
    assert_eq!(by_state(first)[1], Bson::Null);
}

#[test]
fn malformed_specifications() {
    let output = |function: Document| code(doc! { "sortBy": { "n": 1 }, "output": { "v": function } });
    assert_eq!(code(doc! { "sortBy": { "n": 1 } }), 40414);
    assert_eq!(code(doc! { "output": {}, "x": 1 }), 40415);
    assert_eq!(code(doc! { "output": { "v": 1 } }), 9);
    assert_eq!(output(doc! { "$summ": "$n" }), 9);
    assert_eq!(output(doc! { "$mergeObjects": "$n" }), 9);
    assert_eq!(output(doc! { "$setUnion": "$n" }), 238);
    assert_eq!(output(doc! { "a": { "$sum": "$n" } }), 9);
    assert_eq!(output(doc! { "$sum": "$n", "$avg": "$n" }), 9);
    let window = |window: Document| output(doc! { "$sum": "$n", "window": window });
    assert_eq!(window(doc! { "documents": [1, 0] }), 5_339_900);
    assert_eq!(window(doc! { "documents": [0] }), 9);
    assert_eq!(window(doc! { "documents": [0.5, 1] }), 9);
    assert_eq!(window(doc! { "documents": [0, 1], "range": [0, 1] }), 9);
    assert_eq!(window(doc! { "documents": [0, 1], "unit": "day" }), 9);
    assert_eq!(window(doc! { "range": [0, 1], "unit": "days" }), 9);
    assert_eq!(window(doc! { "range": [0, 1], "unit": "day" }), 5_429_513);
    let unsorted = |function: Document| code(doc! { "output": { "v": function } });
    assert_eq!(
        unsorted(doc! { "$sum": "$n", "window": { "documents": [0, 1] } }),
        5_339_901
    );
    assert_eq!(
        unsorted(doc! { "$sum": "$n", "window": { "range": [0, 1] } }),
        5_339_902
    );
    assert_eq!(unsorted(doc! { "$rank": {} }), 5_371_602);
    assert_eq!(output(doc! { "$rank": 1 }), 5_371_603);
    assert_eq!(output(doc! { "$rank": {}, "window": {} }), 5_371_601);
    assert_eq!(unsorted(doc! { "$shift": { "output": "$n", "by": 1 } }), 9);
    assert_eq!(unsorted(doc! { "$linearFill": "$n" }), 605_001);
    assert_eq!(output(doc! { "$derivative": { "input": "$n" } }), 9);
    assert_eq!(
        output(doc! { "$derivative": { "input": "$n", "unit": "month" }, "window": {} }),
        5_490_710
    );
    assert_eq!(output(doc! { "$expMovingAvg": { "input": "$n", "alpha": 1 } }), 9);
    let text =
        doc! { "sortBy": { "s": 1 }, "output": { "v": { "$sum": "$n", "window": { "range": [0, 1] } } } };
    assert_eq!(code(text), 5_429_414);
    let array = doc! { "partitionBy": ["$n"], "output": { "v": { "$sum": "$n" } } };
    assert_eq!(code(array), 14);
    let conflict = doc! { "output": { "v": { "$sum": "$n" }, "v.w": { "$sum": "$n" } } };
    assert_eq!(code(conflict), 6_307_900);
}

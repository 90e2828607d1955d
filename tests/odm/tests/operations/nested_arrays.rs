//! Conditions on the elements of arrays of arrays: the sent filters, and the matching documents.

use crate::common::Env;
use marula::bson::doc;
use marula::prelude::*;
use marula::{BsonType, Collection, Document, Embedded, Error, Fields, Filter};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Cell {
    sku: String,
    qty: i32,
    marks: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Event {
    Charge { cents: i64, parts: Vec<Vec<i32>> },
    Refund { cents: i64, parts: Vec<Vec<i32>> },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "sheets")]
struct Sheet {
    _id: i64,
    rows: Vec<Vec<Cell>>,
    words: Vec<Vec<String>>,
    cube: Vec<Vec<Vec<i32>>>,
    events: Vec<Vec<Event>>,
    event: Event,
}

fn cell(sku: &str, qty: i32, marks: &[&str]) -> Cell {
    Cell {
        sku: sku.to_owned(),
        qty,
        marks: marks.iter().map(|&m| m.to_owned()).collect(),
    }
}

fn words(rows: &[&[&str]]) -> Vec<Vec<String>> {
    let row = |row: &&[&str]| row.iter().map(|&w| w.to_owned()).collect();
    rows.iter().map(row).collect()
}

fn charge(cents: i64) -> Event {
    Event::Charge {
        cents,
        parts: vec![vec![1, 2], vec![3]],
    }
}

fn refund(cents: i64) -> Event {
    Event::Refund {
        cents,
        parts: vec![vec![9]],
    }
}

/// 1: a and b in the first row, c in the second; 2: b only; 3: empty rows; 4: nothing.
async fn sheets() -> (Env, Collection<Sheet>) {
    let env = Env::start().await;
    let sheets = env.db.collection::<Sheet>();
    let mut all: Vec<Sheet> = (1..=4)
        .map(|id| Sheet {
            _id: id,
            rows: Vec::new(),
            words: Vec::new(),
            cube: Vec::new(),
            events: Vec::new(),
            event: refund(1),
        })
        .collect();
    all[0].rows = vec![
        vec![cell("a", 1, &["x"]), cell("b", 5, &[])],
        vec![cell("c", 9, &["x", "y"])],
    ];
    all[0].words = words(&[&["red", "green"], &["blue"]]);
    all[0].cube = vec![vec![vec![1, 2], vec![3]], vec![]];
    all[0].events = vec![vec![charge(1), refund(2)]];
    all[0].event = charge(1);
    all[1].rows = vec![vec![cell("b", 3, &["y"])]];
    all[1].words = words(&[&["green"]]);
    all[1].cube = vec![vec![vec![7]]];
    all[1].events = vec![vec![refund(1)], vec![charge(2)]];
    all[2].rows = vec![vec![], vec![]];
    sheets.insert_many(&all).await.expect("sheets are inserted");
    (env, sheets)
}

type Case = (&'static str, fn(Fields<Sheet>) -> Filter<Sheet>, &'static [i64]);

#[tokio::test]
async fn conditions_match_one_element_and_negated_ones_no_element() {
    let (env, sheets) = sheets().await;
    let cases: &[Case] = &[
        ("eq", |s| s.rows().any().sku().eq("b"), &[1, 2]),
        ("eq through the array", |s| s.rows().sku().eq("c"), &[1]),
        ("eq, both levels", |s| s.rows().any().any().sku().eq("a"), &[1]),
        ("ne", |s| s.rows().any().sku().ne("b"), &[3, 4]),
        ("!", |s| !s.rows().any().sku().eq("b"), &[3, 4]),
        ("in", |s| s.rows().any().sku().is_in(["a", "z"]), &[1]),
        ("nin", |s| s.rows().any().sku().not_in(["a", "z"]), &[2, 3, 4]),
        ("gt", |s| s.rows().any().qty().gt(4), &[1]),
        ("not gt", |s| s.rows().any().qty().not(|q| q.gt(4)), &[2, 3, 4]),
        ("not ne", |s| s.rows().any().sku().not(|q| q.ne("c")), &[1]),
        ("between", |s| s.rows().any().qty().between(2, 4), &[2]),
        (
            "between, two",
            |s| s.rows().any().qty().gte(2) & s.rows().any().qty().lte(4),
            &[1, 2],
        ),
        ("regex", |s| s.rows().any().sku().starts_with("c"), &[1]),
        ("exists", |s| s.rows().any().sku().exists(), &[1, 2]),
        ("missing", |s| s.rows().any().sku().is_missing(), &[3, 4]),
        ("null", |s| s.rows().any().sku().is_null(), &[]),
        (
            "mixed",
            |s| s.rows().any().qty().raw_condition(doc! { "$gt": 2, "$ne": 9 }),
            &[2],
        ),
        ("array inside", |s| s.rows().any().marks().contains("y"), &[1, 2]),
        ("array inside, size", |s| s.rows().any().marks().size(2), &[1]),
        (
            "array inside, ne",
            |s| s.rows().any().marks().any().ne("x"),
            &[2, 3, 4],
        ),
        (
            "elem_match",
            |s| s.rows().any().elem_match(|c| c.sku().eq("b") & c.qty().eq(3)),
            &[2],
        ),
        (
            "elem_match of rows",
            |s| {
                s.rows()
                    .elem_match(|row| row.any().sku().eq("a") & row.any().sku().eq("b"))
            },
            &[1],
        ),
        ("row size", |s| s.rows().any().size(0), &[3]),
        ("size", |s| s.rows().size(1), &[2]),
        ("nth", |s| s.rows().nth(1).sku().eq("c"), &[1]),
        ("nth of a row", |s| s.rows().any().nth(1).sku().eq("b"), &[1]),
        (
            "first of a row",
            |s| s.rows().any().nth(0).sku().ne("b"),
            &[1, 3, 4],
        ),
        ("words", |s| s.words().any().any().eq("green"), &[1, 2]),
        ("words, ne", |s| s.words().any().any().ne("red"), &[2, 3, 4]),
        ("words, contains", |s| s.words().any().contains("green"), &[1, 2]),
        (
            "words, not contains",
            |s| !s.words().any().contains("green"),
            &[3, 4],
        ),
        (
            "words, contains a row",
            |s| s.words().contains(vec!["green".to_owned()]),
            &[2],
        ),
        (
            "words, row eq",
            |s| s.words().any().eq(vec!["blue".to_owned()]),
            &[1],
        ),
        ("words, all", |s| s.words().any().all(["green", "red"]), &[1]),
        (
            "words, all of two rows",
            |s| s.words().any().all(["blue", "red"]),
            &[],
        ),
        (
            "words, in a row",
            |s| s.words().elem_match(|w| w.contains("red")),
            &[1],
        ),
        (
            "words, not in a row",
            |s| s.words().elem_match(|w| w.any().ne("green")),
            &[1],
        ),
        (
            "words, type",
            |s| s.words().any().type_is(BsonType::Array),
            &[1, 2],
        ),
        ("cube", |s| s.cube().any().any().any().gt(2), &[1, 2]),
        (
            "cube, not",
            |s| s.cube().any().any().any().not_in([3, 4]),
            &[2, 3, 4],
        ),
        ("cube, contains", |s| s.cube().any().any().contains(7), &[2]),
        ("cube, size", |s| s.cube().any().any().size(2), &[1]),
        ("cube, size of a plane", |s| s.cube().any().size(0), &[1]),
        ("variant", |s| s.events().any().charge().cents().eq(1), &[1]),
        (
            "variant, ne",
            |s| s.events().any().charge().cents().ne(1),
            &[2, 3, 4],
        ),
        (
            "is",
            |s| s.events().any().is_charge() & s.events().any().is_refund(),
            &[1, 2],
        ),
        ("is not", |s| !s.events().any().is_charge(), &[3, 4]),
        (
            "under a variant",
            |s| s.event().charge().parts().any().any().eq(3),
            &[1],
        ),
        (
            "under a variant, ne",
            |s| s.event().refund().parts().any().any().ne(3),
            &[2, 3, 4],
        ),
        (
            "under both",
            |s| s.events().any().charge().parts().any().any().eq(3),
            &[1, 2],
        ),
        (
            "under both, none",
            |s| s.events().any().refund().parts().any().any().ne(9),
            &[3, 4],
        ),
    ];
    let mut wrong = Vec::new();
    for (name, filter, expected) in cases {
        let sent = filter(Sheet::fields()).to_string();
        match sheets.find(filter).sort(|s| s._id().asc()).all().await {
            Ok(found) => {
                let found: Vec<i64> = found.iter().map(|s| s._id).collect();
                if found != *expected {
                    wrong.push(format!("{name}: {found:?}, not {expected:?}: {sent}"));
                }
            }
            Err(error) => wrong.push(format!("{name}: {error}: {sent}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let deleted = sheets
        .delete_many(|s| s.rows().any().sku().ne("b"))
        .await
        .unwrap();
    assert_eq!(deleted, 2);
    env.stop().await;
}

#[test]
fn each_array_level_has_its_own_elem_match() {
    let s = Sheet::fields();
    for (filter, sent) in [
        (
            s.rows().any().sku().eq("b"),
            r#"{"rows": {"$elemMatch": {"$elemMatch": {"sku": {"$eq": "b"}}}}}"#,
        ),
        (
            s.rows().any().sku().ne("b"),
            r#"{"rows": {"$not": {"$elemMatch": {"$elemMatch": {"sku": {"$eq": "b"}}}}}}"#,
        ),
        (
            s.rows().any().nth(1).sku().eq("b"),
            r#"{"rows": {"$elemMatch": {"1.sku": {"$eq": "b"}}}}"#,
        ),
        (s.rows().nth(1).sku().eq("b"), r#"{"rows.1.sku": {"$eq": "b"}}"#),
        (s.rows().size(1), r#"{"rows": {"$size": 1}}"#),
    ] {
        assert_eq!(filter.to_string(), sent);
    }
    let several = s.rows().any().qty().not(|q| q.gt(1) & q.lt(5));
    match several.into_document() {
        Err(Error::InvalidFilter { path, reason }) => {
            assert_eq!(path, "rows.qty");
            assert!(reason.contains("several operators"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

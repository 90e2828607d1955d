//! Conditions on the elements of arrays: one element matches, or, for a negation, none does. Filters
//! without conditions as alternatives.

use crate::common::Env;
use marula::prelude::*;
use marula::{Document, Embedded, Filter};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Payment {
    Card { n: i32 },
    Cash { n: i32 },
}

#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
struct Line {
    qty: i32,
    note: Option<String>,
    pay: Payment,
}

#[derive(Clone, Debug, Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    values: Vec<Option<i32>>,
    grid: Vec<Vec<Option<i32>>>,
    lines: Vec<Line>,
}

fn line(qty: i32) -> Line {
    Line {
        qty,
        note: (qty % 2 == 0).then(|| "even".to_owned()),
        pay: match qty {
            0 | 1 => Payment::Card { n: qty },
            _ => Payment::Cash { n: qty - 2 },
        },
    }
}

/// Orders with all lists of up to three of four lines, and of `None`, 0 and 1.
fn orders() -> Vec<Order> {
    let mut lists: Vec<Vec<i32>> = vec![vec![]];
    let mut longest = lists.clone();
    for _ in 0..3 {
        let longer = longest
            .iter()
            .flat_map(|list| (0..4).map(move |n| [&list[..], &[n]].concat()));
        longest = longer.collect();
        lists.extend(longest.iter().cloned());
    }
    let order = |(id, list): (usize, &Vec<i32>)| {
        let values: Vec<Option<i32>> = list.iter().map(|n| Some(*n).filter(|n| *n < 2)).collect();
        Order {
            _id: i64::try_from(id).expect("few"),
            grid: values.chunks(2).map(<[Option<i32>]>::to_vec).collect(),
            values,
            lines: list.iter().map(|n| line(*n)).collect(),
        }
    };
    lists.iter().enumerate().map(order).collect()
}

fn card(line: &Line) -> Option<i32> {
    match line.pay {
        Payment::Card { n } => Some(n),
        Payment::Cash { .. } => None,
    }
}

type Case = (&'static str, Filter<Order>, fn(&Order) -> bool);

fn cases() -> Vec<Case> {
    let o = Order::fields();
    vec![
        (
            r#"{"values": {"$elemMatch": {"$ne": null}}}"#,
            o.values().any().is_not_null(),
            |o| o.values.iter().any(Option::is_some),
        ),
        (
            r#"{"lines": {"$elemMatch": {"note": {"$ne": null}}}}"#,
            o.lines().note().is_not_null(),
            |o| o.lines.iter().any(|l| l.note.is_some()),
        ),
        (
            r#"{"grid": {"$elemMatch": {"$elemMatch": {"$ne": null}}}}"#,
            o.grid().any().any().is_not_null(),
            |o| o.grid.iter().flatten().any(Option::is_some),
        ),
        (
            r#"{"lines": {"$elemMatch": {"note": {"$ne": null}, "qty": {"$lt": 3}}}}"#,
            o.lines().elem_match(|l| l.note().is_not_null() & l.qty().lt(3)),
            |o| o.lines.iter().any(|l| l.note.is_some() && l.qty < 3),
        ),
        (
            r#"{"values": {"$ne": null}}"#,
            o.values().any().ne(None::<i32>),
            |o| o.values.iter().all(Option::is_some),
        ),
        (r#"{"lines.qty": {"$ne": 1}}"#, o.lines().qty().ne(1), |o| {
            o.lines.iter().all(|l| l.qty != 1)
        }),
        (
            r#"{"lines": {"$not": {"$elemMatch": {"pay.n": {"$eq": 1}, "pay.kind": {"$eq": "card"}}}}}"#,
            o.lines().pay().card().n().ne(1),
            |o| !o.lines.iter().filter_map(card).any(|n| n == 1),
        ),
        (
            r#"{"lines": {"$not": {"$elemMatch": {"pay.n": {"$in": [0, 5]}, "pay.kind": {"$eq": "card"}}}}}"#,
            o.lines().pay().card().n().not_in([0, 5]),
            |o| !o.lines.iter().filter_map(card).any(|n| n == 0),
        ),
        (
            r#"{"lines": {"$not": {"$elemMatch": {"pay.n": {"$gt": 0, "$lt": 5}, "pay.kind": {"$eq": "card"}}}}}"#,
            o.lines().pay().card().n().not(|n| n.gt(0) & n.lt(5)),
            |o| !o.lines.iter().filter_map(card).any(|n| n > 0),
        ),
        (
            r#"{"lines": {"$elemMatch": {"pay.n": {"$eq": 1}, "pay.kind": {"$eq": "card"}}}}"#,
            o.lines().pay().card().n().not(|n| n.ne(1)),
            |o| o.lines.iter().filter_map(card).any(|n| n == 1),
        ),
        (
            r#"{"lines": {"$not": {"$elemMatch": {"pay.n": {"$exists": true}, "pay.kind": {"$eq": "card"}}}}}"#,
            o.lines().pay().card().n().is_missing(),
            |o| !o.lines.iter().any(|l| card(l).is_some()),
        ),
        (
            r#"{"lines": {"$elemMatch": {"pay.n": {"$ne": 1}, "pay.kind": {"$eq": "card"}}}}"#,
            o.lines().elem_match(|l| l.pay().card().n().ne(1)),
            |o| o.lines.iter().filter_map(card).any(|n| n != 1),
        ),
        (
            concat!(
                r#"{"lines": {"$elemMatch": {"pay.n": {"$gt": 0}, "pay.kind": {"$eq": "card"}}, "#,
                r#""$not": {"$elemMatch": {"pay.n": {"$eq": 0}, "pay.kind": {"$eq": "card"}}}}}"#
            ),
            o.lines().pay().card().n().gt(0) & o.lines().pay().card().n().ne(0),
            |o| {
                let mut cards = o.lines.iter().filter_map(card).peekable();
                cards.peek().is_some() && cards.all(|n| n > 0)
            },
        ),
    ]
}

#[tokio::test]
async fn negations_match_if_no_element_matches() {
    let env = Env::start().await;
    let collection = env.db.collection::<Order>();
    let all = orders();
    collection.insert_many(&all).await.unwrap();
    for (sent, filter, holds) in cases() {
        assert_eq!(filter.to_string(), sent);
        let found = collection.find(|_| filter).sort(|o| o._id().asc()).await.unwrap();
        let found: Vec<i64> = found.iter().map(|o| o._id).collect();
        let expected: Vec<i64> = all.iter().filter(|o| holds(o)).map(|o| o._id).collect();
        assert_eq!(found, expected, "{sent}");
        assert!(!found.is_empty() && found.len() < all.len(), "{sent}");
    }
    env.stop().await;
}

#[test]
fn a_default_filter_adds_no_alternative() {
    let o = Order::fields();
    let one = || Order::fields()._id().eq(1);
    let two = || Order::fields()._id().eq(2);
    let sent = (one() | two()).to_string();
    let mut assigned = Filter::default();
    for id in [1, 2] {
        assigned |= o._id().eq(id);
    }
    let chained = Filter::default().or(one()).or(Filter::default()).or(two());
    let any = Filter::any([Filter::default(), one(), two()]);
    for filter in [assigned, chained, any] {
        assert_eq!(filter.to_string(), sent);
    }
    assert_eq!((one() | Filter::default()).to_string(), one().to_string());
    assert_eq!((Filter::default() | one()).to_string(), one().to_string());
    // These match every document, and a filter that matches every document remains one.
    for everything in [
        Filter::everything() | one() | two(),
        Filter::everything().or(None) | two(),
        Filter::default().or(Filter::everything()) | two(),
        (Filter::default() & Filter::everything()) | two(),
        Filter::all([]) | two(),
        Filter::all([Filter::default()]) | two(),
        Filter::raw(marula::bson::doc! {}) | two(),
        o._id().not_in([0_i64; 0]) | one() | two(),
    ] {
        assert_eq!(everything.to_string(), "{}");
    }
}

//! A converted value at every place of a document.

use std::collections::{BTreeMap, HashMap};

use crate::database::Env;
use bigdecimal::BigDecimal;
use chrono::{DateTime, Utc};
use marula::bson::{self, doc};
use marula::{Document, Embedded, prelude::*};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

fn at(millis: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(millis).unwrap()
}

fn offset(millis: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000).unwrap()
}

/// The stored form.
fn date(millis: i64) -> bson::DateTime {
    bson::DateTime::from_millis(millis)
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Span {
    from: DateTime<Utc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<OffsetDateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Audit {
    created: DateTime<Utc>,
    spans: Vec<Span>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Due(DateTime<Utc>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(transparent)]
struct Fee {
    amount: Decimal,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
enum External {
    At(DateTime<Utc>),
    Both(DateTime<Utc>, OffsetDateTime),
    Within { span: Span, fee: Box<Decimal> },
    Never,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Internal {
    At { time: DateTime<Utc>, text: String },
    Text { time: String },
    Whole(Span),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    At(DateTime<Utc>),
    Due(Due),
    All(Vec<OffsetDateTime>),
    Within { fee: Decimal },
    Text(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(untagged)]
enum Untagged {
    Span(Span),
    Date(DateTime<Utc>),
    Fee(Fee),
    All(Vec<DateTime<Utc>>),
    Text(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Node {
    at: DateTime<Utc>,
    children: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "everywhere")]
pub(crate) struct Everywhere {
    _id: i64,
    #[serde(flatten)]
    audit: Audit,
    due: Due,
    fee: Fee,
    boxed: Box<DateTime<Utc>>,
    array: [DateTime<Utc>; 2],
    nested: Vec<Vec<Option<DateTime<Utc>>>>,
    by_name: HashMap<String, DateTime<Utc>>,
    spans_by_name: BTreeMap<String, Vec<Span>>,
    external: Vec<External>,
    internal: Vec<Internal>,
    adjacent: Vec<Adjacent>,
    untagged: Vec<Untagged>,
    tree: Node,
    large: BigDecimal,
    text: String,
}

pub(crate) fn everywhere(id: i64) -> Everywhere {
    let span = |from| Span {
        from: at(from),
        to: (from % 2 == 0).then(|| offset(from + 1)),
    };
    Everywhere {
        _id: id,
        audit: Audit {
            created: at(1),
            spans: vec![span(2), span(3)],
        },
        due: Due(at(4)),
        fee: Fee {
            amount: "1.10".parse().unwrap(),
        },
        boxed: Box::new(at(5)),
        array: [at(6), at(7)],
        nested: vec![vec![Some(at(8)), None], vec![]],
        by_name: HashMap::from([("a".to_owned(), at(9))]),
        spans_by_name: BTreeMap::from([("b".to_owned(), vec![span(10)])]),
        external: vec![
            External::At(at(11)),
            External::Both(at(12), offset(13)),
            External::Within {
                span: span(14),
                fee: Box::new("2.20".parse().unwrap()),
            },
            External::Never,
        ],
        internal: vec![
            Internal::At {
                time: at(15),
                text: "at".to_owned(),
            },
            Internal::Text {
                time: "later".to_owned(),
            },
            Internal::Whole(span(16)),
        ],
        adjacent: vec![
            Adjacent::At(at(17)),
            Adjacent::Due(Due(at(18))),
            Adjacent::All(vec![offset(19)]),
            Adjacent::Within {
                fee: "3.30".parse().unwrap(),
            },
            Adjacent::Text("text".to_owned()),
        ],
        untagged: vec![
            Untagged::Span(span(20)),
            Untagged::Date(at(21)),
            Untagged::Fee(Fee {
                amount: "4.40".parse().unwrap(),
            }),
            Untagged::All(vec![at(22)]),
            Untagged::Text("text".to_owned()),
        ],
        tree: Node {
            at: at(23),
            children: vec![Node {
                at: at(24),
                children: vec![],
            }],
        },
        large: "123456789012345678901234567890.1234".parse().unwrap(),
        text: "2024-01-01T00:00:00Z".to_owned(),
    }
}

fn stored() -> bson::Document {
    let decimal = |text: &str| text.parse::<bson::Decimal128>().unwrap();
    doc! {
        "_id": 1_i64,
        "created": date(1),
        "spans": [{ "from": date(2), "to": date(3) }, { "from": date(3) }],
        "due": date(4),
        "fee": decimal("1.10"),
        "boxed": date(5),
        "array": [date(6), date(7)],
        "nested": [[date(8), null], []],
        "by_name": { "a": date(9) },
        "spans_by_name": { "b": [{ "from": date(10), "to": date(11) }] },
        "external": [
            { "At": date(11) },
            { "Both": [date(12), date(13)] },
            { "Within": { "span": { "from": date(14), "to": date(15) }, "fee": decimal("2.20") } },
            "Never",
        ],
        "internal": [
            { "kind": "At", "time": date(15), "text": "at" },
            { "kind": "Text", "time": "later" },
            { "kind": "Whole", "from": date(16), "to": date(17) },
        ],
        "adjacent": [
            { "t": "At", "c": date(17) },
            { "t": "Due", "c": date(18) },
            { "t": "All", "c": [date(19)] },
            { "t": "Within", "c": { "fee": decimal("3.30") } },
            { "t": "Text", "c": "text" },
        ],
        "untagged": [
            { "from": date(20), "to": date(21) }, date(21), decimal("4.40"), [date(22)], "text",
        ],
        "tree": { "at": date(23), "children": [{ "at": date(24), "children": [] }] },
        "large": decimal("123456789012345678901234567890.1234"),
        "text": "2024-01-01T00:00:00Z",
    }
}

#[tokio::test]
async fn values_are_converted_at_every_place_in_both_directions() {
    let env = Env::open().await;
    let all = env.collection::<Everywhere>();
    let document = everywhere(1);
    all.insert_one(&document).await.unwrap();
    let raw = all
        .driver()
        .clone_with_type::<marula::bson::Document>()
        .find_one(doc! { "_id": 1 })
        .await
        .unwrap()
        .unwrap();
    assert_eq!(raw, stored());
    assert_eq!(all.find_by_id(1).await.unwrap(), Some(document.clone()));
    assert_eq!(all.find_all().await.unwrap(), std::slice::from_ref(&document));
    all.replace(&document).await.unwrap();
    all.save(&document).await.unwrap();
    let found = all
        .find_one_and_replace(|e| e._id().eq(1), &document)
        .await
        .unwrap();
    assert_eq!(found, Some(document.clone()));
    env.close().await;
}

#[tokio::test]
async fn whole_values_of_derived_types_are_converted_in_filters_and_updates() {
    let env = Env::open().await;
    let all = env.collection::<Everywhere>();
    let document = everywhere(1);
    all.insert_one(&document).await.unwrap();
    let found = all
        .find(|e| {
            let external = e.external().contains(&document.external[2]);
            let tree = e.tree().eq(&document.tree);
            let untagged = e.untagged().contains(Untagged::Date(at(21)));
            external & tree & untagged & e.due().eq(Due(at(4))) & e.adjacent().contains(Adjacent::At(at(17)))
        })
        .await
        .unwrap();
    assert_eq!(found.len(), 1);
    all.update_one(
        |e| e._id().eq(1),
        |e| {
            (
                e.tree().children().push(Node {
                    at: at(99),
                    children: vec![],
                }),
                e.by_name().entry("z").set(at(100)),
                e.due().set(Due(at(101))),
            )
        },
    )
    .await
    .unwrap();
    let changed = all.find_by_id(1).required().await.unwrap();
    assert_eq!(changed.tree.children[1].at, at(99));
    assert_eq!(changed.by_name["z"], at(100));
    assert_eq!(changed.due, Due(at(101)));
    env.close().await;
}

/// Dates that were stored as text are read by a field that says so.
#[tokio::test]
async fn a_date_that_was_stored_as_text_is_an_error() {
    let env = Env::open().await;
    let all = env.collection::<Everywhere>();
    all.insert_one(&everywhere(1)).await.unwrap();
    all.driver()
        .clone_with_type::<bson::Document>()
        .update_one(
            doc! { "_id": 1 },
            doc! { "$set": { "due": "1970-01-01T00:00:07Z" } },
        )
        .await
        .unwrap();
    let error = all.find_by_id(1).await.unwrap_err().to_string();
    assert!(
        error.contains("`due`") && error.contains("expected a DateTime, found String"),
        "{error}"
    );
    env.close().await;
}

#[tokio::test]
async fn the_error_of_a_value_has_the_path_of_its_field() {
    let env = Env::open().await;
    let all = env.collection::<Everywhere>();
    all.insert_one(&everywhere(1)).await.unwrap();
    let far = bson::DateTime::from_millis(i64::MAX);
    all.driver()
        .clone_with_type::<bson::Document>()
        .update_one(doc! { "_id": 1 }, doc! { "$set": { "tree.children.0.at": far } })
        .await
        .unwrap();
    let error = all.find_by_id(1).await.unwrap_err();
    let marula::Error::Decode { path, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(path, "tree.children[0].at");
    assert!(
        error
            .to_string()
            .contains("out of the range of `chrono::DateTime<Utc>`"),
        "{error}"
    );
    env.close().await;
}

#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "flattened")]
struct Flattened {
    _id: i64,
    #[serde(flatten)]
    more: HashMap<String, DateTime<Utc>>,
}

#[tokio::test]
async fn the_values_of_a_flattened_map_are_dates() {
    let env = Env::open().await;
    let all = env.collection::<Flattened>();
    let document = Flattened {
        _id: 1,
        more: HashMap::from([("a".to_owned(), at(1))]),
    };
    all.insert_one(&document).await.unwrap();
    let stored = all.find_by_id(1).raw().await.unwrap().unwrap();
    assert_eq!(stored.get_datetime("a").unwrap(), bson::DateTime::from_millis(1));
    assert_eq!(all.find_by_id(1).required().await.unwrap().more, document.more);
    env.close().await;
}

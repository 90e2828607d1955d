//! Faults of models that serde writes and reads, which the codec does not have.

use std::collections::{BTreeMap, HashMap};

use super::{encode, load, stored};
use chrono::{DateTime, Utc};
use marula::Embedded;
use marula::bson::{self, Bson, doc};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

fn at() -> DateTime<Utc> {
    DateTime::from_timestamp_millis(1_700_000_000_123).unwrap()
}

fn date() -> bson::DateTime {
    bson::DateTime::from_millis(1_700_000_000_123)
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Job {
    #[serde(alias = "start")]
    at: DateTime<Utc>,
    #[serde(alias = "cost")]
    price: Decimal,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Event {
    #[serde(alias = "begun")]
    Started { at: DateTime<Utc> },
}

/// An alias is a key like any other, also for types that are not stored in the form of serde.
#[test]
fn aliases_of_converted_values() {
    let price: bson::Decimal128 = "12.50".parse().unwrap();
    let job = Job {
        at: at(),
        price: "12.50".parse().unwrap(),
    };
    assert_eq!(stored(&job), doc! { "at": date(), "price": price }.into());
    for (start, cost) in [("start", "cost"), ("at", "cost"), ("start", "price")] {
        assert_eq!(load::<Job>(doc! { cost: price, start: date() }).unwrap(), job);
    }
    assert_eq!(
        load::<Event>(doc! { "at": date(), "kind": "begun" }).unwrap(),
        Event::Started { at: at() }
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Open {
    _id: i32,
    #[serde(skip_serializing_if = "Option::is_none", alias = "nickname")]
    nick: Option<String>,
    #[serde(flatten)]
    rest: HashMap<String, Bson>,
}

/// A flattened map does not override declared fields, `_id` included.
#[test]
fn a_flattened_map_does_not_override_fields() {
    let open = |rest: &[(&str, Bson)]| Open {
        _id: 1,
        nick: None,
        rest: rest.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect(),
    };
    for key in ["_id", "nick", "nickname"] {
        let error = encode(&open(&[(key, Bson::Int32(2))])).unwrap_err();
        assert_eq!(error.path(), format!("v.{key}"));
    }
    let value = open(&[("a", Bson::Int32(1))]);
    assert_eq!(stored(&value), doc! { "_id": 1, "a": 1 }.into());
    assert_eq!(load::<Open>(stored(&value)).unwrap(), value);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Deep {
    begun: DateTime<Utc>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Middle {
    at: DateTime<Utc>,
    #[serde(flatten)]
    deep: Deep,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Outer {
    name: String,
    #[serde(flatten)]
    middle: Middle,
    #[serde(flatten)]
    rest: BTreeMap<String, Bson>,
}

/// A date stays a date in nested flattened structs beside a flattened map, and is not in the map.
#[test]
fn nested_flattened_dates() {
    let outer = Outer {
        name: "x".to_owned(),
        middle: Middle {
            at: at(),
            deep: Deep { begun: at() },
        },
        rest: BTreeMap::from([("more".to_owned(), Bson::Int32(1))]),
    };
    let expected = doc! { "name": "x", "at": date(), "begun": date(), "more": 1 };
    assert_eq!(stored(&outer), expected.clone().into());
    assert_eq!(load::<Outer>(expected).unwrap(), outer);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Dates {
    #[serde(flatten)]
    more: BTreeMap<String, DateTime<Utc>>,
}

#[test]
fn a_flattened_map_of_dates() {
    let dates = Dates {
        more: BTreeMap::from([("a".to_owned(), at())]),
    };
    assert_eq!(stored(&dates), doc! { "a": date() }.into());
    assert_eq!(load::<Dates>(stored(&dates)).unwrap(), dates);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(untagged)]
enum Untagged {
    Date(DateTime<Utc>),
    Text(String),
    Number(Decimal),
    Short(i32),
    Long(i64),
    Double(f64),
}

/// A value that a variant wrote is read as this variant.
#[test]
fn untagged_enums_keep_their_variant() {
    for value in [
        Untagged::Date(at()),
        Untagged::Text("2024-01-01T00:00:00Z".to_owned()),
        Untagged::Number("2.5".parse().unwrap()),
        Untagged::Short(1),
        Untagged::Long(1),
        Untagged::Double(1.0),
    ] {
        assert_eq!(load::<Untagged>(stored(&value)).unwrap(), value);
    }
}

/// A key that a document has twice is an error in every type, as it is in a map of values of one type.
#[test]
fn duplicate_keys_are_errors_in_values_of_any_type() {
    let bytes = bson::rawdoc! { "v": { "b": { "a": 1, "a": 2 } } };
    let errors = [
        super::decode::<Bson>(bytes.as_bytes()).unwrap_err(),
        super::decode::<bson::Document>(bytes.as_bytes()).unwrap_err(),
        super::decode::<BTreeMap<String, BTreeMap<String, i32>>>(bytes.as_bytes()).unwrap_err(),
    ];
    for error in errors {
        assert_eq!((error.path(), error.message()), ("v.b.a", "duplicate field"));
    }
}

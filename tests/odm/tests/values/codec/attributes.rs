//! Each attribute of serde on structs and fields.

use std::collections::BTreeMap;

use super::{assert_same, assert_same_bytes, error_of, load, stored};
use marula::Embedded;
use marula::bson::{Bson, DateTime, Decimal128, ObjectId, doc};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "camelCase")]
struct Plain {
    first_number: i32,
    #[serde(rename = "2nd", alias = "second", alias = "zweite")]
    second_number: u64,
    r#type: Option<String>,
    half: f64,
    texts: Vec<String>,
    by_name: BTreeMap<String, Option<i64>>,
    boxed: Box<i64>,
    pair: [bool; 2],
    at: DateTime,
    price: Decimal128,
    id: ObjectId,
    uuid: uuid::Uuid,
}

fn plain() -> impl Strategy<Value = Plain> {
    let numbers = (
        any::<i32>(),
        0..=i64::MAX.unsigned_abs(),
        any::<i64>(),
        -1.0e6..1.0e6,
    );
    let texts = (proptest::option::of(".*"), proptest::collection::vec(".*", 0..12));
    let map = proptest::collection::btree_map("[a-z]{0,3}", proptest::option::of(any::<i64>()), 0..4);
    let rest = (
        any::<[bool; 2]>(),
        0..4_000_000_000_000_i64,
        any::<i64>(),
        any::<u128>(),
    );
    (numbers, texts, map, rest).prop_map(|(numbers, texts, by_name, rest)| Plain {
        first_number: numbers.0,
        second_number: numbers.1,
        r#type: texts.0,
        half: numbers.3,
        texts: texts.1,
        by_name,
        boxed: Box::new(numbers.2),
        pair: rest.0,
        at: DateTime::from_millis(rest.1),
        price: format!("{}E-2", rest.2).parse().unwrap(),
        id: ObjectId::from_bytes([7; 12]),
        uuid: uuid::Uuid::from_u128(rest.3),
    })
}

proptest! {
    #[test]
    fn random_documents_have_the_same_bytes(value in plain()) {
        assert_same(&value);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Embedded)]
pub(super) struct Aliased {
    #[serde(alias = "old", alias = "older")]
    pub(super) new: i32,
}

#[test]
fn an_alias_is_another_name_of_the_field() {
    for name in ["new", "old", "older"] {
        assert_eq!(load::<Aliased>(doc! { name: 5 }).unwrap(), Aliased { new: 5 });
    }
    assert!(error_of::<Aliased>(doc! { "new": 1, "old": 2 }).starts_with("v.old: duplicate field"));
    assert!(error_of::<Aliased>(doc! { "other": 1 }).contains("missing field `new`"));
    assert!(error_of::<Aliased>(doc! { "old": "x" }).starts_with("v.old: "));
}

fn seven() -> i32 {
    7
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Embedded)]
struct FieldDefaults {
    #[serde(default)]
    number: i32,
    #[serde(default = "seven")]
    seven: i32,
    optional: Option<i32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(default)]
struct OwnDefault {
    number: i32,
    #[serde(default = "seven")]
    seven: i32,
    #[serde(default)]
    zero: i32,
    #[serde(skip)]
    skipped: i32,
}

impl Default for OwnDefault {
    fn default() -> Self {
        OwnDefault {
            number: 1,
            seven: 2,
            zero: 3,
            skipped: 4,
        }
    }
}

fn path_default() -> PathDefault {
    PathDefault {
        number: 9,
        text: "x".to_owned(),
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(default = "path_default")]
struct PathDefault {
    number: i32,
    text: String,
}

#[test]
fn a_missing_field_has_its_default() {
    assert_same(&FieldDefaults::default());
    let expected = FieldDefaults {
        number: 0,
        seven: 7,
        optional: None,
    };
    assert_eq!(load::<FieldDefaults>(doc! {}).unwrap(), expected);
    assert_same(&OwnDefault::default());
    let expected = OwnDefault {
        number: 1,
        seven: 7,
        zero: 0,
        skipped: 4,
    };
    assert_eq!(load::<OwnDefault>(doc! {}).unwrap(), expected);
    assert_same(&path_default());
    assert_eq!(
        load::<PathDefault>(doc! { "text": "y" }).unwrap(),
        PathDefault {
            number: 9,
            text: "y".to_owned()
        }
    );
}

fn is_even(number: &i32) -> bool {
    number % 2 == 0
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Skipping {
    #[serde(skip)]
    both: i32,
    #[serde(skip, default = "seven")]
    seven: i32,
    #[serde(skip_serializing, default)]
    read: i32,
    #[serde(skip_deserializing)]
    written: i32,
    #[serde(skip_serializing_if = "is_even", default)]
    odd: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    some: Option<i32>,
}

#[test]
fn skipped_fields_are_not_written_or_not_read() {
    for (odd, some) in [(1, None), (2, Some(3))] {
        let value = Skipping {
            both: 1,
            seven: 2,
            read: 3,
            written: 4,
            odd,
            some,
        };
        assert_same_bytes(&value);
        let expected = Skipping {
            both: 0,
            seven: 7,
            read: 0,
            written: 0,
            odd: if odd == 2 { 0 } else { odd },
            some,
        };
        assert_eq!(load::<Skipping>(stored(&value)).unwrap(), expected);
    }
    assert_eq!(
        load::<Skipping>(doc! { "read": 5, "written": "x" }).unwrap().read,
        5
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(deny_unknown_fields)]
struct Strict {
    known: Option<i32>,
}

#[test]
fn unknown_fields_are_ignored_or_denied() {
    assert_same(&Strict { known: Some(1) });
    assert!(error_of::<Strict>(doc! { "known": 1, "other": 1 }).starts_with("v.other: unknown field"));
    assert_eq!(
        load::<Aliased>(doc! { "x": {}, "new": 1 }).unwrap(),
        Aliased { new: 1 }
    );
}

pub(super) mod as_text {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::codec) fn serialize<T: ToString, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&value.to_string())
    }

    pub(in crate::codec) fn deserialize<'de, T: std::str::FromStr, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| D::Error::custom("not a number"))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Embedded)]
struct Converted {
    #[serde(with = "as_text")]
    #[document(as = String)]
    number: i32,
    #[serde(with = "as_text", default)]
    #[document(opaque)]
    defaulted: u128,
    #[serde(
        serialize_with = "as_text::serialize",
        deserialize_with = "as_text::deserialize"
    )]
    #[document(as = String)]
    halves: i64,
    #[serde(serialize_with = "as_text::serialize", skip_deserializing)]
    #[document(as = String)]
    written: i32,
}

#[test]
fn functions_write_and_read_fields() {
    let value = Converted {
        number: 5,
        defaulted: 6,
        halves: 7,
        written: 0,
    };
    assert_same(&value);
    assert_eq!(
        stored(&value),
        Bson::from(doc! { "number": "5", "defaulted": "6", "halves": "7", "written": "0" })
    );
    assert_eq!(
        load::<Converted>(doc! { "number": "1", "halves": "2" }).unwrap(),
        Converted {
            number: 1,
            halves: 2,
            ..Converted::default()
        }
    );
    assert!(error_of::<Converted>(doc! { "halves": "2" }).contains("missing field `number`"));
    assert!(error_of::<Converted>(doc! { "number": "x" }).starts_with("v.number: not a number"));
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Foreign {
    id: ObjectId,
    list: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Opaque {
    #[document(opaque)]
    foreign: Foreign,
    #[document(opaque)]
    optional: Option<Foreign>,
    #[serde(with = "marula::bson::exact")]
    exact: Bson,
}

#[test]
fn serde_writes_and_reads_opaque_fields() {
    let foreign = Foreign {
        id: ObjectId::from_bytes([1; 12]),
        list: vec![1, 2],
    };
    let value = Opaque {
        foreign,
        optional: None,
        exact: Bson::Int64(5),
    };
    assert_same(&value);
    let Bson::Document(mut document) = stored(&value) else {
        panic!("a document");
    };
    document.remove("optional");
    assert_eq!(load::<Opaque>(document).unwrap(), value);
}

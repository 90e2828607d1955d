//! The representations of enums.

use std::collections::{BTreeMap, HashMap};

use super::{assert_same, assert_same_bytes, encode, error_of, load, stored};
use marula::Embedded;
use marula::bson::{Bson, DateTime, Decimal128, doc};
use serde::{Deserialize, Serialize};

fn at() -> DateTime {
    DateTime::from_millis(1_700_000_000_123)
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Item {
    name: String,
    at: Option<DateTime>,
}

fn item() -> Item {
    Item {
        name: "x".to_owned(),
        at: Some(at()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "kebab-case")]
enum Color {
    DarkRed,
    #[serde(alias = "g", alias = "grün")]
    Green,
    #[serde(rename = "?", other)]
    Unknown,
}

#[test]
fn variants_without_content_are_texts_and_keys() {
    for color in [Color::DarkRed, Color::Green, Color::Unknown] {
        assert_same(&color);
    }
    assert_eq!(stored(&Color::DarkRed), "dark-red".into());
    assert_eq!(load::<Color>("g").unwrap(), Color::Green);
    assert_eq!(load::<Color>("blue").unwrap(), Color::Unknown);
    let map = BTreeMap::from([(Color::DarkRed, at()), (Color::Green, at())]);
    assert_eq!(
        stored(&map),
        doc! { "dark-red": at(), "Green".to_lowercase(): at() }.into()
    );
    assert_eq!(load::<BTreeMap<Color, DateTime>>(stored(&map)).unwrap(), map);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase")]
enum External {
    NoContent,
    Newtype(Item),
    Date(DateTime),
    Two(DateTime, Option<i32>),
    Named {
        first_item: Item,
        #[serde(default)]
        second_item: Option<Item>,
        #[serde(flatten)]
        rest: BTreeMap<String, i32>,
    },
    #[serde(rename = "OTHER", alias = "another", rename_all = "UPPERCASE")]
    Renamed {
        the_number: i32,
    },
    #[serde(skip)]
    Never,
}

fn external() -> Vec<External> {
    vec![
        External::NoContent,
        External::Newtype(item()),
        External::Date(at()),
        External::Two(at(), None),
        External::Named {
            first_item: item(),
            second_item: None,
            rest: BTreeMap::new(),
        },
        External::Named {
            first_item: item(),
            second_item: Some(item()),
            rest: BTreeMap::from([("more".to_owned(), 1)]),
        },
        External::Renamed { the_number: 5 },
    ]
}

#[test]
fn external_tags() {
    for value in external() {
        assert_same(&value);
    }
    assert_eq!(
        load::<External>(doc! { "another": { "THE_NUMBER": 1 } }).unwrap(),
        External::Renamed { the_number: 1 }
    );
    assert_eq!(
        load::<External>(doc! { "no_content": null }).unwrap(),
        External::NoContent
    );
    assert!(error_of::<External>("never").contains("unknown variant"));
    assert!(error_of::<External>("newtype").contains("the variant has content"));
    assert!(error_of::<External>(doc! { "newtype": { "name": 1 } }).starts_with("v.newtype.name: "));
    assert!(error_of::<External>(doc! { "newtype": {}, "date": 1 }).contains("one field"));
    assert!(
        encode(&External::Never)
            .unwrap_err()
            .to_string()
            .contains("`Never`")
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Internal {
    Nothing,
    #[serde(alias = "thing")]
    Item(Item),
    Named {
        at: DateTime,
        text: String,
    },
    Boxed(Box<Item>),
    Map(HashMap<String, i32>),
    Unit(Unit),
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Unit;

#[test]
fn internal_tags() {
    for value in [
        Internal::Nothing,
        Internal::Item(item()),
        Internal::Named {
            at: at(),
            text: "t".to_owned(),
        },
        Internal::Boxed(Box::new(item())),
        Internal::Map(HashMap::from([("a".to_owned(), 1)])),
        Internal::Unit(Unit),
        Internal::Unknown,
    ] {
        assert_same(&value);
    }
    let late = doc! { "name": "x", "at": at(), "kind": "thing" };
    assert_eq!(load::<Internal>(late).unwrap(), Internal::Item(item()));
    assert_eq!(
        load::<Internal>(doc! { "kind": "what", "x": 1 }).unwrap(),
        Internal::Unknown
    );
    assert!(error_of::<Internal>(doc! {}).contains("missing field `kind`"));
    assert!(error_of::<Internal>(doc! { "kind": 1 }).starts_with("v.kind: "));
    let error = error_of::<Internal>(doc! { "kind": "named", "at": "x", "text": 1 });
    assert!(
        error.starts_with("v.at: ") || error.starts_with("v.text: "),
        "{error}"
    );
    let tag = Internal::Map(HashMap::from([("kind".to_owned(), 1)]));
    assert_eq!(encode(&tag).unwrap_err().path(), "v.kind");
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind", deny_unknown_fields)]
enum StrictInternal {
    Named { number: i32 },
    Empty {},
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Nothing,
    Date(DateTime),
    Optional(Option<i32>),
    Two(Item, DateTime),
    #[serde(alias = "named")]
    Named {
        number: i32,
        item: Item,
    },
    #[serde(other)]
    Unknown,
}

#[test]
fn adjacent_tags() {
    for value in [
        Adjacent::Nothing,
        Adjacent::Date(at()),
        Adjacent::Optional(None),
        Adjacent::Optional(Some(1)),
        Adjacent::Two(item(), at()),
        Adjacent::Named {
            number: 1,
            item: item(),
        },
        Adjacent::Unknown,
    ] {
        assert_same(&value);
    }
    let late = doc! { "c": { "item": { "name": "x", "at": at() }, "number": 1 }, "t": "named" };
    let expected = Adjacent::Named {
        number: 1,
        item: item(),
    };
    assert_eq!(load::<Adjacent>(late).unwrap(), expected);
    assert_eq!(
        load::<Adjacent>(doc! { "t": "Optional" }).unwrap(),
        Adjacent::Optional(None)
    );
    assert_eq!(
        load::<Adjacent>(doc! { "t": "Nothing", "c": null }).unwrap(),
        Adjacent::Nothing
    );
    assert_eq!(
        load::<Adjacent>(doc! { "t": "x", "c": 5 }).unwrap(),
        Adjacent::Unknown
    );
    assert!(error_of::<Adjacent>(doc! { "t": "Date" }).contains("missing field `c`"));
    assert!(error_of::<Adjacent>(doc! { "t": "Named", "c": { "number": "x" } }).starts_with("v.c.number: "));
    assert!(error_of::<Adjacent>(doc! { "c": 1 }).contains("missing field `t`"));
}

#[test]
fn unknown_fields_are_denied_beside_a_tag() {
    assert_same(&StrictInternal::Named { number: 1 });
    assert_same(&StrictInternal::Empty {});
    let error = error_of::<StrictInternal>(doc! { "kind": "Empty", "x": 1 });
    assert!(error.starts_with("v.x: unknown field"), "{error}");
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(untagged)]
enum Untagged {
    Date(DateTime),
    Text(String),
    Number(Decimal128),
    Small(i32),
    Item(Item),
    Named { text: String, more: Option<i32> },
    All(Vec<DateTime>),
    Two(i64, String),
    Nothing,
}

#[test]
fn untagged_variants() {
    for value in [
        Untagged::Date(at()),
        Untagged::Text("t".to_owned()),
        Untagged::Number("2.5".parse().unwrap()),
        Untagged::Small(5),
        Untagged::Item(item()),
        Untagged::Named {
            text: "t".to_owned(),
            more: None,
        },
        Untagged::All(vec![at()]),
        Untagged::Two(1, "x".to_owned()),
        Untagged::Nothing,
    ] {
        assert_same(&value);
    }
    assert!(error_of::<Untagged>(true).contains("one of the variants"));
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
enum PartlyExternal {
    Tagged(i32),
    Alone,
    #[serde(untagged)]
    Text(String),
    #[serde(untagged)]
    Item {
        name: String,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum PartlyInternal {
    Tagged {
        number: i32,
    },
    #[serde(untagged)]
    Item(Item),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "t", content = "c")]
enum PartlyAdjacent {
    Tagged(i32),
    #[serde(untagged)]
    Text(String),
}

#[test]
fn single_variants_without_a_tag() {
    assert_same(&PartlyExternal::Tagged(1));
    assert_same(&PartlyExternal::Alone);
    assert_same(&PartlyExternal::Text("x".to_owned()));
    assert_same(&PartlyExternal::Item { name: "x".to_owned() });
    assert_same(&PartlyInternal::Tagged { number: 1 });
    assert_same(&PartlyInternal::Item(Item {
        name: "x".to_owned(),
        at: None,
    }));
    assert_same(&PartlyAdjacent::Tagged(1));
    assert_same(&PartlyAdjacent::Text("x".to_owned()));
    assert!(error_of::<PartlyInternal>(doc! { "kind": "Tagged" }).contains("number"));
}

mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(value.as_secs())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_secs)
    }
}

mod swapped {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        left: &i32,
        right: &String,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        (right, left).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(i32, String), D::Error> {
        let (right, left) = Deserialize::deserialize(deserializer)?;
        Ok((left, right))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
enum ByFunction {
    #[serde(with = "swapped")]
    Swapped(i32, String),
    Field(
        #[serde(with = "seconds")]
        #[document(opaque)]
        std::time::Duration,
    ),
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[repr(u8)]
enum Numbered {
    One = 1,
    Two,
}

#[test]
fn functions_of_variants() {
    assert_same(&ByFunction::Swapped(1, "x".to_owned()));
    assert_eq!(
        stored(&ByFunction::Swapped(1, "x".to_owned())),
        Bson::from(doc! { "Swapped": ["x", 1] })
    );
    assert_same(&ByFunction::Field(std::time::Duration::from_secs(1)));
    assert_same(&Numbered::One);
    assert_same_bytes(&Numbered::Two);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "type")]
enum Event {
    Custom(#[document(opaque)] BTreeMap<String, i32>),
    Other { n: i32 },
}

#[test]
fn a_map_beside_a_tag_does_not_contain_the_tag() {
    assert_same(&Event::Custom(BTreeMap::from([("a".to_owned(), 1)])));
    assert_same(&Event::Other { n: 1 });
}

//! Flattened fields: each key of a document goes to exactly one reader.

use std::collections::BTreeMap;

use super::{assert_same, assert_same_bytes, encode, error_of, load, stored};
use marula::Embedded;
use marula::bson::{Bson, Document, doc};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Embedded)]
struct Inner {
    a: i32,
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "bee")]
    b: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Embedded)]
struct Optional {
    x: i32,
    y: Option<i32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Internal {
    None,
    Named { text: String },
    Inner(Wrapped),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Wrapped(Point);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Point {
    left: i32,
    right: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Alone,
    Number(i64),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
enum External {
    Number(i64),
    Named { n: i32 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(untagged)]
enum Untagged {
    Mail { mail: String },
    Phone { phone: i64, area: Option<i32> },
    Top(Top),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Top {
    top: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Whole {
    id: i32,
    #[serde(flatten)]
    inner: Box<Inner>,
    #[serde(flatten)]
    optional: Option<Optional>,
    #[serde(flatten)]
    internal: Internal,
    #[serde(flatten)]
    adjacent: Adjacent,
    #[serde(flatten)]
    external: External,
    #[serde(flatten)]
    untagged: Untagged,
    #[serde(flatten)]
    maybe: Option<Untagged2>,
    last: String,
    #[serde(flatten)]
    rest: BTreeMap<String, Bson>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(untagged)]
enum Untagged2 {
    Fax { fax: i64 },
}

fn whole() -> Whole {
    Whole {
        id: 1,
        inner: Box::new(Inner {
            a: 2,
            b: Some("b".to_owned()),
        }),
        optional: Some(Optional { x: 3, y: None }),
        internal: Internal::Named { text: "t".to_owned() },
        adjacent: Adjacent::Number(4),
        external: External::Number(5),
        untagged: Untagged::Mail { mail: "m".to_owned() },
        maybe: None,
        last: "z".to_owned(),
        rest: BTreeMap::new(),
    }
}

#[test]
fn all_kinds_of_types_are_flattened() {
    let others = BTreeMap::from([("more".to_owned(), Bson::Int32(6))]);
    for (internal, adjacent, external, untagged, maybe, optional, rest) in [
        (
            Internal::None,
            Adjacent::Alone,
            External::Named { n: 1 },
            Untagged::Phone {
                phone: 1,
                area: Some(2),
            },
            Some(Untagged2::Fax { fax: 1 }),
            None,
            BTreeMap::new(),
        ),
        (
            Internal::Inner(Wrapped(Point { left: 1, right: 2 })),
            Adjacent::Number(1),
            External::Number(2),
            Untagged::Mail { mail: "m".to_owned() },
            None,
            Some(Optional { x: 1, y: Some(2) }),
            others,
        ),
    ] {
        let value = Whole {
            internal,
            adjacent,
            external,
            untagged,
            maybe,
            optional,
            rest,
            ..whole()
        };
        assert_same_bytes(&value);
        assert_eq!(load::<Whole>(stored(&value)).unwrap(), value);
    }
}

#[test]
fn the_order_of_keys_does_not_matter() {
    let Bson::Document(document) = stored(&whole()) else {
        panic!("a document");
    };
    let mut entries: Vec<_> = document.into_iter().collect();
    entries.reverse();
    let reversed: Document = entries.into_iter().collect();
    assert_eq!(load::<Whole>(reversed).unwrap(), whole());
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct WithOptional {
    #[serde(flatten)]
    optional: Option<Optional>,
}

#[test]
fn an_optional_flattened_struct_is_none_without_its_fields() {
    assert_same(&WithOptional { optional: None });
    assert_same(&WithOptional {
        optional: Some(Optional { x: 1, y: None }),
    });
    let error = error_of::<WithOptional>(doc! { "y": 1 });
    assert!(error.contains("missing field `x`"), "{error}");
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Unread {
    #[serde(skip_deserializing)]
    count: i32,
    #[serde(flatten)]
    rest: Document,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Skipped {
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    maybe: Option<Optional>,
    #[serde(flatten, skip)]
    skipped: Inner,
    number: i32,
}

#[test]
fn attributes_of_flattened_fields() {
    let value = Unread {
        count: 5,
        rest: doc! { "more": 1 },
    };
    assert_same_bytes(&value);
    let read = load::<Unread>(stored(&value)).unwrap();
    assert_eq!((read.count, read.rest), (0, doc! { "more": 1 }));
    assert_same(&Skipped {
        maybe: None,
        skipped: Inner::default(),
        number: 1,
    });
}

#[test]
fn a_key_of_the_map_is_not_that_of_a_field() {
    for key in [
        "id", "a", "b", "bee", "x", "kind", "text", "left", "t", "c", "Named", "mail", "area", "fax", "last",
    ] {
        let mut value = whole();
        value.rest.insert(key.to_owned(), Bson::Null);
        let error = encode(&value).unwrap_err();
        assert_eq!(error.path(), format!("v.{key}"));
    }
}

#[test]
fn errors_in_flattened_fields_have_their_place() {
    let error = error_of::<Whole>(doc! { "kind": "None", "t": "Alone", "mail": "m", "a": "x" });
    assert!(
        error.starts_with("v.a: expected an integer, found String"),
        "{error}"
    );
    let error = error_of::<Whole>(doc! { "kind": "x" });
    assert!(error.starts_with("v.kind: unknown variant"), "{error}");
}

/// The fields of a struct with a prefix.
mod prefixed {
    use marula::bson::{self, Document};
    use serde::de::Error as _;
    use serde::ser::{Error as _, SerializeMap as _};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};

    pub(super) fn serialize<T: Serialize, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let document = bson::to_document(value).map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &document {
            map.serialize_entry(&format!("p_{key}"), value)?;
        }
        map.end()
    }

    pub(super) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        let all = Document::deserialize(deserializer)?.into_iter();
        let own = all.filter_map(|(key, value)| Some((key.strip_prefix("p_")?.to_owned(), value)));
        bson::from_document(&own.collect()).map_err(D::Error::custom)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Prefixed {
    id: i32,
    #[serde(flatten, with = "prefixed")]
    point: Point,
    #[serde(flatten)]
    inner: Inner,
}

#[test]
fn a_function_writes_and_reads_a_flattened_field() {
    let value = Prefixed {
        id: 1,
        point: Point { left: 2, right: 3 },
        inner: Inner { a: 4, b: None },
    };
    assert_same(&value);
    assert_eq!(
        stored(&value),
        Bson::from(doc! { "id": 1, "p_left": 2, "p_right": 3, "a": 4 })
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(from = "Point", into = "Point")]
struct Sum(i32);

impl From<Point> for Sum {
    fn from(point: Point) -> Self {
        Sum(point.left + point.right)
    }
}

impl From<Sum> for Point {
    fn from(sum: Sum) -> Self {
        Point {
            left: sum.0,
            right: 0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Embedded)]
enum Color {
    Red,
    Green,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Colored {
    Color(Color),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct WithSum {
    #[serde(flatten)]
    sum: Sum,
    more: i32,
}

#[test]
fn conversions_and_names_are_flattened() {
    assert_same(&WithSum { sum: Sum(5), more: 6 });
    assert_same(&Colored::Color(Color::Green));
}

#[derive(Clone, Debug, PartialEq, Embedded)]
#[serde(tag = "kind")]
enum Kind {
    Small { size: i32 },
}

#[derive(Clone, Debug, PartialEq, Embedded)]
struct Place {
    city: String,
    #[serde(flatten)]
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Embedded)]
struct Visit {
    id: i64,
    #[serde(flatten)]
    place: Option<Place>,
}

#[test]
fn a_flattened_option_with_a_flattened_enum_is_none_if_nothing_of_it_is_present() {
    let none = Visit { id: 1, place: None };
    assert_eq!(load::<Visit>(stored(&none)).unwrap(), none);
    let place = Place {
        city: "x".to_owned(),
        kind: Kind::Small { size: 5 },
    };
    let some = Visit {
        id: 1,
        place: Some(place),
    };
    assert_eq!(load::<Visit>(stored(&some)).unwrap(), some);
    let partial = error_of::<Visit>(doc! { "id": 1_i64, "city": "x" });
    assert!(partial.contains("missing field `kind`"), "{partial}");
}

#[derive(Debug, PartialEq, Embedded)]
struct Item {
    price: i32,
    #[serde(flatten)]
    extra: BTreeMap<String, i32>,
}

#[derive(Debug, PartialEq, marula::Shape)]
struct Taxed {
    #[document(flatten)]
    item: Item,
    tax: i32,
}

#[test]
fn the_added_fields_of_a_shape_are_not_in_the_map_of_the_model() {
    let item = Item {
        price: 1,
        extra: BTreeMap::from([("z".to_owned(), 3)]),
    };
    let read = load::<Taxed>(doc! { "price": 1, "tax": 2, "z": 3 }).unwrap();
    assert_eq!(read, Taxed { item, tax: 2 });
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct MaybeFax {
    #[serde(flatten)]
    fax: Option<Untagged2>,
    #[serde(flatten)]
    rest: BTreeMap<String, Bson>,
}

/// A field of an optional flattened enum that has another type is an error, and no entry of the map.
#[test]
fn a_field_of_an_optional_untagged_enum_is_not_in_a_map() {
    let error = error_of::<MaybeFax>(doc! { "fax": "no number" });
    assert!(error.contains("the fields of none of the variants"), "{error}");
    let none = load::<MaybeFax>(doc! { "other": 1 }).unwrap();
    assert_eq!((none.fax, none.rest.len()), (None, 1));
}

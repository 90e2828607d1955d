//! Structs, and the attributes of their fields.

use std::marker::PhantomData;
use std::net::IpAddr;
use std::time::Duration;

use marula::bson::{Bson, ObjectId};
use marula::{Embedded, forms};
use serde::{Deserialize, Serialize};

use super::{Form, sample};

#[derive(Embedded)]
#[serde(rename_all = "camelCase")]
struct Named {
    first_number: i32,
    #[serde(rename = "2nd", alias = "second", alias = "zweite")]
    second_number: u64,
    r#type: Option<String>,
    #[serde(alias = "k0")]
    in_place_of: Box<f64>,
}

#[derive(Embedded)]
struct Newtype(chrono::DateTime<chrono::Utc>);

#[derive(Embedded)]
#[serde(transparent)]
struct Transparent {
    content: Vec<Newtype>,
    #[serde(skip)]
    of: PhantomData<u8>,
}

#[derive(Embedded)]
struct Unit;

#[derive(Embedded)]
struct Empty {}

#[derive(Embedded)]
#[serde(deny_unknown_fields)]
struct Strict {
    known: Option<i32>,
    #[serde(default)]
    unit: Option<Unit>,
}

#[derive(Embedded)]
#[serde(tag = "type", rename = "tagged", deny_unknown_fields)]
struct Tagged {
    number: i32,
}

fn seven() -> i32 {
    7
}

#[derive(Embedded)]
#[serde(default)]
struct Defaults {
    number: i32,
    #[serde(default = "seven")]
    seven: i32,
    #[serde(default)]
    text: String,
    #[serde(skip)]
    skipped: i32,
}

impl Default for Defaults {
    fn default() -> Self {
        Defaults {
            number: 1,
            seven: 2,
            text: "x".to_owned(),
            skipped: 4,
        }
    }
}

fn is_even(number: &i32) -> bool {
    number % 2 == 0
}

/// The attributes of serde that leave fields out. A field that is not written has its default after it is read.
#[derive(Embedded)]
#[expect(dead_code, reason = "fields that are not stored")]
struct Skipping {
    #[serde(skip)]
    both: i32,
    #[serde(skip, default = "seven")]
    seven: i32,
    #[serde(skip_serializing, default)]
    read: i32,
    #[serde(skip_serializing_if = "is_even", default)]
    odd: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    some: Option<i32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[document(as = Vec<i32>)]
    bytes: Vec<u8>,
}

/// A field that is written and not read has its default after it is read.
#[derive(Embedded)]
struct Written {
    #[serde(skip_deserializing)]
    written: i32,
    #[serde(skip_deserializing, default = "seven")]
    seven: i32,
    more: bool,
}

impl sample::Sample for Written {
    fn sample(random: &mut super::Random) -> Self {
        Written {
            written: 0,
            seven: 7,
            more: sample::any(random),
        }
    }
}

/// A number as text.
pub(super) mod as_text {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::targets::models) fn serialize<T: ToString, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&value.to_string())
    }

    pub(in crate::targets::models) fn deserialize<'de, T: std::str::FromStr, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| D::Error::custom("not a number"))
    }
}

/// Fields that are written and read by functions.
#[derive(Embedded)]
struct ByFunction {
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
    #[serde(with = "marula::bson::exact")]
    exact: Bson,
}

#[derive(Embedded)]
#[serde(transparent)]
struct Textual(
    #[serde(with = "as_text")]
    #[document(as = String)]
    i32,
);

/// Fields that are stored as another type.
#[derive(Embedded)]
struct Converted {
    #[document(as = forms::U128)]
    unsigned: u128,
    #[document(as = forms::I128)]
    signed: i128,
    #[document(as = Option<forms::Millis>)]
    took: Option<Duration>,
    #[document(as = forms::JavaUuid)]
    java: uuid::Uuid,
    #[document(as = forms::CSharpUuid)]
    csharp: uuid::Uuid,
    #[document(as = Vec<forms::PythonUuid>)]
    python: Vec<uuid::Uuid>,
    #[document(as = forms::DisplayText)]
    address: IpAddr,
    #[document(as = String)]
    at: chrono::DateTime<chrono::Utc>,
    #[document(as = String)]
    day: jiff::civil::Date,
    #[document(as = Option<String>)]
    price: Option<rust_decimal::Decimal>,
}

/// A type without a codec.
#[derive(Serialize, Deserialize)]
struct Foreign {
    id: ObjectId,
    list: Vec<u8>,
    address: Option<IpAddr>,
    pair: (bool, char),
}

/// Fields that serde writes and reads.
#[derive(Embedded)]
struct Opaque {
    #[document(opaque)]
    foreign: Foreign,
    #[document(opaque)]
    optional: Option<Foreign>,
    #[document(opaque)]
    took: Vec<Duration>,
}

#[derive(Clone, Embedded)]
#[serde(from = "(i32, String)", into = "(i32, String)")]
struct Pair {
    left: i32,
    right: String,
}

impl From<(i32, String)> for Pair {
    fn from((left, right): (i32, String)) -> Self {
        Pair { left, right }
    }
}

impl From<Pair> for (i32, String) {
    fn from(pair: Pair) -> Self {
        (pair.left, pair.right)
    }
}

#[derive(Embedded)]
#[serde(try_from = "i64")]
struct Even(i64);

impl TryFrom<i64> for Even {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        if number % 2 == 0 {
            Ok(Even(number))
        } else {
            Err(format!("{number} is odd"))
        }
    }
}

impl sample::Sample for Even {
    fn sample(random: &mut super::Random) -> Self {
        Even(sample::any::<i64>(random) & !1)
    }
}

/// The type that is stored in place of [`OfWire`].
#[derive(Embedded)]
struct Wire {
    id: ObjectId,
    list: Vec<u8>,
}

/// Conversions in both directions.
#[derive(Clone, Embedded)]
#[serde(from = "Wire", into = "Wire")]
struct OfWire {
    id: ObjectId,
}

impl From<Wire> for OfWire {
    fn from(wire: Wire) -> Self {
        let _ = wire.list;
        OfWire { id: wire.id }
    }
}

impl From<OfWire> for Wire {
    fn from(of: OfWire) -> Self {
        Wire {
            id: of.id,
            list: vec![1],
        }
    }
}

/// A type that contains itself.
#[derive(Embedded)]
struct Nested {
    items: Vec<Nested>,
    inner: Option<Box<Nested>>,
    number: u64,
}

impl sample::Sample for Nested {
    fn sample(random: &mut super::Random) -> Self {
        let has_more = random.below(5) == 0;
        Nested {
            items: if has_more { sample::any(random) } else { Vec::new() },
            inner: (random.below(5) == 0).then(|| sample::any(random)),
            number: sample::any(random),
        }
    }
}

sample::structs! {
    Named { first_number, second_number, r#type, in_place_of }
    Newtype { 0 }
    Transparent { content, of }
    Unit {}
    Empty {}
    Strict { known, unit }
    Tagged { number }
    Defaults { number, seven, text, skipped }
    ByFunction { number, defaulted, halves, exact }
    Textual { 0 }
    Converted { unsigned, signed, took, java, csharp, python, address, at, day, price }
    Foreign { id, list, address, pair }
    Opaque { foreign, optional, took }
    Pair { left, right }
    OfWire { id }
    Skipping { both, seven, read, odd, some, bytes }
}

pub(super) fn add(forms: &mut Vec<Form>) {
    forms.extend([
        Form::document::<Named>(),
        Form::value::<Newtype>(),
        Form::value::<Transparent>(),
        Form::value::<Unit>(),
        Form::document::<Empty>(),
        Form::document::<Strict>(),
        Form::document::<Tagged>(),
        Form::document::<Defaults>(),
        Form::document::<Skipping>(),
        Form::document::<Written>(),
        Form::document::<ByFunction>(),
        Form::value::<Textual>(),
        Form::document::<Converted>(),
        Form::document::<Opaque>(),
        Form::value::<Pair>(),
        Form::value::<Even>(),
        Form::document::<OfWire>(),
        Form::document::<Nested>(),
    ]);
}

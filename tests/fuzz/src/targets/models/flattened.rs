//! Flattened fields: each key of a document goes to exactly one reader.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use marula::Embedded;
use marula::bson::{Bson, Document};
use serde::{Deserialize, Serialize};

use super::{Form, any, sample};

#[derive(Default, Embedded)]
struct Inner {
    a: i32,
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "bee")]
    b: Option<String>,
}

#[derive(Embedded)]
struct Optional {
    x: i32,
    y: Option<i32>,
}

#[derive(Clone, Serialize, Deserialize, Embedded)]
struct Point {
    left: i32,
    right: i32,
}

#[derive(Embedded)]
struct Wrapped(Point);

#[derive(Embedded)]
#[serde(tag = "kind")]
enum Internal {
    None,
    Named { text: String },
    Inner(Wrapped),
}

#[derive(Embedded)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Alone,
    Number(i64),
}

#[derive(Embedded)]
enum External {
    Number(i64),
    Named { n: i32 },
}

#[derive(Embedded)]
#[serde(untagged)]
enum Untagged {
    Mail { mail: String },
    Phone { phone: i64, area: Option<i32> },
    Dated(Dated),
}

#[derive(Embedded)]
#[serde(untagged)]
enum Fax {
    Fax { fax: i64 },
}

#[derive(Embedded)]
struct Dated {
    begun: DateTime<Utc>,
}

/// All kinds of flattened types but maps, which read the keys of the other variants of the enums beside them.
#[derive(Embedded)]
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
    fax: Option<Fax>,
    last: String,
}

#[derive(Embedded)]
#[serde(deny_unknown_fields)]
struct Strict {
    number: i32,
    #[serde(flatten)]
    inner: Inner,
    #[serde(flatten)]
    optional: Option<Optional>,
}

#[derive(Embedded)]
struct Middle {
    at: DateTime<Utc>,
    #[serde(flatten)]
    dated: Dated,
}

#[derive(Embedded)]
struct Outer {
    #[serde(alias = "title")]
    name: Option<String>,
    #[serde(flatten)]
    middle: Middle,
    #[serde(flatten)]
    rest: BTreeMap<String, DateTime<Utc>>,
}

#[derive(Embedded)]
struct Tail {
    #[serde(flatten)]
    inner: Box<Inner>,
    #[serde(flatten)]
    optional: Option<Optional>,
    last: String,
    #[serde(flatten)]
    rest: BTreeMap<String, Bson>,
}

#[derive(Embedded)]
struct Open {
    #[serde(skip_serializing_if = "Option::is_none", alias = "nickname")]
    nick: Option<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    maybe: Option<Optional>,
    #[serde(flatten, skip)]
    #[expect(dead_code, reason = "the field is not stored")]
    skipped: Inner,
    #[serde(flatten)]
    rest: Document,
}

#[derive(Embedded)]
struct MaybeMap {
    id: i32,
    #[serde(flatten)]
    rest: Option<BTreeMap<String, i32>>,
}

#[derive(Embedded)]
struct MaybeInternal {
    id: i64,
    #[serde(flatten)]
    internal: Option<Internal>,
    #[serde(flatten)]
    adjacent: Option<Adjacent>,
}

#[derive(Embedded)]
struct Place {
    city: String,
    #[serde(flatten)]
    internal: Internal,
}

#[derive(Embedded)]
struct Visit {
    id: i64,
    #[serde(flatten)]
    place: Option<Place>,
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

#[derive(Embedded)]
struct Prefixed {
    id: i32,
    #[serde(flatten, with = "prefixed")]
    point: Point,
    #[serde(flatten)]
    inner: Inner,
}

/// A type that is stored as another one.
#[derive(Clone, Embedded)]
#[serde(from = "Point", into = "Point")]
struct Sum(i32);

impl From<Point> for Sum {
    fn from(point: Point) -> Self {
        Sum(point.left.wrapping_add(point.right))
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

#[derive(Embedded)]
struct WithSum {
    #[serde(flatten)]
    sum: Sum,
    more: i32,
}

#[derive(Embedded)]
enum Color {
    Red,
    Green,
}

#[derive(Embedded)]
#[serde(tag = "kind")]
enum Colored {
    Color(Color),
}

sample::structs! {
    Inner { a, b }
    Optional { x, y }
    Point { left, right }
    Wrapped { 0 }
    Dated { begun }
    Whole { id, inner, optional, internal, adjacent, external, untagged, fax, last }
    Strict { number, inner, optional }
    Middle { at, dated }
    Outer { name, middle, rest }
    Tail { inner, optional, last, rest }
    Open { nick, maybe, skipped, rest }
    MaybeMap { id, rest }
    MaybeInternal { id, internal, adjacent }
    Place { city, internal }
    Visit { id, place }
    Prefixed { id, point, inner }
    Sum { 0 }
    WithSum { sum, more }
}

sample::enums! {
    Internal {
        |_| Internal::None,
        |random| Internal::Named { text: any(random) },
        |random| Internal::Inner(any(random)),
    }
    Adjacent {
        |_| Adjacent::Alone,
        |random| Adjacent::Number(any(random)),
    }
    External {
        |random| External::Number(any(random)),
        |random| External::Named { n: any(random) },
    }
    Untagged {
        |random| Untagged::Mail { mail: any(random) },
        |random| Untagged::Phone { phone: any(random), area: any(random) },
        |random| Untagged::Dated(any(random)),
    }
    Fax {
        |random| Fax::Fax { fax: any(random) },
    }
    Color {
        |_| Color::Red,
        |_| Color::Green,
    }
    Colored {
        |random| Colored::Color(any(random)),
    }
}

pub(super) fn add(forms: &mut Vec<Form>) {
    forms.extend([
        Form::document::<Whole>(),
        Form::document::<Strict>(),
        Form::document::<Outer>(),
        Form::document::<Tail>(),
        Form::document::<Open>(),
        Form::document::<MaybeMap>(),
        Form::document::<MaybeInternal>(),
        Form::document::<Visit>(),
        Form::document::<Prefixed>(),
        Form::document::<WithSum>(),
        Form::document::<Colored>(),
        Form::value::<Vec<Whole>>(),
    ]);
}

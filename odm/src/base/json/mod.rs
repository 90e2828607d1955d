//! Plain JSON for web clients: ids as hexadecimal text, dates as RFC 3339.
//!
//! The types of crate bson serialize to Extended JSON, which a web client does not expect:
//! `{"$oid": "…"}` for an id, `{"$date": {"$numberLong": "…"}}` for a date. With [`Plain`] around a value,
//! they are plain text in the application's JSON, at every depth and in both directions. Documents in
//! MongoDB are not affected: there, an id is an ObjectId and a date a BSON date.
//!
//! ```
//! use marula::bson::{DateTime, ObjectId};
//! use marula::json::Plain;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize, marula::Document)]
//! #[document(collection = "orders")]
//! struct Order {
//!     _id: ObjectId,
//!     placed_at: DateTime,
//!     shipped_at: Option<DateTime>,
//! }
//!
//! let order = Order {
//!     _id: ObjectId::parse_str("5f2b3e1c9d4a6b7c8d9e0f10")?,
//!     placed_at: DateTime::from_millis(1_714_979_289_000),
//!     shipped_at: None,
//! };
//! let json = serde_json::to_string(&Plain(&order))?;
//! assert_eq!(
//!     json,
//!     concat!(
//!         r#"{"_id":"5f2b3e1c9d4a6b7c8d9e0f10","#,
//!         r#""placed_at":"2024-05-06T07:08:09.000Z","shipped_at":null}"#
//!     )
//! );
//! let Plain(read) = serde_json::from_str::<Plain<Order>>(&json)?;
//! assert_eq!(read, order);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | type | JSON |
//! |---|---|
//! | [`ObjectId`](crate::bson::ObjectId) | `"5f2b3e1c9d4a6b7c8d9e0f10"` |
//! | [`DateTime`](crate::bson::DateTime) | `"2024-05-06T07:08:09.000Z"`: RFC 3339 in UTC with three digits of milliseconds; a date outside of the years 0 to 9999 is an error |
//! | [`Decimal128`](crate::bson::Decimal128) | `"19.90"` |
//! | [`bson::Uuid`](crate::bson::Uuid), [`Binary`](crate::bson::Binary) of subtype 4 with 16 bytes | `"67e55044-10b1-426f-9247-bb680e5fe0c8"` |
//! | [`Binary`](crate::bson::Binary) of subtype 0 | base64, `"TWFydWxh"` |
//! | [`Binary`](crate::bson::Binary) of other subtypes | Extended JSON, as without `Plain`: base64 alone would lose the subtype |
//! | [`Timestamp`](crate::bson::Timestamp), [`Regex`](crate::bson::Regex), JavaScript, `MinKey`, `MaxKey` and others | Extended JSON, as without `Plain` |
//! | numbers, text, booleans | as without `Plain`; an Int64 is a JSON number, which JavaScript rounds above 2^53 |
//! | types of other crates, such as chrono, jiff, uuid and rust_decimal | as without `Plain`: their JSON is plain already; that of crate time with its feature `serde-human-readable` |
//!
//! `Plain` also covers the ids and dates that are keys of a map, and those in a [`Bson`](crate::bson::Bson)
//! or a [`Document`](crate::bson::Document) that is written. It works with every human-readable format of
//! serde. In other formats, BSON among them, a value has the same form with and without `Plain`.
//!
//! # What is read
//!
//! The type that is read decides, never the text: 24 hexadecimal digits in a `String` are a `String`, and
//! text in a `Bson` is text. Types of crate bson are read from these forms:
//!
//! - An `ObjectId` from 24 hexadecimal digits, of either case.
//! - A `DateTime` from RFC 3339 with any offset. Digits after the milliseconds are cut off, since a BSON
//!   date does not have them.
//! - A `Decimal128` from text or a number. Use text for more than 15 digits: a JSON number with a fraction
//!   is read as a double.
//! - A `bson::Uuid` from the text forms of crate uuid.
//! - A `Binary` from base64 with padding (subtype 0), or from a UUID with hyphens (subtype 4), which is not
//!   base64.
//! - All of them from Extended JSON, too.
//!
//! An error says what is expected and does not contain the text that was found. Errors of Extended JSON are
//! those of crate bson, which can contain it.
//!
//! # Types that contain a date
//!
//! Crate bson reads `DateTime`, `Decimal128` and `Binary` as a value of any type and then checks the type,
//! so that the requested type must be known from outside. It is known for `Plain<T>` itself, for fields,
//! elements, keys and values of maps, and contents of variants, also in an `Option`, `Box`, `Rc`, `Arc`,
//! `Cow`, `Cell`, `RefCell` or `Reverse`. It is not known in these places, where only Extended JSON is read,
//! and text is an error of crate bson:
//!
//! - in a newtype of the application, such as `struct PlacedAt(DateTime)`;
//! - in the fields of a struct that is flattened (`#[serde(flatten)]`), and in enums with
//!   `#[serde(tag = "…")]` or `#[serde(untagged)]`, whose content serde copies into a buffer before it chooses
//!   the type.
//!
//! `ObjectId` and `bson::Uuid` are read in all places. For the others state
//! `#[serde(with = "marula::json")]` at the field, which calls [`serialize`] and [`deserialize`]. The stored
//! form of a type of crate bson is the same with and without it, but `with` requires that a model states
//! the form:
//!
//! ```
//! use marula::bson::DateTime;
//! use marula::json::Plain;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, marula::Embedded)]
//! #[serde(tag = "kind")]
//! enum Event {
//!     Shipped {
//!         #[serde(with = "marula::json")]
//!         #[document(as = DateTime)]
//!         at: DateTime,
//!     },
//! }
//!
//! let json = r#"{"kind":"Shipped","at":"2024-05-06T07:08:09.000Z"}"#;
//! let Plain(event) = serde_json::from_str::<Plain<Event>>(json)?;
//! assert_eq!(serde_json::to_string(&Plain(event))?, json);
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! An `Option` with `with` needs `#[serde(default)]` and `#[document(as = Option<DateTime>)]`: a field with a function is otherwise
//! required, also in the database.
//!
//! Dates and decimals of other crates, such as `chrono::DateTime<Utc>`, are read in all places, and stored as
//! BSON dates and decimals; see [`path::field`](crate::path::field).
//!
//! # What looks the same
//!
//! - JSON that is read into a `Bson` or a `Document` has no types: the ids and dates of a `Document` that is
//!   written and read again are text. Crate bson still reads Extended JSON in them.
//! - An untagged enum takes the first variant that reads the text: list `ObjectId` before `String`, and text
//!   of 24 hexadecimal digits is an `ObjectId`.
//! - Types of crate bson are recognized by the names of their structs when they are written. A struct with
//!   `#[serde(rename = "$oid")]`, whose only field is named `$oid` and has 24 hexadecimal digits, is written as
//!   an `ObjectId`; likewise `$date`, `$numberDecimal` and `$binary`. Maps and other structs with such keys are
//!   written as they are.
//! - Where the type of bytes is not known, in a newtype with `#[serde(transparent)]` and in serde's
//!   buffers, `Binary` of subtype 0 is an array of numbers, as without `Plain`.

mod read;
mod requested;
mod visitors;
mod write;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use requested::Requested;

/// A value with plain JSON: ids and dates of crate bson are text. See the [module](self).
///
/// In axum, `Json(Plain(order))` is a response, and `Json(Plain(new)): Json<Plain<NewOrder>>` the body of a
/// request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Plain<T>(pub T);

impl<T> From<T> for Plain<T> {
    fn from(value: T) -> Self {
        Plain(value)
    }
}

impl<T: Serialize> Serialize for Plain<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Plain<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer).map(Plain)
    }
}

/// Serializes a value as [`Plain`] does, for `#[serde(with = "marula::json")]`.
///
/// # Errors
/// Errors of the serializer, and of a date that has no RFC 3339 form.
pub fn serialize<T: Serialize + ?Sized, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        write::Value(value).serialize(serializer)
    } else {
        value.serialize(serializer)
    }
}

/// Deserializes a value as [`Plain`] does, for `#[serde(with = "marula::json")]`.
///
/// # Errors
/// Errors of the deserializer, and of text that does not have the form of the type.
pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    if deserializer.is_human_readable() {
        T::deserialize(read::PlainDeserializer::new(deserializer, Requested::of::<T>()))
    } else {
        T::deserialize(deserializer)
    }
}

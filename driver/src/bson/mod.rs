//! BSON: the types of crate [bson] 3.x, and this crate's own encoder and decoder.
//!
//! The types ([`Document`], [`Bson`], [`ObjectId`], the raw documents …) and the macros ([`doc!`],
//! [`rawdoc!`] …) are those of crate bson. They are encoded and decoded here:
//!
//! | from or to | encode | decode |
//! |---|---|---|
//! | bytes | [`to_vec`], [`append`] (to the end of a buffer) | [`from_slice`] (may borrow from the bytes), [`from_slice_owned`] |
//! | [`RawDocument`] | [`to_raw_document`] | [`from_raw`], [`from_raw_bson`] |
//! | [`Document`], [`Bson`] | [`to_document`], [`to_bson`] | [`from_document`], [`from_bson`] |
//! | Extended JSON | [`to_canonical_json`], [`to_relaxed_json`], [`ExtendedJson`] | [`from_extended_json`], [`value_from_extended_json`] |
//! | bytes, element by element | [`DocumentWriter`] | [`RawElements`], [`find_element`] |
//!
//! ```
//! use marula_driver::bson::{from_slice, to_vec};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, PartialEq, Debug)]
//! struct Line<'a> {
//!     sku: &'a str,
//!     quantity: u32,
//! }
//!
//! let line = Line { sku: "sclerocarya", quantity: 3 };
//! let bytes = to_vec(&line)?;
//! assert_eq!(from_slice::<Line<'_>>(&bytes)?, line);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How types map
//!
//! - Each Rust type has one BSON type: `i8`, `i16`, `i32`, `u8` and `u16` are Int32; `u32`, `i64`,
//!   `u64`, `usize` and the 128-bit integers are Int64, with an error for a value out of range.
//!   Either is read as any integer type, as is a Double without a fraction.
//! - Bytes are Binary subtype 0, and are read from any subtype. `uuid::Uuid` is Binary subtype 4,
//!   and is read from subtype 4 only. So is every type that has a text form for human-readable
//!   formats and otherwise a form of 16 bytes, since serde does not state which type is serialized.
//!   For another subtype use [`Binary`].
//! - `uuid::Uuid` is that of crate uuid 1.x. The `Uuid` of another major version is stored as
//!   Binary subtype 4 too, but is read as any other bytes: from each subtype, also from a legacy
//!   UUID (subtype 3), whose bytes can be in another order.
//! - Dates are stored as [`DateTime`]. Types of other crates are stored in the form that they
//!   serialize to: `chrono::DateTime` and `jiff::Timestamp` as text, which MongoDB does not compare
//!   with dates and which a TTL index ignores, and `std::time::SystemTime` as a document. For a field of
//!   such a type that is stored as a date, use the types of [`serde_helpers::datetime`] with crate
//!   serde_with (features `serde_with-3` and e.g. `chrono-0_4` of crate bson), or a field of type
//!   [`DateTime`] that is converted.
//! - Map keys are strings. Integers, booleans, characters, unit variants, UUIDs and ObjectIds are
//!   written as text and read from it.
//! - `is_human_readable` is false for values, and true for map keys.
//!
//! # Fields of any type
//!
//! A [`Document`] as a whole, such as a result of a `Collection<Document>`, is read as it is stored.
//! A field of type [`Bson`] or [`Document`] is read by crate bson, which takes a document with a key of
//! Extended JSON, such as `{"$date": 5}`, for a value of that type: the value that is written back is
//! another, or the document cannot be read. MongoDB 5.0+ stores such keys. With [`exact`], or as
//! [`RawBson`] or [`RawDocumentBuf`], a field is read as it is stored:
//!
//! ```
//! # use marula_driver::bson::{Bson, Document};
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Event {
//!     #[serde(with = "marula_driver::bson::exact")]
//!     details: Document,
//!     #[serde(with = "marula_driver::bson::exact", default)]
//!     origin: Option<Bson>,
//! }
//! ```
//!
//! # Flattened fields and tagged enums
//!
//! For `#[serde(flatten)]` and for enums with `#[serde(tag = "…")]` or `#[serde(untagged)]`, serde
//! copies a value into a buffer before it chooses the type that reads it. The buffer has no BSON
//! types. An ObjectId, a date, and Binary of a subtype other than 0 are maps in it, in the form of
//! Extended JSON (`{"$oid": "…"}`), which the types of this module read. In an untagged enum list
//! them before maps and structs with default values.
//!
//! `uuid::Uuid` and types of plain bytes do not read a map. There, use [`Uuid`] for a UUID, and
//! [`Binary`] for bytes of a subtype other than 0. Otherwise
//! reading fails; it never yields a value of another subtype.
//!
//! [bson]: https://docs.rs/bson

#![warn(clippy::indexing_slicing)]

mod capacity;
#[doc(hidden)]
pub mod codec;
mod convert;
mod db_ref;
mod de;
mod element;
mod error;
pub mod exact;
mod extended_json;
mod limits;
mod markers;
mod raw_reader;
mod raw_value;
mod same_type;
mod ser;
mod text;
mod tree;
mod validate;
mod vector;
mod writer;

#[doc(no_inline)]
pub use ::bson::serde_helpers;
#[doc(no_inline)]
pub use ::bson::{
    Array, Binary, Bson, DateTime, DbPointer, Decimal128, Document, JavaScriptCodeWithScope, RawArray,
    RawArrayBuf, RawBinaryRef, RawBson, RawBsonRef, RawDbPointerRef, RawDocument, RawDocumentBuf,
    RawJavaScriptCodeWithScope, RawJavaScriptCodeWithScopeRef, RawRegexRef, Regex, Timestamp, Uuid,
    UuidRepresentation, bson, cstr, doc, oid, oid::ObjectId, raw, rawbson, rawdoc, spec, spec::BinarySubtype,
    spec::ElementType,
};

pub(crate) use convert::from_slice_directly;
pub use convert::{
    IntoDocument, from_bson, from_bson_owned, from_document, from_slice_owned, to_bson, to_document,
    to_raw_document, to_vec,
};
pub use db_ref::DbRef;
pub use de::{from_raw, from_raw_bson, from_slice};
pub use error::{DecodeError, EncodeError};
pub use extended_json::{
    ExtendedJson, JsonError, JsonErrorKind, JsonSource, from_extended_json, from_legacy_extended_json,
    to_canonical_json, to_relaxed_json, value_from_extended_json,
};
#[cfg(feature = "aws-auth")]
pub(crate) use extended_json::{civil, read_date};
pub use limits::MAX_DEPTH;
pub use raw_reader::{RawElement, RawElements, find_element};
pub(crate) use raw_reader::{find_value, first_key};
pub use raw_value::RawValue;
pub use ser::{append, append_element};
pub use text::IndexKey;
pub use tree::{append_bson, append_document, decode_document};
pub use vector::{PackedBits, Vector, VectorError};
pub use writer::{DocumentWriter, Position};

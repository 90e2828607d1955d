//! BSON: the vocabulary of crate bson, and this driver's own codec between serde types and bytes.
//!
//! The types ([`Document`], [`Bson`], [`ObjectId`], the raw documents …) come from crate bson. What
//! turns values into bytes and back is here: [`append`] writes any serde type to the end of a
//! buffer, [`from_slice`] reads one from bytes it can borrow from, [`RawElements`] and
//! [`DocumentWriter`] do the same by hand for commands and replies.
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
//!   `u64`, `usize` and the 128-bit integers are Int64, with an error for what does not fit. Readers
//!   take either, and a Double without a fraction.
//! - `uuid::Uuid` is Binary subtype 4, other bytes are subtype 0. A UUID is read from subtype 4 only,
//!   other bytes from any subtype.
//! - Maps have strings for keys; integers, booleans, characters, variants without data, UUIDs and
//!   ObjectIds are written as their text and read back from it.
//! - `is_human_readable` is false for values.

#![warn(clippy::indexing_slicing)]

pub(crate) mod base64;
mod convert;
mod db_ref;
mod de;
mod element;
mod error;
mod extended_json;
#[doc(hidden)]
pub mod hinted;
mod limits;
mod protocol;
mod raw_reader;
mod raw_value;
mod roomy;
mod scan;
mod ser;
mod text;
mod tree;
mod vector;
mod writer;

#[doc(no_inline)]
pub use ::bson::{
    Array, Binary, Bson, DateTime, DbPointer, Decimal128, Document, JavaScriptCodeWithScope, RawArray,
    RawArrayBuf, RawBinaryRef, RawBson, RawBsonRef, RawDbPointerRef, RawDocument, RawDocumentBuf,
    RawJavaScriptCodeWithScope, RawJavaScriptCodeWithScopeRef, RawRegexRef, Regex, Timestamp, Uuid,
    UuidRepresentation, bson, cstr, doc, oid, oid::ObjectId, raw, rawbson, rawdoc, spec, spec::BinarySubtype,
    spec::ElementType,
};

pub use convert::{
    IntoDocument, from_bson, from_document, from_slice_owned, to_bson, to_document, to_raw_document, to_vec,
};
pub use db_ref::DbRef;
pub use de::{from_raw, from_raw_bson, from_slice};
pub use error::{DecodeError, EncodeError};
pub use extended_json::{
    ExtendedJson, JsonError, JsonErrorKind, JsonSource, from_extended_json, from_legacy_extended_json,
    to_canonical_json, to_relaxed_json, value_from_extended_json,
};
pub use limits::MAX_DEPTH;
pub use raw_reader::{RawElement, RawElements, find_element};
pub use raw_value::RawValue;
pub use ser::{append, append_element};
pub use text::IndexKey;
pub use tree::{append_bson, append_document, decode_document};
pub use vector::{PackedBits, Vector, VectorError};
pub use writer::{DocumentWriter, Position};

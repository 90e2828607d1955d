//! Extended JSON, version 2: BSON as text, for logs, files and tests.
//!
//! Specification:
//! <https://github.com/mongodb/specifications/blob/master/source/extended-json/extended-json.md>.
//!
//! *Canonical* Extended JSON preserves every BSON type. *Relaxed* Extended JSON has plain JSON
//! numbers, so that types of numbers may change. [`ExtendedJson`] writes both, from trees and from
//! raw documents; [`from_extended_json`] reads both.
//!
//! ```
//! use marula_driver::bson::{ExtendedJson, doc, from_extended_json, to_canonical_json};
//!
//! let tree = doc! { "sku": "sclerocarya", "height": 4.5_f64, "fruits": 12_i32 };
//! assert_eq!(
//!     ExtendedJson::relaxed(&tree).to_string(),
//!     r#"{"sku": "sclerocarya", "height": 4.5, "fruits": 12}"#,
//! );
//! let text = to_canonical_json(&tree)?;
//! assert_eq!(from_extended_json(&text)?, tree);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod date;
mod error;
mod json;
mod printer;
mod raw;
mod reader;
mod source;
mod tree;
mod wrapper;

use std::fmt;

#[cfg(feature = "aws-auth")]
pub(crate) use date::{civil, read_date};
pub use error::{JsonError, JsonErrorKind};
use json::Json;
use printer::{Fault, Printer, Style};
use reader::Forms;
pub use source::JsonSource;

use super::error::DecodeError;
use super::{Bson, Document};

/// Displays a value or document as Extended JSON.
///
/// Written directly, without an intermediate tree or text; the formatter may stop early. If a raw
/// document is malformed, or the value nests deeper than [`MAX_DEPTH`](super::MAX_DEPTH) levels,
/// the text ends with the error in angle brackets, which is not JSON; [`to_json`](Self::to_json)
/// returns an error instead.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct ExtendedJson<'a> {
    source: JsonSource<'a>,
    style: Style,
}

impl<'a> ExtendedJson<'a> {
    /// Canonical Extended JSON, which preserves every type.
    pub fn canonical(value: impl Into<JsonSource<'a>>) -> Self {
        Self::new(value.into(), false)
    }

    /// Relaxed Extended JSON: plain JSON numbers, and dates of the years 1970 to 9999 as text.
    pub fn relaxed(value: impl Into<JsonSource<'a>>) -> Self {
        Self::new(value.into(), true)
    }

    fn new(source: JsonSource<'a>, relaxed: bool) -> Self {
        let style = Style {
            relaxed,
            uuids_as_text: false,
        };
        Self { source, style }
    }

    /// Writes UUIDs as `{"$uuid": "…"}`, which is parsed as Binary subtype 4.
    /// Default: `{"$binary": …}`.
    pub fn uuids_as_text(mut self) -> Self {
        self.style.uuids_as_text = true;
        self
    }

    /// Converts to text.
    ///
    /// # Errors
    /// If a raw document is malformed, or the value nests deeper than
    /// [`MAX_DEPTH`](super::MAX_DEPTH) levels.
    pub fn to_json(&self) -> Result<String, DecodeError> {
        let mut text = String::with_capacity(self.source.usual_len());
        match self.source.write(&mut Printer::new(&mut text, self.style)) {
            Ok(()) => Ok(text),
            Err(Fault::Value(error)) => Err(error),
            // Writing to a string does not fail.
            Err(Fault::Writer(_)) => Err(DecodeError::new("the text could not be written")),
        }
    }
}

impl fmt::Display for ExtendedJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source.write(&mut Printer::new(f, self.style)) {
            Ok(()) => Ok(()),
            Err(Fault::Value(error)) => write!(f, "<{error}>"),
            Err(Fault::Writer(error)) => Err(error),
        }
    }
}

/// The value or document as canonical Extended JSON.
///
/// # Errors
/// Those of [`ExtendedJson::to_json`].
pub fn to_canonical_json<'a>(value: impl Into<JsonSource<'a>>) -> Result<String, DecodeError> {
    ExtendedJson::canonical(value).to_json()
}

/// The value or document as relaxed Extended JSON.
///
/// # Errors
/// Those of [`ExtendedJson::to_json`].
pub fn to_relaxed_json<'a>(value: impl Into<JsonSource<'a>>) -> Result<String, DecodeError> {
    ExtendedJson::relaxed(value).to_json()
}

/// Parses a document from canonical or relaxed Extended JSON.
///
/// The outermost object is always a document, even with the keys of a type wrapper. An integer
/// becomes an Int32 if it is in range, otherwise an Int64, otherwise a Double.
///
/// # Errors
/// If the text is not JSON or not an object, nests deeper than [`MAX_DEPTH`](super::MAX_DEPTH)
/// levels, repeats a key within an object, or does not represent a BSON value.
pub fn from_extended_json(text: &str) -> Result<Document, JsonError> {
    read_document(text, Forms::Standard)
}

/// Parses a document as [`from_extended_json`], and accepts the forms of Extended JSON version 1 as
/// well, which older MongoDB tools write: `{"$binary": "…", "$type": "…"}`,
/// `{"$regex": "…", "$options": "…"}` and `{"$date": 0}`.
///
/// A filter such as `{"$regex": "^a", "$options": "i"}` has the form of a legacy regular
/// expression, and becomes one.
///
/// # Errors
/// Those of [`from_extended_json`].
pub fn from_legacy_extended_json(text: &str) -> Result<Document, JsonError> {
    read_document(text, Forms::Legacy)
}

/// Parses any value from canonical or relaxed Extended JSON. The outermost object may be a type
/// wrapper.
///
/// # Errors
/// Those of [`from_extended_json`], except that the text need not be an object.
pub fn value_from_extended_json(text: &str) -> Result<Bson, JsonError> {
    json::read(text)
        .and_then(|node| reader::value(node, Forms::Standard))
        .map_err(|error| error.place(text))
}

fn read_document(text: &str, forms: Forms) -> Result<Document, JsonError> {
    json::read(text)
        .and_then(|node| match node.json {
            Json::Object(members) => reader::document(members, forms),
            _ => Err(JsonError::value(node.offset, "expected an object")),
        })
        .map_err(|error| error.place(text))
}

#[cfg(test)]
mod tests;

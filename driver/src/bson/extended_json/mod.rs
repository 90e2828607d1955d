//! Extended JSON, version 2: BSON as text, for people, logs, files and tests.
//!
//! *Canonical* Extended JSON states every value's BSON type; *relaxed* Extended JSON reads like JSON
//! and leaves the width of numbers to the reader. [`ExtendedJson`] writes both, from trees and
//! straight from bytes; [`from_extended_json`] reads both.
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

pub use error::{JsonError, JsonErrorKind};
use json::Json;
use printer::{Fault, Printer, Style};
use reader::Forms;
pub use source::JsonSource;

use super::error::DecodeError;
use super::{Bson, Document};

/// A value or document that is displayed as Extended JSON.
///
/// What is displayed is written directly, without a tree or a text in between, and may be cut short
/// by the writer. Where a raw document is malformed, or the value nests deeper than
/// [`MAX_DEPTH`](super::MAX_DEPTH) levels, the text ends with the fault in angle brackets and is no
/// JSON; [`to_json`](Self::to_json) gives an error instead.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct ExtendedJson<'a> {
    source: JsonSource<'a>,
    style: Style,
}

impl<'a> ExtendedJson<'a> {
    /// Canonical Extended JSON, which keeps every type.
    pub fn canonical(value: impl Into<JsonSource<'a>>) -> Self {
        Self::new(value.into(), false)
    }

    /// Relaxed Extended JSON: numbers as JSON has them, dates of the years 1970 to 9999 as text.
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

    /// Writes UUIDs as `{"$uuid": "…"}`, which readers of Extended JSON take for Binary subtype 4, not
    /// as `{"$binary": …}`.
    pub fn uuids_as_text(mut self) -> Self {
        self.style.uuids_as_text = true;
        self
    }

    /// The text.
    ///
    /// # Errors
    /// When a raw document is malformed, or the value nests deeper than
    /// [`MAX_DEPTH`](super::MAX_DEPTH) levels.
    pub fn to_json(&self) -> Result<String, DecodeError> {
        let mut text = String::with_capacity(self.source.usual_len());
        match self.source.write(&mut Printer::new(&mut text, self.style)) {
            Ok(()) => Ok(text),
            Err(Fault::Value(error)) => Err(error),
            // A string takes everything.
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
/// As [`ExtendedJson::to_json`].
pub fn to_canonical_json<'a>(value: impl Into<JsonSource<'a>>) -> Result<String, DecodeError> {
    ExtendedJson::canonical(value).to_json()
}

/// The value or document as relaxed Extended JSON.
///
/// # Errors
/// As [`ExtendedJson::to_json`].
pub fn to_relaxed_json<'a>(value: impl Into<JsonSource<'a>>) -> Result<String, DecodeError> {
    ExtendedJson::relaxed(value).to_json()
}

/// Reads a document from canonical or relaxed Extended JSON.
///
/// The keys of the outermost object are its document's keys, even those of type wrappers. Integers
/// become Int32 where they fit, else Int64, else Double.
///
/// # Errors
/// When the text is not JSON or not an object, nests deeper than [`MAX_DEPTH`](super::MAX_DEPTH)
/// levels, repeats a key within an object, or states no BSON value.
pub fn from_extended_json(text: &str) -> Result<Document, JsonError> {
    read_document(text, Forms::Standard)
}

/// Reads a document as [`from_extended_json`] does, and accepts what old versions of MongoDB's tools
/// wrote: `{"$binary": "…", "$type": "…"}`, `{"$regex": "…", "$options": "…"}` and `{"$date": 0}`.
///
/// A filter like `{"$regex": "^a", "$options": "i"}` is the same text as a regular expression of old,
/// and becomes one here.
///
/// # Errors
/// As [`from_extended_json`].
pub fn from_legacy_extended_json(text: &str) -> Result<Document, JsonError> {
    read_document(text, Forms::Legacy)
}

/// Reads any value from canonical or relaxed Extended JSON; the outermost object may be a type
/// wrapper too.
///
/// # Errors
/// As [`from_extended_json`], but the text may be any value.
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

//! Reads and writes values of Rust types that know their form in BSON, without serde.
//!
//! The traits of such types are in the object-document mapper `marula`, whose derives implement them for models. This module
//! has the reader ([`Value`], [`Elements`], [`Fields`]) and the [`Writer`], which use the innermost loops of this crate.
//!
//! A reader has no context: an error is located by the values that enclose it. [`Fields::locate`] and
//! [`Elements::locate`] add the name or the index, and the offset of the value in its document.

mod elements;
mod fields;
#[cfg(test)]
mod tests;
mod value;
mod writer;

pub use elements::Elements;
pub use fields::{END, Fields, OTHER};
pub use value::Value;
pub use writer::{Names, Open, Writer};

use serde::Serialize;

pub use crate::bson::markers::DOCUMENT_BYTES;
use crate::bson::{
    Bson, DecodeError, ElementType, EncodeError, append,
    convert::{document_with, first_element, malformed_raw},
    tree,
};

/// A document that is appended to the buffer of a command.
pub trait AppendDocument {
    /// Appends the document. After an error `out` is unchanged.
    ///
    /// # Errors
    /// The value is not a document, or contains a value that BSON cannot represent.
    fn append_document(&self, out: &mut Vec<u8>) -> Result<(), EncodeError>;
}

impl<T: Serialize + ?Sized> AppendDocument for T {
    #[inline]
    fn append_document(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        append(self, out)
    }
}

/// A document that a function appends.
pub struct AppendedBy<F>(pub F);

impl<F: Fn(&mut Vec<u8>) -> Result<(), EncodeError>> AppendDocument for AppendedBy<F> {
    #[inline]
    fn append_document(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.0(out)
    }
}

/// The value that a function writes, as a tree.
///
/// # Errors
/// The errors of the function, and one if it does not write one value.
pub fn to_bson(write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>) -> Result<Bson, EncodeError> {
    let mut bytes = Vec::new();
    let within = |out: &mut Writer<'_>| {
        let open = out.begin(ElementType::EmbeddedDocument, &Names::NONE)?;
        out.field("", write)?;
        out.end(open)
    };
    Writer::write(&mut bytes, within).map_err(EncodeError::without_first_key)?;
    let element = first_element(&bytes).map_err(|error| malformed_raw(&error))?;
    tree::value(element.value, &bytes).map_err(|error| malformed_raw(&error))
}

/// Reads the value of a tree by a function.
///
/// # Errors
/// The errors of the function, and one if the tree cannot be represented as BSON.
pub fn from_bson<T>(
    value: &Bson,
    read: impl FnOnce(&Value<'_>) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let document = document_with(value)?;
    let value = Value::of(first_element(&document)?.value);
    read(&value).map_err(|error| value.locate(error))
}

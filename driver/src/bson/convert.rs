//! Conversions between serde types, documents, raw documents and single BSON values.

use std::any::Any;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use super::error::{DecodeError, EncodeError};
use super::exact::{self, Exact};
use super::raw_reader::RawElements;
use super::{Bson, Document, RawDocument, RawDocumentBuf};
use super::{append, append_bson, append_document, append_element, de, decode_document, tree};

/// Initial capacity for a document such as a filter or a command, in bytes.
const USUAL: usize = 64;

/// Encodes `value` as one document.
///
/// # Errors
/// If the value is not a document, or contains a value that BSON cannot represent.
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::with_capacity(USUAL);
    append(value, &mut bytes)?;
    Ok(bytes)
}

/// Encodes `value` as one raw document.
///
/// # Errors
/// If the value is not a document, or contains a value that BSON cannot represent.
pub fn to_raw_document<T: Serialize + ?Sized>(value: &T) -> Result<RawDocumentBuf, EncodeError> {
    raw_document(to_vec(value)?)
}

fn raw_document(bytes: Vec<u8>) -> Result<RawDocumentBuf, EncodeError> {
    RawDocumentBuf::from_bytes(bytes)
        .map_err(|_| EncodeError::new("the value is not one well-formed document"))
}

/// Converts `value` to a document.
///
/// # Errors
/// If the value is not a document, or contains a value that BSON cannot represent.
pub fn to_document<T: Serialize + ?Sized>(value: &T) -> Result<Document, EncodeError> {
    decode_document(&to_vec(value)?).map_err(|error| malformed_raw(&error))
}

/// Converts `value`, which need not be a document, to a BSON value.
///
/// # Errors
/// If the value contains one that BSON cannot represent.
pub fn to_bson<T: Serialize + ?Sized>(value: &T) -> Result<Bson, EncodeError> {
    let mut bytes = vec![0; 4];
    append_element("", value, &mut bytes).map_err(EncodeError::without_first_key)?;
    let document = close(bytes)?;
    let element = first_element(&document).map_err(|error| malformed_raw(&error))?;
    tree::value(element.value, &document).map_err(|error| malformed_raw(&error))
}

/// Ends a document and writes its length into its first four bytes.
fn close(mut bytes: Vec<u8>) -> Result<Vec<u8>, EncodeError> {
    bytes.push(0);
    let len = super::limits::length(bytes.len())?;
    if let Some(slot) = bytes.first_chunk_mut() {
        *slot = len.to_le_bytes();
    }
    Ok(bytes)
}

pub(super) fn first_element(document: &[u8]) -> Result<super::RawElement<'_>, DecodeError> {
    RawElements::new(document)?
        .next_element()?
        .ok_or_else(|| DecodeError::new("the value is missing"))
}

/// The cause is a malformed raw document inside the encoded value.
#[cold]
pub(super) fn malformed_raw(error: &DecodeError) -> EncodeError {
    EncodeError::new(format!("a raw document within the value is malformed: {error}"))
}

/// Decodes one document into a type that borrows nothing.
///
/// Decodes like [`from_slice`](super::from_slice), with a direct implementation for [`Document`],
/// [`Bson`] and [`RawDocumentBuf`]. It is faster, and exact: crate bson deserializes a document with a
/// key such as `$oid` or `$date` as Extended JSON. Fields of these types are exact with
/// [`exact`](super::exact) only.
///
/// # Errors
/// If the bytes are malformed, or do not have the form of `T`.
#[inline]
pub fn from_slice_owned<T: DeserializeOwned + 'static>(bytes: &[u8]) -> Result<T, DecodeError> {
    match from_slice_directly(bytes)? {
        Some(value) => Ok(value),
        None => de::from_slice(bytes),
    }
}

/// Decodes one document without serde, if `T` is a type with a direct implementation.
pub(crate) fn from_slice_directly<T: 'static>(bytes: &[u8]) -> Result<Option<T>, DecodeError> {
    let mut slot: Option<T> = None;
    let any: &mut dyn Any = &mut slot;
    if let Some(document) = any.downcast_mut::<Option<Document>>() {
        *document = Some(decode_document(bytes)?);
    } else if let Some(document) = any.downcast_mut::<Option<RawDocumentBuf>>() {
        RawElements::new(bytes)?;
        *document = RawDocumentBuf::from_bytes(bytes.to_vec()).ok();
    } else if let Some(value) = any.downcast_mut::<Option<Bson>>() {
        *value = Some(Bson::Document(decode_document(bytes)?));
    }
    Ok(slot)
}

/// Converts a document into a type.
///
/// # Errors
/// If the document does not have the form of `T`, or cannot be represented as BSON.
pub fn from_document<T: DeserializeOwned>(document: &Document) -> Result<T, DecodeError> {
    let mut bytes = Vec::new();
    append_document(document, &mut bytes).map_err(|error| unencodable(&error))?;
    de::from_slice(&bytes)
}

/// Converts a BSON value into a type.
///
/// # Errors
/// If the value does not have the form of `T`, or cannot be represented as BSON.
pub fn from_bson<T: DeserializeOwned>(value: &Bson) -> Result<T, DecodeError> {
    let document = document_with(value)?;
    de::from_raw_value(first_element(&document)?.value, &document)
}

/// Encodes a document with one element, whose key is empty.
pub(super) fn document_with(value: &Bson) -> Result<Vec<u8>, DecodeError> {
    let mut bytes = vec![0; 4];
    append_bson("", value, &mut bytes).map_err(|error| unencodable(&error))?;
    close(bytes).map_err(|error| unencodable(&error))
}

/// Converts like [`from_bson`]. [`Bson`], [`Document`], [`RawDocumentBuf`], and options and lists of
/// [`Bson`] and [`Document`] are exact: see [`from_slice_owned`]. Other types that contain them, such
/// as maps, are exact with [`exact`](super::exact) only.
///
/// # Errors
/// If the value does not have the form of `T`, or cannot be represented as BSON.
pub fn from_bson_owned<T: DeserializeOwned + 'static>(value: &Bson) -> Result<T, DecodeError> {
    let document = document_with(value)?;
    let value = first_element(&document)?.value;
    if let Some(exact) = exactly(value, &document)? {
        return Ok(exact);
    }
    match value.document() {
        Ok(inner) => from_slice_owned(inner.as_bytes()),
        Err(_) => de::from_raw_value(value, &document),
    }
}

/// Decodes one value of a document as it is stored, if `T` is one of these types.
fn exactly<T: 'static>(value: super::RawValue<'_>, input: &[u8]) -> Result<Option<T>, DecodeError> {
    /// A value that is read as it is stored.
    struct Stored<T>(T);

    impl<'de, T: Exact> Deserialize<'de> for Stored<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            exact::deserialize(deserializer).map(Stored)
        }
    }

    let mut slot: Option<T> = None;
    let any: &mut dyn Any = &mut slot;
    if let Some(tree) = any.downcast_mut::<Option<Bson>>() {
        *tree = Some(tree::value(value, input)?);
        return Ok(slot);
    }
    macro_rules! read {
        ($($type:ty),*) => {
            $(if let Some(read) = any.downcast_mut::<Option<$type>>() {
                let Stored(value) = de::from_raw_value(value, input)?;
                *read = Some(value);
                return Ok(slot);
            })*
        };
    }
    read!(Option<Bson>, Option<Document>, Vec<Bson>, Vec<Document>);
    Ok(slot)
}

#[cold]
fn unencodable(error: &EncodeError) -> DecodeError {
    DecodeError::new(format!("the value cannot be represented as BSON: {error}"))
}

/// Arguments that are documents: filters, updates, sort orders, commands. Implemented by
/// [`Document`], [`RawDocumentBuf`], and references to documents. Convert other types with
/// [`to_raw_document`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a document",
    note = "documents are `Document`, `RawDocumentBuf` and references to them; \
            convert other types with `to_document` or `to_raw_document`"
)]
pub trait IntoDocument {
    /// Encodes the document.
    ///
    /// # Errors
    /// If the document contains a value that BSON cannot represent.
    fn into_raw_document(self) -> Result<RawDocumentBuf, EncodeError>;
}

impl IntoDocument for Document {
    fn into_raw_document(self) -> Result<RawDocumentBuf, EncodeError> {
        (&self).into_raw_document()
    }
}

impl IntoDocument for &Document {
    fn into_raw_document(self) -> Result<RawDocumentBuf, EncodeError> {
        let mut bytes = Vec::with_capacity(USUAL / 2 * (self.len() + 1));
        append_document(self, &mut bytes)?;
        raw_document(bytes)
    }
}

impl IntoDocument for RawDocumentBuf {
    fn into_raw_document(self) -> Result<RawDocumentBuf, EncodeError> {
        Ok(self)
    }
}

impl IntoDocument for &RawDocumentBuf {
    fn into_raw_document(self) -> Result<RawDocumentBuf, EncodeError> {
        Ok(self.clone())
    }
}

impl IntoDocument for &RawDocument {
    fn into_raw_document(self) -> Result<RawDocumentBuf, EncodeError> {
        Ok(self.to_owned())
    }
}

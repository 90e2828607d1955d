//! Reads shapes with `#[document(flatten)]`.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

use crate::bson::raw_ids::DOCUMENT_BYTES;
use crate::bson::{DecodeError, RawDocumentBuf};

/// Reads a value from the bytes of its document. The derive of a shape calls it: the flattened
/// field and the other fields are read from the same bytes, and not from serde's buffer.
///
/// # Errors
/// That of `read`, and those of a value that is not a document.
pub fn read_flattened<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    read: impl FnOnce(&[u8]) -> Result<T, DecodeError>,
) -> Result<T, D::Error> {
    let bytes = Bytes {
        read,
        value: PhantomData,
    };
    deserializer.deserialize_newtype_struct(DOCUMENT_BYTES, bytes)
}

struct Bytes<T, F> {
    read: F,
    value: PhantomData<fn() -> T>,
}

impl<T, F: FnOnce(&[u8]) -> Result<T, DecodeError>> Bytes<T, F> {
    fn read<E: Error>(self, bytes: &[u8]) -> Result<T, E> {
        (self.read)(bytes).map_err(|error| match error.path() {
            "" => E::custom(error.message()),
            path => E::custom(format_args!("`{path}`: {}", error.message())),
        })
    }
}

impl<'de, T, F: FnOnce(&[u8]) -> Result<T, DecodeError>> Visitor<'de> for Bytes<T, F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<T, E> {
        self.read(bytes)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        let document = RawDocumentBuf::deserialize(deserializer)?;
        self.read(document.as_bytes())
    }
}

//! Decodes models. The errors contain the collection, the `_id` and the path of the field.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer};

use crate::bson::raw_ids::DOCUMENT_BYTES;
use crate::bson::{Bson, RawDocument};
use crate::driver::Namespace;
use crate::error::{Error, Result};
use crate::form::decode::Undecodable;
use crate::model::Model;
use crate::path::field::Field;
use crate::stored::{decode_bytes, decode_raw, decode_value};

/// Decodes a document. The error contains the collection, the `_id` and the path of the field.
fn decode<T: Field + DeserializeOwned>(namespace: &Namespace, raw: &RawDocument) -> Result<T> {
    decode_raw(raw).map_err(|error| Undecoded::new(raw, error).in_collection(namespace))
}

/// Decodes a value at a path.
pub(crate) fn value_at<T: Field + DeserializeOwned>(
    namespace: &Namespace,
    id: Option<Bson>,
    path: &str,
    value: &Bson,
) -> Result<T> {
    decode_value(value).map_err(|Undecodable { path: inner, source }| Error::Decode {
        collection: namespace.to_string(),
        id: id.map(Box::new),
        path: match &*inner {
            "" => path.to_owned(),
            _ if inner.starts_with('[') => format!("{path}{inner}"),
            _ => format!("{path}.{inner}"),
        },
        source,
    })
}

/// The type in which documents are read: a model, whose hook runs after a document was decoded, or
/// another type.
///
/// The hook takes a reference, so that a document is not moved once more for it.
pub(crate) struct ReadAs<T>(Option<fn(&mut T) -> Result<()>>);

impl<T> Clone for ReadAs<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ReadAs<T> {}

impl<D: Model> ReadAs<D> {
    /// Documents of the collection.
    pub(crate) fn model() -> Self {
        ReadAs(Some(loaded))
    }
}

impl<T: Field + DeserializeOwned> ReadAs<T> {
    /// A projection, or the result of a pipeline.
    pub(crate) fn value() -> Self {
        ReadAs(None)
    }

    /// Decodes a document.
    #[inline]
    pub(crate) fn decode(self, namespace: &Namespace, raw: &RawDocument) -> Result<T> {
        self.loaded(decode(namespace, raw)?)
    }

    /// Runs the hook of a document that was decoded.
    #[inline]
    fn loaded(self, mut document: T) -> Result<T> {
        if let Some(hook) = self.0 {
            hook(&mut document)?;
        }
        Ok(document)
    }
}

/// Runs the hook of a document that was read.
fn loaded<D: Model>(document: &mut D) -> Result<()> {
    document
        .after_load()
        .map_err(|error| Error::hook(D::NAME, "after_load", error))
}

/// A document that the driver decodes directly from the reply; [`decode`] would need a copy of the
/// document. A decode error is kept as a value, since it is not an error of the driver.
pub(super) struct Found<D>(std::result::Result<D, Box<Undecoded>>);

/// A decode error, with the `_id` of the document.
pub(super) struct Undecoded {
    id: Option<Box<Bson>>,
    error: Undecodable,
}

impl<'de, D: Field + DeserializeOwned> Deserialize<'de> for Found<D> {
    fn deserialize<S: Deserializer<'de>>(deserializer: S) -> std::result::Result<Self, S::Error> {
        deserializer.deserialize_newtype_struct(DOCUMENT_BYTES, FromBytes(PhantomData))
    }
}

/// Decodes a model from the bytes of its document.
struct FromBytes<D>(PhantomData<fn() -> D>);

impl<'de, D: Field + DeserializeOwned> Visitor<'de> for FromBytes<D> {
    type Value = Found<D>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document")
    }

    #[inline]
    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> std::result::Result<Found<D>, E> {
        Ok(Found(
            decode_bytes(bytes).map_err(|error| undecoded(bytes, error)),
        ))
    }
}

#[cold]
fn undecoded(bytes: &[u8], error: Undecodable) -> Box<Undecoded> {
    Box::new(match RawDocument::from_bytes(bytes) {
        Ok(raw) => Undecoded::new(raw, error),
        Err(_) => Undecoded { id: None, error },
    })
}

impl<T: Field + DeserializeOwned> Found<T> {
    /// The document. The error contains the collection and the `_id`.
    pub(super) fn into_result(self, namespace: &Namespace, read_as: ReadAs<T>) -> Result<T> {
        let document = self.0.map_err(|undecoded| undecoded.in_collection(namespace))?;
        read_as.loaded(document)
    }
}

impl Undecoded {
    fn new(raw: &RawDocument, error: Undecodable) -> Self {
        let id = raw.get("_id").ok().flatten();
        Self {
            id: id.and_then(|id| Bson::try_from(id).ok()).map(Box::new),
            error,
        }
    }

    fn in_collection(self, namespace: &Namespace) -> Error {
        Error::Decode {
            collection: namespace.to_string(),
            id: self.id,
            path: self.error.path,
            source: self.error.source,
        }
    }
}

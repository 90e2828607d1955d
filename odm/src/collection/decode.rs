//! Decodes models. The errors contain the collection, the `_id` and the path of the field.

use std::fmt;
use std::marker::PhantomData;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

use crate::bson::raw_ids::DOCUMENT_BYTES;
use crate::bson::{Bson, DecodeError, RawDocument, from_raw, from_slice};
use crate::driver::Namespace;
use crate::error::{Error, Result};
use crate::model::Model;

/// Decodes a document. The error contains the collection, the `_id` and the path of the field.
pub(super) fn decode<D: Model>(namespace: &Namespace, raw: &RawDocument) -> Result<D> {
    let document = from_raw(raw).map_err(|source| Undecoded::new(raw, source).in_collection(namespace))?;
    loaded(document)
}

/// Runs the hook of a document that was read.
#[inline]
fn loaded<D: Model>(mut document: D) -> Result<D> {
    match document.after_load() {
        Ok(()) => Ok(document),
        Err(error) => Err(Error::hook(D::NAME, "after_load", error)),
    }
}

/// A model that the driver decodes directly from the reply; [`decode`] would need a copy of the
/// document. A decode error is kept as a value, since it is not an error of the driver.
pub(super) struct Found<D>(std::result::Result<D, Box<Undecoded>>);

/// A decode error, with the `_id` of the document.
pub(super) struct Undecoded {
    id: Option<Box<Bson>>,
    source: DecodeError,
}

impl<'de, D: Model> Deserialize<'de> for Found<D> {
    fn deserialize<S: Deserializer<'de>>(deserializer: S) -> std::result::Result<Self, S::Error> {
        deserializer.deserialize_newtype_struct(DOCUMENT_BYTES, FromBytes(PhantomData))
    }
}

/// Decodes a model from the bytes of its document.
struct FromBytes<D>(PhantomData<fn() -> D>);

impl<'de, D: Model> Visitor<'de> for FromBytes<D> {
    type Value = Found<D>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document")
    }

    #[inline]
    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> std::result::Result<Found<D>, E> {
        Ok(Found(
            from_slice(bytes).map_err(|source| undecoded(bytes, source)),
        ))
    }
}

#[cold]
fn undecoded(bytes: &[u8], source: DecodeError) -> Box<Undecoded> {
    Box::new(match RawDocument::from_bytes(bytes) {
        Ok(raw) => Undecoded::new(raw, source),
        Err(_) => Undecoded { id: None, source },
    })
}

impl<D: Model> Found<D> {
    /// The model. The error contains the collection and the `_id`.
    pub(super) fn into_result(self, namespace: &Namespace) -> Result<D> {
        let document = self.0.map_err(|undecoded| undecoded.in_collection(namespace))?;
        loaded(document)
    }
}

impl Undecoded {
    fn new(raw: &RawDocument, source: DecodeError) -> Self {
        let id = raw.get("_id").ok().flatten();
        Self {
            id: id.and_then(|id| Bson::try_from(id).ok()).map(Box::new),
            source,
        }
    }

    fn in_collection(self, namespace: &Namespace) -> Error {
        Error::Decode {
            collection: namespace.to_string(),
            id: self.id,
            path: self.source.path().to_owned(),
            source: self.source,
        }
    }
}

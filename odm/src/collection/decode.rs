//! From stored bytes to models, with errors that name the document.

use serde::{Deserialize, Deserializer};

use crate::bson::{Bson, DecodeError, RawDocument, from_raw};
use crate::driver::Namespace;
use crate::error::{Error, Result};
use crate::model::Model;

/// Decodes a document; an error names the collection, the `_id` and the field.
pub(super) fn decode<D: Model>(namespace: &Namespace, raw: &RawDocument) -> Result<D> {
    from_raw(raw).map_err(|source| Undecoded::new(raw, source).in_collection(namespace))
}

/// A model that the driver reads straight from the reply, where [`decode`] would need a copy of the document. One that does
/// not decode is no failure of the driver's.
pub(super) struct Found<D>(std::result::Result<D, Box<Undecoded>>);

/// Why a document does not decode, and which one.
pub(super) struct Undecoded {
    id: Option<Box<Bson>>,
    source: DecodeError,
}

impl<'de, D: Model> Deserialize<'de> for Found<D> {
    fn deserialize<S: Deserializer<'de>>(deserializer: S) -> std::result::Result<Self, S::Error> {
        let raw = <&RawDocument>::deserialize(deserializer)?;
        Ok(Self(
            from_raw(raw).map_err(|source| Box::new(Undecoded::new(raw, source))),
        ))
    }
}

impl<D> Found<D> {
    /// The model, or an error that names the document.
    pub(super) fn into_result(self, namespace: &Namespace) -> Result<D> {
        self.0.map_err(|undecoded| undecoded.in_collection(namespace))
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

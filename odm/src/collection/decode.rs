//! From stored bytes to models, with errors that name the document.

use crate::bson::{Bson, RawDocument, from_raw};
use crate::error::{Error, Result};
use crate::model::Model;

/// Decodes a document; an error names the collection, the `_id` and the field.
pub(super) fn decode<D: Model>(namespace: &crate::driver::Namespace, raw: &RawDocument) -> Result<D> {
    from_raw(raw).map_err(|source| {
        let id = raw
            .get("_id")
            .ok()
            .flatten()
            .and_then(|id| Bson::try_from(id).ok());
        Error::Decode {
            collection: namespace.to_string(),
            id: id.map(Box::new),
            path: source.path().to_owned(),
            source,
        }
    })
}

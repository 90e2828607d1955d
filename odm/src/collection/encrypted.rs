//! Models with encrypted fields: what is done in another way, so that no plain value is sent.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use crate::bson::{Bson, Document};
use crate::collection::Collection;
use crate::error::{Error, Result, ValueError};
use crate::model::Model;

/// The field that the server adds to documents with encrypted fields that can be queried.
pub(super) const SAFE_CONTENT: &str = "__safeContent__";

/// The first encrypted field of each model, if it has any.
static KNOWN: RwLock<BTreeMap<TypeId, Option<String>>> = RwLock::new(BTreeMap::new());

/// The first encrypted field of a model, and that of an invalid declaration.
pub(super) fn first_encrypted<D: Model>() -> Option<String> {
    if !cfg!(feature = "encryption") {
        return None;
    }
    let id = TypeId::of::<D>();
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(first) = known.get(&id) {
        return first.clone();
    }
    drop(known);
    let first = match D::encrypted_fields() {
        Ok(fields) => first_path(&fields),
        Err(_) => Some(String::new()),
    };
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.insert(id, first.clone());
    first
}

fn first_path(fields: &Document) -> Option<String> {
    let first = fields.get_array("fields").ok()?.first();
    first
        .and_then(Bson::as_document)
        .and_then(|field| field.get_str("path").ok())
        .map(str::to_owned)
}

impl<D: Model> Collection<D> {
    /// Rejects a document with encrypted fields if the client does not encrypt: a collection that the write creates would
    /// store plain values.
    pub(super) fn check_encrypts(&self) -> Result<()> {
        let Some(path) = first_encrypted::<D>() else {
            return Ok(());
        };
        #[cfg(feature = "encryption")]
        if self.inner.database().client().encrypts_commands() {
            return Ok(());
        }
        Err(Error::encode(
            path,
            ValueError::new(
                "the field is encrypted, and the client of the collection has no automatic encryption; create the client with \
                 `Client::with_auto_encryption`",
            ),
        ))
    }
}

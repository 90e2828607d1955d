//! Models with encrypted fields: what is done in another way, so that no plain value is sent.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::bson::{Bson, Document};
use crate::collection::Collection;
use crate::error::{Error, Result, ValueError};
use crate::filter::Conditions;
use crate::model::Model;
use crate::update::Compiled;

/// The field that the server adds to documents with encrypted fields that can be queried.
pub(super) const SAFE_CONTENT: &str = "__safeContent__";

/// The stored paths of the encrypted fields of a model, or the error of its declarations.
type Known = std::result::Result<Vec<String>, Arc<Error>>;

/// The encrypted fields of the models that have any. `None`: the model has none.
static KNOWN: RwLock<BTreeMap<TypeId, Option<Arc<Known>>>> = RwLock::new(BTreeMap::new());

fn known<D: Model>() -> Option<Arc<Known>> {
    if !cfg!(feature = "encryption") {
        return None;
    }
    let id = TypeId::of::<D>();
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(&id) {
        return known.clone();
    }
    drop(known);
    let made = match D::encrypted_fields().map(|fields| paths(&fields)) {
        Ok(paths) if paths.is_empty() => None,
        Ok(paths) => Some(Arc::new(Ok(paths))),
        Err(error) => Some(Arc::new(Err(Arc::new(error.into())))),
    };
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.insert(id, made.clone());
    made
}

/// The first encrypted field of a model; empty if its declarations are invalid.
pub(super) fn first_encrypted<D: Model>() -> Option<String> {
    let known = known::<D>()?;
    let paths = known.as_ref().as_ref().ok();
    Some(paths.and_then(|paths| paths.first()).cloned().unwrap_or_default())
}

fn paths(fields: &Document) -> Vec<String> {
    let fields = fields.get_array("fields").into_iter().flatten();
    let path = |field: &Bson| Some(field.as_document()?.get_str("path").ok()?.to_owned());
    fields.filter_map(path).collect()
}

/// Whether `name` is the path, or that of a document that contains it or is in it.
fn is_about(name: &str, path: &str) -> bool {
    let is_within = |inner: &str, outer: &str| {
        inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    is_within(name, path) || is_within(path, name)
}

impl<D: Model> Collection<D> {
    /// The encrypted fields, if the client does not encrypt.
    ///
    /// # Errors
    /// The declarations are invalid: which fields are to be encrypted is not known.
    fn unprotected(&self) -> Result<Option<Arc<Known>>> {
        let Some(known) = known::<D>() else {
            return Ok(None);
        };
        if let Err(error) = known.as_ref() {
            return Err(Error::encode(String::new(), ValueError::new(error.to_string())));
        }
        Ok((!self.encrypts()).then_some(known))
    }

    #[cfg(feature = "encryption")]
    fn encrypts(&self) -> bool {
        self.inner.database().client().encrypts_commands()
    }

    #[cfg(not(feature = "encryption"))]
    fn encrypts(&self) -> bool {
        false
    }

    /// Rejects a document with encrypted fields if the client does not encrypt: a collection that the write creates would
    /// store plain values.
    pub(super) fn check_encrypts(&self) -> Result<()> {
        match self.unprotected()?.as_deref() {
            Some(Ok(paths)) => Err(unencrypted(paths.first().cloned().unwrap_or_default())),
            _ => Ok(()),
        }
    }

    /// Rejects a filter on an encrypted field if the client does not encrypt: the server would receive the plain value,
    /// and no stored value is equal to it, so that a negated condition matches every document.
    pub(super) fn check_filter(&self, filter: &Conditions) -> Result<()> {
        match self.unprotected()?.as_deref() {
            Some(Ok(paths)) => match mentioned(paths, |path| filter.mentions(&|name| is_about(name, path))) {
                Some(path) => Err(unencrypted(path)),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Rejects an update of an encrypted field if the client does not encrypt: the server would store the plain value.
    pub(super) fn check_update(&self, update: &Compiled) -> Result<()> {
        let Some(known) = self.unprotected()? else {
            return Ok(());
        };
        let Ok(paths) = known.as_ref() else {
            return Ok(());
        };
        let Compiled::Operators { update, .. } = update else {
            return self.check_encrypts();
        };
        let names = || {
            update
                .values()
                .filter_map(Bson::as_document)
                .flat_map(Document::keys)
        };
        match mentioned(paths, |path| names().any(|name| is_about(name, path))) {
            Some(path) => Err(unencrypted(path)),
            None => Ok(()),
        }
    }
}

/// Rejects an upsert by an encrypted field: the document that the server inserts would not have it.
pub(super) fn check_upsert<D: Model>(filter: &Conditions) -> Result<()> {
    let Some(known) = known::<D>() else {
        return Ok(());
    };
    let Ok(paths) = known.as_ref() else {
        return Ok(());
    };
    match mentioned(paths, |path| filter.mentions(&|name| is_about(name, path))) {
        Some(path) => Err(Error::filter(
            path,
            "an upsert by an encrypted field would insert a document without this field; find the document by another field, \
             or insert it with `insert` or `upsert_with`",
        )),
        None => Ok(()),
    }
}

fn mentioned(paths: &[String], is_mentioned: impl Fn(&str) -> bool) -> Option<String> {
    paths.iter().find(|path| is_mentioned(path)).cloned()
}

fn unencrypted(path: String) -> Error {
    Error::encode(
        path,
        ValueError::new(
            "the field is encrypted, and the client of the collection has no automatic encryption; create the client with \
             `Client::with_auto_encryption`",
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_concern_their_documents_and_fields() {
        for (name, expected) in [
            ("address.street", true),
            ("address", true),
            ("address.street.x", true),
            ("address.streets", false),
            ("addresses", false),
            ("street", false),
        ] {
            assert_eq!(is_about(name, "address.street"), expected, "{name}");
        }
    }
}

//! Models with encrypted fields: what is done in another way, so that no plain value is sent.

use crate::bson::{Bson, Document, RawDocumentBuf};
use crate::collection::Collection;
use crate::collection::encoded::decoded;
use crate::collection::encrypted_models::{EncryptedFields, encrypted_fields};
use crate::collection::write::to_raw;
use crate::error::{Error, Result, ValueError};
use crate::filter::Conditions;
use crate::model::Model;
use crate::update::Compiled;

/// The field that the server adds to documents with encrypted fields that can be queried.
pub(crate) const SAFE_CONTENT: &str = "__safeContent__";

/// Whether a model has encrypted fields.
#[inline]
pub(super) fn has_encrypted<D: Model>() -> bool {
    encrypted_fields::<D>().is_some()
}

/// The first encrypted field of a model; empty if its declarations are invalid.
pub(super) fn first_encrypted<D: Model>() -> Option<String> {
    let paths = encrypted_fields::<D>()?.as_ref().ok();
    Some(paths.and_then(|paths| paths.first()).cloned().unwrap_or_default())
}

/// Whether `name` is the path, or that of a document that contains it or is in it.
pub(crate) fn is_about(name: &str, path: &str) -> bool {
    let is_within = |inner: &str, outer: &str| {
        inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    is_within(name, path) || is_within(path, name)
}

impl<D: Model> Collection<D> {
    /// The encrypted fields, if the client does not encrypt. One that does is required to encrypt them.
    ///
    /// # Errors
    /// The declarations are invalid: which fields are to be encrypted is not known.
    #[inline]
    fn unprotected(&self) -> Result<Option<&'static [String]>> {
        match encrypted_fields::<D>() {
            None => Ok(None),
            Some(fields) => self.unprotected_of(fields),
        }
    }

    #[cold]
    fn unprotected_of(&self, fields: &'static EncryptedFields) -> Result<Option<&'static [String]>> {
        match fields {
            Ok(paths) if self.require_encryption(paths) => Ok(None),
            Ok(paths) => Ok(Some(paths)),
            Err(error) => Err(invalid(error)),
        }
    }

    /// The paths of the encrypted fields. The error is that of an invalid declaration.
    fn declared(&self) -> Result<Option<&'static [String]>> {
        match encrypted_fields::<D>() {
            None => Ok(None),
            Some(Ok(paths)) => Ok(Some(paths)),
            Some(Err(error)) => Err(invalid(error)),
        }
    }

    /// Requires that the client encrypts the encrypted fields, if it encrypts at all: for calls without filters and documents.
    #[inline]
    pub(super) fn check_client(&self) {
        if let Some(Ok(paths)) = encrypted_fields::<D>() {
            self.require_encryption(paths);
        }
    }

    /// Whether the client encrypts. It rejects commands that would not encrypt these fields, because it does not know the
    /// collection as encrypted.
    #[cfg(feature = "encryption")]
    fn require_encryption(&self, paths: &[String]) -> bool {
        let encrypts = self.encrypts();
        if encrypts {
            let model = format!("model `{}`", D::NAME);
            let client = self.inner.database().client();
            client.require_encrypted_fields(self.inner.namespace(), paths, &model);
        }
        encrypts
    }

    #[cfg(feature = "encryption")]
    fn encrypts(&self) -> bool {
        self.inner.database().client().encrypts_commands()
    }

    #[cfg(not(feature = "encryption"))]
    fn require_encryption(&self, _paths: &[String]) -> bool {
        self.encrypts()
    }

    #[cfg(not(feature = "encryption"))]
    #[expect(clippy::unused_self, reason = "the client can encrypt with the feature")]
    fn encrypts(&self) -> bool {
        false
    }

    /// Whether the model has encrypted fields, and the client encrypts them.
    pub(super) fn is_encrypted(&self) -> bool {
        matches!(encrypted_fields::<D>(), Some(Ok(paths)) if self.require_encryption(paths))
    }

    /// Rejects a write that can change several documents, which the server accepts only from a client that does not encrypt.
    pub(super) fn check_one_document(&self, call: &str) -> Result<()> {
        if self.is_encrypted() {
            return Err(Error::argument(format!(
                "`{call}` on {}: the server changes and deletes the documents of model `{}` only one by one, because it has encrypted \
                 fields; find their ids, and write to each",
                self.namespace(),
                D::NAME
            )));
        }
        Ok(())
    }

    /// Rejects what find-and-modify does not return of a document with encrypted fields.
    pub(super) fn check_returned(&self, is_original: bool) -> Result<()> {
        if !is_original && self.is_encrypted() {
            return Err(Error::argument(format!(
                "find-and-modify on {} can return only the whole document as it was before the change, because model `{}` has \
                 encrypted fields: call neither `returning_new` nor `select`, or use `update_one` and `find_by_id`",
                self.namespace(),
                D::NAME
            )));
        }
        Ok(())
    }

    /// Rejects a document with encrypted fields if the client does not encrypt: a collection that the write creates would
    /// store plain values.
    ///
    /// Returns whether the document has encrypted fields.
    pub(super) fn check_encrypts(&self) -> Result<bool> {
        let Some(fields) = encrypted_fields::<D>() else {
            return Ok(false);
        };
        match self.unprotected_of(fields)? {
            Some(paths) => Err(unencrypted(paths.first().cloned().unwrap_or_default())),
            None => Ok(true),
        }
    }

    /// Rejects a filter on an encrypted field if the client does not encrypt: the server would receive the plain value,
    /// and no stored value is equal to it, so that a negated condition matches every document.
    pub(super) fn check_filter(&self, filter: &Conditions) -> Result<()> {
        if !has_encrypted::<D>() {
            return Ok(());
        }
        if let Some(paths) = self.unprotected()?
            && let Some(path) = mentioned(paths, |path| filter.mentions(&|name| is_about(name, path)))
        {
            return Err(unencrypted(path));
        }
        check_comparisons::<D>(filter)
    }

    /// Rejects a pipeline with a filter on an encrypted field if the client does not encrypt; see
    /// [`check_filter`](Self::check_filter). `joined`: such a field of another collection that the pipeline reads.
    pub(crate) fn check_stages(&self, stages: &[Document], joined: Option<String>) -> Result<()> {
        self.check_client();
        self.declared()?;
        if !has_encrypted::<D>() && joined.is_none() || self.encrypts() {
            return Ok(());
        }
        match joined.or_else(|| filtered_in::<D>(stages)) {
            Some(path) => Err(unencrypted(path)),
            None => Ok(()),
        }
    }

    /// Rejects a filter of change events on an encrypted field: the server cannot compare the values in events.
    pub(super) fn check_event_filter(&self, filter: &Conditions) -> Result<()> {
        let Some(paths) = self.declared()? else {
            return Ok(());
        };
        match mentioned(paths, |path| filter.mentions(&|name| is_about(name, path))) {
            Some(path) => Err(Error::filter(
                path,
                "the field is encrypted, and change events cannot be filtered by encrypted values; compare the field in the events",
            )),
            None => Ok(()),
        }
    }

    /// Rejects an update of an encrypted field if the client does not encrypt: the server would store the plain value.
    pub(super) fn check_update(&self, update: &Compiled) -> Result<()> {
        if !has_encrypted::<D>() {
            return Ok(());
        }
        check_operators::<D>(update)?;
        let Some(paths) = self.unprotected()? else {
            return Ok(());
        };
        let Compiled::Operators { update, .. } = update else {
            return self.check_encrypts().map(drop);
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

/// Whether the document at `name` contains the field at `path`.
fn contains(name: &str, path: &str) -> bool {
    path.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
}

/// Rejects a comparison of a document that contains an encrypted field: no stored document is equal to it.
fn check_comparisons<D: Model>(filter: &Conditions) -> Result<()> {
    let Some(Ok(paths)) = encrypted_fields::<D>() else {
        return Ok(());
    };
    match mentioned(paths, |path| filter.compares(&|name| contains(name, path))) {
        Some(path) => Err(Error::filter(
            path,
            "the field is encrypted, so that the document that contains it cannot be compared; compare its other fields",
        )),
        None => Ok(()),
    }
}

/// Rejects operators on a document that contains an encrypted field, other than those that set or remove it.
fn check_operators<D: Model>(update: &Compiled) -> Result<()> {
    let (Some(Ok(paths)), Compiled::Operators { update, .. }) = (encrypted_fields::<D>(), update) else {
        return Ok(());
    };
    for (operator, fields) in update {
        let Bson::Document(fields) = fields else { continue };
        if ["$set", "$setOnInsert", "$unset"].contains(&operator.as_str()) {
            continue;
        }
        let names = || {
            let renamed = fields
                .values()
                .filter_map(Bson::as_str)
                .filter(|_| operator == "$rename");
            fields.keys().map(String::as_str).chain(renamed)
        };
        if let Some(path) = mentioned(paths, |path| names().any(|name| contains(name, path))) {
            let reason = format!(
                "the field is encrypted, so that `{operator}` cannot change the document that contains it; use `set` or `unset`"
            );
            return Err(Error::update(path, reason));
        }
    }
    Ok(())
}

/// The error of an invalid declaration.
fn invalid(error: &impl std::fmt::Display) -> Error {
    Error::encode(String::new(), ValueError::new(error.to_string()))
}

/// The first encrypted field of `D` that a filter of a pipeline over its documents concerns. Stages after one that changes the
/// form of the documents are not searched.
pub(crate) fn filtered_in<D: Model>(stages: &[Document]) -> Option<String> {
    let Some(Ok(paths)) = encrypted_fields::<D>() else {
        return None;
    };
    mentioned(paths, |path| is_filtered(stages, &|name| is_about(name, path)))
}

fn is_filtered(stages: &[Document], is_meant: &dyn Fn(&str) -> bool) -> bool {
    const RESHAPING: [&str; 8] = [
        "$project",
        "$group",
        "$replaceRoot",
        "$replaceWith",
        "$bucket",
        "$bucketAuto",
        "$sortByCount",
        "$count",
    ];
    for (name, argument) in stages.iter().flatten() {
        let Bson::Document(argument) = argument else {
            continue;
        };
        let filter = match name.as_str() {
            "$match" => Some(argument),
            "$geoNear" => argument.get_document("query").ok(),
            "$vectorSearch" => argument.get_document("filter").ok(),
            "$facet" => {
                let facets = argument.values().filter_map(Bson::as_array);
                let is_in = |facet: &Vec<Bson>| {
                    let stages: Vec<Document> = facet.iter().filter_map(Bson::as_document).cloned().collect();
                    is_filtered(&stages, is_meant)
                };
                return facets.into_iter().any(is_in);
            }
            name if RESHAPING.contains(&name) => return false,
            _ => None,
        };
        if filter.is_some_and(|filter| Conditions::is_mentioned_in(filter, is_meant)) {
            return true;
        }
    }
    false
}

/// A document to write, without the field that the server adds: it computes its value again.
pub(super) fn without_safe_content<D: Model>(raw: RawDocumentBuf) -> Result<RawDocumentBuf> {
    if !has_encrypted::<D>() || !matches!(raw.get(SAFE_CONTENT), Ok(Some(_))) {
        return Ok(raw);
    }
    let mut document = decoded(&raw)?;
    document.remove(SAFE_CONTENT);
    to_raw(&document)
}

/// Rejects an upsert by an encrypted field: the document that the server inserts would not have it.
pub(super) fn check_upsert<D: Model>(filter: &Conditions) -> Result<()> {
    let Some(Ok(paths)) = encrypted_fields::<D>() else {
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

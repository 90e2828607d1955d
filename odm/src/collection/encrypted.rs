//! Models with encrypted fields: what is done in another way, so that no plain value is sent.

use crate::ast::filter::Node;
use crate::ast::path::is_within;
use crate::ast::update::{AroundEncrypted, Changes};
use crate::bson::{Document, RawDocumentBuf};
use crate::codec;
use crate::collection::Collection;
use crate::collection::encoded::decoded;
use crate::collection::encrypted_models::{EncryptedFields, EncryptedReads, JoinedModel, encrypted_fields};
use crate::collection::encrypted_stages::Unsendable;
use crate::collection::{encrypted_ranges, encrypted_stages};
#[cfg(feature = "encryption")]
use crate::driver::Namespace;
use crate::error::{Error, Result, ValueError};
use crate::model::Model;

/// The field that the server adds to documents with encrypted fields that can be queried.
pub(crate) const SAFE_CONTENT: &str = "__safeContent__";

/// Whether a model has encrypted fields.
#[inline]
pub(super) fn has_encrypted<D: Model>() -> bool {
    encrypted_fields::<D>().is_some()
}

/// The first encrypted field of a model; empty if its declarations are invalid.
pub(crate) fn first_encrypted<D: Model>() -> Option<String> {
    let paths = encrypted_fields::<D>()?.as_ref().ok();
    Some(paths.and_then(|paths| paths.first()).cloned().unwrap_or_default())
}

/// Whether `name` is the path, or that of a document that contains it or is in it.
pub(crate) fn is_about(name: &str, path: &str) -> bool {
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
                 fields; find their ids, and write to each by its id",
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
    pub(super) fn check_filter(&self, filter: &Node) -> Result<()> {
        if !has_encrypted::<D>() {
            return Ok(());
        }
        if let Some(paths) = self.unprotected()?
            && let Some(path) = path_in(paths, filter)
        {
            return Err(unencrypted(path));
        }
        check_comparisons::<D>(filter)?;
        encrypted_ranges::check_filter::<D>(filter)
    }

    /// Rejects a pipeline with a filter on an encrypted field if the client does not encrypt; see
    /// [`check_filter`](Self::check_filter). One that does is required to encrypt the fields of all collections that the
    /// pipeline reads.
    pub(crate) fn check_stages(&self, stages: &[Document], reads: &EncryptedReads) -> Result<()> {
        self.check_client();
        let own = self.declared()?.unwrap_or_default();
        if own.is_empty() && reads.joined.is_empty() && reads.operands.is_empty() {
            return Ok(());
        }
        if let Some(error) = reads.joined.iter().find_map(JoinedModel::invalid) {
            return Err(invalid(error));
        }
        // A stage can read the own collection a second time.
        let mut collections = reads.collections();
        collections.push((self.inner.name(), own));
        if self.encrypts() {
            self.require_joined(&reads.joined);
            return match encrypted_stages::unsendable(stages, own, collections, &reads.operands) {
                Some(Unsendable::Compared(field)) => Err(compared(field)),
                Some(Unsendable::Unknown(operand)) => Err(Error::filter(
                    operand,
                    "the field is encrypted, and no collection that the pipeline reads has an encrypted field at this place of its \
                     documents, so that the value would be sent as it is; add the documents by `lookup` or `union_with` of the \
                     model that declares the field, or leave the condition out",
                )),
                None => Ok(()),
            };
        }
        let filtered = || encrypted_stages::filtered(stages, own, collections);
        match filtered().or_else(|| reads.operands.first().map(|operand| operand.path.to_string())) {
            Some(path) => Err(unencrypted(path)),
            None => Ok(()),
        }
    }

    #[cfg(feature = "encryption")]
    fn require_joined(&self, joined: &[JoinedModel]) {
        let database = self.inner.database();
        for joined in joined {
            let namespace = Namespace::new(database.name(), joined.collection());
            let model = format!("model `{}`", joined.model());
            database
                .client()
                .require_encrypted_fields(&namespace, joined.paths(), &model);
        }
    }

    #[cfg(not(feature = "encryption"))]
    #[expect(clippy::unused_self, reason = "the client can encrypt with the feature")]
    fn require_joined(&self, _joined: &[JoinedModel]) {}

    /// Rejects a filter of change events on an encrypted field: the server cannot compare the values in events.
    pub(super) fn check_event_filter(&self, filter: &Node) -> Result<()> {
        let Some(paths) = self.declared()? else {
            return Ok(());
        };
        match path_in(paths, filter) {
            Some(path) => Err(Error::filter(
                path,
                "the field is encrypted, and change events cannot be filtered by encrypted values; compare the field in the events",
            )),
            None => Ok(()),
        }
    }

    /// Rejects an update of an encrypted field if the client does not encrypt: the server would store the plain value.
    pub(super) fn check_update(&self, update: &Changes) -> Result<()> {
        if !has_encrypted::<D>() {
            return Ok(());
        }
        check_operators::<D>(update)?;
        encrypted_ranges::check_update::<D>(update)?;
        let Some(paths) = self.unprotected()? else {
            return Ok(());
        };
        let Changes::Operators(operators) = update else {
            return self.check_encrypts().map(drop);
        };
        match mentioned(paths, |path| operators.targets().any(|name| is_about(name, path))) {
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
fn check_comparisons<D: Model>(filter: &Node) -> Result<()> {
    let Some(Ok(paths)) = encrypted_fields::<D>() else {
        return Ok(());
    };
    match mentioned(paths, |path| filter.compares(&|name| contains(name, path))) {
        Some(path) => Err(compared(path)),
        None => Ok(()),
    }
}

/// The error of a comparison of a document that contains an encrypted field.
fn compared(path: String) -> Error {
    Error::filter(
        path,
        "the field is encrypted, so that the document that contains it cannot be compared; compare its other fields",
    )
}

/// Rejects operators on a document that contains an encrypted field, other than those that set or remove it.
fn check_operators<D: Model>(update: &Changes) -> Result<()> {
    let (Some(Ok(paths)), Changes::Operators(operators)) = (encrypted_fields::<D>(), update) else {
        return Ok(());
    };
    for change in operators.changes() {
        if change.operator.row().around_encrypted == AroundEncrypted::Allowed {
            continue;
        }
        if let Some(path) = mentioned(paths, |path| change.targets().any(|name| contains(name, path))) {
            let reason = format!(
                "the field is encrypted, so that `{}` cannot change the document that contains it; use `set` or `unset`",
                change.operator.sent()
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

/// A document to write, without the field that the server adds: it computes its value again. Values outside of the range
/// of their field are rejected.
pub(super) fn encryptable<D: Model>(raw: RawDocumentBuf) -> Result<RawDocumentBuf> {
    if !has_encrypted::<D>() {
        return Ok(raw);
    }
    encrypted_ranges::check_document::<D>(&raw)?;
    if !matches!(raw.get(SAFE_CONTENT), Ok(Some(_))) {
        return Ok(raw);
    }
    let mut document = decoded(&raw)?;
    document.remove(SAFE_CONTENT);
    codec::to_raw(&document)
}

/// Rejects an upsert by an encrypted field: the document that the server inserts would not have it.
pub(super) fn check_upsert<D: Model>(filter: &Node) -> Result<()> {
    let Some(Ok(paths)) = encrypted_fields::<D>() else {
        return Ok(());
    };
    match path_in(paths, filter) {
        Some(path) => Err(Error::filter(
            path,
            "an upsert by an encrypted field would insert a document without this field; find the document by another field, \
             or insert it with `insert` or `upsert_with`",
        )),
        None => Ok(()),
    }
}

/// The first of the paths that a filter concerns, in its conditions or in the expressions and schemas in it.
fn path_in(paths: &[String], filter: &Node) -> Option<String> {
    if let Some(path) = mentioned(paths, |path| filter.mentions(&|name| is_about(name, path))) {
        return Some(path);
    }
    let tree = filter.to_document();
    mentioned(paths, |path| encrypted_stages::is_on(&tree, path))
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

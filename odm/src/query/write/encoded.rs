//! Whole documents in the form in which they are written: after hooks and validation, with a new id
//! and the maintained fields.

use crate::{
    ast::filter::{Node, Op},
    base::{
        bson::{Bson, DateTime, Document, RawDocumentBuf, doc},
        error::{Error, Result, ValueError},
    },
    driver::options::ReadPreference,
    models::{
        managed::{WriteKind, Written},
        model::Model,
    },
    query::handle::{
        Collection,
        action::{Session, in_session},
        gate::{Gate, Sendable},
        rules::{decoded, with_new_id, without_id},
    },
    values::codec,
};

/// A document to be written.
pub(in crate::query) struct Encoded {
    pub(in crate::query) raw: Sendable<RawDocumentBuf>,
    /// What differs from the struct.
    pub(in crate::query) written: Written,
    /// The version that the stored document must have.
    pub(in crate::query) version: Option<Version>,
}

impl Encoded {
    /// Whether the version says that the document was stored before. It is not inserted: the stored one was
    /// deleted.
    pub(in crate::query) fn was_stored(&self) -> bool {
        self.version.as_ref().is_some_and(Version::is_of_stored)
    }
}

/// The version of a document that is replaced.
pub(in crate::query) struct Version {
    field: &'static str,
    old: Bson,
}

impl Version {
    /// Whether the document was stored before: a new document has version 0, or none.
    fn is_of_stored(&self) -> bool {
        !matches!(self.old, Bson::Null | Bson::Int32(0) | Bson::Int64(0))
    }

    /// Adds the condition that the stored document has this version.
    pub(in crate::query) fn of(&self, filter: Sendable<Node>) -> Sendable<Node> {
        filter.with(|filter| filter.and(self.condition()))
    }

    /// The condition that the stored document has this version.
    pub(in crate::query) fn condition(&self) -> Node {
        Node::leaf(self.field, Op::Eq(self.old.clone()))
    }

    /// The version that the stored document must have.
    pub(in crate::query) fn old(&self) -> &Bson {
        &self.old
    }
}

/// Runs the hook and the validation of a document. Returns what the hook has changed.
fn checked<D: Model>(document: &D, write: WriteKind) -> Result<Option<D>> {
    let changed = document
        .before_write(write)
        .map_err(|e| Error::hook(D::NAME, before(write), e))?;
    let stored = changed.as_ref().unwrap_or(document);
    validated(stored)?;
    Ok(changed)
}

fn before(write: WriteKind) -> &'static str {
    match write {
        WriteKind::Insert => "before_insert",
        WriteKind::Replace => "before_replace",
    }
}

/// Runs the validation of a document.
pub(in crate::query) fn validated<D: Model>(document: &D) -> Result<()> {
    document.validate_document().map_err(|e| Error::Validation {
        model: D::NAME,
        source: e.into(),
    })
}

/// A document to insert, and the values that it has instead of those of the struct.
pub(in crate::query) fn for_insert<D: Model>(
    gate: &Gate<'_, D>,
    document: &D,
) -> Result<(Sendable<RawDocumentBuf>, Written)> {
    gate.check_documents()?;
    let mut written = Written::default();
    let is_new = document.lacks_id();
    let changed = checked(document, WriteKind::Insert)?;
    let document = changed.as_ref().unwrap_or(document);
    let raw = if document.lacks_id() {
        with_new_id(gate.collection(), document)?
    } else {
        codec::to_raw(document)?
    };
    if is_new {
        let id = raw.get("_id").ok().flatten();
        written.id = id.and_then(|id| Bson::try_from(id).ok());
    }
    let behavior = D::BEHAVIOR;
    let dates = [behavior.created_at, behavior.updated_at];
    if dates == [None, None] && behavior.schema.is_none() {
        return Ok((gate.document(raw)?, written));
    }
    let mut stored = decoded(&raw)?;
    if let Some(schema) = behavior.schema {
        schema.mark(&mut stored);
    }
    let now = DateTime::now();
    for field in dates.into_iter().flatten() {
        stored.insert(field, now);
    }
    written.created_at = behavior.created_at.map(|_| now);
    written.updated_at = behavior.updated_at.map(|_| now);
    Ok((gate.document(codec::to_raw(&stored)?)?, written))
}

/// The fields of a document to insert whose id is `None`, and is given by a filter. Without maintained
/// fields.
pub(in crate::query) fn for_insert_without_id<D: Model>(
    gate: &Gate<'_, D>,
    document: &D,
) -> Result<Sendable<RawDocumentBuf>> {
    gate.check_documents()?;
    let changed = checked(document, WriteKind::Insert)?;
    gate.document(codec::to_raw(changed.as_ref().unwrap_or(document))?)
}

/// A document that replaces the stored one. Without an id, so that the stored document keeps its own,
/// if its id is `None`.
pub(in crate::query) fn for_replacement<D: Model>(gate: &Gate<'_, D>, document: &D) -> Result<Encoded> {
    gate.check_documents()?;
    let changed = checked(document, WriteKind::Replace)?;
    let document = changed.as_ref().unwrap_or(document);
    if document.lacks_id() {
        return replacing(gate, without_id(document)?);
    }
    let raw = codec::to_raw(document)?;
    let behavior = D::BEHAVIOR;
    if behavior.version.is_none() && behavior.updated_at.is_none() && behavior.schema.is_none() {
        return Ok(Encoded {
            raw: gate.document(raw)?,
            written: Written::default(),
            version: None,
        });
    }
    replacing(gate, decoded(&raw)?)
}

/// A document to save: inserted or replaced by its id, which is generated if it is `None`.
pub(in crate::query) fn for_save<D: Model>(gate: &Gate<'_, D>, document: &D) -> Result<Encoded> {
    gate.check_documents()?;
    let is_new = document.lacks_id();
    let changed = checked(document, WriteKind::Replace)?;
    let document = changed.as_ref().unwrap_or(document);
    let raw = if document.lacks_id() {
        with_new_id(gate.collection(), document)?
    } else {
        codec::to_raw(document)?
    };
    let id = raw.get("_id").ok().flatten();
    let id = id.and_then(|id| Bson::try_from(id).ok()).filter(|_| is_new);
    let mut encoded = replacing(gate, decoded(&raw)?)?;
    encoded.written.id = id;
    Ok(encoded)
}

/// Sets the maintained fields of a replacement.
fn replacing<D: Model>(gate: &Gate<'_, D>, mut document: Document) -> Result<Encoded> {
    let mut written = Written::default();
    let mut version = None;
    if let Some(schema) = D::BEHAVIOR.schema {
        schema.mark(&mut document);
    }
    if let Some(field) = D::BEHAVIOR.version {
        let old = document.get(field).cloned().unwrap_or(Bson::Null);
        let new = match &old {
            Bson::Int32(old) => old.checked_add(1).map(Bson::Int32),
            Bson::Int64(old) => old.checked_add(1).map(Bson::Int64),
            _ => Some(Bson::Int64(1)),
        };
        let Some(new) = new else {
            return Err(Error::encode(
                field,
                ValueError::new("the version is the largest one"),
            ));
        };
        written.version = match new {
            Bson::Int32(new) => Some(i64::from(new)),
            Bson::Int64(new) => Some(new),
            _ => None,
        };
        document.insert(field, new);
        version = Some(Version { field, old });
    }
    if let Some(field) = D::BEHAVIOR.updated_at {
        let now = DateTime::now();
        document.insert(field, now);
        written.updated_at = Some(now);
    }
    Ok(Encoded {
        raw: gate.document(codec::to_raw(&document)?)?,
        written,
        version,
    })
}

impl<D: Model> Collection<D> {
    /// The error of a replacement whose version no stored document has, if a document matches without
    /// the version.
    pub(in crate::query) async fn check_conflict(
        &self,
        filter: Sendable<Node>,
        session: Session<'_>,
    ) -> Result<()> {
        let finding = self
            .inner
            .find_one(filter)
            .projection(doc! { "_id": 1 })
            .read_preference(ReadPreference::primary());
        match in_session!(session, finding).await? {
            Some(found) => {
                let id = found.get("_id").ok().flatten();
                Err(self.conflict(id.and_then(|id| Bson::try_from(id).ok())))
            }
            None => Ok(()),
        }
    }

    /// The error of a document that was stored before, and of which no stored document has the version.
    pub(in crate::query) fn conflict_with(&self, document: &Encoded) -> Error {
        let id = document.raw.get("_id").ok().flatten();
        self.conflict(id.and_then(|id| Bson::try_from(id).ok()))
    }

    pub(in crate::query) fn conflict(&self, id: Option<Bson>) -> Error {
        Error::VersionConflict {
            collection: self.namespace().to_string(),
            id: id.map(Box::new),
        }
    }

    /// The error of an upsert by id and version that met a document with another version.
    pub(in crate::query) fn conflict_of_upsert(&self, error: Error, document: &Encoded) -> Error {
        match &error {
            Error::Duplicate { index, .. }
                if document.version.is_some() && index.as_deref() == Some("_id_") =>
            {
                let value = error
                    .driver()
                    .and_then(|e| e.write_errors().first()?.key_value.clone());
                self.conflict(value.and_then(|key| key.get("_id").cloned()))
            }
            _ => error,
        }
    }
}

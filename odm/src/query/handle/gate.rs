//! The checks that everything passes which a call sends: filters, updates, pipelines and documents.
//!
//! A call can give the driver only a [`Sendable`], and only this file constructs one. Conditions and changes
//! have no other way to the driver: neither `Node` nor `Changes` implements one of its traits.

use std::ops::Deref;

use crate::{
    ast::{
        filter::{Keys, Node, Op},
        part::RawPart,
        update::{AroundEncrypted, Changes, Variant},
    },
    base::{
        bson::{Bson, Document, EncodeError, IntoDocument, RawDocumentBuf, codec::AppendDocument, doc},
        error::{Error, Result},
        stage_versions,
    },
    document::{kind, maintained},
    driver::{self, UpdateModification, options::ServerRequirement},
    models::model::Model,
    query::handle::{
        Collection,
        marks::Marks,
        protection::{self, Protection},
        rows::Rows,
        rules::{add_id, check_positional, check_upsert_filter, decoded, reject_variants},
        soft_delete::{Scope, restricted},
        stages,
    },
    term::update::Update,
    values::codec,
};

/// A value that has passed the checks of a call.
#[derive(Clone, Debug)]
pub(crate) struct Sendable<T>(T);

impl<T> Deref for Sendable<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl Sendable<Node> {
    /// Adds conditions of the ODM itself, such as that on the version of a document.
    pub(in crate::query) fn with(self, add: impl FnOnce(Node) -> Node) -> Self {
        Sendable(add(self.0))
    }
}

impl IntoDocument for Sendable<Node> {
    fn into_raw_document(self) -> std::result::Result<RawDocumentBuf, EncodeError> {
        self.0.to_bytes()
    }
}

impl IntoDocument for &Sendable<Node> {
    fn into_raw_document(self) -> std::result::Result<RawDocumentBuf, EncodeError> {
        self.0.to_bytes()
    }
}

impl driver::IntoUpdate for Sendable<UpdateModification> {
    fn into_update(self) -> UpdateModification {
        self.0
    }
}

impl<T: AppendDocument> AppendDocument for Sendable<T> {
    fn append_document(&self, out: &mut Vec<u8>) -> std::result::Result<(), EncodeError> {
        self.0.append_document(out)
    }
}

impl Sendable<Vec<Document>> {
    /// The stages, for the driver.
    pub(crate) fn into_stages(self) -> Vec<Document> {
        self.0
    }
}

impl Sendable<RawDocumentBuf> {
    /// The document, for the driver.
    pub(in crate::query) fn into_raw(self) -> RawDocumentBuf {
        self.0
    }
}

/// An update that is ready to be sent.
pub(in crate::query) struct Writing {
    pub(in crate::query) filter: Sendable<Node>,
    pub(in crate::query) update: Sendable<UpdateModification>,
    pub(in crate::query) array_filters: Vec<Document>,
    /// The server version that the expressions of a pipeline need.
    pub(in crate::query) requirement: Option<ServerRequirement>,
}

/// The documents that a write can change.
#[derive(Clone, Copy)]
pub(in crate::query) enum Targets {
    One,
    /// All that match, by the call of this name.
    Many(&'static str),
}

/// How an update is sent.
#[derive(Clone, Copy)]
pub(in crate::query) struct How {
    pub(in crate::query) targets: Targets,
    pub(in crate::query) upsert: bool,
    pub(in crate::query) scope: Scope,
}

/// The checks of the calls of a collection.
pub(crate) struct Gate<'c, D> {
    collection: &'c Collection<D>,
    protection: Protection,
    rows: Option<&'c Rows>,
}

impl<D: Model> Collection<D> {
    /// The gate of a call. A client that encrypts is required to encrypt the encrypted fields of the model.
    ///
    /// # Errors
    /// The declarations of encrypted fields are invalid: which fields are to be encrypted is not known. The scope of the handle is
    /// invalid.
    #[inline]
    pub(crate) fn gate(&self) -> Result<Gate<'_, D>> {
        let rows = match self.rows.as_deref() {
            None => None,
            Some(Ok(rows)) => Some(rows),
            Some(Err(error)) => return Err(error.clone()),
        };
        Ok(Gate {
            collection: self,
            protection: Protection::of(self)?,
            rows,
        })
    }

    /// The condition of the scope of the handle, if it has one.
    pub(in crate::query) fn scope_condition(&self) -> Option<Node> {
        let condition = self.scope.of::<D>(Node::Default);
        let condition = match self.rows.as_deref() {
            Some(Ok(rows)) => rows.restrict(condition),
            _ => condition,
        };
        (!condition.is_empty()).then_some(condition)
    }

    /// The condition of the kind of the model, and of the fields that the scope of the handle fixes.
    pub(in crate::query) fn rows_condition(&self) -> Option<Document> {
        let kind = Scope::All.of::<D>(Node::Default);
        match self.rows.as_deref() {
            Some(Ok(rows)) => Some(rows.restrict(kind).to_document()),
            _ if !kind.is_empty() => Some(kind.to_document()),
            _ => None,
        }
    }

    /// The filter of the documents with these ids, with the scope of the handle. An id is not encrypted.
    pub(in crate::query) fn with_ids(&self, ids: Vec<Bson>) -> Sendable<Node> {
        let filter = Node::leaf("_id", Op::In(ids));
        Sendable(match self.scope_condition() {
            None => filter,
            Some(condition) => filter.and(condition),
        })
    }

    /// The filter of a read.
    pub(in crate::query) fn readable(&self, filter: Result<Node>) -> Result<Sendable<Node>> {
        self.gate()?.read(filter)
    }
}

impl<'c, D: Model> Gate<'c, D> {
    pub(in crate::query) fn collection(&self) -> &'c Collection<D> {
        self.collection
    }

    /// The filter of a read, with the scope of the handle.
    pub(in crate::query) fn read(&self, filter: Result<Node>) -> Result<Sendable<Node>> {
        let filter = filter?;
        self.check_filter(&filter)?;
        Ok(self.in_scope(self.collection.scope, filter))
    }

    /// A filter with the scope of the handle.
    fn in_scope(&self, scope: Scope, filter: Node) -> Sendable<Node> {
        let filter = scope.of::<D>(filter);
        Sendable(match self.rows {
            None => filter,
            Some(rows) => rows.restrict(filter),
        })
    }

    /// The filter of a call that reads live and deleted documents.
    pub(in crate::query) fn read_all(&self, filter: Result<Node>) -> Result<Sendable<Node>> {
        let filter = filter?;
        self.check_filter(&filter)?;
        Ok(self.in_scope(Scope::All, filter))
    }

    /// A filter with further conditions.
    pub(in crate::query) fn narrowed(
        &self,
        all: Sendable<Node>,
        filter: Result<Node>,
    ) -> Result<Sendable<Node>> {
        let filter = filter?;
        self.check_filter(&filter)?;
        Ok(Sendable(all.0.and(filter)))
    }

    /// The filter of a write, with the scope of the handle. Filters that were combined from no conditions are rejected.
    pub(in crate::query) fn write(&self, filter: Result<Node>, targets: Targets) -> Result<Sendable<Node>> {
        let filter = self.conditions(filter, targets)?;
        Ok(self.in_scope(self.collection.scope, filter))
    }

    fn conditions(&self, filter: Result<Node>, targets: Targets) -> Result<Node> {
        if let Targets::Many(call) = targets {
            self.check_one_document(call)?;
        }
        let filter = filter?;
        if filter.is_without_conditions() {
            return Err(Error::filter(
                "",
                "it has no conditions, so the write could change or delete any document; to write to all documents, use \
                 `Filter::everything()`",
            ));
        }
        self.check_filter(&filter)?;
        Ok(filter)
    }

    /// An update. Adds conditions on the enum variants whose fields it changes to the filter, the changes of the maintained
    /// fields, and an id for the document that an upsert may insert.
    pub(in crate::query) fn update(
        &self,
        filter: Result<Node>,
        update: Update<D>,
        how: How,
    ) -> Result<Writing> {
        let filter = self.conditions(filter, how.targets)?;
        kind::check_empty(&update)?;
        if how.upsert {
            update.check_upsert()?;
        }
        let (variants, mut changes) = update.parts()?;
        self.check_changes(&changes)?;
        check_positional(&filter, &changes, how.upsert)?;
        if how.upsert {
            self.check_documents()?;
            self.check_upsert(&filter)?;
            self.rows.map_or(Ok(()), Rows::check_upsert)?;
            check_upsert_filter(&filter)?;
            kind::check_upsert::<D>()?;
            reject_variants(&variants)?;
        }
        let mut filter = self.in_scope(how.scope, filter);
        if how.upsert {
            add_id(self.collection, &filter, &mut changes)?;
        }
        maintained::add::<D>(&mut changes, how.upsert)?;
        if !variants.is_empty() {
            filter = filter.with(|filter| filter.and(Variant::conditions(variants)));
        }
        Ok(match changes {
            Changes::Operators(operators) => {
                let bytes = operators.to_bytes().map_err(|e| Error::encode("", e.into()))?;
                Writing {
                    filter,
                    update: Sendable(driver::IntoUpdate::into_update(bytes)),
                    array_filters: operators.array_filters(),
                    requirement: None,
                }
            }
            Changes::Stages(stages) => {
                let stages: Vec<Document> = stages.into_iter().map(|stage| stage.document).collect();
                Writing {
                    filter,
                    requirement: stage_versions::of_pipeline(&stages, ""),
                    update: Sendable(driver::IntoUpdate::into_update(stages)),
                    array_filters: Vec::new(),
                }
            }
        })
    }

    /// A document to write, without the field that the server adds: it computes its value again.
    pub(in crate::query) fn document(&self, raw: RawDocumentBuf) -> Result<Sendable<RawDocumentBuf>> {
        if let Some(rows) = self.rows {
            rows.check_document(&raw, self.collection.namespace())?;
        }
        self.check_documents()?;
        if !self.is_encrypted() {
            return Ok(Sendable(raw));
        }
        protection::check_document::<D>(&raw)?;
        if !matches!(raw.get(protection::SAFE_CONTENT), Ok(Some(_))) {
            return Ok(Sendable(raw));
        }
        let mut document = decoded(&raw)?;
        document.remove(protection::SAFE_CONTENT);
        Ok(Sendable(codec::to_raw(&document)?))
    }

    /// A document in the form in which its model writes it. `None` if documents are [checked](Self::check_documents).
    pub(in crate::query) fn written_by_model<'d>(
        &self,
        document: &'d D,
    ) -> Result<Option<Sendable<impl AppendDocument + Send + Sync + use<'d, D>>>> {
        let is_checked = self.check_documents()?;
        Ok((!is_checked).then(|| Sendable(codec::appended(document))))
    }

    /// Rejects a write of the driver where it could leave the scope of the handle, or store plain values of encrypted fields.
    pub(in crate::query) fn check_raw_write(&self) -> Result<()> {
        if self.rows.is_some() {
            return Err(Error::argument(
                "a raw write is sent as it is, without the scope of the handle: use a typed write, or a handle without a scope",
            ));
        }
        self.check_documents().map(drop)
    }

    /// The stages of a pipeline, with the scope of the handle.
    pub(crate) fn stages(
        &self,
        stages: Result<Vec<Document>>,
        marks: &Marks,
    ) -> Result<Sendable<Vec<Document>>> {
        let stages = stages?;
        marks.check(self.collection, self.protection)?;
        if D::BEHAVIOR.discriminator.is_some() {
            Rows::check_out(&stages, self.collection.namespace())?;
        }
        let stages = self.collection.scope.of_stages::<D>(stages);
        Ok(Sendable(match self.rows {
            None => stages,
            Some(rows) => {
                Rows::check_stages(&stages, self.collection.namespace())?;
                restricted(stages, rows.condition().to_document(), rows.indexed_condition())
            }
        }))
    }

    /// The first stages for change events: those of the kind of the model and of the scope of the handle.
    pub(in crate::query) fn event_stages(&self) -> Vec<Document> {
        let condition = Scope::All.of::<D>(Node::Default);
        let condition = match self.rows {
            None => condition,
            Some(rows) => rows.restrict(condition),
        };
        if condition.is_empty() {
            return Vec::new();
        }
        // A comparison with null also matches events without a full document.
        let is_present = doc! { "fullDocument": { "$type": "object" } };
        let condition = condition.to_document_of(Keys::Under("fullDocument"));
        vec![doc! { "$match": { "$and": [is_present, condition] } }]
    }

    /// The fields whose values the kind of the model and the scope of the handle fix.
    pub(in crate::query) fn fixed(&self) -> impl Iterator<Item = &str> {
        let kind = D::BEHAVIOR.discriminator.map(|kind| kind.field);
        kind.into_iter()
            .chain(self.rows.into_iter().flat_map(Rows::paths))
    }

    /// A stage of the application for change events.
    pub(in crate::query) fn raw_stage(&self, stage: RawPart) -> Result<Document> {
        if !stage.is_unchecked && !self.protection.fields().is_empty() {
            return Err(Error::pipeline("", protection::RAW_PART));
        }
        Ok(stage.document)
    }

    /// A filter of change events, which the server cannot compare with encrypted values.
    pub(in crate::query) fn events(&self, filter: Result<Node>) -> Result<Sendable<Node>> {
        let filter = filter?;
        let fields = self.protection.fields();
        protection::check_raw_part(fields, &filter)?;
        match protection::on_encrypted(fields, &filter) {
            Some(path) => Err(Error::filter(
                path,
                "the field is encrypted, and change events cannot be filtered by encrypted values; compare the field in the events",
            )),
            None => Ok(Sendable(filter)),
        }
    }

    /// Rejects a filter on an encrypted field if the client does not encrypt: the server would receive the plain value,
    /// and no stored value is equal to it, so that a negated condition matches every document. With every client, rejects the
    /// comparison of a document that contains such a field, since no stored document is equal to it.
    fn check_filter(&self, filter: &Node) -> Result<()> {
        if matches!(self.protection, Protection::NoFields) {
            return Ok(());
        }
        let fields = self.protection.fields();
        if matches!(self.protection, Protection::Plain(_))
            && let Some(path) = protection::on_encrypted(fields, filter)
        {
            return Err(protection::unencrypted(path));
        }
        protection::check_raw_part(fields, filter)?;
        if let Some(path) = filter.compares_around(fields) {
            return Err(protection::compared(path));
        }
        protection::check_ranges::<D>(filter)
    }

    /// Rejects an upsert by an encrypted field: the document that the server inserts would not have it.
    fn check_upsert(&self, filter: &Node) -> Result<()> {
        match protection::on_encrypted(self.protection.fields(), filter) {
            Some(path) => Err(Error::filter(
                path,
                "an upsert by an encrypted field would insert a document without this field; find the document by another field, \
                 or insert it with `insert` or `upsert_with`",
            )),
            None => Ok(()),
        }
    }

    /// Rejects an update of an encrypted field if the client does not encrypt: the server would store the plain value. With every
    /// client, rejects operators on a document that contains an encrypted field, other than those that set or remove it.
    fn check_changes(&self, changes: &Changes) -> Result<()> {
        let fields = self.protection.fields();
        let operators = match changes {
            Changes::Operators(operators) => operators,
            Changes::Stages(stages) => {
                if !fields.is_empty() {
                    self.check_documents()?;
                }
                let documents = stages.iter().map(|stage| &stage.document);
                let fixed: Vec<&str> = self.fixed().collect();
                stages::check::<D>(documents, fields, &fixed, false)?;
                if !fields.is_empty() && stages.iter().any(|stage| !stage.is_unchecked) {
                    return Err(Error::update("", protection::RAW_PART));
                }
                return Ok(());
            }
        };
        for path in self.fixed() {
            if operators
                .targets()
                .any(|target| protection::is_about(target, path))
            {
                return Err(Rows::fixed_field(path));
            }
        }
        if fields.is_empty() {
            return Ok(());
        }
        for change in operators.changes() {
            if change.operator.row().around_encrypted == AroundEncrypted::Allowed {
                continue;
            }
            let is_in = |field: &&String| change.targets().any(|name| protection::contains(name, field));
            if let Some(field) = fields.iter().find(is_in) {
                let reason = format!(
                    "the field is encrypted, so that `{}` cannot change the document that contains it; use `set` or `unset`",
                    change.operator.sent()
                );
                return Err(Error::update(field.clone(), reason));
            }
        }
        protection::check_values::<D>(operators)?;
        if let Protection::Plain(fields) = self.protection {
            let is_changed =
                |field: &&String| operators.targets().any(|name| protection::is_about(name, field));
            if let Some(field) = fields.iter().find(is_changed) {
                return Err(protection::unencrypted(field.clone()));
            }
        }
        Ok(())
    }

    /// Rejects documents with encrypted fields if the client does not encrypt: a collection that the write creates would
    /// store plain values. Returns whether each document must be checked, because it has encrypted fields or the handle a scope.
    pub(in crate::query) fn check_documents(&self) -> Result<bool> {
        match self.protection {
            Protection::NoFields => Ok(self.rows.is_some()),
            Protection::Encrypts(_) => Ok(true),
            Protection::Plain(fields) => Err(protection::unencrypted(
                fields.first().cloned().unwrap_or_default(),
            )),
        }
    }

    /// Rejects a write that can change several documents, which the server accepts only from a client that does not encrypt.
    pub(in crate::query) fn check_one_document(&self, call: &str) -> Result<()> {
        if self.is_encrypted() {
            return Err(Error::argument(format!(
                "`{call}` on {}: the server changes and deletes the documents of model `{}` only one by one, because it has encrypted \
                 fields; find their ids, and write to each by its id",
                self.collection.namespace(),
                D::NAME
            )));
        }
        Ok(())
    }

    /// Rejects what find-and-modify does not return of a document with encrypted fields.
    pub(in crate::query) fn check_returned(&self, is_original: bool) -> Result<()> {
        if !is_original && self.is_encrypted() {
            return Err(Error::argument(format!(
                "find-and-modify on {} can return only the whole document as it was before the change, because model `{}` has \
                 encrypted fields: call neither `returning_new` nor `select`, or use `update_one` and `find_by_id`",
                self.collection.namespace(),
                D::NAME
            )));
        }
        Ok(())
    }

    /// Whether the model has encrypted fields, and the client encrypts them.
    pub(in crate::query) fn is_encrypted(&self) -> bool {
        matches!(self.protection, Protection::Encrypts(_))
    }
}

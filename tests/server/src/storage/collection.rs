//! A collection: its records in insertion order and its indexes, which are always changed together.

use super::RecordId;
use super::index::{Index, Kind};
use super::key::Key;
use crate::error::{Error, Result, code};
use crate::query::{Env, Filter};
use crate::refusal::timeseries::TIME_MISSING;
use crate::search::index::SearchIndex;
use crate::value::collation::Collation;
use crate::value::document_size;
use bson::{Bson, Document, doc};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The maximum size of a stored document, in bytes.
pub(crate) const MAX_DOCUMENT_SIZE: usize = 16 * 1024 * 1024;

/// The limits of a capped collection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capped {
    pub(crate) size: usize,
    pub(crate) max: Option<usize>,
}

/// The validation rule for inserts and updates.
#[derive(Debug, Clone)]
pub(crate) struct Validator {
    pub(crate) filter: Filter,
    pub(crate) spec: Document,
    /// True for `validationAction: "error"`, false for `"warn"`.
    pub(crate) enforced: bool,
    /// `validationLevel: "moderate"`: existing invalid documents may stay invalid.
    pub(crate) moderate: bool,
}

/// The definition of a view.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) on: String,
    pub(crate) pipeline: Vec<Bson>,
}

#[derive(Debug, Clone)]
pub(crate) struct Collection {
    pub(crate) uuid: bson::Uuid,
    /// The options in the form of `listCollections`.
    pub(crate) options: Document,
    pub(crate) collation: Option<Collation>,
    pub(crate) capped: Option<Capped>,
    pub(crate) validator: Option<Validator>,
    /// The definition, if this is a view.
    pub(crate) view: Option<View>,
    /// The `timeField` of a time series collection.
    pub(crate) time_field: Option<String>,
    /// The `metaField` of a time series collection.
    pub(crate) meta_field: Option<String>,
    /// The shard key pattern of a sharded collection.
    pub(crate) shard_key: Option<Document>,
    /// Whether two documents can't have the same shard key.
    pub(crate) is_shard_key_unique: bool,
    pub(crate) indexes: Vec<Index>,
    pub(crate) search_indexes: Vec<SearchIndex>,
    records: BTreeMap<RecordId, Arc<Document>>,
    next: RecordId,
    bytes: usize,
    /// Record changes since the last call of `take_changes`.
    changes: Vec<RecordChange>,
}

/// A change of a record.
#[derive(Debug, Clone)]
pub(crate) enum RecordChange {
    Insert(RecordId, Arc<Document>),
    Replace {
        id: RecordId,
        old: Arc<Document>,
        new: Arc<Document>,
        /// True for a replacement, false for update operators.
        whole: bool,
    },
    Delete(RecordId, Arc<Document>),
}

/// Options of [`Collection::replace`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replacing {
    /// Bypass document validation.
    pub(crate) bypass: bool,
    /// True for a replacement, false for update operators.
    pub(crate) whole: bool,
}

impl Collection {
    /// An empty collection with its `_id` index.
    pub(crate) fn new(collation: Option<Collation>) -> Collection {
        Collection {
            uuid: bson::Uuid::new(),
            options: Document::new(),
            capped: None,
            validator: None,
            view: None,
            time_field: None,
            meta_field: None,
            shard_key: None,
            is_shard_key_unique: false,
            indexes: vec![Index::on_id(collation.as_ref())],
            search_indexes: Vec::new(),
            collation,
            records: BTreeMap::new(),
            next: 1,
            bytes: 0,
            changes: Vec::new(),
        }
    }

    /// The paths that identify a document in all shards: those of the shard key, and `_id`.
    pub(crate) fn document_key(&self) -> Vec<String> {
        let key = self.shard_key.iter().flat_map(Document::keys).cloned();
        let mut paths: Vec<String> = key.filter(|path| path != "_id").collect();
        paths.push("_id".to_owned());
        paths
    }

    /// The number of documents.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// The total BSON size of all documents, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The records in insertion order.
    pub(crate) fn records(&self) -> impl DoubleEndedIterator<Item = (RecordId, &Arc<Document>)> {
        self.records.iter().map(|(id, document)| (*id, document))
    }

    /// The records after `id`, in insertion order.
    pub(crate) fn records_after(&self, id: RecordId) -> impl Iterator<Item = (RecordId, &Arc<Document>)> {
        let later = (std::ops::Bound::Excluded(id), std::ops::Bound::Unbounded);
        self.records.range(later).map(|(id, document)| (*id, document))
    }

    pub(crate) fn record(&self, id: RecordId) -> Option<&Arc<Document>> {
        self.records.get(&id)
    }

    /// A read-only collection of the documents of a view, without indexes.
    pub(crate) fn of_rows(rows: Vec<Document>, collation: Option<Collation>) -> Collection {
        let mut collection = Collection::new(collation);
        collection.indexes.clear();
        collection.records = (1..).zip(rows.into_iter().map(Arc::new)).collect();
        collection
    }

    /// Returns the record changes since the last call.
    pub(crate) fn take_changes(&mut self) -> Vec<RecordChange> {
        std::mem::take(&mut self.changes)
    }

    /// The record changes since the last call of `take_changes`.
    pub(crate) fn changes(&self) -> &[RecordChange] {
        &self.changes
    }

    /// The greatest record ID assigned so far.
    pub(crate) fn last_id(&self) -> RecordId {
        self.next - 1
    }

    /// Inserts a document that has an `_id`. On error, nothing is changed.
    pub(crate) fn insert(
        &mut self,
        document: impl Into<Arc<Document>>,
        namespace: &str,
        bypass: bool,
    ) -> Result<RecordId> {
        let document = document.into();
        if !bypass {
            self.validate(&document, None)?;
        }
        if let Some(field) = &self.time_field
            && !matches!(document.get(field), Some(Bson::DateTime(_)))
        {
            return Err(TIME_MISSING.error(&[field]));
        }
        let keys = self.keys_for(&document, None, namespace)?;
        let id = self.next;
        self.next += 1;
        for (index, keys) in self.indexes.iter_mut().zip(keys) {
            index.add(keys, id);
        }
        self.bytes += document_size(&document);
        self.changes.push(RecordChange::Insert(id, Arc::clone(&document)));
        self.records.insert(id, document);
        self.trim();
        Ok(id)
    }

    /// Replaces the document of a record. On error, nothing is changed.
    pub(crate) fn replace(
        &mut self,
        id: RecordId,
        document: impl Into<Arc<Document>>,
        namespace: &str,
        how: Replacing,
    ) -> Result<()> {
        let document = document.into();
        let Some(old) = self.records.get(&id).cloned() else {
            return Err(Error::new(
                code::INTERNAL_ERROR,
                format!("record {id} does not exist"),
            ));
        };
        if !how.bypass {
            self.validate(&document, Some(&old))?;
        }
        let new_keys = self.keys_for(&document, Some(id), namespace)?;
        for (index, keys) in self.indexes.iter_mut().zip(new_keys) {
            let old_keys = index.keys(&old)?;
            index.remove(&old_keys, id);
            index.add(keys, id);
        }
        self.bytes = self.bytes + document_size(&document) - document_size(&old);
        self.changes.push(RecordChange::Replace {
            id,
            old,
            new: Arc::clone(&document),
            whole: how.whole,
        });
        self.records.insert(id, document);
        Ok(())
    }

    pub(crate) fn remove(&mut self, id: RecordId) -> Option<Arc<Document>> {
        let old = self.discard(id)?;
        self.changes.push(RecordChange::Delete(id, Arc::clone(&old)));
        Some(old)
    }

    /// Removes a record without recording the change, for the limits of a capped collection.
    fn discard(&mut self, id: RecordId) -> Option<Arc<Document>> {
        let old = self.records.remove(&id)?;
        for index in &mut self.indexes {
            // The keys of a stored document have been computed before without an error.
            if let Ok(keys) = index.keys(&old) {
                index.remove(&keys, id);
            }
        }
        self.bytes -= document_size(&old);
        Some(old)
    }

    /// Adds an index with the keys of all records. On duplicates, returns an error and leaves the
    /// collection unchanged.
    pub(crate) fn add_index(&mut self, mut index: Index, namespace: &str) -> Result<()> {
        for (id, document) in &self.records {
            let keys = index.keys(document)?;
            index.check_unique(&keys, None, document, namespace)?;
            index.add(keys, *id);
        }
        self.indexes.push(index);
        Ok(())
    }

    /// Returns the index with this name.
    pub(crate) fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// Returns the records to test against a filter in the server's order: the result of an `_id`
    /// lookup or index scan, otherwise all records in insertion order.
    pub(crate) fn candidates(&self, filter: &Filter, env: &Env) -> Vec<RecordId> {
        if let Some(id_index) = self.indexes.first()
            && env.collation == id_index.collation
            && filter.restricts("_id")
        {
            if let Some(values) = filter.equal_values("_id")
                && !values
                    .iter()
                    .any(|value| matches!(value, Bson::Array(_) | Bson::Null | Bson::Undefined))
            {
                let mut seen = BTreeSet::new();
                let found = values
                    .into_iter()
                    .flat_map(|value| id_index.lookup(vec![value]).collect::<Vec<_>>());
                return found.filter(|id| seen.insert(*id)).collect();
            }
            return id_index.scan();
        }
        for index in self.indexes.iter().skip(1) {
            let usable = index.kind == Kind::Ordered
                && !index.hidden
                && !index.sparse
                && index.partial.is_none()
                && index.collation == env.collation
                && index.key_pattern().len() == 1;
            let pattern = index.key_pattern();
            if usable
                && let Some(path) = pattern.keys().next()
                && let Some(values) = filter.equal_values(path)
                && values.iter().all(|value| {
                    matches!(
                        value,
                        Bson::String(_)
                            | Bson::Int32(_)
                            | Bson::Int64(_)
                            | Bson::ObjectId(_)
                            | Bson::Boolean(_)
                            | Bson::DateTime(_)
                            | Bson::Binary(_)
                    )
                })
            {
                let mut seen = BTreeSet::new();
                let found = values
                    .into_iter()
                    .flat_map(|value| index.lookup(vec![value]).collect::<Vec<_>>());
                return found.filter(|id| seen.insert(*id)).collect();
            }
        }
        self.records.keys().copied().collect()
    }

    /// Returns the records that match, in natural or index order.
    pub(crate) fn matching(&self, filter: &Filter, env: &Env) -> Result<Vec<RecordId>> {
        let mut found = Vec::new();
        for id in self.candidates(filter, env) {
            if let Some(document) = self.records.get(&id)
                && filter.matches(document, env)?
            {
                found.push(id);
            }
        }
        Ok(found)
    }

    fn keys_for(
        &self,
        document: &Document,
        own: Option<RecordId>,
        namespace: &str,
    ) -> Result<Vec<BTreeSet<Key>>> {
        let size = document_size(document);
        if size > MAX_DOCUMENT_SIZE {
            return Err(Error::new(
                code::BSON_OBJECT_TOO_LARGE,
                format!("object to insert too large. size in bytes: {size}, max size: {MAX_DOCUMENT_SIZE}"),
            ));
        }
        let mut all = Vec::with_capacity(self.indexes.len());
        for index in &self.indexes {
            let keys = index.keys(document)?;
            index.check_unique(&keys, own, document, namespace)?;
            all.push(keys);
        }
        Ok(all)
    }

    fn validate(&self, document: &Document, old: Option<&Document>) -> Result<()> {
        super::encrypted::check_document(&self.options, document)?;
        let Some(validator) = &self.validator else {
            return Ok(());
        };
        let env = Env::with_collation(self.collation.clone());
        if !validator.enforced || validator.filter.matches(document, &env)? {
            return Ok(());
        }
        if validator.moderate
            && let Some(old) = old
            && !validator.filter.matches(old, &env)?
        {
            return Ok(());
        }
        let details = doc! {
            "failingDocumentId": document.get("_id").cloned().unwrap_or(Bson::Null),
            "details": { "operatorName": "validator", "specifiedAs": validator.spec.clone() },
        };
        Err(
            Error::new(code::DOCUMENT_VALIDATION_FAILURE, "Document failed validation")
                .with("errInfo", details),
        )
    }

    fn trim(&mut self) {
        let Some(capped) = self.capped else { return };
        while self.bytes > capped.size || capped.max.is_some_and(|max| self.records.len() > max) {
            let Some(oldest) = self.records.keys().next().copied() else {
                return;
            };
            self.discard(oldest);
        }
    }
}

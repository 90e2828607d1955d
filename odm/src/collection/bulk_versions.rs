//! Bulk writes on one collection, with the version conflicts of their replacements.
//!
//! The reply to an `update` command contains the number of documents that all its statements matched. A
//! replacement with a version matches at most one, so the writes are sent in runs in which either all
//! statements that match documents are such replacements (and saves, which match or insert one), or
//! none is. A run has at most one replacement of a document, so that the stored document shows whether
//! the replacement was performed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::bson::{Bson, Document, RawDocumentBuf, doc, from_raw, to_vec};
use crate::collection::Collection;
use crate::collection::action::{Session, in_session};
use crate::driver::options::{BulkWriteOptions, ReadConcern, ReadPreference};
use crate::driver::{self, BulkWriteError, BulkWriteResult, ErrorKind, WriteModel};
use crate::error::{BulkOperation, BulkOutcome, PerformedWrites, Result};
use crate::filter::Conditions;
use crate::model::Model;

/// Maximum number of documents that are read together.
const READ: usize = 1_000;

/// A write that can be sent.
pub(super) struct Built<T> {
    pub(super) model: T,
    pub(super) effect: Effect,
}

impl<T> Built<T> {
    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Built<U> {
        Built {
            model: change(self.model),
            effect: self.effect,
        }
    }
}

/// What a write adds to the number of matched documents.
pub(super) enum Effect {
    /// Nothing: an insert or a delete.
    MatchesNone,
    /// Any number: an update, a replacement without a version.
    Matches,
    /// One, or an upserted one: a save with a version. A conflict is rejected as a duplicate key.
    /// Contains the [key of the id](id_key).
    Saves(Option<Vec<u8>>),
    /// One, unless the stored document has another version, or does not exist.
    Replaces(Box<Replaced>),
}

impl Effect {
    fn matches_one(&self) -> bool {
        matches!(self, Effect::Saves(_) | Effect::Replaces(_))
    }

    /// The key of the id of the document that is replaced or saved, if it is known.
    fn id_key(&self) -> Option<Vec<u8>> {
        match self {
            Effect::Saves(id) => id.clone(),
            Effect::Replaces(replaced) => id_key(&replaced.sent),
            Effect::MatchesNone | Effect::Matches => None,
        }
    }
}

/// A replacement with a version.
pub(super) struct Replaced {
    /// The filter without the version.
    pub(super) filter: Document,
    /// Whether the filter has no condition but that on `_id`.
    pub(super) is_by_id: bool,
    pub(super) sent: RawDocumentBuf,
}

impl Replaced {
    /// The id of the replacement, if it has one.
    fn id(&self) -> Option<Bson> {
        Bson::try_from(self.sent.get("_id").ok().flatten()?).ok()
    }

    /// The id, if the filter finds the document by it alone.
    fn only_id(&self) -> Option<Bson> {
        self.id().filter(|_| self.is_by_id)
    }

    /// The filter without the version, for the document with the id of the replacement.
    pub(super) fn finding(&self) -> Document {
        let mut filter = self.filter.clone();
        let Some(id) = self.id() else {
            return filter;
        };
        if filter.contains_key("_id") {
            return doc! { "$and": [filter, { "_id": id }] };
        }
        filter.insert("_id", id);
        filter
    }

    /// Whether the stored document, which has the id of the replacement, is the replacement. The ids can
    /// have different encodings. The server replaces empty timestamps by the current time.
    fn is(&self, mut stored: Document) -> driver::Result<bool> {
        let sent: Document = from_raw(&self.sent)?;
        stored.remove("_id");
        let mut expected = Document::new();
        for (name, value) in sent.into_iter().filter(|(name, _)| name != "_id") {
            let filled = match (&value, stored.get(&name)) {
                (Bson::Timestamp(empty), Some(current @ Bson::Timestamp(_)))
                    if (empty.time, empty.increment) == (0, 0) =>
                {
                    Some(current.clone())
                }
                _ => None,
            };
            expected.insert(name, filled.unwrap_or(value));
        }
        // NaN is equal to itself in this form.
        Ok(to_vec(&expected)? == to_vec(&stored)?)
    }
}

/// The writes of one call of the driver.
pub(super) struct Run {
    /// The position of the first in the bulk write.
    at: usize,
    models: Vec<WriteModel>,
    effects: Vec<Effect>,
    has_updates: bool,
    has_replacements: bool,
    /// The keys of the ids of the documents that are saved (`false`) and replaced (`true`).
    ids: HashMap<Vec<u8>, bool>,
}

/// Divides writes into runs.
pub(super) fn runs_of(built: Vec<Built<WriteModel>>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (at, Built { model, effect }) in built.into_iter().enumerate() {
        let is_update = matches!(effect, Effect::Matches);
        let is_replacement = matches!(effect, Effect::Replaces(_));
        let id = effect.id_key();
        let fits = |run: &Run| {
            let same = id.as_ref().and_then(|id| run.ids.get(id));
            let is_same = same.is_some_and(|is_replaced| *is_replaced || is_replacement);
            !(is_same || is_update && run.has_replacements || is_replacement && run.has_updates)
        };
        if !runs.last().is_some_and(fits) {
            runs.push(Run {
                at,
                models: Vec::new(),
                effects: Vec::new(),
                has_updates: false,
                has_replacements: false,
                ids: HashMap::new(),
            });
        }
        if let Some(run) = runs.last_mut() {
            run.models.push(model);
            run.effects.push(effect);
            run.has_updates |= is_update;
            run.has_replacements |= is_replacement;
            if let Some(id) = id {
                run.ids.insert(id, is_replacement);
            }
        }
    }
    runs
}

/// What the runs of a bulk write have done.
pub(super) struct Runs<'a, D> {
    collection: &'a Collection<D>,
    operations: Vec<BulkOperation>,
    total: BulkWriteResult,
    outcome: BulkOutcome,
}

/// What the reply to a run says.
struct Reply {
    matched: u64,
    /// The positions of the rejected writes in the run.
    rejected: BTreeSet<usize>,
    /// The results of all writes are known.
    is_complete: bool,
}

impl<'a, D: Model> Runs<'a, D> {
    pub(super) fn new(collection: &'a Collection<D>, operations: Vec<BulkOperation>) -> Self {
        Runs {
            collection,
            operations,
            total: BulkWriteResult::default(),
            outcome: BulkOutcome::default(),
        }
    }

    /// Sends a run. Returns whether the bulk write ends with it: because of an error of the whole
    /// command, or because a write was rejected. It does not end because of a write concern error.
    pub(super) async fn send(
        &mut self,
        run: Run,
        options: &BulkWriteOptions,
        mut session: Session<'_>,
    ) -> bool {
        let is_in_transaction = session.as_ref().is_some_and(|session| session.in_transaction());
        let writing = self
            .collection
            .inner
            .bulk_write(run.models)
            .with_options(options.clone());
        let writing = in_session!(session.as_deref_mut(), writing);
        let has_counts = writing.is_acknowledged();
        let reply = match writing.await {
            Ok(result) => {
                self.outcome.has_written = true;
                self.add(run.at, result)
            }
            Err(error) => self.rejected(run.at, &run.effects, error),
        };
        let is_aborted = is_in_transaction && !reply.rejected.is_empty();
        if run.has_replacements && has_counts && reply.is_complete && !is_aborted {
            let performed = reply.performed(&run.effects, options.is_ordered());
            let expected = performed.iter().filter(|(_, effect)| effect.matches_one());
            let missing = (expected.count() as u64).saturating_sub(reply.matched);
            let replaced = performed.iter().filter_map(|(index, effect)| match effect {
                Effect::Replaces(replaced) => Some((run.at + index, &**replaced)),
                _ => None,
            });
            let replaced: Vec<(usize, &Replaced)> = replaced.collect();
            if missing > 0
                && let Err(error) = self.find_conflicts(&replaced, missing, session).await
            {
                self.outcome.end(error);
                return true;
            }
        }
        let stops = options.is_ordered() || is_aborted;
        !reply.is_complete || stops && !reply.rejected.is_empty()
    }

    /// Adds the result of a run that begins at a position.
    fn add(&mut self, at: usize, result: BulkWriteResult) -> Reply {
        let total = &mut self.total;
        total.inserted_count += result.inserted_count;
        total.matched_count += result.matched_count;
        total.modified_count += result.modified_count;
        total.deleted_count += result.deleted_count;
        let matched = result.matched_count + result.upserted_ids.len() as u64;
        let moved = |ids: BTreeMap<usize, Bson>| ids.into_iter().map(move |(index, id)| (at + index, id));
        total.inserted_ids.extend(moved(result.inserted_ids));
        total.upserted_ids.extend(moved(result.upserted_ids));
        Reply {
            matched,
            rejected: BTreeSet::new(),
            is_complete: true,
        }
    }

    /// Adds the results of a run with an error, and the writes that the server rejected.
    fn rejected(&mut self, at: usize, effects: &[Effect], error: driver::Error) -> Reply {
        let Some(bulk) = bulk_error(&error) else {
            self.outcome.end(error);
            return Reply {
                matched: 0,
                rejected: BTreeSet::new(),
                is_complete: false,
            };
        };
        self.outcome.has_written = true;
        let concern = bulk.write_concern_error.clone();
        self.outcome.write_concern_errors.extend(concern);
        let mut reply = self.add(at, result_of(bulk));
        reply.is_complete = bulk.interrupted_by.is_none();
        for error in &bulk.write_errors {
            reply.rejected.insert(error.index);
            let Some(operation) = self.operations.get(at + error.index) else {
                continue;
            };
            let is_save = matches!(effects.get(error.index), Some(Effect::Saves(_)));
            let mut error = error.clone();
            error.index += at;
            self.outcome.failed.push(if is_save {
                operation.rejected_save(error)
            } else {
                operation.rejected(error)
            });
        }
        if reply.is_complete {
            self.outcome.note(error);
        } else {
            self.outcome.end(error);
        }
        reply
    }

    /// Reads the documents that the replacements of a run should have replaced. `missing` is the number
    /// of replacements that matched no document.
    async fn find_conflicts(
        &mut self,
        replaced: &[(usize, &Replaced)],
        missing: u64,
        mut session: Session<'_>,
    ) -> driver::Result<()> {
        let all_missed = missing >= replaced.len() as u64;
        // The writes need not be in the snapshot of the majority. A transaction has its own concern.
        let collection = self.collection.inner.with_read_concern(ReadConcern::local());
        let mut ids = Vec::new();
        let mut by_id: HashMap<Vec<u8>, (usize, &Replaced)> = HashMap::new();
        let mut by_filter: Vec<(usize, &Replaced)> = Vec::new();
        for &(index, replacement) in replaced {
            if let Some(id) = replacement.only_id() {
                by_id.insert(key(&id)?, (index, replacement));
                ids.push(id);
            } else {
                by_filter.push((index, replacement));
            }
        }
        let mut has_other_ids = false;
        for ids in ids.chunks(READ) {
            let filter = Conditions::comparisons([("_id".to_owned(), "$in", Bson::from(ids.to_vec()))]);
            let filter = self.collection.scope.of::<D>(filter);
            let finding = collection.find(filter).read_preference(ReadPreference::primary());
            let found: Vec<RawDocumentBuf> = match session.as_deref_mut() {
                Some(session) => {
                    let mut found = finding.session(session).await?;
                    let mut all = Vec::new();
                    while found.advance().await? {
                        all.push(found.current()?.to_owned());
                    }
                    all
                }
                None => finding.await?.try_collect().await?,
            };
            for found in found {
                let found: Document = from_raw(&found)?;
                let id = found.get("_id").cloned().unwrap_or(Bson::Null);
                match by_id.remove(&key(&id)?) {
                    Some((index, replacement)) => {
                        self.compare(index, replacement, found, all_missed)?;
                    }
                    None => has_other_ids = true,
                }
            }
        }
        if has_other_ids {
            // Equal on the server, by the type of a number or a collation, but encoded in another way.
            by_filter.extend(by_id.into_values());
        }
        for (index, replacement) in by_filter {
            let filter = replacement.finding();
            let finding = collection
                .find_one(filter)
                .read_preference(ReadPreference::primary());
            if let Some(found) = in_session!(session.as_deref_mut(), finding).await? {
                self.compare(index, replacement, from_raw(&found)?, all_missed)?;
            }
        }
        Ok(())
    }

    /// Adds the conflict of a replacement if the stored document is another.
    fn compare(
        &mut self,
        index: usize,
        replacement: &Replaced,
        found: Document,
        all_missed: bool,
    ) -> driver::Result<()> {
        let id = found.get("_id").cloned();
        if all_missed || !replacement.is(found)? {
            self.conflict(index, id);
        }
        Ok(())
    }

    fn conflict(&mut self, index: usize, id: Option<Bson>) {
        if let Some(operation) = self.operations.get(index) {
            self.outcome.failed.push(operation.conflict(id));
        }
    }

    pub(super) fn finish(self) -> Result<BulkWriteResult> {
        let total = self.total;
        self.outcome.into_result(total, PerformedWrites::of)
    }
}

impl Reply {
    /// The effects of the writes that were performed, with their positions in the run.
    fn performed<'e>(&self, effects: &'e [Effect], is_ordered: bool) -> Vec<(usize, &'e Effect)> {
        let end = self.rejected.first().filter(|_| is_ordered);
        let end = end.copied().unwrap_or(effects.len());
        let performed = effects.iter().enumerate().take(end);
        performed
            .filter(|(index, _)| !self.rejected.contains(index))
            .collect()
    }
}

/// The errors of the writes, also if a time limit expired.
fn bulk_error(error: &driver::Error) -> Option<&BulkWriteError> {
    match error.kind() {
        ErrorKind::BulkWrite(bulk) => Some(bulk),
        ErrorKind::Timeout(timeout) => bulk_error(timeout.cause()?),
        _ => None,
    }
}

/// The results of the writes that were performed.
fn result_of(bulk: &BulkWriteError) -> BulkWriteResult {
    let mut result = BulkWriteResult::default();
    result.inserted_count = bulk.inserted_ids.len() as u64;
    result.matched_count = bulk.matched_count;
    result.modified_count = bulk.modified_count;
    result.deleted_count = bulk.deleted_count;
    result.inserted_ids.clone_from(&bulk.inserted_ids);
    result.upserted_ids.clone_from(&bulk.upserted_ids);
    result
}

/// An id as a key of a map: `Bson` does not implement `Hash`.
fn key(id: &Bson) -> driver::Result<Vec<u8>> {
    Ok(to_vec(&doc! { "": id })?)
}

/// The key of the id of a document. `None` if it has no id.
pub(super) fn id_key(document: &RawDocumentBuf) -> Option<Vec<u8>> {
    let id = Bson::try_from(document.get("_id").ok().flatten()?).ok()?;
    key(&id).ok()
}

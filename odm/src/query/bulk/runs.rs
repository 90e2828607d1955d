//! Sends the runs of a bulk write, adds their results, and finds the version conflicts of replacements.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    base::{
        bson::{Bson, Document, RawDocumentBuf, decode_document},
        error::{BulkOperation, BulkOutcome, PerformedWrites, Result},
    },
    driver::{
        self, BulkWriteError, BulkWriteResult, ErrorKind,
        options::{BulkWriteOptions, ReadConcern, ReadPreference},
    },
    models::model::Model,
    query::{
        bulk::versions::{Effect, Replaced, Run, key},
        handle::{
            Collection,
            action::{Session, in_session},
            transaction::is_in_transaction,
        },
    },
};

/// Maximum number of documents that are read together.
const READ: usize = 1_000;

/// What the runs of a bulk write have done.
pub(in crate::query) struct Runs<'a, D> {
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
    pub(in crate::query) fn new(collection: &'a Collection<D>, operations: Vec<BulkOperation>) -> Self {
        Runs {
            collection,
            operations,
            total: BulkWriteResult::default(),
            outcome: BulkOutcome::default(),
        }
    }

    /// Sends a run. Returns whether the bulk write ends with it: because of an error of the whole
    /// command, or because a write was rejected. It does not end because of a write concern error.
    pub(in crate::query) async fn send(
        &mut self,
        run: Run,
        options: &BulkWriteOptions,
        mut session: Session<'_>,
    ) -> bool {
        let is_in_transaction = is_in_transaction(&session, self.collection.transaction());
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
            let filter = self.collection.with_ids(ids.to_vec());
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
                let found = decode_document(found.as_bytes())?;
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
        } else {
            for (index, replacement) in by_id.into_values().filter(|(_, r)| r.must_exist) {
                self.conflict(index, replacement.id());
            }
        }
        for (index, replacement) in by_filter {
            let filter = replacement.finding();
            let finding = collection
                .find_one(filter)
                .read_preference(ReadPreference::primary());
            match in_session!(session.as_deref_mut(), finding).await? {
                Some(found) => {
                    self.compare(index, replacement, decode_document(found.as_bytes())?, all_missed)?;
                }
                None if replacement.must_exist => self.conflict(index, replacement.id()),
                None => {}
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

    pub(in crate::query) fn finish(self) -> Result<BulkWriteResult> {
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

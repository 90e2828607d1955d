//! Bulk writes on one collection, with the version conflicts of their replacements.
//!
//! The reply to an `update` command contains the number of documents that all its statements matched. A
//! replacement with a version matches at most one, so the writes are sent in runs in which either all
//! statements that match documents are such replacements (and saves, which match or insert one), or
//! none is.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::bson::{Bson, Document, RawDocumentBuf, doc, from_raw, to_vec};
use crate::collection::Collection;
use crate::collection::action::{Session, in_session};
use crate::driver::options::{BulkWriteOptions, ReadPreference};
use crate::driver::{self, BulkWriteResult, ErrorKind, WriteModel};
use crate::error::{BulkOperation, Error, FailedWrite, Result, ValueError, failed_writes};
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
    /// Nothing: an insert.
    MatchesNone,
    /// Nothing: a delete. It follows replacements in another run, whose documents are read.
    Deletes,
    /// Any number: an update, a replacement without a version.
    Matches,
    /// One, or an upserted one: a save of a document of version 0. A conflict is rejected as a duplicate key.
    Saves,
    /// One, unless the stored document has another version, or does not exist.
    Replaces(Box<Replaced>),
}

impl Effect {
    fn matches_one(&self) -> bool {
        matches!(self, Effect::Saves | Effect::Replaces(_))
    }
}

/// A replacement with a version, or a save of a document that was stored before.
pub(super) struct Replaced {
    /// The filter without the version.
    pub(super) filter: Document,
    /// Whether the filter has no condition but that on `_id`.
    pub(super) is_by_id: bool,
    /// Whether it is a conflict that no document matches the filter: the document was deleted.
    pub(super) must_exist: bool,
    /// A field of which the stored value is kept.
    pub(super) kept: Option<&'static str>,
    pub(super) sent: RawDocumentBuf,
}

impl Replaced {
    /// The id of the document.
    pub(super) fn id(&self) -> Option<Bson> {
        Bson::try_from(self.sent.get("_id").ok().flatten()?).ok()
    }

    /// The id, if the filter finds the document by it alone.
    fn only_id(&self) -> Option<Bson> {
        self.id().filter(|_| self.is_by_id)
    }

    /// Whether the stored document is the replacement.
    fn is(&self, stored: &Document) -> Result<bool> {
        let mut sent = document(&self.sent)?;
        if !sent.contains_key("_id")
            && let Some(id) = stored.get("_id")
        {
            sent.insert("_id", id.clone());
        }
        if let Some(field) = self.kept
            && let Some(value) = stored.get(field)
        {
            sent.insert(field, value.clone());
        }
        Ok(sent == *stored)
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
}

/// Divides writes into runs.
pub(super) fn runs_of(built: Vec<Built<WriteModel>>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (at, Built { model, effect }) in built.into_iter().enumerate() {
        let is_update = matches!(effect, Effect::Matches);
        let is_replacement = matches!(effect, Effect::Replaces(_));
        let is_last = is_update || matches!(effect, Effect::Deletes);
        let fits = |run: &Run| !(is_last && run.has_replacements || is_replacement && run.has_updates);
        if !runs.last().is_some_and(fits) {
            runs.push(Run {
                at,
                models: Vec::new(),
                effects: Vec::new(),
                has_updates: false,
                has_replacements: false,
            });
        }
        if let Some(run) = runs.last_mut() {
            run.models.push(model);
            run.effects.push(effect);
            run.has_updates |= is_update;
            run.has_replacements |= is_replacement;
        }
    }
    runs
}

/// What the runs of a bulk write have done.
pub(super) struct Runs<'a, D> {
    collection: &'a Collection<D>,
    operations: Vec<BulkOperation>,
    total: BulkWriteResult,
    failed: Vec<FailedWrite>,
    /// The last error of the driver.
    error: Option<driver::Error>,
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
            failed: Vec::new(),
            error: None,
        }
    }

    /// Sends a run. Returns whether the bulk write ends with it.
    pub(super) async fn send(
        &mut self,
        run: Run,
        options: &BulkWriteOptions,
        mut session: Session<'_>,
    ) -> Result<bool> {
        let writing = self
            .collection
            .inner
            .bulk_write(run.models)
            .with_options(options.clone());
        let has_counts = writing.is_acknowledged();
        let sent = in_session!(session.as_deref_mut(), writing).await;
        let (reply, is_last) = match sent {
            Ok(result) => {
                let matched = result.matched_count + result.upserted_ids.len() as u64;
                self.add(run.at, result);
                let reply = Reply {
                    matched,
                    rejected: BTreeSet::new(),
                    is_complete: true,
                };
                (reply, false)
            }
            Err(error) => {
                let reply = self.rejected(run.at, &run.effects, &error);
                let is_last = options.is_ordered() || !reply.is_complete;
                self.error = Some(error);
                (reply, is_last)
            }
        };
        if run.has_replacements && has_counts && reply.is_complete {
            let performed = reply.performed(&run.effects, options.is_ordered());
            let expected = performed.iter().filter(|(_, effect)| effect.matches_one());
            let missing = (expected.count() as u64).saturating_sub(reply.matched);
            if missing > 0 {
                let replaced = performed.iter().filter_map(|(index, effect)| match effect {
                    Effect::Replaces(replaced) => Some((*index, &**replaced)),
                    _ => None,
                });
                let replaced: Vec<(usize, &Replaced)> = replaced.collect();
                let found = self.find_conflicts(run.at, &replaced, missing, session).await;
                // A rejected write has aborted the transaction that the reads would be part of.
                if self.error.is_none() {
                    found?;
                }
            }
        }
        Ok(is_last)
    }

    /// Adds the result of a run that begins at a position.
    fn add(&mut self, at: usize, result: BulkWriteResult) {
        let total = &mut self.total;
        total.inserted_count += result.inserted_count;
        total.matched_count += result.matched_count;
        total.modified_count += result.modified_count;
        total.deleted_count += result.deleted_count;
        let moved = |ids: BTreeMap<usize, Bson>| ids.into_iter().map(move |(index, id)| (at + index, id));
        total.inserted_ids.extend(moved(result.inserted_ids));
        total.upserted_ids.extend(moved(result.upserted_ids));
    }

    /// Adds the writes that the server rejected.
    fn rejected(&mut self, at: usize, effects: &[Effect], error: &driver::Error) -> Reply {
        let mut reply = Reply {
            matched: 0,
            rejected: BTreeSet::new(),
            is_complete: false,
        };
        if let ErrorKind::BulkWrite(bulk) = error.kind() {
            reply.matched = bulk.matched_count + bulk.upserted_ids.len() as u64;
            reply.is_complete = bulk.interrupted_by.is_none();
        }
        for error in error.write_errors() {
            reply.rejected.insert(error.index);
            let Some(operation) = self.operations.get(at + error.index) else {
                continue;
            };
            let is_save = matches!(effects.get(error.index), Some(Effect::Saves));
            let mut error = error.clone();
            error.index += at;
            self.failed.push(if is_save {
                operation.rejected_save(error)
            } else {
                operation.rejected(error)
            });
        }
        reply
    }

    /// Reads the documents that the replacements of a run should have replaced. `missing` is the number
    /// of replacements that matched no document.
    async fn find_conflicts(
        &mut self,
        at: usize,
        replaced: &[(usize, &Replaced)],
        missing: u64,
        mut session: Session<'_>,
    ) -> Result<()> {
        let all_missed = missing >= replaced.len() as u64;
        let mut by_id: HashMap<Vec<u8>, Vec<(usize, &Replaced)>> = HashMap::new();
        for &(index, replacement) in replaced {
            if let Some(id) = replacement.only_id() {
                by_id.entry(key(&id)?).or_default().push((index, replacement));
                continue;
            }
            let filter = replacement.filter.clone();
            let finding = self
                .collection
                .inner
                .find_one(filter)
                .read_preference(ReadPreference::primary());
            match in_session!(session.as_deref_mut(), finding).await? {
                Some(found) => {
                    let found = document(&found)?;
                    if all_missed || !replacement.is(&found)? {
                        self.conflict(at + index, found.get("_id").cloned());
                    }
                }
                None if replacement.must_exist => self.conflict(at + index, replacement.id()),
                None => {}
            }
        }
        let ids: Vec<Bson> = by_id
            .values()
            .filter_map(|all| all.first()?.1.only_id())
            .collect();
        for ids in ids.chunks(READ) {
            let filter = Conditions::comparisons([("_id".to_owned(), "$in", Bson::from(ids.to_vec()))]);
            let filter = self.collection.scope.of::<D>(filter);
            let finding = self
                .collection
                .inner
                .find(filter)
                .read_preference(ReadPreference::primary());
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
                let found = document(&found)?;
                let id = found.get("_id").cloned().unwrap_or(Bson::Null);
                let replacements = by_id.remove(&key(&id)?).unwrap_or_default();
                // The replacements of one document before the stored one matched.
                let mut stored = None;
                if !all_missed {
                    for (index, replacement) in &replacements {
                        if replacement.is(&found)? {
                            stored = Some(*index);
                        }
                    }
                }
                for (index, _) in replacements {
                    if stored.is_none_or(|stored| index > stored) {
                        self.conflict(at + index, Some(id.clone()));
                    }
                }
            }
        }
        // Those that were not found.
        for (index, replacement) in by_id.into_values().flatten() {
            if replacement.must_exist {
                self.conflict(at + index, replacement.id());
            }
        }
        Ok(())
    }

    fn conflict(&mut self, index: usize, id: Option<Bson>) {
        if let Some(operation) = self.operations.get(index) {
            self.failed.push(operation.conflict(id));
        }
    }

    pub(super) fn finish(self) -> Result<BulkWriteResult> {
        failed_writes(self.failed, self.error)?;
        Ok(self.total)
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

fn document(raw: &RawDocumentBuf) -> Result<Document> {
    from_raw(raw).map_err(|e| Error::encode("", ValueError::new(e.message())))
}

/// An id as a key of a map: `Bson` does not implement `Hash`.
fn key(id: &Bson) -> Result<Vec<u8>> {
    to_vec(&doc! { "": id }).map_err(|e| Error::encode("_id", e.into()))
}

//! `bulk_write` on a collection.

use super::{Deferred, InSession, awaitable, session_setter, setters};
use crate::{
    Error, ErrorKind, Result,
    api::{collection::CollectionInner, write_model::WriteModel},
    bson::Bson,
    error::BulkWriteError,
    operation::{
        bulk_write::{
            Batch, BulkWriteBatch, BulkWriteOptions, Command, Deletes, Inserts, Kind, Statement, Updates,
        },
        write_result::BulkWriteResult,
    },
};

/// Runs many writes. Await it; see [`Collection::bulk_write`](crate::Collection::bulk_write).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct BulkWrite<'a> {
    collection: &'a CollectionInner,
    models: Vec<WriteModel>,
    options: BulkWriteOptions,
    session: InSession<'a>,
    deferred: Deferred,
}

impl<'a> BulkWrite<'a> {
    pub(crate) fn new(collection: &'a CollectionInner, models: Vec<WriteModel>) -> Self {
        Self {
            collection,
            models,
            options: BulkWriteOptions::default(),
            session: None,
            deferred: Deferred::default(),
        }
    }

    setters! {
        /// For MongoDB's own tools: work on the collection's storage as it is (server 8.2). Older servers are not told.
        #[doc(hidden)]
        raw_data: plain = bool;
        /// Run the writes in order and stop at the first that fails (the default), or run all in any order.
        ordered: plain = bool;
        /// Skip the collection's schema validation.
        bypass_document_validation: plain = bool;
        /// A note that shows up in the server's logs and profiler.
        comment: value = Bson;
        /// Variables for `$expr` and pipelines, read as `$$name`.
        let_vars: document;
    }

    session_setter!();

    async fn run(self) -> Result<BulkWriteResult> {
        self.deferred.into_result()?;
        if self.models.is_empty() {
            return Err(Error::invalid_argument("bulk_write needs at least one model"));
        }
        let statements: Vec<Statement> = self
            .models
            .into_iter()
            .map(WriteModel::into_statement)
            .collect::<Result<_>>()?;
        let ordered = self.options.ordered.unwrap_or(true);
        let operation_id = self.collection.executor().next_operation_id();
        let mut progress = Progress::default();
        for (kind, places) in groups(&statements, ordered) {
            let mut rest = places.as_slice();
            while !rest.is_empty() {
                let sender = Sender {
                    collection: self.collection,
                    statements: &statements,
                    options: &self.options,
                    session: self.session,
                    operation_id,
                };
                let sent = match kind {
                    Kind::Insert => sender.send::<Inserts>(rest).await,
                    Kind::Update => sender.send::<Updates>(rest).await,
                    Kind::Delete => sender.send::<Deletes>(rest).await,
                };
                let batch = match sent {
                    Ok(batch) => batch,
                    // Nothing is known of this command, but what was written before it must not be lost.
                    Err(error) => return Err(progress.into_error(error)),
                };
                // A command holds at least one statement, else the loop would never end.
                let (done, others) = rest.split_at(batch.sent.clamp(1, rest.len()));
                rest = others;
                if progress.record(kind, done, &statements, batch, ordered) {
                    return progress.into_result();
                }
            }
        }
        progress.into_result()
    }
}

/// What the commands of one call have in common.
struct Sender<'a> {
    collection: &'a CollectionInner,
    statements: &'a [Statement],
    options: &'a BulkWriteOptions,
    session: InSession<'a>,
    operation_id: i64,
}

impl Sender<'_> {
    async fn send<C: Command>(&self, places: &[usize]) -> Result<Batch> {
        let mut operation = BulkWriteBatch::<C>::new(
            self.collection.namespace(),
            self.statements,
            places,
            self.options,
            self.collection.write_concern(),
        );
        self.collection
            .executor()
            .run_with_id(self.operation_id, self.session, &mut operation)
            .await
    }
}

/// The places of statements that can share commands: neighbours of one kind, or with any order all of one kind.
fn groups(statements: &[Statement], ordered: bool) -> Vec<(Kind, Vec<usize>)> {
    let mut groups: Vec<(Kind, Vec<usize>)> = Vec::new();
    for (place, statement) in statements.iter().enumerate() {
        let group = if ordered {
            groups.last_mut().filter(|(kind, _)| *kind == statement.kind)
        } else {
            groups.iter_mut().find(|(kind, _)| *kind == statement.kind)
        };
        match group {
            Some((_, places)) => places.push(place),
            None => groups.push((statement.kind, vec![place])),
        }
    }
    groups
}

/// What the commands of one call have done so far.
#[derive(Default)]
struct Progress {
    result: BulkWriteResult,
    failures: Option<(BulkWriteError, Error)>,
    /// Whether a command was run.
    begun: bool,
}

impl Progress {
    /// Adds one command's outcome; true when the call must stop.
    fn record(
        &mut self,
        kind: Kind,
        places: &[usize],
        statements: &[Statement],
        batch: Batch,
        ordered: bool,
    ) -> bool {
        self.begun = true;
        let mut failed: Vec<usize> = batch
            .failures
            .iter()
            .flat_map(|failures| failures.write_errors.iter().map(|error| error.index))
            .collect();
        failed.sort_unstable();
        let stopped_at = failed.first().copied().filter(|_| ordered);
        let upserted = batch.upserted.len() as u64;
        match kind {
            Kind::Insert => {
                self.result.inserted_count += batch.n;
                let done = |place: &&usize| {
                    stopped_at.is_none_or(|at| **place < at) && failed.binary_search(place).is_err()
                };
                for place in places.iter().filter(done) {
                    if let Some(id) = statements.get(*place).and_then(|statement| statement.id.clone()) {
                        self.result.inserted_ids.insert(*place, id);
                    }
                }
            }
            Kind::Update => {
                // An upsert counts as matched in the reply's `n`, but matched nothing.
                self.result.matched_count += batch.n.saturating_sub(upserted);
                self.result.modified_count += batch.n_modified;
                self.result.upserted_ids.extend(batch.upserted);
            }
            Kind::Delete => self.result.deleted_count += batch.n,
        }
        if let (Some(failures), Some(error)) = (batch.failures, batch.error) {
            let (all, _) = self
                .failures
                .get_or_insert_with(|| (BulkWriteError::default(), error));
            all.write_errors.extend(failures.write_errors);
            if failures.write_concern_error.is_some() {
                all.write_concern_error = failures.write_concern_error;
            }
        }
        stopped_at.is_some()
    }

    fn into_result(self) -> Result<BulkWriteResult> {
        match self.failures {
            None => Ok(self.result),
            Some((failures, error)) => Err(with_failures(error, failures, self.result)),
        }
    }

    /// The error of a command that failed as a whole, with what the commands before it did. One that the driver refused
    /// to send as the first stays as it is.
    fn into_error(self, error: Error) -> Error {
        let refused = matches!(
            error.kind(),
            ErrorKind::InvalidArgument(_) | ErrorKind::Encode(_) | ErrorKind::Unsupported(_)
        );
        if refused && !self.begun {
            return error;
        }
        let mut failures = self.failures.map_or_else(BulkWriteError::default, |(all, _)| all);
        failures.interrupted_by = Some(error.clone());
        with_failures(error, failures, self.result)
    }
}

fn with_failures(error: Error, mut failures: BulkWriteError, done: BulkWriteResult) -> Error {
    failures.write_errors.sort_by_key(|failed| failed.index);
    failures.inserted_ids = done.inserted_ids;
    failures.upserted_ids = done.upserted_ids;
    failures.matched_count = done.matched_count;
    failures.modified_count = done.modified_count;
    failures.deleted_count = done.deleted_count;
    error.with_kind(ErrorKind::BulkWrite(Box::new(failures)))
}

awaitable!(['a] BulkWrite<'a> => BulkWriteResult);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::doc;

    fn places(ordered: bool) -> Vec<Vec<usize>> {
        let statements: Vec<Statement> = [
            WriteModel::insert_one(&doc! {}),
            WriteModel::insert_one(&doc! {}),
            WriteModel::delete_one(doc! {}),
            WriteModel::insert_one(&doc! {}),
        ]
        .into_iter()
        .map(|model| model.into_statement().unwrap())
        .collect();
        groups(&statements, ordered)
            .into_iter()
            .map(|(_, places)| places)
            .collect()
    }

    #[test]
    fn statements_of_one_kind_share_commands() {
        assert_eq!(places(true), [vec![0, 1], vec![2], vec![3]]);
        assert_eq!(places(false), [vec![0, 1, 3], vec![2]]);
    }
}

//! Sends the statements of a call in as few commands as the limits of the server allow, and collects what the commands did.

use super::InSession;
use crate::{
    Error, ErrorKind, Result,
    api::collection::CollectionInner,
    bson::Bson,
    error::BulkWriteError,
    operation::{
        write_command::{Statements, WriteCommand, WriteKind, WriteOutcome},
        write_result::BulkWriteResult,
    },
    types::concern::WriteConcern,
};

/// Sends the only statement of a call. Returns how many statements the command held, and what its reply says.
///
/// The write concern is the collection's if `None` is given. Failures are errors of kind [`ErrorKind::Write`].
pub(super) fn send_single<'a, S: Statements>(
    collection: &'a CollectionInner,
    write_concern: Option<&'a WriteConcern>,
    session: InSession<'a>,
    statements: &'a mut S,
) -> impl Future<Output = Result<(usize, WriteOutcome)>> + use<'a, S> {
    let write_concern = write_concern.unwrap_or(collection.write_concern());
    let mut command = WriteCommand::new(collection.namespace(), statements, write_concern);
    let executor = collection.executor();
    // Not an `async fn`: its future would hold the arguments beside the command.
    async move {
        executor.run_in(session, &mut command).await?;
        let (count, outcome) = command.into_outcome();
        Ok((count, outcome.into_single()?))
    }
}

/// The commands of one `insert_many` or `bulk_write`, and what they have done so far.
pub(super) struct Batcher<'a> {
    collection: &'a CollectionInner,
    write_concern: &'a WriteConcern,
    session: InSession<'a>,
    /// The `operationId` that the commands share.
    operation_id: i64,
    ordered: bool,
    /// Whether a command was run.
    has_run: bool,
    /// `inserted_ids` is empty until the call ends.
    result: BulkWriteResult,
    /// In the order of the commands. A map that grows while documents are sent costs several times as much.
    inserted_ids: Vec<(usize, Bson)>,
    /// The failures of all commands, and the error of the first that failed.
    failures: Option<(BulkWriteError, Error)>,
}

impl<'a> Batcher<'a> {
    /// The write concern is the collection's if `None` is given.
    pub(super) fn new(
        collection: &'a CollectionInner,
        write_concern: Option<&'a WriteConcern>,
        session: InSession<'a>,
        ordered: bool,
    ) -> Self {
        Self {
            collection,
            write_concern: write_concern.unwrap_or(collection.write_concern()),
            session,
            operation_id: collection.executor().next_operation_id(),
            ordered,
            has_run: false,
            result: BulkWriteResult::default(),
            inserted_ids: Vec::new(),
            failures: None,
        }
    }

    /// Whether a command was run.
    pub(super) fn has_run(&self) -> bool {
        self.has_run
    }

    /// Sends all statements. Returns whether the call goes on, which an ordered call does not after a statement failed.
    ///
    /// # Errors
    /// The error of a command that failed as a whole. What it did is unknown.
    pub(super) async fn send(&mut self, statements: &mut impl Statements) -> Result<bool> {
        while statements.remaining() > 0 {
            let mut command =
                WriteCommand::new(self.collection.namespace(), &mut *statements, self.write_concern);
            self.collection
                .executor()
                .run_with_id(self.operation_id, self.session, &mut command)
                .await?;
            let (count, outcome) = command.into_outcome();
            if !self.record(statements, count, outcome) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds what one command did; false when the call must stop.
    fn record<S: Statements>(&mut self, statements: &mut S, count: usize, outcome: WriteOutcome) -> bool {
        self.has_run = true;
        let failures = outcome.failures();
        let mut failed: Vec<usize> = failures
            .iter()
            .flat_map(|failures| failures.write_errors.iter().map(|error| error.index))
            .collect();
        failed.sort_unstable();
        let stopped_at = failed.first().copied().filter(|_| self.ordered);
        let mut ids = statements.advance(count);
        match S::KIND {
            WriteKind::Insert => {
                self.result.inserted_count += outcome.n;
                if !failed.is_empty() {
                    ids.retain(|(position, _)| {
                        stopped_at.is_none_or(|at| *position < at) && failed.binary_search(position).is_err()
                    });
                }
                if self.inserted_ids.is_empty() {
                    self.inserted_ids = ids;
                } else {
                    self.inserted_ids.append(&mut ids);
                }
            }
            WriteKind::Update => {
                // An upsert counts as matched in the reply's `n`, but matched nothing.
                self.result.matched_count += outcome.n.saturating_sub(outcome.upserted.len() as u64);
                self.result.modified_count += outcome.n_modified;
                self.result.upserted_ids.extend(outcome.upserted);
            }
            WriteKind::Delete => self.result.deleted_count += outcome.n,
        }
        if let Some(error) = outcome.error
            && let ErrorKind::BulkWrite(failures) = error.kind().clone()
        {
            let (all, _) = self
                .failures
                .get_or_insert_with(|| (BulkWriteError::default(), error));
            all.write_errors.extend(failures.write_errors);
            if failures.write_concern_error.is_some() {
                all.write_concern_error = failures.write_concern_error;
            }
        }
        stopped_at.is_none()
    }

    /// What all commands did; an error when statements or a write concern failed.
    pub(super) fn into_result(mut self) -> Result<BulkWriteResult> {
        match self.failures.take() {
            None => {
                self.result.inserted_ids = self.inserted_ids.into_iter().collect();
                Ok(self.result)
            }
            Some((failures, error)) => Err(self.with_failures(error, failures)),
        }
    }

    /// The error of a command that failed as a whole, with what the commands before it did.
    pub(super) fn into_error(mut self, error: Error) -> Error {
        let mut failures = self
            .failures
            .take()
            .map_or_else(BulkWriteError::default, |(all, _)| all);
        failures.interrupted_by = Some(error.clone());
        self.with_failures(error, failures)
    }

    fn with_failures(self, error: Error, mut failures: BulkWriteError) -> Error {
        failures.write_errors.sort_by_key(|failed| failed.index);
        failures.inserted_ids = self.inserted_ids.into_iter().collect();
        failures.upserted_ids = self.result.upserted_ids;
        failures.matched_count = self.result.matched_count;
        failures.modified_count = self.result.modified_count;
        failures.deleted_count = self.result.deleted_count;
        error.with_kind(ErrorKind::BulkWrite(Box::new(failures)))
    }
}

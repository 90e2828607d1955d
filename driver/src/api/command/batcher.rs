//! Sends the statements of a call in as few commands as the limits of the server allow, and
//! accumulates their results.

use super::InSession;
use crate::{
    Error, ErrorKind, Result,
    api::collection::CollectionInner,
    bson::Bson,
    error::BulkWriteError,
    execution::{Running, report},
    operation::write_command::{Statements, WriteCommand, WriteKind, WriteOutcome},
    telemetry::OperationScope,
    types::{concern::WriteConcern, timeout::Timeout, write_result::BulkWriteResult},
};

/// Sends the only statement of a call. Returns the number of statements in the command and its
/// result.
///
/// If `write_concern` is `None`, that of the collection is used. Failures are errors of kind
/// [`ErrorKind::Write`], and of kind [`ErrorKind::Timeout`] if a time limit expired.
pub(super) fn send_single<'a, S: Statements>(
    collection: &'a CollectionInner,
    write_concern: Option<&'a WriteConcern>,
    session: InSession<'a>,
    timeout: Timeout,
    statements: &'a mut S,
) -> impl Future<Output = Result<(usize, WriteOutcome)>> + use<'a, S> {
    let write_concern = write_concern.unwrap_or(collection.write_concern());
    let mut command = WriteCommand::new(collection.namespace(), statements, write_concern);
    let (executor, has_timeout) = (collection.executor(), timeout.is_set());
    // Not an `async fn`, whose future would contain the arguments in addition to the command.
    async move {
        executor.run_in(session, timeout, &mut command).await?;
        let (count, outcome) = command.into_outcome();
        let outcome = outcome
            .into_single()
            .map_err(|error| report(has_timeout, error))?;
        Ok((count, outcome))
    }
}

/// The commands of one `insert_many` or `bulk_write`, and their accumulated results.
pub(super) struct Batcher<'a> {
    collection: &'a CollectionInner,
    write_concern: &'a WriteConcern,
    session: InSession<'a>,
    /// The time limit of the whole call.
    timeout: Timeout,
    /// What the commands share.
    scope: OperationScope,
    /// Counts the call as in flight.
    _running: Running<'a>,
    ordered: bool,
    /// Whether a command was sent.
    has_run: bool,
    /// `inserted_ids` of the result is empty until the call ends.
    result: BulkWriteResult,
    /// In the order of the commands. A vector, because a map that grows with each command is
    /// several times slower.
    inserted_ids: Vec<(usize, Bson)>,
    /// The errors of all commands, and the error of the first command that failed.
    failures: Option<(BulkWriteError, Error)>,
}

impl<'a> Batcher<'a> {
    /// If `write_concern` is `None`, that of the collection is used. `name`: that of the operation
    /// in traces.
    pub(super) fn new(
        name: &str,
        collection: &'a CollectionInner,
        write_concern: Option<&'a WriteConcern>,
        session: InSession<'a>,
        timeout: Timeout,
        ordered: bool,
    ) -> Self {
        let namespace = collection.namespace();
        Self {
            collection,
            write_concern: write_concern.unwrap_or(collection.write_concern()),
            session,
            timeout,
            scope: collection.executor().begin_operation(
                session,
                name,
                &namespace.database,
                Some(&namespace.collection),
            ),
            _running: collection.executor().enter(),
            ordered,
            has_run: false,
            result: BulkWriteResult::default(),
            inserted_ids: Vec::new(),
            failures: None,
        }
    }

    /// Whether a command was sent.
    pub(super) fn has_run(&self) -> bool {
        self.has_run
    }

    /// Sends all statements. Returns whether the call continues; an ordered call stops after the
    /// first failed statement.
    ///
    /// # Errors
    /// A command failed as a whole. Its effect is unknown.
    pub(super) async fn send(&mut self, statements: &mut impl Statements) -> Result<bool> {
        while statements.remaining() > 0 {
            let mut command =
                WriteCommand::new(self.collection.namespace(), &mut *statements, self.write_concern);
            let executor = self.collection.executor();
            let sent = executor.run_in_scope(&self.scope, self.session, self.timeout, &mut command);
            if let Err(error) = sent.await {
                self.scope.span.end(Some(&error));
                return Err(error);
            }
            let (count, outcome) = command.into_outcome();
            if !self.record(statements, count, outcome) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds the result of a command. Returns whether the call continues.
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
                add(&mut self.result.inserted_count, outcome.n);
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
                // In the reply, `n` includes upserts, which matched no document.
                add(
                    &mut self.result.matched_count,
                    outcome.n.saturating_sub(outcome.upserted.len() as u64),
                );
                add(&mut self.result.modified_count, outcome.n_modified);
                self.result.upserted_ids.extend(outcome.upserted);
            }
            WriteKind::Delete => add(&mut self.result.deleted_count, outcome.n),
        }
        if let Some(error) = outcome.error
            && let ErrorKind::BulkWrite(failures) = error.before_timeout().kind().clone()
        {
            let (all, first) = self
                .failures
                .get_or_insert_with(|| (BulkWriteError::default(), error.clone()));
            all.write_errors.extend(failures.write_errors);
            if failures.write_concern_error.is_some() {
                all.write_concern_error = failures.write_concern_error;
            }
            // The time limit is that of the call.
            if let (ErrorKind::Timeout(timeout), false) = (error.kind(), first.is_of_time_limit()) {
                *first = first.clone().into_timeout_of(Some(timeout));
            }
        }
        stopped_at.is_none()
    }

    /// The result of all commands, or an error if statements or a write concern failed.
    pub(super) fn into_result(mut self) -> Result<BulkWriteResult> {
        match self.failures.take() {
            None => {
                self.scope.span.end(None);
                self.result.inserted_ids = self.inserted_ids.into_iter().collect();
                Ok(self.result)
            }
            Some((failures, error)) => {
                let timeout = self.timeout;
                self.scope.span.end(Some(&error));
                Err(timeout.report(self.with_failures(error, failures)))
            }
        }
    }

    /// The error of a command that failed as a whole, with the results of the preceding commands.
    pub(super) fn into_error(mut self, error: Error) -> Error {
        let mut failures = self
            .failures
            .take()
            .map_or_else(BulkWriteError::default, |(all, _)| all);
        // Not `reported`: the caller must see that the encryption failed, so that nothing was sent.
        failures.interrupted_by = Some(error.before_timeout().clone());
        self.with_failures(error, failures)
    }

    /// The error with this kind. A timeout is the kind of the whole error, whose cause has it.
    fn with_failures(self, error: Error, mut failures: BulkWriteError) -> Error {
        failures.write_errors.sort_by_key(|failed| failed.index);
        failures.inserted_ids = self.inserted_ids.into_iter().collect();
        failures.upserted_ids = self.result.upserted_ids;
        failures.matched_count = self.result.matched_count;
        failures.modified_count = self.result.modified_count;
        failures.deleted_count = self.result.deleted_count;
        error.with_kind_before_timeout(ErrorKind::BulkWrite(Box::new(failures)))
    }
}

/// Adds the count of a reply.
fn add(sum: &mut u64, count: u64) {
    *sum = sum.saturating_add(count);
}

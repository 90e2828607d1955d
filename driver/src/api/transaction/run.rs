//! The attempts of the convenient API.

use std::{
    any::Any,
    time::{Duration, Instant},
};

use crate::{
    ClientSession, Error, Result, TRANSIENT_TRANSACTION_ERROR, UNKNOWN_TRANSACTION_COMMIT_RESULT,
    execution::{SessionHandle, start_timeout},
    proto::session::{AfterCommit, RunTimeout, Transaction, TransactionRun},
    types::{
        timeout::{TimeLimit, Timeout, TimeoutSource},
        transaction_options::TransactionOptions,
    },
};

/// The attempts of one transaction, with their time limit.
pub(super) struct Attempts {
    options: TransactionOptions,
    run: TransactionRun,
    began: Instant,
    limit: Duration,
    /// `timeoutMS`, which replaces `limit`. The operations of the transaction share it.
    timeout: Timeout,
    /// The time limit of the run whose body this run is part of.
    outer: RunTimeout,
    session: SessionHandle,
    /// The error for which the transaction is run again.
    cause: Option<Error>,
    /// The error of an operation in that attempt, if its body succeeded nevertheless.
    operation_error: Option<Error>,
}

impl Attempts {
    /// `limit` is the time limit without `timeoutMS`, `timeout` the option of the operation.
    ///
    /// # Errors
    /// The option is set, and the run is part of the body of another one with `timeoutMS`.
    pub(super) fn new(
        session: &ClientSession,
        options: TransactionOptions,
        limit: Duration,
        timeout: Option<Duration>,
    ) -> Result<Self> {
        let session = session.shared().clone();
        let inherited = session.lock().default_timeout();
        let option = timeout.map(|limit| TimeLimit::of(limit, TimeoutSource::Transaction));
        let option = option.or(inherited);
        let mut whole = start_timeout(timeout, Some(&session), inherited)?;
        if timeout.is_some() {
            whole = whole.with_source(TimeoutSource::Transaction);
        }
        let outer = session.lock().begin_run(RunTimeout { whole, option });
        Ok(Self {
            timeout: whole,
            outer,
            session,
            options,
            run: TransactionRun::default(),
            began: Instant::now(),
            limit,
            cause: None,
            operation_error: None,
        })
    }

    /// Whether a pause that begins now ends within the time limit.
    fn allows(&self, pause: Duration) -> bool {
        if self.timeout.is_set() {
            return self.timeout.allows(pause);
        }
        self.began.elapsed().saturating_add(pause) < self.limit
    }

    /// Starts the transaction, after a pause if it was run before.
    pub(super) async fn begin(&mut self, session: &mut ClientSession) -> Result<()> {
        if let Some(cause) = self.cause.take()
            && let Some(pause) = self.run.pause(session.client().executor().jitter())
        {
            if !self.allows(pause) {
                return Err(self.timed_out(cause));
            }
            tokio::time::sleep(pause).await;
        }
        session.begin(self.options.clone())?;
        self.run.begin();
        Ok(())
    }

    /// The time limit expired, and `error` is why the transaction is not complete.
    fn timed_out(&mut self, error: Error) -> Error {
        error.into_transaction_timeout(self.timeout.source(), self.operation_error.take())
    }

    /// Commits, or aborts if the body failed. Returns the outcome of the whole run, or `None` if the
    /// transaction is to be run again.
    pub(super) async fn end<T, E: From<Error> + 'static>(
        &mut self,
        session: &mut ClientSession,
        outcome: Result<T, E>,
    ) -> Option<Result<T, E>> {
        let value = match outcome {
            Ok(value) => value,
            Err(error) => {
                // Before the abort, which has errors of its own.
                let cause = transient(session, &error);
                self.operation_error = None;
                let is_aborted = abort_open(session).await;
                self.cause = cause.filter(|_| is_aborted);
                return self.cause.is_none().then_some(Err(error));
            }
        };
        if !session.in_transaction() {
            return Some(Ok(value));
        }
        loop {
            let Err(mut error) = session.commit(None).await else {
                return Some(Ok(value));
            };
            self.operation_error = self
                .session
                .lock()
                .transaction()
                .and_then(|transaction| transaction.operation_error().cloned());
            let next = TransactionRun::after_commit(&error);
            let pause = TransactionRun::pause_before_commit(&error);
            let has_time = self.allows(pause) && !error.is_too_late();
            if next == AfterCommit::CommitAgain && has_time {
                tokio::time::sleep(pause).await;
                continue;
            }
            // A commit that no server can have run, e.g. because its reply could not arrive in time,
            // leaves the transaction open, so it is aborted. The abort has `timeoutMS` again. Without
            // `timeoutMS`, none follows the last repetition of a commit: it would wait once more for a
            // server that was not found.
            let is_limited = self.timeout.is_set() || next != AfterCommit::CommitAgain;
            let cancel = |run: &Self| {
                let mut session = run.session.lock();
                session.transaction_mut().is_some_and(Transaction::cancel_end)
            };
            // The label of a commit that was not sent in time is an addition of the driver. Another error is
            // reported as it is.
            if is_limited && cancel(self) && error.is_too_late() {
                error = error.without_label(UNKNOWN_TRANSACTION_COMMIT_RESULT);
            }
            let is_aborted = abort_open(session).await;
            self.session.end_transaction_span();
            return match next {
                AfterCommit::CommitAgain => Some(Err(self.timed_out(error).into())),
                AfterCommit::RunAgain if is_aborted => {
                    self.cause = Some(error);
                    None
                }
                AfterCommit::RunAgain | AfterCommit::Report => Some(Err(error.into())),
            };
        }
    }
}

/// Aborts the transaction unless it was aborted, or its commit was sent. Returns whether another can
/// be started: not if another command of the transaction is still running.
async fn abort_open(session: &ClientSession) -> bool {
    if session.in_transaction() {
        // The errors of the command are ignored.
        let _ = session.abort(None).await;
    }
    !session.in_transaction()
}

impl Drop for Attempts {
    /// Later operations in the session are not part of the transaction.
    fn drop(&mut self) {
        self.session.lock().end_run(self.outer);
    }
}

/// The error for which the transaction is run again. The driver's errors have the label. What errors
/// of other types contain is unknown, so the error that an operation of the transaction met decides.
fn transient<E: 'static>(session: &ClientSession, error: &E) -> Option<Error> {
    match (error as &dyn Any).downcast_ref::<Error>() {
        Some(own) => own
            .contains_label(TRANSIENT_TRANSACTION_ERROR)
            .then(|| own.clone()),
        None => session.shared().lock().transaction()?.transient().cloned(),
    }
}

//! The attempts of the convenient API.

use std::{
    any::Any,
    time::{Duration, Instant},
};

use crate::{
    ClientSession, Error, Result, TRANSIENT_TRANSACTION_ERROR,
    proto::session::{AfterCommit, TransactionRun, TransactionState},
    types::transaction_options::TransactionOptions,
};

/// The attempts of one transaction, with their time limit.
pub(super) struct Attempts {
    options: TransactionOptions,
    run: TransactionRun,
    began: Instant,
    limit: Duration,
    /// The error for which the transaction is run again.
    cause: Option<Error>,
}

impl Attempts {
    pub(super) fn new(options: TransactionOptions, limit: Duration) -> Self {
        Self {
            options,
            run: TransactionRun::default(),
            began: Instant::now(),
            limit,
            cause: None,
        }
    }

    /// Whether a pause that begins now ends within the time limit.
    fn allows(&self, pause: Duration) -> bool {
        self.began.elapsed().saturating_add(pause) < self.limit
    }

    /// Starts the transaction, after a pause if it was run before.
    pub(super) async fn begin(&mut self, session: &mut ClientSession) -> Result<()> {
        if let Some(cause) = self.cause.take()
            && let Some(pause) = self.run.pause(session.client().executor().jitter())
        {
            if !self.allows(pause) {
                return Err(timed_out(cause));
            }
            tokio::time::sleep(pause).await;
        }
        session.begin(self.options.clone())?;
        self.run.begin();
        Ok(())
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
                self.cause = transient(session, &error);
                if session.in_transaction() {
                    // The errors of the command are ignored.
                    let _ = session.abort().await;
                }
                return self.cause.is_none().then_some(Err(error));
            }
        };
        if !session.in_transaction() {
            return Some(Ok(value));
        }
        loop {
            let Err(error) = session.commit().await else {
                return Some(Ok(value));
            };
            match TransactionRun::after_commit(&error) {
                AfterCommit::CommitAgain if self.allows(Duration::ZERO) => {}
                AfterCommit::CommitAgain => return Some(Err(timed_out(error).into())),
                AfterCommit::RunAgain => {
                    if session.transaction_state() == TransactionState::InProgress {
                        // The commit was not sent.
                        let _ = session.abort().await;
                    }
                    self.cause = Some(error);
                    return None;
                }
                AfterCommit::Report => return Some(Err(error.into())),
            }
        }
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

/// The timeout form of the last error.
fn timed_out(cause: Error) -> Error {
    cause
}

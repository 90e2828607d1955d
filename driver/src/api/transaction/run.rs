//! The attempts of the convenient API.

use std::{
    any::Any,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    ClientSession, Error, Result, TRANSIENT_TRANSACTION_ERROR,
    execution::ExplicitSession,
    proto::session::{AfterCommit, TransactionRun, TransactionState},
    types::{timeout::Timeout, transaction_options::TransactionOptions},
};

/// The attempts of one transaction, with their time limit.
pub(super) struct Attempts {
    options: TransactionOptions,
    run: TransactionRun,
    began: Instant,
    limit: Duration,
    /// `timeoutMS`, which replaces `limit`. The operations of the transaction share it.
    timeout: Timeout,
    /// `timeoutMS` of the run, which an abort has again.
    full_timeout: Option<Duration>,
    session: Arc<ExplicitSession>,
    /// The error for which the transaction is run again.
    cause: Option<Error>,
}

impl Attempts {
    /// `limit` is the time limit without `timeoutMS`, `timeout` the option of the operation.
    pub(super) fn new(
        session: &ClientSession,
        options: TransactionOptions,
        limit: Duration,
        timeout: Option<Duration>,
    ) -> Self {
        let session = Arc::clone(session.shared());
        let inherited = session.lock().default_timeout();
        let full_timeout = timeout.or(inherited);
        let timeout = Timeout::start(full_timeout);
        session.lock().set_timeout(timeout);
        Self {
            timeout,
            full_timeout,
            session,
            options,
            run: TransactionRun::default(),
            began: Instant::now(),
            limit,
            cause: None,
        }
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
                return Err(cause.into_timeout());
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
                    let _ = session.abort(self.full_timeout).await;
                }
                return self.cause.is_none().then_some(Err(error));
            }
        };
        if !session.in_transaction() {
            return Some(Ok(value));
        }
        loop {
            let Err(error) = session.commit(None).await else {
                return Some(Ok(value));
            };
            match TransactionRun::after_commit(&error) {
                AfterCommit::CommitAgain if self.allows(Duration::ZERO) => {}
                AfterCommit::CommitAgain => {
                    self.session.end_transaction_span();
                    return Some(Err(error.into_timeout().into()));
                }
                AfterCommit::RunAgain => {
                    if session.transaction_state() == TransactionState::InProgress {
                        // The commit was not sent.
                        let _ = session.abort(self.full_timeout).await;
                    }
                    self.session.end_transaction_span();
                    self.cause = Some(error);
                    return None;
                }
                AfterCommit::Report => {
                    self.session.end_transaction_span();
                    return Some(Err(error.into()));
                }
            }
        }
    }
}

impl Drop for Attempts {
    /// Later operations in the session are not part of the transaction.
    fn drop(&mut self) {
        self.session.lock().set_timeout(Timeout::UNSET);
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

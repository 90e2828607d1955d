//! [`Client::transaction`] and [`ClientSession::with_transaction`]: the convenient API.

use std::{pin::pin, time::Duration};

use super::{TransactionScope, run::Attempts};
use crate::{
    Client, ClientSession, Error,
    execution::{Body, admit},
    proto::session::TransactionRun,
    types::transaction_options::{TransactionOptions, transaction_setters},
};

impl Client {
    /// A transaction that [`run`](TransactionSettings::run) runs in a session of its own, commits,
    /// and runs again where that helps.
    ///
    /// ```no_run
    /// # use marula_driver::{Client, Result, bson::{Document, doc}};
    /// # async fn run(client: Client) -> Result<()> {
    /// let accounts = client.database("bank").collection::<Document>("accounts");
    /// let transfer = async |from: &str, to: &str, amount: i64| {
    ///     client
    ///         .transaction()
    ///         .run(async |tx| {
    ///             let (taken, given) = (doc! { "$inc": { "n": -amount } }, doc! { "$inc": { "n": amount } });
    ///             accounts.update_one(doc! { "_id": from }, taken).session(tx).await?;
    ///             accounts.update_one(doc! { "_id": to }, given).session(tx).await
    ///         })
    ///         .await
    /// };
    /// transfer("ada", "grace", 5).await?;
    /// # Ok(()) }
    /// ```
    pub fn transaction(&self) -> TransactionSettings {
        TransactionSettings {
            client: self.clone(),
            options: TransactionOptions::default(),
            limit: TransactionRun::TIME_LIMIT,
            timeout: None,
            is_strict: false,
        }
    }
}

impl ClientSession {
    /// As [`Client::transaction`], in this session: with its options, and with causal consistency
    /// to its other operations (`withTransaction` of the specification). For the errors, and for what dropping
    /// the future does, see [`run`](SessionTransaction::run).
    ///
    /// ```no_run
    /// # use marula_driver::{Client, Result, bson::{Document, doc}};
    /// # async fn run(client: Client) -> Result<()> {
    /// let books = client.database("shop").collection::<Document>("books");
    /// let mut session = client.start_session().await?;
    /// session
    ///     .with_transaction()
    ///     .run(async |session| books.insert_one(&doc! { "_id": 1 }).session(session).await)
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn with_transaction(&mut self) -> SessionTransaction<'_> {
        SessionTransaction {
            session: self,
            options: TransactionOptions::default(),
            limit: TransactionRun::TIME_LIMIT,
            timeout: None,
            is_strict: false,
        }
    }
}

/// Setters of both forms.
macro_rules! run_setters {
    () => {
        /// Replaces all options, also those that setters have set before.
        pub fn with_options(mut self, options: TransactionOptions) -> Self {
            self.options = options;
            self
        }

        /// `timeoutMS`: the time limit for the whole run, with all attempts, pauses and commits. The
        /// operations of the body that are passed the session share it, and setting a timeout for
        /// one of them is an error; it does not limit other operations and code. An abort has the
        /// full time limit again. An error within the body of another run that has a time limit, which
        /// includes this run. Zero means no limit. Default:
        /// [`default_timeout`](crate::action::StartSession::default_timeout) of the session, or
        /// else 120 s, after which the transaction is not run again.
        pub fn timeout(mut self, value: Duration) -> Self {
            self.timeout = Some(value);
            self
        }

        /// Calls of the body on the same client that are not part of the transaction are errors
        /// ([`InvalidArgument`](crate::ErrorKind::InvalidArgument)), before anything is sent: those without a
        /// [bound handle](ClientSession::bind) and without `.session(..)`. Default: a debug build with the feature
        /// `tracing` logs the first of each run at level warn.
        ///
        /// A task that the body spawns is not observed; nor is reading a cursor that was opened before.
        /// A call that is meant to be outside is awaited with [`outside_transaction`](crate::outside_transaction).
        ///
        /// ```no_run
        /// # use marula_driver::{Client, bson::{Document, doc}};
        /// # async fn run(client: Client) {
        /// let books = client.database("library").collection::<Document>("books");
        /// let refused = client
        ///     .transaction()
        ///     .strict()
        ///     .run(async |_tx| books.insert_one(&doc! { "_id": 1 }).await) // the session is missing
        ///     .await;
        /// assert!(refused.is_err());
        /// # }
        /// ```
        pub fn strict(mut self) -> Self {
            self.is_strict = true;
            self
        }

        /// Replaces the time limit of 120 s, for tests.
        #[cfg(feature = "internals")]
        #[doc(hidden)]
        pub fn time_limit(mut self, limit: Duration) -> Self {
            self.limit = limit;
            self
        }
    };
}

/// The options of a transaction in a session of its own. See [`Client::transaction`].
#[must_use = "nothing happens before the transaction is run"]
#[derive(Clone, Debug)]
pub struct TransactionSettings {
    client: Client,
    options: TransactionOptions,
    limit: Duration,
    timeout: Option<Duration>,
    is_strict: bool,
}

impl TransactionSettings {
    transaction_setters!(options);
    run_setters!();

    /// Starts a transaction, awaits `body`, and commits. Returns the value of the body.
    ///
    /// If the body or the commit fails with the label
    /// [`TRANSIENT_TRANSACTION_ERROR`](crate::TRANSIENT_TRANSACTION_ERROR), the transaction is
    /// aborted and run again after a pause of at most 500 ms. A commit whose result is unknown is
    /// repeated. Both end after the [timeout](Self::timeout), or else after 120 s. If the body itself
    /// commits or aborts, its value is returned.
    ///
    /// **The body can run several times.** It is cloned for each attempt, so it can capture shared
    /// references and values that can be cloned, but cannot change captured variables. Its effects
    /// outside the transaction are not undone.
    ///
    /// The body can return any error type that the driver's errors convert to: an enum of the
    /// application, `anyhow::Error`, `Box<dyn Error + Send + Sync>`. The body must return the errors
    /// of the operations in the transaction. If it handled one and continued, the commit would fail,
    /// and the transaction would be run again until the time limit. For other handling of errors,
    /// use [`Client::start_transaction`].
    ///
    /// If nothing else says which error the body returns, its last value must: `Ok::<_, Error>(n)`.
    ///
    /// If the body dropped the future of an operation, or an operation timed out, the server may still run its
    /// command: the next command of the transaction, or of the next attempt, waits for the late reply once, for
    /// up to 3 s, or half of the [timeout](Self::timeout) that is left.
    ///
    /// The driver cannot inspect errors of other types. Such an error causes another attempt if an
    /// operation of the transaction returned an error with the label, and is returned otherwise.
    ///
    /// # Errors
    /// The errors of the body and the commit, unchanged. If the time limit has expired, an error
    /// with [`is_timeout`](Error::is_timeout), the labels of the last error, and the last error as
    /// its source. The error of an operation that the body did not return is
    /// [`operation_error`](crate::TimeoutError::operation_error). [`Shutdown`](crate::ErrorKind::Shutdown) if the
    /// client shuts down, was shut down, or its runtime has ended; a run that has begun continues until the
    /// deadline of the shutdown.
    ///
    /// # Cancel safety
    /// If the future is dropped, the transaction is aborted in the background, unless its commit was
    /// sent.
    pub async fn run<T, E, F>(self, body: F) -> Result<T, E>
    where
        F: AsyncFnOnce(&mut TransactionScope) -> Result<T, E> + Clone,
        E: From<Error> + 'static,
    {
        // Boxed: the future of the caller contains a pointer and not the future of the body.
        Box::pin(async move {
            let client = self.client.clone();
            admit(client.executor().is_closing(), None)?;
            let _running = client.executor().enter();
            let mut observed = Body::observed(client.executor(), self.is_strict);
            let mut tx = TransactionScope::new(self.client.start_session().await?);
            let mut attempts = Attempts::new(&tx, self.options, self.limit, self.timeout)?;
            loop {
                attempts.begin(&mut tx).await?;
                let outcome = {
                    // Pinned here, so that the future contains that of the body once.
                    let running = pin!(body.clone()(&mut tx));
                    Body::observe(&mut observed, running).await
                };
                if let Some(outcome) = attempts.end(&mut tx, outcome).await {
                    return outcome;
                }
            }
        })
        .await
    }
}

/// The options of a transaction in a session of the application. See
/// [`ClientSession::with_transaction`].
#[must_use = "nothing happens before the transaction is run"]
#[derive(Debug)]
pub struct SessionTransaction<'s> {
    session: &'s mut ClientSession,
    options: TransactionOptions,
    limit: Duration,
    timeout: Option<Duration>,
    is_strict: bool,
}

impl SessionTransaction<'_> {
    transaction_setters!(options);
    run_setters!();

    /// As [`TransactionSettings::run`].
    ///
    /// # Errors
    /// As [`TransactionSettings::run`]. [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if a
    /// transaction is in progress.
    ///
    /// # Cancel safety
    /// If the future is dropped while the body is running, the transaction remains in progress:
    /// abort it, or drop the session, which aborts it in the background. If it is dropped after the
    /// commit was sent, the result is unknown, and
    /// [`commit_transaction`](ClientSession::commit_transaction) can be called. If it is dropped
    /// after the abort of an attempt was sent, no transaction is in progress.
    /// [`ClientSession::transaction_state`] returns which of them applies.
    pub async fn run<T, E, F>(self, body: F) -> Result<T, E>
    where
        F: AsyncFnOnce(&mut ClientSession) -> Result<T, E> + Clone,
        E: From<Error> + 'static,
    {
        Box::pin(async move {
            let session = self.session;
            let client = session.client().clone();
            admit(client.executor().is_closing(), None)?;
            let _running = client.executor().enter();
            let mut observed = Body::observed(client.executor(), self.is_strict);
            let mut attempts = Attempts::new(session, self.options, self.limit, self.timeout)?;
            loop {
                attempts.begin(session).await?;
                let outcome = {
                    let running = pin!(body.clone()(session));
                    Body::observe(&mut observed, running).await
                };
                if let Some(outcome) = attempts.end(session, outcome).await {
                    return outcome;
                }
            }
        })
        .await
    }
}

//! The methods of a session that start and end a transaction.

use std::time::Duration;

use crate::{
    Client, ClientSession, Error, Result,
    api::command::{EndTransaction, awaitable},
    execution::{SessionHandle, admit, start_abort_timeout, start_timeout},
    proto::session::{TransactionCommand, TransactionState},
    types::{
        timeout::Timeout,
        transaction_options::{TransactionOptions, transaction_setters},
    },
};

impl ClientSession {
    /// Starts a transaction in the session. Nothing is sent: the server starts it with its first
    /// command.
    ///
    /// Operations are part of the transaction if the session is passed to them
    /// (`.session(&mut session)`), until [`commit_transaction`](Self::commit_transaction) or
    /// [`abort_transaction`](Self::abort_transaction). [`Client::transaction`] runs a whole
    /// transaction and repeats it where that helps; [`Client::start_transaction`] returns a guard
    /// that aborts the transaction when it is dropped.
    ///
    /// When all connections of the pool are in use, the commit and the abort wait for one in the order of all
    /// operations, and the server holds the locks of the transaction meanwhile: see
    /// [`max_pool_size`](crate::options::ClientOptions::max_pool_size).
    ///
    /// An error of the server may abort the transaction there, e.g. a duplicate key. A commit
    /// afterwards fails with `NoSuchTransaction`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) when the action is awaited: a
    /// transaction is in progress, the write concern is unacknowledged, or the session has ended or
    /// is a snapshot session. [`Shutdown`](crate::ErrorKind::Shutdown)
    /// if the client shuts down, was shut down, or its runtime has ended.
    /// The state of the session does not change. A deployment without transactions is reported by the first
    /// operation.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    ///
    /// ```no_run
    /// # use marula_driver::bson::{Document, doc};
    /// # async fn run(client: marula_driver::Client) -> marula_driver::Result<()> {
    /// let books = client.database("shop").collection::<Document>("books");
    /// let mut session = client.start_session().await?;
    /// session.start_transaction().await?;
    /// books.insert_one(&doc! { "_id": 1 }).session(&mut session).await?;
    /// session.commit_transaction().await?;
    /// # Ok(()) }
    /// ```
    pub fn start_transaction(&mut self) -> StartTransaction<'_> {
        StartTransaction {
            session: self,
            options: TransactionOptions::default(),
        }
    }

    /// Commits the transaction. Nothing is sent if no operation was run in it.
    ///
    /// The commit is attempted again as a retryable write, also if
    /// [`retry_writes`](crate::options::ClientOptions::retry_writes) is `false`.
    ///
    /// # Errors
    /// The errors of the server and the connection. With the label
    /// [`UNKNOWN_TRANSACTION_COMMIT_RESULT`](crate::UNKNOWN_TRANSACTION_COMMIT_RESULT) the commit
    /// can be called again, with
    /// [`TRANSIENT_TRANSACTION_ERROR`](crate::TRANSIENT_TRANSACTION_ERROR) the whole transaction can
    /// be run again. [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there is no
    /// transaction, if it was aborted, or if the future of an operation in it was dropped before
    /// the reply arrived.
    ///
    /// [`Shutdown`](crate::ErrorKind::Shutdown), also if nothing is to be sent, if the client was shut
    /// down or its runtime has ended.
    ///
    /// If the time limit expires while another command of the transaction is running, of a cursor in
    /// another task, nothing is sent and the transaction remains in progress. After all other errors
    /// of a commit, it cannot be aborted.
    ///
    /// # Late replies
    /// If the future of an operation or of a commit was dropped, or its time limit expired, the server may
    /// still run its command. The commit waits for the late reply before it is sent: for up to 3 s from the
    /// first wait, and for at most half of its own time limit. No later command waits for it again. It does not wait if an error has unpinned the
    /// session from its mongos.
    ///
    /// # Cancel safety
    /// If the future is dropped before the command is sent, the transaction remains in progress.
    /// Otherwise its result is unknown, and the commit can be called again.
    pub fn commit_transaction(&mut self) -> CommitTransaction<'_> {
        CommitTransaction {
            session: self,
            timeout: None,
        }
    }

    /// Aborts the transaction. Nothing is sent if no operation was run in it. Errors of the server
    /// and the connection are ignored: the server aborts the transaction when its time limit
    /// expires, and when another is started in the session.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there is no transaction, or if it
    /// was committed or aborted. [`Timeout`](crate::ErrorKind::Timeout) if the time limit expires
    /// while another command of the transaction is running, of a cursor in another task: the
    /// transaction remains in progress.
    ///
    /// # Late replies
    /// If the future of an operation was dropped, or its time limit expired, the server may still run its
    /// command. The abort waits for the late reply before it is sent, since it would have no effect before the
    /// command: for up to 3 s from the first wait, and for at most half of its own time limit. No later
    /// command waits for it again. It does not wait if an error has unpinned the session from its mongos.
    ///
    /// # Cancel safety
    /// If the future is dropped before the command is sent, the transaction remains in progress. The time
    /// that was waited for a late reply counts for the next call.
    ///
    /// ```no_run
    /// # async fn run(mut session: marula_driver::ClientSession) -> marula_driver::Result<()> {
    /// session.start_transaction().await?;
    /// // …
    /// session.abort_transaction().await?;
    /// # Ok(()) }
    /// ```
    pub fn abort_transaction(&mut self) -> AbortTransaction<'_> {
        AbortTransaction {
            session: self,
            timeout: None,
        }
    }

    /// Whether a transaction was started, and neither committed nor aborted.
    #[must_use]
    pub fn in_transaction(&self) -> bool {
        self.shared().lock().open_transaction().is_some()
    }

    /// The state of the transaction.
    #[must_use]
    pub fn transaction_state(&self) -> TransactionState {
        self.shared().lock().transaction_state()
    }

    /// Starts a transaction. The options that are not set are those of the session, then those of
    /// the client.
    pub(super) fn begin(&mut self, options: TransactionOptions) -> Result<()> {
        let concerns = self.client().concerns();
        let of_client = TransactionOptions {
            read_concern: Some(concerns.read_concern.clone()),
            write_concern: Some(concerns.write_concern.clone()),
            read_preference: Some(concerns.read_preference.clone()),
            max_commit_time: None,
        };
        let options = options.or(self.transaction_defaults()).or(&of_client);
        if let Some(concern) = &options.write_concern {
            concern.validate().map_err(Error::invalid_argument)?;
        }
        if let Some(preference) = &options.read_preference {
            preference.validate().map_err(Error::invalid_argument)?;
        }
        self.client().executor().start_transaction(self.shared(), options)
    }

    /// Commits the transaction. `timeout`: the option of the operation.
    pub(super) async fn commit(&self, timeout: Option<Duration>) -> Result<()> {
        let session = self.shared();
        let inherited = session.lock().default_timeout();
        // The time limit of the convenient API includes the commit.
        let timeout = start_timeout(timeout, Some(session), inherited)?;
        end(self.client(), session, TransactionCommand::Commit, timeout).await
    }

    /// Aborts the transaction. `timeout`: the option of the operation.
    pub(super) async fn abort(&self, timeout: Option<Duration>) -> Result<()> {
        abort(self.client(), self.shared(), timeout).await
    }
}

/// Aborts the transaction of a session. The errors of the command are ignored. The abort has the
/// full time limit, also after that of the convenient API has expired (Client Side Operations
/// Timeout, "Convenient Transactions API").
pub(in crate::api) async fn abort(
    client: &Client,
    session: &SessionHandle,
    timeout: Option<Duration>,
) -> Result<()> {
    let timeout = start_abort_timeout(timeout, session)?;
    end(client, session, TransactionCommand::Abort, timeout).await
}

/// Commits or aborts the transaction of a session. The commands of its cursors take their turn
/// before.
async fn end(
    client: &Client,
    session: &SessionHandle,
    command: TransactionCommand,
    timeout: Timeout,
) -> Result<()> {
    let mut operation = EndTransaction { session, command };
    let executor = client.executor();
    Box::pin(executor.end_transaction(session, command, timeout, &mut operation)).await
}

/// Starts a transaction. Await it; see [`ClientSession::start_transaction`].
#[must_use = "nothing happens before the action is awaited"]
#[derive(Debug)]
pub struct StartTransaction<'a> {
    session: &'a mut ClientSession,
    options: TransactionOptions,
}

impl StartTransaction<'_> {
    transaction_setters!(options);

    /// Replaces all options, also those that setters have set before.
    pub fn with_options(mut self, options: TransactionOptions) -> Self {
        self.options = options;
        self
    }

    async fn run(self) -> Result<()> {
        let session = self.session;
        // A transaction in progress is the more precise error.
        admit(session.client().executor().is_closing(), Some(session.shared()))?;
        session.begin(self.options)
    }
}

awaitable!(['a] StartTransaction<'a> => ());

/// Commits a transaction. Await it; see [`ClientSession::commit_transaction`].
///
/// # Cancel safety
/// If the future is dropped before the command is sent, the transaction remains in progress. Otherwise its result
/// is unknown, and the commit can be called again.
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct CommitTransaction<'a> {
    session: &'a mut ClientSession,
    timeout: Option<Duration>,
}

impl CommitTransaction<'_> {
    /// `timeoutMS`: the time limit for the whole operation, including server selection and
    /// retries. It replaces `max_commit_time` and `wtimeout`. Zero means no limit. Default:
    /// [`default_timeout`](crate::action::StartSession::default_timeout) of the session. An error within a
    /// transaction of the convenient API that has a time limit.
    pub fn timeout(mut self, value: Duration) -> Self {
        self.timeout = Some(value);
        self
    }

    async fn run(self) -> Result<()> {
        self.session.commit(self.timeout).await
    }
}

awaitable!(['a] CommitTransaction<'a> => ());

/// Aborts a transaction. Await it; see [`ClientSession::abort_transaction`].
///
/// # Cancel safety
/// If the future is dropped before the command is sent, the transaction remains in progress. Otherwise it has
/// ended.
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct AbortTransaction<'a> {
    session: &'a mut ClientSession,
    timeout: Option<Duration>,
}

impl AbortTransaction<'_> {
    /// `timeoutMS`: the time limit for the whole operation, including server selection and
    /// retries. Zero means no limit. Default:
    /// [`default_timeout`](crate::action::StartSession::default_timeout) of the session. An error within a
    /// transaction of the convenient API that has a time limit, which the abort has again from its
    /// beginning.
    pub fn timeout(mut self, value: Duration) -> Self {
        self.timeout = Some(value);
        self
    }

    async fn run(self) -> Result<()> {
        self.session.abort(self.timeout).await
    }
}

awaitable!(['a] AbortTransaction<'a> => ());

//! [`TransactionScope`]: a transaction that is aborted when it is dropped.

use std::{
    fmt,
    ops::{Deref, DerefMut},
};

use super::methods::CommitTransaction;
use crate::{
    Client, ClientSession, Result,
    api::command::awaitable,
    execution::admit,
    types::transaction_options::{TransactionOptions, transaction_setters},
};

impl Client {
    /// Starts a transaction in a session of its own. Nothing is sent: the server starts it with its
    /// first command.
    ///
    /// Pass the scope to actions with `.session(&mut tx)`. [`TransactionScope::commit`] commits;
    /// dropping the scope aborts. The caller handles errors and repetitions;
    /// [`transaction`](Self::transaction) does so itself.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) when the action is awaited, if the
    /// write concern is unacknowledged. [`Shutdown`](crate::ErrorKind::Shutdown)
    /// if the client shuts down, was shut down, or its runtime has ended. A
    /// deployment without transactions is reported by the first operation.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    ///
    /// ```no_run
    /// # use marula_driver::bson::{Document, doc};
    /// # async fn run(client: marula_driver::Client) -> marula_driver::Result<()> {
    /// let books = client.database("shop").collection::<Document>("books");
    /// let mut tx = client.start_transaction().await?;
    /// books.insert_one(&doc! { "_id": 1 }).session(&mut tx).await?;
    /// tx.commit().await?;
    /// # Ok(()) }
    /// ```
    pub fn start_transaction(&self) -> StartTransactionScope<'_> {
        StartTransactionScope {
            client: self,
            options: TransactionOptions::default(),
        }
    }
}

/// Starts a transaction in a session of its own. Await it for a [`TransactionScope`]; see
/// [`Client::start_transaction`].
#[must_use = "nothing happens before the action is awaited"]
#[derive(Debug)]
pub struct StartTransactionScope<'a> {
    client: &'a Client,
    options: TransactionOptions,
}

impl StartTransactionScope<'_> {
    transaction_setters!(options);

    /// Replaces all options, also those that setters have set before.
    pub fn with_options(mut self, options: TransactionOptions) -> Self {
        self.options = options;
        self
    }

    async fn run(self) -> Result<TransactionScope> {
        admit(self.client.executor().is_closing(), None)?;
        let mut session = self.client.start_session().await?;
        session.begin(self.options)?;
        Ok(TransactionScope { session })
    }
}

awaitable!(['a] StartTransactionScope<'a> => TransactionScope);

/// A transaction in a session of its own: the argument of the body of
/// [`TransactionSettings::run`](crate::action::TransactionSettings::run), and the guard that
/// [`Client::start_transaction`] returns.
///
/// It dereferences to its [`ClientSession`], so `.session(tx)` accepts a `tx: &mut
/// TransactionScope`, and a function that takes a `&mut ClientSession` can be called with it.
///
/// Dropping the scope aborts the transaction in a task on the runtime of the client, unless it was
/// committed or aborted. The session is reused after the abort. If an operation was dropped or timed out, the
/// task first waits for its late reply, for up to 3 s; see
/// [`abort_transaction`](ClientSession::abort_transaction). Until then, the server keeps the locks of the
/// transaction.
///
/// After [`commit`](Self::commit), the session has no transaction: operations with the scope are not
/// part of one, and take effect at once.
///
/// # Errors within a transaction
/// An error of the server may abort the transaction there, e.g. a duplicate key. A commit afterwards
/// fails with `NoSuchTransaction`. If the future of an operation is dropped before its reply
/// arrives, the next operation fails with the label
/// [`TRANSIENT_TRANSACTION_ERROR`](crate::TRANSIENT_TRANSACTION_ERROR): it is unknown what the
/// transaction contains.
///
/// # Cursors
/// A cursor that was opened in the transaction ends with it. The commands of cursors and actions of
/// one transaction are sent one after the other. Dropping such a cursor sends nothing, because the
/// server closes it at the end of the transaction.
pub struct TransactionScope {
    session: ClientSession,
}

impl TransactionScope {
    pub(super) fn new(session: ClientSession) -> Self {
        Self { session }
    }

    /// Commits the transaction, as [`ClientSession::commit_transaction`] does. It can be called
    /// again if the result is unknown.
    ///
    /// # Errors
    /// As [`ClientSession::commit_transaction`].
    ///
    /// # Cancel safety
    /// If the future is dropped before the command is sent, the transaction remains in progress, and dropping
    /// the scope aborts it. Otherwise its result is unknown, and the commit can be called again.
    ///
    /// ```no_run
    /// # use marula_driver::{Result, TransactionScope, UNKNOWN_TRANSACTION_COMMIT_RESULT};
    /// # async fn run(mut tx: TransactionScope) -> Result<()> {
    /// let committed = tx.commit().await;
    /// if committed.as_ref().is_err_and(|error| error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT)) {
    ///     tx.commit().await?;
    /// } else {
    ///     committed?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn commit(&mut self) -> CommitTransaction<'_> {
        self.session.commit_transaction()
    }

    /// Aborts the transaction and waits for the reply. Errors of the server and the connection are
    /// ignored. It waits for late replies as [`ClientSession::abort_transaction`] does.
    ///
    /// # Errors
    /// As [`ClientSession::abort_transaction`].
    ///
    /// # Cancel safety
    /// If the future is dropped, the transaction is aborted in the background.
    pub async fn abort(self) -> Result<()> {
        self.session.abort(None).await
    }
}

impl Deref for TransactionScope {
    type Target = ClientSession;

    fn deref(&self) -> &ClientSession {
        &self.session
    }
}

impl DerefMut for TransactionScope {
    fn deref_mut(&mut self) -> &mut ClientSession {
        &mut self.session
    }
}

impl fmt::Debug for TransactionScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransactionScope")
            .field("session", &self.session)
            .field("state", &self.session.transaction_state())
            .finish()
    }
}

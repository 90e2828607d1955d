//! Transactions: which operations are part of one, in turn and with what pin ([Transactions]).
//!
//! [Transactions]:
//! https://github.com/mongodb/specifications/blob/master/source/transactions/transactions.md

use std::{sync::Arc, time::Instant};

use super::{Executor, ExplicitSession, OperationState, PinnedBy, SessionHandle};
use crate::{
    Error, ErrorKind, Result, ServerAddress, UNKNOWN_TRANSACTION_COMMIT_RESULT,
    connection::Condition,
    operation::{Operation, Retry},
    pool::PooledConnection,
    proto::{
        retry::RetryOptions,
        server_selection::Criteria,
        session::{Pin, Transaction, TransactionCommand, TransactionError},
    },
    topology::{SelectedServer, Topology},
    types::{deadline::Elapsed, timeout::Timeout, transaction_options::TransactionOptions},
};

impl ExplicitSession {
    /// Gives the connection back to its pool if the session is no longer pinned to it.
    pub(super) fn settle_pin(&self) {
        let is_pinned = |transaction: &Transaction| transaction.pin() == Some(&Pin::Connection);
        if !self.lock().transaction().is_some_and(is_pinned) {
            self.release_connection();
        }
    }

    /// Runs `change` on the transaction, if there is one.
    pub(super) fn change_transaction<T>(&self, change: impl FnOnce(&mut Transaction) -> T) -> Option<T> {
        self.lock().transaction_mut().map(change)
    }

    /// Waits until no other command of the transaction is running, within the time limit of the
    /// operation. [`end_turn`](Self::end_turn) must be called after the command.
    async fn begin_turn(&self, timeout: Timeout) -> Result<()> {
        let begun = timeout.deadline(None).run(self.turn.begin()).await;
        begun.map_err(|Elapsed| Error::timed_out("while another command of the transaction was running"))
    }

    pub(super) fn end_turn(&self) {
        self.turn.end();
    }
}

impl OperationState<'_> {
    /// Whether the operation may concern a transaction of its session.
    /// [`enter_transaction`](Self::enter_transaction) must be called then.
    #[inline]
    pub(super) fn may_be_in_transaction<O: Operation>(
        &self,
        topology: &Arc<Topology>,
        operation: &O,
    ) -> bool {
        // The session of another client is refused later.
        self.explicit.is_some_and(|session| {
            session.belongs_to(topology)
                && (session.bound_to().is_some()
                    || session.lock().transaction().is_some()
                    || operation.cursor_transaction().is_some())
        })
    }

    /// Determines whether the operation is part of the transaction of its session, and waits for
    /// its turn if it is.
    ///
    /// # Errors
    /// The operation cannot be part of the transaction. Nothing was sent.
    pub(super) async fn enter_transaction<O: Operation>(&mut self, operation: &O) -> Result<()> {
        let Some(session) = self.explicit else {
            return Ok(());
        };
        let properties = operation.properties();
        if properties.transaction != TransactionCommand::Operation {
            self.transaction = Some(properties.transaction);
            return Ok(());
        }
        // Before the wait, so that a handle of another transaction fails at once.
        session.check_bound()?;
        if session.lock().open_transaction().is_some() {
            session.begin_turn(self.timeout).await?;
            self.has_turn = true;
            if session.change_transaction(|open| open.is_lost()) == Some(false) {
                session.await_late_replies(self.executor, self.timeout).await;
            }
        }
        let mut state = session.lock();
        if let Some(opened_in) = operation.cursor_transaction() {
            state.check_cursor(opened_in)?;
        }
        if let Some(number) = session.bound_to() {
            state.check_bound(number)?;
        }
        let Some(transaction) = state
            .transaction_mut()
            .filter(|transaction| transaction.is_open())
        else {
            state.forget_ended_transaction();
            drop(state);
            session.note_late_replies(self.executor);
            session.settle_pin();
            session.span.settle();
            return Ok(());
        };
        let is_read = matches!(
            properties.criteria,
            Criteria::Read(_) | Criteria::AggregateWithWrite(_)
        );
        transaction
            .check(operation.overrides(), is_read)
            .map_err(|refused| transaction.refuse(refused))?;
        self.transaction = Some(TransactionCommand::Operation);
        Ok(())
    }

    /// Adds the labels of transactions to the error of an attempt, and unpins the session where the
    /// specification requires it before a retry. [`failed`](Self::failed) follows if there is none.
    pub(super) fn attempt_failed(&self, error: Error) -> Error {
        let (Some(session), Some(command)) = (self.explicit, self.transaction) else {
            return error;
        };
        let labeled = session.change_transaction(|transaction| transaction.failed(command, error.clone()));
        session.settle_pin();
        labeled.unwrap_or(error)
    }

    /// The operation returns this error.
    pub(super) fn failed(&self, error: &Error) {
        if let (Some(session), Some(command)) = (self.explicit, self.transaction) {
            session.change_transaction(|transaction| transaction.returned(command, error));
            session.settle_pin();
        }
    }

    /// An attempt succeeded. `failure`: that of its write, in a reply with `ok: 1`.
    pub(super) fn attempt_succeeded(&self, failure: impl FnOnce() -> Option<Error>) {
        if let (Some(session), Some(command)) = (self.explicit, self.transaction) {
            session.change_transaction(|transaction| {
                transaction.succeeded(command);
                if let Some(failure) = failure() {
                    transaction.write_failed(failure);
                }
            });
            session.settle_pin();
        }
    }

    /// The mongos that the next command of the transaction must be sent to.
    pub(super) fn pinned_mongos(&self) -> Option<ServerAddress> {
        self.transaction?;
        let session = self.explicit?.lock();
        match session.transaction()?.pin()? {
            Pin::Mongos(address) => Some(address.clone()),
            Pin::Connection => None,
        }
    }

    /// Whether the future of an operation of the transaction was dropped while its reply was outstanding.
    pub(super) fn is_lost(&self) -> bool {
        let lost = |transaction: &mut Transaction| transaction.is_lost();
        self.explicit.and_then(|session| session.change_transaction(lost)) == Some(true)
    }

    /// An available connection. None for an abort, whose check-out may have begun before.
    #[inline]
    pub(super) fn try_check_out(&self, server: &SelectedServer, now: Instant) -> Option<PooledConnection> {
        match self.transaction {
            Some(TransactionCommand::Abort) => None,
            _ => server.try_check_out(now),
        }
    }

    /// The connection that the session is pinned to.
    pub(super) fn take_pinned_connection(&self) -> Option<Box<PooledConnection>> {
        self.transaction?;
        self.explicit?.take_connection()
    }

    /// Returns the connection to the session after an attempt, if the session is pinned to it.
    /// `is_network`: the attempt failed with a network error, which unpins the session.
    pub(super) fn keep_connection(&self, connection: PooledConnection, is_network: bool) {
        let Some(session) = self.explicit else { return };
        let is_broken = connection.condition() == Condition::Broken;
        drop(connection);
        if is_broken {
            session.change_transaction(|transaction| {
                if is_network {
                    transaction.unpin();
                } else {
                    transaction.connection_broke();
                }
            });
            return;
        }
        session.settle_pin();
    }

    /// Pins the session to the server, or to the connection behind a load balancer, before the
    /// first command of the transaction.
    #[inline]
    pub(super) fn pin(&self, server: &SelectedServer, connection: &mut PooledConnection) -> PinnedBy {
        match (self.explicit, self.transaction) {
            (Some(session), Some(TransactionCommand::Operation)) => {
                Self::pin_in_transaction(session, server, connection)
            }
            _ => PinnedBy::Nothing,
        }
    }

    #[inline(never)]
    fn pin_in_transaction(
        session: &ExplicitSession,
        server: &SelectedServer,
        connection: &mut PooledConnection,
    ) -> PinnedBy {
        let (pin, pinned_by) = if server.is_load_balancer() {
            (Pin::Connection, PinnedBy::Transaction)
        } else if server.is_router() {
            (Pin::Mongos(server.address().clone()), PinnedBy::Nothing)
        } else {
            return PinnedBy::Nothing;
        };
        // After a transient error, the session stays unpinned until the transaction is aborted.
        let is_first = session.change_transaction(|transaction| {
            let is_first = transaction.is_first();
            if is_first {
                transaction.pin_to(pin);
            }
            is_first
        });
        if is_first != Some(true) {
            return PinnedBy::Nothing;
        }
        if pinned_by == PinnedBy::Transaction {
            session.pin_connection(connection);
        }
        pinned_by
    }

    /// Which option permits retries, and whether the operation is retryable. Commit and abort are
    /// retryable whatever the options are, and the operations of a transaction are not.
    pub(super) fn retry_options(&self, options: RetryOptions, retry: Retry) -> (RetryOptions, bool) {
        match self.transaction {
            None => (options, retry != Retry::No),
            Some(TransactionCommand::Operation) => (options, false),
            Some(TransactionCommand::Commit | TransactionCommand::Abort) => {
                let writes = true;
                (RetryOptions { writes, ..options }, true)
            }
        }
    }

    /// The future of the operation ends. If a reply is outstanding, it is unknown what the
    /// transaction contains. If the future was dropped before the command was sent, the transaction is
    /// as before, unless it was pinned to the connection, which returns to the session.
    pub(super) fn leave_transaction(&mut self) {
        let (Some(session), true) = (self.explicit, self.has_turn || self.transaction.is_some()) else {
            return;
        };
        if !self.in_flight && session.lacks_connection() {
            session.change_transaction(Transaction::lost_connection);
        }
        if let (true, Some(command)) = (self.in_flight, self.transaction) {
            let is_held = session.holds_connection();
            session.change_transaction(|transaction| {
                transaction.lost(command);
                // Its command was not sent completely.
                if !is_held {
                    transaction.connection_closed();
                }
            });
            session.settle_pin();
        }
        if std::mem::take(&mut self.has_turn) {
            session.end_turn();
        }
    }
}

impl Executor {
    /// Starts a transaction in the session. Nothing is sent.
    pub(crate) fn start_transaction(
        &self,
        session: &ExplicitSession,
        options: TransactionOptions,
    ) -> Result<()> {
        let started = session.lock().start_transaction(options);
        // The connection of the preceding transaction.
        session.settle_pin();
        started?;
        session.hold_transaction(&self.settings.in_flight);
        self.trace_transaction(session);
        Ok(())
    }

    /// Commits or aborts the transaction of a session, by `operation`. The errors of an abort are
    /// ignored: the server aborts the transaction in any case.
    ///
    /// If the future is dropped before the command was sent, or the time limit expires while another
    /// command of the transaction is running, the transaction is still in progress.
    pub(crate) async fn end_transaction<O: Operation<Output = ()>>(
        &self,
        session: &SessionHandle,
        command: TransactionCommand,
        timeout: Timeout,
        operation: &mut O,
    ) -> Result<()> {
        let turn = session.begin_turn(timeout).await;
        turn.map_err(|error| command.label(error))?;
        let mut ending = Ending {
            executor: self,
            session,
            is_cancelable: false,
        };
        let has_run = {
            let mut state = session.lock();
            if state.server.is_none() {
                return Err(TransactionError::SessionEnded.into());
            }
            let transaction = state.transaction_mut().ok_or(TransactionError::NotStarted)?;
            let begun = match command {
                TransactionCommand::Commit => transaction.begin_commit(),
                TransactionCommand::Abort | TransactionCommand::Operation => transaction.begin_abort(),
            };
            begun.map_err(|refused| transaction.refuse(refused))?
        };
        let result = if has_run {
            ending.is_cancelable = true;
            session.await_late_replies(self, timeout).await;
            let result = self.run_in(Some(session), timeout, operation).await;
            ending.is_cancelable = false;
            result
        } else {
            // The server does not know the transaction, so that nothing needs its connection.
            session.change_transaction(Transaction::unpin);
            session.settle_pin();
            if command == TransactionCommand::Commit && self.topology.is_closed() {
                Err(Error::new(ErrorKind::Shutdown))
            } else {
                Ok(())
            }
        };
        session.hold_transaction(&self.settings.in_flight);
        if command == TransactionCommand::Abort {
            session.change_transaction(Transaction::unpin);
            session.settle_pin();
            session.span.end(None);
            return Ok(());
        }
        match &result {
            // The commit can be repeated.
            Err(error) if error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT) => {
                session.span.commit_failed(error);
            }
            result => session.span.end(result.as_ref().err()),
        }
        result
    }
}

/// The turn of a commit or an abort.
struct Ending<'a> {
    executor: &'a Executor,
    session: &'a ExplicitSession,
    /// The command is running. If it was not sent when its future is dropped, the transaction is
    /// still in progress.
    is_cancelable: bool,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if self.is_cancelable {
            self.session.change_transaction(Transaction::cancel_end);
            self.session.hold_transaction(&self.executor.settings.in_flight);
            self.session.span.interrupted();
        }
        self.session.end_turn();
    }
}

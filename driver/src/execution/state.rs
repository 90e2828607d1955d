//! The state of one operation between its attempts, and the error of an attempt.

use super::{Executor, SessionHandle};
use crate::{
    Error, ServerAddress,
    proto::{
        retry::RetryPolicy,
        session::{ServerSession, TransactionCommand},
    },
    telemetry::OperationScope,
    topology::SelectedServer,
    types::timeout::Timeout,
};

/// The state of an operation after a failed attempt.
pub(super) struct Retries {
    pub(super) policy: RetryPolicy,
    /// Deprioritized servers.
    pub(super) avoid: Vec<ServerAddress>,
}

/// What the attempts of one operation share.
pub(super) struct OperationState<'a> {
    pub(super) executor: &'a Executor,
    pub(super) scope: &'a OperationScope,
    /// The explicit session.
    pub(super) explicit: Option<&'a SessionHandle>,
    /// The implicit session, if there is no explicit one.
    pub(super) session: Option<ServerSession>,
    /// `txnNumber` of a retryable write.
    pub(super) number: Option<i64>,
    pub(super) timeout: Timeout,
    /// Created after the first failed attempt.
    pub(super) retries: Option<Box<Retries>>,
    /// Whether a command may have been sent whose reply has not been read.
    pub(super) in_flight: bool,
    /// Whether [`ExplicitSession::leave`](super::ExplicitSession::leave) must be called.
    pub(super) has_entered: bool,
    /// What the command is to the transaction of the explicit session, if it is part of it.
    pub(super) transaction: Option<TransactionCommand>,
    /// Whether [`ExplicitSession::end_turn`](super::ExplicitSession::end_turn) must be called.
    pub(super) has_turn: bool,
}

/// What a connection stays in use for after the operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PinnedBy {
    Nothing,
    Cursor,
    Transaction,
}

impl<'a> OperationState<'a> {
    pub(super) fn new(
        executor: &'a Executor,
        scope: &'a OperationScope,
        explicit: Option<&'a SessionHandle>,
        timeout: Timeout,
    ) -> Self {
        Self {
            executor,
            scope,
            explicit,
            session: None,
            number: None,
            timeout,
            retries: None,
            in_flight: false,
            has_entered: false,
            transaction: None,
            has_turn: false,
        }
    }

    /// Deprioritized servers.
    pub(super) fn avoid(&self) -> &[ServerAddress] {
        self.retries.as_ref().map_or(&[], |retries| &retries.avoid)
    }

    /// The transaction number: a retry has that of the first attempt.
    pub(super) fn number(&mut self, session: &mut ServerSession) -> i64 {
        *self
            .number
            .get_or_insert_with(|| session.next_transaction_number())
    }

    /// Marks the session as dirty, after "a network error is encountered when executing any command"
    /// in it (Driver Sessions, "Server Session Pool"). That of a check-out is none: no command was sent
    /// in the session, so none "may be left running on the server".
    pub(super) fn mark_dirty(&mut self) {
        if let Some(explicit) = self.explicit {
            explicit.lock().mark_dirty();
        } else if let Some(session) = &mut self.session {
            session.mark_dirty();
        }
    }

    /// Ends the command in the explicit session. `is_dirty`: the server may still run it.
    pub(super) fn leave(&mut self, is_dirty: bool) {
        if std::mem::take(&mut self.has_entered)
            && let Some(explicit) = self.explicit
        {
            explicit.leave(is_dirty);
        }
    }
}

impl OperationState<'_> {
    /// Returns the implicit session of an operation whose future is dropped while no command is running in
    /// the session: between two attempts, while a command is encrypted or its reply decrypted, and during the
    /// reauthentication of its connection.
    #[cold]
    fn give_back_session(&mut self) {
        if !self.in_flight {
            self.executor.give_back_fresh(self.session.take());
        }
    }
}

impl Drop for OperationState<'_> {
    /// Marks the explicit session as dirty if the future of the operation is dropped while the
    /// server may still run its command, so that it does not return to the session pool (Driver
    /// Sessions specification: a session id "MUST NOT be used simultaneously by more than one
    /// operation"). An implicit session is dropped with this value then, and returns to the session pool
    /// otherwise.
    fn drop(&mut self) {
        // Not of an operation that has ended.
        if self.session.is_some() {
            self.give_back_session();
        }
        self.leave(self.in_flight);
        self.leave_transaction();
    }
}

/// The error of an attempt, and the server.
pub(super) struct Failure {
    pub(super) error: Error,
    pub(super) origin: Origin,
}

#[derive(Default)]
pub(super) struct Origin {
    pub(super) address: Option<ServerAddress>,
    pub(super) router: bool,
}

impl Failure {
    pub(super) fn nowhere(error: Error) -> Self {
        Self {
            error,
            origin: Origin::default(),
        }
    }

    pub(super) fn at(server: &SelectedServer, error: Error) -> Self {
        Self {
            error,
            origin: Origin {
                address: Some(server.address().clone()),
                router: server.is_router(),
            },
        }
    }
}

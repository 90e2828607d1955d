//! The replies that operations in a session have given up: how long the next command of a transaction waits for
//! them, and what the session takes of them.

use std::time::Duration;

use tokio::time::Instant;

use super::{Executor, ExplicitSession, OperationState, PinnedBy};
use crate::{
    Result,
    connection::Condition,
    pool::PooledConnection,
    proto::{
        command::{Reply, state_change_in},
        session::Transaction,
    },
    topology::SelectedServer,
    types::{
        cancellation::{complete_unless_cancelled, run_until_cancelled},
        deadline::{Deadline, Elapsed},
        timeout::Timeout,
    },
};

/// The longest wait of the commands of a transaction for replies that operations have given up.
const LONGEST_WAIT: Duration = Duration::from_secs(3);

impl ExplicitSession {
    /// Before each command of a transaction: waits for the replies that operations have given up, and takes what
    /// they say about the session. An abort that the server performs before such a command has no effect: the
    /// command then starts the transaction again, whose locks are held until it expires. And a session id "MUST NOT
    /// be used simultaneously by more than one operation" (Driver Sessions).
    ///
    /// Waits at most as long as [`patience`](Self::patience) permits, then the command is sent in any case. After
    /// 3 s in all, no later command waits for these replies.
    pub(super) async fn await_late_replies(&self, executor: &Executor, timeout: Timeout) {
        if self.late_replies.is_empty() {
            return;
        }
        // After an error, the command can be sent to another mongos. It is not to wait for the one that did
        // not reply.
        let is_unpinned =
            || self.change_transaction(|transaction: &mut Transaction| transaction.is_unpinned());
        // The next command awaits the reply on the pinned connection itself.
        if self.late_replies.is_awaited() && !self.holds_connection() && is_unpinned() != Some(true) {
            let limit = Deadline::at(Instant::now() + self.patience(timeout));
            let settled = limit.run(self.late_replies.settled());
            let urgent = executor.settings.in_flight.urgent();
            if let Some(Err(Elapsed)) = run_until_cancelled(urgent, settled).await {
                self.give_up_late_replies();
            }
        }
        self.note_late_replies(executor);
    }

    /// Takes the times of late replies, and the `recoveryToken` of those to commands of the current transaction
    /// ("Drivers MUST track the most recently received recoveryToken").
    pub(crate) fn note_late_replies(&self, executor: &Executor) {
        if !self.late_replies.has_unread() {
            return;
        }
        for late in self.late_replies.take() {
            if let Some(time) = &late.cluster_time {
                executor.clock.advance(time.as_bytes());
            }
            let mut session = self.lock();
            if let Some(time) = &late.cluster_time {
                session.advance_cluster_time(time);
            }
            if let Some(time) = late.operation_time {
                session.advance_operation_time(time);
            }
            let transaction = session.transaction_mut();
            if let Some(token) = &late.recovery_token
                && let Some(transaction) =
                    transaction.filter(|current| Some(current.number()) == late.transaction)
            {
                transaction.answered(token);
            }
        }
    }

    /// Not before they were awaited for long enough: a command with a short time limit must not end the wait of the
    /// abort that follows.
    fn give_up_late_replies(&self) {
        if self.late_replies.awaited_since().elapsed() >= LONGEST_WAIT {
            self.late_replies.give_up();
        }
    }

    /// How long the next command of the transaction waits for late replies: until 3 s after the first such
    /// wait, which may have been dropped, and for at most half of the time limit, so that the command can be
    /// sent. If the transaction is started again by the late command, the next transaction of the session
    /// ends it, or else the server after `transactionLifetimeLimitSeconds`.
    fn patience(&self, timeout: Timeout) -> Duration {
        let waited = self.late_replies.awaited_since().elapsed();
        let left = LONGEST_WAIT.saturating_sub(waited);
        timeout.remaining().map_or(left, |limit| left.min(limit / 2))
    }
}

impl Executor {
    /// Reads the outstanding reply on a pinned connection, before its next command. The next command of a
    /// transaction waits as long as for a reply on another connection. The times, the `recoveryToken` and the
    /// state change error of the reply are handled as those of another.
    ///
    /// # Errors
    /// The reply did not arrive in time, or the connection is broken. The connection of a cursor remains usable
    /// only if `timeoutMS` has passed: the reply is then still outstanding.
    pub(super) async fn drain_pinned(
        &self,
        server: &SelectedServer,
        connection: &mut PooledConnection,
        pinned_by: PinnedBy,
        state: &OperationState<'_>,
    ) -> Result<()> {
        let limit = state.timeout.deadline(self.settings.socket_timeout);
        let session = state.explicit.filter(|_| pinned_by == PinnedBy::Transaction);
        let drained = match session {
            None => {
                let drained = connection.drain_in_time(limit).await;
                // A reply that is later than `socketTimeoutMS` is not awaited.
                drained.map_err(|error| {
                    if connection.owes_reply() && !state.timeout.is_set() {
                        connection.fail(error)
                    } else {
                        error
                    }
                })
            }
            Some(session) => {
                let patience = Deadline::at(Instant::now() + session.patience(state.timeout));
                let draining = connection.drain(limit.min(patience));
                // A reply that has arrived is read in any case.
                match complete_unless_cancelled(draining, self.settings.in_flight.urgent()).await {
                    Some(drained) => drained,
                    None => Err(connection.overdue()),
                }
            }
        };
        match drained {
            Ok(body) => {
                let body = connection.reply(body);
                match session {
                    Some(session) => session.note_late_replies(self),
                    None => self.note_cluster_time(body),
                }
                if let Some(error) = state_change_in(body) {
                    let error = error.with_address(server.address());
                    self.topology.handle_error(server, connection.key(), &error);
                }
                Ok(())
            }
            Err(error) => {
                if connection.condition() == Condition::Broken {
                    self.topology.handle_error(server, connection.key(), &error);
                } else if let Some(session) = session {
                    session.give_up_late_replies();
                }
                Err(error)
            }
        }
    }

    fn note_cluster_time(&self, body: &[u8]) {
        if let Ok(reply) = Reply::scan(body)
            && let Some(time) = reply.cluster_time()
        {
            self.clock.advance(time);
        }
    }
}

//! Awaiting late replies in the background.

use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use super::Pool;
use crate::{
    connection::{Condition, Connection, KilledCursors},
    proto::cmap::ConnectionKey,
    types::{
        cancellation::run_until_cancelled,
        deadline::{Deadline, Elapsed},
        in_flight::{Held, InFlight, OfBackground},
    },
};

/// How long a request in the WaitQueue waits for a late reply before a connection is established for
/// it: longer than a handshake takes, so that timeouts of a slow server do not open many
/// connections.
const PATIENCE: Duration = Duration::from_millis(250);

impl Pool {
    /// Starts a task that awaits the reply that the connection owes.
    pub(super) fn drain(self: &Arc<Self>, key: ConnectionKey, connection: Box<Connection>) {
        let drain = Drain {
            pool: Arc::clone(self),
            key,
            connection: Some(connection),
            _held: self.settings.in_flight.as_ref().map(InFlight::hold),
        };
        self.runtime.spawn(drain.run());
    }

    /// Completes when the pool was cleared or closed, or has established another connection in place of
    /// this one.
    async fn drain_given_up(self: Arc<Self>, key: ConnectionKey) {
        loop {
            // Registered before the check, so that no clear or close is missed.
            let woken = self.unwanted.notified();
            if !self.lock().machine.is_draining(key) {
                return;
            }
            woken.await;
        }
    }

    fn drain_slow(self: &Arc<Self>, key: ConnectionKey, is_replaceable: bool) {
        let mut state = self.lock_for_change();
        state.machine.drain_slow(key, is_replaceable, Instant::now());
        self.perform(state);
    }

    fn drained(self: &Arc<Self>, key: ConnectionKey, connection: Box<Connection>) {
        let outcome = match connection.condition() {
            Condition::Reusable => Ok(()),
            Condition::OwesReply | Condition::Broken => Err(connection.failure().cloned()),
        };
        let mut state = self.lock_for_change();
        let unwanted = state.machine.drained(key, connection, outcome, Instant::now());
        if unwanted.is_some() {
            state.forget(key);
        }
        self.perform(state);
        if let Some(connection) = unwanted {
            self.close_connection(connection);
        }
    }
}

/// A connection whose reply is awaited.
struct Drain {
    pool: Arc<Pool>,
    key: ConnectionKey,
    /// `None` only during drop.
    connection: Option<Box<Connection>>,
    _held: Option<Held<OfBackground>>,
}

impl Drain {
    async fn run(mut self) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        let killed = if self.pool.connection.load_balanced {
            KilledCursors::All
        } else {
            KilledCursors::Opened
        };
        let (pool, key) = (&self.pool, self.key);
        // The next command of the transaction waits for the reply: an abort that overtakes it has no effect.
        let is_replaceable = !connection.owes_reply_of_transaction();
        let given_up = Arc::clone(pool).drain_given_up(key);
        let draining = async {
            let mut drained = pin!(connection.drain_unused(killed));
            match Deadline::after(Some(PATIENCE)).run(drained.as_mut()).await {
                Ok(drained) => drained,
                Err(Elapsed) => {
                    pool.drain_slow(key, is_replaceable);
                    drained.await
                }
            }
        };
        // The connection keeps its error.
        if let Some(Ok(drained)) = run_until_cancelled(given_up, draining).await
            && let Some(listener) = pool.listener.upgrade()
        {
            if let Some(time) = &drained.cluster_time {
                listener.cluster_time_received(time);
            }
            if let Some(state_change) = &drained.state_change {
                listener.state_changed(&pool.address, key, state_change);
            }
        }
    }
}

impl Drop for Drain {
    /// Gives the connection back, also if the runtime has ended: then it is closed.
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.pool.drained(self.key, connection);
        }
    }
}

//! Establishing connections in the background.

use std::{io, sync::Arc, time::Instant};

use super::{Pool, warm_up};
use crate::{
    Error, ErrorKind, RETRYABLE_ERROR, SYSTEM_OVERLOADED_ERROR, connection::Connection, error::NetworkPhase,
    proto::cmap::ConnectionKey, types::cancellation::run_until_cancelled,
};

/// Labels of network errors during establishment (Client Backpressure specification).
const OVERLOAD_LABELS: [&str; 2] = [SYSTEM_OVERLOADED_ERROR, RETRYABLE_ERROR];

impl Pool {
    /// Starts a task that establishes one connection.
    pub(super) fn establish(self: &Arc<Self>, key: ConnectionKey) {
        let establishment = Establishment {
            pool: Arc::clone(self),
            key,
        };
        if self.lock().machine.is_pending(key) {
            self.runtime.spawn(establishment.run());
        }
    }

    /// Completes when the pool was cleared or closed.
    async fn given_up(self: Arc<Self>, key: ConnectionKey) {
        loop {
            // Registered before the check, so that no clear or close is missed.
            let woken = self.unwanted.notified();
            if !self.lock().machine.is_pending(key) {
                return;
            }
            woken.await;
        }
    }

    fn established(self: &Arc<Self>, key: ConnectionKey, mut connection: Connection) {
        if let Some(listener) = self.listener.upgrade() {
            listener.handshake_succeeded(&self.address, connection.hello(), connection.handshake_time());
        }
        let interruption = connection.interruption();
        let mut state = self.lock_for_change();
        // A stale connection is removed again when it is closed.
        if state.machine.is_pending(key) {
            state.interruptions.push((key, interruption));
        }
        let unwanted = state
            .machine
            .established(key, Box::new(connection), Instant::now());
        self.answer_warm_ups(&mut state);
        self.perform(state);
        drop(unwanted);
    }

    /// The layer above handles the error before the failing request gets it: when that request
    /// retries, the server is known to have failed. The counters change last, since `PoolCleared`
    /// precedes `ConnectionClosed`.
    fn establish_failed(self: &Arc<Self>, key: ConnectionKey, error: Error) {
        let error = label(error.with_address(&self.address));
        let mut state = self.lock_for_change();
        let Some(failing) = state.machine.failing_request(key) else {
            return;
        };
        // They get this error, and not that of the clear.
        let warm_ups = std::mem::take(&mut state.warm_ups);
        drop(state);
        if let Some(listener) = self.listener.upgrade() {
            listener.handshake_failed(&self.address, failing.key(), &error);
        }
        let mut state = self.lock_for_change();
        state.machine.establish_failed(failing, &error, Instant::now());
        self.perform(state);
        warm_up::fail(warm_ups, &error);
    }
}

/// A connection that is being established.
struct Establishment {
    pool: Arc<Pool>,
    key: ConnectionKey,
}

impl Establishment {
    async fn run(mut self) {
        let given_up = Arc::clone(&self.pool).given_up(self.key);
        let opening = async {
            let settings = &self.pool.connection;
            let handshaken = Connection::handshake(&self.pool.address, settings).await?;
            // Set before authentication, so that its failure clears the pool for this service only.
            if let Some(service) = handshaken.service_id().filter(|_| settings.load_balanced) {
                self.key = self.pool.lock().machine.identify(self.key, service);
            }
            handshaken.log_in(settings).await
        };
        let Some(outcome) = run_until_cancelled(given_up, opening).await else {
            return;
        };
        match outcome {
            Ok(connection) => self.pool.established(self.key, connection),
            Err(error) => self.pool.establish_failed(self.key, error),
        }
    }
}

impl Drop for Establishment {
    fn drop(&mut self) {
        // Reporting an outcome, a clear and a close end this.
        if !self.pool.lock().machine.is_pending(self.key) {
            return;
        }
        if std::thread::panicking() {
            let panicked = io::Error::other("establishing the connection panicked");
            let error = Error::network(NetworkPhase::Connect, panicked);
            self.pool.establish_failed(self.key, error);
        } else {
            // The runtime has ended, so no connection of the pool can work. The requests learn that the
            // deployment is closed.
            if let Some(listener) = self.pool.listener.upgrade() {
                listener.runtime_ended();
            }
            self.pool.close();
        }
    }
}

/// An overloaded server drops new connections, so a socket that fails before the login is taken as
/// a sign of overload. A host name that cannot be resolved is none, nor is a certificate.
fn label(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Network(network) if network.may_be_overload() => {
            error.with_labels(OVERLOAD_LABELS.map(str::to_owned))
        }
        _ => error,
    }
}

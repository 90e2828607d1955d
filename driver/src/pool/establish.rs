//! Establishing connections in the background.

use std::{future::Future, sync::Arc, time::Instant};

use super::Pool;
use crate::{
    Error, ErrorKind, RETRYABLE_ERROR, SYSTEM_OVERLOADED_ERROR, connection::Connection,
    proto::cmap::ConnectionKey, types::race::unless,
};

/// Labels of failures that may come from an overloaded server (Client Backpressure specification).
const OVERLOAD_LABELS: [&str; 2] = [SYSTEM_OVERLOADED_ERROR, RETRYABLE_ERROR];

impl Pool {
    /// Starts a task that establishes one connection.
    pub(super) fn establish(self: &Arc<Self>, key: ConnectionKey) {
        let establishment = Establishment {
            pool: Arc::clone(self),
            key,
            reported: false,
        };
        // Made before the machine is asked, so that no clearing or closing in between is missed.
        let unwanted = Arc::clone(&self.unwanted).notified_owned();
        if self.lock().machine.is_pending(key) {
            self.runtime.spawn(establishment.run(unwanted));
        }
    }

    fn established(self: &Arc<Self>, key: ConnectionKey, mut connection: Connection) {
        if let Some(listener) = self.listener.upgrade() {
            listener.handshake_succeeded(&self.address, connection.hello(), connection.handshake_time());
        }
        let interruption = connection.interruption();
        let mut state = self.lock();
        // A stale one is forgotten again when it is closed.
        if state.machine.is_pending(key) {
            state.interruptions.push((key, interruption));
        }
        let unwanted = state
            .machine
            .established(key, Box::new(connection), Instant::now());
        self.perform(state);
        drop(unwanted);
    }

    /// The layer above hears of the failure before the request that is blamed for it: when that one tries again, the server
    /// is known to have failed. The counters change last, since a pool is cleared before its failed connection is closed.
    fn establish_failed(self: &Arc<Self>, key: ConnectionKey, error: Error) {
        let error = label(error.with_address(&self.address));
        let Some(failing) = self.lock().machine.blame(key) else {
            return;
        };
        if let Some(listener) = self.listener.upgrade() {
            listener.handshake_failed(&self.address, failing.key(), &error);
        }
        let mut state = self.lock();
        state.machine.establish_failed(failing, &error, Instant::now());
        self.perform(state);
    }
}

/// One connection being established.
struct Establishment {
    pool: Arc<Pool>,
    key: ConnectionKey,
    reported: bool,
}

impl Establishment {
    async fn run(mut self, unwanted: impl Future<Output = ()>) {
        let opening = async {
            let settings = &self.pool.connection;
            let greeted = Connection::greet(&self.pool.address, settings).await?;
            // Known before the login, so that one that fails counts against the service alone.
            if let Some(service) = greeted.service_id().filter(|_| settings.load_balanced) {
                self.key = self.pool.lock().machine.identify(self.key, service);
            }
            greeted.log_in(settings).await
        };
        let Some(outcome) = unless(unwanted, opening).await else {
            return;
        };
        self.reported = true;
        match outcome {
            Ok(connection) => self.pool.established(self.key, connection),
            Err(error) => self.pool.establish_failed(self.key, error),
        }
    }
}

impl Drop for Establishment {
    fn drop(&mut self) {
        if self.reported {
            return;
        }
        if self.pool.lock().machine.is_pending(self.key) {
            // Nobody gave up this connection, so the runtime that was to establish it is gone, and the pool with it.
            self.pool.close();
        }
    }
}

/// An overloaded server drops new connections, so a socket that fails before the login is taken as a sign of overload.
/// A host name that cannot be resolved is none, nor is a certificate.
fn label(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Network(network) if network.may_be_overload() => {
            error.with_labels(OVERLOAD_LABELS.map(str::to_owned))
        }
        _ => error,
    }
}

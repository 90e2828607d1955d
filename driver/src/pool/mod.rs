//! The connection pool of one server: the machine [`cmap`](crate::proto::cmap) with sockets.
//!
//! Machine and idle connections are under one mutex, held for a few instructions and never over an await. What the machine
//! asks for is done after the mutex is let go: a socket is closed, a waiting request woken, a task spawned that establishes
//! a connection.
//!
//! A connection is established by a task of its own and not by the request that asked for it, so that a request which is
//! dropped wastes nothing: the connection goes to the next who waits, or becomes available. The same holds for a
//! connection handed to a request that is dropped before it looks: it is handed over as a [`PooledConnection`], which gives
//! itself back wherever it is dropped.

mod check_out;
mod establish;
mod maintenance;
mod pooled;
mod settings;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Instant,
};

use tokio::{
    runtime::Handle,
    sync::{Notify, oneshot},
};

use crate::{
    Error, ErrorKind, PoolError, Result, ServerAddress,
    connection::{Connection, ConnectionSettings},
    proto::cmap::{Action, ConnectionKey, ConnectionPool, PoolState, Refusal},
};
pub use pooled::PooledConnection;
pub use settings::PoolSettings;

/// What a pool tells the layer above.
pub trait PoolListener: Send + Sync {
    /// A connection of this generation could not be established. Called without any lock of the pool.
    fn handshake_failed(&self, address: &ServerAddress, generation: u64, error: &Error);
}

/// A waiting request; it may be gone by the time it is answered.
type Waiter = oneshot::Sender<Result<PooledConnection>>;

/// The pool of one server. Connections in use keep it alive.
pub struct Pool {
    address: ServerAddress,
    settings: PoolSettings,
    connection: ConnectionSettings,
    listener: Weak<dyn PoolListener>,
    runtime: Handle,
    state: Mutex<State>,
    /// Wakes the maintenance.
    maintenance: Arc<Notify>,
    /// Tells establishments under way that they are not wanted any more.
    unwanted: Arc<Notify>,
}

struct State {
    /// A connection is boxed since it is moved often and is large.
    machine: ConnectionPool<Box<Connection>, Waiter>,
    /// The failure that cleared the pool last.
    cause: Option<Error>,
}

impl Pool {
    /// A paused pool. Must be called within a tokio runtime, which then runs the pool's background work.
    pub fn new(
        address: ServerAddress,
        settings: PoolSettings,
        connection: ConnectionSettings,
        listener: Weak<dyn PoolListener>,
    ) -> Arc<Self> {
        let pool = Arc::new(Self {
            address,
            connection,
            listener,
            runtime: Handle::current(),
            state: Mutex::new(State {
                machine: ConnectionPool::new(settings.limits()),
                cause: None,
            }),
            maintenance: Arc::default(),
            unwanted: Arc::default(),
            settings,
        });
        maintenance::start(&pool);
        pool
    }

    /// The server was found healthy: requests are served from now on. Nothing changes if they were already.
    pub fn ready(&self) {
        if self.lock().machine.ready() {
            self.maintenance.notify_one();
        }
    }

    /// Gives up all connections and refuses all requests until [`ready`](Self::ready). Connections in use stay usable;
    /// they are closed when they come back.
    pub fn clear(self: &Arc<Self>, cause: &Error) {
        let mut state = self.lock();
        if state.machine.state() == PoolState::Closed {
            return;
        }
        state.machine.clear();
        state.cause = Some(cause.clone());
        self.perform(state);
        self.unwanted.notify_waiters();
        self.maintenance.notify_one();
    }

    /// Closes the pool for good, which ends its background work. Connections in use are closed when they come back.
    pub fn close(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.machine.close() {
            self.perform(state);
            self.unwanted.notify_waiters();
            self.maintenance.notify_one();
        }
    }

    /// Counts how often the pool was cleared.
    pub fn generation(&self) -> u64 {
        self.lock().machine.generation()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code under the lock can leave the machine half-changed, so a poisoned lock is as good as another.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_in(self: &Arc<Self>, key: ConnectionKey, connection: Box<Connection>, reusable: bool) {
        let mut state = self.lock();
        state.machine.check_in(key, connection, reusable, Instant::now());
        self.perform(state);
    }

    /// Does what the machine asks for, each action after letting go of the lock.
    fn perform<'a>(self: &'a Arc<Self>, mut state: MutexGuard<'a, State>) {
        while let Some(action) = state.machine.poll_action() {
            let more = state.machine.has_actions();
            let cause = match action {
                Action::Fail { .. } => state.cause.clone(),
                _ => None,
            };
            drop(state);
            match action {
                Action::Establish(key) => self.establish(key),
                Action::Close { connection, .. } => self.close_connection(connection),
                Action::Fulfil {
                    waiter,
                    key,
                    connection,
                } => {
                    // If the request is gone, dropping what comes back gives the connection to the next.
                    drop(waiter.send(Ok(PooledConnection::new(Arc::clone(self), key, connection))));
                }
                Action::Fail { waiter, why } => drop(waiter.send(Err(self.refusal(why, cause)))),
            }
            if !more {
                return;
            }
            state = self.lock();
        }
    }

    fn close_connection(&self, connection: Box<Connection>) {
        drop(connection);
        if self.settings.min_pool_size > 0 {
            self.maintenance.notify_one();
        }
    }

    fn refusal(&self, why: Refusal, cause: Option<Error>) -> Error {
        let address = self.address.clone();
        Error::new(ErrorKind::Pool(match why {
            Refusal::Cleared => PoolError::Cleared {
                address,
                cause: cause.map(Box::new),
            },
            Refusal::Closed => PoolError::Closed { address },
        }))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // The maintenance looks for the pool, and ends.
        self.maintenance.notify_one();
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Pool")
            .field("address", &self.address)
            .field("state", &state.machine.state())
            .field("generation", &state.machine.generation())
            .field("counts", &state.machine.counts())
            .finish_non_exhaustive()
    }
}

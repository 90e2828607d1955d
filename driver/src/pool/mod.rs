//! The connection pool of one server: the machine [`cmap`](crate::proto::cmap) with sockets.
//!
//! Machine and idle connections are under one mutex, held for a few instructions and never over an await. What the machine
//! asks for is done after the mutex is let go: a socket is closed, a waiting request woken, a task spawned that establishes
//! a connection.
//!
//! Events are queued under the same mutex and told after it is let go ([`EventQueue`]), before whoever waits is woken. The
//! layer above calls [`Pool::clear_without_events`] and its like under a lock of its own: they change the machine and do nothing
//! else. [`Pool::settle`], called after that lock is let go, performs the actions and emits the events.
//!
//! A connection is established by a task of its own and not by the request that asked for it, so that a request which is
//! dropped wastes nothing: the connection goes to the next who waits, or becomes available. The same holds for a
//! connection handed to a request that is dropped before it looks: it is handed over as a [`PooledConnection`], which gives
//! itself back wherever it is dropped.

mod check_out;
mod establish;
mod event_queue;
mod events;
mod maintenance;
mod pooled;
mod settings;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use tokio::{
    runtime::Handle,
    sync::{Notify, oneshot},
};

use crate::{
    Error, ErrorKind, PoolError, Result, ServerAddress,
    bson::ObjectId,
    connection::{Connection, ConnectionSettings, Interruption},
    proto::{
        cmap::{Action, Clear, ConnectionKey, ConnectionPool, Counts, PoolState, Refusal},
        description::HelloReply,
        event::PoolEvent,
    },
};
pub(crate) use event_queue::EventQueue;
use pooled::PinnedCounters;
pub use pooled::{CheckOutReason, PooledConnection};
pub use settings::PoolSettings;

/// What a pool tells the layer above. Called without any lock of the pool.
pub trait PoolListener: Send + Sync {
    /// This connection could not be established. Its service is known if the handshake got that far.
    fn handshake_failed(&self, address: &ServerAddress, key: ConnectionKey, error: &Error);

    /// This connection was established; the server took so long to answer the handshake.
    fn handshake_succeeded(&self, address: &ServerAddress, hello: &HelloReply, time: Duration) {
        let _ = (address, hello, time);
    }
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
    events: Option<EventQueue<PoolEvent>>,
    pinned: PinnedCounters,
}

struct State {
    machine: ConnectionPool<Box<Connection>, Waiter, Error>,
    /// The means to stop the use of each established connection.
    interruptions: Vec<(ConnectionKey, Arc<Interruption>)>,
}

impl Pool {
    /// An empty, paused pool with a background task. Must be called within a tokio runtime, which will run the tasks that
    /// establish connections. The listener hears of handshakes.
    pub fn new(
        address: ServerAddress,
        settings: PoolSettings,
        connection: ConnectionSettings,
        listener: Weak<dyn PoolListener>,
    ) -> Arc<Self> {
        let pool = Self::new_without_events(address, settings, connection, listener);
        pool.settle();
        pool
    }

    /// Like [`new`](Self::new), without emitting the event: [`settle`](Self::settle) must follow.
    pub fn new_without_events(
        address: ServerAddress,
        settings: PoolSettings,
        connection: ConnectionSettings,
        listener: Weak<dyn PoolListener>,
    ) -> Arc<Self> {
        let events = settings.listener.clone().map(EventQueue::new);
        if let Some(events) = events.as_ref().filter(|events| events.is_interested()) {
            events.push(PoolEvent::PoolCreated {
                address: address.clone(),
                options: settings.options(),
            });
        }
        let pool = Arc::new(Self {
            address,
            connection,
            listener,
            runtime: Handle::current(),
            state: Mutex::new(State {
                machine: ConnectionPool::new(settings.limits(), events.is_some()),
                interruptions: Vec::new(),
            }),
            maintenance: Arc::default(),
            unwanted: Arc::default(),
            events,
            pinned: PinnedCounters::default(),
            settings,
        });
        maintenance::start(&pool);
        pool
    }

    /// The server was found healthy: requests are served from now on. Nothing changes if they were already.
    pub fn ready(self: &Arc<Self>) {
        self.ready_without_events();
        self.settle();
    }

    /// Like [`ready`](Self::ready), without its effects: [`settle`](Self::settle) must follow.
    pub fn ready_without_events(self: &Arc<Self>) {
        if self.lock().machine.ready() {
            self.maintenance.notify_one();
        }
    }

    /// Gives up all connections, or those of one service. Without a service, all requests are refused until
    /// [`ready`](Self::ready). Connections in use stay usable unless they are to be interrupted; they are closed when they
    /// come back.
    pub fn clear(self: &Arc<Self>, cause: &Error, service_id: Option<ObjectId>, interrupt_in_use: bool) {
        self.clear_without_events(cause, service_id, interrupt_in_use);
        self.settle();
    }

    /// Like [`clear`](Self::clear), without its effects: [`settle`](Self::settle) must follow.
    pub fn clear_without_events(
        self: &Arc<Self>,
        cause: &Error,
        service_id: Option<ObjectId>,
        interrupt_in_use: bool,
    ) {
        let mut state = self.lock();
        if state.machine.state() == PoolState::Closed {
            return;
        }
        let clear = Clear {
            cause: cause.clone(),
            service_id,
            interrupt_in_use,
        };
        state.machine.clear(clear, Instant::now());
        drop(state);
        // A clear of one service gives up no establishment: each learns its service, and its generation, later.
        if service_id.is_none() {
            self.unwanted.notify_waiters();
        }
        self.maintenance.notify_one();
    }

    /// Closes the pool for good, which ends its background work. Connections in use are closed when they come back.
    pub fn close(self: &Arc<Self>) {
        self.close_without_events();
        self.settle();
    }

    /// Like [`close`](Self::close), without its effects: [`settle`](Self::settle) must follow.
    pub fn close_without_events(self: &Arc<Self>) {
        if self.lock().machine.close(Instant::now()) {
            self.unwanted.notify_waiters();
            self.maintenance.notify_one();
        }
    }

    /// Counts how often the pool, or the service in it, was cleared.
    pub fn generation(&self, service_id: Option<ObjectId>) -> u64 {
        self.lock().machine.generation(service_id)
    }

    /// How many connections and waiting requests there are.
    pub fn counts(&self) -> Counts {
        self.lock().machine.counts()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code under the lock can leave the machine half-changed, so a poisoned lock is as good as another.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_in(self: &Arc<Self>, key: ConnectionKey, connection: Box<Connection>) {
        let outcome = match connection.is_reusable() {
            true => Ok(()),
            false => Err(connection.failure().cloned()),
        };
        let mut state = self.lock();
        state.machine.check_in(key, connection, outcome, Instant::now());
        self.perform(state);
    }

    /// Performs the actions and emits the events of the `*_without_events` functions. To be called without any lock that a
    /// listener might need.
    pub fn settle(self: &Arc<Self>) {
        self.perform(self.lock());
        self.flush_events();
    }

    /// Performs the machine's actions, each after letting go of the lock and after emitting the events before it.
    fn perform<'a>(self: &'a Arc<Self>, mut state: MutexGuard<'a, State>) {
        if !state.machine.has_actions() {
            return;
        }
        let mut unflushed = false;
        loop {
            let action = loop {
                match state.machine.poll_action() {
                    Some(Action::Emit(event)) => {
                        self.queue_event(event);
                        unflushed = true;
                    }
                    other => break other,
                }
            };
            match &action {
                Some(Action::Close { key, .. }) => state.forget(*key),
                Some(Action::Interrupt {
                    service_id,
                    generation,
                }) => state.interrupt(*service_id, *generation),
                _ => {}
            }
            let more = state.machine.has_actions();
            drop(state);
            if std::mem::take(&mut unflushed) {
                self.flush_events();
            }
            match action {
                Some(action) => self.carry_out(action),
                None => return,
            }
            if !more {
                return;
            }
            state = self.lock();
        }
    }

    fn carry_out(self: &Arc<Self>, action: Action<Box<Connection>, Waiter, Error>) {
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
            Action::Fail { waiter, why } => drop(waiter.send(Err(self.refusal(why)))),
            // Both were dealt with under the lock.
            Action::Interrupt { .. } | Action::Emit(_) => {}
        }
    }

    fn close_connection(&self, connection: Box<Connection>) {
        drop(connection);
        if self.settings.min_pool_size > 0 {
            self.maintenance.notify_one();
        }
    }

    fn refusal(&self, why: Refusal<Error>) -> Error {
        let address = self.address.clone();
        Error::new(ErrorKind::Pool(match why {
            Refusal::Cleared(cause) => PoolError::Cleared {
                address,
                cause: cause.map(Box::new),
            },
            Refusal::Closed => PoolError::Closed { address },
            Refusal::Failed(error) => return error,
        }))
    }
}

impl State {
    fn forget(&mut self, key: ConnectionKey) {
        self.interruptions.retain(|(known, _)| known.id != key.id);
    }

    fn interrupt(&self, service_id: Option<ObjectId>, generation: u64) {
        for (key, interruption) in &self.interruptions {
            if key.service_id == service_id && key.generation <= generation {
                interruption.interrupt();
            }
        }
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
            .field("generation", &state.machine.generation(None))
            .field("counts", &state.machine.counts())
            .finish_non_exhaustive()
    }
}

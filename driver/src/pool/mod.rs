//! The connection pool of one server: runs the state machine [`cmap`](crate::proto::cmap) with
//! sockets.
//!
//! The state machine and the available connections are under one mutex, held for a few instructions
//! and never across an await. Actions are performed after the mutex is released: closing a socket,
//! waking a request, spawning a task that establishes a connection.
//!
//! Events are queued under the same mutex ([`EventQueue`]) and emitted after it is released, before
//! a waiting request is woken. The layer above calls [`Pool::clear_without_events`] and the other
//! `*_without_events` methods under a lock of its own: they change the state machine only.
//! [`Pool::settle`], called after that lock is released, performs the actions and emits the events.
//!
//! A connection is established by a task, not by the request that needs it, so dropping a request
//! wastes no work: the connection goes to the next request or becomes available. A
//! [`PooledConnection`] checks itself in when it is dropped, also if it was handed to a request
//! that no longer exists. If it owes a reply, a task awaits the reply before it is used again.

mod check_out;
mod drain;
mod establish;
mod events;
mod maintenance;
mod pooled;
mod settings;
#[cfg(any(test, feature = "internals"))]
mod standalone;
#[cfg(test)]
mod tests;
mod warm_up;

use std::{
    fmt,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use tokio::{
    runtime::Handle,
    sync::{Notify, oneshot},
};

use crate::{
    Error, ErrorKind, PoolError, Result, ServerAddress,
    bson::{ObjectId, RawDocument},
    connection::{Condition, Connection, ConnectionSettings, Interruption},
    proto::{
        cmap::{Action, Clear, ConnectionKey, ConnectionPool, PoolState, Refusal},
        description::HelloReply,
        event::PoolEvent,
    },
    telemetry::EventQueue,
    types::lock::{Outer, OuterGuard},
};
pub(crate) use check_out::CheckingOut;
pub(crate) use pooled::PinnedConnection;
use pooled::PinnedCounters;
pub use pooled::PooledConnection;
pub use settings::PoolSettings;
use warm_up::WarmUp;

/// The layer above a pool. Called without any lock of the pool.
pub trait PoolListener: Send + Sync {
    /// A connection could not be established. `key` has the service if the handshake returned it.
    fn handshake_failed(&self, address: &ServerAddress, key: ConnectionKey, error: &Error);

    /// A connection was established. `time`: the round trip time of its hello.
    fn handshake_succeeded(&self, address: &ServerAddress, hello: &HelloReply, time: Duration) {
        let _ = (address, hello, time);
    }

    /// A late reply contains a "not writable primary" or "node is recovering" error. Called before the
    /// connection is used again.
    fn state_changed(&self, address: &ServerAddress, key: ConnectionKey, error: &Error) {
        let _ = (address, key, error);
    }

    /// A late reply has this `$clusterTime`. Called before the connection is used again.
    fn cluster_time_received(&self, time: &RawDocument) {
        let _ = time;
    }

    /// The runtime has ended, so that no connection can work. The pools are to be closed.
    fn runtime_ended(&self) {}
}

/// A waiting request. Its receiver may be dropped before the answer.
type Waiter = oneshot::Sender<Result<PooledConnection>>;

/// The pool of one server. Connections in use keep it alive.
pub struct Pool {
    address: ServerAddress,
    settings: PoolSettings,
    connection: ConnectionSettings,
    listener: Weak<dyn PoolListener>,
    runtime: Handle,
    state: Outer<State>,
    /// Wakes the maintenance.
    maintenance: Arc<Notify>,
    /// Notifies establishments and drains in progress of a clear or close, and drains of their end.
    unwanted: Arc<Notify>,
    events: Option<EventQueue<PoolEvent>>,
    pinned: PinnedCounters,
}

struct State {
    machine: ConnectionPool<Box<Connection>, Waiter, Error>,
    /// The means to stop the use of each established connection.
    interruptions: Vec<(ConnectionKey, Arc<Interruption>)>,
    warm_ups: Vec<WarmUp>,
    /// The id of the last warm-up.
    last_warm_up: u64,
}

impl Pool {
    /// Creates an empty, paused pool with a background task. Must be called within a tokio runtime.
    /// [`settle`](Self::settle) must follow: it emits `PoolCreated`.
    pub fn new_without_events(
        address: ServerAddress,
        settings: PoolSettings,
        connection: ConnectionSettings,
        listener: Weak<dyn PoolListener>,
    ) -> Arc<Self> {
        let events = settings.listener.clone().map(EventQueue::new);
        if let Some(events) = &events {
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
            state: Outer::new(State {
                machine: ConnectionPool::new(settings.limits(), events.is_some()),
                interruptions: Vec::new(),
                warm_ups: Vec::new(),
                last_warm_up: 0,
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

    /// Marks the pool as ready. [`settle`](Self::settle) must follow.
    pub fn ready_without_events(self: &Arc<Self>) {
        if self.lock_without_interest().machine.ready() {
            self.maintenance.notify_one();
        }
    }

    /// Clears the pool, or one service of it. [`settle`](Self::settle) must follow.
    pub fn clear_without_events(
        self: &Arc<Self>,
        cause: &Error,
        service_id: Option<ObjectId>,
        interrupt_in_use: bool,
    ) {
        let mut state = self.lock_without_interest();
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
        // A clear of one service abandons no establishment: each gets its service, and so its
        // generation, later. But it makes draining connections stale.
        self.unwanted.notify_waiters();
        self.maintenance.notify_one();
    }

    /// Closes the pool and ends its background task. Connections in use are closed when they are
    /// checked in.
    pub fn close(self: &Arc<Self>) {
        self.close_without_events();
        self.settle();
    }

    /// As [`close`](Self::close), but [`settle`](Self::settle) must follow.
    pub fn close_without_events(self: &Arc<Self>) {
        if self.lock_without_interest().machine.close(Instant::now()) {
            self.unwanted.notify_waiters();
            self.maintenance.notify_one();
        }
    }

    /// The number of clears of the pool, or of the service.
    pub fn generation(&self, service_id: Option<ObjectId>) -> u64 {
        self.lock().machine.generation(service_id)
    }

    fn lock(&self) -> OuterGuard<'_, State> {
        self.state.lock()
    }

    /// Locks the state for a change whose events are made in any case: the listener cannot be asked, because the
    /// caller holds a lock. A listener that is not interested ignores them.
    fn lock_without_interest(&self) -> OuterGuard<'_, State> {
        let mut state = self.lock();
        state.machine.set_emits(self.events.is_some());
        state
    }

    /// Locks the state for a change, which emits events if the listener is interested. The listener is
    /// asked before: a subscriber of `tracing` is code of the application. When its interest changes, it can receive
    /// the second event of a pair without the first, such as `ConnectionCheckedIn`, or the first without the second.
    #[inline]
    fn lock_for_change(&self) -> OuterGuard<'_, State> {
        let Some(events) = &self.events else {
            return self.lock();
        };
        let emits = events.is_interested();
        let mut state = self.lock();
        state.machine.set_emits(emits);
        state
    }

    fn check_in(self: &Arc<Self>, key: ConnectionKey, connection: Box<Connection>) {
        let condition = connection.condition();
        let failure = match condition {
            Condition::Broken => connection.failure().cloned(),
            Condition::Reusable | Condition::OwesReply => None,
        };
        let mut state = self.lock_for_change();
        let machine = &mut state.machine;
        match condition {
            Condition::Reusable => machine.check_in(key, connection, Ok(()), Instant::now),
            Condition::OwesReply => machine.check_in_owing(key, connection, Instant::now()),
            Condition::Broken => machine.check_in(key, connection, Err(failure), Instant::now),
        }
        self.perform(state);
    }

    /// Performs the actions and emits the events of the `*_without_events` methods. To be called
    /// without any lock that a listener may need.
    pub fn settle(self: &Arc<Self>) {
        let mut state = self.lock_for_change();
        self.answer_warm_ups(&mut state);
        self.perform(state);
        self.flush_events();
    }

    /// Performs the actions, each after the lock is released and after the preceding events are
    /// emitted.
    #[inline]
    fn perform<'a>(self: &'a Arc<Self>, state: OuterGuard<'a, State>) {
        // Most operations have none.
        if state.machine.has_actions() {
            self.perform_actions(state);
        }
    }

    fn perform_actions<'a>(self: &'a Arc<Self>, mut state: OuterGuard<'a, State>) {
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
            let mut interrupted = Vec::new();
            match &action {
                Some(Action::Close { key, .. }) => state.forget(*key),
                Some(Action::Interrupt {
                    service_id,
                    generation,
                }) => interrupted = state.interrupted(*service_id, *generation),
                _ => {}
            }
            let more = state.machine.has_actions();
            drop(state);
            // Before the events, whose listeners may be slow.
            for interruption in interrupted {
                interruption.interrupt();
            }
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
            Action::Drain { key, connection } => self.drain(key, connection),
            Action::Fulfil {
                waiter,
                key,
                connection,
            } => {
                // If the request is gone, dropping the returned value checks the connection in.
                drop(waiter.send(Ok(PooledConnection::new(Arc::clone(self), key, connection))));
            }
            Action::Fail { waiter, why } => drop(waiter.send(Err(self.refusal(why)))),
            Action::Abandon => self.unwanted.notify_waiters(),
            // Both were handled with the lock.
            Action::Interrupt { .. } | Action::Emit(_) => {}
        }
    }

    fn close_connection(&self, connection: Box<Connection>) {
        drop(connection);
        if self.settings.min_pool_size > 0 || !self.lock().warm_ups.is_empty() {
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

    /// The connections that [`Action::Interrupt`] is for.
    fn interrupted(&self, service_id: Option<ObjectId>, generation: u64) -> Vec<Arc<Interruption>> {
        self.interruptions
            .iter()
            .filter(|(key, _)| key.service_id == service_id && key.generation <= generation)
            .map(|(_, interruption)| Arc::clone(interruption))
            .collect()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // The maintenance task finds the pool gone, and ends.
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

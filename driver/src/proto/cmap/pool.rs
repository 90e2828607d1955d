//! The pool: counters, available connections, WaitQueue, generations.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use super::{
    Action, CheckOut, ConnectionClosedReason, ConnectionKey, Counts, Event, PoolLimits, PoolState, Refusal,
    WaiterId,
    drain::Draining,
    services::Services,
    wait_queue::{WaitQueue, Waiting},
};
use crate::bson::ObjectId;

/// The pool of one server. See the [module](super).
///
/// Invariant: while the WaitQueue is not empty, no connection is available.
#[derive(Debug)]
pub struct ConnectionPool<C, W, E> {
    limits: PoolLimits,
    /// False: no events are made.
    emits: bool,
    pub(super) state: PoolState,
    pub(super) generation: u64,
    pub(super) services: Services,
    /// The error of the last clear.
    pub(super) cause: Option<E>,
    last_id: u32,
    /// A stack with the most recently used connection on top, so that surplus connections reach
    /// `maxIdleTimeMS`.
    pub(super) available: Vec<Available<C>>,
    pub(super) pending: Vec<Pending>,
    /// How many establishments failed and are not yet reported by `establish_failed`.
    failed: usize,
    /// The number of connections that are established in the background, if it is larger than
    /// `minPoolSize`.
    floor: usize,
    /// The connections that await a reply to an operation that has ended.
    pub(super) draining: Vec<Draining>,
    pub(super) total: usize,
    pub(super) waiters: WaitQueue<W>,
    pub(super) actions: VecDeque<Action<C, W, E>>,
}

#[derive(Debug)]
pub(super) struct Available<C> {
    pub(super) connection: C,
    pub(super) key: ConnectionKey,
    /// `None` if idle connections are not closed.
    since: Option<Instant>,
}

#[derive(Debug)]
pub(super) struct Pending {
    pub(super) key: ConnectionKey,
    created: Instant,
}

/// A connection that could not be established, and the request that gets the error. To be passed to
/// [`establish_failed`](ConnectionPool::establish_failed); until then the connection counts.
#[derive(Debug)]
#[must_use]
pub struct FailedEstablishment<W> {
    key: ConnectionKey,
    request: Option<Waiting<W>>,
}

impl<W> FailedEstablishment<W> {
    /// The key of the connection. The service is known if the handshake returned it.
    pub fn key(&self) -> ConnectionKey {
        self.key
    }

    /// The request that waits for it, if one does.
    #[cfg(any(test, feature = "internals"))]
    pub fn waiter(&self) -> Option<&W> {
        self.request.as_ref().map(|waiting| &waiting.waiter)
    }
}

impl<C, W, E: Clone> ConnectionPool<C, W, E> {
    /// An empty, paused pool of generation 0. Without `emits` it makes no events.
    pub fn new(limits: PoolLimits, emits: bool) -> Self {
        Self {
            limits,
            emits,
            state: PoolState::Paused,
            generation: 0,
            services: Services::default(),
            cause: None,
            last_id: 0,
            available: Vec::new(),
            pending: Vec::new(),
            failed: 0,
            floor: 0,
            draining: Vec::new(),
            total: 0,
            waiters: WaitQueue::default(),
            actions: VecDeque::new(),
        }
    }

    /// The next action.
    pub fn poll_action(&mut self) -> Option<Action<C, W, E>> {
        self.actions.pop_front()
    }

    /// Whether [`poll_action`](Self::poll_action) would return an action.
    pub fn has_actions(&self) -> bool {
        !self.actions.is_empty()
    }

    /// The state of the pool.
    pub fn state(&self) -> PoolState {
        self.state
    }

    /// The number of clears of the pool, or of the service.
    pub fn generation(&self, service_id: Option<ObjectId>) -> u64 {
        service_id.map_or(self.generation, |id| self.services.generation(id))
    }

    /// The error of the last clear.
    pub fn cause(&self) -> Option<&E> {
        self.cause.as_ref()
    }

    /// The number of connections that are established: in use, available or draining.
    pub fn established_count(&self) -> usize {
        self.total - self.pending.len() - self.failed
    }

    /// Establishes connections in the background until there are this many, as for `minPoolSize`,
    /// from now on. 0: only `minPoolSize` applies.
    pub fn set_floor(&mut self, floor: usize, now: Instant) {
        self.floor = floor;
        if floor > 0 {
            self.populate(now);
        }
    }

    /// The number of connections and of waiting requests.
    pub fn counts(&self) -> Counts {
        Counts {
            total: self.total,
            available: self.available.len(),
            pending: self.pending.len(),
            draining: self.draining.len(),
            waiting: self.waiters.len(),
        }
    }

    /// Whether the connection with this key is being established. False once the outcome was
    /// reported, and after a clear or close.
    pub fn is_pending(&self, key: ConnectionKey) -> bool {
        self.pending.iter().any(|pending| pending.key.id == key.id)
    }

    /// Checks out an available connection if the WaitQueue is empty. Otherwise nothing changes, and
    /// no event is emitted. `has_perished` returns whether the connection failed while it was
    /// available; it must not change back to false.
    #[inline]
    pub fn try_check_out(
        &mut self,
        now: Instant,
        has_perished: impl FnMut(&mut C) -> bool,
    ) -> Option<(ConnectionKey, C)> {
        if self.state != PoolState::Ready || !self.waiters.is_empty() {
            return None;
        }
        let healthy = self.first_healthy(now, has_perished)?;
        self.emit(|| Event::CheckOutStarted);
        self.take_available(Some(healthy), now)
    }

    /// Checks out an available connection, or adds the request to the WaitQueue. `has_perished` is
    /// as for [`try_check_out`](Self::try_check_out).
    pub fn check_out(
        &mut self,
        waiter: W,
        now: Instant,
        has_perished: impl FnMut(&mut C) -> bool,
    ) -> CheckOut<C, E> {
        self.emit(|| Event::CheckOutStarted);
        let refusal = match self.state {
            PoolState::Paused => Some(Refusal::Cleared(self.cause.clone())),
            PoolState::Closed => Some(Refusal::Closed),
            PoolState::Ready => None,
        };
        if let Some(why) = refusal {
            self.emit_failed(Some(&why), now, now);
            return CheckOut::Refused(why);
        }
        if self.waiters.is_empty() {
            let healthy = self.first_healthy(now, has_perished);
            if let Some((key, connection)) = self.take_available(healthy, now) {
                return CheckOut::Connection(key, connection);
            }
        }
        let id = self.waiters.push(waiter, now);
        self.create_for_waiters(now);
        CheckOut::Waiting(id)
    }

    /// Removes a cancelled or timed out request from the WaitQueue. Returns `None` if it was
    /// answered already.
    ///
    /// The connection that was being established for it serves other requests.
    pub fn cancel(&mut self, id: WaiterId, now: Instant) -> Option<W> {
        let gone = self.waiters.remove(id)?;
        self.emit_failed(None, gone.since, now);
        Some(gone.waiter)
    }

    /// Whether the request is answered without a check-in: a connection is pending for it and for
    /// each request before it, or the answer has been sent. `waitQueueTimeoutMS` does not apply to
    /// such a request: it limits the wait for an available connection or for a slot of
    /// `maxConnecting`.
    pub fn is_being_served(&self, id: WaiterId) -> bool {
        self.waiters
            .position(id)
            .is_none_or(|before| before < self.pending.len())
    }

    /// Checks in a connection. It is closed if it failed, is stale, or the pool is closed (CMAP,
    /// "Checking In a Connection"). `clock` is read only if a request waits or idle connections are closed: reading it is a
    /// measurable part of an operation.
    #[inline]
    pub fn check_in(
        &mut self,
        key: ConnectionKey,
        connection: C,
        outcome: Result<(), Option<E>>,
        clock: impl Fn() -> Instant,
    ) {
        self.emit(|| Event::CheckedIn { id: key.id });
        self.take_back(key, connection, outcome, clock);
    }

    /// Sets the service that the handshake of a pending connection returned. Returns the complete
    /// key.
    pub fn identify(&mut self, key: ConnectionKey, service_id: ObjectId) -> ConnectionKey {
        let Some(pending) = self.pending.iter_mut().find(|pending| pending.key.id == key.id) else {
            return key;
        };
        if pending.key.service_id.is_none() {
            pending.key.generation = self.services.join(service_id);
            pending.key.service_id = Some(service_id);
        }
        pending.key
    }

    /// A pending connection is established. Returns it if it is no longer wanted: a clear or close
    /// has reported it as closed.
    pub fn established(&mut self, key: ConnectionKey, connection: C, now: Instant) -> Option<C> {
        let Some(Pending { key, created }) = self.take_pending(key) else {
            return Some(connection);
        };
        self.emit(|| Event::ConnectionReady {
            id: key.id,
            duration: now.saturating_duration_since(created),
        });
        self.take_in(key, connection, || now);
        self.create_for_waiters(now);
        self.populate(now);
        None
    }

    /// A pending connection could not be established. The first request in the WaitQueue gets the
    /// error. `None` if the connection was abandoned.
    ///
    /// To be followed by [`establish_failed`](Self::establish_failed). Between the two calls the
    /// owner handles the error, e.g. clears the pool, while the connection still counts:
    /// `PoolCleared` precedes its `ConnectionClosed`.
    pub fn failing_request(&mut self, key: ConnectionKey) -> Option<FailedEstablishment<W>> {
        let Pending { key, .. } = self.take_pending(key)?;
        self.failed += 1;
        Some(FailedEstablishment {
            key,
            request: self.waiters.pop(),
        })
    }

    /// Emits the events of the failure and fails the request.
    ///
    /// Further requests get a new connection. `minPoolSize` is restored by
    /// [`maintain`](Self::maintain) only, so that a failing server is not retried without a pause.
    pub fn establish_failed(&mut self, failing: FailedEstablishment<W>, error: &E, now: Instant) {
        let FailedEstablishment { key, request } = failing;
        self.failed -= 1;
        self.total -= 1;
        self.services.leave(key);
        self.emit(|| Event::ConnectionClosed {
            id: key.id,
            reason: ConnectionClosedReason::Error,
            error: Some(error.clone()),
        });
        if let Some(waiting) = request {
            self.refuse(waiting, Refusal::Failed(error.clone()), now);
        }
        self.create_for_waiters(now);
    }

    /// The index of the most recently used available connection that has not perished.
    fn first_healthy(&mut self, now: Instant, mut has_perished: impl FnMut(&mut C) -> bool) -> Option<usize> {
        (0..self.available.len()).rev().find(|index| {
            let outdated = |idle| self.perished(idle, now).is_some();
            if self.available.get(*index).is_none_or(outdated) {
                return false;
            }
            let idle = self.available.get_mut(*index);
            idle.is_some_and(|idle| !has_perished(&mut idle.connection))
        })
    }

    /// Checks out the connection at the index and closes the perished ones above it; without an
    /// index, all.
    fn take_available(&mut self, healthy: Option<usize>, now: Instant) -> Option<(ConnectionKey, C)> {
        let kept = healthy.map_or(0, |index| index + 1);
        while self.available.len() > kept
            && let Some(idle) = self.available.pop()
        {
            let reason = self.perished(&idle, now);
            let reason = reason.unwrap_or(ConnectionClosedReason::Error);
            self.close_connection(idle.key, idle.connection, reason, None);
        }
        healthy?;
        let Available { key, connection, .. } = self.available.pop()?;
        self.emit(|| Event::CheckedOut {
            id: key.id,
            duration: Duration::ZERO,
        });
        Some((key, connection))
    }

    pub(super) fn perished(&self, idle: &Available<C>, now: Instant) -> Option<ConnectionClosedReason> {
        let idle_for_too_long = || {
            let limit = self.limits.max_idle_time?;
            (now.saturating_duration_since(idle.since?) > limit).then_some(ConnectionClosedReason::Idle)
        };
        self.surplus(idle.key).or_else(idle_for_too_long)
    }

    /// Why a connection cannot be used again, even if it has not failed.
    pub(super) fn surplus(&self, key: ConnectionKey) -> Option<ConnectionClosedReason> {
        if self.state == PoolState::Closed {
            Some(ConnectionClosedReason::PoolClosed)
        } else if key.generation != self.generation(key.service_id) {
            Some(ConnectionClosedReason::Stale)
        } else {
            None
        }
    }

    /// Hands a connection to the first waiting request, or makes it available.
    #[inline]
    pub(super) fn take_in(&mut self, key: ConnectionKey, connection: C, clock: impl Fn() -> Instant) {
        if let Some(reason) = self.surplus(key) {
            self.close_connection(key, connection, reason, None);
        } else if let Some(Waiting { waiter, since }) = self.waiters.pop() {
            self.emit(|| Event::CheckedOut {
                id: key.id,
                duration: clock().saturating_duration_since(since),
            });
            self.actions.push_back(Action::Fulfil {
                waiter,
                key,
                connection,
            });
        } else {
            self.available.push(Available {
                connection,
                key,
                since: self.limits.max_idle_time.map(|_| clock()),
            });
        }
    }

    pub(super) fn close_connection(
        &mut self,
        key: ConnectionKey,
        connection: C,
        reason: ConnectionClosedReason,
        error: Option<E>,
    ) {
        self.total -= 1;
        self.services.leave(key);
        let id = key.id;
        self.emit(|| Event::ConnectionClosed { id, reason, error });
        self.actions.push_back(Action::Close {
            connection,
            key,
            reason,
        });
    }

    fn take_pending(&mut self, key: ConnectionKey) -> Option<Pending> {
        let index = self.pending.iter().position(|pending| pending.key.id == key.id)?;
        Some(self.pending.remove(index))
    }

    pub(super) fn refuse(&mut self, Waiting { waiter, since }: Waiting<W>, why: Refusal<E>, now: Instant) {
        self.emit_failed(Some(&why), since, now);
        self.actions.push_back(Action::Fail { waiter, why });
    }

    fn emit_failed(&mut self, why: Option<&Refusal<E>>, since: Instant, now: Instant) {
        self.emit(|| Event::CheckOutFailed {
            why: why.cloned(),
            duration: now.saturating_duration_since(since),
        });
    }

    /// Whether the pool makes events from now on.
    pub fn set_emits(&mut self, emits: bool) {
        self.emits = emits;
    }

    /// Emits an event if the pool has a listener.
    pub(super) fn emit(&mut self, event: impl FnOnce() -> Event<E>) {
        if self.emits {
            self.actions.push_back(Action::Emit(event()));
        }
    }

    /// Establishes one connection per waiting request that no draining connection is expected to
    /// serve, within `maxPoolSize` and `maxConnecting`. In a full pool it takes the place of a slow
    /// draining connection: `maxConnecting` also limits how many of those are closed at a time.
    pub(super) fn create_for_waiters(&mut self, now: Instant) {
        while self.pending.len() < self.waiters.len()
            && self.pending.len() + self.nearly_drained() < self.waiters.len()
            && self.may_connect()
            && (!self.is_full() || self.give_up_slow())
        {
            self.create(now);
        }
    }

    pub(super) fn populate(&mut self, now: Instant) {
        let least = self.floor.max(self.limits.min_pool_size as usize);
        while self.total < least && self.may_connect() && !self.is_full() {
            self.create(now);
        }
    }

    /// Whether `maxConnecting` permits another establishment.
    fn may_connect(&self) -> bool {
        let max_connecting = self.limits.max_connecting.max(1) as usize;
        self.state == PoolState::Ready && self.pending.len() + self.failed < max_connecting
    }

    fn is_full(&self) -> bool {
        let max_pool_size = self.limits.max_pool_size as usize;
        max_pool_size != 0 && self.total >= max_pool_size
    }

    fn create(&mut self, now: Instant) {
        self.total += 1;
        self.last_id = self.last_id.wrapping_add(1);
        let key = ConnectionKey {
            id: self.last_id,
            generation: self.generation,
            service_id: None,
        };
        self.pending.push(Pending { key, created: now });
        self.emit(|| Event::ConnectionCreated { id: key.id });
        self.actions.push_back(Action::Establish(key));
    }
}

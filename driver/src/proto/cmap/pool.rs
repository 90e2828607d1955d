//! The machine itself: counters, the available stack, the wait queue, generations.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use super::{
    Action, CheckOut, ConnectionClosedReason, ConnectionKey, Counts, Event, PoolLimits, PoolState, Refusal,
    WaiterId,
    services::Services,
    wait_queue::{WaitQueue, Waiting},
};
use crate::bson::ObjectId;

/// The pool of one server. See the [module](super).
///
/// While requests wait, no connection is available: whatever becomes free goes to the first of them.
#[derive(Debug)]
pub struct ConnectionPool<C, W, E> {
    limits: PoolLimits,
    /// Whether anybody listens to events.
    emits: bool,
    pub(super) state: PoolState,
    pub(super) generation: u64,
    pub(super) services: Services,
    /// What cleared the pool last.
    pub(super) cause: Option<E>,
    last_id: u32,
    /// The connection used last is on top, so that surplus ones grow idle and go.
    pub(super) available: Vec<Available<C>>,
    pub(super) pending: Vec<Pending>,
    /// How many establishments failed and are not yet reported by `establish_failed`.
    failed: usize,
    pub(super) total: usize,
    pub(super) waiters: WaitQueue<W>,
    pub(super) actions: VecDeque<Action<C, W, E>>,
}

#[derive(Debug)]
pub(super) struct Available<C> {
    pub(super) connection: C,
    pub(super) key: ConnectionKey,
    since: Instant,
}

#[derive(Debug)]
pub(super) struct Pending {
    pub(super) key: ConnectionKey,
    created: Instant,
}

/// A connection whose establishment failed, and the request that must hear of it. To be handed back with
/// [`establish_failed`](ConnectionPool::establish_failed); until then it counts.
#[derive(Debug)]
#[must_use]
pub struct FailedEstablishment<W> {
    key: ConnectionKey,
    request: Option<Waiting<W>>,
}

impl<W> FailedEstablishment<W> {
    /// The connection; its service is known if the handshake got that far.
    pub fn key(&self) -> ConnectionKey {
        self.key
    }

    /// Whether a request waited for it.
    pub fn waiter(&self) -> Option<&W> {
        self.request.as_ref().map(|waiting| &waiting.waiter)
    }
}

impl<C, W, E: Clone> ConnectionPool<C, W, E> {
    /// An empty, paused pool of generation 0, which makes events if it `emits`.
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
            total: 0,
            waiters: WaitQueue::default(),
            actions: VecDeque::new(),
        }
    }

    /// What is to be done next.
    pub fn poll_action(&mut self) -> Option<Action<C, W, E>> {
        self.actions.pop_front()
    }

    /// Whether [`poll_action`](Self::poll_action) would return something.
    pub fn has_actions(&self) -> bool {
        !self.actions.is_empty()
    }

    pub fn state(&self) -> PoolState {
        self.state
    }

    /// How often the pool, or the service in it, was cleared.
    pub fn generation(&self, service_id: Option<ObjectId>) -> u64 {
        service_id.map_or(self.generation, |id| self.services.generation(id))
    }

    pub fn counts(&self) -> Counts {
        Counts {
            total: self.total,
            available: self.available.len(),
            pending: self.pending.len(),
            waiting: self.waiters.len(),
        }
    }

    /// Whether a connection is to be established under this key: false once it is reported or given up.
    pub fn is_pending(&self, key: ConnectionKey) -> bool {
        self.pending.iter().any(|pending| pending.key.id == key.id)
    }

    /// An available connection, if nobody waits for one. Else nothing happens: ask with [`check_out`](Self::check_out).
    /// `has_perished` tells whether a connection failed while it was idle; once it said so, it must say so again.
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

    /// An available connection, or a place in the wait queue. `has_perished` is as for
    /// [`try_check_out`](Self::try_check_out).
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

    /// The request gave up, or its time is over. Returns it unless a connection or a refusal was assigned to it already.
    ///
    /// What was being established for it goes to others.
    pub fn cancel(&mut self, id: WaiterId, now: Instant) -> Option<W> {
        let gone = self.waiters.remove(id)?;
        self.emit_failed(None, gone.since, now);
        Some(gone.waiter)
    }

    /// Whether the request will be answered without anybody checking in a connection: there is an establishment under way
    /// for it and for each one before it, or its answer is on its way. `waitQueueTimeoutMS` does not limit such a request:
    /// it bounds the wait for an available connection or for the permission to establish one.
    pub fn is_being_served(&self, id: WaiterId) -> bool {
        self.waiters
            .position(id)
            .is_none_or(|before| before < self.pending.len())
    }

    /// Takes a connection back. One that failed, is stale, or comes to a closed pool is closed.
    pub fn check_in(
        &mut self,
        key: ConnectionKey,
        connection: C,
        outcome: Result<(), Option<E>>,
        now: Instant,
    ) {
        self.emit(|| Event::CheckedIn { id: key.id });
        match outcome {
            Ok(()) => self.take_in(key, connection, now),
            Err(error) => {
                // A failure of its own is told even when it made the pool give up all connections.
                let reason = match self.surplus(key) {
                    Some(ConnectionClosedReason::Stale) if error.is_some() => ConnectionClosedReason::Error,
                    Some(reason) => reason,
                    None => ConnectionClosedReason::Error,
                };
                self.close_connection(key, connection, reason, error);
            }
        }
        self.create_for_waiters(now);
    }

    /// A pending connection learned in its handshake which service it leads to. Returns its key from now on.
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

    /// A pending connection is ready for use. Returns it if nobody waits for it any more: it was reported closed when the
    /// pool was cleared or closed.
    pub fn established(&mut self, key: ConnectionKey, connection: C, now: Instant) -> Option<C> {
        let Some(Pending { key, created }) = self.take_pending(key) else {
            return Some(connection);
        };
        self.emit(|| Event::ConnectionReady {
            id: key.id,
            duration: now.saturating_duration_since(created),
        });
        self.take_in(key, connection, now);
        self.create_for_waiters(now);
        self.populate(now);
        None
    }

    /// An establishment failed; the first request in the queue must hear of it. `None` when it was given up before.
    ///
    /// To be followed by [`establish_failed`](Self::establish_failed). In between, the owner can act on the failure while
    /// the connection still counts, e.g. clear the pool: the specification wants that told before the connection's end.
    pub fn failing_request(&mut self, key: ConnectionKey) -> Option<FailedEstablishment<W>> {
        let Pending { key, .. } = self.take_pending(key)?;
        self.failed += 1;
        Some(FailedEstablishment {
            key,
            request: self.waiters.pop(),
        })
    }

    /// The connection could not be established; the failing request gets the error.
    ///
    /// Whoever still waits gets another one. Filling up to `minPoolSize` waits for [`maintain`](Self::maintain), lest a
    /// failing server be tried without pause.
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

    /// Where the healthy connection used last lies.
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

    /// Takes the healthy one, and closes the perished ones on top of it: all when there is none.
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
            (now.saturating_duration_since(idle.since) > limit).then_some(ConnectionClosedReason::Idle)
        };
        self.surplus(idle.key).or_else(idle_for_too_long)
    }

    /// Why a connection, whatever its condition, cannot be used again.
    fn surplus(&self, key: ConnectionKey) -> Option<ConnectionClosedReason> {
        if self.state == PoolState::Closed {
            Some(ConnectionClosedReason::PoolClosed)
        } else if key.generation != self.generation(key.service_id) {
            Some(ConnectionClosedReason::Stale)
        } else {
            None
        }
    }

    /// Gives a healthy connection to the first who waits, or makes it available.
    fn take_in(&mut self, key: ConnectionKey, connection: C, now: Instant) {
        if let Some(reason) = self.surplus(key) {
            self.close_connection(key, connection, reason, None);
        } else if let Some(Waiting { waiter, since }) = self.waiters.pop() {
            self.emit(|| Event::CheckedOut {
                id: key.id,
                duration: now.saturating_duration_since(since),
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
                since: now,
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

    /// Without a listener the event is not even made.
    pub(super) fn emit(&mut self, event: impl FnOnce() -> Event<E>) {
        if self.emits {
            self.actions.push_back(Action::Emit(event()));
        }
    }

    /// One establishment for each who waits, as far as the limits allow.
    fn create_for_waiters(&mut self, now: Instant) {
        while self.pending.len() < self.waiters.len() && self.may_create() {
            self.create(now);
        }
    }

    pub(super) fn populate(&mut self, now: Instant) {
        while self.total < self.limits.min_pool_size as usize && self.may_create() {
            self.create(now);
        }
    }

    fn may_create(&self) -> bool {
        let PoolLimits {
            max_pool_size,
            max_connecting,
            ..
        } = self.limits;
        self.state == PoolState::Ready
            && self.pending.len() + self.failed < max_connecting.max(1) as usize
            && (max_pool_size == 0 || self.total < max_pool_size as usize)
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

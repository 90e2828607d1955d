//! The machine itself: counters, the available stack, the wait queue, generations.

use std::{collections::VecDeque, time::Instant};

use super::{
    Action, CheckOut, CloseReason, ConnectionKey, Counts, PoolLimits, PoolState, Refusal, WaiterId,
    wait_queue::WaitQueue,
};

/// The pool of one server. See the [module](super).
///
/// While requests wait, no connection is available: whatever becomes free goes to the first of them.
#[derive(Debug)]
pub struct ConnectionPool<C, W> {
    limits: PoolLimits,
    state: PoolState,
    generation: u64,
    last_id: u32,
    /// The connection used last is on top, so that surplus ones grow idle and go.
    available: Vec<Available<C>>,
    total: usize,
    pending: usize,
    /// Those of `pending` that belong to an older generation: they serve nobody.
    stale_pending: usize,
    waiters: WaitQueue<W>,
    actions: VecDeque<Action<C, W>>,
}

#[derive(Debug)]
struct Available<C> {
    connection: C,
    key: ConnectionKey,
    since: Instant,
}

impl<C, W> ConnectionPool<C, W> {
    /// An empty, paused pool of generation 0.
    pub fn new(limits: PoolLimits) -> Self {
        Self {
            limits,
            state: PoolState::Paused,
            generation: 0,
            last_id: 0,
            available: Vec::new(),
            total: 0,
            pending: 0,
            stale_pending: 0,
            waiters: WaitQueue::default(),
            actions: VecDeque::new(),
        }
    }

    /// What is to be done next.
    pub fn poll_action(&mut self) -> Option<Action<C, W>> {
        self.actions.pop_front()
    }

    /// Whether [`poll_action`](Self::poll_action) would return something.
    pub fn has_actions(&self) -> bool {
        !self.actions.is_empty()
    }

    pub fn state(&self) -> PoolState {
        self.state
    }

    pub fn generation(&self) -> u64 {
        self.generation
    }

    pub fn counts(&self) -> Counts {
        Counts {
            total: self.total,
            available: self.available.len(),
            pending: self.pending,
            waiting: self.waiters.len(),
        }
    }

    /// Whether a connection being established under this key can still be of use.
    pub fn is_wanted(&self, key: ConnectionKey) -> bool {
        self.state == PoolState::Ready && key.generation == self.generation
    }

    /// An available connection, if nobody waits for one.
    pub fn try_check_out(&mut self, now: Instant) -> Option<(ConnectionKey, C)> {
        if self.state != PoolState::Ready || !self.waiters.is_empty() {
            return None;
        }
        while let Some(idle) = self.available.pop() {
            match self.perished(&idle, now) {
                None => return Some((idle.key, idle.connection)),
                Some(reason) => self.close_connection(idle.key, idle.connection, reason),
            }
        }
        None
    }

    /// An available connection, or a place in the wait queue.
    pub fn check_out(&mut self, waiter: W, now: Instant) -> CheckOut<C> {
        match self.state {
            PoolState::Paused => return CheckOut::Refused(Refusal::Cleared),
            PoolState::Closed => return CheckOut::Refused(Refusal::Closed),
            PoolState::Ready => {}
        }
        if let Some((key, connection)) = self.try_check_out(now) {
            return CheckOut::Connection(key, connection);
        }
        let id = self.waiters.push(waiter);
        self.create_for_waiters();
        CheckOut::Waiting(id)
    }

    /// The request gave up. Returns it unless a connection or a refusal was assigned to it already.
    ///
    /// What was being established for it goes to others.
    pub fn cancel(&mut self, id: WaiterId) -> Option<W> {
        self.waiters.remove(id)
    }

    /// Whether the request will be answered without anybody checking in a connection: there is an establishment under way
    /// for it and for each one before it, or its answer is on its way. `waitQueueTimeoutMS` does not limit such a request.
    pub fn is_being_served(&self, id: WaiterId) -> bool {
        self.waiters
            .position(id)
            .is_none_or(|before| before < self.pending - self.stale_pending)
    }

    /// Takes a connection back. One that is not `reusable`, is stale, or comes to a closed pool is closed.
    pub fn check_in(&mut self, key: ConnectionKey, connection: C, reusable: bool, now: Instant) {
        if reusable {
            self.take_in(key, connection, now);
        } else {
            self.close_connection(key, connection, CloseReason::Error);
        }
        self.create_for_waiters();
    }

    /// A pending connection is ready for use.
    pub fn established(&mut self, key: ConnectionKey, connection: C, now: Instant) {
        self.no_longer_pending(key);
        self.take_in(key, connection, now);
        self.create_for_waiters();
        self.populate();
    }

    /// An establishment failed: the request that must hear of it, which is the first in the queue.
    ///
    /// To be followed by [`establish_failed`](Self::establish_failed). In between, the owner can act on the failure while
    /// the connection still counts, e.g. clear the pool.
    pub fn blame(&mut self, key: ConnectionKey) -> Option<W> {
        if self.is_wanted(key) {
            self.waiters.pop()
        } else {
            None
        }
    }

    /// The pending connection will not come to be.
    ///
    /// Whoever still waits gets another one. Filling up to `minPoolSize` waits for [`maintain`](Self::maintain), lest a
    /// failing server be tried without pause.
    pub fn establish_failed(&mut self, key: ConnectionKey) {
        self.no_longer_pending(key);
        self.total -= 1;
        self.create_for_waiters();
    }

    /// Opens a paused pool. Returns whether that changed anything.
    pub fn ready(&mut self) -> bool {
        let paused = self.state == PoolState::Paused;
        if paused {
            self.state = PoolState::Ready;
        }
        paused
    }

    /// Begins a new generation, refuses those who wait, and pauses the pool. Returns whether the pool was ready.
    pub fn clear(&mut self) -> bool {
        if self.state == PoolState::Closed {
            return false;
        }
        self.generation += 1;
        self.stale_pending = self.pending;
        self.refuse_waiters(Refusal::Cleared);
        std::mem::replace(&mut self.state, PoolState::Paused) == PoolState::Ready
    }

    /// Closes the pool and its available connections for good. Returns whether it was open.
    pub fn close(&mut self) -> bool {
        if self.state == PoolState::Closed {
            return false;
        }
        self.state = PoolState::Closed;
        for idle in std::mem::take(&mut self.available) {
            self.close_connection(idle.key, idle.connection, CloseReason::PoolClosed);
        }
        self.refuse_waiters(Refusal::Closed);
        true
    }

    /// Closes available connections that perished, and fills up to `minPoolSize`. To be called now and then, and after
    /// [`ready`](Self::ready) and [`clear`](Self::clear).
    pub fn maintain(&mut self, now: Instant, mut has_perished: impl FnMut(&mut C) -> bool) {
        let mut index = 0;
        while let Some(idle) = self.available.get_mut(index) {
            let errored = has_perished(&mut idle.connection).then_some(CloseReason::Error);
            let reason = self
                .available
                .get(index)
                .and_then(|idle| self.perished(idle, now))
                .or(errored);
            match reason {
                None => index += 1,
                Some(reason) => {
                    let idle = self.available.remove(index);
                    self.close_connection(idle.key, idle.connection, reason);
                }
            }
        }
        self.populate();
    }

    fn perished(&self, idle: &Available<C>, now: Instant) -> Option<CloseReason> {
        if idle.key.generation != self.generation {
            return Some(CloseReason::Stale);
        }
        let limit = self.limits.max_idle_time?;
        (now.saturating_duration_since(idle.since) > limit).then_some(CloseReason::Idle)
    }

    /// Gives a sound connection to the first who waits, or makes it available.
    fn take_in(&mut self, key: ConnectionKey, connection: C, now: Instant) {
        if self.state == PoolState::Closed {
            self.close_connection(key, connection, CloseReason::PoolClosed);
        } else if key.generation != self.generation {
            self.close_connection(key, connection, CloseReason::Stale);
        } else if let Some(waiter) = self.waiters.pop() {
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

    fn close_connection(&mut self, key: ConnectionKey, connection: C, reason: CloseReason) {
        self.total -= 1;
        self.actions.push_back(Action::Close {
            connection,
            key,
            reason,
        });
    }

    fn no_longer_pending(&mut self, key: ConnectionKey) {
        self.pending -= 1;
        if key.generation != self.generation {
            self.stale_pending -= 1;
        }
    }

    fn refuse_waiters(&mut self, why: Refusal) {
        while let Some(waiter) = self.waiters.pop() {
            self.actions.push_back(Action::Fail { waiter, why });
        }
    }

    /// One establishment for each who waits, as far as the limits allow.
    fn create_for_waiters(&mut self) {
        while self.pending - self.stale_pending < self.waiters.len() && self.may_create() {
            self.create();
        }
    }

    fn populate(&mut self) {
        while self.total < self.limits.min_pool_size as usize && self.may_create() {
            self.create();
        }
    }

    fn may_create(&self) -> bool {
        let PoolLimits {
            max_pool_size,
            max_connecting,
            ..
        } = self.limits;
        self.state == PoolState::Ready
            && self.pending < max_connecting.max(1) as usize
            && (max_pool_size == 0 || self.total < max_pool_size as usize)
    }

    fn create(&mut self) {
        self.total += 1;
        self.pending += 1;
        self.last_id = self.last_id.wrapping_add(1);
        self.actions.push_back(Action::Establish(ConnectionKey {
            id: self.last_id,
            generation: self.generation,
        }));
    }
}

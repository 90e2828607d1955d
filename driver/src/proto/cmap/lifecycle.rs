//! What happens to the pool as a whole: it opens, is cleared, closed, and maintained.

use std::time::Instant;

use super::{Action, ConnectionClosedReason, ConnectionPool, Event, PoolState, Refusal};
use crate::bson::ObjectId;

/// How a pool is cleared.
#[derive(Clone, Debug)]
pub struct Clear<E> {
    /// Why. Those who are refused hear of it.
    pub cause: E,
    /// The service to clear for; `None` without a load balancer.
    pub service_id: Option<ObjectId>,
    /// Whether those who use a connection are interrupted.
    pub interrupt_in_use: bool,
}

impl<C, W, E: Clone> ConnectionPool<C, W, E> {
    /// Opens a paused pool. Returns whether that changed anything.
    pub fn ready(&mut self) -> bool {
        let paused = self.state == PoolState::Paused;
        if paused {
            self.state = PoolState::Ready;
            self.emit(|| Event::PoolReady);
        }
        paused
    }

    /// Begins a new generation. Returns whether the pool was ready, or the service had connections.
    ///
    /// Without a service, those who wait are refused, establishments are given up, and the pool pauses. With a service, only
    /// its connections become stale.
    pub fn clear(&mut self, clear: Clear<E>, now: Instant) -> bool {
        if self.state == PoolState::Closed {
            return false;
        }
        let (service_id, interrupt_in_use) = (clear.service_id, clear.interrupt_in_use);
        let (generation, changed) = match service_id {
            Some(id) => match self.services.clear(id) {
                Some(generation) => (generation, true),
                None => return false,
            },
            None => {
                self.generation += 1;
                self.cause = Some(clear.cause);
                let was_ready = std::mem::replace(&mut self.state, PoolState::Paused) == PoolState::Ready;
                (self.generation - 1, was_ready)
            }
        };
        if changed {
            self.emit(|| Event::PoolCleared {
                service_id,
                interrupt_in_use,
            });
        }
        if service_id.is_none() {
            self.give_up_pending(ConnectionClosedReason::Stale);
            self.refuse_all(&Refusal::Cleared(self.cause.clone()), now);
        }
        if interrupt_in_use {
            self.actions.push_back(Action::Interrupt {
                service_id,
                generation,
            });
        }
        changed
    }

    /// Closes the pool and its available connections for good. Returns whether it was open.
    pub fn close(&mut self, now: Instant) -> bool {
        if self.state == PoolState::Closed {
            return false;
        }
        self.state = PoolState::Closed;
        for idle in std::mem::take(&mut self.available) {
            self.close_connection(
                idle.key,
                idle.connection,
                ConnectionClosedReason::PoolClosed,
                None,
            );
        }
        self.give_up_pending(ConnectionClosedReason::PoolClosed);
        self.emit(|| Event::PoolClosed);
        self.refuse_all(&Refusal::Closed, now);
        true
    }

    /// Closes available connections that perished, and fills up to `minPoolSize`. To be called now and then, and after
    /// [`ready`](Self::ready) and [`clear`](Self::clear).
    pub fn maintain(&mut self, now: Instant, mut has_perished: impl FnMut(&mut C) -> bool) {
        let mut index = 0;
        while let Some(idle) = self.available.get_mut(index) {
            let failed = has_perished(&mut idle.connection).then_some(ConnectionClosedReason::Error);
            let outdated = self
                .available
                .get(index)
                .and_then(|idle| self.perished(idle, now));
            match outdated.or(failed) {
                None => index += 1,
                Some(reason) => {
                    let idle = self.available.remove(index);
                    self.close_connection(idle.key, idle.connection, reason, None);
                }
            }
        }
        self.populate(now);
    }

    /// Forgets the establishments under way. Whoever works on them learns it from [`is_pending`](Self::is_pending), or when
    /// the work is done.
    fn give_up_pending(&mut self, reason: ConnectionClosedReason) {
        for pending in std::mem::take(&mut self.pending) {
            self.total -= 1;
            self.services.leave(pending.key);
            let id = pending.key.id;
            let error = None;
            self.emit(|| Event::ConnectionClosed { id, reason, error });
        }
    }

    fn refuse_all(&mut self, why: &Refusal<E>, now: Instant) {
        while let Some(waiting) = self.waiters.pop() {
            self.refuse(waiting, why.clone(), now);
        }
    }
}

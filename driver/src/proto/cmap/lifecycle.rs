//! Operations on the whole pool: ready, clear, close, maintenance.

use std::time::Instant;

use super::{Action, ConnectionClosedReason, ConnectionPool, Event, PoolState, Refusal};
use crate::bson::ObjectId;

/// The arguments of a clear (CMAP, "Clearing a Connection Pool").
#[derive(Clone, Debug)]
pub struct Clear<E> {
    /// The error that caused the clear. Failed check-outs hold it as their source.
    pub cause: E,
    /// `serviceId`: clears only the connections of this service. `None` unless load balanced.
    pub service_id: Option<ObjectId>,
    /// `interruptInUseConnections`.
    pub interrupt_in_use: bool,
}

impl<C, W, E: Clone> ConnectionPool<C, W, E> {
    /// Marks a paused pool as ready. Returns false if it was not paused (CMAP, "Marking a
    /// Connection Pool as Ready").
    pub fn ready(&mut self) -> bool {
        let paused = self.state == PoolState::Paused;
        if paused {
            self.state = PoolState::Ready;
            self.emit(|| Event::PoolReady);
        }
        paused
    }

    /// Increments the generation. Returns whether the pool was ready, or whether the service has
    /// connections.
    ///
    /// Without a service, waiting requests fail, pending connections are abandoned and the pool is
    /// paused. With a service, only its connections become stale, and the pool stays ready. In both
    /// cases the late replies to stale connections are no longer awaited.
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
        self.give_up_draining();
        if interrupt_in_use {
            self.actions.push_back(Action::Interrupt {
                service_id,
                generation,
            });
        }
        // Requests may have waited for a connection that was given up.
        self.create_for_waiters(now);
        changed
    }

    /// Closes the pool and its available connections. Returns whether it was open.
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
        self.give_up_draining();
        self.emit(|| Event::PoolClosed);
        self.refuse_all(&Refusal::Closed, now);
        true
    }

    /// Closes perished available connections and populates the pool up to `minPoolSize` (CMAP,
    /// "Background Thread"). To be called periodically, and after [`ready`](Self::ready) and
    /// [`clear`](Self::clear).
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

    /// Abandons the pending connections. The tasks that establish them see it in
    /// [`is_pending`](Self::is_pending), or in the result of [`established`](Self::established).
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

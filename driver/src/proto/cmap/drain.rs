//! Connections that owe a reply: the reply is awaited in the background, and then the connection is
//! used again.

use std::time::Instant;

use super::{Action, ConnectionClosedReason, ConnectionKey, ConnectionPool, Event};

/// A connection whose reply is awaited.
#[derive(Debug)]
pub(super) struct Draining {
    key: ConnectionKey,
    /// It is no longer expected to serve a waiting request.
    is_slow: bool,
    /// Another connection may take its place in a full pool.
    is_replaceable: bool,
}

impl<C, W, E: Clone> ConnectionPool<C, W, E> {
    /// Checks in a connection whose last reply has not been read in full. It is
    /// [drained](Action::Drain), unless it is stale or the pool is closed.
    ///
    /// A draining connection is expected to serve a waiting request, as a pending connection is, so
    /// no other connection is established for that request until the drain is
    /// [slow](Self::drain_slow). But it does not count for
    /// [`is_being_served`](Self::is_being_served).
    pub fn check_in_owing(&mut self, key: ConnectionKey, connection: C, now: Instant) {
        self.emit(|| Event::CheckedIn { id: key.id });
        if let Some(reason) = self.surplus(key) {
            self.close_connection(key, connection, reason, None);
            self.create_for_waiters(now);
        } else {
            self.draining.push(Draining {
                key,
                is_slow: false,
                is_replaceable: false,
            });
            self.actions.push_back(Action::Drain { key, connection });
        }
    }

    /// Whether the reply to the connection with this key is awaited. False once the outcome was
    /// reported, and after a clear or close.
    pub fn is_draining(&self, key: ConnectionKey) -> bool {
        self.draining.iter().any(|draining| draining.key.id == key.id)
    }

    /// The reply to a draining connection is not expected soon: waiting requests get other
    /// connections, in a full pool in place of this one. Without this, a request would wait for the
    /// reply to a slow command that another operation has given up. Not `is_replaceable`: something else waits for the
    /// reply.
    pub fn drain_slow(&mut self, key: ConnectionKey, is_replaceable: bool, now: Instant) {
        let mut draining = self.draining.iter_mut();
        if let Some(draining) = draining.find(|draining| draining.key.id == key.id) {
            draining.is_slow = true;
            draining.is_replaceable = is_replaceable;
            self.create_for_waiters(now);
        }
    }

    /// A draining connection has read its reply, or failed to. It serves a request or becomes
    /// available, or it is closed. Returns it if it is no longer wanted: a clear or close has
    /// reported it as closed.
    pub fn drained(
        &mut self,
        key: ConnectionKey,
        connection: C,
        outcome: Result<(), Option<E>>,
        now: Instant,
    ) -> Option<C> {
        let found = self
            .draining
            .iter()
            .position(|draining| draining.key.id == key.id);
        let Some(index) = found else {
            return Some(connection);
        };
        self.draining.remove(index);
        self.take_back(key, connection, outcome, || now);
        None
    }

    /// The number of draining connections that are expected to serve waiting requests.
    pub(super) fn nearly_drained(&self) -> usize {
        self.draining.iter().filter(|draining| !draining.is_slow).count()
    }

    /// Closes the slow connection that has drained longest, so that another can be established in a full
    /// pool. Its task sees it in [`is_draining`](Self::is_draining), or in the result of
    /// [`drained`](Self::drained). Returns `false` if there is none.
    pub(super) fn give_up_slow(&mut self) -> bool {
        let Some(index) = self.draining.iter().position(|draining| draining.is_replaceable) else {
            return false;
        };
        let Draining { key, .. } = self.draining.remove(index);
        self.forget_draining(key, ConnectionClosedReason::Error);
        self.actions.push_back(Action::Abandon);
        true
    }

    fn forget_draining(&mut self, key: ConnectionKey, reason: ConnectionClosedReason) {
        self.total -= 1;
        self.services.leave(key);
        let (id, error) = (key.id, None);
        self.emit(|| Event::ConnectionClosed { id, reason, error });
    }

    /// Abandons the draining connections that cannot be used again. The tasks that drain them see it
    /// in [`is_draining`](Self::is_draining), or in the result of [`drained`](Self::drained).
    pub(super) fn give_up_draining(&mut self) {
        for draining in std::mem::take(&mut self.draining) {
            let key = draining.key;
            match self.surplus(key) {
                None => self.draining.push(draining),
                Some(reason) => self.forget_draining(key, reason),
            }
        }
    }

    /// Takes back a connection that was in use or draining.
    #[inline]
    pub(super) fn take_back(
        &mut self,
        key: ConnectionKey,
        connection: C,
        outcome: Result<(), Option<E>>,
        clock: impl Fn() -> Instant,
    ) {
        match outcome {
            Ok(()) => self.take_in(key, connection, &clock),
            Err(error) => {
                // The reason `error` takes precedence over `stale` if the connection itself failed.
                let reason = match self.surplus(key) {
                    Some(ConnectionClosedReason::Stale) if error.is_some() => ConnectionClosedReason::Error,
                    Some(reason) => reason,
                    None => ConnectionClosedReason::Error,
                };
                self.close_connection(key, connection, reason, error);
            }
        }
        if !self.waiters.is_empty() {
            self.create_for_waiters(clock());
        }
    }
}

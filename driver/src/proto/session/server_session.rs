//! The server session pool (Driver Sessions, "Server Session Pool").

use std::time::{Duration, Instant};

/// A session id with its state.
#[derive(Debug, PartialEq, Eq)]
pub struct ServerSession {
    /// The UUID in `lsid`.
    pub id: [u8; 16],
    /// `txnNumber` of the last retryable write or transaction.
    pub transaction_number: i64,
    last_use: Instant,
    dirty: bool,
}

/// A session that expires on the server within this time is not used ("at least one minute left
/// before becoming stale").
const MARGIN: Duration = Duration::from_secs(60);

impl ServerSession {
    /// A session with a new id.
    pub fn new(id: [u8; 16], now: Instant) -> Self {
        Self {
            id,
            transaction_number: 0,
            last_use: now,
            dirty: false,
        }
    }

    /// Increments and returns the transaction number.
    pub fn next_transaction_number(&mut self) -> i64 {
        self.transaction_number += 1;
        self.transaction_number
    }

    /// Marks the session as dirty, after a network error: it does not return to the pool.
    pub fn mark_dirty(&mut self) {
        self.dirty = true;
    }

    /// Whether the session does not return to the pool.
    #[cfg(feature = "internals")]
    pub fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// When a command was last sent in the session.
    pub fn last_use(&self) -> Instant {
        self.last_use
    }

    /// Sets the time of the last use.
    pub fn touch(&mut self, now: Instant) {
        self.last_use = now;
    }

    /// `lifetime`: how long a session is usable after its last use. `None`: sessions are not supported.
    fn is_usable(&self, now: Instant, lifetime: Option<Duration>) -> bool {
        // The sum costs less than the difference of two times.
        !self.dirty
            && lifetime
                .is_some_and(|lifetime| self.last_use.checked_add(lifetime).is_none_or(|end| now < end))
    }
}

/// The pool of unused sessions: a stack with the most recently used session on top.
#[derive(Debug, Default)]
pub struct SessionStack {
    sessions: Vec<ServerSession>,
    /// The last timeout that was not `None`.
    timeout: Option<Duration>,
}

impl SessionStack {
    /// The most recently used session. Sessions that are about to expire are dropped. `timeout`:
    /// `logicalSessionTimeoutMinutes` of the deployment; `None`: no server is known at the moment, and
    /// the last timeout applies, or sessions are not supported.
    #[inline]
    pub fn pop(&mut self, now: Instant, timeout: Option<Duration>) -> Option<ServerSession> {
        let lifetime = self.lifetime(timeout);
        while let Some(session) = self.sessions.pop() {
            if session.is_usable(now, lifetime) {
                return Some(session);
            }
        }
        None
    }

    /// Returns a session to the pool, unless it is dirty or about to expire. `timeout` as in
    /// [`pop`](Self::pop).
    #[inline]
    pub fn push(&mut self, session: ServerSession, now: Instant, timeout: Option<Duration>) {
        let lifetime = self.lifetime(timeout);
        let expired = self
            .sessions
            .iter()
            .take_while(|s| !s.is_usable(now, lifetime))
            .count();
        if expired > 0 {
            self.sessions.drain(..expired);
        }
        if session.is_usable(now, lifetime) {
            self.sessions.push(session);
        }
    }

    /// How long a session is usable after its last use.
    fn lifetime(&mut self, timeout: Option<Duration>) -> Option<Duration> {
        self.timeout = timeout.or(self.timeout);
        self.timeout?.checked_sub(MARGIN)
    }

    /// Removes all sessions and returns their ids, for `endSessions`.
    pub fn drain(&mut self) -> Vec<[u8; 16]> {
        self.sessions.drain(..).map(|session| session.id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Option<Duration> = Some(Duration::from_secs(1800));

    #[test]
    fn the_last_one_in_is_the_first_out() {
        let now = Instant::now();
        let mut stack = SessionStack::default();
        stack.push(ServerSession::new([1; 16], now), now, TIMEOUT);
        stack.push(ServerSession::new([2; 16], now), now, TIMEOUT);
        assert_eq!(stack.pop(now, TIMEOUT).unwrap().id, [2; 16]);
        assert_eq!(stack.drain(), [[1; 16]]);
    }

    #[test]
    fn sessions_about_to_expire_are_dropped() {
        let now = Instant::now();
        let mut stack = SessionStack::default();
        stack.push(ServerSession::new([1; 16], now), now, TIMEOUT);
        let later = now + Duration::from_secs(1740);
        assert!(stack.pop(later, TIMEOUT).is_none());
        // Without sessions on the server, none is kept.
        let mut stack = SessionStack::default();
        stack.push(ServerSession::new([1; 16], now), now, None);
        assert!(stack.drain().is_empty());
    }

    /// The timeout is unknown while no data-bearing server is.
    #[test]
    fn sessions_are_kept_while_the_timeout_is_unknown() {
        let now = Instant::now();
        let mut stack = SessionStack::default();
        for id in [1, 2] {
            stack.push(ServerSession::new([id; 16], now), now, TIMEOUT);
        }
        let session = stack.pop(now, None).unwrap();
        assert_eq!(session.id, [2; 16]);
        stack.push(session, now, None);
        let later = now + Duration::from_secs(1740);
        assert!(stack.pop(later, None).is_none(), "about to expire");
    }

    #[test]
    fn dirty_sessions_are_not_used_again() {
        let now = Instant::now();
        let mut stack = SessionStack::default();
        let mut session = ServerSession::new([1; 16], now);
        session.mark_dirty();
        stack.push(session, now, TIMEOUT);
        assert!(stack.pop(now, TIMEOUT).is_none());
    }
}

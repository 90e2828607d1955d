//! Server sessions, kept on a stack so that the most recently used is used again first.

use std::time::{Duration, Instant};

/// A session id and what the server remembers for it.
#[derive(Debug, PartialEq, Eq)]
pub struct ServerSession {
    /// The UUID in `lsid`.
    pub id: [u8; 16],
    /// The number of the last retryable write or transaction.
    pub transaction_number: i64,
    last_use: Instant,
    dirty: bool,
}

/// A session is not used again when the server may forget it within this time.
const MARGIN: Duration = Duration::from_secs(60);

impl ServerSession {
    pub fn new(id: [u8; 16], now: Instant) -> Self {
        Self {
            id,
            transaction_number: 0,
            last_use: now,
            dirty: false,
        }
    }

    pub fn next_transaction_number(&mut self) -> i64 {
        self.transaction_number += 1;
        self.transaction_number
    }

    /// A network error leaves the server's part of the session unknown.
    pub fn mark_dirty(&mut self) {
        self.dirty = true;
    }

    /// When a command was sent in it last.
    pub fn last_use(&self) -> Instant {
        self.last_use
    }

    /// A command is sent in it.
    pub fn touch(&mut self, now: Instant) {
        self.last_use = now;
    }

    fn is_usable(&self, now: Instant, timeout: Option<Duration>) -> bool {
        let age = now.saturating_duration_since(self.last_use);
        !self.dirty && timeout.is_some_and(|timeout| age + MARGIN < timeout)
    }
}

/// Unused sessions, the most recently used last.
#[derive(Debug, Default)]
pub struct SessionStack {
    sessions: Vec<ServerSession>,
}

impl SessionStack {
    /// The most recently used session that the server still knows. Those about to expire are dropped.
    pub fn pop(&mut self, now: Instant, timeout: Option<Duration>) -> Option<ServerSession> {
        while let Some(session) = self.sessions.pop() {
            if session.is_usable(now, timeout) {
                return Some(session);
            }
        }
        None
    }

    /// Gives a session back, unless it is dirty or about to expire.
    pub fn push(&mut self, session: ServerSession, now: Instant, timeout: Option<Duration>) {
        let expired = self
            .sessions
            .iter()
            .take_while(|s| !s.is_usable(now, timeout))
            .count();
        self.sessions.drain(..expired);
        if session.is_usable(now, timeout) {
            self.sessions.push(session);
        }
    }

    /// Takes all ids, for `endSessions`.
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
        stack.push(ServerSession::new([1; 16], now), now, None);
        assert!(stack.drain().is_empty());
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

//! The server session pool of a client.

use std::time::{Duration, Instant};

use crate::{
    bson::Uuid,
    proto::session::{ServerSession, SessionStack},
    types::lock::{Inner, InnerGuard},
};

/// The unused sessions under a lock.
#[derive(Debug, Default)]
pub(super) struct SessionPool {
    stack: Inner<SessionStack>,
}

impl SessionPool {
    /// An unused session or a new one.
    #[inline]
    pub(super) fn take(&self, now: Instant, timeout: Option<Duration>) -> ServerSession {
        match self.lock().pop(now, timeout) {
            Some(mut session) => {
                session.touch(now);
                session
            }
            None => ServerSession::new(Uuid::new().bytes(), now),
        }
    }

    /// Returns a session, unless it is dirty or about to expire.
    #[inline]
    pub(super) fn give_back(&self, session: ServerSession, now: Instant, timeout: Option<Duration>) {
        self.lock().push(session, now, timeout);
    }

    pub(super) fn drain(&self) -> Vec<[u8; 16]> {
        self.lock().drain()
    }

    fn lock(&self) -> InnerGuard<'_, SessionStack> {
        self.stack.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Option<Duration> = Some(Duration::from_secs(1800));

    /// The server counts from the last command, not from when the session was given back.
    #[test]
    fn a_session_that_was_idle_before_it_is_given_back_is_not_kept() {
        let pool = SessionPool::default();
        let used = Instant::now();
        for (idle, kept) in [(Duration::ZERO, 1), (Duration::from_secs(1750), 0)] {
            pool.give_back(ServerSession::new([1; 16], used), used + idle, TIMEOUT);
            assert_eq!(pool.drain().len(), kept);
        }
    }
}

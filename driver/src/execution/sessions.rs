//! The client's unused server sessions.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    bson::Uuid,
    proto::session::{ServerSession, SessionStack},
};

/// The stack of unused sessions under a short lock.
#[derive(Debug, Default)]
pub(super) struct SessionPool {
    stack: Mutex<SessionStack>,
}

impl SessionPool {
    /// An unused session, or a new one, used from now on.
    pub(super) fn take(&self, now: Instant, timeout: Option<Duration>) -> ServerSession {
        match self.lock().pop(now, timeout) {
            Some(mut session) => {
                session.touch(now);
                session
            }
            None => ServerSession::new(Uuid::new().bytes(), now),
        }
    }

    /// Takes back a session that knows when it was used last. That was a moment ago, so the clock is not asked again.
    pub(super) fn give_back(&self, session: ServerSession, timeout: Option<Duration>) {
        let now = session.last_use();
        self.lock().push(session, now, timeout);
    }

    pub(super) fn drain(&self) -> Vec<[u8; 16]> {
        self.lock().drain()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SessionStack> {
        self.stack.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

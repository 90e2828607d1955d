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
    /// An unused session, or a new one.
    pub(super) fn take(&self, timeout: Option<Duration>) -> ServerSession {
        let now = Instant::now();
        let unused = self.lock().pop(now, timeout);
        unused.unwrap_or_else(|| ServerSession::new(Uuid::new().bytes(), now))
    }

    pub(super) fn give_back(&self, mut session: ServerSession, timeout: Option<Duration>) {
        let now = Instant::now();
        session.touch(now);
        self.lock().push(session, now, timeout);
    }

    pub(super) fn drain(&self) -> Vec<[u8; 16]> {
        self.lock().drain()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SessionStack> {
        self.stack.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Sessions that the application starts itself.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use super::Executor;
use crate::{
    Error, Result,
    proto::{
        description::HelloReply,
        session::{SessionOptions, SessionState},
    },
    topology::Topology,
};

/// A session of the application, shared with the cursors that were opened in it.
#[derive(Debug)]
pub(crate) struct ExplicitSession {
    /// Whose session it is: no other client's servers know it.
    topology: Arc<Topology>,
    state: Mutex<SessionState>,
}

impl ExplicitSession {
    pub(crate) fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.lock().server.is_none()
    }

    /// The session's id, as long as an operation may use it.
    pub(super) fn check(
        &self,
        executor: &Executor,
        hello: &HelloReply,
        acknowledged: bool,
    ) -> Result<[u8; 16]> {
        let refuse = |why: &str| Err(Error::invalid_argument(why));
        if !Arc::ptr_eq(&self.topology, &executor.topology) {
            return refuse(
                "the session belongs to another client; start one with the client of the operation",
            );
        }
        let state = self.lock();
        let Some(server) = &state.server else {
            return refuse("the session has ended");
        };
        if !acknowledged {
            return refuse("an unacknowledged write cannot be part of a session");
        }
        if hello.session_timeout().is_none() {
            return Err(Error::unsupported("sessions are not supported by this server"));
        }
        if state.is_snapshot() && !hello.is_5_0() {
            return Err(Error::unsupported("snapshot reads require MongoDB 5.0 or later"));
        }
        Ok(server.id)
    }
}

impl Executor {
    /// Starts a session. Nothing is sent: a server learns of it from its first command.
    pub(crate) fn start_session(&self, options: SessionOptions) -> Result<Arc<ExplicitSession>> {
        options.validate().map_err(Error::invalid_argument)?;
        let server = self
            .sessions
            .take(Instant::now(), self.topology.session_timeout());
        Ok(Arc::new(ExplicitSession {
            topology: Arc::clone(&self.topology),
            state: Mutex::new(SessionState::new(options, server)),
        }))
    }

    /// Ends it; the server's part can serve another session.
    pub(crate) fn end_session(&self, session: &ExplicitSession) {
        let server = session.lock().server.take();
        self.give_back(server);
    }
}

//! Sessions that the application starts itself.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use super::Executor;
use crate::{
    Error, Result,
    operation::Properties,
    proto::{
        description::HelloReply,
        session::{SessionOptions, SessionState},
    },
    topology::{SelectedServer, Topology},
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

    /// Begins a command in the session. Returns the session id, or `None` if the session has ended
    /// and the operation does not require one. [`leave`](Self::leave) must be called after the
    /// command.
    pub(super) fn enter(
        &self,
        executor: &Executor,
        server: &SelectedServer,
        hello: &HelloReply,
        properties: &Properties<'_>,
        now: Instant,
    ) -> Result<Option<[u8; 16]>> {
        let refuse = |why: &str| Err(Error::invalid_argument(why));
        if !Arc::ptr_eq(&self.topology, &executor.topology) {
            return refuse(
                "the session belongs to another client; start one with the client of the operation",
            );
        }
        let mut state = self.lock();
        let is_snapshot = state.is_snapshot();
        let Some(session) = &mut state.server else {
            return if properties.requires_session {
                refuse("the session has ended")
            } else {
                Ok(None)
            };
        };
        if !properties.expects_reply {
            return refuse("an unacknowledged write cannot be part of a session");
        }
        if server.session_timeout(hello).is_none() {
            return Err(Error::unsupported("sessions are not supported by this server"));
        }
        if is_snapshot && !hello.is_5_0() {
            return Err(Error::unsupported("snapshot reads require MongoDB 5.0 or later"));
        }
        session.touch(now);
        let id = session.id;
        state.begin_command();
        Ok(Some(id))
    }

    /// Ends the command that [`enter`](Self::enter) began. `is_dirty`: the server may still run the
    /// command.
    pub(super) fn leave(&self, is_dirty: bool) {
        self.lock().end_command(is_dirty);
    }
}

impl Executor {
    /// Starts a session. Nothing is sent: the server creates it with its first command.
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

    /// Ends the session. Its server session returns to the session pool, unless a command in it has
    /// no reply yet.
    pub(crate) fn end_session(&self, session: &ExplicitSession) {
        let server = session.lock().end();
        self.give_back(server);
    }
}

//! Runs an operation: picks a server, a connection and a session, sends the command, reads the reply, and sends it again
//! where the specifications allow.

mod attempt;
mod cluster_clock;
mod sessions;

use std::{sync::Arc, time::Duration};

use crate::{
    Error, Result, ServerAddress,
    operation::{Operation, Retry},
    proto::{retry, server_selection::Criteria, session::ServerSession},
    topology::{SelectedServer, Topology},
    types::deadline::Deadline,
};
use attempt::Attempt;
use cluster_clock::ClusterClock;
use sessions::SessionPool;

/// What the executor needs of the client's options.
#[derive(Clone, Debug)]
pub(crate) struct ExecutionSettings {
    pub(crate) retry_reads: bool,
    pub(crate) retry_writes: bool,
    /// `socketTimeoutMS`: how long a command may wait for its reply; `None` means for ever.
    pub(crate) socket_timeout: Option<Duration>,
}

/// Everything a client shares between its operations.
#[derive(Debug)]
pub(crate) struct Executor {
    topology: Arc<Topology>,
    settings: ExecutionSettings,
    sessions: SessionPool,
    clock: ClusterClock,
}

impl Executor {
    pub(crate) fn new(topology: Arc<Topology>, settings: ExecutionSettings) -> Self {
        Self {
            topology,
            settings,
            sessions: SessionPool::default(),
            clock: ClusterClock::default(),
        }
    }

    pub(crate) fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// Runs `operation` to its end.
    ///
    /// Dropping the future closes the connection if a reply is outstanding, and gives everything else back.
    pub(crate) async fn run<O: Operation>(&self, operation: &mut O) -> Result<O::Output> {
        if let Some(concern) = operation.write_concern() {
            concern.validate().map_err(Error::invalid_argument)?;
        }
        let mut session: Option<ServerSession> = None;
        let mut number: Option<i64> = None;
        let mut first_failure: Option<Error> = None;
        let mut avoid: Vec<ServerAddress> = Vec::new();
        loop {
            let result = self.run_once(operation, &mut session, &mut number, &avoid).await;
            let (error, address) = match result {
                Ok(mut output) => {
                    if let Some(used) = session.take() {
                        self.give_back(O::attach_session(&mut output, used));
                    }
                    return Ok(output);
                }
                Err(failure) => failure,
            };
            if error.is_network()
                && let Some(session) = &mut session
            {
                session.mark_dirty();
            }
            match (first_failure.take(), self.may_retry(operation, &error)) {
                (None, true) => {
                    avoid.extend(address);
                    first_failure = Some(error);
                }
                // The failure of the retry says more, unless the retry never reached a server or did nothing there.
                (first, _) => {
                    self.give_back(session.take());
                    let error = match first {
                        Some(first) if !reached_server(&error) || retry::did_nothing(&error) => first,
                        _ => error,
                    };
                    return operation.recover(error);
                }
            }
        }
    }

    fn may_retry<O: Operation>(&self, operation: &O, error: &Error) -> bool {
        match operation.retry() {
            Retry::No => false,
            Retry::Read => self.settings.retry_reads && retry::is_retryable_read(error),
            Retry::Write => self.settings.retry_writes && retry::is_retryable_write(error),
        }
    }

    /// One try: selection, check-out, command. A failure comes with the server that a second try should avoid.
    async fn run_once<O: Operation>(
        &self,
        operation: &mut O,
        session: &mut Option<ServerSession>,
        number: &mut Option<i64>,
        avoid: &[ServerAddress],
    ) -> Result<O::Output, (Error, Option<ServerAddress>)> {
        let server = self
            .select(operation.target(), avoid)
            .await
            .map_err(|e| (e, None))?;
        let checked_out = match server.try_check_out() {
            Some(connection) => Ok(connection),
            None => server.check_out(Deadline::NEVER).await,
        };
        let mut connection = match checked_out {
            Ok(connection) => connection,
            Err(error) => {
                let error = match operation.retry() {
                    Retry::Write => retry::label_write_failure(error),
                    _ => error,
                };
                return Err((error, server.to_avoid()));
            }
        };
        let attempt = Attempt::new(self, &server, operation, &connection, session, number);
        if number.is_some() && !attempt.is_numbered() {
            // Sent without the number of the first try, the write could be done twice.
            let error = Error::unsupported("retryable writes on this server");
            return Err((error, server.to_avoid()));
        }
        let result = attempt.run(operation, &mut connection).await;
        result.map_err(|error| {
            self.topology
                .handle_error(&server, connection.generation(), &error);
            (error, server.to_avoid())
        })
    }

    async fn select(&self, criteria: Criteria<'_>, avoid: &[ServerAddress]) -> Result<SelectedServer> {
        match self.topology.try_select(criteria, avoid) {
            Some(server) => Ok(server),
            None => self.topology.select(criteria, avoid, Deadline::NEVER).await,
        }
    }

    /// Returns a session to the pool.
    pub(crate) fn give_back(&self, session: Option<ServerSession>) {
        if let Some(session) = session {
            self.sessions.give_back(session, self.topology.session_timeout());
        }
    }

    /// Whether some server could take a command at once.
    pub(crate) fn has_server(&self) -> bool {
        let criteria = Criteria::Read(crate::types::read_preference::PRIMARY);
        self.topology.try_select(criteria, &[]).is_some()
    }

    /// The ids of all unused sessions, which are forgotten here.
    pub(crate) fn drain_sessions(&self) -> Vec<[u8; 16]> {
        self.sessions.drain()
    }
}

/// False for failures that come from selection, from the pool, or from the driver's own rules.
fn reached_server(error: &Error) -> bool {
    !matches!(
        error.kind(),
        crate::ErrorKind::ServerSelection(_)
            | crate::ErrorKind::Pool(_)
            | crate::ErrorKind::Shutdown
            | crate::ErrorKind::Unsupported(_)
    )
}

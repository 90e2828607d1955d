//! Runs operations: selects a server, checks out a connection, chooses a session, sends the
//! command, reads the reply, and retries.

mod attempt;
mod cluster_clock;
mod explicit;
#[cfg(not(feature = "internals"))]
mod jitter;
#[cfg(feature = "internals")]
#[path = "jitter_fixed.rs"]
mod jitter;
mod monitoring;
mod selection;
mod sessions;

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    Error, ErrorKind, Result, ServerAddress,
    error::code,
    operation::{Operation, Retry, cursor::CursorReply},
    pool::{CheckOutReason, PooledConnection},
    proto::{
        event::{CommandEvent, EventListener},
        retry::{self, Next, RetryOptions, RetryPolicy},
        server_selection::Criteria,
        session::ServerSession,
    },
    telemetry::SelectionLog,
    topology::{SelectedServer, Topology},
    types::{deadline::Deadline, read_preference::ReadPreference, server_api::ServerApi},
};
use attempt::Attempt;
use cluster_clock::ClusterClock;
pub(crate) use explicit::ExplicitSession;
pub(crate) use jitter::Jitter;
use selection::Wanted;
use sessions::SessionPool;

/// The options of the executor.
#[derive(Clone, Debug)]
pub(crate) struct ExecutionSettings {
    pub(crate) retry: RetryOptions,
    /// `enableOverloadRetargeting`: whether a retry after an overload error prefers another member.
    pub(crate) overload_retargeting: bool,
    pub(crate) jitter: Jitter,
    /// Sent with every command.
    pub(crate) server_api: Option<ServerApi>,
    pub(crate) command_listener: Option<EventListener<CommandEvent>>,
    pub(crate) selection_log: SelectionLog,
    /// `socketTimeoutMS`: the time limit of a reply. `None`: no limit.
    pub(crate) socket_timeout: Option<Duration>,
}

/// The state that all operations of a client share.
#[derive(Debug)]
pub(crate) struct Executor {
    topology: Arc<Topology>,
    settings: ExecutionSettings,
    sessions: SessionPool,
    clock: ClusterClock,
    /// The next `operationId` of command events.
    operations: AtomicI64,
}

impl Executor {
    pub(crate) fn new(topology: Arc<Topology>, settings: ExecutionSettings) -> Self {
        Self {
            topology,
            settings,
            sessions: SessionPool::default(),
            clock: ClusterClock::default(),
            operations: AtomicI64::new(1),
        }
    }

    pub(crate) fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// Runs `operation` in an implicit session.
    ///
    /// Dropping the future returns the connection to its pool, which awaits an outstanding reply in
    /// the background for at most 3 s since its last byte. A connection to which the command was not
    /// written completely is closed. The operation's own session is not returned to the session pool.
    pub(crate) fn run<O: Operation>(&self, operation: &mut O) -> impl Future<Output = Result<O::Output>> {
        self.run_in(None, operation)
    }

    /// As [`run`](Self::run), in a session of the application if one is given.
    pub(crate) fn run_in<O: Operation>(
        &self,
        explicit: Option<&Arc<ExplicitSession>>,
        operation: &mut O,
    ) -> impl Future<Output = Result<O::Output>> {
        self.run_with_id(self.next_operation_id(), explicit, operation)
    }

    /// A new `operationId` for an operation that sends several commands, each with
    /// [`run_with_id`](Self::run_with_id).
    pub(crate) fn next_operation_id(&self) -> i64 {
        self.operations.fetch_add(1, Ordering::Relaxed)
    }

    /// As [`run_in`](Self::run_in), for one of several commands that share an `operationId`: those
    /// of a bulk write, or of a cursor (Command Logging and Monitoring specification, "Bulk
    /// Writes").
    pub(crate) async fn run_with_id<O: Operation>(
        &self,
        operation_id: i64,
        explicit: Option<&Arc<ExplicitSession>>,
        operation: &mut O,
    ) -> Result<O::Output> {
        if let Some(concern) = operation.properties().write_concern {
            concern.validate().map_err(Error::invalid_argument)?;
        }
        let mut state = OperationState::new(operation_id, explicit.map(|session| &**session));
        let mut retry_policy = None;
        loop {
            let failure = match self.run_once(operation, &mut state).await {
                Ok(mut output) => {
                    match O::cursor(&mut output).and_then(CursorReply::if_open) {
                        Some(cursor) => {
                            cursor.session = state.session.take();
                            cursor.operation_id = operation_id;
                        }
                        None => self.give_back_fresh(state.session.take()),
                    }
                    return Ok(output);
                }
                Err(failure) => failure,
            };
            if failure.error.is_network() {
                state.mark_dirty();
            }
            // Created here: which statements the command of a bulk write holds, and so whether it
            // is retryable, is decided when the connection is known.
            let retry_policy = retry_policy.get_or_insert_with(|| {
                let properties = operation.properties();
                let repeatable = properties.retry != Retry::No;
                RetryPolicy::new(self.settings.retry, properties.intent, repeatable)
            });
            match retry_policy.next(failure.error, self.settings.jitter.next()) {
                Next::Again { pause } => {
                    let retargeted = pause.is_some() && self.settings.overload_retargeting;
                    let Origin { address, router } = failure.origin;
                    state.avoid.extend(address.filter(|_| router || retargeted));
                    if let Some(pause) = pause {
                        // Boxed, so that the future contains a pointer instead of a timer: most
                        // operations do not pause.
                        Box::pin(tokio::time::sleep(pause)).await;
                    }
                }
                Next::Report(error) => {
                    self.give_back_fresh(state.session.take());
                    return operation.recover(error);
                }
            }
        }
    }

    /// One attempt: server selection, check-out, command. Resources are returned before it
    /// completes.
    async fn run_once<O: Operation>(
        &self,
        operation: &mut O,
        state: &mut OperationState<'_>,
    ) -> Result<O::Output, Failure> {
        let server = match self.select_at_once(operation.properties().criteria, &state.avoid) {
            Some(server) => server,
            None => {
                let properties = operation.properties();
                let wanted = Wanted {
                    operation: properties.name,
                    operation_id: state.operation_id,
                    criteria: properties.criteria,
                    avoid: &state.avoid,
                };
                // Boxed to keep the future of an operation that need not wait small.
                Box::pin(self.select(wanted)).await.map_err(Failure::nowhere)?
            }
        };
        // Read once for connection and session: reading the clock is a measurable part of an
        // operation.
        let mut now = Instant::now();
        let (mut connection, is_pinned) = match operation.pin().and_then(Option::take) {
            Some(connection) => (*connection, true),
            None => match server.try_check_out(now) {
                Some(connection) => (connection, false),
                None => {
                    // Boxed to keep the future of an operation that finds an available connection
                    // small.
                    let connection = Box::pin(self.check_out(operation, &server)).await?;
                    now = Instant::now();
                    (connection, false)
                }
            },
        };
        let result = 'done: {
            if is_pinned && connection.owes_reply() {
                let limit = Deadline::after(self.settings.socket_timeout);
                // Boxed, because it is rare.
                if let Err(error) = Box::pin(connection.drain(limit)).await {
                    break 'done Err(error);
                }
            }
            let attempt = match Attempt::new(self, &server, operation, &connection, state, now) {
                // Without the transaction number of the first attempt, the write could be executed
                // twice.
                Ok(attempt) if state.number.is_some() && !attempt.is_numbered() => {
                    break 'done Err(Error::unsupported("retryable writes on this server"));
                }
                Ok(attempt) => attempt,
                Err(error) => break 'done Err(error),
            };
            state.in_flight = true;
            // The output may be of a type that must not be held over an await.
            match attempt.run(operation, &mut connection).await {
                Err(error) if is_reauthentication_required(&error) => {}
                outcome => break 'done outcome,
            }
            if let Err(error) = Box::pin(connection.reauthenticate()).await {
                let error = if attempt.is_numbered() {
                    retry::label_write_failure(error)
                } else {
                    error
                };
                break 'done Err(error);
            }
            attempt.run(operation, &mut connection).await
        };
        state.leave(matches!(&result, Err(error) if error.is_network()));
        let was_sent = std::mem::take(&mut state.in_flight);
        let result = result.map_err(|error| {
            if was_sent {
                self.topology.handle_error(&server, connection.key(), &error);
            }
            Failure::at(&server, error)
        });
        if is_pinned {
            if let Some(place) = operation.pin() {
                *place = Some(Box::new(connection));
            }
            return result;
        }
        let mut output = result?;
        if server.is_load_balancer()
            && operation.pin().is_none()
            && let Some(cursor) = O::cursor(&mut output).and_then(CursorReply::if_open)
        {
            connection.set_check_out_reason(CheckOutReason::Cursor);
            cursor.pin = Some(Box::new(connection));
        }
        Ok(output)
    }

    async fn check_out<O: Operation>(
        &self,
        operation: &O,
        server: &SelectedServer,
    ) -> Result<PooledConnection, Failure> {
        // Only retryable writes are labeled (Retryable Writes specification).
        let properties = operation.properties();
        let is_retryable = self.settings.retry.writes
            && properties.retry == Retry::Write
            && properties.expects_reply
            && !self.topology.is_standalone(server);
        server.check_out(Deadline::NEVER).await.map_err(|error| {
            let error = if is_retryable {
                retry::label_write_failure(error)
            } else {
                error
            };
            Failure::at(server, error)
        })
    }

    /// Returns a session that a cursor or the application held to the pool.
    pub(crate) fn give_back(&self, session: Option<ServerSession>) {
        if let Some(session) = session {
            let timeout = self.topology.session_timeout();
            self.sessions.give_back(session, Instant::now(), timeout);
        }
    }

    /// Returns a session to the session pool after one command. The time of its last use replaces
    /// the current time, which saves a read of the clock.
    fn give_back_fresh(&self, session: Option<ServerSession>) {
        if let Some(session) = session {
            let (now, timeout) = (session.last_use(), self.topology.session_timeout());
            self.sessions.give_back(session, now, timeout);
        }
    }

    /// An executor for commands after the last use of this one: of the same deployment, with an
    /// empty session pool.
    pub(crate) fn successor(&self) -> Self {
        Self {
            topology: Arc::clone(&self.topology),
            settings: self.settings.clone(),
            sessions: SessionPool::default(),
            clock: self.clock.copied(),
            operations: AtomicI64::new(self.next_operation_id()),
        }
    }

    /// Whether a server is suitable for such a read now.
    pub(crate) fn has_server(&self, preference: &ReadPreference) -> bool {
        self.topology
            .try_select(Criteria::Read(preference), &[])
            .is_some()
    }

    /// The ids of all unused sessions, which are forgotten here.
    pub(crate) fn drain_sessions(&self) -> Vec<[u8; 16]> {
        self.sessions.drain()
    }
}

/// A random number from 0 to 1, 1 excluded.
fn random_factor() -> f64 {
    (RandomState::new().hash_one(0) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Whether the connection must be authenticated again (Authentication, "Reauthentication"). The
/// command is then sent again, whether or not it is retryable.
fn is_reauthentication_required(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Command(e) if e.code == code::REAUTHENTICATION_REQUIRED)
}

/// What the attempts of one operation share.
struct OperationState<'a> {
    operation_id: i64,
    /// The explicit session.
    explicit: Option<&'a ExplicitSession>,
    /// The implicit session, if there is no explicit one.
    session: Option<ServerSession>,
    /// `txnNumber` of a retryable write.
    number: Option<i64>,
    /// Deprioritized servers.
    avoid: Vec<ServerAddress>,
    /// Whether a command may have been sent whose reply has not been read.
    in_flight: bool,
    /// Whether [`ExplicitSession::leave`] must be called.
    has_entered: bool,
}

impl<'a> OperationState<'a> {
    fn new(operation_id: i64, explicit: Option<&'a ExplicitSession>) -> Self {
        Self {
            operation_id,
            explicit,
            session: None,
            number: None,
            avoid: Vec::new(),
            in_flight: false,
            has_entered: false,
        }
    }

    /// The transaction number: a retry has that of the first attempt.
    fn number(&mut self, session: &mut ServerSession) -> i64 {
        *self
            .number
            .get_or_insert_with(|| session.next_transaction_number())
    }

    /// Marks the session as dirty.
    fn mark_dirty(&mut self) {
        if let Some(explicit) = self.explicit {
            explicit.lock().mark_dirty();
        } else if let Some(session) = &mut self.session {
            session.mark_dirty();
        }
    }

    /// Ends the command in the explicit session. `is_dirty`: the server may still run it.
    fn leave(&mut self, is_dirty: bool) {
        if std::mem::take(&mut self.has_entered)
            && let Some(explicit) = self.explicit
        {
            explicit.leave(is_dirty);
        }
    }
}

impl Drop for OperationState<'_> {
    /// Marks the explicit session as dirty if the future of the operation is dropped while the
    /// server may still run its command, so that it does not return to the session pool (Driver
    /// Sessions specification: a session id "MUST NOT be used simultaneously by more than one
    /// operation"). An implicit session is dropped with this value.
    fn drop(&mut self) {
        self.leave(self.in_flight);
    }
}

/// The error of an attempt, and the server.
struct Failure {
    error: Error,
    origin: Origin,
}

#[derive(Default)]
struct Origin {
    address: Option<ServerAddress>,
    router: bool,
}

impl Failure {
    fn nowhere(error: Error) -> Self {
        Self {
            error,
            origin: Origin::default(),
        }
    }

    fn at(server: &SelectedServer, error: Error) -> Self {
        Self {
            error,
            origin: Origin {
                address: Some(server.address().clone()),
                router: server.is_router(),
            },
        }
    }
}

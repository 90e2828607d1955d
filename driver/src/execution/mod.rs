//! Runs an operation: picks a server, a connection and a session, sends the command, reads the reply, and sends it again
//! where the specifications allow.

mod attempt;
mod cluster_clock;
mod explicit;
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
    operation::{Operation, Pinned, Retry},
    pool::{CheckOutReason, PooledConnection},
    proto::{
        event::{CommandEvent, EventListener, ServerSelectionEvent},
        retry::{self, Next, RetryOptions, RetryPolicy},
        server_selection::Criteria,
        session::ServerSession,
    },
    topology::{SelectedServer, Topology},
    types::{deadline::Deadline, read_preference::ReadPreference, server_api::ServerApi},
};
use attempt::Attempt;
use cluster_clock::ClusterClock;
pub(crate) use explicit::ExplicitSession;
use selection::Wanted;
use sessions::SessionPool;

/// The server forgot who the user of the connection is (Authentication specification): the user logs in again and the command is
/// repeated, whether or not it may be retried otherwise.
const REAUTHENTICATION_REQUIRED: i32 = 391;

/// What the executor needs of the client's options.
#[derive(Clone, Debug)]
pub(crate) struct ExecutionSettings {
    pub(crate) retry: RetryOptions,
    /// `enableOverloadRetargeting`: whether a retry of an overloaded member prefers another member.
    pub(crate) overload_retargeting: bool,
    /// Takes the place of the random factor of pauses, in tests.
    pub(crate) jitter: Option<f64>,
    /// Every command carries it.
    pub(crate) server_api: Option<ServerApi>,
    pub(crate) command_listener: Option<EventListener<CommandEvent>>,
    /// Is told how servers are chosen.
    pub(crate) selection_listener: Option<EventListener<ServerSelectionEvent>>,
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
    /// Counts operations, for the events of their commands.
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

    /// Runs `operation` to its end, in a session of its own.
    ///
    /// Dropping the future closes the connection if a reply is outstanding, and returns it to the pool otherwise. The
    /// operation's own session is not returned to the session pool.
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

    /// The `operationId` of an operation that sends several commands, to be given to [`run_with_id`](Self::run_with_id)
    /// with each of them.
    pub(crate) fn next_operation_id(&self) -> i64 {
        self.operations.fetch_add(1, Ordering::Relaxed)
    }

    /// As [`run_in`](Self::run_in), for one of several commands that share an `operationId`: those of a bulk write, or of a
    /// cursor (Command Logging and Monitoring specification, "Bulk Writes").
    pub(crate) async fn run_with_id<O: Operation>(
        &self,
        operation_id: i64,
        explicit: Option<&Arc<ExplicitSession>>,
        operation: &mut O,
    ) -> Result<O::Output> {
        if let Some(concern) = operation.write_concern() {
            concern.validate().map_err(Error::invalid_argument)?;
        }
        let mut state = OperationState::new(operation_id, explicit.map(|session| &**session));
        let mut retry_policy = None;
        loop {
            let failure = match self.run_once(operation, &mut state).await {
                Ok(mut output) => {
                    match O::open_cursor(&mut output) {
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
            // Made only now: which statements a bulk write's command holds, and so whether it may be repeated, is decided
            // when its connection is known.
            let retry_policy = retry_policy.get_or_insert_with(|| {
                let repeatable = operation.retry() != Retry::No;
                RetryPolicy::new(self.settings.retry, operation.intent(), repeatable)
            });
            match retry_policy.next(failure.error, self.jitter()) {
                Next::Again { pause } => {
                    let retargeted = pause.is_some() && self.settings.overload_retargeting;
                    let Origin { address, router } = failure.origin;
                    state.avoid.extend(address.filter(|_| router || retargeted));
                    if let Some(pause) = pause {
                        // Boxed: the many operations that never pause carry a pointer instead of a timer.
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

    /// One try: selection, check-out, command. Everything it took is given back before it returns.
    async fn run_once<O: Operation>(
        &self,
        operation: &mut O,
        state: &mut OperationState<'_>,
    ) -> Result<O::Output, Failure> {
        let server = match self.select_at_once(operation.target(), &state.avoid) {
            Some(server) => server,
            None => {
                let wanted = Wanted {
                    operation: operation.command_name(),
                    operation_id: state.operation_id,
                    criteria: operation.target(),
                    avoid: &state.avoid,
                };
                // Boxed, so that operations which need not wait are no larger for those which must.
                Box::pin(self.select(wanted)).await.map_err(Failure::nowhere)?
            }
        };
        // Asked once for connection and session: the clock costs as much as a part of the work.
        let mut now = Instant::now();
        let (mut connection, is_pinned) = match operation.pin().and_then(Option::take).and_then(unpin) {
            Some(connection) => (connection, true),
            None => match server.try_check_out(now) {
                Some(connection) => (connection, false),
                None => {
                    // Boxed, so that operations which find an idle connection are no larger for those which wait.
                    let connection = Box::pin(self.check_out(operation, &server)).await?;
                    now = Instant::now();
                    (connection, false)
                }
            },
        };
        let result = 'done: {
            let attempt = match Attempt::new(self, &server, operation, &connection, state, now) {
                // Sent without the number of the first try, the write could be done twice.
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
                break 'done Err(match attempt.is_numbered() {
                    true => retry::label_write_failure(error),
                    false => error,
                });
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
                *place = Some(Pinned(Box::new(connection)));
            }
            return result;
        }
        let mut output = result?;
        if server.is_load_balancer()
            && let Some(cursor) = O::open_cursor(&mut output)
        {
            connection.set_check_out_reason(CheckOutReason::Cursor);
            cursor.pin = Some(Pinned(Box::new(connection)));
        }
        Ok(output)
    }

    async fn check_out<O: Operation>(
        &self,
        operation: &O,
        server: &SelectedServer,
    ) -> Result<PooledConnection, Failure> {
        // Only what the driver would retry as a write is labelled (Retryable Writes specification).
        let is_retryable = self.settings.retry.writes
            && operation.retry() == Retry::Write
            && operation.expects_reply()
            && !self.topology.is_standalone(server);
        server.check_out(Deadline::NEVER).await.map_err(|error| {
            let error = match is_retryable {
                true => retry::label_write_failure(error),
                false => error,
            };
            Failure::at(server, error)
        })
    }

    /// A random number from 0 to 1, 1 excluded.
    fn jitter(&self) -> f64 {
        self.settings
            .jitter
            .unwrap_or_else(|| (RandomState::new().hash_one(0) >> 11) as f64 / (1_u64 << 53) as f64)
    }

    /// Returns a session that a cursor or the application held to the pool.
    pub(crate) fn give_back(&self, session: Option<ServerSession>) {
        if let Some(session) = session {
            let timeout = self.topology.session_timeout();
            self.sessions.give_back(session, Instant::now(), timeout);
        }
    }

    /// Returns the session that one command was sent in. That was a moment ago, so the clock is not read again.
    fn give_back_fresh(&self, session: Option<ServerSession>) {
        if let Some(session) = session {
            let (now, timeout) = (session.last_use(), self.topology.session_timeout());
            self.sessions.give_back(session, now, timeout);
        }
    }

    /// An executor for what is sent after the last use of this one: of the same deployment, with no sessions.
    pub(crate) fn successor(&self) -> Self {
        Self {
            topology: Arc::clone(&self.topology),
            settings: self.settings.clone(),
            sessions: SessionPool::default(),
            clock: self.clock.copied(),
            operations: AtomicI64::new(self.next_operation_id()),
        }
    }

    /// Whether some server could take such a read at once.
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

/// Whether the server forgot who the user of the connection is.
fn is_reauthentication_required(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Command(e) if e.code == REAUTHENTICATION_REQUIRED)
}

/// The connection that a cursor held on to.
fn unpin(pinned: Pinned) -> Option<PooledConnection> {
    pinned.0.downcast().ok().map(|connection| *connection)
}

/// What the attempts of one operation share.
struct OperationState<'a> {
    operation_id: i64,
    /// The session that the application wants.
    explicit: Option<&'a ExplicitSession>,
    /// The session of the operation's own, if it wants none.
    session: Option<ServerSession>,
    /// The transaction number, by which the server knows a second try from the first.
    number: Option<i64>,
    /// Servers that failed, to be used only if no other suits.
    avoid: Vec<ServerAddress>,
    /// Whether a command may have been sent whose reply has not been read.
    in_flight: bool,
    /// Whether a command in the session of the application is not over.
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

    /// A retry carries the number of the first try.
    fn number(&mut self, session: &mut ServerSession) -> i64 {
        *self
            .number
            .get_or_insert_with(|| session.next_transaction_number())
    }

    /// The server's part of the session is unknown from now on.
    fn mark_dirty(&mut self) {
        if let Some(explicit) = self.explicit {
            explicit.lock().mark_dirty();
        } else if let Some(session) = &mut self.session {
            session.mark_dirty();
        }
    }

    /// The command in the session of the application, if there is one, is over; `is_dirty` if the server may still run it.
    fn leave(&mut self, is_dirty: bool) {
        if std::mem::take(&mut self.has_entered)
            && let Some(explicit) = self.explicit
        {
            explicit.leave(is_dirty);
        }
    }
}

impl Drop for OperationState<'_> {
    /// The future of an operation was dropped while the server may still run its command: the session serves no other
    /// operation after the application's own (Driver Sessions specification: a session id "MUST NOT be used simultaneously
    /// by more than one operation"). An implicit session is dropped with this value.
    fn drop(&mut self) {
        self.leave(self.in_flight);
    }
}

/// Why a try failed, and where.
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

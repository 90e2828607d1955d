//! Runs operations: selects a server, checks out a connection, chooses a session, sends the
//! command, reads the reply, and retries.

mod attempt;
mod encryption;
mod explicit;
mod in_flight;
#[cfg(not(feature = "internals"))]
mod jitter;
#[cfg(feature = "internals")]
#[path = "jitter_fixed.rs"]
mod jitter;
mod kind;
mod late_replies;
mod monitoring;
mod outside;
mod random;
mod scope;
mod selection;
mod sessions;
mod state;
mod time_limit;
mod transaction;
mod turn;

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    Error, ErrorKind, Result,
    error::code,
    operation::{CommandState, Operation, Retry, cursor::CursorReply},
    pool::PooledConnection,
    proto::{
        event::{CommandEvent, EventListener},
        retry::{self, Next, RetryOptions, RetryPolicy},
        server_selection::Criteria,
        session::{ServerSession, TransactionCommand},
    },
    telemetry::{CommandScope, SelectionLog, Tracing},
    topology::{ClusterClock, SelectedServer, Topology},
    types::{
        deadline::Deadline, in_flight::InFlight, read_preference::ReadPreference, server_api::ServerApi,
        timeout::Timeout,
    },
};
use attempt::Attempt;
pub(crate) use encryption::CommandEncryption;
#[cfg(feature = "encryption")]
pub(crate) use encryption::{Computing, Decrypting};
pub(crate) use explicit::{ExplicitSession, SessionHandle};
pub(crate) use in_flight::{Running, admit};
pub(crate) use jitter::Jitter;
pub use outside::outside_transaction;
pub(crate) use outside::{Body, CallName, refuse_bound};
use sessions::SessionPool;
use state::{Failure, OperationState, PinnedBy, Retries};
use time_limit::named;
pub(crate) use time_limit::{report, start_abort_timeout, start_timeout};

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
    pub(crate) tracing: Tracing,
    /// `serverSelectionTimeoutMS`, also for the check-out of an operation with `timeoutMS`.
    pub(crate) server_selection_timeout: Duration,
    /// `socketTimeoutMS`: the time limit of a reply without `timeoutMS`. `None`: no limit.
    pub(crate) socket_timeout: Option<Duration>,
    /// What a shutdown waits for.
    pub(crate) in_flight: Arc<InFlight>,
    /// Encrypts commands and decrypts replies.
    pub(crate) encryption: Option<Arc<dyn CommandEncryption>>,
}

/// The state that all operations of a client share.
#[derive(Debug)]
pub(crate) struct Executor {
    topology: Arc<Topology>,
    settings: ExecutionSettings,
    sessions: SessionPool,
    clock: Arc<ClusterClock>,
    /// The next `operationId` of command events.
    operations: AtomicI64,
}

impl Executor {
    pub(crate) fn new(topology: Arc<Topology>, settings: ExecutionSettings) -> Self {
        Self {
            clock: Arc::clone(topology.clock()),
            topology,
            settings,
            sessions: SessionPool::default(),
            operations: AtomicI64::new(1),
        }
    }

    pub(crate) fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// The encryption of the client's commands. The condition is constant, so that a build without the
    /// feature contains no branch for it.
    #[inline(always)]
    pub(crate) fn encryption(&self) -> Option<&dyn CommandEncryption> {
        if cfg!(feature = "encryption") {
            self.settings.encryption.as_deref()
        } else {
            None
        }
    }

    /// Runs `operation` in an implicit session, without a time limit and without a span: it is not
    /// caused by a call of the application.
    ///
    /// Dropping the future returns the connection to its pool, which awaits an outstanding reply in
    /// the background for at most 3 s since its last byte. A connection to which the command was not
    /// written completely is closed. The operation's own session is not returned to the session pool
    /// while a command is running in it.
    pub(crate) fn run<O: Operation>(&self, operation: &mut O) -> impl Future<Output = Result<O::Output>> {
        self.run_in_scope(self.untraced_scope(), None, Timeout::UNSET, operation)
    }

    /// Runs `operation` within the time limit, in a session of the application if one is given, and
    /// in an implicit session otherwise. Dropping the future: see [`run`](Self::run).
    pub(crate) fn run_in<O: Operation>(
        &self,
        explicit: Option<&SessionHandle>,
        timeout: Timeout,
        operation: &mut O,
    ) -> impl Future<Output = Result<O::Output>> {
        let scope = self.scope_of(explicit, operation);
        self.run_in_scope(scope, explicit, timeout, operation)
    }

    /// The random factor of a pause: from 0 to 1, 1 excluded.
    pub(crate) fn jitter(&self) -> f64 {
        self.settings.jitter.next()
    }

    /// As [`run_in`](Self::run_in), for one of several commands that share a scope: those of a bulk
    /// write, or of a cursor (Command Logging and Monitoring specification, "Bulk Writes").
    pub(crate) fn run_in_scope<O: Operation, S: CommandScope>(
        &self,
        scope: S,
        explicit: Option<&SessionHandle>,
        timeout: Timeout,
        operation: &mut O,
    ) -> impl Future<Output = Result<O::Output>> {
        // Captured in place of the executor.
        let running = self.enter();
        async move {
            let result = 'run: {
                if let Some(concern) = operation.properties().write_concern
                    && let Err(why) = concern.validate()
                {
                    break 'run Err(Error::invalid_argument(why));
                }
                let mut state = OperationState::new(running.0, scope.borrow(), explicit, timeout);
                if state.may_be_in_transaction(&running.topology, operation) {
                    // Boxed: most operations are not part of a transaction.
                    if let Err(error) = Box::pin(state.enter_transaction(operation)).await {
                        break 'run Err(state.report(operation, error));
                    }
                }
                loop {
                    let failure = match running.run_once(operation, &mut state).await {
                        Ok(mut output) => {
                            state.attempt_succeeded(|| operation.failure());
                            match O::cursor(&mut output).and_then(CursorReply::if_open) {
                                Some(cursor) => {
                                    cursor.session = state.session.take();
                                    cursor.scope = state.scope.of_cursor();
                                    cursor.held = Some(running.hold());
                                }
                                None => running.give_back_fresh(state.session.take()),
                            }
                            break 'run Ok(output);
                        }
                        Err(failure) => failure,
                    };
                    match running.0.decide(operation, &mut state, failure) {
                        Next::Again { pause: None } => {}
                        // Boxed, so that the future contains a pointer instead of a timer: most
                        // operations do not pause.
                        Next::Again { pause: Some(pause) } => Box::pin(tokio::time::sleep(pause)).await,
                        Next::Report(error) => {
                            running.give_back_fresh(state.session.take());
                            let error = state.report(operation, error);
                            break 'run operation.recover(error);
                        }
                    }
                }
            };
            scope.end(&result, || operation.failure());
            result
        }
    }

    /// Decides about the next attempt after a failed one.
    #[cold]
    fn decide<O: Operation>(
        &self,
        operation: &O,
        state: &mut OperationState<'_>,
        Failure { error, origin }: Failure,
    ) -> Next {
        let error = state.attempt_failed(named(operation, error));
        let timeout = state.timeout;
        // Created here: which statements the command of a bulk write holds, and so whether it is
        // retryable, is decided when the connection is known.
        let mut retries = state.retries.take().unwrap_or_else(|| {
            let properties = operation.properties();
            let (options, repeatable) = state.retry_options(self.settings.retry, properties.retry);
            let policy = RetryPolicy::new(options, properties.intent, repeatable);
            Box::new(Retries {
                policy: policy.with_limit(timeout.retries()),
                avoid: Vec::new(),
            })
        });
        let has_timed_out = timeout.is_set() && error.is_timeout();
        let policy = &mut retries.policy;
        let next = match policy.next(error, self.settings.jitter.next()) {
            // No attempt can begin after the end of the time limit.
            Next::Again { .. } if timeout.has_expired() => Next::Report(policy.give_up().into_timeout()),
            // A pause that would end too late is not begun (Client Backpressure).
            Next::Again { pause: Some(pause) } if !timeout.allows(pause) => Next::Report(policy.give_up()),
            // The reported error may be that of an earlier attempt.
            Next::Report(error) if has_timed_out => Next::Report(error.into_timeout()),
            next => next,
        };
        if let Next::Report(error) = &next {
            state.failed(error);
        }
        if let Next::Again { pause } = &next {
            let retargeted = pause.is_some() && self.settings.overload_retargeting;
            if let Some(address) = origin.address.filter(|_| origin.router || retargeted)
                && !retries.avoid.contains(&address)
            {
                retries.avoid.push(address);
            }
        }
        state.retries = Some(retries);
        next
    }

    /// One attempt: server selection, check-out, command. Resources are returned before it
    /// completes.
    #[expect(
        clippy::manual_async_fn,
        reason = "the future of an `async fn` contains its arguments twice"
    )]
    fn run_once<O: Operation>(
        &self,
        operation: &mut O,
        state: &mut OperationState<'_>,
    ) -> impl Future<Output = Result<O::Output, Failure>> {
        async move {
            let mut selection = None;
            state.scope.span.begin_attempt();
            let server = {
                let at_once = match state.transaction {
                    None => self.select_at_once(operation.properties().criteria, state.avoid()),
                    Some(_) => None,
                };
                match at_once {
                    Some(server) => server,
                    None => {
                        selection = self.selection_deadline(state.timeout);
                        // Boxed to keep the future of an operation that need not wait small.
                        Box::pin(self.select_for(operation, state, selection))
                            .await
                            .map_err(Failure::nowhere)?
                    }
                }
            };
            // Read once for connection and session: reading the clock is a measurable part of an
            // operation.
            let mut now = Instant::now();
            let (mut connection, pinned_by) = match operation.pin().and_then(Option::take) {
                Some(connection) => (*connection, PinnedBy::Cursor),
                None => match state.take_pinned_connection() {
                    Some(connection) => (*connection, PinnedBy::Transaction),
                    // The check-out of an abort may have begun before.
                    None => match state.try_check_out(&server, now) {
                        Some(mut connection) => {
                            let pinned_by = state.pin(&server, &mut connection);
                            (connection, pinned_by)
                        }
                        None => {
                            let deadline = selection.or_else(|| self.selection_deadline(state.timeout));
                            // Boxed to keep the future of an operation that finds an available
                            // connection small.
                            let checking_out = self.check_out(operation, &server, state, deadline);
                            let mut connection = Box::pin(checking_out).await?;
                            now = Instant::now();
                            let pinned_by = state.pin(&server, &mut connection);
                            (connection, pinned_by)
                        }
                    },
                },
            };
            // The server has refused the command, and nothing was sent in the session since then.
            let mut is_refused = false;
            let result = 'done: {
                if pinned_by != PinnedBy::Nothing && connection.owes_reply() {
                    // Boxed, because it is rare.
                    let draining = Box::pin(self.drain_pinned(&server, &mut connection, pinned_by, state));
                    if let Err(error) = draining.await {
                        // A commit or an abort is sent on another connection, as after a network error.
                        break 'done Err(match state.transaction {
                            Some(TransactionCommand::Commit | TransactionCommand::Abort) => {
                                retry::label_write_failure(error)
                            }
                            _ => error,
                        });
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
                let in_flight = &mut state.in_flight;
                // The output may be of a type that must not be held over an await.
                match attempt.run(operation, &mut connection, in_flight).await {
                    Err(error) if is_reauthentication_required(&error) => {}
                    outcome => break 'done outcome,
                }
                // The server has refused the command, so that the session is not in use. A transaction counts as
                // lost if the future is dropped: its connection is then closed.
                state.in_flight = state.transaction.is_some();
                operation.command_state(CommandState::Idle);
                // An error of the authentication is not that of the first command.
                state.scope.span.begin_attempt();
                let deadline = state.timeout.deadline(None);
                if let Err(error) = Box::pin(connection.reauthenticate(deadline)).await {
                    // It is handled as one of a command, which however is not running.
                    state.in_flight = true;
                    is_refused = true;
                    let error = if attempt.is_numbered() {
                        retry::label_write_failure(error)
                    } else {
                        error
                    };
                    break 'done Err(error);
                }
                attempt
                    .run(operation, &mut connection, &mut state.in_flight)
                    .await
            };
            let is_lost = matches!(&result, Err(error) if !is_refused && error.is_reply_lost());
            operation.command_state(CommandState::Idle);
            state.leave(is_lost);
            if is_lost {
                state.mark_dirty();
                operation.reply_lost();
            }
            let was_sent = std::mem::take(&mut state.in_flight);
            let mut is_network = false;
            let result = result.map_err(|error| {
                let is_encryption = error.is_encryption();
                is_network = !is_encryption && error.is_network();
                if was_sent && !is_encryption {
                    self.topology.handle_error(&server, connection.key(), &error);
                }
                Failure::at(&server, error)
            });
            match pinned_by {
                PinnedBy::Nothing => {}
                PinnedBy::Cursor => {
                    if let Some(place) = operation.pin() {
                        *place = Some(Box::new(connection));
                    }
                    return result;
                }
                PinnedBy::Transaction => {
                    state.keep_connection(connection, is_network);
                    return result;
                }
            }
            let mut output = result?;
            if server.is_load_balancer()
                && operation.pin().is_none()
                && let Some(cursor) = O::cursor(&mut output).and_then(CursorReply::if_open)
            {
                connection.pin_to_cursor();
                cursor.pin = Some(Box::new(connection));
            }
            Ok(output)
        }
    }

    async fn check_out<O: Operation>(
        &self,
        operation: &O,
        server: &SelectedServer,
        state: &OperationState<'_>,
        deadline: Option<Deadline>,
    ) -> Result<PooledConnection, Failure> {
        // Only retryable writes are labeled (Retryable Writes specification).
        let properties = operation.properties();
        let is_retryable = match state.transaction {
            None => {
                self.settings.retry.writes
                    && properties.retry == Retry::Write
                    && properties.expects_reply
                    && !self.topology.is_standalone(server)
            }
            Some(command) => command != TransactionCommand::Operation,
        };
        let reserved = state.explicit.and_then(|session| session.take_reserved(server));
        let checked_out = match reserved {
            Some(checking_out) => checking_out.wait(deadline).await,
            None => server.check_out(deadline).await,
        };
        checked_out.map_err(|error| {
            let error = self.topology.closed_error(error);
            let error = if is_retryable {
                retry::label_check_out_failure(error)
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
    /// the current time, and the session timeout is the one with which it was taken: both save a
    /// measurable part of an operation.
    fn give_back_fresh(&self, session: Option<ServerSession>) {
        if let Some(session) = session {
            let now = session.last_use();
            self.sessions.give_back(session, now, None);
        }
    }

    /// An executor that encrypts, on the same deployment.
    #[cfg(feature = "encryption")]
    pub(crate) fn with_encryption(&self, encryption: Arc<dyn CommandEncryption>) -> Self {
        let mut settings = self.settings.clone();
        settings.encryption = Some(encryption);
        Self::new(Arc::clone(&self.topology), settings)
    }

    /// An executor on the same deployment that no shutdown counts the operations of, or rejects them.
    #[cfg(feature = "encryption")]
    pub(crate) fn uncounted(&self) -> Self {
        let mut settings = self.settings.clone();
        settings.in_flight = Arc::default();
        Self::new(Arc::clone(&self.topology), settings)
    }

    /// An executor for commands after the last use of this one: of the same deployment, with an
    /// empty session pool.
    pub(crate) fn successor(&self) -> Self {
        Self {
            topology: Arc::clone(&self.topology),
            settings: self.settings.clone(),
            sessions: SessionPool::default(),
            clock: Arc::clone(&self.clock),
            operations: AtomicI64::new(self.operations.load(Ordering::Relaxed)),
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

/// Whether the connection must be authenticated again (Authentication, "Reauthentication"). The
/// command is then sent again, whether or not it is retryable.
fn is_reauthentication_required(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Command(e) if e.code == code::REAUTHENTICATION_REQUIRED)
}

//! Sessions that the application starts itself.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
    time::Instant,
};

use super::{Executor, turn::Turn};
use crate::{
    Error, Result,
    bson::RawDocument,
    operation::Properties,
    pool::{CheckingOut, PinnedConnection, PooledConnection},
    proto::{
        command::Reply,
        description::HelloReply,
        server_selection::Criteria,
        session::{Pin, SessionOptions, SessionState, TransactionCommand, TransactionError},
    },
    telemetry::TransactionSpan,
    topology::{SelectedServer, Topology},
    types::{
        in_flight::{Held, InFlight, OfTransaction},
        late_replies::LateReplies,
        lock::{Inner, Outer, OuterGuard},
    },
};

/// A session of the application, as actions and cursors use it.
#[derive(Clone, Debug)]
pub(crate) struct SessionHandle {
    session: Arc<ExplicitSession>,
    /// The number of the transaction, if commands can use the session only in this one.
    /// [`NO_TRANSACTION`] if none was in progress.
    bound_to: Option<i64>,
}

/// The number of no transaction: the first of a session has the number 1.
const NO_TRANSACTION: i64 = 0;

impl SessionHandle {
    fn new(session: ExplicitSession) -> Self {
        Self {
            session: Arc::new(session),
            bound_to: None,
        }
    }

    /// The same session for commands in the transaction that is in progress now.
    pub(crate) fn bound(&self) -> Self {
        let number = self.session.lock().open_transaction();
        Self {
            session: Arc::clone(&self.session),
            bound_to: Some(number.unwrap_or(NO_TRANSACTION)),
        }
    }

    /// The number of the transaction that the session can only be used in.
    #[inline]
    pub(crate) fn bound_to(&self) -> Option<i64> {
        self.bound_to
    }

    /// Checks whether the transaction that it is bound to is in progress, if it is bound to one.
    ///
    /// # Errors
    /// It is not, and no command must be sent.
    pub(crate) fn check_bound(&self) -> Result<(), TransactionError> {
        match self.bound_to {
            Some(number) => self.session.lock().check_bound(number),
            None => Ok(()),
        }
    }

    /// Whether both are bound to the same transaction, or can be used in all of the same session.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.session, &other.session) && self.bound_to == other.bound_to
    }
}

impl Deref for SessionHandle {
    type Target = ExplicitSession;

    #[inline]
    fn deref(&self) -> &ExplicitSession {
        &self.session
    }
}

/// A session of the application, shared with the cursors that were opened in it, and with the handles that are bound
/// to its transaction.
#[derive(Debug)]
pub(crate) struct ExplicitSession {
    /// Whose session it is: no other client's servers know it.
    topology: Arc<Topology>,
    state: Outer<SessionState>,
    /// The connection that a transaction is pinned to. Set at the first transaction behind a load
    /// balancer.
    connection: OnceLock<Arc<PinnedConnection>>,
    /// The turn of the command of a transaction that is running: a cursor can be read beside an action.
    pub(super) turn: Turn,
    /// The replies that operations have given up.
    pub(super) late_replies: Arc<LateReplies>,
    /// The span of the transaction.
    pub(super) span: TransactionSpan,
    /// Set while a transaction is in progress.
    held: Inner<Option<Held<OfTransaction>>>,
    /// The check-out of the abort, if it has begun before the abort.
    reserved: Inner<Option<CheckingOut>>,
}

impl ExplicitSession {
    fn new(topology: &Arc<Topology>, state: SessionState) -> Self {
        Self {
            topology: Arc::clone(topology),
            state: Outer::new(state),
            connection: OnceLock::new(),
            turn: Turn::default(),
            late_replies: Arc::default(),
            span: TransactionSpan::none(),
            held: Inner::default(),
            reserved: Inner::default(),
        }
    }

    /// Completes when no command of a transaction is running.
    pub(crate) async fn idle(&self) {
        self.turn.idle().await;
    }

    /// Whether it is a session of the client with this topology.
    pub(super) fn belongs_to(&self, topology: &Arc<Topology>) -> bool {
        Arc::ptr_eq(&self.topology, topology)
    }

    /// Takes the pinned connection for a command.
    pub(super) fn take_connection(&self) -> Option<Box<PooledConnection>> {
        self.connection.get()?.take()
    }

    pub(super) fn holds_connection(&self) -> bool {
        self.connection.get().is_some_and(|place| place.is_held())
    }

    /// Whether a transaction of the session was pinned to a connection, and the session holds none.
    #[inline]
    pub(super) fn lacks_connection(&self) -> bool {
        self.connection.get().is_some_and(|place| !place.is_held())
    }

    /// The session holds the connection whenever no command uses it.
    pub(super) fn pin_connection(&self, connection: &mut PooledConnection) {
        connection.pin_to_transaction(self.connection.get_or_init(Arc::default));
    }

    /// Gives the pinned connection back to its pool.
    pub(super) fn release_connection(&self) {
        if let Some(place) = self.connection.get() {
            place.release();
        }
    }

    /// Counts the transaction as in flight while it is in progress. To be called when it has started
    /// or ended.
    pub(super) fn hold_transaction(&self, in_flight: &Arc<InFlight>) {
        let is_open = self.lock().open_transaction().is_some();
        let mut held = self.held.lock();
        if !is_open {
            *held = None;
        } else if held.is_none() {
            *held = Some(in_flight.hold());
        }
    }

    /// The check-out that has begun for the abort, if it can be used with the server. A command that has its turn before
    /// the abort takes it: otherwise that command would wait for a connection, and the abort for that command.
    pub(super) fn take_reserved(&self, server: &SelectedServer) -> Option<CheckingOut> {
        let reserved = self.reserved.lock().take()?;
        server.accept_check_out(reserved)
    }

    /// Ends the check-out for an abort that did not use it.
    pub(crate) fn release_reserved(&self) {
        let reserved = self.reserved.lock().take();
        drop(reserved);
    }

    pub(crate) fn lock(&self) -> OuterGuard<'_, SessionState> {
        self.state.lock()
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
        transaction: Option<TransactionCommand>,
        now: Instant,
    ) -> Result<Option<[u8; 16]>> {
        let refuse = |why: &str| Err(Error::invalid_argument(why));
        if !self.belongs_to(&executor.topology) {
            return refuse(
                "the session belongs to another client; start one with the client of the operation",
            );
        }
        // "Drivers MUST examine all responses", also those to operations that were dropped or timed out.
        self.note_late_replies(executor);
        let mut state = self.lock();
        let is_snapshot = state.is_snapshot();
        let Some(session) = &mut state.server else {
            return if properties.requires_session {
                refuse("the session has ended")
            } else {
                Ok(None)
            };
        };
        // The write concern of an operation has no effect in a transaction.
        if !properties.expects_reply && transaction.is_none() {
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

    /// Takes the times and the `recoveryToken` of a reply, failed or not.
    pub(super) fn remember(&self, reply: &Reply<'_>) {
        let mut session = self.lock();
        if let Some(Ok(time)) = reply.cluster_time().map(RawDocument::from_bytes) {
            session.advance_cluster_time(time);
        }
        if let Some(time) = reply.operation_time() {
            session.advance_operation_time(time);
        }
        if let Some(transaction) = session.transaction_mut()
            && let Some(Ok(token)) = reply.recovery_token().map(RawDocument::from_bytes)
        {
            transaction.answered(token);
            // They were received before this one.
            self.late_replies.forget_recovery_tokens();
        }
        if session.is_snapshot()
            && let Some(time) = reply.snapshot_time()
        {
            session.fix_snapshot(time);
        }
    }

    /// Ends the command that [`enter`](Self::enter) began. `is_dirty`: the server may still run the
    /// command.
    pub(super) fn leave(&self, is_dirty: bool) {
        self.lock().end_command(is_dirty);
    }
}

impl Executor {
    /// Starts a session. Nothing is sent: the server creates it with its first command.
    pub(crate) fn start_session(&self, options: SessionOptions) -> Result<SessionHandle> {
        options.validate().map_err(Error::invalid_argument)?;
        let server = self
            .sessions
            .take(Instant::now(), self.topology.session_timeout());
        let state = SessionState::new(options, server);
        Ok(SessionHandle::new(ExplicitSession::new(&self.topology, state)))
    }

    /// Begins the check-out for the abort of a transaction, if its server is known and has the transaction.
    /// Operations that begin after this call do not precede the abort in the WaitQueue: they could wait on the
    /// server, with the only connection, for a lock of the transaction. Needs no runtime.
    pub(crate) fn reserve_for_abort(&self, session: &ExplicitSession) {
        let pinned = {
            let state = session.lock();
            let open = state.transaction().filter(|transaction| transaction.is_open());
            let Some(transaction) = open.filter(|transaction| transaction.has_run()) else {
                return;
            };
            match transaction.pin() {
                Some(Pin::Mongos(address)) => Some(address.clone()),
                // The session holds the connection.
                Some(Pin::Connection) => return,
                None => None,
            }
        };
        let criteria = pinned.as_ref().map_or(Criteria::Writable, Criteria::Address);
        let Some(server) = self.topology.try_select(criteria, &[]) else {
            return;
        };
        if let Ok(checking_out) = server.begin_check_out() {
            let before = session.reserved.lock().replace(checking_out);
            drop(before);
        }
    }

    /// A session that has ended, with the times of `session`.
    pub(crate) fn ended_session(&self, session: &ExplicitSession) -> SessionHandle {
        SessionHandle::new(ExplicitSession::new(&self.topology, session.lock().ended()))
    }

    /// Ends the session. Its server session returns to the session pool, unless a command in it has
    /// no reply yet. A transaction in progress must have been aborted.
    pub(crate) fn end_session(&self, session: &ExplicitSession) {
        let server = session.lock().end();
        session.settle_pin();
        session.span.settle();
        session.hold_transaction(&self.settings.in_flight);
        self.give_back(server);
    }
}

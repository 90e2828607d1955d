//! The state of a client session ([Driver Sessions], [Causal Consistency], [Snapshot Reads]).
//!
//! [Driver Sessions]:
//! https://github.com/mongodb/specifications/blob/master/source/sessions/driver-sessions.md
//!
//! [Causal Consistency]:
//! https://github.com/mongodb/specifications/blob/master/source/causal-consistency/causal-consistency.md
//!
//! [Snapshot Reads]:
//! https://github.com/mongodb/specifications/blob/master/source/sessions/snapshot-sessions.md

use super::{ClusterTime, ServerSession, SessionOptions, Transaction, TransactionError, TransactionState};
use crate::{
    bson::{RawDocument, Timestamp},
    types::{
        timeout::{TimeLimit, Timeout},
        transaction_options::TransactionOptions,
    },
};

/// Which time the read concern of a command may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadTimeRule {
    /// Nothing: the command has no read concern, since it continues a cursor.
    None,
    /// The snapshot of a snapshot session. The server knows which commands can read from one.
    SnapshotOnly,
    /// Also `afterClusterTime`, in a causally consistent session.
    Causal,
}

/// What a session adds to the read concern of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadTime {
    /// `afterClusterTime`: the member waits until it has applied this time.
    After(Timestamp),
    /// `level: "snapshot"`, and `atClusterTime` once it is known.
    Snapshot(Option<Timestamp>),
}

/// The time limit of a running transaction of the convenient API (Client Side Operations Timeout,
/// "Convenient Transactions API"). Unset outside of one.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunTimeout {
    /// That of the whole run, which all operations share.
    pub whole: Timeout,
    /// `timeoutMS` of the run: an abort has it again from its beginning.
    pub option: Option<TimeLimit>,
}

/// The state of a session. A session without server session has ended.
#[derive(Debug)]
pub struct SessionState {
    options: SessionOptions,
    /// `None` once the session has ended.
    pub server: Option<ServerSession>,
    /// The number of commands that were sent and have no reply yet.
    outstanding: usize,
    cluster_time: Option<ClusterTime>,
    operation_time: Option<Timestamp>,
    snapshot_time: Option<Timestamp>,
    run_timeout: RunTimeout,
    /// The latest transaction, until an operation outside a transaction follows its end.
    transaction: Option<Box<Transaction>>,
    /// Whether the session was given up, so that handles bound to its transaction cannot be used while it is aborted.
    has_no_handles: bool,
}

impl SessionState {
    /// A session without times, but for `snapshot_time` of the options.
    pub fn new(options: SessionOptions, server: ServerSession) -> Self {
        Self {
            options,
            server: Some(server),
            outstanding: 0,
            cluster_time: None,
            operation_time: None,
            snapshot_time: options.snapshot_time,
            run_timeout: RunTimeout::default(),
            transaction: None,
            has_no_handles: false,
        }
    }

    /// Starts a transaction with the next transaction number. Its options are complete: those of
    /// the session and the client replace what is not set.
    ///
    /// # Errors
    /// The state does not change.
    pub fn start_transaction(&mut self, options: TransactionOptions) -> Result<(), TransactionError> {
        if self.options.snapshot {
            return Err(TransactionError::Snapshot);
        }
        if self.transaction.as_ref().is_some_and(|open| open.is_open()) {
            return Err(TransactionError::InProgress);
        }
        if options
            .write_concern
            .as_ref()
            .is_some_and(|c| !c.is_acknowledged())
        {
            return Err(TransactionError::Unacknowledged);
        }
        let server = self.server.as_mut().ok_or(TransactionError::SessionEnded)?;
        let number = server.next_transaction_number();
        self.transaction = Some(Box::new(Transaction::start(number, options)));
        Ok(())
    }

    /// The latest transaction.
    pub fn transaction(&self) -> Option<&Transaction> {
        self.transaction.as_deref()
    }

    /// The latest transaction.
    pub fn transaction_mut(&mut self) -> Option<&mut Transaction> {
        self.transaction.as_deref_mut()
    }

    /// The state of the transaction.
    pub fn transaction_state(&self) -> TransactionState {
        self.transaction
            .as_ref()
            .map_or(TransactionState::None, |transaction| transaction.state())
    }

    /// The number of the transaction that is open.
    pub fn open_transaction(&self) -> Option<i64> {
        let transaction = self.transaction.as_ref()?;
        transaction.is_open().then(|| transaction.number())
    }

    /// Forgets a transaction that has ended, before an operation outside a transaction.
    pub fn forget_ended_transaction(&mut self) {
        if self.open_transaction().is_none() {
            self.transaction = None;
        }
    }

    /// Checks whether a cursor that was opened in this transaction, or outside of transactions, can
    /// be continued.
    ///
    /// # Errors
    /// It cannot, and no command must be sent.
    pub fn check_cursor(&self, opened_in: Option<i64>) -> Result<(), TransactionError> {
        match (opened_in, self.open_transaction()) {
            (opened_in, open) if opened_in == open => Ok(()),
            (Some(_), _) => Err(TransactionError::EndedCursor),
            (None, _) => Err(TransactionError::OtherCursor),
        }
    }

    /// Checks whether the transaction with this number, which a handle is bound to, is in progress.
    ///
    /// # Errors
    /// It is not, and no command must be sent.
    pub fn check_bound(&self, number: i64) -> Result<(), TransactionError> {
        if self.open_transaction() == Some(number) && !self.has_no_handles {
            Ok(())
        } else {
            Err(TransactionError::EndedHandle)
        }
    }

    /// Ends the use of handles that are bound to the transaction: the session was dropped, and the transaction will be aborted.
    pub fn end_handles(&mut self) {
        self.has_no_handles = true;
    }

    /// `defaultTimeoutMS`.
    pub fn default_timeout(&self) -> Option<TimeLimit> {
        self.options.default_timeout
    }

    /// The time limit of the running transaction of the convenient API, which all its operations
    /// share.
    pub fn timeout(&self) -> Timeout {
        self.run_timeout.whole
    }

    /// `timeoutMS` of the running transaction of the convenient API, for the commands that have it
    /// again from its beginning.
    pub fn run_limit(&self) -> Option<TimeLimit> {
        self.run_timeout.option.filter(|_| self.timeout().is_set())
    }

    /// `timeoutMS` of an abort.
    pub fn abort_timeout(&self) -> Option<TimeLimit> {
        self.run_limit().or_else(|| self.default_timeout())
    }

    /// Begins a run of the convenient API with this time limit. One that is set already remains: it
    /// is that of a run whose body this run is part of. Returns the time limit to restore at the
    /// [end](Self::end_run).
    pub fn begin_run(&mut self, timeout: RunTimeout) -> RunTimeout {
        let outer = self.run_timeout;
        if !outer.whole.is_set() {
            self.run_timeout = timeout;
        }
        outer
    }

    /// Ends a run of the convenient API. `outer` is what [`begin_run`](Self::begin_run) returned.
    pub fn end_run(&mut self, outer: RunTimeout) {
        self.run_timeout = outer;
    }

    /// A command is about to be sent in the session.
    pub fn begin_command(&mut self) {
        self.outstanding += 1;
    }

    /// The reply to a command has been read, or the command was not sent. `is_dirty`: neither is
    /// certain, so the server may still run the command.
    pub fn end_command(&mut self, is_dirty: bool) {
        self.outstanding = self.outstanding.saturating_sub(1);
        if is_dirty {
            self.mark_dirty();
        }
    }

    /// Marks the server session as dirty (Driver Sessions, "When to mark a server session as
    /// dirty").
    pub fn mark_dirty(&mut self) {
        if let Some(server) = &mut self.server {
            server.mark_dirty();
        }
    }

    /// Ends the session. Returns the server session, `None` if the session had ended. The server
    /// session is dirty while a reply is outstanding, e.g. to a getMore: a session id "MUST NOT be
    /// used simultaneously by more than one operation" (Driver Sessions).
    pub fn end(&mut self) -> Option<ServerSession> {
        if self.outstanding > 0 {
            self.mark_dirty();
        }
        self.transaction = None;
        self.server.take()
    }

    /// The state of a session with these times that has ended.
    pub fn ended(&self) -> Self {
        Self {
            options: self.options,
            server: None,
            outstanding: 0,
            cluster_time: self.cluster_time.clone(),
            operation_time: self.operation_time,
            snapshot_time: self.snapshot_time,
            run_timeout: self.run_timeout,
            transaction: None,
            has_no_handles: false,
        }
    }

    /// `snapshot` of the options.
    pub fn is_snapshot(&self) -> bool {
        self.options.snapshot
    }

    /// The highest `$clusterTime` seen in the session.
    pub fn cluster_time(&self) -> Option<&ClusterTime> {
        self.cluster_time.as_ref()
    }

    /// The highest `operationTime` seen in the session.
    pub fn operation_time(&self) -> Option<Timestamp> {
        self.operation_time
    }

    /// `atClusterTime`, once it is known.
    pub fn snapshot_time(&self) -> Option<Timestamp> {
        self.snapshot_time
    }

    /// The time that the session adds to the read concern of a command with this rule. `has_clock`:
    /// whether the server gossips the cluster time.
    pub fn read_time(&self, rule: ReadTimeRule, has_clock: bool) -> Option<ReadTime> {
        if rule == ReadTimeRule::None {
            return None;
        }
        if self.options.snapshot {
            return Some(ReadTime::Snapshot(self.snapshot_time));
        }
        let is_ordered = has_clock && rule == ReadTimeRule::Causal;
        self.operation_time
            .filter(|_| is_ordered && self.options.is_causal())
            .map(ReadTime::After)
    }

    /// Advances the cluster time if `time` is newer. Returns false if `time` is not a
    /// `$clusterTime` document.
    pub fn advance_cluster_time(&mut self, time: &RawDocument) -> bool {
        let newer = ClusterTime::if_newer(time.as_bytes(), self.cluster_time.as_ref());
        let valid = newer.is_some() || ClusterTime::if_newer(time.as_bytes(), None).is_some();
        if newer.is_some() {
            self.cluster_time = newer;
        }
        valid
    }

    /// Advances the operation time if `time` is newer.
    pub fn advance_operation_time(&mut self, time: Timestamp) {
        let order = |time: Timestamp| (time.time, time.increment);
        if self.operation_time.is_none_or(|known| order(known) < order(time)) {
            self.operation_time = Some(time);
        }
    }

    /// Sets `atClusterTime` from the reply to the first read of a snapshot session.
    pub fn fix_snapshot(&mut self, time: Timestamp) {
        if self.options.snapshot {
            self.snapshot_time.get_or_insert(time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::options::InvalidSessionOptions, *};
    use crate::{bson::rawdoc, types::concern::WriteConcern};
    use std::time::Instant;

    fn time(time: u32) -> Timestamp {
        Timestamp { time, increment: 1 }
    }

    fn state(options: SessionOptions) -> SessionState {
        SessionState::new(options, ServerSession::new([0; 16], Instant::now()))
    }

    #[test]
    fn contradictions_are_refused() {
        let options = SessionOptions {
            causal_consistency: Some(true),
            snapshot: true,
            ..SessionOptions::default()
        };
        assert!(options.validate().is_err());
        let options = SessionOptions {
            snapshot_time: Some(time(1)),
            ..SessionOptions::default()
        };
        assert_eq!(options.validate(), Err(InvalidSessionOptions::SnapshotTimeAlone));
        assert!(SessionOptions::default().validate().is_ok());
    }

    /// Whether the id returns to the server session pool.
    fn is_reusable(mut state: SessionState) -> bool {
        let timeout = Some(std::time::Duration::from_secs(1800));
        let mut stack = crate::proto::session::SessionStack::default();
        stack.push(state.end().unwrap(), Instant::now(), timeout);
        assert!(state.end().is_none(), "it has ended");
        !stack.drain().is_empty()
    }

    #[test]
    fn the_id_of_a_session_is_free_once_no_reply_is_outstanding() {
        let session = || state(SessionOptions::default());
        assert!(is_reusable(session()));
        let mut unanswered = session();
        unanswered.begin_command();
        unanswered.begin_command();
        unanswered.end_command(false);
        assert!(!is_reusable(unanswered));
        let mut answered = session();
        answered.begin_command();
        answered.end_command(false);
        assert!(is_reusable(answered));
        let mut lost = session();
        lost.begin_command();
        lost.end_command(true);
        assert!(!is_reusable(lost));
    }

    #[test]
    fn a_causal_session_reads_after_its_newest_operation() {
        let mut session = state(SessionOptions::default());
        assert_eq!(
            session.read_time(ReadTimeRule::Causal, true),
            None,
            "nothing happened yet"
        );
        session.advance_operation_time(time(5));
        session.advance_operation_time(time(3));
        let after = Some(ReadTime::After(time(5)));
        for (rule, has_clock, expected) in [
            (ReadTimeRule::Causal, true, after),
            (ReadTimeRule::Causal, false, None),
            (ReadTimeRule::None, true, None),
            (ReadTimeRule::SnapshotOnly, true, None),
        ] {
            assert_eq!(session.read_time(rule, has_clock), expected, "{rule:?}");
        }
        let mut session = state(SessionOptions {
            causal_consistency: Some(false),
            ..SessionOptions::default()
        });
        session.advance_operation_time(time(5));
        assert_eq!(session.read_time(ReadTimeRule::Causal, true), None);
    }

    #[test]
    fn a_snapshot_session_keeps_its_first_moment() {
        let mut session = state(SessionOptions {
            snapshot: true,
            ..SessionOptions::default()
        });
        assert_eq!(
            session.read_time(ReadTimeRule::SnapshotOnly, false),
            Some(ReadTime::Snapshot(None))
        );
        assert_eq!(session.read_time(ReadTimeRule::None, false), None);
        session.fix_snapshot(time(7));
        session.fix_snapshot(time(9));
        let fixed = Some(ReadTime::Snapshot(Some(time(7))));
        assert_eq!(session.read_time(ReadTimeRule::Causal, true), fixed);
    }

    #[test]
    fn only_a_cluster_time_advances_the_clock() {
        let mut session = state(SessionOptions::default());
        assert!(!session.advance_cluster_time(&rawdoc! { "x": 1 }));
        let newer = rawdoc! { "clusterTime": time(5) };
        assert!(session.advance_cluster_time(&newer));
        assert!(session.advance_cluster_time(&rawdoc! { "clusterTime": time(4) }));
        assert_eq!(session.cluster_time().unwrap().document(), &*newer);
    }

    #[test]
    fn a_session_has_one_transaction_at_a_time() {
        let mut session = state(SessionOptions::default());
        assert_eq!(session.transaction_state(), TransactionState::None);
        let options = TransactionOptions::default;
        assert_eq!(session.start_transaction(options()), Ok(()));
        assert_eq!(session.open_transaction(), Some(1));
        assert_eq!(
            session.start_transaction(options()),
            Err(TransactionError::InProgress)
        );
        assert_eq!(session.transaction_mut().unwrap().begin_abort(), Ok(false));
        assert_eq!(session.transaction_state(), TransactionState::Aborted);
        assert_eq!(session.open_transaction(), None);
        assert_eq!(session.start_transaction(options()), Ok(()));
        assert_eq!(session.open_transaction(), Some(2), "a new number");
        session.forget_ended_transaction();
        assert_eq!(session.transaction_state(), TransactionState::Starting);
        assert_eq!(session.transaction_mut().unwrap().begin_commit(), Ok(false));
        session.forget_ended_transaction();
        assert_eq!(session.transaction_state(), TransactionState::None);
        let _ = session.end();
        assert_eq!(
            session.start_transaction(options()),
            Err(TransactionError::SessionEnded)
        );
    }

    #[test]
    fn these_sessions_and_options_have_no_transactions() {
        let mut snapshot = state(SessionOptions {
            snapshot: true,
            ..SessionOptions::default()
        });
        let refused = snapshot.start_transaction(TransactionOptions::default());
        assert_eq!(refused, Err(TransactionError::Snapshot));
        let unacknowledged = TransactionOptions::default().write_concern(WriteConcern::nodes(0));
        let refused = state(SessionOptions::default()).start_transaction(unacknowledged);
        assert_eq!(refused, Err(TransactionError::Unacknowledged));
    }

    #[test]
    fn a_cursor_belongs_to_the_transaction_that_it_was_opened_in() {
        let mut session = state(SessionOptions::default());
        assert_eq!(session.check_cursor(None), Ok(()));
        session.start_transaction(TransactionOptions::default()).unwrap();
        assert_eq!(session.check_cursor(Some(1)), Ok(()));
        assert_eq!(session.check_cursor(None), Err(TransactionError::OtherCursor));
        let _ = session.transaction_mut().unwrap().begin_commit();
        assert_eq!(session.check_cursor(Some(1)), Err(TransactionError::EndedCursor));
        assert_eq!(session.check_cursor(None), Ok(()));
    }

    #[test]
    fn a_handle_is_bound_to_one_transaction() {
        let mut session = state(SessionOptions::default());
        assert_eq!(session.check_bound(0), Err(TransactionError::EndedHandle), "none");
        session.start_transaction(TransactionOptions::default()).unwrap();
        assert_eq!(session.check_bound(1), Ok(()));
        let _ = session.transaction_mut().unwrap().begin_abort();
        assert_eq!(session.check_bound(1), Err(TransactionError::EndedHandle));
        session.start_transaction(TransactionOptions::default()).unwrap();
        assert_eq!(session.check_bound(1), Err(TransactionError::EndedHandle));
        assert_eq!(session.check_bound(2), Ok(()));
        session.end_handles();
        assert_eq!(
            session.check_bound(2),
            Err(TransactionError::EndedHandle),
            "it is dropped"
        );
    }
}

//! A command listener that records which sessions and transactions a client has used, and how their
//! commands ended.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use marula_driver::{
    ErrorKind,
    bson::{Bson, Document},
    event::{CommandEvent, CommandFailedEvent, CommandStartedEvent, EventListener},
    options::ClientOptions,
};
use marula_driver_tests::{CommandId, command_id};

/// A transaction: the id of its session and its number.
type TransactionId = (String, i64);

/// The sessions and transactions of a client.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionLog(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    running: BTreeMap<CommandId, Command>,
    sessions: BTreeMap<String, Session>,
    /// The transactions with a command that was dropped, or that has no reply, those with a commit that
    /// failed, after which a client does not abort, and those that failed without a reply.
    interrupted: BTreeSet<TransactionId>,
    transactions: BTreeSet<TransactionId>,
}

#[derive(Debug, Default)]
struct Session {
    /// A connection failed while a command was sent or awaited: the session is dirty.
    is_dirty: bool,
    /// A command was dropped or has an unreadable reply, so that the session may have been discarded.
    is_interrupted: bool,
    /// The session was in `endSessions`.
    is_returned: bool,
    /// The commands and their results, to find the cause of a failed check.
    history: Vec<String>,
}

#[derive(Debug)]
struct Command {
    session: String,
    transaction: Option<i64>,
}

impl SessionLog {
    /// Registers this log in the options.
    pub(super) fn listen(&self, options: &mut ClientOptions) {
        let log = self.clone();
        options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
            log.lock().record(event);
        }));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a command of each of these transactions has no reply or was not sent, or its commit
    /// failed, so that the client cannot know or change that the server has the transaction.
    pub(super) fn were_interrupted(&self, transactions: &[TransactionId]) -> bool {
        let state = self.lock();
        transactions
            .iter()
            .all(|transaction| state.interrupted.contains(transaction))
    }

    /// Records that a transaction failed without a reply of the server: the last one of the session. Its
    /// commit or abort may have failed before it was sent as well, for want of a connection or of time.
    pub(super) fn expect_lost_end(&self, session: &Document) {
        let Some(session) = session_id(&Bson::from(session.clone())) else {
            return;
        };
        let mut state = self.lock();
        let numbers = state.transactions.iter().filter(|(id, _)| *id == session);
        if let Some(last) = numbers.max_by_key(|(_, number)| *number).cloned() {
            state.interrupted.insert(last);
        }
    }

    /// The commands of the sessions of these transactions and their results.
    pub(super) fn describe(&self, transactions: &[TransactionId]) -> String {
        let state = self.lock();
        let history = |(session, number): &TransactionId| {
            let known = state.sessions.get(session);
            format!("transaction {number} of session {session}: {known:#?}\n")
        };
        transactions.iter().map(history).collect()
    }

    /// The number of transactions that were sent.
    pub(super) fn transactions(&self) -> usize {
        self.lock().transactions.len()
    }

    /// Checks, after the shutdown of the client, that `endSessions` contained every session that the
    /// client could use again, and no dirty one: those are discarded (Driver Sessions). A session
    /// with a command that was dropped is discarded if it ended before the reply arrived. Returns a
    /// summary.
    pub(super) fn assert_all_returned(&self) -> String {
        let state = self.lock();
        assert!(state.running.is_empty(), "{:?}", state.running);
        let sessions = || state.sessions.values();
        for (id, session) in &state.sessions {
            let may_be_discarded = session.is_dirty || session.is_interrupted;
            assert!(
                session.is_returned || may_be_discarded,
                "session {id} was not given back: {session:#?}"
            );
            assert!(
                !(session.is_returned && session.is_dirty),
                "dirty session {id} was given back: {session:#?}"
            );
        }
        format!(
            "{} sessions, {} of them returned and {} dirty",
            sessions().count(),
            sessions().filter(|session| session.is_returned).count(),
            sessions().filter(|session| session.is_dirty).count()
        )
    }
}

/// The `id` of an `lsid`.
fn session_id(lsid: &Bson) -> Option<String> {
    match lsid.as_document()?.get("id")? {
        Bson::Binary(binary) => Some(uuid::Uuid::from_slice(&binary.bytes).ok()?.to_string()),
        _ => None,
    }
}

impl State {
    fn record(&mut self, event: &CommandEvent) {
        match event {
            CommandEvent::Started(started) => self.start(started, command_id(event)),
            CommandEvent::Succeeded(ended) => {
                if let Some(command) = self.running.remove(&command_id(event)) {
                    self.note(command.session, format!("{} succeeded", ended.command_name));
                }
            }
            CommandEvent::Failed(ended) => {
                if let Some(command) = self.running.remove(&command_id(event)) {
                    self.fail(command, ended);
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, session: String, what: String) -> &mut Session {
        let session = self.sessions.entry(session).or_default();
        session.history.push(what);
        session
    }

    fn fail(&mut self, command: Command, ended: &CommandFailedEvent) {
        let Command { session, transaction } = command;
        let error = &ended.failure;
        let has_reply = matches!(error.kind(), ErrorKind::Command(_));
        let is_commit = ended.command_name == "commitTransaction";
        if let Some(number) = transaction.filter(|_| !has_reply || is_commit) {
            self.interrupted.insert((session.clone(), number));
        }
        let session = self.note(session, format!("{} failed: {error:?}", ended.command_name));
        session.is_dirty |= error.is_network();
        session.is_interrupted |= !has_reply;
    }

    fn start(&mut self, started: &CommandStartedEvent, id: CommandId) {
        let Ok(body) = Document::try_from(&*started.command) else {
            return;
        };
        if let Ok(ids) = body.get_array("endSessions") {
            for session in ids.iter().filter_map(session_id) {
                self.sessions.entry(session).or_default().is_returned = true;
            }
            return;
        }
        let Some(session) = body.get("lsid").and_then(session_id) else {
            return;
        };
        let number = body.get_i64("txnNumber").ok();
        let transaction = number.filter(|_| body.contains_key("autocommit"));
        if let Some(number) = transaction {
            self.transactions.insert((session.clone(), number));
        }
        self.note(
            session.clone(),
            format!("{}, txnNumber {number:?}", started.command_name),
        );
        self.running.insert(id, Command { session, transaction });
    }
}

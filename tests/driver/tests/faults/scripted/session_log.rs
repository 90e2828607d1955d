//! A command listener that records which sessions and transactions a client has used, and which of
//! their commands have no reply.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use marula_driver::{
    ErrorKind,
    bson::{Bson, Document},
    event::{CommandEvent, CommandStartedEvent, EventListener},
    options::ClientOptions,
};

/// A transaction: the id of its session and its number.
type TransactionId = (String, i64);

/// The sessions and transactions of a client.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionLog(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The commands without a result, by request id.
    running: BTreeMap<i32, Command>,
    used: BTreeSet<String>,
    /// The sessions with a command that was dropped, or whose connection failed.
    interrupted: BTreeSet<String>,
    /// The transactions with such a command.
    interrupted_transactions: BTreeSet<TransactionId>,
    transactions: BTreeSet<TransactionId>,
    /// The sessions of `endSessions`.
    returned: BTreeSet<String>,
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

    /// Whether a command of each of these transactions has no reply, so that the client cannot know
    /// whether the server has the transaction.
    pub(super) fn were_interrupted(&self, transactions: &[TransactionId]) -> bool {
        let state = self.lock();
        transactions
            .iter()
            .all(|transaction| state.interrupted_transactions.contains(transaction))
    }

    /// The number of transactions that were sent.
    pub(super) fn transactions(&self) -> usize {
        self.lock().transactions.len()
    }

    /// Checks that the client has ended every session that it could use again: the tasks have given
    /// all of them back. Called after its shutdown.
    pub(super) fn assert_all_returned(&self) {
        let state = self.lock();
        assert!(state.running.is_empty(), "{:?}", state.running);
        let missing: Vec<&String> = state
            .used
            .difference(&state.interrupted)
            .filter(|session| !state.returned.contains(*session))
            .collect();
        assert!(missing.is_empty(), "sessions were not given back: {missing:?}");
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
            CommandEvent::Started(started) => self.start(started),
            CommandEvent::Succeeded(ended) => drop(self.running.remove(&ended.request_id)),
            CommandEvent::Failed(ended) => {
                let command = self.running.remove(&ended.request_id);
                let is_reply = matches!(ended.failure.kind(), ErrorKind::Command(_));
                if let Some(Command { session, transaction }) = command.filter(|_| !is_reply) {
                    if let Some(number) = transaction {
                        self.interrupted_transactions.insert((session.clone(), number));
                    }
                    self.interrupted.insert(session);
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, started: &CommandStartedEvent) {
        let Ok(body) = Document::try_from(&*started.command) else {
            return;
        };
        if let Ok(ids) = body.get_array("endSessions") {
            self.returned.extend(ids.iter().filter_map(session_id));
            return;
        }
        let Some(session) = body.get("lsid").and_then(session_id) else {
            return;
        };
        let number = body.get_i64("txnNumber").ok();
        let transaction = number.filter(|_| body.contains_key("autocommit"));
        self.used.insert(session.clone());
        if let Some(number) = transaction {
            self.transactions.insert((session.clone(), number));
        }
        let command = Command { session, transaction };
        self.running.insert(started.request_id, command);
    }
}

//! Server sessions: the state of the latest transaction number of each. For retryable writes, the
//! results of the executed statements, so that a retried statement returns the same result without
//! being executed again; for transactions, whether they are in progress, committed or aborted.

use crate::deployment::{Deployment, lock};
use crate::error::{Error, Result, code};
use crate::session_info::{session_id, transaction_id, transaction_number};
use crate::transaction::{Transaction, no_such_transaction};
use bson::{Bson, Document};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

#[derive(Debug, Default)]
struct Session {
    txn_number: i64,
    statements: BTreeMap<i32, Document>,
    /// `None` if `txn_number` is one of retryable writes.
    transaction: Option<State>,
}

/// The state of a transaction.
#[derive(Debug)]
enum State {
    InProgress(Arc<Transaction>),
    Committed,
    Aborted,
}

/// The sessions of one deployment.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    known: Mutex<HashMap<Vec<u8>, Session>>,
    transaction_ended: Arc<watch::Sender<()>>,
}

/// The executed statements of the transaction number of a write command. Empty for a command
/// without a transaction number.
pub(crate) struct History<'s> {
    sessions: &'s Sessions,
    id: Option<Vec<u8>>,
    first_statement: Vec<i32>,
}

impl Sessions {
    /// Opens the history for a write command.
    pub(crate) fn history(&self, body: &Document, replica_set: bool) -> Result<History<'_>> {
        let none = History {
            sessions: self,
            id: None,
            first_statement: Vec::new(),
        };
        let Some(number) = transaction_number(body)?.filter(|_| !body.contains_key("autocommit")) else {
            return Ok(none);
        };
        if !replica_set {
            return Err(Error::new(
                code::ILLEGAL_OPERATION,
                "Transaction numbers are only allowed on a replica set member or mongos",
            ));
        }
        let id = session_id(body)?.ok_or_else(|| {
            Error::new(
                code::INVALID_OPTIONS,
                "Transaction number requires a session ID to also be specified",
            )
        })?;
        let mut sessions = lock(&self.known);
        let session = sessions.entry(id.clone()).or_insert_with(|| Session {
            txn_number: number,
            ..Session::default()
        });
        if number < session.txn_number {
            return Err(Error::new(
                code::TRANSACTION_TOO_OLD,
                format!(
                    "Retryable write with txnNumber {number} is prohibited on session because a newer retryable write with \
                     txnNumber {} has already started on this session.",
                    session.txn_number
                ),
            ));
        }
        if number > session.txn_number {
            *session = Session {
                txn_number: number,
                ..Session::default()
            };
        }
        let integers = |value: &Bson| match value {
            Bson::Int32(id) => Ok(*id),
            _ => Err(Error::type_mismatch("statement ids must be of type int")),
        };
        let first_statement = match (body.get("stmtIds"), body.get("stmtId")) {
            (Some(Bson::Array(ids)), _) => ids.iter().map(integers).collect::<Result<_>>()?,
            (_, Some(id)) => vec![integers(id)?],
            _ => vec![0],
        };
        Ok(History {
            id: Some(id),
            first_statement,
            ..none
        })
    }

    /// Aborts the transactions of sessions, and with `remove` removes the sessions.
    pub(crate) fn end(&self, ids: &[Bson], remove: bool) {
        let mut sessions = lock(&self.known);
        for id in ids {
            if let Bson::Document(id) = id
                && let Some(Bson::Binary(binary)) = id.get("id")
            {
                if remove {
                    sessions.remove(&binary.bytes);
                } else if let Some(session) = sessions.get_mut(&binary.bytes) {
                    session.abort();
                }
            }
        }
    }

    /// Aborts every transaction in progress.
    pub(crate) fn abort_all(&self) {
        lock(&self.known).values_mut().for_each(Session::abort);
    }

    /// Receives a notification of every commit and abort from now on.
    pub(crate) fn transaction_ends(&self) -> watch::Receiver<()> {
        self.transaction_ended.subscribe()
    }

    /// The transactions in progress.
    pub(crate) fn open(&self) -> Vec<Arc<Transaction>> {
        lock(&self.known)
            .values()
            .filter_map(|session| match &session.transaction {
                Some(State::InProgress(transaction)) => Some(Arc::clone(transaction)),
                _ => None,
            })
            .collect()
    }

    /// The session ids and numbers of the transactions in progress.
    pub(crate) fn open_ids(&self) -> Vec<(Vec<u8>, i64)> {
        lock(&self.known)
            .iter()
            .filter(|(_, session)| matches!(session.transaction, Some(State::InProgress(_))))
            .map(|(id, session)| (id.clone(), session.txn_number))
            .collect()
    }

    /// Aborts the transactions that are older than `transactionLifetimeLimitSeconds` allows.
    pub(crate) fn abort_expired(&self, limit: Duration) {
        for session in lock(&self.known).values_mut() {
            if matches!(&session.transaction, Some(State::InProgress(open)) if open.began.elapsed() >= limit)
            {
                session.abort();
            }
        }
    }

    /// Starts or continues the transaction of a command.
    pub(crate) fn enter(
        &self,
        deployment: &Deployment,
        member: usize,
        body: &Document,
    ) -> Result<Arc<Transaction>> {
        let (id, number) = transaction_id(body)?;
        let starts = body.contains_key("startTransaction");
        self.abort_expired(deployment.transaction_lifetime());
        let mut sessions = lock(&self.known);
        if starts {
            let known = sessions
                .get(&id)
                .map(|session| (session.txn_number, &session.transaction));
            if let Some((last, state)) = known {
                if number < last {
                    return Err(Error::new(
                        code::TRANSACTION_TOO_OLD,
                        format!(
                            "Cannot start transaction {number} on session because a newer transaction with txnNumber {last} has already started on this session."
                        ),
                    ));
                }
                // A mongos may start a transaction again that was started on another mongos and not
                // committed.
                if number == last
                    && !(deployment.is_mongos()
                        && matches!(state, Some(State::InProgress(_) | State::Aborted)))
                {
                    return Err(Error::new(
                        code::CONFLICTING_OPERATION_IN_PROGRESS,
                        format!(
                            "Cannot start a transaction with given transaction number {number}: it was used already"
                        ),
                    ));
                }
            }
            drop(sessions);
            // Lock order: the catalog before the sessions.
            let ended = Arc::clone(&self.transaction_ended);
            let transaction = Arc::new(Transaction::begin(deployment, member, ended));
            let session = Session {
                txn_number: number,
                transaction: Some(State::InProgress(Arc::clone(&transaction))),
                ..Session::default()
            };
            lock(&self.known).insert(id, session);
            return Ok(transaction);
        }
        let session = sessions
            .get_mut(&id)
            .filter(|session| session.txn_number == number);
        match session.and_then(|session| session.transaction.as_ref()) {
            Some(State::InProgress(transaction)) if transaction.member == member => {
                Ok(Arc::clone(transaction))
            }
            Some(State::Committed) => Err(Error::new(
                code::TRANSACTION_COMMITTED,
                format!("Transaction with {{ txnNumber: {number} }} has been committed."),
            )),
            _ => Err(no_such_transaction(number)),
        }
    }

    /// Completes a command of a transaction. If the command failed or its writes conflict with
    /// other transactions, the transaction is aborted.
    pub(crate) fn leave(
        &self,
        deployment: &Deployment,
        body: &Document,
        transaction: &Arc<Transaction>,
        result: Result<Document>,
    ) -> Result<Document> {
        let mut others = self.open();
        others.retain(|other| !Arc::ptr_eq(other, transaction));
        let result = result.and_then(|reply| {
            transaction.check(deployment, &others)?;
            Ok(reply)
        });
        let failed = match &result {
            Ok(reply) => {
                reply.contains_key("writeErrors") || reply.get_i32("nErrors").is_ok_and(|count| count > 0)
            }
            Err(_) => true,
        };
        if failed {
            self.finish(body, transaction, State::Aborted)?;
        }
        result
    }

    fn finish(&self, body: &Document, transaction: &Arc<Transaction>, state: State) -> Result<()> {
        let (id, _) = transaction_id(body)?;
        let mut sessions = lock(&self.known);
        if let Some(session) = sessions.get_mut(&id)
            && matches!(&session.transaction, Some(State::InProgress(current)) if Arc::ptr_eq(current, transaction))
        {
            session.transaction = Some(state);
        }
        Ok(())
    }

    /// `commitTransaction`.
    pub(crate) fn commit(&self, deployment: &Deployment, member: usize, body: &Document) -> Result<()> {
        let (id, number) = transaction_id(body)?;
        let transaction = match lock(&self.known)
            .get_mut(&id)
            .filter(|session| session.txn_number == number)
        {
            None => return Err(no_such_transaction(number)),
            Some(session) => match &session.transaction {
                Some(State::Committed) => return Ok(()),
                Some(State::InProgress(transaction)) if transaction.member == member => {
                    Arc::clone(transaction)
                }
                Some(State::InProgress(_))
                    if deployment.is_mongos() && !body.contains_key("recoveryToken") =>
                {
                    return Err(Error::new(
                        50940,
                        "cannot recover the transaction decision without a recoveryToken",
                    ));
                }
                _ => {
                    // Recovery of an undecided transaction aborts it.
                    session.abort();
                    return Err(no_such_transaction(number));
                }
            },
        };
        // A commit that was sent again can run at the same time: the state is read again with the
        // data locked. Lock order: the catalog of the transaction, that of the deployment, the
        // sessions.
        let catalog = lock(&transaction.catalog);
        let mut shared = deployment.catalog();
        let mut sessions = lock(&self.known);
        let state = match sessions.get_mut(&id) {
            Some(session) if session.txn_number == number => &mut session.transaction,
            _ => return Err(no_such_transaction(number)),
        };
        match state {
            Some(State::Committed) => return Ok(()),
            Some(State::InProgress(current)) if Arc::ptr_eq(current, &transaction) => {}
            _ => return Err(no_such_transaction(number)),
        }
        let committed = transaction.commit(&catalog, &mut shared);
        *state = Some(if committed.is_ok() {
            State::Committed
        } else {
            State::Aborted
        });
        committed
    }

    /// `abortTransaction`.
    pub(crate) fn abort(&self, member: usize, body: &Document) -> Result<()> {
        let (id, number) = transaction_id(body)?;
        let mut sessions = lock(&self.known);
        let session = sessions
            .get_mut(&id)
            .filter(|session| session.txn_number == number)
            .ok_or_else(|| no_such_transaction(number))?;
        match &session.transaction {
            Some(State::InProgress(transaction)) if transaction.member == member => {
                session.abort();
                Ok(())
            }
            Some(State::Committed) => Err(Error::new(
                code::TRANSACTION_COMMITTED,
                format!("Transaction with {{ txnNumber: {number} }} has been committed."),
            )),
            // A member that does not have the transaction cannot abort it.
            Some(State::InProgress(_) | State::Aborted) | None => Err(no_such_transaction(number)),
        }
    }
}

impl Session {
    fn abort(&mut self) {
        if matches!(self.transaction, Some(State::InProgress(_))) {
            self.transaction = Some(State::Aborted);
        }
    }
}

impl History<'_> {
    /// Whether the command is a retryable write.
    pub(crate) fn is_retryable(&self) -> bool {
        self.id.is_some()
    }

    /// The statement id (`stmtId`) of the statement at an index.
    pub(crate) fn statement_id(&self, index: usize) -> i32 {
        match self.first_statement.as_slice() {
            [first] => first.saturating_add(index as i32),
            ids => ids.get(index).copied().unwrap_or(index as i32),
        }
    }

    /// The result of the statement if it was executed before.
    pub(crate) fn find(&self, index: usize) -> Option<Document> {
        let id = self.id.as_ref()?;
        lock(&self.sessions.known)
            .get(id)?
            .statements
            .get(&self.statement_id(index))
            .cloned()
    }

    /// Stores the result of a statement.
    pub(crate) fn record(&self, index: usize, result: Document) {
        let Some(id) = &self.id else { return };
        if let Some(session) = lock(&self.sessions.known).get_mut(id) {
            session.statements.insert(self.statement_id(index), result);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    fn body(number: i64) -> Document {
        let id = bson::Binary {
            subtype: bson::spec::BinarySubtype::Uuid,
            bytes: vec![7; 16],
        };
        doc! {"insert": "c", "lsid": {"id": id}, "txnNumber": number}
    }

    #[test]
    fn retried_statements_find_their_result() {
        let sessions = Sessions::default();
        sessions.history(&body(1), true).unwrap().record(0, doc! {"n": 1});
        assert_eq!(
            sessions.history(&body(1), true).unwrap().find(0),
            Some(doc! {"n": 1})
        );
        assert_eq!(sessions.history(&body(2), true).unwrap().find(0), None);
        assert_eq!(sessions.history(&body(1), true).err().unwrap().code, 225);
    }

    #[test]
    fn standalones_reject_transaction_numbers() {
        let sessions = Sessions::default();
        assert_eq!(sessions.history(&body(1), false).err().unwrap().code, 20);
        assert!(
            !sessions
                .history(&doc! {"insert": "c"}, false)
                .unwrap()
                .is_retryable()
        );
    }
}

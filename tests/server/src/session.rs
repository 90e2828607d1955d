//! Sessions: what each one's latest transaction number has already done. For retryable writes that is statement by statement, so
//! that a repeated statement gets the same answer and is not done twice; for transactions it is their state.

use crate::deployment::{Deployment, lock};
use crate::error::{Error, Result, code};
use crate::transaction::{Transaction, no_such_transaction};
use bson::{Bson, Document};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

#[derive(Debug, Default)]
struct Session {
    txn_number: i64,
    statements: BTreeMap<i32, Document>,
    /// The transaction of that number, if it is one.
    transaction: Option<State>,
}

/// How far a transaction has come.
#[derive(Debug)]
enum State {
    InProgress(Arc<Transaction>),
    Committed,
    Aborted,
}

/// The sessions of one deployment.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<Vec<u8>, Session>>);

/// The history that one write command reads and adds to; of a command without a transaction number it is empty and stays so.
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
        let mut sessions = lock(&self.0);
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

    /// Whether something was done already under a command's transaction number.
    pub(crate) fn has_done(&self, body: &Document) -> bool {
        let Ok((id, number)) = transaction_id(body) else {
            return false;
        };
        lock(&self.0)
            .get(&id)
            .is_some_and(|session| session.txn_number == number && !session.statements.is_empty())
    }

    /// Forgets sessions, or only aborts their transactions.
    pub(crate) fn end(&self, ids: &[Bson], forget: bool) {
        let mut sessions = lock(&self.0);
        for id in ids {
            if let Bson::Document(id) = id
                && let Some(Bson::Binary(binary)) = id.get("id")
            {
                if forget {
                    sessions.remove(&binary.bytes);
                } else if let Some(session) = sessions.get_mut(&binary.bytes) {
                    session.abort();
                }
            }
        }
    }

    /// Aborts every transaction in progress.
    pub(crate) fn abort_all(&self) {
        lock(&self.0).values_mut().for_each(Session::abort);
    }

    /// The transaction that a command begins or goes on with.
    pub(crate) fn enter(
        &self,
        deployment: &Deployment,
        member: usize,
        body: &Document,
    ) -> Result<Arc<Transaction>> {
        let (id, number) = transaction_id(body)?;
        let starts = body.contains_key("startTransaction");
        let mut sessions = lock(&self.0);
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
                // A mongos may begin again what another one has begun and lost.
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
            // The storage is locked before the sessions, never after them.
            let transaction = Arc::new(Transaction::begin(deployment, member));
            let session = Session {
                txn_number: number,
                transaction: Some(State::InProgress(Arc::clone(&transaction))),
                ..Session::default()
            };
            lock(&self.0).insert(id, session);
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

    /// Ends what a command has done in its transaction: if it went wrong, or conflicts with others, the transaction is aborted.
    pub(crate) fn leave(
        &self,
        deployment: &Deployment,
        body: &Document,
        transaction: &Arc<Transaction>,
        result: Result<Document>,
    ) -> Result<Document> {
        let others = self.in_progress(transaction);
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

    fn in_progress(&self, except: &Arc<Transaction>) -> Vec<Arc<Transaction>> {
        lock(&self.0)
            .values()
            .filter_map(|session| match &session.transaction {
                Some(State::InProgress(other)) if !Arc::ptr_eq(other, except) => Some(Arc::clone(other)),
                _ => None,
            })
            .collect()
    }

    fn finish(&self, body: &Document, transaction: &Arc<Transaction>, state: State) -> Result<()> {
        let (id, _) = transaction_id(body)?;
        let mut sessions = lock(&self.0);
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
        let transaction = match lock(&self.0)
            .get_mut(&id)
            .filter(|session| session.txn_number == number)
        {
            None => return Err(no_such_transaction(number)),
            Some(session) => match &session.transaction {
                Some(State::Committed) => return Ok(()),
                Some(State::InProgress(transaction)) if transaction.member == member => {
                    Arc::clone(transaction)
                }
                Some(State::InProgress(_)) if !body.contains_key("recoveryToken") => {
                    return Err(Error::new(
                        50940,
                        "cannot recover the transaction decision without a recoveryToken",
                    ));
                }
                _ => {
                    // Asking for a decision that was not made makes it: the transaction is aborted.
                    session.abort();
                    return Err(no_such_transaction(number));
                }
            },
        };
        let committed = transaction.commit(deployment);
        let state = if committed.is_ok() {
            State::Committed
        } else {
            State::Aborted
        };
        self.finish(body, &transaction, state)?;
        committed
    }

    /// `abortTransaction`.
    pub(crate) fn abort(&self, member: usize, body: &Document) -> Result<()> {
        let (id, number) = transaction_id(body)?;
        let mut sessions = lock(&self.0);
        let session = sessions
            .get_mut(&id)
            .filter(|session| session.txn_number == number)
            .ok_or_else(|| no_such_transaction(number))?;
        match &session.transaction {
            Some(State::InProgress(transaction)) => {
                let own = transaction.member == member;
                session.abort();
                if own {
                    Ok(())
                } else {
                    Err(no_such_transaction(number))
                }
            }
            Some(State::Committed) => Err(Error::new(
                code::TRANSACTION_COMMITTED,
                format!("Transaction with {{ txnNumber: {number} }} has been committed."),
            )),
            Some(State::Aborted) | None => Err(no_such_transaction(number)),
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

fn transaction_number(body: &Document) -> Result<Option<i64>> {
    match body.get("txnNumber") {
        None => Ok(None),
        Some(Bson::Int64(number)) => Ok(Some(*number)),
        Some(_) => Err(Error::type_mismatch(
            "BSON field 'OperationSessionInfo.txnNumber' is the wrong type, expected type 'long'",
        )),
    }
}

/// The session and the number of a command in a transaction.
fn transaction_id(body: &Document) -> Result<(Vec<u8>, i64)> {
    let invalid = |message: &str| Error::new(code::INVALID_OPTIONS, message);
    let number = transaction_number(body)?
        .ok_or_else(|| invalid("'autocommit' and 'startTransaction' need a 'txnNumber'"))?;
    let id = session_id(body)?
        .ok_or_else(|| invalid("Transaction number requires a session ID to also be specified"))?;
    Ok((id, number))
}

/// The id of a command's `lsid`.
fn session_id(body: &Document) -> Result<Option<Vec<u8>>> {
    match body.get("lsid") {
        None => Ok(None),
        Some(Bson::Document(lsid)) => match lsid.get("id") {
            Some(Bson::Binary(binary)) if binary.bytes.len() == 16 => Ok(Some(binary.bytes.clone())),
            _ => Err(Error::type_mismatch("BSON field 'lsid.id' must be a UUID")),
        },
        Some(_) => Err(Error::type_mismatch("BSON field 'lsid' must be an object")),
    }
}

impl History<'_> {
    /// Whether the command is a retryable write.
    pub(crate) fn is_retryable(&self) -> bool {
        self.id.is_some()
    }

    /// The id of the command's statement at an index.
    pub(crate) fn statement_id(&self, index: usize) -> i32 {
        match self.first_statement.as_slice() {
            [first] => first.saturating_add(index as i32),
            ids => ids.get(index).copied().unwrap_or(index as i32),
        }
    }

    /// What the statement gave when it was done before.
    pub(crate) fn find(&self, index: usize) -> Option<Document> {
        let id = self.id.as_ref()?;
        lock(&self.sessions.0)
            .get(id)?
            .statements
            .get(&self.statement_id(index))
            .cloned()
    }

    /// Remembers what a statement gave.
    pub(crate) fn record(&self, index: usize, result: Document) {
        let Some(id) = &self.id else { return };
        if let Some(session) = lock(&self.sessions.0).get_mut(id) {
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
    fn repeats_find_their_result() {
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
    fn standalones_refuse_transaction_numbers() {
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

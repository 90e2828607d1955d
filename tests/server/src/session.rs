//! Retryable writes: what each session's latest transaction number has already done, statement by statement, so that a
//! repeated statement gets the same answer and is not done twice.

use crate::deployment::lock;
use crate::error::{Error, Result, code};
use bson::{Bson, Document};
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

#[derive(Debug, Default)]
struct Session {
    txn_number: i64,
    statements: BTreeMap<i32, Document>,
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
        let Some(number) = body.get("txnNumber") else {
            return Ok(none);
        };
        let Bson::Int64(number) = *number else {
            return Err(Error::type_mismatch(
                "BSON field 'OperationSessionInfo.txnNumber' is the wrong type, expected type 'long'",
            ));
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

    /// Forgets sessions.
    pub(crate) fn end(&self, ids: &[Bson]) {
        let mut sessions = lock(&self.0);
        for id in ids {
            if let Bson::Document(id) = id
                && let Some(Bson::Binary(binary)) = id.get("id")
            {
                sessions.remove(&binary.bytes);
            }
        }
    }
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

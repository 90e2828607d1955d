//! Errors of writes.

use std::{collections::BTreeMap, fmt};

use super::command::is_state_change;
use crate::bson::{Bson, Document};

/// The error of one statement of a write.
///
/// `Debug` prints neither `details` nor `key_value`: they contain values of documents, which a client with automatic
/// encryption has decrypted.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct WriteError {
    /// The index of the statement in the call, from 0; 0 for a write of one statement.
    pub index: usize,
    /// The server's error code, e.g. 11000 (`DuplicateKey`).
    pub code: i32,
    /// `errmsg`: the reason.
    pub message: String,
    /// `errInfo`, e.g. the result of a schema validation.
    pub details: Option<Document>,
    /// For a duplicate key (11000): the key pattern of the violated index. `None` if the server did
    /// not send it.
    pub key_pattern: Option<Document>,
    /// For a duplicate key (11000): the value that already exists. `None` if the server did not
    /// send it.
    pub key_value: Option<Document>,
}

impl fmt::Debug for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteError")
            .field("index", &self.index)
            .field("code", &self.code)
            .field("message", &self.message)
            .field("key_pattern", &self.key_pattern)
            .finish_non_exhaustive()
    }
}

/// The write was performed, but its write concern was not satisfied.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WriteConcernError {
    /// The server's error code, e.g. 64 (`WriteConcernFailed`).
    pub code: i32,
    /// The name of the code; empty if the reply has none.
    pub code_name: String,
    /// `errmsg`: the reason.
    pub message: String,
    /// `errInfo`, e.g. the write concern that was not satisfied.
    pub details: Option<Document>,
}

/// The errors of a write of one statement (`WriteException` of the CRUD specification). At least
/// one of the fields is set; a server that steps down or shuts down may report both.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WriteFailure {
    /// The error of the statement. `None` if the statement was applied.
    pub write_error: Option<WriteError>,
    /// The write concern error. `None` if the write concern was satisfied.
    pub write_concern_error: Option<WriteConcernError>,
}

/// The errors of a write of several statements, with the results of the statements that succeeded
/// (`BulkWriteException` of the CRUD specification).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BulkWriteError {
    /// The errors of the statements. An ordered write stops at the first.
    pub write_errors: Vec<WriteError>,
    /// The last write concern error that the server reported.
    pub write_concern_error: Option<WriteConcernError>,
    /// The `_id` of each inserted document, by the index of the statement in the call. Their number
    /// is the number of inserted documents.
    pub inserted_ids: BTreeMap<usize, Bson>,
    /// The `_id` of each upserted document of a bulk write, by the index of the statement in the
    /// call.
    pub upserted_ids: BTreeMap<usize, Bson>,
    /// Number of documents that the filters of updates matched.
    pub matched_count: u64,
    /// Number of documents that were modified.
    pub modified_count: u64,
    /// Number of documents that were deleted.
    pub deleted_count: u64,
    /// The error that ended the call before all its commands were sent, e.g. a failed connection.
    /// The result of the command that failed is unknown.
    pub interrupted_by: Option<crate::Error>,
}

impl WriteConcernError {
    /// The codes and messages are those of command errors.
    pub(crate) fn is_state_change(&self) -> bool {
        is_state_change(self.code, &self.message)
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "write error {} at statement {}: {}",
            self.code, self.index, self.message
        )
    }
}

/// The error of the only statement of a call. The index is left out.
struct Single<'e>(&'e WriteError);

impl fmt::Display for Single<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write error {}: {}", self.0.code, self.0.message)
    }
}

impl fmt::Display for WriteConcernError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.code_name.is_empty() { "" } else { " " };
        write!(
            f,
            "write concern error {}{name}{}: {}",
            self.code, self.code_name, self.message
        )
    }
}

impl fmt::Display for WriteFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.write_error, &self.write_concern_error) {
            (Some(write), Some(concern)) => write!(f, "{}; {concern}", Single(write)),
            (Some(write), None) => Single(write).fmt(f),
            (None, Some(concern)) => concern.fmt(f),
            (None, None) => f.write_str("the server reported no error"),
        }
    }
}

impl fmt::Display for BulkWriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} statement(s) failed, {} document(s) inserted",
            self.write_errors.len(),
            self.inserted_ids.len()
        )?;
        if let Some(first) = self.write_errors.first() {
            write!(f, "; first: {first}")?;
        }
        if let Some(error) = &self.write_concern_error {
            write!(f, "; {error}")?;
        }
        if self.interrupted_by.is_some() {
            f.write_str("; interrupted by another error")?;
        }
        Ok(())
    }
}

impl std::error::Error for WriteError {}
impl std::error::Error for WriteConcernError {}
impl std::error::Error for WriteFailure {}
impl std::error::Error for BulkWriteError {}

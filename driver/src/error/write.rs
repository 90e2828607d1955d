//! Writes that the server ran and reported errors for.

use std::{collections::BTreeMap, fmt};

use super::command::is_state_change;
use crate::bson::{Bson, Document};

/// One statement that failed.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WriteError {
    /// Which statement of the call, from 0; 0 for a single write.
    pub index: usize,
    /// The server's error code.
    pub code: i32,
    /// The server's message.
    pub message: String,
    /// `errInfo`, e.g. what a schema validation found.
    pub details: Option<Document>,
    /// For a duplicate key (11000): the key pattern of the index that refused it.
    pub key_pattern: Option<Document>,
    /// For a duplicate key (11000): the value that was there already.
    pub key_value: Option<Document>,
}

/// The write was done, but not to the extent its write concern asked for.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WriteConcernError {
    /// The server's error code.
    pub code: i32,
    /// The code's name; empty when the server sent none.
    pub code_name: String,
    /// The server's message.
    pub message: String,
    /// `errInfo`, e.g. the write concern that was not met.
    pub details: Option<Document>,
}

/// The errors of a write of one statement (`WriteException` of the CRUD specification): at least one of the two. A server that
/// refuses a statement while it shuts down or steps down may report both.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WriteFailure {
    /// Why the statement was not applied; `None` when it was.
    pub write_error: Option<WriteError>,
    /// Why the write concern was not met; `None` when it was.
    pub write_concern_error: Option<WriteConcernError>,
}

/// The errors of a write of many statements, with what was done nevertheless.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BulkWriteError {
    /// The statements that failed. An ordered write stops at the first.
    pub write_errors: Vec<WriteError>,
    /// The last write concern error.
    pub write_concern_error: Option<WriteConcernError>,
    /// The `_id` of each document that was inserted, by its place in the call.
    pub inserted_ids: BTreeMap<usize, Bson>,
    /// The `_id` of each document that an upsert of a bulk write inserted, by its place in the call.
    pub upserted_ids: BTreeMap<usize, Bson>,
    /// Documents that the filters of a bulk write's updates matched.
    pub matched_count: u64,
    /// Documents that a bulk write changed.
    pub modified_count: u64,
    /// Documents that a bulk write deleted.
    pub deleted_count: u64,
    /// The error that ended the call between two of its commands, e.g. a lost connection. What the command that failed
    /// did is unknown.
    pub interrupted_by: Option<crate::Error>,
}

impl WriteConcernError {
    /// The same codes and messages count as for a failed command.
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

/// The error of the only statement of a call, whose place says nothing.
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

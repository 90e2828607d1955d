//! What errors of bulk writes contain: which writes failed.

use std::fmt;

use crate::{
    base::{
        bson::{Bson, Document},
        error::{Error, PerformedWrites, convert::index_name},
    },
    driver::{self, error::code},
};

/// A write of a bulk write, as its call describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkOperation {
    /// The position of the write in the call, from 0.
    pub index: usize,
    /// The name of the model's struct.
    pub model: &'static str,
    /// The name of the method that added the write, such as `update_one`.
    pub operation: &'static str,
}

/// `update_one of Order at index 3`
impl fmt::Display for BulkOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} at index {}", self.operation, self.model, self.index)
    }
}

/// A write that had no effect.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FailedWrite {
    /// Which write failed.
    pub operation: BulkOperation,
    /// Why it failed.
    pub reason: FailedWriteReason,
}

/// Why a write of a bulk write had no effect.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FailedWriteReason {
    /// The server rejected the write. Contains its code and message, and the values of a duplicate key.
    Rejected(driver::WriteError),
    /// The collection is sharded, and the filter of the write does not contain the shard key, as in
    /// [`Error::ShardKey`].
    ShardKey {
        /// The shard key, if it could be read from the cluster.
        key: Option<Box<Document>>,
        /// The error of the server.
        error: driver::WriteError,
    },
    /// The stored document has another version than the struct, as in
    /// [`Error::VersionConflict`]. Read it again, and repeat the change.
    VersionConflict {
        /// The `_id` of the document.
        id: Option<Bson>,
    },
}

impl FailedWrite {
    /// The error of the server. `None` for a version conflict.
    ///
    /// ```no_run
    /// # use marula::error::FailedWrite;
    /// use marula::driver::error::code;
    /// fn is_invalid(write: &FailedWrite) -> bool {
    ///     write.error().is_some_and(|error| error.code == code::DOCUMENT_VALIDATION_FAILURE)
    /// }
    /// ```
    #[must_use]
    pub fn error(&self) -> Option<&driver::WriteError> {
        match &self.reason {
            FailedWriteReason::Rejected(error) | FailedWriteReason::ShardKey { error, .. } => Some(error),
            FailedWriteReason::VersionConflict { .. } => None,
        }
    }
}

/// `insert of Order at index 1 (code 11000)`, `replace of Order at index 2 (version conflict)`
impl fmt::Display for FailedWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            FailedWriteReason::Rejected(error) => write!(f, "{} (code {})", self.operation, error.code),
            FailedWriteReason::ShardKey { key, error } => {
                write!(
                    f,
                    "{} (code {}, without the shard key",
                    self.operation, error.code
                )?;
                let fields: Vec<&str> = key
                    .iter()
                    .flat_map(|key| key.keys())
                    .map(String::as_str)
                    .collect();
                match fields[..] {
                    [] => f.write_str(")"),
                    _ => write!(f, " {})", fields.join(", ")),
                }
            }
            FailedWriteReason::VersionConflict { .. } => write!(f, "{} (version conflict)", self.operation),
        }
    }
}

impl BulkOperation {
    pub(crate) fn new(index: usize, model: &'static str, operation: &'static str) -> Self {
        BulkOperation {
            index,
            model,
            operation,
        }
    }

    pub(crate) fn rejected(&self, error: driver::WriteError) -> FailedWrite {
        FailedWrite {
            operation: self.clone(),
            reason: FailedWriteReason::Rejected(error),
        }
    }

    /// A save that the server rejected. It is an upsert by id and version: the `_id` exists with another
    /// version.
    pub(crate) fn rejected_save(&self, error: driver::WriteError) -> FailedWrite {
        let is_id = match &error.key_pattern {
            Some(keys) => keys.keys().eq(["_id"]),
            None => index_name(&error.message).as_deref() == Some("_id_"),
        };
        if !code::is_duplicate_key(error.code) || !is_id {
            return self.rejected(error);
        }
        let id = error.key_value.as_ref().and_then(|key| key.get("_id"));
        self.conflict(id.cloned())
    }

    pub(crate) fn conflict(&self, id: Option<Bson>) -> FailedWrite {
        FailedWrite {
            operation: self.clone(),
            reason: FailedWriteReason::VersionConflict { id },
        }
    }
}

/// The errors of a bulk write.
#[derive(Default)]
pub(crate) struct BulkOutcome {
    pub(crate) failed: Vec<FailedWrite>,
    pub(crate) write_concern_errors: Vec<driver::WriteConcernError>,
    /// Whether a command was performed, or may have been performed in part.
    pub(crate) has_written: bool,
    source: Option<driver::Error>,
    has_ended: bool,
}

impl BulkOutcome {
    /// Adds an error that does not end the bulk write, or ends it at a rejected write. Its parts are added
    /// separately.
    pub(crate) fn note(&mut self, error: driver::Error) {
        self.source.get_or_insert(error);
    }

    /// Adds the error that ends the bulk write.
    pub(crate) fn end(&mut self, error: driver::Error) {
        if !self.has_ended {
            self.source = Some(error);
            self.has_ended = true;
        }
    }

    /// The result, or the error of the bulk write. An error before anything was written is that of the
    /// driver.
    pub(crate) fn into_result<T>(
        mut self,
        result: T,
        performed: impl FnOnce(T) -> PerformedWrites,
    ) -> Result<T, Error> {
        if self.failed.is_empty() {
            match self.source {
                None => return Ok(result),
                Some(source) if !self.has_written => return Err(source.into()),
                Some(_) => {}
            }
        }
        self.failed.sort_by_key(|write| write.operation.index);
        let mut performed = performed(result);
        performed.write_concern_errors = self.write_concern_errors;
        Err(Error::BulkWrite {
            failed: self.failed,
            performed: Box::new(performed),
            source: self.source,
        })
    }
}

/// Lists the first ten writes.
pub(super) fn list(f: &mut fmt::Formatter<'_>, failed: &[FailedWrite]) -> fmt::Result {
    const SHOWN: usize = 10;
    match failed.len() {
        0 => {
            return f.write_str(
                "the bulk write failed although no write was rejected; `performed` contains the results of its writes",
            );
        }
        1 => f.write_str("a write of the bulk write failed: ")?,
        count => write!(f, "{count} writes of the bulk write failed: ")?,
    }
    let mut separator = "";
    for write in failed.iter().take(SHOWN) {
        write!(f, "{separator}{write}")?;
        separator = ", ";
    }
    if failed.len() > SHOWN {
        f.write_str(", …")?;
    }
    Ok(())
}

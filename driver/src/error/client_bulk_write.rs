//! The error of a client bulk write.

use std::fmt;

use super::{WriteConcernError, WriteError};
use crate::types::write_result::ClientBulkWriteResult;

/// The errors of a client bulk write, with the results of the writes that succeeded
/// (`BulkWriteException` of the Bulk Write specification).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ClientBulkWriteError {
    /// The error that ended the call before all its commands were sent or all their results were
    /// read, e.g. a failed connection. The result of the command that failed is unknown.
    pub error: Option<crate::Error>,
    /// The write concern errors, one for each command that had one. Its writes were performed.
    pub write_concern_errors: Vec<WriteConcernError>,
    /// The errors of the single writes, in the order of their [`index`](WriteError::index), the
    /// position of the model in the call. An ordered bulk write stops at the first.
    pub write_errors: Vec<WriteError>,
    /// The results of the writes that succeeded. `None` if it is not known that a write succeeded.
    pub partial_result: Option<ClientBulkWriteResult>,
}

impl ClientBulkWriteError {
    /// The code and the name of the code: of the first write error, which has no name, or else of
    /// the first write concern error, or else of the error that ended the call.
    pub(super) fn code(&self) -> Option<(i32, &str)> {
        if let Some(write) = self.write_errors.first() {
            return Some((write.code, ""));
        }
        if let Some(concern) = self.write_concern_errors.first() {
            return Some((concern.code, &concern.code_name));
        }
        let error = self.error.as_ref()?;
        Some((error.code()?, error.code_name().unwrap_or_default()))
    }
}

impl fmt::Display for ClientBulkWriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} write(s) of the bulk write failed", self.write_errors.len())?;
        if let Some(first) = self.write_errors.first() {
            write!(f, "; first: {first}")?;
        }
        if let Some(first) = self.write_concern_errors.first() {
            write!(f, "; {first}")?;
        }
        if self.error.is_some() {
            f.write_str("; interrupted by another error")?;
        }
        Ok(())
    }
}

impl std::error::Error for ClientBulkWriteError {}

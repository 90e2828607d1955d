//! What errors of bulk writes contain: which writes failed.

use std::fmt;

use crate::driver;
use crate::error::Error;

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

/// A write that the server rejected.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FailedWrite {
    /// Which write failed.
    pub operation: BulkOperation,
    /// The server's error, with its code and message, and the values of a duplicate key.
    pub error: driver::WriteError,
}

/// `insert of Order at index 1 (code 11000)`
impl fmt::Display for FailedWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.operation, self.error.code)
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

    /// The error of a bulk write with these operations.
    pub(crate) fn failed(operations: &[BulkOperation], source: driver::Error) -> Error {
        let failed: Vec<FailedWrite> = source
            .write_errors()
            .iter()
            .filter_map(|error| {
                Some(FailedWrite {
                    operation: operations.get(error.index)?.clone(),
                    error: error.clone(),
                })
            })
            .collect();
        if failed.is_empty() {
            source.into()
        } else {
            Error::BulkWrite { failed, source }
        }
    }
}

/// Lists the first ten writes.
pub(super) fn list(f: &mut fmt::Formatter<'_>, failed: &[FailedWrite]) -> fmt::Result {
    const SHOWN: usize = 10;
    match failed.len() {
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

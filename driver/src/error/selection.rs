//! Errors of server selection.

use std::{fmt, time::Duration};

use crate::Error;

/// No server of the deployment was suitable within `serverSelectionTimeoutMS` ([Server Selection]).
///
/// The text describes briefly why each server is unknown. The first cause is the
/// [source](std::error::Error::source) of the error, so `{:#}` shows both.
/// [`topology`](Self::topology) contains the full text of every cause.
///
/// [Server Selection]:
/// https://github.com/mongodb/specifications/blob/master/source/server-selection/server-selection.md
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerSelectionError {
    /// What the server was selected for, e.g. `a write` or `a read with preference secondary`.
    pub wanted: String,
    /// How long the operation waited. Zero if the operation requires a certain server, and that
    /// server left the deployment.
    pub timeout: Duration,
    /// The topology when the wait ended: each server with its type and last error.
    pub topology: String,
    /// The error of the last check of a server, or of an operation on it. If several servers
    /// failed, that of the first in the order of `topology`. `None` if no server failed.
    pub cause: Option<Box<Error>>,
    /// As `topology`, with a short description of each cause instead of its text.
    pub(crate) summary: String,
}

impl fmt::Display for ServerSelectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no suitable server found for {}", self.wanted)?;
        if self.timeout.is_zero() {
            f.write_str(", which is no longer part of the deployment")?;
        } else {
            write!(f, " within {:?}", self.timeout)?;
        }
        write!(f, "; last known topology: {}", self.summary)
    }
}

impl std::error::Error for ServerSelectionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

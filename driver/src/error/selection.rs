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
    /// How long the operation waited. Zero if it requires a certain server and did not wait for it:
    /// the server left the deployment, or a change stream resumes on another one.
    pub timeout: Duration,
    /// The topology when the wait ended: each server with its type and last error.
    pub topology: String,
    /// The error of the last check of a server, or of an operation on it. If several servers
    /// failed, that of the first in the order of `topology`. `None` if no server failed.
    pub cause: Option<Box<Error>>,
    /// As `topology`, with a short description of each cause instead of its text.
    pub(crate) summary: String,
    pub(crate) end: SelectionEnd,
}

/// Why server selection ended without a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SelectionEnd {
    /// The time limit expired.
    #[default]
    TimedOut,
    /// The required server left the deployment.
    ServerLeft,
    /// The required server is not available, and the operation does not wait for it.
    Unavailable,
}

impl fmt::Display for ServerSelectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no suitable server found for {}", self.wanted)?;
        match self.end {
            SelectionEnd::TimedOut => write!(f, " within {:?}", self.timeout)?,
            SelectionEnd::ServerLeft => f.write_str(", which is no longer part of the deployment")?,
            SelectionEnd::Unavailable => f.write_str(", which is not available now")?,
        }
        write!(f, "; last known topology: {}", self.summary)
    }
}

impl std::error::Error for ServerSelectionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

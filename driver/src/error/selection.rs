//! A server selection that found nothing in time.

use std::{fmt, time::Duration};

use crate::Error;

/// No server of the deployment was suitable within `serverSelectionTimeoutMS`.
///
/// The text outlines why each server is unknown in a few words. The first cause is the [source](std::error::Error::source)
/// of the error, so `{:#}` shows both; [`topology`](Self::topology) has the text of every cause.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerSelectionError {
    /// What a server was wanted for, e.g. `a write` or `a read with preference secondary`.
    pub wanted: String,
    /// How long the driver waited; zero when the server asked for has left the deployment.
    pub timeout: Duration,
    /// The deployment as last seen: each server with its type and last error.
    pub topology: String,
    /// The error of a server of the deployment: of its last check, or of an operation that failed there. Where several servers
    /// have one, that of the first in the order of `topology`. `None` when no server failed.
    pub cause: Option<Box<Error>>,
    /// The same as `topology`, with the outline of each cause in place of its text.
    pub(crate) summary: String,
}

impl fmt::Display for ServerSelectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found no server for {}", self.wanted)?;
        if self.timeout.is_zero() {
            f.write_str(", which is no part of the deployment any more")?;
        } else {
            write!(f, " within {:?}", self.timeout)?;
        }
        write!(f, "; the deployment as last seen: {}", self.summary)
    }
}

impl std::error::Error for ServerSelectionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

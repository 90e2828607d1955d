//! The error of an operation whose time limit expired.

use std::fmt;

use super::{Error, ErrorKind};

/// `timeoutMS` of an operation expired, or an operation with `timeoutMS` met another time limit,
/// e.g. `serverSelectionTimeoutMS` or error 50 (`MaxTimeMSExpired`) of the server.
///
/// The labels, the codes and the server of the [cause](Self::cause) are also those of the error.
/// Whether the server ran a command that was sent is unknown, unless the cause is a reply.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TimeoutError {
    cause: Option<Error>,
    /// What the operation had reached.
    step: &'static str,
}

impl TimeoutError {
    /// The error that the operation met when its time limit expired: e.g. of server selection, of
    /// the connection, or the last error before a retry. It is also the
    /// [source](std::error::Error::source). `None` if the driver found that a command could not
    /// complete in time and did not send it.
    #[must_use]
    pub fn cause(&self) -> Option<&Error> {
        self.cause.as_ref()
    }
}

impl Error {
    /// The time limit expired in this step, without another error.
    pub(crate) fn timed_out(step: &'static str) -> Self {
        Self::new(ErrorKind::Timeout(TimeoutError { cause: None, step }))
    }

    /// The time limit expired, and `self` is what the operation met.
    pub(crate) fn into_timeout(self) -> Self {
        if matches!(self.kind(), ErrorKind::Timeout(_)) {
            return self;
        }
        let timeout = TimeoutError {
            cause: Some(self.clone()),
            step: "",
        };
        self.with_kind(ErrorKind::Timeout(timeout))
    }

    /// The cause of a timeout, or else the error itself: what the server, the connection or the
    /// driver reported.
    pub(crate) fn reported(&self) -> &Self {
        match self.kind() {
            ErrorKind::Timeout(timeout) => timeout.cause().unwrap_or(self),
            _ => self,
        }
    }
}

/// The text contains that of the cause, as the specification demands, unless the format is
/// alternate (`{:#}`), which appends the sources.
impl fmt::Display for TimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time limit of the operation expired")?;
        match &self.cause {
            None => write!(f, " {}", self.step),
            Some(cause) if !f.alternate() => write!(f, ": {cause}"),
            Some(_) => Ok(()),
        }
    }
}

//! The tries of one operation: how many, how far apart, and which of their errors is reported.

use std::time::Duration;

use super::{
    failure::{is_retryable_read, is_retryable_write},
    overload::{is_overload, is_retryable_overload, pause},
};
use crate::{Error, ErrorKind, error::NO_WRITES_PERFORMED};

/// What an operation does on the server, which says whose permission a retry needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// It reads: `retryReads`.
    Read,
    /// It writes: `retryWrites`.
    Write,
    /// The driver must not look inside: both.
    Any,
}

/// What the application allows.
#[derive(Clone, Copy, Debug)]
pub struct RetryOptions {
    /// `retryReads`
    pub reads: bool,
    /// `retryWrites`
    pub writes: bool,
    /// `maxAdaptiveRetries`
    pub max_adaptive_retries: u32,
}

impl RetryOptions {
    fn permit(&self, intent: Intent) -> bool {
        match intent {
            Intent::Read => self.reads,
            Intent::Write => self.writes,
            Intent::Any => self.reads && self.writes,
        }
    }
}

/// What follows from a failed try.
#[derive(Debug)]
pub enum Next {
    /// Try again, after a pause if the server is overloaded.
    Again {
        /// How long; `None` when the server is not.
        pause: Option<Duration>,
    },
    /// The operation failed with this error.
    Report(Error),
}

/// The tries of one operation so far.
#[derive(Debug)]
pub struct RetryPolicy {
    options: RetryOptions,
    intent: Intent,
    /// Whether the specifications of retryable reads and writes are about this operation at all.
    repeatable: bool,
    attempt: u32,
    limit: u32,
    saved: Option<Error>,
}

impl RetryPolicy {
    /// Before the first try. `repeatable` operations may be sent again after an election or a lost socket.
    pub fn new(options: RetryOptions, intent: Intent, repeatable: bool) -> Self {
        Self {
            options,
            intent,
            repeatable,
            attempt: 0,
            limit: 1,
            saved: None,
        }
    }

    /// Takes the failure of a try. `jitter` is a random number from 0 to 1, 1 excluded.
    pub fn next(&mut self, error: Error, jitter: f64) -> Next {
        let (overload, retryable) = (is_overload(&error), self.is_retryable(&error));
        let pause = overload.then(|| pause(&error, self.attempt + 1, jitter));
        self.save(error);
        if retryable {
            self.attempt += 1;
            if overload {
                // Holds for all later errors, too.
                self.limit = self.options.max_adaptive_retries;
            }
            if self.attempt <= self.limit {
                return Next::Again { pause };
            }
        }
        match self.saved.take() {
            Some(error) => Next::Report(error),
            None => unreachable!("an error was saved above"),
        }
    }

    fn is_retryable(&self, error: &Error) -> bool {
        if !self.options.permit(self.intent) {
            return false;
        }
        let as_specified = match self.intent {
            Intent::Read => is_retryable_read(error),
            Intent::Write => is_retryable_write(error),
            Intent::Any => false,
        };
        (self.repeatable && as_specified) || is_retryable_overload(error)
    }

    /// Keeps the error to report: the latest of a try whose command was sent, for writes only if that may have written; else
    /// the first. "If an error would not allow the caller to infer that an attempt was made (e.g. connection pool exception
    /// originating from the driver), the previous error should be raised" (Retryable Reads and Retryable Writes
    /// specifications, "Executing Retryable … Commands").
    fn save(&mut self, error: Error) {
        let may_have_acted = self.intent == Intent::Read || !error.contains_label(NO_WRITES_PERFORMED);
        if self.saved.is_none() || (was_sent(&error) && may_have_acted) {
            self.saved = Some(error);
        }
    }
}

/// Whether the error shows that a command was sent. Not so those of the selection of a server, of the pool and of a
/// connection's handshake, and those that the driver raised when it wrote the command.
fn was_sent(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Network(network) => !network.is_before_send(),
        ErrorKind::ServerSelection(_)
        | ErrorKind::Pool(_)
        | ErrorKind::Dns(_)
        | ErrorKind::Authentication(_)
        | ErrorKind::Encode(_)
        | ErrorKind::InvalidArgument(_)
        | ErrorKind::ConnectionString(_)
        | ErrorKind::Unsupported(_)
        | ErrorKind::Shutdown => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests;

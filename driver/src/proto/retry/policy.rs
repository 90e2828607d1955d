//! The attempts of one operation: their maximum number, the backoff between them, and the error that
//! is reported ([Retryable Reads], [Retryable Writes], [Client Backpressure]).
//!
//! [Retryable Reads]:
//! https://github.com/mongodb/specifications/blob/master/source/retryable-reads/retryable-reads.md
//! [Retryable Writes]:
//! https://github.com/mongodb/specifications/blob/master/source/retryable-writes/retryable-writes.md
//! [Client Backpressure]:
//! https://github.com/mongodb/specifications/blob/master/source/client-backpressure/client-backpressure.md

use std::time::Duration;

use super::{
    failure::{is_retryable_read, is_retryable_write},
    overload::{is_overload, is_retryable_overload, pause},
};
use crate::{
    Error, ErrorKind,
    error::{EncryptionError, NO_WRITES_PERFORMED},
};

/// Which option permits retries of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// A read: `retryReads`.
    Read,
    /// A write: `retryWrites`.
    Write,
    /// A command of the application, which the driver does not inspect: both options are required.
    Any,
}

/// The options of the client that limit retries.
#[derive(Clone, Copy, Debug)]
pub struct RetryOptions {
    /// `retryReads`: whether reads are retried.
    pub reads: bool,
    /// `retryWrites`: whether writes are retried.
    pub writes: bool,
    /// `maxAdaptiveRetries`: the maximum number of retries of an operation after its first overload
    /// error.
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

/// The decision after a failed attempt.
#[derive(Debug)]
pub enum Next {
    /// Attempt the operation again.
    Again {
        /// The backoff before it, if the error is an overload error.
        pause: Option<Duration>,
    },
    /// Return this error to the application.
    Report(Error),
}

/// The state of the attempts of one operation.
#[derive(Debug)]
pub struct RetryPolicy {
    options: RetryOptions,
    intent: Intent,
    /// Whether Retryable Reads or Retryable Writes supports the operation.
    repeatable: bool,
    /// The number of retries so far.
    retries: u32,
    /// The maximum number of retries.
    limit: u32,
    /// The error to be reported if no attempt succeeds; see [`save`](Self::save).
    saved: Option<Error>,
}

impl RetryPolicy {
    /// The state before the first attempt. `repeatable`: whether Retryable Reads or Retryable Writes
    /// supports the operation. Other operations are retried after overload errors only.
    pub fn new(options: RetryOptions, intent: Intent, repeatable: bool) -> Self {
        Self {
            options,
            intent,
            repeatable,
            retries: 0,
            limit: 1,
            saved: None,
        }
    }

    /// Sets the maximum number of retries before the first overload error. Default: 1.
    pub fn with_limit(self, limit: u32) -> Self {
        Self { limit, ..self }
    }

    /// Decides about the next attempt after an error. `jitter` is a random number from 0 to 1, 1
    /// excluded.
    pub fn next(&mut self, error: Error, jitter: f64) -> Next {
        let (overload, retryable) = (is_overload(&error), self.is_retryable(&error));
        let pause = overload.then(|| pause(&error, self.retries + 1, jitter));
        self.save(error);
        if retryable {
            self.retries = self.retries.saturating_add(1);
            if overload {
                // The limit applies to all later errors of the operation as well (Client
                // Backpressure).
                self.limit = self.options.max_adaptive_retries;
            }
            if self.retries <= self.limit {
                return Next::Again { pause };
            }
        }
        Next::Report(self.give_up())
    }

    /// The error to report if no further attempt is made, after [`next`](Self::next).
    pub fn give_up(&mut self) -> Error {
        match self.saved.take() {
            Some(error) => error,
            None => unreachable!("next saves an error"),
        }
    }

    /// Whether another attempt is permitted after this error, regardless of the limit.
    fn is_retryable(&self, error: &Error) -> bool {
        // A failure of the encryption of the command, or of the decryption of its reply, is not one of the
        // server, whatever its cause is.
        if !self.options.permit(self.intent) || error.is_encryption() {
            return false;
        }
        let as_specified = match self.intent {
            Intent::Read => is_retryable_read(error),
            Intent::Write => is_retryable_write(error),
            Intent::Any => false,
        };
        (self.repeatable && as_specified) || is_retryable_overload(error)
    }

    /// Keeps the error to be reported: the latest one of an attempt whose command was sent, for
    /// writes only if it may have written; otherwise the first one. "If an error would not allow
    /// the caller to infer that an attempt was made (e.g. connection pool exception originating
    /// from the driver), the previous error should be raised" (Retryable Reads and Retryable
    /// Writes, "Executing Retryable … Commands").
    fn save(&mut self, error: Error) {
        let may_have_acted = self.intent == Intent::Read || !error.contains_label(NO_WRITES_PERFORMED);
        // What prevents the encryption is of more use than why an attempt was not sent before.
        let is_cause = || error.is_encryption() && self.saved.as_ref().is_some_and(|saved| !was_sent(saved));
        if self.saved.is_none() || (was_sent(&error) && may_have_acted) || is_cause() {
            self.saved = Some(error);
        }
    }
}

/// Whether the command of the attempt was sent. False for errors of server selection, of the pool,
/// of the handshake, and for those that the driver raised while it wrote or encrypted the command.
fn was_sent(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Network(network) => !network.is_before_send(),
        ErrorKind::Encryption(encryption) => matches!(encryption, EncryptionError::Reply(_)),
        ErrorKind::ServerSelection(_)
        | ErrorKind::Pool(_)
        | ErrorKind::Dns(_)
        | ErrorKind::Authentication(_)
        | ErrorKind::Encode(_)
        | ErrorKind::InvalidArgument(_)
        | ErrorKind::ConnectionString(_)
        | ErrorKind::Unsupported(_)
        | ErrorKind::CursorInterrupted
        | ErrorKind::Shutdown
        | ErrorKind::Timeout(_) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests;

//! The error of an operation whose time limit expired.

use std::{fmt, sync::Arc};

use super::{Error, ErrorKind, operation::OperationName};
use crate::types::timeout::TimeoutSource;

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
    /// Whether the time limit is that of a transaction of the convenient API.
    in_transaction: bool,
    set_by: Option<TimeoutSource>,
    operation_error: Option<Error>,
}

impl TimeoutError {
    /// The error that the operation met when its time limit expired: e.g. of server selection, of
    /// the connection, or the last error before a retry. The text of
    /// the timeout contains its text, so the [source](std::error::Error::source) of the timeout is that
    /// of the cause. `None` if the driver found that a command could not
    /// complete in time and did not send it.
    ///
    /// If results of a write of several statements are known, the cause contains them: it is of kind
    /// [`BulkWrite`](ErrorKind::BulkWrite) or [`ClientBulkWrite`](ErrorKind::ClientBulkWrite).
    #[must_use]
    pub fn cause(&self) -> Option<&Error> {
        self.cause.as_ref()
    }

    /// Whether the time limit is that of a transaction of the [convenient
    /// API](crate::Client::transaction), which all its operations share.
    #[must_use]
    pub fn is_of_transaction(&self) -> bool {
        self.in_transaction
    }

    /// Which setting of `timeoutMS` expired: the one to change. `None` for the time limit of an action
    /// without `timeoutMS`, and if `timeoutMS` is zero, so that another time limit expired.
    #[must_use]
    pub fn set_by(&self) -> Option<TimeoutSource> {
        self.set_by
    }

    /// The last error of an operation of a transaction of the [convenient API](crate::Client::transaction)
    /// whose body succeeded nevertheless. An error reply usually aborts the transaction on the server, so
    /// that its commit fails and the transaction is run again, until its time limit expires. The body must
    /// return such errors. `None` if there was no such error.
    #[must_use]
    pub fn operation_error(&self) -> Option<&Error> {
        self.operation_error.as_ref()
    }

    pub(super) fn name_cause(&mut self, operation: &Arc<OperationName>) {
        self.cause = self.cause.take().map(|cause| cause.of_operation(operation));
    }
}

impl Error {
    /// The time limit expired in this step, without another error.
    pub(crate) fn timed_out(step: &'static str) -> Self {
        Self::new(ErrorKind::Timeout(TimeoutError {
            cause: None,
            step,
            in_transaction: false,
            set_by: None,
            operation_error: None,
        }))
    }

    /// The time limit expired, and `self` is what the operation met.
    pub(crate) fn into_timeout(self) -> Self {
        if matches!(self.kind(), ErrorKind::Timeout(_)) {
            return self;
        }
        let interruption = match self.interruption().map(Self::kind) {
            Some(ErrorKind::Timeout(timeout)) => Some(timeout.clone()),
            _ => None,
        };
        self.into_timeout_of(interruption.as_ref())
    }

    /// As [`into_timeout`](Self::into_timeout), for the same operation as `timeout`.
    pub(crate) fn into_timeout_of(self, timeout: Option<&TimeoutError>) -> Self {
        let timeout = TimeoutError {
            cause: Some(self.clone()),
            step: "",
            in_transaction: timeout.is_some_and(TimeoutError::is_of_transaction),
            set_by: timeout.and_then(TimeoutError::set_by),
            operation_error: None,
        };
        self.with_kind(ErrorKind::Timeout(timeout))
    }

    /// The time limit of a transaction of the convenient API expired before it could be run again.
    /// `operation_error` is that of an operation which the body did not return.
    pub(crate) fn into_transaction_timeout(
        self,
        set_by: Option<TimeoutSource>,
        operation_error: Option<Self>,
    ) -> Self {
        let error = self.into_timeout();
        match error.kind() {
            ErrorKind::Timeout(timeout) => {
                let timeout = TimeoutError {
                    in_transaction: true,
                    set_by,
                    operation_error,
                    ..timeout.clone()
                };
                error.with_kind(ErrorKind::Timeout(timeout))
            }
            _ => error,
        }
    }

    /// As [`timed_out`](Self::timed_out), with the setting of the time limit.
    pub(crate) fn timed_out_by(set_by: Option<TimeoutSource>, step: &'static str) -> Self {
        let error = Self::timed_out(step);
        match error.kind() {
            ErrorKind::Timeout(timeout) => {
                let timeout = TimeoutError {
                    set_by,
                    ..timeout.clone()
                };
                error.with_kind(ErrorKind::Timeout(timeout))
            }
            _ => error,
        }
    }

    /// Adds the setting of the time limit to a timeout that has none. `in_transaction`: it is that of a transaction of the convenient
    /// API.
    pub(crate) fn with_time_limit(self, in_transaction: bool, set_by: Option<TimeoutSource>) -> Self {
        match self.kind() {
            ErrorKind::Timeout(timeout) if timeout.set_by.is_none() && !timeout.in_transaction => {
                let timeout = TimeoutError {
                    in_transaction,
                    set_by,
                    ..timeout.clone()
                };
                self.with_kind(ErrorKind::Timeout(timeout))
            }
            _ => self,
        }
    }

    /// Whether the driver found that a command could not complete in time and did not send it.
    pub(crate) fn is_too_late(&self) -> bool {
        matches!(self.kind(), ErrorKind::Timeout(timeout) if timeout.cause().is_none())
    }

    /// Whether the kind is [`ErrorKind::Timeout`]: the time limit of the operation expired.
    pub(crate) fn is_of_time_limit(&self) -> bool {
        matches!(self.kind(), ErrorKind::Timeout(_))
    }

    /// The cause of a timeout, if it has one, or else the error itself.
    pub(crate) fn before_timeout(&self) -> &Self {
        match self.kind() {
            ErrorKind::Timeout(timeout) => timeout.cause().unwrap_or(self),
            _ => self,
        }
    }

    /// Replaces the kind of [`before_timeout`](Self::before_timeout). A timeout remains one.
    pub(crate) fn with_kind_before_timeout(self, kind: ErrorKind) -> Self {
        match self.kind() {
            ErrorKind::Timeout(timeout) => {
                let cause = self.before_timeout().clone().with_kind(kind);
                cause.into_timeout_of(Some(timeout))
            }
            _ => self.with_kind(kind),
        }
    }

    /// The cause of a timeout or of a failed encryption, or else the error itself: what the server, the connection or the
    /// driver reported.
    pub(crate) fn reported(&self) -> &Self {
        match self.kind() {
            ErrorKind::Timeout(timeout) => timeout.cause().map_or(self, Self::reported),
            ErrorKind::Encryption(error) => error.reported().map_or(self, Self::reported),
            _ => self,
        }
    }
}

/// The text contains that of the cause, as the specification demands.
impl fmt::Display for TimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.in_transaction {
            "transaction"
        } else {
            "operation"
        };
        write!(f, "the time limit of the {what} expired")?;
        if let Some(source) = self.set_by {
            write!(f, " (set by {source})")?;
        }
        match &self.cause {
            None => write!(f, " {}", self.step)?,
            Some(cause) => write!(f, ": {cause}")?,
        }
        match &self.operation_error {
            Some(error) => write!(
                f,
                "; the body of the transaction succeeded although one of its operations failed: {error}"
            ),
            None => Ok(()),
        }
    }
}

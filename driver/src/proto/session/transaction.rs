//! The state of the transaction of a session ([Transactions]).
//!
//! [Transactions]:
//! https://github.com/mongodb/specifications/blob/master/source/transactions/transactions.md

use std::{fmt, time::Duration};

use crate::{
    Error, ErrorKind, PoolError, RETRYABLE_ERROR, RETRYABLE_WRITE_ERROR, SYSTEM_OVERLOADED_ERROR,
    ServerAddress, TRANSIENT_TRANSACTION_ERROR, UNKNOWN_TRANSACTION_COMMIT_RESULT,
    bson::{RawDocument, RawDocumentBuf},
    error::code,
    types::{
        concern::{Acknowledgment, ReadConcern, WriteConcern},
        read_preference::ReadPreference,
        transaction_options::TransactionOptions,
    },
};

/// `wtimeout` of a repeated commit whose write concern has none.
const REPEATED_COMMIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The state of the transaction of a session ([Transactions], "ClientSession changes").
///
/// [Transactions]:
/// https://github.com/mongodb/specifications/blob/master/source/transactions/transactions.md
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransactionState {
    /// No transaction was started, or an operation outside a transaction followed its end.
    #[default]
    None,
    /// A transaction was started, and no command of it has reached a server.
    Starting,
    /// The server has the transaction.
    InProgress,
    /// The commit was called. Its result may be unknown.
    Committed,
    /// The transaction was aborted.
    Aborted,
}

/// What a command is to the transaction of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionCommand {
    /// An operation in the transaction.
    Operation,
    /// `commitTransaction`
    Commit,
    /// `abortTransaction`
    Abort,
}

/// What an operation sets itself, which transactions do not permit or restrict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationOverrides {
    /// The operation has a read concern of its own.
    pub read_concern: bool,
    /// The operation has a write concern of its own.
    pub write_concern: bool,
    /// The operation has a read preference of its own: whether it is primary.
    pub read_preference: Option<bool>,
}

/// Why a call does not fit the transaction of the session, or an operation cannot be part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionError {
    /// A transaction is in progress, so that another cannot be started.
    InProgress,
    /// The session has no transaction.
    NotStarted,
    /// A commit after an abort.
    CommitAfterAbort,
    /// An abort after a commit.
    AbortAfterCommit,
    /// An abort after an abort.
    AbortedTwice,
    /// The write concern of the transaction is unacknowledged.
    Unacknowledged,
    /// The session is a snapshot session.
    Snapshot,
    /// The session has ended.
    SessionEnded,
    /// A read whose read preference is not primary.
    ReadPreference,
    /// An operation with a read concern of its own.
    ReadConcern,
    /// An operation with a write concern of its own.
    WriteConcern,
    /// The future of an operation was dropped before the reply arrived.
    Lost,
    /// A getMore of a cursor that was opened in another transaction or outside, or the resume of a
    /// change stream.
    OtherCursor,
    /// A getMore of a cursor whose transaction has ended.
    EndedCursor,
}

impl fmt::Display for TransactionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InProgress => "Transaction already in progress; commit or abort it first",
            Self::NotStarted => "No transaction started",
            Self::CommitAfterAbort => "Cannot call commitTransaction after calling abortTransaction",
            Self::AbortAfterCommit => "Cannot call abortTransaction after calling commitTransaction",
            Self::AbortedTwice => "Cannot call abortTransaction twice",
            Self::Unacknowledged => {
                "transactions do not support unacknowledged write concerns; set another write concern for the \
                 transaction"
            }
            Self::Snapshot => "Transactions are not supported in snapshot sessions",
            Self::SessionEnded => "the session has ended",
            Self::ReadPreference => "read preference in a transaction must be primary",
            Self::ReadConcern => {
                "Cannot set read concern after starting a transaction; set it for the transaction"
            }
            Self::WriteConcern => {
                "Cannot set write concern after starting a transaction; set it for the transaction"
            }
            Self::Lost => {
                "the future of an operation of the transaction was dropped before the reply arrived, so it is unknown \
                 whether the server ran it; abort the transaction and run it again"
            }
            Self::OtherCursor => {
                "the cursor or change stream was not opened in the transaction in progress; read it after the \
                 transaction, or in another session"
            }
            Self::EndedCursor => "the transaction in which the cursor was opened has ended",
        })
    }
}

impl From<TransactionError> for Error {
    fn from(refused: TransactionError) -> Self {
        let error = Self::invalid_argument(refused);
        if refused == TransactionError::Lost {
            error.with_labels([TRANSIENT_TRANSACTION_ERROR.to_owned()])
        } else {
            error
        }
    }
}

/// What all commands of a transaction must be sent to, if it runs on a mongos.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pin {
    /// The mongos with this address.
    Mongos(ServerAddress),
    /// The connection that the session holds, behind a load balancer.
    Connection,
}

/// The transaction of a session.
#[derive(Debug)]
pub struct Transaction {
    state: TransactionState,
    number: i64,
    options: TransactionOptions,
    pin: Option<Pin>,
    recovery_token: Option<RawDocumentBuf>,
    /// The last error with the label `TransientTransactionError`.
    transient: Option<Error>,
    /// The first command was sent, and it is not known yet whether the server ran it.
    is_first_outstanding: bool,
    /// The future of an operation was dropped while its reply was outstanding.
    is_lost: bool,
    /// A command of the transaction reached a server, so that commit and abort are sent.
    has_run: bool,
    /// The server may have run a commit or an abort.
    may_have_ended: bool,
    /// The next commit is a repetition: it has `w: "majority"`.
    is_commit_repeated: bool,
}

impl Transaction {
    /// A transaction in the state [`Starting`](TransactionState::Starting).
    pub fn start(number: i64, options: TransactionOptions) -> Self {
        Self {
            state: TransactionState::Starting,
            number,
            options,
            pin: None,
            recovery_token: None,
            transient: None,
            is_first_outstanding: false,
            is_lost: false,
            has_run: false,
            may_have_ended: false,
            is_commit_repeated: false,
        }
    }

    /// The state.
    pub fn state(&self) -> TransactionState {
        self.state
    }

    /// Whether operations in the session are part of the transaction.
    pub fn is_open(&self) -> bool {
        matches!(
            self.state,
            TransactionState::Starting | TransactionState::InProgress
        )
    }

    /// `txnNumber`
    pub fn number(&self) -> i64 {
        self.number
    }

    /// What the commands must be sent to.
    pub fn pin(&self) -> Option<&Pin> {
        self.pin.as_ref()
    }

    /// `recoveryToken`, of the newest reply that had one.
    pub fn recovery_token(&self) -> Option<&RawDocument> {
        self.recovery_token.as_deref()
    }

    /// The last error with the label `TransientTransactionError` that a command met.
    pub fn transient(&self) -> Option<&Error> {
        self.transient.as_ref()
    }

    /// `maxTimeMS` of the commit.
    pub fn max_commit_time(&self) -> Option<Duration> {
        self.options.max_commit_time
    }

    /// The read concern that the next command contains: that of the transaction in its first
    /// command, and none in the others.
    pub fn first_read_concern(&self) -> Option<ReadConcern> {
        self.is_first()
            .then(|| self.options.read_concern.clone().unwrap_or_default())
    }

    /// Whether the next command starts the transaction on the server.
    pub fn is_first(&self) -> bool {
        self.state == TransactionState::Starting || self.is_first_outstanding
    }

    /// The write concern of the next commit or abort.
    pub fn write_concern(&self, command: TransactionCommand) -> WriteConcern {
        let mut concern = self.options.write_concern.clone().unwrap_or_default();
        if command == TransactionCommand::Commit && self.is_commit_repeated {
            concern.w = Some(Acknowledgment::Majority);
            concern.w_timeout.get_or_insert(REPEATED_COMMIT_TIMEOUT);
        }
        concern
    }

    /// Checks whether an operation can run in the transaction. `is_read`: it is a read operation,
    /// with a read preference.
    ///
    /// # Errors
    /// It cannot, and must not be sent. The state does not change.
    pub fn check(&self, overrides: OperationOverrides, is_read: bool) -> Result<(), TransactionError> {
        if overrides.read_concern {
            return Err(TransactionError::ReadConcern);
        }
        if overrides.write_concern {
            return Err(TransactionError::WriteConcern);
        }
        let is_primary = overrides.read_preference.unwrap_or_else(|| {
            let of_transaction = self.options.read_preference.as_ref();
            of_transaction.is_none_or(ReadPreference::is_primary)
        });
        if is_read && !is_primary {
            return Err(TransactionError::ReadPreference);
        }
        if self.is_lost {
            return Err(TransactionError::Lost);
        }
        Ok(())
    }

    /// Begins a commit. Returns whether it must be sent: not if no command has reached a server.
    ///
    /// # Errors
    /// The state does not permit it, and does not change.
    pub fn begin_commit(&mut self) -> Result<bool, TransactionError> {
        match self.state {
            TransactionState::None => return Err(TransactionError::NotStarted),
            TransactionState::Aborted => return Err(TransactionError::CommitAfterAbort),
            // The server may not have all writes of the transaction.
            TransactionState::InProgress if self.is_lost => return Err(TransactionError::Lost),
            TransactionState::Starting | TransactionState::InProgress | TransactionState::Committed => {}
        }
        self.state = TransactionState::Committed;
        Ok(self.has_run)
    }

    /// Begins an abort. Returns whether it must be sent: not if no command has reached a server.
    ///
    /// # Errors
    /// The state does not permit it, and does not change.
    pub fn begin_abort(&mut self) -> Result<bool, TransactionError> {
        match self.state {
            TransactionState::None => return Err(TransactionError::NotStarted),
            TransactionState::Aborted => return Err(TransactionError::AbortedTwice),
            TransactionState::Committed => return Err(TransactionError::AbortAfterCommit),
            TransactionState::Starting | TransactionState::InProgress => {}
        }
        self.state = TransactionState::Aborted;
        Ok(self.has_run)
    }

    /// The future of a commit or an abort was dropped. If nothing was sent, the transaction is
    /// still in progress.
    pub fn cancel_end(&mut self) {
        if self.has_run && !self.may_have_ended {
            self.state = TransactionState::InProgress;
        }
    }

    /// A server was selected for the first command: the following ones must be sent to the same
    /// mongos.
    pub fn pin_to(&mut self, pin: Pin) {
        self.pin = Some(pin);
    }

    /// Unpins the session. Returns whether it was pinned.
    pub fn unpin(&mut self) -> bool {
        self.pin.take().is_some()
    }

    /// A command is about to be sent.
    pub fn sending(&mut self, command: TransactionCommand) {
        match command {
            TransactionCommand::Operation => {
                if self.state == TransactionState::Starting {
                    self.is_first_outstanding = true;
                    self.state = TransactionState::InProgress;
                }
                self.has_run = true;
            }
            TransactionCommand::Commit | TransactionCommand::Abort => self.may_have_ended = true,
        }
    }

    /// The reply to a command had this `recoveryToken`.
    pub fn answered(&mut self, recovery_token: &RawDocument) {
        self.recovery_token = Some(recovery_token.to_owned());
    }

    /// A command succeeded.
    pub fn succeeded(&mut self, command: TransactionCommand) {
        self.is_first_outstanding = false;
        match command {
            TransactionCommand::Operation => {}
            TransactionCommand::Commit => self.is_commit_repeated = true,
            TransactionCommand::Abort => self.pin = None,
        }
    }

    /// A command failed, in server selection, check-out, or later. Returns the error with its labels
    /// ("Error Labels") and changes pin and state, before a retry.
    pub fn failed(&mut self, command: TransactionCommand, error: Error) -> Error {
        let is_overload = is_retryable_overload(&error);
        let error = label(command, error);
        if std::mem::take(&mut self.is_first_outstanding) && is_overload {
            // The server did not run the command, so the next one is the first (Client
            // Backpressure).
            self.state = TransactionState::Starting;
            self.has_run = false;
        }
        match command {
            TransactionCommand::Operation => {}
            TransactionCommand::Commit if is_overload => self.may_have_ended = self.is_commit_repeated,
            TransactionCommand::Commit => self.is_commit_repeated = true,
            // The server did not run the command, so the retry is sent to the same mongos.
            TransactionCommand::Abort if is_overload => {}
            TransactionCommand::Abort => self.pin = None,
        }
        if error.contains_label(TRANSIENT_TRANSACTION_ERROR) {
            self.transient = Some(error.clone());
            self.pin = None;
        }
        if error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT) {
            self.pin = None;
        }
        error
    }

    /// The future of a command was dropped while its reply was outstanding, and with it the pinned
    /// connection.
    pub fn lost(&mut self, command: TransactionCommand) {
        self.is_first_outstanding = false;
        if command == TransactionCommand::Operation {
            self.is_lost = true;
        }
        if self.pin == Some(Pin::Connection) {
            self.pin = None;
        }
    }

    /// The error of an operation that [`check`](Self::check) refused.
    pub fn refuse(&mut self, refused: TransactionError) -> Error {
        let error = Error::from(refused);
        if error.contains_label(TRANSIENT_TRANSACTION_ERROR) {
            self.transient = Some(error.clone());
        }
        error
    }
}

fn is_retryable_overload(error: &Error) -> bool {
    error.contains_label(SYSTEM_OVERLOADED_ERROR) && error.contains_label(RETRYABLE_ERROR)
}

/// Adds the labels that the driver must add.
fn label(command: TransactionCommand, error: Error) -> Error {
    let added = match command {
        TransactionCommand::Operation if is_without_reply(&error) => TRANSIENT_TRANSACTION_ERROR,
        TransactionCommand::Commit if is_unknown_result(&error) => UNKNOWN_TRANSACTION_COMMIT_RESULT,
        _ => return error,
    };
    error.with_labels([added.to_owned()])
}

/// Network errors, server selection errors, and errors of the pool of the selected server.
fn is_without_reply(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Network(_) | ErrorKind::ServerSelection(_) => true,
        ErrorKind::Pool(error) => !matches!(error, PoolError::Closed { .. }),
        _ => false,
    }
}

/// Whether it is unknown if the commit satisfies its write concern
/// ("UnknownTransactionCommitResult").
fn is_unknown_result(error: &Error) -> bool {
    if let Some(concern) = error.write_concern_error() {
        return !matches!(
            concern.code,
            code::UNKNOWN_REPL_WRITE_CONCERN | code::UNSATISFIABLE_WRITE_CONCERN
        );
    }
    // The server may have committed before it sent a reply that the driver cannot read.
    let is_unreadable = matches!(
        error.kind(),
        ErrorKind::Protocol(_) | ErrorKind::Decode(_) | ErrorKind::InvalidReply(_)
    );
    is_without_reply(error)
        || is_unreadable
        || error.contains_label(RETRYABLE_WRITE_ERROR)
        || error.code() == Some(code::MAX_TIME_MS_EXPIRED)
}

#[cfg(test)]
mod tests;

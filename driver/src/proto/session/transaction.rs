//! The state of the transaction of a session ([Transactions]).
//!
//! [Transactions]:
//! https://github.com/mongodb/specifications/blob/master/source/transactions/transactions.md

mod error;

use std::time::Duration;

use crate::{
    Error, ErrorKind, RETRYABLE_WRITE_ERROR, ServerAddress, TRANSIENT_TRANSACTION_ERROR,
    UNKNOWN_TRANSACTION_COMMIT_RESULT,
    bson::{RawDocument, RawDocumentBuf},
    error::code,
    proto::retry::is_retryable_overload,
    types::{
        concern::{Acknowledgment, ReadConcern, WriteConcern},
        read_preference::ReadPreference,
        transaction_options::TransactionOptions,
    },
};

pub use error::TransactionError;

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

impl TransactionCommand {
    /// Adds the labels that the driver must add to an error of this command ("Error Labels").
    pub fn label(self, error: Error) -> Error {
        let added = match self {
            Self::Operation if is_without_reply(&error) => TRANSIENT_TRANSACTION_ERROR,
            Self::Commit if is_unknown_result(&error) => UNKNOWN_TRANSACTION_COMMIT_RESULT,
            _ => return error,
        };
        error.with_labels([added.to_owned()])
    }
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
    /// An error has unpinned the session.
    is_unpinned: bool,
    recovery_token: Option<RawDocumentBuf>,
    /// The last error with the label `TransientTransactionError` that an operation returned.
    transient: Option<Error>,
    /// The last error that an operation returned, or the failure of its write.
    operation_error: Option<Error>,
    /// The first command was sent, and it is not known yet whether the server ran it.
    is_first_outstanding: bool,
    /// Why neither an operation nor a commit can follow, if so.
    lost: Option<TransactionError>,
    /// A command of the transaction reached a server, so that commit and abort are sent.
    has_run: bool,
    /// The server may have run a commit or an abort.
    may_have_ended: bool,
    /// The next commit is a repetition: it has `w: "majority"`.
    is_commit_repeated: bool,
    /// A commit succeeded.
    is_committed: bool,
}

impl Transaction {
    /// A transaction in the state [`Starting`](TransactionState::Starting).
    pub fn start(number: i64, options: TransactionOptions) -> Self {
        Self {
            state: TransactionState::Starting,
            number,
            options,
            pin: None,
            is_unpinned: false,
            recovery_token: None,
            transient: None,
            operation_error: None,
            is_first_outstanding: false,
            lost: None,
            has_run: false,
            may_have_ended: false,
            is_commit_repeated: false,
            is_committed: false,
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

    /// Whether an error has unpinned the session, so that the next command can be sent to another mongos.
    pub fn is_unpinned(&self) -> bool {
        self.is_unpinned
    }

    /// `recoveryToken`, of the newest reply that had one.
    pub fn recovery_token(&self) -> Option<&RawDocument> {
        self.recovery_token.as_deref()
    }

    /// The last error with the label `TransientTransactionError` that an operation returned.
    pub fn transient(&self) -> Option<&Error> {
        self.transient.as_ref()
    }

    /// The last error that an operation returned, or the failure of its write.
    pub fn operation_error(&self) -> Option<&Error> {
        self.operation_error.as_ref()
    }

    /// A write of the transaction failed, in a reply with `ok: 1`.
    pub fn write_failed(&mut self, error: Error) {
        self.operation_error = Some(error);
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
        self.lost.map_or(Ok(()), Err)
    }

    /// Whether neither an operation nor a commit can follow.
    pub fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Begins a commit. Returns whether it must be sent: not if no command has reached a server.
    ///
    /// # Errors
    /// The state does not permit it, and does not change.
    pub fn begin_commit(&mut self) -> Result<bool, TransactionError> {
        match (self.state, self.lost) {
            (TransactionState::None, _) => return Err(TransactionError::NotStarted),
            (TransactionState::Aborted, _) => return Err(TransactionError::CommitAfterAbort),
            // The server may not have all writes of the transaction.
            (TransactionState::InProgress, Some(lost)) => return Err(lost),
            (TransactionState::Starting | TransactionState::InProgress | TransactionState::Committed, _) => {}
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

    /// Whether a command was sent, so that the server may have the transaction.
    pub fn has_run(&self) -> bool {
        self.has_run
    }

    /// A commit or an abort is given up. If the server cannot have run it, the transaction is still in
    /// progress. Returns whether it is.
    pub fn cancel_end(&mut self) -> bool {
        let is_open = self.has_run && !self.may_have_ended;
        if is_open {
            self.state = TransactionState::InProgress;
        }
        is_open
    }

    /// A server was selected for the first command: the following ones must be sent to the same
    /// mongos.
    pub fn pin_to(&mut self, pin: Pin) {
        self.pin = Some(pin);
        self.is_unpinned = false;
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
            TransactionCommand::Commit => {
                self.is_commit_repeated = true;
                self.is_committed = true;
            }
            TransactionCommand::Abort => self.pin = None,
        }
    }

    /// An attempt of a command failed, in server selection, check-out, or later. Returns the error
    /// with its labels and changes pin and state, before a retry.
    /// [`returned`](Self::returned) follows if there is none.
    pub fn failed(&mut self, command: TransactionCommand, error: Error) -> Error {
        // One of the key vault says nothing about the command.
        let is_overload = !error.is_encryption() && is_retryable_overload(&error);
        let mut error = command.label(error);
        let is_unknown = self.is_commit_repeated && self.may_have_ended && !self.is_committed;
        if command == TransactionCommand::Commit && is_unknown && leaves_result_unknown(&error) {
            error = error.with_labels([UNKNOWN_TRANSACTION_COMMIT_RESULT.to_owned()]);
        }
        let was_first = std::mem::take(&mut self.is_first_outstanding);
        if is_overload {
            // No server ran the command, so after the first command the next one is the first (Client
            // Backpressure).
            match command {
                TransactionCommand::Operation if was_first => {
                    self.state = TransactionState::Starting;
                    self.has_run = false;
                }
                TransactionCommand::Operation => {}
                TransactionCommand::Commit => self.may_have_ended = self.is_commit_repeated,
                // To repeat an abort that was run has no effect.
                TransactionCommand::Abort => self.may_have_ended = false,
            }
        } else if command == TransactionCommand::Commit {
            self.is_commit_repeated = true;
        }
        let has_replied = matches!(error.kind(), ErrorKind::Command(_) | ErrorKind::Write(_));
        match command {
            // Only the pinned mongos has the transaction, so the retries of an operation go there.
            TransactionCommand::Operation => {}
            // "A pinned transaction stays pinned" (Client Backpressure): the mongos will reply again.
            _ if is_overload && has_replied => {}
            // "When to unpin", rules 3 and 1: any mongos can end the transaction in place of one that
            // does not reply. A refused connection has the labels of an overload too.
            TransactionCommand::Commit => self.unpin_after(&error),
            TransactionCommand::Abort => self.pin = None,
        }
        error
    }

    /// A command returns this error, and is not retried.
    pub fn returned(&mut self, command: TransactionCommand, error: &Error) {
        if command == TransactionCommand::Operation {
            self.operation_error = Some(error.clone());
        }
        if error.contains_label(TRANSIENT_TRANSACTION_ERROR) {
            self.transient = Some(error.clone());
        }
        self.unpin_after(error);
    }

    /// Rules 2 and 3 of "When to unpin". They do not apply to a command that was not sent because its
    /// reply could not arrive in time: the label of such a commit is an addition of the driver, and
    /// the abort that follows must reach the same mongos.
    fn unpin_after(&mut self, error: &Error) {
        if error.is_too_late() {
            return;
        }
        let unpins = |label| error.contains_label(label);
        if unpins(TRANSIENT_TRANSACTION_ERROR) || unpins(UNKNOWN_TRANSACTION_COMMIT_RESULT) {
            self.is_unpinned |= self.unpin();
        }
    }

    /// The future of a command was dropped while its reply was outstanding. No rule of "When to unpin"
    /// applies to an operation: the abort that follows must use the same connection.
    pub fn lost(&mut self, command: TransactionCommand) {
        self.is_first_outstanding = false;
        match command {
            TransactionCommand::Operation => self.lost = Some(TransactionError::Lost),
            // As after an error with the label `UnknownTransactionCommitResult`: the next commit is
            // a repetition, and need not be sent to a mongos that did not reply.
            TransactionCommand::Commit => {
                self.is_commit_repeated = true;
                self.pin = None;
            }
            // The connection would be kept by a session without a transaction.
            TransactionCommand::Abort => self.pin = None,
        }
    }

    /// The connection that the transaction may be pinned to is closed.
    pub fn connection_closed(&mut self) {
        if self.pin == Some(Pin::Connection) {
            self.pin = None;
        }
    }

    /// The connection that the transaction is pinned to can no longer be used, without a network
    /// error: its last reply was not valid. Another connection may lead to another mongos, which
    /// does not have the transaction.
    pub fn connection_broke(&mut self) {
        self.pin = None;
        self.lost.get_or_insert(TransactionError::BrokenConnection);
    }

    /// The future of a command was dropped before the command was sent, and the session does not hold the
    /// connection that the transaction may be pinned to, because it was closed meanwhile.
    pub fn lost_connection(&mut self) {
        if self.pin == Some(Pin::Connection) && !self.is_first() {
            self.connection_broke();
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

/// Whether the server may have run the preceding attempt of a commit that fails so, and does not say
/// whether it did.
fn leaves_result_unknown(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Command(_) | ErrorKind::Write(_) => is_retryable_overload(error),
        _ => true,
    }
}

/// Network errors, server selection errors, and errors of the pool of the selected server, which is also closed
/// if the server has left the deployment.
fn is_without_reply(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Network(_) | ErrorKind::ServerSelection(_) | ErrorKind::Pool(_)
    )
}

/// Whether it is unknown if the commit satisfies its write concern
/// ("UnknownTransactionCommitResult").
///
/// The list of the specification does not contain the time limit of the driver, which expires before
/// a command is sent that could not be answered in time. Without the driver's check, the server would
/// reply `MaxTimeMSExpired`, and a server selection error, of which the driver knows as well that
/// nothing was committed, is in the list: the label "communicates to the application that calling
/// commitTransaction again may succeed".
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
        || matches!(error.kind(), ErrorKind::Timeout(_))
        || error.contains_label(RETRYABLE_WRITE_ERROR)
        || error.code() == Some(code::MAX_TIME_MS_EXPIRED)
}

#[cfg(test)]
mod tests;

//! Why the transaction of a session does not permit a call.

use std::fmt;

use crate::{Error, TRANSIENT_TRANSACTION_ERROR};

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
    /// The server is a standalone server.
    Standalone,
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
    /// The connection that the transaction was pinned to can no longer be used.
    BrokenConnection,
    /// A getMore of a cursor that was opened in another transaction or outside, or the resume of a
    /// change stream.
    OtherCursor,
    /// A getMore of a cursor whose transaction has ended.
    EndedCursor,
    /// An operation of a handle that is bound to another transaction than the one in progress.
    EndedHandle,
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
            Self::Standalone => {
                "transactions require a replica set or a sharded cluster, and the server is a standalone server; a \
                 replica set can have one member"
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
            Self::BrokenConnection => {
                "the connection that the transaction was pinned to can no longer be used; abort the transaction and \
                 run it again"
            }
            Self::OtherCursor => {
                "the cursor or change stream was not opened in the transaction in progress; read it after the \
                 transaction, or in another session"
            }
            Self::EndedCursor => "the transaction in which the cursor was opened has ended",
            Self::EndedHandle => {
                "the handle is bound to a transaction that has ended or was not started; use the handle that it was \
                 bound from, or bind it to the transaction in progress"
            }
        })
    }
}

impl From<TransactionError> for Error {
    fn from(refused: TransactionError) -> Self {
        if refused == TransactionError::Standalone {
            return Self::unsupported(refused.to_string());
        }
        let error = Self::invalid_argument(refused);
        if matches!(
            refused,
            TransactionError::Lost | TransactionError::BrokenConnection
        ) {
            error.with_labels([TRANSIENT_TRANSACTION_ERROR.to_owned()])
        } else {
            error
        }
    }
}

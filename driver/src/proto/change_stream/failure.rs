//! Which failures are resumable ([Change Streams], "Resumable Error").
//!
//! [Change Streams]:
//! https://github.com/mongodb/specifications/blob/master/source/change-streams/change-streams.md

use crate::error::code;

/// Why an aggregate or a getMore failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// `timeoutMS` expired.
    Timeout,
    /// No server replied to the command: a network error, no connection, no server, or a server or a service that
    /// its encryption needs was not available.
    NoReply,
    /// The reply, or a document of its batch, is malformed.
    InvalidReply,
    /// The keys for the decryption of a reply could not be read, because a server or a service was not
    /// available.
    KeysUnavailable,
    /// The session of the stream did not permit the command at this time, so it was not sent.
    NotPermitted,
    /// The driver rejected the command, and would do it again.
    Rejected,
    /// The server replied with an error.
    Server {
        /// `code`.
        code: i32,
        /// Whether the error has the label `ResumableChangeStreamError`.
        is_labeled: bool,
        /// Whether the error has the label `RetryableError`: the server did not start the command.
        is_unstarted: bool,
        /// `maxWireVersion` of the connection.
        wire_version: i32,
    },
}

impl Failure {
    /// Whether a getMore that failed so is followed by a resume. An invalid reply is resumable
    /// because it is "any error encountered which is not a server error".
    pub(super) fn is_resumable(self) -> bool {
        match self {
            Self::Timeout | Self::NoReply | Self::InvalidReply | Self::KeysUnavailable => true,
            Self::NotPermitted | Self::Rejected => false,
            Self::Server { code, .. } if code == code::CURSOR_NOT_FOUND => true,
            Self::Server {
                is_labeled,
                wire_version,
                ..
            } if wire_version >= 9 => is_labeled,
            Self::Server { code, .. } => code::is_resumable_change_stream(code),
        }
    }

    /// Whether the aggregate of a resume may succeed if it is sent again later.
    pub(super) fn is_transient(self) -> bool {
        match self {
            Self::Timeout
            | Self::NoReply
            | Self::InvalidReply
            | Self::KeysUnavailable
            | Self::NotPermitted => true,
            Self::Rejected => false,
            Self::Server {
                code,
                is_labeled,
                is_unstarted,
                ..
            } => is_labeled || is_unstarted || code::is_retryable_read(code),
        }
    }

    /// What becomes of the cursor after a getMore that failed so. A server that replies with another
    /// error closes the cursor.
    pub(super) fn cursor(self) -> CursorAfterFailure {
        let is_open = match self {
            Self::NotPermitted => return CursorAfterFailure::Keep,
            Self::Timeout | Self::NoReply | Self::InvalidReply | Self::KeysUnavailable | Self::Rejected => {
                true
            }
            Self::Server { code, .. } if code == code::CURSOR_NOT_FOUND => false,
            Self::Server { is_unstarted, .. } => is_unstarted || self.is_resumable(),
        };
        if is_open {
            CursorAfterFailure::Kill
        } else {
            CursorAfterFailure::Forget
        }
    }
}

/// What the caller does with the cursor of a failed getMore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorAfterFailure {
    /// The next getMore uses it.
    Keep,
    /// The server may still have it. It is killed and not used again.
    Kill,
    /// The server does not have it anymore.
    Forget,
}

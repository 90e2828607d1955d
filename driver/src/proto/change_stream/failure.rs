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
    /// No server replied to the command: a network error, no connection, no server.
    NoReply,
    /// The driver rejected the command or the reply, and would do it again.
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
    /// Whether a getMore that failed so is followed by a resume.
    pub(super) fn is_resumable(self) -> bool {
        match self {
            Self::Timeout | Self::NoReply => true,
            Self::Rejected => false,
            Self::Server { code, .. } if code == code::CURSOR_NOT_FOUND => true,
            Self::Server {
                is_labeled,
                wire_version,
                ..
            } if wire_version >= 9 => is_labeled,
            Self::Server { code, .. } => code::is_resumable_change_stream(code),
        }
    }

    /// Whether the command may succeed if it is sent again later.
    pub(super) fn is_transient(self) -> bool {
        match self {
            Self::Timeout | Self::NoReply => true,
            Self::Rejected => false,
            Self::Server {
                code,
                is_labeled,
                is_unstarted,
                ..
            } => is_labeled || is_unstarted || code::is_retryable_read(code),
        }
    }

    /// Whether the server may still have the cursor after a getMore that failed so. Other errors of
    /// a server close the cursor.
    pub(super) fn leaves_cursor_open(self) -> bool {
        match self {
            Self::Timeout | Self::NoReply | Self::Rejected => true,
            Self::Server { code, .. } if code == code::CURSOR_NOT_FOUND => false,
            Self::Server { is_unstarted, .. } => is_unstarted || self.is_resumable(),
        }
    }
}

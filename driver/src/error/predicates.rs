//! What an error means: codes and predicates. Those of a timeout are those of its cause.

use super::{
    CommandError, Error, ErrorKind, PoolError, SYSTEM_OVERLOADED_ERROR, SelectionEnd, WriteConcernError,
    WriteError, code,
};

impl Error {
    /// The server's error code. `None` if the error does not come from a reply; 0 if the reply has
    /// no code.
    ///
    /// For a write, it is the code of the first write error, or else of the
    /// [write concern error](Self::write_concern_error).
    /// For a bulk write that has neither, it is the code of the error that ended it
    /// ([`BulkWriteError::interrupted_by`](super::BulkWriteError::interrupted_by),
    /// [`ClientBulkWriteError::error`](super::ClientBulkWriteError::error)).
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        match &self.reported().0.kind {
            ErrorKind::Command(e) => Some(e.code),
            ErrorKind::Authentication(e) => e.refusal().map(|e| e.code),
            ErrorKind::Write(e) => match (&e.write_error, &e.write_concern_error) {
                (Some(write), _) => Some(write.code),
                (None, concern) => concern.as_ref().map(|concern| concern.code),
            },
            ErrorKind::BulkWrite(e) => e
                .write_errors
                .first()
                .map(|w| w.code)
                .or(e.write_concern_error.as_ref().map(|w| w.code))
                .or(e.interrupted_by.as_ref().and_then(Self::code)),
            ErrorKind::ClientBulkWrite(e) => e.code().map(|(code, _)| code),
            _ => None,
        }
    }

    /// The name of [`code`](Self::code), e.g. `NamespaceNotFound`. `None` if the server did not
    /// send a name; write errors have none.
    #[must_use]
    pub fn code_name(&self) -> Option<&str> {
        let name = match &self.reported().0.kind {
            ErrorKind::Command(e) => &e.code_name,
            ErrorKind::Authentication(e) => &e.refusal()?.code_name,
            ErrorKind::Write(e) if e.write_error.is_none() => &e.write_concern_error.as_ref()?.code_name,
            ErrorKind::BulkWrite(e) if e.write_errors.is_empty() => match &e.write_concern_error {
                Some(concern) => &concern.code_name,
                None => return e.interrupted_by.as_ref()?.code_name(),
            },
            ErrorKind::ClientBulkWrite(e) => e.code()?.1,
            _ => return None,
        };
        (!name.is_empty()).then_some(name)
    }

    /// The errors of the statements of a write, in the order of the reply.
    #[must_use]
    pub fn write_errors(&self) -> &[WriteError] {
        match &self.reported().0.kind {
            ErrorKind::Write(e) => e.write_error.as_slice(),
            ErrorKind::BulkWrite(e) => &e.write_errors,
            ErrorKind::ClientBulkWrite(e) => &e.write_errors,
            _ => &[],
        }
    }

    /// Whether a write violated a unique index (code 11000, and the legacy codes 11001 and 12582).
    #[must_use]
    pub fn is_duplicate_key(&self) -> bool {
        self.write_errors()
            .iter()
            .any(|error| code::is_duplicate_key(error.code))
            || self.code().is_some_and(code::is_duplicate_key)
    }

    /// Whether a time limit expired: `timeoutMS`, `serverSelectionTimeoutMS`, `waitQueueTimeoutMS`,
    /// `connectTimeoutMS` or `socketTimeoutMS` of the driver, or `maxTimeMS` on the server.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        match &self.0.kind {
            ErrorKind::Timeout(_) => true,
            ErrorKind::Encryption(e) => e.cause().is_some_and(Self::is_timeout),
            ErrorKind::ServerSelection(e) => e.end == SelectionEnd::TimedOut,
            ErrorKind::Pool(PoolError::WaitQueueTimeout { .. }) => true,
            ErrorKind::Network(e) => e.is_timeout(),
            ErrorKind::BulkWrite(_) | ErrorKind::ClientBulkWrite(_)
                if self.interruption().is_some_and(Self::is_timeout) =>
            {
                true
            }
            _ => self.has_code(code::MAX_TIME_MS_EXPIRED),
        }
    }

    /// Whether the server reported this code: for the command, for a statement, or for the write
    /// concern.
    fn has_code(&self, code: i32) -> bool {
        self.code() == Some(code)
            || self.write_errors().iter().any(|error| error.code == code)
            || self.write_concern_error().is_some_and(|error| error.code == code)
    }

    /// Whether a change stream cannot start or resume at its position, because the oplog no longer
    /// contains it (code 286, `ChangeStreamHistoryLost`). The events in between are lost to the
    /// stream: read the documents themselves, and watch again without a token.
    #[must_use]
    pub fn is_change_stream_history_lost(&self) -> bool {
        self.code() == Some(code::CHANGE_STREAM_HISTORY_LOST)
    }

    /// Whether the connection failed. If a command had been sent, it is unknown whether the server
    /// ran it.
    #[must_use]
    pub fn is_network(&self) -> bool {
        matches!(self.reported().0.kind, ErrorKind::Network(_))
    }

    /// Whether the failure is temporary, so that the same call may succeed later. This is the case
    /// if no suitable server or no connection was found in time, if a connection failed, if a
    /// server is not the primary, recovering, shutting down or overloaded, or if a mongos could not
    /// reach its shards. The driver has already retried the operation where that is safe. A write
    /// whose connection failed may have been performed ([`is_network`](Self::is_network)).
    ///
    /// A web service would answer with status 503. Returns `false` if the time limit of a command
    /// expired on the server ([`is_timeout`](Self::is_timeout)), and if the operation began after the
    /// client was shut down.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        match &self.reported().0.kind {
            // Rejected credentials are rejected again, whether the error comes from the pool or
            // from a connection outside it.
            ErrorKind::Pool(PoolError::Cleared { cause: Some(e), .. })
                if matches!(e.kind(), ErrorKind::Authentication(_)) =>
            {
                e.is_unavailable()
            }
            ErrorKind::Network(_) | ErrorKind::ServerSelection(_) | ErrorKind::Pool(_) => true,
            ErrorKind::Command(e) if code::is_unreachable(e.code) => true,
            // The server could not complete the authentication; it did not reject the credentials.
            ErrorKind::Authentication(e)
                if e.refusal()
                    .is_some_and(|e| e.code == code::INTERNAL_ERROR || code::is_unreachable(e.code)) =>
            {
                true
            }
            ErrorKind::BulkWrite(_) | ErrorKind::ClientBulkWrite(_)
                if self.reported().interruption().is_some_and(Self::is_unavailable) =>
            {
                true
            }
            _ => self.is_state_change() || self.contains_label(SYSTEM_OVERLOADED_ERROR),
        }
    }

    /// Whether the command may have been sent and its reply was not read, so that the server may still run it.
    pub(crate) fn is_reply_lost(&self) -> bool {
        let is_lost = |kind: &ErrorKind| matches!(kind, ErrorKind::Network(_) | ErrorKind::Protocol(_));
        is_lost(&self.reported().0.kind) && !self.is_encryption()
    }

    /// Whether encryption or decryption failed, not the command itself.
    pub(crate) fn is_encryption(&self) -> bool {
        cfg!(feature = "encryption")
            && match &self.0.kind {
                ErrorKind::Encryption(_) => true,
                // The time limit expired meanwhile.
                ErrorKind::Timeout(e) => e.cause().is_some_and(Self::is_encryption),
                _ => false,
            }
    }

    /// Whether the server that the operation requires was not available, so that nothing was sent.
    pub(crate) fn is_server_unavailable(&self) -> bool {
        matches!(&self.0.kind, ErrorKind::ServerSelection(e) if e.end == SelectionEnd::Unavailable)
    }

    /// Whether the server is not the primary, recovering or shutting down.
    pub(crate) fn is_state_change(&self) -> bool {
        match &self.reported().0.kind {
            ErrorKind::Command(e) => e.is_state_change(),
            ErrorKind::Authentication(e) => e.refusal().is_some_and(CommandError::is_state_change),
            _ => self
                .write_concern_error()
                .is_some_and(WriteConcernError::is_state_change),
        }
    }

    /// Whether the server is shutting down, which closes its connections.
    pub(crate) fn is_server_shutdown(&self) -> bool {
        match &self.reported().0.kind {
            ErrorKind::Command(e) => code::is_shutdown(e.code),
            ErrorKind::Authentication(e) => e.refusal().is_some_and(|e| code::is_shutdown(e.code)),
            _ => self
                .write_concern_error()
                .is_some_and(|e| code::is_shutdown(e.code)),
        }
    }

    /// The error that ended a bulk write.
    pub(super) fn interruption(&self) -> Option<&Self> {
        match &self.0.kind {
            ErrorKind::BulkWrite(e) => e.interrupted_by.as_ref(),
            ErrorKind::ClientBulkWrite(e) => e.error.as_ref(),
            _ => None,
        }
    }

    /// The write concern error of a write. If several commands had one: the last of a bulk write of a
    /// collection, the first of a [client bulk write](super::ClientBulkWriteError::write_concern_errors),
    /// whose labels and reply are those of the error. The statements themselves may have succeeded.
    #[must_use]
    pub fn write_concern_error(&self) -> Option<&WriteConcernError> {
        match &self.reported().0.kind {
            ErrorKind::Write(e) => e.write_concern_error.as_ref(),
            ErrorKind::BulkWrite(e) => e.write_concern_error.as_ref(),
            ErrorKind::ClientBulkWrite(e) => e.write_concern_errors.first(),
            _ => None,
        }
    }
}

//! The texts of errors: `Display`, `Debug`, and the source that `{:#}` adds.

use std::{error::Error as _, fmt};

use super::{Error, ErrorKind};

/// The text does not contain the server and the labels.
impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidArgument(message) => write!(f, "invalid argument: {message}"),
            Self::ConnectionString(message) => write!(f, "invalid connection string: {message}"),
            Self::Dns(message) => write!(f, "the seed list cannot be read from DNS: {message}"),
            Self::Encode(e) => write!(f, "cannot serialize to BSON: {e}"),
            Self::Decode(e) => write!(f, "cannot deserialize from BSON: {e}"),
            Self::Network(e) => write!(f, "{e}"),
            Self::ServerSelection(e) => write!(f, "{e}"),
            Self::Pool(e) => write!(f, "{e}"),
            Self::Protocol(message) => write!(f, "the server violated the wire protocol: {message}"),
            Self::InvalidReply(message) => write!(f, "the reply does not fit the operation: {message}"),
            Self::Command(e) => write!(f, "{e}"),
            Self::Authentication(e) => write!(f, "{e}"),
            Self::Write(e) => write!(f, "{e}"),
            Self::BulkWrite(e) => write!(f, "{e}"),
            Self::ClientBulkWrite(e) => write!(f, "{e}"),
            Self::GridFs(e) => write!(f, "{e}"),
            Self::Encryption(e) => write!(f, "{e}"),
            Self::Unsupported(message) => write!(f, "not supported: {message}"),
            Self::CursorInterrupted => f.write_str(
                "the cursor has ended: the future of its last getMore was dropped before the reply arrived",
            ),
            Self::Shutdown => {
                f.write_str("the client was shut down, or the tokio runtime in which it was created")
            }
            Self::Timeout(e) => e.fmt(f),
        }
    }
}

/// `{}` is the text of the error itself; `{:#}` adds the sources.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.kind.fmt(f)?;
        // The error that interrupted a bulk write contains the address itself, and the cause of a
        // timeout all of it.
        let is_timeout_with_cause = matches!(&self.0.kind, ErrorKind::Timeout(e) if e.cause().is_some());
        let has_address = is_timeout_with_cause || self.interruption().is_some_and(|e| e.address().is_some());
        if let Some(address) = self.0.address.as_ref().filter(|_| !has_address) {
            write!(f, " (server {address})")?;
        }
        if !self.0.labels.is_empty() && !is_timeout_with_cause {
            write!(f, " [{}]", self.0.labels.join(", "))?;
        }
        match self.source().filter(|_| f.alternate()) {
            None => Ok(()),
            Some(source) => write!(f, ": {source:#}"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The reply may contain application data.
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("labels", &self.0.labels)
            .field("address", &self.0.address)
            .finish_non_exhaustive()
    }
}

/// The text of an error does not contain that of its source, so the chain can be printed without
/// repetition. The exception is [`ErrorKind::Timeout`], as its specification demands.
impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            ErrorKind::Encode(e) => e.source(),
            ErrorKind::Decode(e) => e.source(),
            ErrorKind::Network(e) => e.source(),
            ErrorKind::ServerSelection(e) => e.source(),
            ErrorKind::Pool(e) => e.source(),
            ErrorKind::GridFs(e) => e.source(),
            ErrorKind::BulkWrite(_) | ErrorKind::ClientBulkWrite(_) => self.interruption().map(|e| e as _),
            ErrorKind::Encryption(e) => e.cause().map(|e| e as _),
            ErrorKind::Timeout(timeout) => timeout.cause().map(|e| e as _),
            _ => None,
        }
    }
}

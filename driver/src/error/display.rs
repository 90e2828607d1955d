//! The texts of errors: `Display`, `Debug`, and the source that `{:#}` adds.

use std::{error::Error as _, fmt};

use super::{Error, ErrorKind};

/// The text does not contain the operation, the server and the labels.
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
        // The error that interrupted a bulk write names the operation and the server itself, and the text of a timeout
        // contains that of its cause.
        let cause = match &self.0.kind {
            ErrorKind::Timeout(timeout) => timeout.cause(),
            _ => None,
        };
        let named = cause.or_else(|| self.interruption());
        let has_operation = named.is_some_and(|e| e.operation().is_some());
        let operation = self.0.operation.as_ref().filter(|_| !has_operation);
        let has_address = cause.is_some() || named.is_some_and(|e| e.address().is_some());
        let address = self.0.address.as_ref().filter(|_| !has_address);
        match (operation, address) {
            (Some(operation), Some(address)) => write!(f, " ({operation}; server {address})")?,
            (Some(operation), None) => write!(f, " ({operation})")?,
            (None, Some(address)) => write!(f, " (server {address})")?,
            (None, None) => {}
        }
        if !self.0.labels.is_empty() && cause.is_none() {
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
            .field("operation", &self.0.operation)
            .finish_non_exhaustive()
    }
}

/// The text of an error does not contain that of its source, so the chain can be printed without
/// repetition. The text of [`ErrorKind::Timeout`] contains that of its
/// [cause](crate::TimeoutError::cause), as its specification demands, so its source is that of
/// the cause.
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
            ErrorKind::Timeout(timeout) => timeout.cause().and_then(std::error::Error::source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, time::Duration};

    use super::super::*;

    fn io() -> std::io::Error {
        std::io::Error::new(std::io::ErrorKind::InvalidData, "the certificate is unknown")
    }

    fn network() -> Error {
        Error::network(NetworkPhase::Connect, io()).with_address(&ServerAddress::tcp("a", 1))
    }

    /// An error of each kind, with a source if the kind has one.
    fn one_of_each() -> Vec<Error> {
        let text = || "a reason".to_owned();
        let command = CommandError {
            code: 18,
            ..CommandError::default()
        };
        let selection = ServerSelectionError {
            wanted: "a write".to_owned(),
            timeout: Duration::from_secs(1),
            topology: "Unknown with a:1 (Unknown)".to_owned(),
            cause: Some(Box::new(network())),
            summary: "Unknown with a:1 (Unknown)".to_owned(),
            end: SelectionEnd::TimedOut,
        };
        let cleared = PoolError::Cleared {
            address: ServerAddress::tcp("a", 1),
            cause: Some(Box::new(network())),
        };
        let bulk = BulkWriteError {
            interrupted_by: Some(network()),
            ..BulkWriteError::default()
        };
        let client_bulk = ClientBulkWriteError {
            error: Some(network()),
            ..ClientBulkWriteError::default()
        };
        let refused = AuthenticationFailure::Refused(command.clone());
        let kinds = [
            ErrorKind::InvalidArgument(text()),
            ErrorKind::ConnectionString(text()),
            ErrorKind::Dns(text()),
            ErrorKind::Encode(crate::bson::to_vec(&1).unwrap_err()),
            ErrorKind::Decode(crate::bson::from_slice::<u8>(&[]).unwrap_err()),
            ErrorKind::ServerSelection(selection),
            ErrorKind::Pool(cleared),
            ErrorKind::Protocol(text()),
            ErrorKind::InvalidReply(text()),
            ErrorKind::Command(command),
            ErrorKind::Write(WriteFailure::default()),
            ErrorKind::BulkWrite(Box::new(bulk)),
            ErrorKind::ClientBulkWrite(Box::new(client_bulk)),
            ErrorKind::GridFs(GridFsError::Stream(std::sync::Arc::new(io()))),
            ErrorKind::Encryption(EncryptionError::KeyVault(network())),
            ErrorKind::Unsupported(text()),
            ErrorKind::Shutdown,
            ErrorKind::CursorInterrupted,
        ];
        let login = AuthenticationError::new("SCRAM-SHA-256", refused).into();
        let mut all: Vec<Error> = kinds.into_iter().map(Error::new).collect();
        all.extend([network(), login]);
        all
    }

    fn name(error: &Error) -> &'static str {
        macro_rules! names {
            ($($kind:ident)+) => {
                match error.kind() { $(ErrorKind::$kind { .. } => stringify!($kind),)+ }
            };
        }
        names!(
            InvalidArgument ConnectionString Dns Encode Decode Network ServerSelection Pool Protocol
            InvalidReply Command Authentication Write BulkWrite ClientBulkWrite GridFs Encryption
            Unsupported Shutdown Timeout CursorInterrupted
        )
    }

    /// The texts of the error and of its sources.
    fn chain(error: &dyn std::error::Error) -> Vec<String> {
        let mut texts = vec![error.to_string()];
        let mut source = error.source();
        while let Some(error) = source {
            texts.push(error.to_string());
            source = error.source();
        }
        texts
    }

    #[test]
    fn each_kind_of_error_prints_each_cause_once() {
        let mut all = one_of_each();
        let timeouts: Vec<Error> = one_of_each().into_iter().map(Error::into_timeout).collect();
        let nested = timeouts.iter().map(|error| error.clone().into_timeout());
        all.extend(nested.collect::<Vec<_>>());
        all.extend(timeouts);
        let names: BTreeSet<&str> = all.iter().map(name).collect();
        assert_eq!(names.len(), 21, "a kind is missing: {names:?}");
        for error in &all {
            let texts = chain(error);
            let all = texts.join(": ");
            assert_eq!(format!("{error:#}"), all);
            for (index, source) in texts.iter().enumerate().skip(1) {
                assert!(!source.is_empty());
                for other in texts.iter().take(index) {
                    assert!(!other.contains(source.as_str()), "repeated: {texts:#?}");
                }
            }
            if let ErrorKind::Timeout(timeout) = error.kind() {
                let cause = timeout.cause().expect("the error before the timeout");
                for text in chain(cause) {
                    assert_eq!(all.matches(&text).count(), 1, "{text:?} in {all:?}");
                }
            }
        }
    }
}

//! The one error type of the driver: what went wrong, where, and what the server said.
//!
//! [`Error`] clones cheaply. Match on [`Error::kind`], or ask one of the predicates (`is_*`).

mod authentication;
pub(crate) mod code;
mod command;
mod network;
mod pool;
mod selection;
mod write;

use std::{error::Error as _, fmt, sync::Arc};

pub use authentication::{AuthenticationError, AuthenticationFailure};
pub use command::CommandError;
pub use network::{NetworkError, NetworkPhase};
pub use pool::{ConnectionsInUse, PoolError};
pub use selection::ServerSelectionError;
pub use write::{BulkWriteError, WriteConcernError, WriteError, WriteFailure};

use crate::{
    ServerAddress,
    bson::{DecodeError, EncodeError, RawDocument, RawDocumentBuf},
};

/// What the driver's functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Label: the operation failed in a way that allows to run the whole transaction again.
pub const TRANSIENT_TRANSACTION_ERROR: &str = "TransientTransactionError";
/// Label: the server, or the network before it, is overloaded.
pub const SYSTEM_OVERLOADED_ERROR: &str = "SystemOverloadedError";
/// Label: the operation was not begun, so that it may be sent again whatever it is.
pub const RETRYABLE_ERROR: &str = "RetryableError";
/// Label: the write may be retried.
pub const RETRYABLE_WRITE_ERROR: &str = "RetryableWriteError";

/// Label: a retry of the write changed nothing, so the error of the try before it counts.
pub(crate) const NO_WRITES_PERFORMED: &str = "NoWritesPerformed";

/// Anything that can go wrong in the driver.
///
/// ```
/// use marula_driver::{ErrorKind, options::ClientOptions};
/// let error = ClientOptions::parse("mongodb://a:0").unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::ConnectionString(_)));
/// assert!(error.to_string().contains("between 1 and 65535"));
/// ```
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    labels: Vec<String>,
    address: Option<ServerAddress>,
    response: Option<RawDocumentBuf>,
}

/// What went wrong.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "it lives behind the Arc of Error")]
pub enum ErrorKind {
    /// A value given by the application cannot be used; the text says which and why.
    InvalidArgument(String),
    /// A connection string cannot be used; the text says which part and why. It holds no credentials.
    ConnectionString(String),
    /// The DNS records of a `mongodb+srv` host are missing or cannot be used; the text names the host or the record. A DNS
    /// server that gave no answer is a [`Network`](Self::Network) error of the phase
    /// [`Resolve`](NetworkPhase::Resolve).
    Dns(String),
    /// A value of the application cannot be written as BSON.
    Encode(EncodeError),
    /// A document of the server does not fit the type asked for, or is no BSON.
    Decode(DecodeError),
    /// A socket could not be opened, or failed while in use.
    Network(NetworkError),
    /// No suitable server was found in time.
    ServerSelection(ServerSelectionError),
    /// No connection could be had from the pool.
    Pool(PoolError),
    /// A server's bytes break the wire protocol. The connection was closed.
    Protocol(String),
    /// A reply with `ok: 1` lacks a field that the operation needs, or holds it with another type; the text names it. The
    /// command may not be one for this operation, e.g. one without a cursor in
    /// [`run_cursor_command`](crate::Database::run_cursor_command). The connection stays in use.
    InvalidReply(String),
    /// The server refused a command.
    Command(CommandError),
    /// The user could not be logged in on a new connection. A socket that failed meanwhile is a
    /// [`Network`](Self::Network) error of the phase [`Authentication`](NetworkPhase::Authentication).
    Authentication(AuthenticationError),
    /// The server ran a single write and reported an error for it.
    Write(WriteFailure),
    /// Some statements of a write of many failed.
    BulkWrite(Box<BulkWriteError>),
    /// The deployment is too old or too new for this driver, or cannot do what was asked.
    Unsupported(String),
    /// The client was shut down.
    Shutdown,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self(Arc::new(Inner {
            kind,
            labels: Vec::new(),
            address: None,
            response: None,
        }))
    }

    pub(crate) fn invalid_argument(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::InvalidArgument(message.to_string()))
    }

    pub(crate) fn connection_string(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::ConnectionString(message.to_string()))
    }

    pub(crate) fn dns(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Dns(message.to_string()))
    }

    pub(crate) fn protocol(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Protocol(message.to_string()))
    }

    pub(crate) fn invalid_reply(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidReply(message.into()))
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported(message.into()))
    }

    pub(crate) fn network(phase: NetworkPhase, error: std::io::Error) -> Self {
        Self::new(ErrorKind::Network(NetworkError::new(phase, error)))
    }

    /// A network error with what the user may have to change.
    pub(crate) fn network_with_hint(phase: NetworkPhase, error: std::io::Error, hint: &'static str) -> Self {
        Self::new(ErrorKind::Network(
            NetworkError::new(phase, error).with_hint(hint),
        ))
    }

    fn edit(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    pub(crate) fn with_kind(self, kind: ErrorKind) -> Self {
        self.edit(|e| e.kind = kind)
    }

    pub(crate) fn with_address(self, address: &ServerAddress) -> Self {
        if self.0.address.is_some() {
            return self;
        }
        self.edit(|e| e.address = Some(address.clone()))
    }

    pub(crate) fn with_labels(self, labels: impl IntoIterator<Item = String>) -> Self {
        self.edit(|e| {
            for label in labels {
                if !e.labels.contains(&label) {
                    e.labels.push(label);
                }
            }
        })
    }

    pub(crate) fn with_response(self, response: &RawDocument) -> Self {
        self.edit(|e| e.response = Some(response.to_owned()))
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// What went wrong in a few words, for a text whose source is this error.
    pub(crate) fn outline(&self) -> &'static str {
        match &self.0.kind {
            ErrorKind::Network(e) => e.outline(),
            ErrorKind::Authentication(_) => "authentication failed",
            ErrorKind::Protocol(_) | ErrorKind::Decode(_) => "invalid reply",
            ErrorKind::Command(_) => "error reply",
            _ => "failed",
        }
    }

    /// The labels that the server or the driver put on the error.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.0.labels
    }

    /// Whether the error carries this label, e.g. [`RETRYABLE_WRITE_ERROR`].
    #[must_use]
    pub fn contains_label(&self, label: &str) -> bool {
        self.0.labels.iter().any(|l| l == label)
    }

    /// The server on which the operation failed, when one had been chosen.
    #[must_use]
    pub fn address(&self) -> Option<&ServerAddress> {
        self.0.address.as_ref()
    }

    /// The server's whole reply, when the error comes from one.
    #[must_use]
    pub fn server_response(&self) -> Option<&RawDocument> {
        self.0.response.as_deref()
    }

    /// The server's error code: of the command, of the first write error, of the write concern error, or of the
    /// error that ended a bulk write.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        match &self.0.kind {
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
            _ => None,
        }
    }

    /// The name of [`code`](Self::code), when the server sent one.
    #[must_use]
    pub fn code_name(&self) -> Option<&str> {
        let name = match &self.0.kind {
            ErrorKind::Command(e) => &e.code_name,
            ErrorKind::Authentication(e) => &e.refusal()?.code_name,
            ErrorKind::Write(e) if e.write_error.is_none() => &e.write_concern_error.as_ref()?.code_name,
            ErrorKind::BulkWrite(e) if e.write_errors.is_empty() => match &e.write_concern_error {
                Some(concern) => &concern.code_name,
                None => return e.interrupted_by.as_ref()?.code_name(),
            },
            _ => return None,
        };
        (!name.is_empty()).then_some(name)
    }

    /// The failed statements of a write, in the order the server reported them.
    #[must_use]
    pub fn write_errors(&self) -> &[WriteError] {
        match &self.0.kind {
            ErrorKind::Write(e) => e.write_error.as_slice(),
            ErrorKind::BulkWrite(e) => &e.write_errors,
            _ => &[],
        }
    }

    /// Whether a unique index refused a write (code 11000, and its old forms 11001 and 12582).
    #[must_use]
    pub fn is_duplicate_key(&self) -> bool {
        self.write_errors()
            .iter()
            .any(|error| code::is_duplicate_key(error.code))
            || self.code().is_some_and(code::is_duplicate_key)
    }

    /// Whether a time limit of the driver or of the server ended the operation.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        match &self.0.kind {
            ErrorKind::ServerSelection(_) => true,
            ErrorKind::Pool(PoolError::WaitQueueTimeout { .. }) => true,
            ErrorKind::Network(e) => e.is_timeout(),
            ErrorKind::BulkWrite(e) if e.interrupted_by.as_ref().is_some_and(Self::is_timeout) => true,
            _ => self.code() == Some(code::MAX_TIME_MS_EXPIRED),
        }
    }

    /// Whether a socket failed, so that it is unknown if the server ran the command.
    #[must_use]
    pub fn is_network(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Network(_))
    }

    /// Whether the deployment could not serve the call at the moment, so that the same call may well succeed later: no
    /// suitable server or no connection was found in time, a socket failed, a server is no primary any more, recovers, shuts
    /// down or is overloaded, or a mongos could not reach its shards. The driver has retried already where that is safe; a
    /// write whose socket failed may have been done ([`is_network`](Self::is_network)).
    ///
    /// A web handler answers with status 503. False for a command that ran out of time on the server
    /// ([`is_timeout`](Self::is_timeout)) and for a client that was shut down.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        match &self.0.kind {
            // A login that was refused fails again, through the pool as on a connection of its own.
            ErrorKind::Pool(PoolError::Cleared { cause: Some(e), .. })
                if matches!(e.kind(), ErrorKind::Authentication(_)) =>
            {
                e.is_unavailable()
            }
            ErrorKind::Network(_) | ErrorKind::ServerSelection(_) | ErrorKind::Pool(_) => true,
            ErrorKind::Command(e) if code::is_unreachable(e.code) => true,
            // A login that the server could not judge: the credentials were not refused.
            ErrorKind::Authentication(e)
                if e.refusal()
                    .is_some_and(|e| e.code == code::INTERNAL_ERROR || code::is_unreachable(e.code)) =>
            {
                true
            }
            ErrorKind::BulkWrite(e) if e.interrupted_by.as_ref().is_some_and(Self::is_unavailable) => true,
            _ => self.is_state_change() || self.contains_label(SYSTEM_OVERLOADED_ERROR),
        }
    }

    /// Whether the server reports that it is not the primary (any more), or is shutting down or recovering.
    pub(crate) fn is_state_change(&self) -> bool {
        match &self.0.kind {
            ErrorKind::Command(e) => e.is_state_change(),
            ErrorKind::Authentication(e) => e.refusal().is_some_and(CommandError::is_state_change),
            _ => self
                .write_concern_error()
                .is_some_and(WriteConcernError::is_state_change),
        }
    }

    /// Whether the server reports that it is shutting down, so that its connections are lost.
    pub(crate) fn is_server_shutdown(&self) -> bool {
        match &self.0.kind {
            ErrorKind::Command(e) => code::is_shutdown(e.code),
            ErrorKind::Authentication(e) => e.refusal().is_some_and(|e| code::is_shutdown(e.code)),
            _ => self
                .write_concern_error()
                .is_some_and(|e| code::is_shutdown(e.code)),
        }
    }

    /// The write concern error of a write whose statements the server ran.
    #[must_use]
    pub fn write_concern_error(&self) -> Option<&WriteConcernError> {
        match &self.0.kind {
            ErrorKind::Write(e) => e.write_concern_error.as_ref(),
            ErrorKind::BulkWrite(e) => e.write_concern_error.as_ref(),
            _ => None,
        }
    }
}

impl From<AuthenticationError> for Error {
    fn from(error: AuthenticationError) -> Self {
        Self::new(ErrorKind::Authentication(error))
    }
}

impl From<EncodeError> for Error {
    fn from(error: EncodeError) -> Self {
        Self::new(ErrorKind::Encode(error))
    }
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::new(ErrorKind::Decode(error))
    }
}

/// What went wrong, without server and labels.
impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidArgument(message) => write!(f, "invalid argument: {message}"),
            Self::ConnectionString(message) => write!(f, "invalid connection string: {message}"),
            Self::Dns(message) => write!(f, "the host list cannot be made from DNS: {message}"),
            Self::Encode(e) => write!(f, "cannot write as BSON: {e}"),
            Self::Decode(e) => write!(f, "cannot read from BSON: {e}"),
            Self::Network(e) => write!(f, "{e}"),
            Self::ServerSelection(e) => write!(f, "{e}"),
            Self::Pool(e) => write!(f, "{e}"),
            Self::Protocol(message) => write!(f, "the server broke the wire protocol: {message}"),
            Self::InvalidReply(message) => write!(f, "the reply does not fit the operation: {message}"),
            Self::Command(e) => write!(f, "{e}"),
            Self::Authentication(e) => write!(f, "{e}"),
            Self::Write(e) => write!(f, "{e}"),
            Self::BulkWrite(e) => write!(f, "{e}"),
            Self::Unsupported(message) => write!(f, "not supported: {message}"),
            Self::Shutdown => f.write_str("the client was shut down"),
        }
    }
}

/// The error itself; with `{:#}`, followed by its sources.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.kind.fmt(f)?;
        // The error that interrupted a bulk write names its server itself.
        let is_named_by_source = matches!(
            &self.0.kind,
            ErrorKind::BulkWrite(bulk) if bulk.interrupted_by.as_ref().is_some_and(|e| e.address().is_some())
        );
        if let Some(address) = self.0.address.as_ref().filter(|_| !is_named_by_source) {
            write!(f, " (server {address})")?;
        }
        if !self.0.labels.is_empty() {
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
        // The server's reply may quote documents, so it is left out.
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("labels", &self.0.labels)
            .field("address", &self.0.address)
            .finish_non_exhaustive()
    }
}

/// An error's text never holds that of its source, so a chain can be printed without repetition.
impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            ErrorKind::Encode(e) => e.source(),
            ErrorKind::Decode(e) => e.source(),
            ErrorKind::Network(e) => e.source(),
            ErrorKind::ServerSelection(e) => e.source(),
            ErrorKind::Pool(e) => e.source(),
            ErrorKind::BulkWrite(bulk) => bulk.interrupted_by.as_ref().map(|e| e as _),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;

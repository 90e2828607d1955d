//! The error type of the driver, and the [codes](code) of the server.
//!
//! [`Error`] holds an [`ErrorKind`], the address of the server, the error labels and the reply of
//! the server. It is cheap to clone.

#[cfg(feature = "encryption")]
pub(crate) mod analysis_message;
mod authentication;
mod client_bulk_write;
pub mod code;
mod command;
mod display;
mod encryption;
mod gridfs;
mod kerberos;
#[cfg(feature = "encryption")]
mod mongocrypt;
mod network;
mod operation;
mod pool;
mod predicates;
mod selection;
mod timeout;
mod write;

use std::{fmt, sync::Arc};

pub use authentication::{AuthenticationError, AuthenticationFailure};
pub use client_bulk_write::ClientBulkWriteError;
pub use command::CommandError;
pub use encryption::EncryptionError;
pub use gridfs::{ChunkFault, GridFsError};
pub use kerberos::{KerberosError, KerberosFailure};
pub use network::{NetworkError, NetworkPhase};
pub use pool::{ConnectionsInUse, PoolError};
pub(crate) use selection::SelectionEnd;
pub use selection::ServerSelectionError;
pub use timeout::TimeoutError;
pub use write::{BulkWriteError, WriteConcernError, WriteError, WriteFailure};

use crate::{
    ServerAddress,
    bson::{DecodeError, EncodeError, RawDocument, RawDocumentBuf},
};

/// A result whose error is an [`Error`] unless stated otherwise.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Error label: the transaction was not committed, and all of it can be run again. The [convenient
/// API](crate::Client::transaction) does so.
pub const TRANSIENT_TRANSACTION_ERROR: &str = "TransientTransactionError";
/// Error label: it is unknown whether the transaction was committed with its write concern. The
/// commit can be repeated. The [convenient API](crate::Client::transaction) does so.
pub const UNKNOWN_TRANSACTION_COMMIT_RESULT: &str = "UnknownTransactionCommitResult";
/// Error label: the server, or the network in front of it, is overloaded. The application should
/// reduce its load.
pub const SYSTEM_OVERLOADED_ERROR: &str = "SystemOverloadedError";
/// Error label: the server did not start the operation, so every operation can be retried. Together
/// with [`SYSTEM_OVERLOADED_ERROR`] the driver has retried it.
pub const RETRYABLE_ERROR: &str = "RetryableError";
/// Error label: a change stream whose getMore failed so resumes (MongoDB 4.4+). The driver has done
/// that.
pub(crate) const RESUMABLE_CHANGE_STREAM_ERROR: &str = "ResumableChangeStreamError";
/// Error label: the write can be retried. If it is retryable, the driver has retried it.
pub const RETRYABLE_WRITE_ERROR: &str = "RetryableWriteError";

/// Error label: the attempt performed no writes, so the error of the previous attempt is reported
/// (Retryable Writes, "Executing Retryable Write Commands").
pub(crate) const NO_WRITES_PERFORMED: &str = "NoWritesPerformed";

/// An error of the driver.
///
/// Match on [`kind`](Self::kind), or use the predicates (`is_*`). Clones are cheap. `Display` does
/// not include the [source](std::error::Error::source); `{:#}` does.
///
/// ```
/// use marula_driver::{ErrorKind, options::ClientOptions};
/// let error = ClientOptions::parse("mongodb://a:0").unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::ConnectionString(_)));
/// assert!(error.to_string().contains("between 1 and 65535"));
/// ```
///
/// ```no_run
/// # async fn run(users: marula_driver::Collection<marula_driver::bson::Document>) -> marula_driver::Result<()> {
/// use marula_driver::bson::doc;
/// match users.insert_one(&doc! { "_id": "ada" }).await {
///     Ok(_) => println!("created"),
///     Err(error) if error.is_duplicate_key() => println!("the name is in use"),
///     Err(error) if error.is_unavailable() => println!("try again later"),
///     Err(error) => return Err(error),
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    labels: Vec<String>,
    address: Option<ServerAddress>,
    response: Option<RawDocumentBuf>,
    operation: Option<Arc<operation::OperationName>>,
}

/// The kind of an [`Error`], with its details.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "stored in the Arc of Error")]
pub enum ErrorKind {
    /// An argument or option set by the application is invalid. The text names it and the reason.
    InvalidArgument(String),
    /// A connection string is invalid. The text names the part and the reason, without credentials.
    ConnectionString(String),
    /// The DNS records of a `mongodb+srv` host are missing or invalid. The text names the host or
    /// the record. If no name server answers, the error is a [`Network`](Self::Network) error of
    /// the phase [`Resolve`](NetworkPhase::Resolve) instead.
    Dns(String),
    /// A value of the application cannot be serialized to BSON. The error names the field.
    Encode(EncodeError),
    /// A document from the server is not valid BSON, or cannot be deserialized into the requested
    /// type. The error names the field. A write whose reply cannot be deserialized was performed.
    Decode(DecodeError),
    /// A connection could not be opened, or failed while in use.
    Network(NetworkError),
    /// No suitable server was found within `serverSelectionTimeoutMS`.
    ServerSelection(ServerSelectionError),
    /// No connection could be checked out of the pool of the selected server.
    Pool(PoolError),
    /// A message from the server violates the wire protocol. The connection was closed.
    Protocol(String),
    /// A reply lacks the field `ok`, or one with `ok: 1` lacks a field that the operation needs, or the
    /// field has another type. The text names the field. The command may not fit the method, e.g. a command that does not
    /// return a cursor in [`run_cursor_command`](crate::Database::run_cursor_command). The
    /// connection remains usable.
    InvalidReply(String),
    /// The server replied with `ok: 0`, e.g. because of a missing privilege, an invalid command or
    /// an expired `maxTimeMS`.
    Command(CommandError),
    /// Authentication on a new connection failed. A socket that fails during authentication is a
    /// [`Network`](Self::Network) error of the phase
    /// [`Authentication`](NetworkPhase::Authentication) instead.
    Authentication(AuthenticationError),
    /// A write of one statement failed: the server reported a write error, a write concern error,
    /// or both. Also the write concern error of a command that creates, changes or drops databases,
    /// collections or indexes, and of an aggregation with `$out` or `$merge`.
    Write(WriteFailure),
    /// A write of several statements (`insert_many`, `bulk_write`) failed in part or in whole.
    BulkWrite(Box<BulkWriteError>),
    /// A [`Client::bulk_write`](crate::Client::bulk_write) failed in part or in whole.
    ClientBulkWrite(Box<ClientBulkWriteError>),
    /// A GridFS file does not exist, or its documents are invalid.
    GridFs(GridFsError),
    /// In-use encryption failed. The predicates and codes of the error are those of its
    /// [cause](EncryptionError::cause), if it has one and unless the command was performed
    /// ([`EncryptionError::Reply`]).
    Encryption(EncryptionError),
    /// The server or this driver does not support the operation or an option, or the server's
    /// versions are incompatible with the driver.
    Unsupported(String),
    /// A cursor has ended because the future of its last getMore was dropped before the reply arrived. The
    /// documents of the reply are lost. The next call of the cursor returns the error, once.
    CursorInterrupted,
    /// The client was shut down with [`Client::shutdown`](crate::Client::shutdown), or its tokio runtime
    /// was. If the runtime ends after the command of an operation was sent, the operation fails with
    /// [`Network`](Self::Network) instead, because the server may have run the command.
    Shutdown,
    /// An operation with `timeoutMS` did not complete in time. Without `timeoutMS`, two actions fail with
    /// this kind: a transaction of the [convenient API](crate::Client::transaction) after 120 s, and
    /// [`warm_up`](crate::Client::warm_up) after `serverSelectionTimeoutMS`. The predicates and codes of
    /// the error are those of its [cause](TimeoutError::cause).
    Timeout(TimeoutError),
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self(Arc::new(Inner {
            kind,
            labels: Vec::new(),
            address: None,
            response: None,
            operation: None,
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

    /// A network error with a hint on what to change.
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

    pub(crate) fn without_label(self, label: &str) -> Self {
        self.edit(|e| e.labels.retain(|other| other != label))
    }

    pub(crate) fn with_response(self, response: &RawDocument) -> Self {
        self.edit(|e| e.response = Some(response.to_owned()))
    }

    #[cfg(feature = "encryption")]
    pub(crate) fn without_response(self) -> Self {
        self.edit(|e| e.response = None)
    }

    /// The kind of the error, with its details.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// A short description, for a text that has this error as its source.
    pub(crate) fn outline(&self) -> &'static str {
        match &self.0.kind {
            ErrorKind::Network(e) => e.outline(),
            ErrorKind::Authentication(_) => "authentication failed",
            ErrorKind::Protocol(_) | ErrorKind::Decode(_) => "invalid reply",
            ErrorKind::Command(_) => "error reply",
            _ => "failed",
        }
    }

    /// The error labels that the server or the driver added.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.0.labels
    }

    /// Whether the error has this label, e.g. [`RETRYABLE_WRITE_ERROR`].
    #[must_use]
    pub fn contains_label(&self, label: &str) -> bool {
        self.0.labels.iter().any(|l| l == label)
    }

    /// The server that the operation was sent to. `None` if the operation failed before a server
    /// was selected.
    #[must_use]
    pub fn address(&self) -> Option<&ServerAddress> {
        self.0.address.as_ref()
    }

    /// The complete reply of the server. `None` if the error does not come from a reply.
    #[must_use]
    pub fn server_response(&self) -> Option<&RawDocument> {
        self.0.response.as_deref()
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

#[cfg(test)]
mod tests;

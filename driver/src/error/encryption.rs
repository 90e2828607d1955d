//! Errors of in-use encryption.

use std::fmt;

use super::{Error, ErrorKind};
use crate::bson::Document;

/// In-use encryption failed ([Client Side Encryption]). A command whose encryption failed was not sent, in no attempt: if an
/// earlier attempt was, its error is returned instead. A command whose reply could not be decrypted was performed
/// ([`Reply`](Self::Reply)).
///
/// [Client Side Encryption]:
/// https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EncryptionError {
    /// libmongocrypt is not installed, or cannot be used. The text says how to get it.
    Library(String),
    /// libmongocrypt rejected an option, a command or a value, or could not decrypt a value.
    Rejected {
        /// The message of libmongocrypt, with the name and the collection of a command that reads or writes documents.
        message: String,
        /// Its code.
        code: u32,
    },
    /// A defect: a computation of the driver or of libmongocrypt panicked. Please report it.
    Internal(String),
    /// A key management service replied with an error, or with an invalid message.
    Kms {
        /// The endpoint, the provider, the message of libmongocrypt, and what is known of the response: the HTTP status and the
        /// codes of the error, e.g. `AccessDeniedException`. Other parts of the response are not shown, because it can contain
        /// a key, or repeat the request.
        message: String,
        /// Its code.
        code: u32,
    },
    /// A key management service could not be reached. The predicates and codes of the error are those of the cause.
    KmsConnection {
        /// The name of the provider, e.g. `aws`.
        provider: String,
        /// Host and port of the service.
        endpoint: String,
        /// The network error.
        cause: Error,
    },
    /// The application's function that opens connections to key management services (`KmsConnect`) panicked, or the stream
    /// that it returned did. The request is not repeated.
    KmsConnectPanicked {
        /// The name of the provider, e.g. `aws`.
        provider: String,
        /// Host and port of the service.
        endpoint: String,
    },
    /// A key in the key vault names a host that requests to its provider may not be sent to. Nothing was sent. The
    /// option `kms_allowed_hosts` adds hosts.
    KmsHostNotAllowed {
        /// The name of the provider, e.g. `aws`.
        provider: String,
        /// Host and port of the key.
        endpoint: String,
    },
    /// The credentials of a provider that was configured without any could not be obtained from the environment.
    Credentials {
        /// The name of the provider, e.g. `aws`.
        provider: &'static str,
        /// Where they were looked for, and why there are none.
        message: String,
    },
    /// A command could not be analyzed: mongocryptd or `crypt_shared` rejected it, or mongocryptd could not be reached.
    QueryAnalysis {
        /// The message of `crypt_shared`, or what mongocryptd did not do.
        message: String,
        /// The error of the client of mongocryptd. `None` for `crypt_shared`.
        cause: Option<Error>,
    },
    /// The client would not encrypt fields that are required
    /// ([`Client::require_encrypted_fields`](crate::Client::require_encrypted_fields)), because it does not know the collection
    /// as encrypted: `encryptedFields` are neither in its options nor those of the collection, which it reads again after at
    /// most one minute. Nothing was sent.
    NotEncrypted {
        /// `database.collection`.
        namespace: String,
        /// The paths of the fields.
        fields: Vec<String>,
        /// What requires them, e.g. "model `Patient`".
        required_by: String,
    },
    /// The keys could not be read from the key vault. The predicates and codes of the error are those of the cause.
    KeyVault(Error),
    /// The server performed the command, and its reply could not be decrypted, e.g. because its key could not be read. A
    /// cursor that the reply opened is closed. Not returned for the errors of single writes, whose values, e.g. of a
    /// duplicate key, then remain encrypted.
    ///
    /// The driver does not retry the command. The predicates and codes of the error are not those of the cause, except for
    /// [`is_timeout`](Error::is_timeout), and it has no labels: a cause that is temporary does not mean that the command
    /// can be repeated.
    Reply(Error),
    /// The schema of a collection could not be read (`listCollections`). The predicates and codes of the error are
    /// those of the cause.
    CollectionInfo(Error),
    /// [`create_encrypted_collection`](crate::encryption::ClientEncryption::create_encrypted_collection) failed after it may
    /// have created data keys. The predicates and codes of the error are those of the cause.
    CreateCollection {
        /// `encryptedFields` with the ids of the keys that were created.
        encrypted_fields: Box<Document>,
        /// The error of the key or of the collection.
        cause: Error,
    },
}

impl EncryptionError {
    /// The error of the driver or of the server that this error reports, if there is one. It is also the
    /// [source](std::error::Error::source) of the [`Error`].
    #[must_use]
    pub fn cause(&self) -> Option<&Error> {
        match self {
            Self::KeyVault(cause)
            | Self::Reply(cause)
            | Self::CollectionInfo(cause)
            | Self::KmsConnection { cause, .. }
            | Self::CreateCollection { cause, .. } => Some(cause),
            Self::QueryAnalysis { cause, .. } => cause.as_ref(),
            Self::Library(_)
            | Self::Internal(_)
            | Self::Rejected { .. }
            | Self::NotEncrypted { .. }
            | Self::Kms { .. }
            | Self::KmsConnectPanicked { .. }
            | Self::KmsHostNotAllowed { .. }
            | Self::Credentials { .. } => None,
        }
    }

    /// The cause, if the predicates, codes and labels of this error are those of it.
    pub(super) fn reported(&self) -> Option<&Error> {
        match self {
            Self::Reply(_) => None,
            other => other.cause(),
        }
    }
}

/// The text does not contain that of the cause.
impl fmt::Display for EncryptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(message) => f.write_str(message),
            Self::Rejected { message, .. } => {
                write!(f, "encryption failed: {message}")?;
                // What the message means to the application.
                if message.contains("HMAC validation failure") {
                    f.write_str("; the master key or the data key is not that of the encryption, or the bytes were changed")?;
                }
                Ok(())
            }
            Self::Internal(message) => write!(f, "encryption failed because of a defect: {message}"),
            Self::Kms { message, .. } => write!(f, "the key management service failed: {message}"),
            Self::KmsConnection {
                provider, endpoint, ..
            } => write!(
                f,
                "the key management service {endpoint} of the provider {provider:?} could not be reached"
            ),
            Self::KmsConnectPanicked { provider, endpoint } => write!(
                f,
                "the callback of the application that opens connections to key management services (KmsConnect) panicked, for \
                 {endpoint} of the provider {provider:?}"
            ),
            Self::KmsHostNotAllowed { provider, endpoint } => write!(
                f,
                "a key in the key vault names {endpoint:?} as the service of the provider {provider:?}, which is not in \
                 the list of its hosts; if it is right, add the host with kms_allowed_hosts"
            ),
            Self::Credentials { provider, message } => {
                write!(f, "no credentials for the provider {provider:?}: {message}")
            }
            Self::QueryAnalysis { message, .. } => {
                write!(f, "the command could not be analyzed for encryption: {message}")
            }
            Self::NotEncrypted {
                namespace,
                fields,
                required_by,
            } => write!(
                f,
                "{required_by} requires that the client encrypts `{}` of {namespace}, and neither the client's `encryptedFields` nor \
                 those of the collection contain this; create the collection with these encrypted fields before it is used, or add it \
                 to `encrypted_fields` of the client (what a client has read of a collection, also that it does not exist, is \
                 read again after at most one minute). Until then the client rejects all commands on the collection",
                fields.join("`, `")
            ),
            Self::KeyVault(_) => f.write_str("the keys could not be read from the key vault"),
            Self::Reply(_) => {
                f.write_str("the server performed the command, but its reply could not be decrypted")
            }
            Self::CollectionInfo(_) => {
                f.write_str("the schema of the collection could not be read for encryption")
            }
            Self::CreateCollection { .. } => f.write_str("the encrypted collection could not be created"),
        }
    }
}

impl From<EncryptionError> for Error {
    /// With the labels, the server and the reply of the cause, if those of this error are the same.
    fn from(error: EncryptionError) -> Self {
        match error.reported() {
            Some(cause) => cause.clone().with_kind(ErrorKind::Encryption(error)),
            None => Self::new(ErrorKind::Encryption(error)),
        }
    }
}

//! Converts the errors of libmongocrypt.

use marula_mongocrypt::{Error as CryptError, ErrorKind as CryptErrorKind, LoadError};

use super::{EncryptionError, Error, analysis_message};

impl From<CryptError> for Error {
    fn from(error: CryptError) -> Self {
        let CryptError { kind, code, message } = error;
        match kind {
            CryptErrorKind::Kms => EncryptionError::Kms { message, code },
            CryptErrorKind::Malformed => return Self::invalid_argument(message),
            CryptErrorKind::Internal => EncryptionError::Internal(message),
            CryptErrorKind::CryptShared => EncryptionError::QueryAnalysis {
                message: analysis_message::of_crypt_shared(&message),
                cause: None,
            },
            _ => EncryptionError::Rejected { message, code },
        }
        .into()
    }
}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        EncryptionError::Library(error.to_string()).into()
    }
}

//! The error of a value that cannot be encoded as BSON.

use std::fmt;

use crate::base::bson::{DecodeError, EncodeError};

/// The error of a Rust value that cannot be encoded as BSON, such as a `u64` above `i64::MAX`.
#[derive(Clone, Debug)]
pub struct ValueError {
    /// The place within the value, such as `lines[2].sku`; empty for the value as a whole.
    path: String,
    message: String,
}

impl ValueError {
    /// An error with a message, for implementations of [`IntoValue`](crate::IntoValue). The message
    /// must not contain the value, because error messages are logged.
    ///
    /// ```
    /// use marula::ValueError;
    /// let error = ValueError::new("a negative duration");
    /// assert!(error.to_string().contains("a negative duration"));
    /// ```
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        ValueError {
            path: String::new(),
            message: message.into(),
        }
    }

    /// The place within the value; empty for the value as a whole.
    pub(super) fn take_path(&mut self) -> String {
        std::mem::take(&mut self.path)
    }

    #[cold]
    pub(crate) fn into_encode_error(self) -> EncodeError {
        EncodeError::new(self.message)
    }

    #[cold]
    pub(crate) fn into_decode_error(self) -> DecodeError {
        DecodeError::new(self.message)
    }
}

impl From<EncodeError> for ValueError {
    fn from(e: EncodeError) -> Self {
        ValueError {
            path: e.path().to_owned(),
            message: e.message().to_owned(),
        }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ValueError {}

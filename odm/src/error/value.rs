//! The error of a value that cannot be encoded as BSON.

use std::fmt;

use crate::bson::EncodeError;

/// The error of a Rust value that cannot be encoded as BSON, such as a `u64` above `i64::MAX`.
#[derive(Clone, Debug)]
pub struct ValueError {
    message: String,
    source: Option<EncodeError>,
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
            message: message.into(),
            source: None,
        }
    }

    pub(crate) fn into_encode_error(self) -> EncodeError {
        serde::ser::Error::custom(self.message)
    }
}

impl From<EncodeError> for ValueError {
    fn from(e: EncodeError) -> Self {
        ValueError {
            message: e.to_string(),
            source: Some(e),
        }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ValueError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // `Display` is the text of the source.
        self.source.as_ref().and_then(std::error::Error::source)
    }
}

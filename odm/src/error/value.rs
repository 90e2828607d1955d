//! The error of a value without a BSON form.

use std::fmt;

use crate::bson::EncodeError;

/// A Rust value that has no BSON form, such as a `u64` above `i64::MAX`.
#[derive(Clone, Debug)]
pub struct ValueError {
    message: String,
    source: Option<EncodeError>,
}

impl ValueError {
    /// An error that says what is wrong with the value; put no value in it, messages end up in logs.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        ValueError {
            message: message.into(),
            source: None,
        }
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
        // Its text is this error's own text already.
        self.source.as_ref().and_then(std::error::Error::source)
    }
}

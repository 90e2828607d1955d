//! The errors of the ODM: what was wrong, at which path, with the driver's error as source.

use std::fmt;

use crate::bson::{Bson, EncodeError};

mod schema;

pub use schema::SchemaError;

/// The result of an ODM call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an ODM call failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// A value in a filter, an update or a document has no BSON form.
    Encode {
        /// The dotted path of the field the value was meant for; empty for a whole document.
        path: String,
        /// What is wrong with the value.
        source: ValueError,
    },
    /// A filter has no meaning for the server.
    InvalidFilter {
        /// The dotted path at fault; empty when it is the filter as a whole.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// An update would be refused by the server, or would do something else than it says.
    InvalidUpdate {
        /// The dotted path at fault; empty when it is the update as a whole.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// A call was given arguments that make no sense together, before anything was sent.
    InvalidArgument {
        /// What is wrong.
        reason: String,
    },
    /// Index declarations contradict one another or what the server has.
    Schema(SchemaError),
}

impl Error {
    pub(crate) fn encode(path: impl Into<String>, source: ValueError) -> Self {
        Error::Encode { path: path.into(), source }
    }

    pub(crate) fn filter(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::InvalidFilter { path: path.into(), reason: reason.into() }
    }

    pub(crate) fn update(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::InvalidUpdate { path: path.into(), reason: reason.into() }
    }

    pub(crate) fn argument(reason: impl Into<String>) -> Self {
        Error::InvalidArgument { reason: reason.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Encode { path, source } => write!(f, "cannot encode {}: {source}", Place(path, "the document")),
            Error::InvalidFilter { path, reason } => {
                write!(f, "invalid filter at {}: {reason}", Place(path, "its top level"))
            }
            Error::InvalidUpdate { path, reason } => {
                write!(f, "invalid update at {}: {reason}", Place(path, "its top level"))
            }
            Error::InvalidArgument { reason } => write!(f, "invalid argument: {reason}"),
            Error::Schema(e) => write!(f, "schema: {e}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Encode { source, .. } => Some(source),
            Error::Schema(e) => Some(e),
            _ => None,
        }
    }
}

impl From<SchemaError> for Error {
    fn from(e: SchemaError) -> Self {
        Error::Schema(e)
    }
}

/// A path in backticks, or a phrase where the path is empty.
struct Place<'a>(&'a str, &'static str);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str(self.1) } else { write!(f, "`{}`", self.0) }
    }
}

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
        ValueError { message: message.into(), source: None }
    }
}

impl From<EncodeError> for ValueError {
    fn from(e: EncodeError) -> Self {
        ValueError { message: e.to_string(), source: Some(e) }
    }
}

impl From<std::convert::Infallible> for ValueError {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ValueError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|e| e as _)
    }
}

/// The value that a failed read names: an `_id`, printed as Extended JSON.
pub(crate) fn display_id(id: Option<&Bson>) -> String {
    id.map_or_else(|| "unknown".to_owned(), |id| crate::json::Relaxed(id).to_string())
}

//! The errors of the ODM: what was wrong, at which path, with the driver's error as source.

use std::fmt;

use crate::bson::{Bson, DecodeError, Document};
use crate::driver;

mod convert;
mod schema;
mod value;

pub use schema::SchemaError;
pub use value::ValueError;

/// The result of an ODM call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an ODM call failed. Cheap to clone.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The driver reports an error: the server, the network, a time limit.
    Driver(driver::Error),
    /// A unique index refused a write.
    Duplicate {
        /// The name of the index, if the server's message tells it.
        index: Option<String>,
        /// The fields of the index, if the server sent them.
        key: Option<Box<Document>>,
        /// The driver's error, with all that the server said.
        source: driver::Error,
    },
    /// A stored document does not have the form of its model.
    Decode {
        /// `database.collection`.
        collection: String,
        /// The `_id` of the document, if it has one.
        id: Option<Box<Bson>>,
        /// The field at fault, as in `lines[2].sku`; empty when it is the document as a whole.
        path: String,
        /// What is wrong with it.
        source: DecodeError,
    },
    /// A write needs an id that neither the call nor the model gives: an upsert of a model whose ids the application makes,
    /// a document whose id is `None` where it must be known. Nothing was sent.
    MissingId {
        /// `database.collection`.
        collection: String,
        /// Why there is none, and what to do.
        reason: &'static str,
    },
    /// No document matches where one was asked for.
    NotFound {
        /// `database.collection`.
        collection: String,
    },
    /// More than one document matches where one was asked for.
    MoreThanOne {
        /// `database.collection`.
        collection: String,
    },
    /// A page token is not one that this query made: it was cut, made up, or belongs to another sort. Tokens come from
    /// outside, so this is a mistake of the sender.
    InvalidPageToken,
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
    /// A call was given arguments that make no sense: a page of no documents, a page sorted by a field that a document
    /// does not have.
    InvalidArgument {
        /// What is wrong.
        reason: String,
    },
    /// A sort was asked for by a name that is not in the list of allowed names. Names come from outside, so this is a mistake
    /// of the sender.
    UnknownSort {
        /// The name, cut to 64 characters.
        name: String,
        /// The names that are allowed.
        allowed: Vec<String>,
    },
    /// Index declarations contradict one another or what the server has.
    Schema(SchemaError),
}

impl Error {
    pub(crate) fn encode(path: impl Into<String>, source: ValueError) -> Self {
        Error::Encode {
            path: path.into(),
            source,
        }
    }

    pub(crate) fn filter(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::InvalidFilter {
            path: path.into(),
            reason: reason.into(),
        }
    }

    pub(crate) fn update(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::InvalidUpdate {
            path: path.into(),
            reason: reason.into(),
        }
    }

    pub(crate) fn argument(reason: impl Into<String>) -> Self {
        Error::InvalidArgument {
            reason: reason.into(),
        }
    }

    /// The driver's error, if it is the cause: its code, labels and server reply.
    #[must_use]
    pub fn driver(&self) -> Option<&driver::Error> {
        match self {
            Error::Driver(e)
            | Error::Duplicate { source: e, .. }
            | Error::Schema(SchemaError::Raced { source: e, .. }) => Some(e),
            _ => None,
        }
    }

    /// Whether the deployment could not serve the call at the moment, so that the same call may well succeed later; see
    /// [`driver::Error::is_unavailable`].
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        self.driver().is_some_and(driver::Error::is_unavailable)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Driver(e) => e.fmt(f),
            Error::Duplicate { index, key, .. } => {
                f.write_str("a document with the same key exists")?;
                if let Some(index) = index {
                    write!(f, " in the unique index `{index}`")?;
                }
                if let Some(key) = key {
                    let fields: Vec<&str> = key.keys().map(String::as_str).collect();
                    write!(f, " (fields {})", fields.join(", "))?;
                }
                Ok(())
            }
            Error::Decode {
                collection,
                id,
                path,
                source,
            } => {
                let id = id.as_ref().map_or_else(
                    || "unknown".to_owned(),
                    |id| crate::json::relaxed(&**id).to_string(),
                );
                write!(
                    f,
                    "document {id} of {collection} cannot be read at {}: ",
                    Place(path, "its top level")
                )?;
                f.write_str(source.message())
            }
            Error::MissingId { collection, reason } => {
                write!(f, "an id is missing in a call on {collection}: {reason}")
            }
            Error::UnknownSort { name, allowed } => {
                write!(f, "cannot sort by {name:?}; the names are {}", allowed.join(", "))
            }
            Error::NotFound { collection } => write!(f, "no document of {collection} matches"),
            Error::MoreThanOne { collection } => {
                write!(f, "more than one document of {collection} matches")
            }
            Error::InvalidPageToken => f.write_str("the page token is not one of this query"),
            Error::Encode { path, source } => {
                write!(f, "cannot encode {}: {source}", Place(path, "the document"))
            }
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
            // Where the text of an error is a part of this error's own text, the chain goes on behind it.
            Error::Driver(e) => e.source(),
            Error::Duplicate { source, .. } => Some(source),
            Error::Decode { source, .. } => source.source(),
            Error::Encode { source, .. } => source.source(),
            Error::Schema(e) => e.source(),
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
        if self.0.is_empty() {
            f.write_str(self.1)
        } else {
            write!(f, "`{}`", self.0)
        }
    }
}

//! Errors of index declarations and of their comparison with the server.

use std::fmt;

use crate::bson::Document;
use crate::driver;
use crate::json::relaxed;

/// Why a schema plan could not be made or applied.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SchemaError {
    /// An index of that name, or on those keys, exists with other options.
    OptionsConflict {
        /// `database.collection`.
        namespace: String,
        /// The name of the declared index.
        index: String,
        /// The specification that exists, or that another model declares.
        have: Box<Document>,
        /// The specification that is declared.
        want: Box<Document>,
    },
    /// An index of that name exists on other keys.
    KeySpecsConflict {
        /// `database.collection`.
        namespace: String,
        /// The name of the declared index.
        index: String,
        /// The specification that exists, or that another model declares.
        have: Box<Document>,
        /// The specification that is declared.
        want: Box<Document>,
    },
    /// The server refused to create an index because of another one that was created since the plan was made.
    Raced {
        /// `database.collection`.
        namespace: String,
        /// The driver's error, with what the server says.
        source: driver::Error,
    },
    /// A declaration that no server accepts.
    InvalidIndex {
        /// The model that declares it.
        model: &'static str,
        /// The name of the declared index.
        index: String,
        /// What is wrong.
        reason: String,
    },
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchemaError::OptionsConflict {
                namespace,
                index,
                have,
                want,
            } => write!(
                f,
                "index `{index}` of {namespace} differs in its options: have {}, want {}",
                relaxed(&**have),
                relaxed(&**want)
            ),
            SchemaError::KeySpecsConflict {
                namespace,
                index,
                have,
                want,
            } => write!(
                f,
                "index `{index}` of {namespace} is on other keys: have {}, want {}",
                relaxed(&**have),
                relaxed(&**want)
            ),
            SchemaError::Raced { namespace, source } => {
                write!(
                    f,
                    "an index of {namespace} was created differently since the plan was made: {source}"
                )
            }
            SchemaError::InvalidIndex { model, index, reason } => {
                write!(f, "index `{index}` of model `{model}`: {reason}")
            }
        }
    }
}

impl std::error::Error for SchemaError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Its text is a part of this error's own text already.
            SchemaError::Raced { source, .. } => source.source(),
            _ => None,
        }
    }
}

//! Errors of index declarations and of their comparison with existing indexes.

use std::fmt;

use crate::bson::Document;
use crate::driver;
use crate::json::relaxed;

/// The reason why a schema plan cannot be made or applied.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SchemaError {
    /// An index with the same name or the same keys exists with other options, or one with the same
    /// keys under another name although the declared name is explicit. Change the declaration, or
    /// drop the existing index; for another name see
    /// [`renamed_from`](crate::index::IndexDeclaration::renamed_from).
    OptionsConflict {
        /// The collection, as `database.collection`.
        namespace: String,
        /// The name of the declared index.
        index: String,
        /// The specification of the existing index, as `listIndexes` returns it.
        existing: Box<Document>,
        /// The declared specification.
        declared: Box<Document>,
    },
    /// An index with the same name exists on other keys. Give the declared index another name, or
    /// drop the existing index.
    KeySpecsConflict {
        /// The collection, as `database.collection`.
        namespace: String,
        /// The name of the declared index.
        index: String,
        /// The specification of the existing index, as `listIndexes` returns it.
        existing: Box<Document>,
        /// The declared specification.
        declared: Box<Document>,
    },
    /// Two registered models declare the same index of a collection with different specifications.
    ConflictingDeclarations {
        /// The collection, as `database.collection`.
        namespace: String,
        /// The name of the index in the second declaration.
        index: String,
        /// The names of the models, in the order of their registration. Equal if one model declares
        /// both.
        models: [&'static str; 2],
        /// The specification that the first model declares.
        first: Box<Document>,
        /// The specification that the second model declares.
        second: Box<Document>,
    },
    /// The server rejected an index because a conflicting one was created after the plan was made.
    /// A new plan contains the conflict.
    ConcurrentChange {
        /// The collection, as `database.collection`.
        namespace: String,
        /// The error of the driver, with the server's reply.
        source: driver::Error,
    },
    /// A declaration that the server would reject: without keys, with keys in two arrays, with an
    /// invalid partial filter, or of the index on `_id`.
    InvalidIndex {
        /// The name of the model that declares it.
        model: &'static str,
        /// The name of the declared index.
        index: String,
        /// Why the declaration is invalid.
        reason: String,
    },
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchemaError::OptionsConflict {
                namespace,
                index,
                existing,
                declared,
            } => write!(
                f,
                "index `{index}` of {namespace} differs in its options: existing {}, declared {}; \
                 change the declaration, or drop the existing index",
                relaxed(&**existing),
                relaxed(&**declared)
            ),
            SchemaError::KeySpecsConflict {
                namespace,
                index,
                existing,
                declared,
            } => write!(
                f,
                "index `{index}` of {namespace} has other keys: existing {}, declared {}; \
                 give the declared index another name, or drop the existing index",
                relaxed(&**existing),
                relaxed(&**declared)
            ),
            SchemaError::ConflictingDeclarations {
                namespace,
                index,
                models: [one, other],
                first,
                second,
            } => write!(
                f,
                "index `{index}` of {namespace} is declared twice: {} by model `{one}`, {} by model `{other}`; make the \
                 declarations equal, or give the indexes different names and keys",
                relaxed(&**first),
                relaxed(&**second)
            ),
            SchemaError::ConcurrentChange { namespace, source } => {
                write!(
                    f,
                    "a conflicting index of {namespace} was created after the plan was made: {source}"
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
            // `Display` contains the text of the source.
            SchemaError::ConcurrentChange { source, .. } => source.source(),
            _ => None,
        }
    }
}

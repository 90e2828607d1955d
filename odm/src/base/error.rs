//! The errors of the ODM. An error names the path that it concerns; an error of the driver is its
//! source.

use std::fmt;
use std::sync::Arc;

use crate::{
    base::bson::{Bson, DecodeError, Document},
    driver,
};

mod applied;
mod bulk;
mod convert;
mod display;
mod invalid;
mod performed;
mod predicates;
mod schema;
mod shard_key;
mod unsupported;
mod value;

pub use applied::{Applied, DuplicateKey, IndexChange};
pub(crate) use bulk::BulkOutcome;
pub use bulk::{BulkOperation, FailedWrite, FailedWriteReason};
pub(crate) use convert::STAGE_OF_ATLAS;
pub(crate) use display::with_sources;
use display::{Id, Location};
pub use invalid::{InvalidField, InvalidFields};
pub use performed::PerformedWrites;
pub use schema::SchemaError;
use shard_key::ShardKeyAdvice;
pub use unsupported::{Requirement, UnsupportedFeature};
pub use value::ValueError;

/// The result of an ODM call, with [`Error`] as the default error type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of a validation, a hook or an upgrade of a document.
pub type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// The error of an ODM call. Cheap to clone.
///
/// `Display` prints what is wrong and where. It does not repeat the text of
/// [`source`](std::error::Error::source). The alternate form `{error:#}` prints the causes, too: log this one.
/// Match on the variants, or use the predicates (`is_*`), which also look into bulk writes and errors of the driver.
///
/// ```no_run
/// # use marula::{Document, Error};
/// # #[derive(Document)]
/// # #[document(collection = "people")]
/// # struct Person { _id: i64 }
/// # async fn run(people: marula::Collection<Person>, person: Person) {
/// match people.insert_one(&person).await {
///     Ok(_) => println!("inserted"),
///     Err(Error::Duplicate { index, .. }) => println!("exists already, by {index:?}"),
///     Err(error) if error.is_validation() => println!("invalid: {error:#}"),
///     Err(error) if error.is_unavailable() => println!("try again later: {error}"),
///     Err(error) => println!("{error}"),
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// Any other error of the driver: of the server, of the network, of the configuration, or a
    /// timeout. [`ErrorKind`](driver::ErrorKind) distinguishes them.
    Driver(driver::Error),
    /// A write violates a unique index (`E11000 duplicate key error`).
    ///
    /// If several writes of an `insert_many` failed, `index` and `key` are those of the first
    /// duplicate key. `source` has the error of each write in
    /// [`write_errors`](driver::Error::write_errors): its index in the call, and the duplicate
    /// value as [`key_value`](driver::WriteError::key_value).
    Duplicate {
        /// The name of the index, if the server's message contains it.
        index: Option<String>,
        /// The key pattern of the index, if the server's reply contains it.
        key: Option<Box<Document>>,
        /// The error of the driver, with the server's reply.
        source: driver::Error,
    },
    /// A stored document does not have the form of its model.
    Decode {
        /// `database.collection`.
        collection: String,
        /// The `_id` of the document, if it has one.
        id: Option<Box<Bson>>,
        /// The path of the invalid field, such as `lines[2].sku`; empty for the document as a
        /// whole.
        path: String,
        /// The error of the codec.
        source: DecodeError,
    },
    /// A write needs an id that neither the call nor the model provides: an upsert of a model whose
    /// ids are set by the application, or a document whose id is `None` where it must be set.
    /// Nothing was sent.
    MissingId {
        /// `database.collection`.
        collection: String,
        /// Why the id is missing, and what to do.
        reason: &'static str,
    },
    /// The stored document has another version than the struct that replaces it, or does not exist: it was
    /// changed or deleted since it was read; see [`Collection::replace`](crate::Collection::replace). Read it
    /// again, and repeat the change.
    VersionConflict {
        /// `database.collection`.
        collection: String,
        /// The `_id` of the document.
        id: Option<Box<Bson>>,
    },
    /// The stored document with the id of the struct has another [shard key](crate::guide::schema#shard-keys) than the struct:
    /// it was changed in the struct or in the collection since the document was read. Nothing was written. Change the shard key
    /// of a document with [`Collection::save_changes`](crate::Collection::save_changes), or with
    /// [`Collection::update_one`](crate::Collection::update_one), whose filter has the present shard key.
    ShardKeyChanged {
        /// `database.collection`.
        collection: String,
        /// The `_id` of the document.
        id: Box<Bson>,
        /// The declared shard key.
        key: Box<Document>,
    },
    /// A stored document has a newer version than the model, see [`Versioned`](crate::Versioned): a newer
    /// release of the application has written it. Deploy a release whose model has that version.
    NewerSchema {
        /// The name of the model's struct.
        model: &'static str,
        /// `database.collection`.
        collection: String,
        /// The `_id` of the document, if it has one.
        id: Option<Box<Bson>>,
        /// The version of the document.
        stored: i64,
        /// The version of the model.
        supported: u32,
    },
    /// A stored document of an older version could not be upgraded, see
    /// [`Versioned`](crate::Versioned). A read writes nothing, and an update by operators was not sent.
    Upgrade {
        /// The name of the model's struct.
        model: &'static str,
        /// `database.collection`.
        collection: String,
        /// The `_id` of the document, if it has one.
        id: Option<Box<Bson>>,
        /// The version from which the upgrade failed.
        from: u32,
        /// The error of the function.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// A document is invalid by the functions of `#[document(validate = …)]`. Nothing was sent. With
    /// `validate = garde` and `validate = validator`, [`invalid_fields`](Error::invalid_fields) names the
    /// fields.
    Validation {
        /// The name of the model's struct.
        model: &'static str,
        /// The error of the function.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// A hook failed; see [`Hooks`](crate::Hooks). Nothing was sent by a hook before a write.
    Hook {
        /// The name of the model's struct.
        model: &'static str,
        /// The name of the hook, such as `before_insert`.
        hook: &'static str,
        /// The error of the hook.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// The collection is sharded, and the call selects one document by a filter that does not contain the shard
    /// key: before MongoDB 7.0 the server cannot find its shard. Or the call changes the shard key of a document.
    /// `Display` says which condition the filter of the call needs.
    ShardKey {
        /// `database.collection`.
        collection: String,
        /// The shard key, if it could be read from the cluster.
        key: Option<Box<Document>>,
        /// The method, such as `update_one`.
        call: &'static str,
        /// Whether the call is an upsert.
        upsert: bool,
        /// The error of the driver, with the server's message.
        source: driver::Error,
    },
    /// The deployment has no search: it is neither Atlas nor has `mongot`, and the pipeline has a stage such as `$search` or
    /// `$vectorSearch`.
    SearchUnsupported {
        /// The error of the driver, with the server's message.
        source: driver::Error,
    },
    /// No document matches, and the call requires one.
    NotFound {
        /// `database.collection`.
        collection: String,
    },
    /// More than one document matches, and the call requires exactly one.
    MoreThanOne {
        /// `database.collection`.
        collection: String,
    },
    /// A page token is malformed, longer than 64 KiB, or belongs to another sort, or the
    /// [`TokenKey`](crate::TokenKey) of the query did not issue it for its context; see
    /// [`Find::keyset`](crate::collection::Find::keyset). A web application that receives tokens
    /// from its clients should reply with a client error (4xx).
    InvalidPageToken,
    /// A value in a filter, an update or a document cannot be encoded as BSON. For the documents
    /// of an `insert_many`, earlier ones may have been inserted.
    Encode {
        /// The dotted path of the field of the value; empty for a whole document.
        path: String,
        /// Why the value has no BSON form.
        source: ValueError,
    },
    /// A document to insert or to replace has another value than the [scope](crate::Collection::scoped) of the handle requires. Nothing
    /// was sent. A web application should reply as if the client has no right to the document.
    OutOfScope {
        /// `database.collection`.
        collection: String,
        /// The dotted path of the field.
        path: String,
    },
    /// A filter that is known to be invalid, or a filter without conditions in a write. Nothing
    /// was sent.
    InvalidFilter {
        /// The dotted path that is invalid; empty for the filter as a whole.
        path: String,
        /// Why it is invalid, and what to do.
        reason: String,
    },
    /// An update that is known to be invalid, or that would change other values than those it
    /// names. Nothing was sent.
    InvalidUpdate {
        /// The dotted path that is invalid; empty for the update as a whole.
        path: String,
        /// Why it is invalid, and what to do.
        reason: String,
    },
    /// An aggregation pipeline or a projection that the server would reject, or that would read
    /// another value than the one it names. Nothing was sent.
    InvalidPipeline {
        /// The dotted path that is invalid; empty for the pipeline as a whole.
        path: String,
        /// Why it is invalid, and what to do.
        reason: String,
    },
    /// An invalid argument: a page size of 0, a keyset page sorted by a field that a document does
    /// not have, or a `distinct` of an array or of an enum variant inside an array.
    InvalidArgument {
        /// Which argument is invalid, and why.
        reason: String,
    },
    /// Writes of a bulk write had no effect: the server rejected them, or the stored documents have other
    /// versions. Or another error occurred after writes were performed. An ordered bulk write stops at the
    /// first write that is rejected. See [`Collection::bulk`](crate::Collection::bulk).
    BulkWrite {
        /// The writes that failed, in the order of the call. Empty if only another error occurred.
        failed: Vec<FailedWrite>,
        /// The results of the writes that were performed.
        performed: Box<PerformedWrites>,
        /// The error that ended the bulk write, or else the first error of the driver. Its indexes are those
        /// of the command that it belongs to, not of the call. `None` if there are version conflicts only.
        source: Option<driver::Error>,
    },
    /// A write of a bulk write is invalid. Nothing was sent.
    InvalidBulkWrite {
        /// Which write is invalid.
        operation: BulkOperation,
        /// Why it is invalid.
        source: Box<Error>,
    },
    /// A sort name is not in the list of allowed names, see [`SortNames`](crate::SortNames). A web
    /// application that receives names from its clients should reply with a client error (4xx).
    UnknownSort {
        /// The name, truncated to 64 characters.
        name: String,
        /// The allowed names.
        allowed: Vec<String>,
    },
    /// A filter name or its comparison is not in the list of allowed ones, see [`FilterNames`](crate::filter::FilterNames). A web
    /// application should reply with a client error (400).
    UnknownFilter {
        /// The name with its comparison, such as `total[gte]`, truncated to 64 characters.
        name: String,
        /// The allowed names with their comparisons.
        allowed: Vec<String>,
    },
    /// The value of an allowed filter name is not of the type of the field, or there are too many, see
    /// [`FilterNames`](crate::filter::FilterNames). A web application should reply with a client error (400).
    InvalidFilterValue {
        /// The name with its comparison, truncated to 64 characters.
        name: String,
        /// What is wrong. It does not contain the value.
        reason: String,
    },
    /// Index declarations are invalid, or conflict with one another or with existing indexes; see
    /// [`schema`](crate::schema).
    Schema(SchemaError),
}

impl Error {
    /// The error of the value at a path. The path of the part within the value is added.
    pub(crate) fn encode(path: impl Into<String>, mut source: ValueError) -> Self {
        let (mut path, inner) = (path.into(), source.take_path());
        if !path.is_empty() && !inner.is_empty() && !inner.starts_with('[') {
            path.push('.');
        }
        path.push_str(&inner);
        Error::Encode { path, source }
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

    pub(crate) fn pipeline(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::InvalidPipeline {
            path: path.into(),
            reason: reason.into(),
        }
    }

    pub(crate) fn hook(model: &'static str, hook: &'static str, source: BoxedError) -> Self {
        Error::Hook {
            model,
            hook,
            source: source.into(),
        }
    }

    pub(crate) fn argument(reason: impl Into<String>) -> Self {
        Error::InvalidArgument {
            reason: reason.into(),
        }
    }

    /// The error of the driver that caused this one, with its code, labels and server reply. `None`
    /// for an error of the ODM itself.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let error = orders.find(|_| Filter::raw(doc! { "$no": 1 })).await.unwrap_err();
    /// assert_eq!(error.driver().and_then(|e| e.code()), Some(2)); // BadValue
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn driver(&self) -> Option<&driver::Error> {
        match self {
            Error::Driver(e)
            | Error::Duplicate { source: e, .. }
            | Error::ShardKey { source: e, .. }
            | Error::SearchUnsupported { source: e }
            | Error::BulkWrite { source: Some(e), .. }
            | Error::Schema(
                SchemaError::ConcurrentChange { source: e, .. }
                | SchemaError::BuildInProgress { source: Some(e), .. }
                | SchemaError::ShardKeyIndex { source: e, .. }
                | SchemaError::SearchUnsupported { source: e, .. }
                | SchemaError::Duplicates { source: Some(e), .. },
            ) => Some(e),
            Error::Schema(SchemaError::PartlyApplied { source, .. }) => source.driver(),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return with_sources(f, self);
        }
        match self {
            Error::Driver(e) => e.fmt(f),
            Error::Duplicate { index, key, source } => {
                f.write_str("a document with the same key exists")?;
                if let Some(index) = index {
                    write!(f, " in the unique index `{index}`")?;
                }
                if let Some(key) = key {
                    let fields: Vec<&str> = key.keys().map(String::as_str).collect();
                    write!(f, " (fields {})", fields.join(", "))?;
                }
                match source.kind() {
                    driver::ErrorKind::BulkWrite(bulk) => convert::failed_writes(f, &bulk.write_errors),
                    _ => Ok(()),
                }
            }
            Error::Decode {
                collection,
                id,
                path,
                source,
            } => {
                match id {
                    Some(id) => write!(f, "document {} of {collection}", Id(Some(id), ""))?,
                    None => write!(f, "a document or a value of {collection}")?,
                }
                let path = Location(path, "its top level");
                write!(f, " cannot be read at {path}: {}", source.message())?;
                match source.type_found() {
                    Some(found) => write!(f, ", found {found}"),
                    None => Ok(()),
                }
            }
            Error::MissingId { collection, reason } => {
                write!(f, "an id is missing in a call on {collection}: {reason}")
            }
            Error::ShardKeyChanged { collection, id, key } => {
                let id = Id(Some(&**id), "");
                let fields: Vec<String> = key.keys().map(|field| format!("`{field}`")).collect();
                write!(
                    f,
                    "document {id} of {collection} is stored with another shard key ({}) than that of the struct: to change the shard \
                     key, use `save_changes`, or `update_one` with a filter that has the present shard key",
                    fields.join(", ")
                )
            }
            Error::VersionConflict { collection, id } => {
                let id = Id(id.as_deref(), "with the id of the struct");
                write!(
                    f,
                    "document {id} of {collection} was changed or deleted since it was read"
                )
            }
            Error::NewerSchema {
                model,
                collection,
                id,
                stored,
                supported,
            } => write!(
                f,
                "document {} of {collection} has the schema version {stored}, and the model `{model}` supports versions up to \
                 {supported}; deploy a release of the application whose model has version {stored}",
                Id(id.as_deref(), "with an unknown id")
            ),
            Error::Upgrade {
                model,
                collection,
                id,
                from,
                ..
            } => write!(
                f,
                "document {} of {collection} cannot be upgraded from version {from} by the model `{model}`",
                Id(id.as_deref(), "with an unknown id")
            ),
            Error::Validation { model, .. } => write!(f, "the document of {model} is invalid"),
            Error::Hook { model, hook, .. } => write!(f, "the hook {hook} of {model} failed"),
            Error::UnknownSort { name, allowed } => {
                write!(f, "unknown sort {name:?}: expected one of {}", allowed.join(", "))
            }
            Error::UnknownFilter { name, allowed } => {
                write!(
                    f,
                    "unknown filter {name:?}: expected one of {}",
                    allowed.join(", ")
                )
            }
            Error::InvalidFilterValue { name, reason } => {
                write!(f, "the value of the filter {name:?} is invalid: {reason}")
            }
            Error::ShardKey {
                collection,
                key,
                call,
                upsert,
                source,
            } => {
                write!(f, "{collection} is sharded")?;
                if let Some(key) = key {
                    let fields: Vec<String> = key.keys().map(|field| format!("`{field}`")).collect();
                    write!(f, " by {}", fields.join(", "))?;
                }
                let advice = ShardKeyAdvice {
                    call,
                    is_upsert: *upsert,
                    source,
                };
                write!(f, ", and {advice}. The server: {source}")
            }
            Error::SearchUnsupported { .. } => f.write_str(
                "the deployment has no search: `$search`, `$searchMeta` and `$vectorSearch` need Atlas, or a deployment with `mongot`",
            ),
            Error::NotFound { collection } => write!(f, "no document of {collection} matches"),
            Error::MoreThanOne { collection } => {
                write!(f, "more than one document of {collection} matches")
            }
            Error::InvalidPageToken => f.write_str("the page token was not issued by this query"),
            Error::Encode { path, source } => {
                write!(f, "cannot encode {}: {source}", Location(path, "the document"))
            }
            Error::OutOfScope { collection, path } => {
                write!(
                    f,
                    "`{path}` of the document for {collection} does not have the value that the scope of the handle requires"
                )
            }
            Error::InvalidFilter { path, reason } => {
                write!(
                    f,
                    "invalid filter at {}: {reason}",
                    Location(path, "its top level")
                )
            }
            Error::InvalidUpdate { path, reason } => {
                write!(
                    f,
                    "invalid update at {}: {reason}",
                    Location(path, "its top level")
                )
            }
            Error::InvalidPipeline { path, reason } => {
                write!(
                    f,
                    "invalid pipeline at {}: {reason}",
                    Location(path, "its top level")
                )
            }
            Error::BulkWrite { failed, .. } => bulk::list(f, failed),
            Error::InvalidBulkWrite { operation, .. } => {
                write!(f, "the bulk write is invalid at its {operation}")
            }
            Error::InvalidArgument { reason } => write!(f, "invalid argument: {reason}"),
            Error::Schema(e) => write!(f, "schema: {e}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // `Display` of these variants contains the text of their source, so the chain continues
            // with the source's source.
            Error::Driver(e) => e.source(),
            Error::Duplicate { source, .. } | Error::SearchUnsupported { source } => Some(source),
            Error::ShardKey { source, .. } => source.source(),
            Error::BulkWrite { source, .. } => source.as_ref().map(|e| e as _),
            Error::InvalidBulkWrite { source, .. } => Some(source),
            Error::Validation { source, .. } | Error::Hook { source, .. } | Error::Upgrade { source, .. } => {
                Some(&**source)
            }
            Error::Decode { source, .. } => source.source(),

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

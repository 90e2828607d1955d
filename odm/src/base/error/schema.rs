//! Errors of index declarations and of their comparison with existing indexes.

use std::fmt;
use std::time::Duration;

use crate::{
    base::{
        bson::{DateTime, Document},
        error::{Applied, DuplicateKey, Error, UnsupportedFeature},
        relaxed_json::relaxed,
    },
    driver::{self, error::code},
};

/// What to do about encrypted fields that differ.
const ENCRYPTED_FIELDS_ADVICE: &str = "they cannot be changed: undo the change of the model, or register it for a new collection \
                                       and copy the documents through a client with automatic encryption";

/// What to add about an index that takes the place of an existing text index.
fn about_text(existing: &Document, declared: &Document) -> &'static str {
    let is_text = |index: &Document| {
        let keys = index.get_document("key");
        keys.is_ok_and(|keys| keys.values().any(|kind| kind.as_str() == Some("text")))
    };
    if is_text(existing) && is_text(declared) {
        " (a collection can have only one text index)"
    } else {
        ""
    }
}

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
        /// The names of the options that differ, such as `sparse`; `name` for the name.
        differences: Vec<String>,
        /// Whether `collMod` of the server can change all of them; otherwise the index must be
        /// dropped and built again.
        can_change: bool,
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
    /// A collection exists with other options than those that are declared.
    CollectionConflict {
        /// The collection, as `database.collection`.
        namespace: String,
        /// The names of the options that differ.
        differences: Vec<String>,
        /// Whether the server can change all of them; otherwise only a new collection can have
        /// them.
        can_change: bool,
        /// The existing options, as `listCollections` returns them.
        existing: Box<Document>,
        /// The declared options.
        declared: Box<Document>,
    },
    /// Two models that are registered for one collection declare different options for it.
    ConflictingOptions {
        /// The collection, as `database.collection`.
        namespace: String,
        /// The names of the models, in the order of their registration.
        models: [&'static str; 2],
        /// The options that the first model declares.
        first: Box<Document>,
        /// The options that the second model declares.
        second: Box<Document>,
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
    /// A unique index cannot be built, because documents have the same key.
    Duplicates {
        /// The collection, as `database.collection`.
        namespace: String,
        /// The name of the declared index.
        index: String,
        /// Some of the keys that several documents have. Empty if they have only elements of arrays
        /// in common.
        samples: Vec<DuplicateKey>,
        /// The error of the driver, if the server found the duplicates.
        source: Option<driver::Error>,
    },
    /// Another instance of the application has been changing indexes for longer than
    /// [`Apply::lease_wait`](crate::schema::Apply::lease_wait). Nothing was done.
    LeaseTimeout {
        /// The database.
        database: String,
        /// The id of the other instance, as in the collection `marula_schema`.
        holder: String,
        /// When the lease of the other instance expires unless it is renewed.
        expires_at: DateTime,
    },
    /// Other clients have been building indexes of the collection for longer than
    /// [`Apply::lease_wait`](crate::schema::Apply::lease_wait): a declared index, or another one,
    /// until whose build ends the server changes and drops nothing. Apply a new plan when the
    /// builds have ended.
    BuildInProgress {
        /// The collection, as `database.collection`.
        namespace: String,
        /// What was not done, such as "the change of index `a_1`".
        prevented: String,
        /// The names of the indexes that are being built. Empty if the server does not list them:
        /// MongoDB 4.2, a standalone, and with the strict Stable API; or if the index is one of
        /// another collection of the database.
        building: Vec<String>,
        /// How long was waited.
        waited: Duration,
        /// The error of the driver, with the server's reply. `None` if a declared index is being
        /// built.
        source: Option<driver::Error>,
    },
    /// The collection is sharded, and an index that must be dropped, to build it again or because
    /// it is obsolete, is the only one that supports the shard key (MongoDB 6.0+).
    ShardKeyIndex {
        /// The collection, as `database.collection`.
        namespace: String,
        /// The name of the index.
        index: String,
        /// The shard key, if it could be read from the cluster.
        key: Option<Box<Document>>,
        /// The error of the driver, with the server's reply.
        source: driver::Error,
    },
    /// The collection is sharded by another shard key than the declared one.
    ShardKeyConflict {
        /// The collection, as `database.collection`.
        namespace: String,
        /// Whether the declared shard key only has further fields, which the server can add (MongoDB 4.4+);
        /// otherwise the collection must be resharded.
        can_change: bool,
        /// The existing shard key.
        existing: Box<Document>,
        /// The declared shard key. It can be equal, if only one of both is unique.
        declared: Box<Document>,
    },
    /// The lease expired while indexes were changed, because the server could not be reached, or
    /// because no connection was free to renew it. The last command may have taken effect; a new
    /// plan shows what is left. The source of [`PartlyApplied`](SchemaError::PartlyApplied) if
    /// steps were taken before.
    LeaseLost,
    /// The existing indexes are not those that are declared, and
    /// [`SyncMode::Verify`](crate::schema::SyncMode::Verify) changes none.
    NotInSync {
        /// The plan that would change them, as it is printed.
        plan: String,
    },
    /// The plan was applied in part. A new plan contains the rest.
    PartlyApplied {
        /// What was done.
        applied: Box<Applied>,
        /// Why it was not continued.
        source: Box<Error>,
    },
    /// The server rejected an index because a conflicting one was created after the plan was made.
    /// A new plan contains the conflict.
    ConcurrentChange {
        /// The collection, as `database.collection`.
        namespace: String,
        /// The error of the driver, with the server's reply.
        source: driver::Error,
    },
    /// Search indexes are declared, and the deployment has no search: it is neither Atlas nor has
    /// `mongot`. Nothing was done. [`SearchMode`](crate::schema::SearchMode) permits such
    /// deployments.
    SearchUnsupported {
        /// The collection, as `database.collection`.
        namespace: String,
        /// The names of the declared search indexes.
        indexes: Vec<String>,
        /// The error of the driver, with the server's reply.
        source: driver::Error,
    },
    /// A search index exists with another definition or another type.
    SearchIndexConflict {
        /// The collection, as `database.collection`.
        namespace: String,
        /// The name of the index.
        index: String,
        /// Whether the definition can be replaced; otherwise the type differs, and the index must
        /// be dropped.
        can_change: bool,
        /// The existing definition.
        existing: Box<Document>,
        /// The declared definition.
        declared: Box<Document>,
    },
    /// The server could not build a search index.
    SearchIndexFailed {
        /// The collection, as `database.collection`.
        namespace: String,
        /// The name of the index.
        index: String,
        /// The reason, as `$listSearchIndexes` returns it.
        message: String,
    },
    /// Queries cannot use declared search indexes after the time of
    /// [`Apply::wait_for_search`](crate::schema::Apply::wait_for_search). The server may still
    /// build them.
    SearchIndexTimeout {
        /// The collection, the name and the status of each, such as `BUILDING`; `MISSING` if it
        /// does not exist.
        pending: Vec<(String, String, String)>,
        /// How long they were waited for.
        waited: Duration,
    },
    /// An encrypted field is declared where it cannot be encrypted: in an array, a map or an enum,
    /// in the id, in a type that contains itself, or with an invalid range; or the options of its
    /// collection exclude encryption.
    InvalidEncryption {
        /// The name of the model that declares it.
        model: &'static str,
        /// The stored path of the field. Empty if the reason concerns the collection or a type.
        path: String,
        /// Why the declaration is invalid.
        reason: String,
    },
    /// A registered model has encrypted fields, and the schema has no data keys: call
    /// `Schema::encryption`.
    EncryptionNotConfigured {
        /// The collection, as `database.collection`.
        namespace: String,
        /// The name of the model.
        model: &'static str,
    },
    /// A collection exists with other encrypted fields than those that are declared. They cannot be
    /// changed: only a new collection can have others.
    EncryptedFieldsConflict {
        /// The collection, as `database.collection`.
        namespace: String,
        /// What differs, a sentence for each field.
        differences: Vec<String>,
        /// `encryptedFields` of the collection. Empty if it is not encrypted.
        existing: Box<Document>,
        /// The declared `encryptedFields`.
        declared: Box<Document>,
    },
    /// An encrypted collection does not exist, so that its data keys are not known. Apply the
    /// schema first.
    NotEncryptedYet {
        /// The collection, as `database.collection`.
        namespace: String,
    },
    /// A declaration, or a change of an existing collection that only the command `collMod` can
    /// make, needs a newer server, a replica set, or a client that does not declare the strict
    /// Stable API. Nothing was changed.
    Unsupported {
        /// All that is not supported.
        features: Vec<UnsupportedFeature>,
    },
    /// Options of a collection that the server would reject: sizes and times out of range, or the
    /// fields of a time series.
    InvalidCollection {
        /// The name of the model that declares them.
        model: &'static str,
        /// The collection, as `database.collection`.
        namespace: String,
        /// Why the declaration is invalid.
        reason: String,
    },
    /// A declaration that the server would reject: without keys, with keys in two arrays, with an
    /// invalid partial filter, with a collation of a text index, or of the index on `_id`.
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
                differences,
                can_change,
                existing,
                declared,
            } => write!(
                f,
                "index `{index}` of {namespace} differs in {}: existing {}, declared {}{}; change the declaration, or let {}",
                differences.join(", "),
                relaxed(&**existing),
                relaxed(&**declared),
                about_text(existing, declared),
                if *can_change {
                    "`SyncMode::Full` or `Apply::coll_mod` (`--coll-mod`) change the index"
                } else {
                    "`SyncMode::Full` or `Apply::rebuild` (`--rebuild`) drop the index and build it again"
                }
            ),
            SchemaError::KeySpecsConflict {
                namespace,
                index,
                existing,
                declared,
            } => write!(
                f,
                "index `{index}` of {namespace} has other keys: existing {}, declared {}{}; {}let `SyncMode::Full` or \
                 `Apply::rebuild` (`--rebuild`) drop the existing index and build the declared one",
                relaxed(&**existing),
                relaxed(&**declared),
                about_text(existing, declared),
                if about_text(existing, declared).is_empty() {
                    "give the declared index another name, or "
                } else {
                    "change the declaration, or "
                }
            ),
            SchemaError::CollectionConflict {
                namespace,
                differences,
                can_change,
                existing,
                declared,
            } => write!(
                f,
                "the collection {namespace} differs in {}: existing {}, declared {}; {}",
                differences.join(", "),
                relaxed(&**existing),
                relaxed(&**declared),
                if *can_change {
                    "allow the change with `Apply::coll_mod` (`--coll-mod`)"
                } else {
                    "change the declaration, or copy the documents to a new collection"
                }
            ),
            SchemaError::ConflictingOptions {
                namespace,
                models: [one, other],
                first,
                second,
            } => write!(
                f,
                "the collection {namespace} is declared twice: {} by model `{one}`, {} by model `{other}`; declare its \
                 options in one of them",
                relaxed(&**first),
                relaxed(&**second)
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
            SchemaError::Duplicates {
                namespace,
                index,
                samples,
                ..
            } => {
                write!(
                    f,
                    "index `{index}` of {namespace} cannot be unique, because documents have the same key"
                )?;
                let samples: Vec<String> = samples.iter().map(ToString::to_string).collect();
                if !samples.is_empty() {
                    write!(f, ": ids {}", samples.join("; "))?;
                }
                f.write_str("; change or delete all but one of them")
            }
            SchemaError::LeaseTimeout {
                database,
                holder,
                expires_at,
            } => write!(
                f,
                "instance {holder} is changing indexes of the database {database}; its lease expires at {}",
                expires_at.try_to_rfc3339_string().unwrap_or_default()
            ),
            SchemaError::BuildInProgress {
                namespace,
                prevented,
                building,
                waited,
                ..
            } => {
                write!(
                    f,
                    "{prevented} of {namespace} has waited {waited:?} for index builds of other clients"
                )?;
                if !building.is_empty() {
                    write!(f, " ({})", building.join(", "))?;
                }
                f.write_str("; apply again when they have ended, or wait longer with `Apply::lease_wait`")
            }
            SchemaError::ShardKeyIndex {
                namespace,
                index,
                key,
                ..
            } => {
                write!(
                    f,
                    "index `{index}` of {namespace} cannot be dropped: it is the only index that begins with the shard key"
                )?;
                if let Some(key) = key {
                    write!(f, " {}", relaxed(&**key))?;
                }
                f.write_str("; create another index that begins with the shard key first, with a name and keys of its own")
            }
            SchemaError::LeaseLost => f.write_str("the lease to change indexes has expired; make a new plan"),
            SchemaError::NotInSync { plan } => {
                write!(
                    f,
                    "the existing collections and indexes are not those that are declared:\n{plan}"
                )
            }
            SchemaError::PartlyApplied { applied, .. } => {
                write!(f, "the plan was applied in part ({applied})")
            }
            SchemaError::ConcurrentChange { namespace, source } => {
                write!(
                    f,
                    "{namespace} or a conflicting index of it was created after the plan was made: {source}"
                )
            }
            SchemaError::SearchUnsupported {
                namespace,
                indexes,
                source,
            } => write!(
                f,
                "{namespace} declares the search indexes {}, and {}, or permit this with `Schema::search(SearchMode::Optional)`",
                indexes.join(", "),
                if source.code() == Some(code::API_STRICT_ERROR) {
                    "the client declares the strict Stable API, which does not contain them; use a client without `apiStrict`"
                } else {
                    "the deployment has no search; use Atlas or a deployment with mongot"
                }
            ),
            SchemaError::SearchIndexConflict {
                namespace,
                index,
                can_change,
                existing,
                declared,
            } => write!(
                f,
                "search index `{index}` of {namespace} differs: existing {}, declared {}; {}",
                relaxed(&**existing),
                relaxed(&**declared),
                if *can_change {
                    "change the declaration, or allow the update with `Apply::coll_mod` (`--coll-mod`)"
                } else {
                    "its type cannot change: give the declared index another name, or allow to drop it with `Apply::rebuild` (`--rebuild`)"
                }
            ),
            SchemaError::SearchIndexFailed {
                namespace,
                index,
                message,
            } => write!(
                f,
                "search index `{index}` of {namespace} could not be built: {message}"
            ),
            SchemaError::SearchIndexTimeout { pending, waited } => {
                write!(f, "search indexes cannot be used by queries after {waited:?}: ")?;
                let pending: Vec<String> = pending
                    .iter()
                    .map(|(namespace, index, status)| format!("`{index}` of {namespace} ({status})"))
                    .collect();
                f.write_str(&pending.join(", "))
            }
            SchemaError::InvalidEncryption { model, path, reason } if path.is_empty() => {
                write!(f, "the encrypted fields of model `{model}`: {reason}")
            }
            SchemaError::InvalidEncryption { model, path, reason } => {
                write!(f, "the encrypted field `{path}` of model `{model}`: {reason}")
            }
            SchemaError::EncryptionNotConfigured { namespace, model } => write!(
                f,
                "model `{model}` of {namespace} has encrypted fields, and the schema has no data keys for them; call \
                 `Schema::encryption(DataKeys::new(client_encryption, provider))`"
            ),
            SchemaError::EncryptedFieldsConflict {
                namespace,
                differences,
                ..
            } => write!(
                f,
                "the encrypted fields of {namespace} are not those that are declared: {}; {ENCRYPTED_FIELDS_ADVICE}",
                differences.join("; ")
            ),
            SchemaError::NotEncryptedYet { namespace } => write!(
                f,
                "{namespace} does not exist, so that its encrypted fields have no data keys; create it with `Schema::sync` first"
            ),
            SchemaError::Unsupported { features } => {
                let features: Vec<String> = features.iter().map(ToString::to_string).collect();
                f.write_str(&features.join("; "))
            }
            SchemaError::InvalidCollection {
                model,
                namespace,
                reason,
            } => write!(
                f,
                "the options of the collection {namespace} (model `{model}`): {reason}"
            ),
            SchemaError::ShardKeyConflict {
                namespace,
                can_change,
                existing,
                declared,
            } => {
                let (existing, declared) = (relaxed(&**existing), relaxed(&**declared));
                write!(f, "{namespace} is sharded by {existing}, declared is {declared}")?;
                f.write_str(if *can_change {
                    "; let `SyncMode::Full` or `Apply::coll_mod` (`--coll-mod`) add the fields to the shard key"
                } else {
                    ", or only one of them is unique; change the declaration, or run the command `reshardCollection` (MongoDB 5.0+)"
                })
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
            SchemaError::Duplicates { source, .. } | SchemaError::BuildInProgress { source, .. } => {
                source.as_ref().map(|e| e as _)
            }
            SchemaError::SearchUnsupported { source, .. } | SchemaError::ShardKeyIndex { source, .. } => {
                Some(source)
            }
            SchemaError::PartlyApplied { source, .. } => Some(&**source),
            _ => None,
        }
    }
}

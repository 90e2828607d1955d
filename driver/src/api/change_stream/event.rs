//! [`ChangeStreamEvent`].

mod read;
pub(crate) use read::event;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    ResumeToken,
    bson::{DateTime, Document, Timestamp, Uuid},
};

/// An event of a [`ChangeStream`](crate::ChangeStream). `T` is the type of the documents.
///
/// An event is deserialized if `T` borrows nothing (`'static`), because a `T` that is a
/// [`Document`] or a [`Bson`](crate::bson::Bson) is read as it is stored. For borrowed fields, read a
/// type of your own by [`with_type`](crate::ChangeStream::with_type).
///
/// Fields that a newer server adds are ignored. A pipeline that changes the form of the events, e.g.
/// with `$project`, needs another type: [`with_type`](crate::ChangeStream::with_type).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ChangeStreamEvent<T> {
    /// The token of this event. [`ChangeStream::resume_token`](crate::ChangeStream::resume_token)
    /// can be newer, and is the one to store.
    #[serde(rename = "_id")]
    pub id: ResumeToken,
    /// What happened. A fragment of a split event can be without it, and has
    /// [`Other`](ChangeOperation::Other) with an empty name then.
    #[serde(rename = "operationType")]
    pub operation: ChangeOperation,
    /// The namespace of the change. `None` for `invalidate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns: Option<ChangeNamespace>,
    /// What a `create` event has created: `collection`, `timeseries` or `view`. Only with
    /// `show_expanded_events` (MongoDB 8.1+).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns_type: Option<String>,
    /// The new name of the collection of a `rename` event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<ChangeNamespace>,
    /// The `_id` of the document; in a sharded collection also the fields of the shard key. Insert,
    /// update, replace and delete events have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_key: Option<Document>,
    /// The document after the change: always for insert and replace events, for update events as
    /// the option [`full_document`](crate::action::Watch::full_document) says. `None` also if it
    /// was deleted before it could be looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_document: Option<T>,
    /// The document before the change, as the option
    /// [`full_document_before_change`](crate::action::Watch::full_document_before_change) says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_document_before_change: Option<T>,
    /// The changed fields of an update event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_description: Option<UpdateDescription>,
    /// The details of events that change collections and indexes. Only with `show_expanded_events`
    /// (MongoDB 6.0+).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_description: Option<Document>,
    /// The cluster time of the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_time: Option<Timestamp>,
    /// The time of the change on the clock of the server (MongoDB 6.0+).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_time: Option<DateTime>,
    /// The UUID of the collection. Only with `show_expanded_events` (MongoDB 6.0+).
    #[serde(rename = "collectionUUID", skip_serializing_if = "Option::is_none")]
    pub collection_uuid: Option<Uuid>,
    /// The session of the write, if it was a retryable write or part of a transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lsid: Option<Document>,
    /// The transaction number of the write in its session. Together with `lsid` it identifies the
    /// transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub txn_number: Option<i64>,
    /// The number of this fragment, if the event was split by the stage
    /// `$changeStreamSplitLargeEvent` (MongoDB 7.0+).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split_event: Option<SplitEvent>,
}

impl<T> ChangeStreamEvent<T> {
    /// Converts the documents of the event.
    ///
    /// # Errors
    /// The first error of `convert`.
    pub fn try_map<U, E>(
        self,
        mut convert: impl FnMut(T) -> Result<U, E>,
    ) -> Result<ChangeStreamEvent<U>, E> {
        Ok(ChangeStreamEvent {
            full_document: self.full_document.map(&mut convert).transpose()?,
            full_document_before_change: self.full_document_before_change.map(convert).transpose()?,
            id: self.id,
            operation: self.operation,
            ns: self.ns,
            ns_type: self.ns_type,
            to: self.to,
            document_key: self.document_key,
            update_description: self.update_description,
            operation_description: self.operation_description,
            cluster_time: self.cluster_time,
            wall_time: self.wall_time,
            collection_uuid: self.collection_uuid,
            lsid: self.lsid,
            txn_number: self.txn_number,
            split_event: self.split_event,
        })
    }
}

/// A namespace in a change event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChangeNamespace {
    /// The name of the database.
    pub db: String,
    /// The name of the collection. `None` for `dropDatabase`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coll: Option<String>,
}

/// The changed fields of an update event.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UpdateDescription {
    /// The new values by path, e.g. `address.city`.
    pub updated_fields: Document,
    /// The paths of the removed fields.
    pub removed_fields: Vec<String>,
    /// The arrays that became shorter (MongoDB 4.7+).
    pub truncated_arrays: Vec<TruncatedArray>,
    /// The components of each ambiguous path: of field names that contain dots or are numbers. Only
    /// with `show_expanded_events` (MongoDB 6.1+).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disambiguated_paths: Option<Document>,
}

/// An array that an update has truncated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TruncatedArray {
    /// The path of the array.
    pub field: String,
    /// The number of elements it has now.
    pub new_size: i64,
}

/// The position of a fragment in a split event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SplitEvent {
    /// The number of this fragment, from 1.
    pub fragment: u32,
    /// The number of fragments.
    pub of: u32,
}

/// Defines [`ChangeOperation`] and its names.
macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The `operationType` of a change event.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum ChangeOperation {
            $($(#[$doc])* $variant,)*
            /// An operation that is not known here, with its name.
            Other(String),
        }

        impl ChangeOperation {
            /// The name that the server sends, e.g. `insert`.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Other(name) => name,
                }
            }
        }

        impl From<&str> for ChangeOperation {
            fn from(name: &str) -> Self {
                match name {
                    $($name => Self::$variant,)*
                    other => Self::Other(other.to_owned()),
                }
            }
        }
    };
}

operations! {
    /// A document was inserted.
    Insert = "insert",
    /// Fields of a document were changed.
    Update = "update",
    /// A document was replaced.
    Replace = "replace",
    /// A document was deleted.
    Delete = "delete",
    /// The watched collection was dropped or renamed, or the watched database dropped. The stream
    /// ends after this event; [`start_after`](crate::action::Watch::start_after) with its token
    /// continues.
    Invalidate = "invalidate",
    /// A collection was dropped.
    Drop = "drop",
    /// A database was dropped.
    DropDatabase = "dropDatabase",
    /// A collection was renamed.
    Rename = "rename",
    /// A collection, time series or view was created (`show_expanded_events`).
    Create = "create",
    /// Indexes were created (`show_expanded_events`).
    CreateIndexes = "createIndexes",
    /// Indexes were dropped (`show_expanded_events`).
    DropIndexes = "dropIndexes",
    /// The options of a collection were changed (`show_expanded_events`).
    Modify = "modify",
    /// A collection was sharded (`show_expanded_events`).
    ShardCollection = "shardCollection",
    /// The shard key of a collection was extended (`show_expanded_events`).
    RefineCollectionShardKey = "refineCollectionShardKey",
    /// The shard key of a collection was changed (`show_expanded_events`).
    ReshardCollection = "reshardCollection",
}

impl Default for ChangeOperation {
    /// The operation without a name.
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl Serialize for ChangeOperation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ChangeOperation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;

        impl serde::de::Visitor<'_> for Name {
            type Value = ChangeOperation;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the name of an operation")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(ChangeOperation::from(name))
            }
        }

        deserializer.deserialize_str(Name)
    }
}

#[cfg(test)]
mod tests;

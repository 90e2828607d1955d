//! An asynchronous MongoDB driver on tokio, with a codec, wire protocol, discovery and pools of its own.
//!
//! Start at [`Client::connect`]; read and write through a [`Collection`]. Every action is a value that collects options
//! and is awaited.
//!
//! ```no_run
//! use marula_driver::{Client, bson::doc};
//!
//! # async fn run() -> marula_driver::Result<()> {
//! let client = Client::connect("mongodb://localhost").await?;
//! let people = client.database("town").collection::<marula_driver::bson::Document>("people");
//! people.insert_one(&doc! { "name": "Ada", "age": 36 }).await?;
//! let adults = people.count_documents(doc! { "age": { "$gte": 18 } }).await?;
//! # Ok(()) }
//! ```
//!
//! # Features
//!
//! | name | default | |
//! |---|---|---|
//! | `dns` | yes | connection strings that begin with `mongodb+srv://` |
//! | `rustls` | yes | encrypted connections (`tls=true`) |
//! | `key-password` | no | client keys that a password protects (`tlsCertificateKeyFilePassword`) |
//!
//! Without a feature, what needs it is refused when a client is made.

mod api;
pub mod bson;
#[allow(missing_docs, unreachable_pub, reason = "public to `internals` only")]
#[cfg_attr(
    not(feature = "internals"),
    allow(dead_code, unused_imports, reason = "used by `internals`")
)]
mod connection;
mod error;
mod execution;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod operation;
pub mod options;
#[allow(missing_docs, unreachable_pub, reason = "public to `internals` only")]
#[cfg_attr(
    not(feature = "internals"),
    allow(dead_code, unused_imports, reason = "used by `internals`")
)]
mod pool;
#[allow(
    missing_docs,
    unreachable_pub,
    reason = "public to `internals` only, but for the events"
)]
#[cfg_attr(
    not(feature = "internals"),
    allow(dead_code, unused_imports, reason = "some is there for tests")
)]
mod proto;
mod topology;
#[allow(unreachable_pub, reason = "some are public to `internals` only")]
mod types;

pub use api::{
    Client, ClientSession, Collection, Cursor, Database, IntoUpdate, UpdateModification, WriteModel,
};
pub use error::{
    AuthenticationError, AuthenticationFailure, BulkWriteError, CommandError, Error, ErrorKind, NetworkError,
    NetworkPhase, PoolError, RETRYABLE_ERROR, RETRYABLE_WRITE_ERROR, Result, SYSTEM_OVERLOADED_ERROR,
    ServerSelectionError, TRANSIENT_TRANSACTION_ERROR, WriteConcernError, WriteError, WriteFailure,
};
pub use operation::{
    create_indexes::{IndexModel, IndexOptions},
    list::{CollectionSpecification, DatabaseSpecification},
    search_indexes::SearchIndexModel,
    write_result::{BulkWriteResult, DeleteResult, InsertManyResult, InsertOneResult, UpdateResult},
};
pub use types::{
    address::{AddressError, ServerAddress},
    namespace::Namespace,
};

/// The fluent actions that the methods of [`Client`], [`Database`] and [`Collection`] return.
pub mod action {
    pub use crate::api::{
        Aggregate, BulkWrite, CountDocuments, CreateCollection, CreateIndex, CreateIndexes,
        CreateSearchIndex, CreateSearchIndexes, Delete, Distinct, DropCollection, DropDatabase, DropIndex,
        DropSearchIndex, EstimatedDocumentCount, Find, FindOne, FindOneAnd, InsertMany, InsertOne,
        ListCollectionNames, ListCollections, ListDatabaseNames, ListDatabases, ListIndexNames, ListIndexes,
        ModifyCollection, RenameCollection, RunCommand, RunCursorCommand, StartSession, Update,
        UpdateSearchIndex,
    };
}

/// What a client tells about its work, to the listeners in its [`ClientOptions`](options::ClientOptions).
pub mod event {
    pub use crate::proto::description::{
        ServerDescription, ServerType, TopologyDescription, TopologyType, TopologyVersion,
    };
    pub use crate::proto::event::{
        CheckOutFailedReason, CommandEvent, CommandFailedEvent, CommandStartedEvent, CommandSucceededEvent,
        ConnectionClosedReason, ConnectionInfo, EventListener, PoolEvent, PoolOptions, SdamEvent,
    };
}

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
//! | `dns` | yes | connection strings that begin with `mongodb+srv://`, by the name servers in `/etc/resolv.conf` |
//! | `rustls` | yes | encrypted connections (`tls=true`) |
//! | `hickory` | no | all lookups by `hickory-resolver`; see below |
//! | `snappy`, `zlib`, `zstd` | no | compressed messages (`compressors=…`), one feature for each compressor; `zstd` builds a C library |
//! | `tracing` | no | log messages as `tracing` events; see [`logs`] |
//! | `key-password` | no | client keys that a password protects (`tlsCertificateKeyFilePassword`) |
//!
//! Without a feature, what needs it is refused when a client is made; a compressor in a connection string is a warning.
//!
//! Host names are looked up by the system's own resolver, which knows hosts file, search domains and whatever else the machine
//! is set up for, on a thread where tokio lets it block. `hickory` asks hosts file and name servers without blocking, and the
//! system only for what they do not know. It also finds name servers on platforms that have them elsewhere than in
//! `/etc/resolv.conf`: on Windows and Android, `mongodb+srv://` needs it. It brings some sixty more crates.

#![cfg_attr(
    not(feature = "internals"),
    allow(
        unreachable_pub,
        reason = "the machines are public through `internals`, where this is checked"
    )
)]

mod api;
pub mod bson;
mod connection;
mod error;
mod execution;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod operation;
pub mod options {
    //! Options of the client and of its operations.

    mod client;
    mod connection_string;
    mod credential;
    mod error;
    #[cfg(feature = "internals")]
    mod overrides;
    mod proxy;
    mod resolve;
    mod srv;
    mod tls;

    pub use crate::api::command::options::*;
    pub use crate::types::{
        collation::Collation,
        compressor::Compressor,
        concern::{Acknowledgment, ReadConcern, ReadConcernLevel, WriteConcern},
        driver_info::DriverInfo,
        hint::Hint,
        read_preference::{ReadPreference, ReadPreferenceMode, TagSet},
        return_document::ReturnDocument,
        server_api::{ServerApi, ServerApiVersion},
    };
    pub use client::{ClientOptions, ServerMonitoringMode};
    pub use credential::{AuthMechanism, Credential};
    pub use proxy::Proxy;
    pub use tls::TlsOptions;
}
mod pool;
mod proto;
mod telemetry;
mod topology;
mod types;

pub use api::{
    Client, ClientSession, Collection, Cursor, Database,
    command::model::{
        CollectionSpecification, DatabaseSpecification, IndexModel, IndexOptions, IntoUpdate,
        SearchIndexModel, UpdateModification, WriteModel,
    },
};
pub use error::{
    AuthenticationError, AuthenticationFailure, BulkWriteError, CommandError, ConnectionsInUse, Error,
    ErrorKind, NetworkError, NetworkPhase, PoolError, RETRYABLE_ERROR, RETRYABLE_WRITE_ERROR, Result,
    SYSTEM_OVERLOADED_ERROR, ServerSelectionError, TRANSIENT_TRANSACTION_ERROR, WriteConcernError,
    WriteError, WriteFailure,
};
pub use operation::write_result::{
    BulkWriteResult, DeleteResult, InsertManyResult, InsertOneResult, UpdateResult,
};
pub use types::{
    address::{AddressError, ServerAddress},
    namespace::Namespace,
};

/// The fluent actions that the methods of [`Client`], [`Database`] and [`Collection`] return.
pub mod action {
    pub use crate::api::{StartSession, command::action::*};
}

/// Log messages: structured events of the crate `tracing`, with the feature of that name.
///
/// | component | target | levels |
/// |---|---|---|
/// | command | `marula_driver::command` | debug |
/// | connection | `marula_driver::connection` | debug |
/// | topology | `marula_driver::topology` | debug |
/// | serverSelection | `marula_driver::server_selection` | debug, info |
///
/// Messages and the names of their fields (`commandName`, `serverHost`, `durationMS` …) are those of the specifications, which
/// have none for the SRV records of a `mongodb+srv` client that cannot be used later on (`SRV record problem`). The subscriber of the application decides what is logged and where to; while it wants nothing of a component, nothing is made
/// for it.
///
/// The variables `MONGODB_LOG_COMMAND`, `MONGODB_LOG_CONNECTION`, `MONGODB_LOG_TOPOLOGY`, `MONGODB_LOG_SERVER_SELECTION` and
/// `MONGODB_LOG_ALL` hold the least severe level that a component may log (`off`, `error`, `warn`, `info`, `debug` …); they are
/// read when a client is made, and never log more than the subscriber wants. Where none is set, the subscriber alone decides.
///
/// Documents are Extended JSON, cut after
/// [`max_log_document_length`](options::ClientOptions::max_log_document_length) bytes with `...` behind. To let the variable
/// `MONGODB_LOG_MAX_DOCUMENT_LENGTH` count before the application's own choice, set the option only when it is not set:
///
/// ```
/// use marula_driver::options::ClientOptions;
/// let mut options = ClientOptions::parse("mongodb://localhost")?;
/// if std::env::var_os("MONGODB_LOG_MAX_DOCUMENT_LENGTH").is_none() {
///     options.max_log_document_length = Some(200);
/// }
/// # Ok::<(), marula_driver::Error>(())
/// ```
///
/// Whatever a command that authenticates or makes users holds, and what the server says to it, is never logged.
pub mod logs {}

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

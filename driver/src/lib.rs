//! An asynchronous MongoDB driver for tokio, with its own BSON codec, wire protocol, server
//! discovery and connection pools. It requires MongoDB 4.2 or later.
//!
//! Connect with [`Client::connect`]; read and write documents with a [`Collection`]. A method that
//! runs an operation returns an [`action`]: a value with a setter for each option, which sends the
//! command when it is awaited. The module [`action`] describes sessions, retries and what dropping
//! a future does; [`Error`] describes errors.
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
//! | feature | default | enables |
//! |---|---|---|
//! | `dns` | yes | `mongodb+srv://` connection strings, resolved with the name servers in `/etc/resolv.conf` |
//! | `rustls` | yes | TLS (`tls=true`), with OCSP; see [`TlsOptions`](options::TlsOptions) |
//! | `hickory` | no | host names resolved by DNS queries, DNS on every platform; see below |
//! | `snappy`, `zlib`, `zstd` | no | the compressor of that name (`compressors=…`); `zstd` builds a C library |
//! | `tracing` | no | log messages as `tracing` events; see [`logs`] |
//! | `opentelemetry` | no | spans of operations and commands; see [`traces`] |
//! | `aws-auth` | no | authentication with AWS IAM (`MONGODB-AWS`); see [`Credential`](options::Credential) |
//! | `gssapi` | no | authentication with Kerberos (`GSSAPI`), on Unix platforms; see [`Credential`](options::Credential) |
//! | `encryption` | no | in-use encryption with libmongocrypt; see [`encryption`] |
//! | `key-password` | no | encrypted private keys of client certificates (`tlsCertificateKeyFilePassword`) |
//!
//! Creating a client fails with [`ErrorKind::Unsupported`] if an option needs a disabled feature. A
//! compressor in a connection string whose feature is disabled is ignored with a
//! [warning](options::ClientOptions::warnings).
//!
//! Host names are resolved by the resolver of the operating system, on tokio's blocking threads. It
//! reads the hosts file, applies search domains and honors the other settings of the machine. With
//! `hickory`, the driver looks for host names in the hosts file, then queries the name servers
//! without blocking a thread, with the search domains, and uses the resolver of the operating system
//! only if that does not yield an address. The crate `hickory-resolver` reads the hosts file and the
//! configuration, also where there is no `/etc/resolv.conf`: on Windows and in Android apps,
//! `mongodb+srv://` requires `hickory`. In `/etc/resolv.conf` it does not read the options `rotate`
//! and `use-vc` and the zones of IPv6 addresses, and it requires a name server. It adds about sixty
//! crates to the build.
//!
//! DNS queries are sent over UDP, and over TCP if the reply is too long. Name servers that are
//! configured for encrypted protocols alone are skipped.
//!
//! `gssapi` links the Kerberos library of the system, MIT or Heimdal: its headers and `libclang` must
//! be installed for the build (on Debian `libkrb5-dev` and `libclang-dev`).

#![cfg_attr(
    not(feature = "internals"),
    allow(
        unreachable_pub,
        reason = "the state machines are public through `internals`, where this is checked"
    )
)]

mod api;
pub mod bson;
mod connection;
#[cfg(feature = "encryption")]
pub mod encryption {
    //! In-use encryption: client-side field level encryption and Queryable Encryption ([Client Side Encryption]).
    //!
    //! [`ClientEncryption`] manages data keys, and encrypts and decrypts single values.
    //! [`Client::with_auto_encryption`](crate::Client::with_auto_encryption) creates a client that encrypts commands and
    //! decrypts replies.
    //!
    //! The package `libmongocrypt` 1.20 or later must be installed. It is loaded at run time: from the path in the options, from
    //! the environment variable `MONGOCRYPT_LIB_PATH`, or by the system's loader. A missing or old library is the error
    //! [`EncryptionError::Library`](crate::EncryptionError::Library), which says how to get it.
    //!
    //! Key management services are contacted over TLS; a client of the service is not needed.
    //!
    //! [Client Side Encryption]:
    //! https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md

    pub use crate::api::encryption::{
        AutoEncryptionOptions, ClientEncryption, CreateDataKey, CreateEncryptedCollection, Decrypt, Encrypt,
        EncryptExpression, RewrapManyDataKey, RewrapManyDataKeyResult,
    };
    pub use crate::options::encryption::{
        ClientEncryptionOptions, DataKey, EncryptionAlgorithm, KmsConnect, KmsProviders, KmsStream,
        RangeOptions, StringOptions, StringQueryLength, SubstringQueryLength,
    };
    pub use crate::types::aws_credentials::{AwsCredentialProvider, AwsCredentials};
}
pub mod error;
mod execution;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod operation;
pub mod options {
    //! Options of clients and of commands.
    //!
    //! Actions have a setter for each option of their command. Options that several actions share
    //! are a value for `with_options`. It replaces all options set before; setters called after it
    //! change single options. There are no `const` constructors; a static value can be created in a
    //! `LazyLock`:
    //!
    //! ```no_run
    //! use std::sync::LazyLock;
    //! use marula_driver::{Collection, Result, bson::{Document, doc}, options::FindOptions};
    //!
    //! static NEWEST: LazyLock<FindOptions> =
    //!     LazyLock::new(|| FindOptions::default().sort(doc! { "_id": -1 }).limit(10));
    //!
    //! # async fn run(books: Collection<Document>) -> Result<()> {
    //! let newest = books.find(doc! {}).with_options(NEWEST.clone()).limit(3).await?;
    //! # Ok(()) }
    //! ```

    mod client;
    mod connection_string;
    mod credential;
    #[cfg(feature = "encryption")]
    pub(crate) mod encryption;
    mod error;
    mod oidc;
    #[cfg(feature = "internals")]
    mod overrides;
    mod proxy;
    mod resolve;
    mod srv;
    mod tls;
    mod tracing;

    pub use crate::api::command::options::*;
    pub use crate::proto::auth::IdpInfo;
    #[cfg(any(feature = "aws-auth", feature = "encryption"))]
    pub use crate::types::aws_credentials::{AwsCredentialProvider, AwsCredentials};
    pub use crate::types::{
        change_stream::{FullDocument, FullDocumentBeforeChange},
        collation::Collation,
        compressor::Compressor,
        concern::{Acknowledgment, ReadConcern, ReadConcernLevel, WriteConcern},
        cursor_type::CursorType,
        driver_info::DriverInfo,
        explain_verbosity::ExplainVerbosity,
        hint::Hint,
        read_preference::{ReadPreference, ReadPreferenceMode, TagSet},
        return_document::ReturnDocument,
        server_api::{ServerApi, ServerApiVersion},
        server_requirement::ServerRequirement,
        server_version::ServerVersion,
        timeout_mode::TimeoutMode,
        transaction_options::TransactionOptions,
    };
    pub use client::{ClientOptions, ServerMonitoringMode};
    pub use credential::{AuthMechanism, Credential};
    pub(crate) use oidc::DEFAULT_ALLOWED_HOSTS;
    pub use oidc::{OidcCallback, OidcCallbackParams, OidcCredential};
    pub use proxy::Proxy;
    pub use tls::TlsOptions;
    #[cfg(feature = "opentelemetry")]
    pub(crate) use tracing::ClientTracer;
    pub use tracing::TracingOptions;
}
mod pool;
mod proto;
mod telemetry;
mod topology;
mod types;

pub use api::gridfs::{GridFsBucket, GridFsDownloadStream, GridFsUploadStream};
pub use api::{
    Bind, BoundTransaction, ChangeNamespace, ChangeOperation, ChangeStream, ChangeStreamEvent, Client,
    ClientSession, Collection, Cursor, Database, RawBatch, SplitEvent, TransactionScope, TruncatedArray,
    Unfinished, UpdateDescription,
    command::model::{
        ClientWriteModel, CollectionSpecification, DatabaseSpecification, IndexModel, IndexOptions,
        IntoUpdate, SearchIndexModel, UpdateModification, WriteModel,
    },
};
#[doc(inline)]
pub use error::{
    AuthenticationError, AuthenticationFailure, BulkWriteError, ChunkFault, ClientBulkWriteError,
    CommandError, ConnectionsInUse, EncryptionError, Error, ErrorKind, GridFsError, KerberosError,
    KerberosFailure, NetworkError, NetworkPhase, PoolError, RETRYABLE_ERROR, RETRYABLE_WRITE_ERROR, Result,
    SYSTEM_OVERLOADED_ERROR, ServerSelectionError, TRANSIENT_TRANSACTION_ERROR, TimeoutError,
    UNKNOWN_TRANSACTION_COMMIT_RESULT, WriteConcernError, WriteError, WriteFailure,
};
pub use execution::outside_transaction;
pub use proto::gridfs::GridFsFile;
pub use proto::session::TransactionState;
pub use types::{
    address::{AddressError, ServerAddress},
    namespace::Namespace,
    resume_token::ResumeToken,
    timeout::TimeoutSource,
    write_result::{
        BulkWriteResult, ClientBulkWriteResult, DeleteResult, InsertManyResult, InsertOneResult,
        UpdateResult, VerboseResults,
    },
};

/// The actions that the methods of [`Client`], [`Database`] and [`Collection`] return.
///
/// An action holds the arguments of one operation and has a setter for each of its options. Nothing
/// is sent before it is awaited. If an argument cannot be serialized or is invalid, awaiting the
/// action returns the error. The `IntoFuture` implementation of an action shows what awaiting it
/// returns.
///
/// # Sessions
///
/// An action without a [`session`](crate::action::Find::session) runs in an implicit session, if
/// the server supports sessions and the write is acknowledged. The implicit session is returned to
/// the client when the operation or its cursor ends.
///
/// # Retries
///
/// A retryable operation is attempted once more after a network error, and after an error that the
/// specifications define as retryable, e.g. because the server is not the primary or shuts down
/// ([Retryable Reads], [Retryable Writes]).
/// [`retry_reads`](crate::options::ClientOptions::retry_reads) and
/// [`retry_writes`](crate::options::ClientOptions::retry_writes) disable the retries. All
/// operations are retryable except `update_many`, `delete_many`, the commands of a `bulk_write` that
/// contain one of them, aggregations with `$out` or `$merge`, `run_command`, `run_cursor_command`, getMore, unacknowledged writes, and the
/// operations that create, change or drop databases, collections, indexes and search indexes.
///
/// An operation that an overloaded server rejected without running it is attempted again with
/// exponential backoff, whether or not it is retryable; see
/// [`max_adaptive_retries`](crate::options::ClientOptions::max_adaptive_retries).
///
/// # Cancel safety
///
/// The future of an action can be dropped before it completes. A command that was sent may still
/// take effect: the document of a dropped insert may or may not be stored. `insert_many` and
/// `bulk_write` may have sent a part of their commands.
///
/// The connection is used again. If the reply is outstanding, it is awaited in the background first;
/// the connection is closed if no byte of the reply arrives for 3 s, or if the command was not sent
/// completely. A cursor in such a reply is closed, unless it ends with its transaction, and an error in
/// it of a server that is no longer the primary is handled as usual.
///
/// The next command of a transaction waits for the late reply to the preceding one, because the server may
/// not have run it yet: for up to 3 s, or up to half of the time limit (`timeoutMS`) of the next command. Later
/// commands do not wait for it again. See
/// [`commit_transaction`](crate::ClientSession::commit_transaction) and
/// [`abort_transaction`](crate::ClientSession::abort_transaction).
///
/// # Timeouts
///
/// [`timeoutMS`](crate::options::ClientOptions::timeout) limits the time of a whole operation, with
/// its retries: set it for the client, a database, a collection, or an action
/// ([`timeout`](crate::action::Find::timeout)). The innermost setting applies.
/// An expired time limit is an error of the kind [`Timeout`](crate::ErrorKind::Timeout), which names the
/// operation and the setting ([`set_by`](crate::TimeoutError::set_by)). With
/// `timeoutMS`, retryable operations are attempted again as often as the time allows.
///
/// ```no_run
/// # async fn run(orders: marula_driver::Collection<marula_driver::bson::Document>) -> marula_driver::Result<()> {
/// use std::time::Duration;
/// use marula_driver::bson::doc;
/// let orders = orders.with_timeout(Duration::from_secs(2));
/// match orders.find_one(doc! { "state": "open" }).await {
///     Err(error) if error.is_timeout() => println!("too slow: {error}"),
///     other => println!("{:?}", other?),
/// }
/// // Another time limit for one operation; zero means none.
/// orders.count_documents(doc! {}).timeout(Duration::ZERO).await?;
/// # Ok(()) }
/// ```
///
/// [Retryable Reads]:
/// https://github.com/mongodb/specifications/blob/master/source/retryable-reads/retryable-reads.md
/// [Retryable Writes]:
/// https://github.com/mongodb/specifications/blob/master/source/retryable-writes/retryable-writes.md
pub mod action {
    pub use crate::api::{
        Shutdown, StartSession, WarmUp, command::action::*, gridfs::action::*, transaction::action::*,
    };
}

/// Log messages ([Logging]), emitted as structured events of the crate `tracing`. They require the
/// feature `tracing`.
///
/// [Logging]:
/// https://github.com/mongodb/specifications/blob/master/source/logging/logging.md
///
/// | component | target | levels |
/// |---|---|---|
/// | command | `marula_driver::command` | debug |
/// | connection | `marula_driver::connection` | debug |
/// | topology | `marula_driver::topology` | debug |
/// | serverSelection | `marula_driver::server_selection` | debug, info |
/// | transaction | `marula_driver::transaction` | warn |
///
/// As the specification demands, each operation that waits for a server logs one message at level info, with the whole
/// topology: many in an outage. The filter `marula_driver::server_selection=warn` leaves them out.
///
/// With the feature `encryption`, the messages of libmongocrypt have the target `marula_driver::encryption`, at levels error,
/// warn and info. Its trace messages, which contain commands before they are encrypted, are not logged.
///
/// Messages and the names of their fields (`commandName`, `serverHost`, `durationMS` …) are those
/// of the specifications. Additions are the message `SRV record problem`, an SRV record found by
/// polling that cannot be used, and in debug builds the message `Call outside of the running transaction`, at most once for
/// each run of a transaction: its body makes a call without its session (see [`outside_transaction`]). The subscriber of the application selects what is logged. A message
/// that it does not select is not created.
///
/// The environment variables `MONGODB_LOG_COMMAND`, `MONGODB_LOG_CONNECTION`,
/// `MONGODB_LOG_TOPOLOGY`, `MONGODB_LOG_SERVER_SELECTION` and `MONGODB_LOG_ALL` set the least
/// severe level that a component logs (`off`, `error`, `warn`, `info`, `debug` …). They are read
/// when a client is created and can only reduce what the subscriber selects. If none is set, the
/// subscriber alone selects.
///
/// Documents are logged as Extended JSON. A text longer than
/// [`max_log_document_length`](options::ClientOptions::max_log_document_length) bytes is truncated
/// and ends in `...`. The option overrides the environment variable
/// `MONGODB_LOG_MAX_DOCUMENT_LENGTH`. To give the variable precedence, set the option only if the
/// variable is not set:
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
/// The bodies of commands that authenticate or create users, and of their replies, are never
/// logged.
pub mod logs {}

/// Spans of operations and commands ([OpenTelemetry]), with the feature `opentelemetry` and the
/// crate `opentelemetry` 0.31.
///
/// Traces are disabled by default. They are enabled by
/// [`TracingOptions::enabled`](options::TracingOptions::enabled), or for all clients of the process
/// by the environment variable `OTEL_RUST_INSTRUMENTATION_MONGODB_ENABLED` (`1`, `true` or `yes`).
/// The spans go to the tracer provider that is global when the client is created, or to that of
/// [`set_tracer_provider`](options::TracingOptions). Install the provider before the client is
/// created: the driver depends on the API of OpenTelemetry only, and exports nothing itself.
///
/// ```text
/// (the current span of the application)
/// └─ find shop.orders       an operation: one call of the application
///    ├─ find                a command that failed, and was retried
///    ├─ find                its second attempt
///    └─ getMore             a command of the cursor, sent later
/// ```
///
/// All spans are of the kind *client*. An operation is a child of the span that is current when its
/// action is first polled, so `opentelemetry::trace::FutureExt::with_context` gives the operations
/// of a spawned task their parent. Its span begins before the server is selected, and ends with the
/// operation. An error of a command is on the span of that command, an error of the driver on the
/// span of the operation. If the future is dropped, its spans end with an error.
///
/// | attribute of an operation | value |
/// |---|---|
/// | `db.system.name` | `mongodb` |
/// | `db.namespace`, `db.collection.name` | the database and the collection; on the database `admin` only the former |
/// | `db.operation.name`, `db.operation.summary` | `find`, `find shop.orders` |
///
/// | attribute of a command | value |
/// |---|---|
/// | `db.system.name`, `db.namespace`, `db.collection.name` | as above |
/// | `db.command.name`, `db.query.summary` | `find`, `find shop.orders` |
/// | `server.address`, `server.port`, `network.transport` | the server; `tcp` or `unix` |
/// | `db.mongodb.driver_connection_id`, `db.mongodb.server_connection_id` | the connection, as in [events](event) |
/// | `db.mongodb.lsid`, `db.mongodb.txn_number`, `db.mongodb.cursor_id` | the session (as relaxed Extended JSON), the transaction number, the open cursor |
/// | `db.query.text` | the command as relaxed Extended JSON, if [`query_text_max_length`](options::TracingOptions::query_text_max_length) is not 0 |
///
/// A span with an error has the attributes `exception.message`, `exception.type` (the
/// [`ErrorKind`]) and `exception.stacktrace` (the sources of the error, and a backtrace if
/// `RUST_BACKTRACE` is set), and `db.response.status_code` if the server replied with a code.
///
/// Commands that authenticate or create users have no span. Nor have commands that no call of the
/// application causes: those of monitors and of the handshake, `endSessions`, the `killCursors` of a
/// cursor that is dropped, and what GridFS does after a stream or a future is dropped. No span is
/// created for an argument that is rejected before the operation begins, such as a filter that cannot
/// be serialized. A later command of a cursor that was not sent, because no server or connection was
/// available, has no span either, and the span of its operation has ended.
///
/// The span of a transaction ends when the transaction is aborted or committed. If the result of a
/// commit is unknown, it ends when the commit is repeated with success, and otherwise with the error,
/// when the session is used otherwise or ends. A GridFS action has the spans of its operations on the
/// collections of the bucket.
///
/// If traces are disabled, an operation tests that once. If they are enabled and the span of an
/// operation is not recorded, because there is no provider or it is not sampled, nothing else is
/// created.
///
/// [OpenTelemetry]:
/// https://github.com/mongodb/specifications/blob/master/source/open-telemetry/open-telemetry.md
#[cfg_attr(
    feature = "opentelemetry",
    doc = r#"
```
use marula_driver::options::ClientOptions;

let mut options = ClientOptions::parse("mongodb://localhost")?;
options.tracing.enabled = Some(true);
options.tracing.query_text_max_length = Some(1024);
// Default: the global provider.
options.tracing.set_tracer_provider(&opentelemetry::global::tracer_provider());
# Ok::<(), marula_driver::Error>(())
```
"#
)]
pub mod traces {}

/// Events of [command monitoring], [connection pools], and [server discovery and monitoring]. The
/// listeners are set in [`ClientOptions`](options::ClientOptions).
///
/// The content of commands that authenticate or create users, and of their replies, is not part of
/// an event ("sensitive commands" in the specification).
///
/// ```
/// use marula_driver::{
///     event::{CommandEvent, EventListener},
///     options::ClientOptions,
/// };
/// let mut options = ClientOptions::parse("mongodb://localhost")?;
/// options.command_listener = Some(EventListener::new(|event: &CommandEvent| {
///     if let CommandEvent::Failed(failed) = event {
///         eprintln!("{} failed: {}", failed.command_name, failed.failure);
///     }
/// }));
/// # Ok::<(), marula_driver::Error>(())
/// ```
///
/// [command monitoring]:
/// https://github.com/mongodb/specifications/blob/master/source/command-logging-and-monitoring/command-logging-and-monitoring.md
/// [connection pools]:
/// https://github.com/mongodb/specifications/blob/master/source/connection-monitoring-and-pooling/connection-monitoring-and-pooling.md
/// [server discovery and monitoring]:
/// https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-discovery-and-monitoring-logging-and-monitoring.md
pub mod event {
    pub use crate::proto::description::{
        ServerDescription, ServerType, TopologyDescription, TopologyType, TopologyVersion,
    };
    pub use crate::proto::event::{
        CheckOutFailedReason, CommandEvent, CommandFailedEvent, CommandStartedEvent, CommandSucceededEvent,
        ConnectionClosedReason, ConnectionInfo, EventListener, PoolEvent, PoolOptions, SdamEvent,
    };
}

/// The example of the README, compiled as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

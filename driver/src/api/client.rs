//! [`Client`].

use std::{sync::Arc, time::Duration};

use super::{
    Database, Environment, StartSession, command::InSession, database::Concerns, settings,
    shutdown::end_sessions_in_background, transaction::Membership,
};
#[cfg(feature = "encryption")]
use crate::execution::CommandEncryption;
use crate::{
    Error, Result,
    connection::{LoginSettings, SharedMetadata},
    execution::{CallName, Executor, admit, start_timeout},
    options::{ClientOptions, DriverInfo, ServerApi},
    proto::description::TopologyDescription,
    telemetry,
    topology::Topology,
    types::timeout::{TimeLimit, Timeout, TimeoutSource},
};

/// A client of one deployment: a standalone server, a replica set, a sharded cluster, or a
/// deployment behind a load balancer. It discovers the servers, monitors them, and keeps a
/// connection pool for each.
///
/// Create one client per deployment and share it: clones are cheap and use the same pools. The
/// client closes when the last clone and the last handle created from it (databases, collections,
/// cursors, sessions) are dropped, or when [`shutdown`](Self::shutdown) is called.
///
/// In both cases it sends `endSessions` for its unused sessions. After the last drop this happens
/// in a task on the runtime of the client: the task waits up to 2 s for the reply and then closes
/// the connections. The task only runs while the runtime runs. A current-thread runtime runs it
/// only within `block_on`, and a runtime that is shut down discards it. Call `shutdown` and await
/// it to be sure that the sessions are ended, e.g. before the program exits.
///
/// After `fork`, a child process has none of the threads of the runtime and shares the sockets with its parent. It must
/// neither use nor drop a client of the parent: it creates a runtime and a client of its own, or calls `exec`.
#[derive(Clone, Debug)]
pub struct Client {
    inner: Arc<ClientInner>,
}

#[derive(Debug)]
struct ClientInner {
    executor: Executor,
    metadata: SharedMetadata,
    default_database: Option<String>,
    warnings: Vec<String>,
    server_api: Option<ServerApi>,
    concerns: Concerns,
}

/// What the clients have in common of which one is a part of another.
#[derive(Debug)]
pub(crate) struct SharedByParts {
    /// The client metadata of the handshakes.
    metadata: SharedMetadata,
    /// Its keys and tokens.
    login: Option<LoginSettings>,
}

impl Client {
    /// Creates a client for the deployment in a connection string.
    ///
    /// Returns without waiting for a server. Servers are contacted in the background, and an
    /// operation waits up to `serverSelectionTimeoutMS` (default 30 s) for a suitable server. For
    /// `mongodb+srv`, the DNS records are queried first, as [`ClientOptions::resolve`] does; the
    /// queries are limited to `connectTimeoutMS` (default 10 s). Unknown options and invalid values
    /// of options are ignored with [warnings](Self::warnings).
    ///
    /// # Errors
    /// [`ConnectionString`](crate::ErrorKind::ConnectionString) if the connection string is
    /// invalid, the errors of [`ClientOptions::resolve`] for `mongodb+srv`, and those of
    /// [`with_options`](Self::with_options).
    ///
    /// # Cancel safety
    /// If the future is dropped, no client is created and no server is contacted.
    ///
    /// ```no_run
    /// # async fn run() -> marula_driver::Result<()> {
    /// let client = marula_driver::Client::connect("mongodb://db1.example.com,db2.example.com/?replicaSet=rs0").await?;
    /// println!("{:?}", client.list_database_names().await?);
    /// # Ok(()) }
    /// ```
    pub async fn connect(uri: impl AsRef<str>) -> Result<Self> {
        Self::with_options(ClientOptions::parse(uri.as_ref())?.resolve().await?)
    }

    /// Creates a client with these options. Must be called within a tokio runtime with I/O and time
    /// enabled, which runs the monitors and the I/O of the client.
    ///
    /// The client can be used from other runtimes while its own runtime runs. After that runtime is
    /// shut down, operations fail with [`Shutdown`](crate::ErrorKind::Shutdown): a client in a `static`
    /// cannot be shared by several `#[tokio::test]`s, which have a runtime each. While a current-thread
    /// runtime is not in `block_on`, its tasks do not run: operations then wait until
    /// `serverSelectionTimeoutMS` or `socketTimeoutMS` expires; an operation that needs a new connection
    /// waits until the runtime runs again, and so do change streams and cursors that are read as streams.
    ///
    /// Options with `mongodb+srv` must be [resolved](ClientOptions::resolve) first. The files of
    /// `tls…` options are read here, once. While the topology type is Sharded or Unknown, the SRV
    /// records are queried again when they expire, at most every 60 s ([Polling SRV Records for
    /// mongos Discovery]).
    ///
    /// [Polling SRV Records for mongos Discovery]:
    /// https://github.com/mongodb/specifications/blob/master/source/polling-srv-records-for-mongos-discovery/polling-srv-records-for-mongos-discovery.md
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if a value is invalid, options
    /// contradict each other or are not resolved, a file of a `tls…` option cannot be read or is
    /// invalid, or there is no tokio runtime. [`Unsupported`](crate::ErrorKind::Unsupported) if an
    /// option is not supported by this version or needs a disabled feature. The message names the
    /// option.
    pub fn with_options(options: ClientOptions) -> Result<Self> {
        Self::start(options, &Environment::default())
    }

    /// As [`with_options`](Self::with_options), in an environment that tests can replace.
    pub(crate) fn start(options: ClientOptions, environment: &Environment) -> Result<Self> {
        Self::start_part(options, environment, None)
    }

    /// The same for a client that is a part of another one, with which it shares these.
    pub(crate) fn start_part(
        options: ClientOptions,
        environment: &Environment,
        shared: Option<SharedByParts>,
    ) -> Result<Self> {
        let mut options = options;
        options.warnings.extend(options.tls.unused());
        options.warnings.extend(options.unencrypted_secret());
        options.warnings.extend(options.unprintable_app_name());
        // Before errors: an ignored value may be their cause.
        telemetry::connection_string_warnings(&options.warnings);
        options.validate()?;
        options.check_supported()?;
        options.check_resolved()?;
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(Error::invalid_argument(
                "a client must be created within a tokio runtime",
            ));
        }
        let listeners = settings::listeners(&options, environment);
        let in_flight = Arc::default();
        let execution = settings::execution(&options, environment, &listeners, &in_flight);
        let SharedByParts { metadata, login } = match shared {
            Some(shared) => shared,
            None => SharedByParts {
                metadata: settings::metadata(&options, environment)?,
                login: settings::login(&options, environment)?,
            },
        };
        let topology = settings::topology(&options, environment, &metadata, &listeners, &in_flight, login)?;
        let topology = Topology::start(topology);
        Ok(Self {
            inner: Arc::new(ClientInner {
                executor: Executor::new(topology, execution),
                metadata,
                default_database: options.default_database,
                warnings: options.warnings,
                server_api: options.server_api,
                concerns: Concerns {
                    read_concern: options.read_concern,
                    write_concern: options.write_concern,
                    read_preference: options.read_preference,
                    timeout: options
                        .timeout
                        .map(|limit| TimeLimit::of(limit, TimeoutSource::Client)),
                    is_part: false,
                    membership: Membership::Any,
                },
            }),
        })
    }

    /// The same client with encryption: it shares the connections with this one.
    #[cfg(feature = "encryption")]
    pub(crate) fn encrypted(&self, encryption: impl CommandEncryption + 'static) -> Self {
        self.with_executor(self.inner.executor.with_encryption(Arc::new(encryption)))
    }

    #[cfg(feature = "encryption")]
    pub(crate) fn shared_by_parts(&self) -> SharedByParts {
        SharedByParts {
            metadata: self.inner.metadata.clone(),
            login: self.executor().topology().login().cloned(),
        }
    }

    /// A client with the same connections, whose operations a shutdown of this one neither counts nor rejects.
    #[cfg(feature = "encryption")]
    pub(crate) fn uncounted(&self) -> Self {
        self.with_executor(self.inner.executor.uncounted())
    }

    #[cfg(feature = "encryption")]
    fn with_executor(&self, executor: Executor) -> Self {
        Self {
            inner: Arc::new(ClientInner {
                executor,
                metadata: self.inner.metadata.clone(),
                default_database: self.inner.default_database.clone(),
                warnings: self.inner.warnings.clone(),
                server_api: self.inner.server_api,
                concerns: self.inner.concerns.clone(),
            }),
        }
    }

    /// Whether both are clones of one client, and so have the same options, and encrypt in the same way.
    ///
    /// ```no_run
    /// # async fn run() -> marula_driver::Result<()> {
    /// let client = marula_driver::Client::connect("mongodb://localhost").await?;
    /// assert!(client.is_clone_of(client.database("shop").client()));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn is_clone_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The warnings about the connection string, one sentence each: unknown options, invalid
    /// values, deprecated values, and `tls…` options that have no effect because connections are
    /// not encrypted; also that `appName` contains control characters. With the feature `tracing`, each is also logged at level warn when the client
    /// is created.
    ///
    /// ```no_run
    /// # async fn run() -> marula_driver::Result<()> {
    /// let client = marula_driver::Client::connect("mongodb://localhost/?maxPoolSise=5").await?;
    /// assert_eq!(client.warnings(), ["unknown option maxPoolSise is ignored"]);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.inner.warnings
    }

    /// The servers of the deployment as they were last described by their monitors. Nothing is sent,
    /// so that servers that were not checked so far have the type `Unknown`: all of them directly
    /// after the client was created.
    ///
    /// ```no_run
    /// # async fn run(client: marula_driver::Client) -> marula_driver::Result<()> {
    /// use marula_driver::bson::doc;
    /// client.database("admin").run_command(doc! { "ping": 1 }).await?;
    /// for server in client.topology_description().servers() {
    ///     println!("{server}: wire version {:?}", server.max_wire_version());
    /// }
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn topology_description(&self) -> TopologyDescription {
        TopologyDescription::clone(&self.executor().topology().description())
    }

    /// The Stable API that the client declares ([`ClientOptions::server_api`]).
    ///
    /// ```no_run
    /// # async fn run() -> marula_driver::Result<()> {
    /// let client = marula_driver::Client::connect("mongodb://localhost").await?;
    /// assert!(client.server_api().is_none());
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn server_api(&self) -> Option<ServerApi> {
        self.inner.server_api
    }

    pub(crate) fn executor(&self) -> &Executor {
        &self.inner.executor
    }

    /// `timeoutMS` of the client.
    pub(crate) fn timeout(&self) -> Option<TimeLimit> {
        self.inner.concerns.timeout
    }

    /// Starts the time limit of an operation whose own option is `own`.
    ///
    /// # Errors
    /// The client shuts down, and the operation is not part of a transaction.
    #[inline]
    pub(crate) fn start_timeout(&self, own: Option<Duration>, session: InSession<'_>) -> Result<Timeout> {
        admit(self.executor().is_closing(), session)?;
        start_timeout(own, session, self.timeout())
    }

    /// Checks a call of the client as [`Concerns::check_outside`] does.
    pub(super) fn check_outside(&self, operation: &'static str, session: InSession<'_>) -> Result<()> {
        let call = CallName {
            operation,
            database: "admin",
            collection: None,
        };
        self.inner.concerns.check_outside(self.executor(), session, call)
    }

    /// The concerns and the read preference of the options.
    pub(crate) fn concerns(&self) -> &Concerns {
        &self.inner.concerns
    }

    /// A handle to a database, with the read concern, the write concern and the read preference of
    /// the client. Nothing is sent. The name is not validated: the server rejects commands on an
    /// invalid name with code 73 (`InvalidNamespace`).
    #[must_use]
    pub fn database(&self, name: &str) -> Database {
        Database::new(self, name, self.inner.concerns.clone())
    }

    /// A handle to the database in the path of the connection string. `None` if the path is empty.
    #[must_use]
    pub fn default_database(&self) -> Option<Database> {
        self.inner
            .default_database
            .as_deref()
            .map(|name| self.database(name))
    }

    /// Appends the metadata of a library that wraps the driver to the client metadata of the
    /// handshake ([MongoDB Handshake], "Supporting Wrapping Libraries").
    ///
    /// Name, version and platform follow the existing values, separated by `|`. A part that is
    /// empty or not set leaves its field unchanged. Metadata that is equal to metadata appended
    /// before is not appended again. Existing connections are not affected. See also
    /// [`ClientOptions::driver_info`].
    ///
    /// [MongoDB Handshake]:
    /// https://github.com/mongodb/specifications/blob/master/source/mongodb-handshake/handshake.md
    ///
    /// # Errors
    /// A part contains `|`, or the names and versions exceed the 512 bytes that servers accept. The
    /// metadata is then unchanged.
    ///
    /// ```no_run
    /// # async fn run() -> marula_driver::Result<()> {
    /// use marula_driver::{Client, options::DriverInfo};
    /// let client = Client::connect("mongodb://localhost").await?;
    /// client.append_metadata(DriverInfo::new("shop-toolkit").with_version("1.2"))?;
    /// # Ok(()) }
    /// ```
    pub fn append_metadata(&self, info: DriverInfo) -> Result<()> {
        self.inner.metadata.append(info)
    }

    /// Starts a session for causally consistent operations, snapshot reads or transactions. Nothing
    /// is sent; the first command in the session creates it on the server.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) when the action is awaited, if its
    /// options contradict each other.
    pub fn start_session(&self) -> StartSession<'_> {
        StartSession::new(self)
    }
}

impl Drop for ClientInner {
    /// Ends the sessions on the server in a background task.
    fn drop(&mut self) {
        end_sessions_in_background(&self.executor);
    }
}

//! The entry: a client of one deployment.

use std::{sync::Arc, time::Duration};

use super::{Database, Environment, StartSession, command::EndSessions, database::Concerns, settings};
use crate::{
    Error, Result,
    connection::SharedMetadata,
    execution::Executor,
    options::{ClientOptions, DriverInfo},
    telemetry,
    topology::Topology,
    types::{deadline::Deadline, read_preference::PRIMARY_PREFERRED},
};

/// Most session ids in one `endSessions`.
const END_SESSIONS_BATCH: usize = 10_000;
/// How long a shutdown, or the task after the last drop, waits for a server to end the sessions.
const END_SESSIONS_LIMIT: Duration = Duration::from_secs(2);

/// A client of one deployment: a server, a replica set or a sharded cluster. It discovers the servers, watches them, and
/// keeps a pool of connections to each.
///
/// Make one per deployment and share it: cloning is cheap, and all clones use the same pools. It closes when the last
/// clone and the last handle made of it (databases, collections, cursors) are dropped, or on
/// [`shutdown`](Self::shutdown).
///
/// Both send `endSessions` for the client's unused sessions. The last drop does so in a task on the client's runtime, which
/// waits up to 2 s for the reply and then closes the connections. The task makes progress only while that runtime runs: a
/// current-thread runtime outside `block_on` delays it, and nothing more is sent once the runtime has ended. Await `shutdown`
/// where it matters that the server has forgotten the sessions, e.g. before a program ends.
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
    concerns: Concerns,
}

impl Client {
    /// A client of the deployment that a connection string names.
    ///
    /// Returns once the string is understood: servers are contacted in the background, and an operation waits for one
    /// that suits it for at most `serverSelectionTimeoutMS` (30 s). A `mongodb+srv` string is looked up in DNS first, as
    /// [`ClientOptions::resolve`] does.
    ///
    /// # Errors
    /// A malformed connection string, an option that this version does not support, a file that a `tls…` option names and
    /// that cannot be used, or a failed lookup. The text names the part.
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

    /// A client with these options. Must be called within a tokio runtime, which then runs its monitors and its sockets.
    ///
    /// Other runtimes may use the client too, as long as this one runs. Once it has ended, operations fail. A
    /// current-thread runtime that nothing blocks on makes no progress: operations then wait for `serverSelectionTimeoutMS` or
    /// `socketTimeoutMS`, and one that needs a new connection waits until the runtime runs again.
    ///
    /// Options with `mongodb+srv` must be [resolved](ClientOptions::resolve) first. Files that the `tls…` options name are
    /// read here, once for all connections. While the deployment is sharded, or is not known to be anything else, the
    /// client looks up the SRV records again whenever they expire, but not more often than every 60 s.
    ///
    /// # Errors
    /// Options that contradict each other, that this version does not support, or that are not resolved; a file that a
    /// `tls…` option names and that cannot be used; no runtime.
    pub fn with_options(options: ClientOptions) -> Result<Self> {
        Self::start(options, &Environment::default())
    }

    /// As [`with_options`](Self::with_options).
    pub(crate) fn start(options: ClientOptions, environment: &Environment) -> Result<Self> {
        options.validate()?;
        options.check_supported()?;
        options.check_resolved()?;
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(Error::invalid_argument(
                "a client must be made within a tokio runtime",
            ));
        }
        let mut options = options;
        options.warnings.extend(options.tls.unused());
        telemetry::connection_string_warnings(&options.warnings);
        let listeners = settings::listeners(&options, environment);
        let execution = settings::execution(&options, environment, &listeners);
        let metadata = settings::metadata(&options, environment)?;
        let topology = Topology::start(settings::topology(&options, environment, &metadata, &listeners)?);
        Ok(Self {
            inner: Arc::new(ClientInner {
                executor: Executor::new(topology, execution),
                metadata,
                default_database: options.default_database,
                warnings: options.warnings,
                concerns: Concerns {
                    read_concern: options.read_concern,
                    write_concern: options.write_concern,
                    read_preference: options.read_preference,
                },
            }),
        })
    }

    /// What the connection string holds that was ignored or is deprecated, one sentence each: misspelt options, values of the
    /// wrong form. Also `tls…` options that have no effect because connections are not encrypted. With the feature `tracing` each is also logged at level warn when the
    /// client is made.
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

    pub(crate) fn executor(&self) -> &Executor {
        &self.inner.executor
    }

    /// A database of the deployment.
    #[must_use]
    pub fn database(&self, name: &str) -> Database {
        Database::new(self, name, self.inner.concerns.clone())
    }

    /// The database that the connection string names, if it names one.
    #[must_use]
    pub fn default_database(&self) -> Option<Database> {
        self.inner
            .default_database
            .as_deref()
            .map(|name| self.database(name))
    }

    /// Appends the name, version and platform of a library that wraps the driver to the client metadata of the handshake.
    ///
    /// The parts follow those given before, with `|` between; a part that is empty or not given leaves its field as it is.
    /// What was appended before, with all three parts the same, is not appended again. Connections that exist stay as they
    /// are. See also [`ClientOptions::driver_info`].
    ///
    /// # Errors
    /// A part that holds `|`, or names and versions that together exceed the 512 bytes that servers accept. Then nothing has
    /// changed.
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

    /// Starts a session: a sequence of operations that belong together. Nothing is sent.
    ///
    /// # Errors
    /// Options that contradict each other.
    pub fn start_session(&self) -> StartSession<'_> {
        StartSession::new(self)
    }

    /// Ends the client for all its clones: unused sessions are ended on the server, connections are closed, monitors stop.
    /// Operations begun later, and those that wait for a connection, fail with
    /// [`ErrorKind::Shutdown`](crate::ErrorKind::Shutdown) or [`ErrorKind::Pool`](crate::ErrorKind::Pool); those that were
    /// sent already can be awaited to their end.
    ///
    /// `endSessions` is limited to 2 s, however slow the server is. If the future is dropped, the client stays open, and
    /// `shutdown` can be called again.
    pub async fn shutdown(&self) {
        end_sessions(self.executor(), self.executor().drain_sessions()).await;
        self.executor().topology().close();
    }
}

impl Drop for ClientInner {
    /// Ends the sessions on the server in the background. The task holds the topology, which closes after it.
    fn drop(&mut self) {
        let ids = self.executor.drain_sessions();
        if ids.is_empty() || !self.executor.has_server(PRIMARY_PREFERRED) {
            return;
        }
        let executor = self.executor.successor();
        let runtime = executor.topology().runtime().clone();
        runtime.spawn(async move { end_sessions(&executor, ids).await });
    }
}

/// Sends `endSessions` for these sessions: to the primary if there is one, otherwise to a secondary, as the Driver Sessions
/// specification demands. Sessions expire on the server anyway, so errors are ignored, no server is waited for, and all ends after
/// [`END_SESSIONS_LIMIT`].
async fn end_sessions(executor: &Executor, ids: Vec<[u8; 16]>) {
    let deadline = Deadline::after(Some(END_SESSIONS_LIMIT));
    let all = async {
        for batch in ids.chunks(END_SESSIONS_BATCH) {
            if !executor.has_server(PRIMARY_PREFERRED) {
                return;
            }
            let mut operation = EndSessions { ids: batch };
            let _ = executor.run(&mut operation).await;
        }
    };
    let _ = deadline.run(all).await;
}

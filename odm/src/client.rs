//! Handles: a client of a deployment, its databases, and the collections of models.

use crate::bson::RawDocumentBuf;
use crate::collection::Collection;
use crate::driver::{self, options::ClientOptions};
use crate::error::Result;
use crate::model::Model;
use crate::schema::Schema;

/// Connects to the deployment that a connection string names. See [`Client::connect`].
///
/// # Errors
/// A malformed connection string, or an option that is not supported.
pub async fn connect(uri: impl AsRef<str>) -> Result<Client> {
    Client::connect(uri).await
}

/// A client of one deployment. Make one and share it: cloning is cheap, and all clones use the same connections.
#[derive(Clone, Debug)]
pub struct Client {
    inner: driver::Client,
}

impl Client {
    /// A client of the deployment that a connection string names. Servers are contacted in the background.
    ///
    /// # Errors
    /// A malformed connection string, or an option that is not supported.
    pub async fn connect(uri: impl AsRef<str>) -> Result<Self> {
        Ok(Self::new(driver::Client::connect(uri).await?))
    }

    /// A client with these options. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// Options that contradict one another, or that are not supported.
    pub fn with_options(options: ClientOptions) -> Result<Self> {
        Ok(Self::new(driver::Client::with_options(options)?))
    }

    /// The typed view of a client of the driver.
    #[must_use]
    pub fn new(client: driver::Client) -> Self {
        Client { inner: client }
    }

    /// The driver's client.
    #[must_use]
    pub fn driver(&self) -> &driver::Client {
        &self.inner
    }

    /// What the connection string holds that was ignored or is deprecated, one sentence each: misspelt options, values of the
    /// wrong form. Empty without a connection string. With the feature `tracing` each is also logged at level warn when the
    /// client is made.
    ///
    /// ```no_run
    /// # async fn run() -> marula::Result<()> {
    /// let client = marula::connect("mongodb://localhost/?maxPoolSise=5").await?;
    /// for warning in client.warnings() {
    ///     eprintln!("{warning}"); // unknown option maxPoolSise is ignored
    /// }
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        self.inner.warnings()
    }

    /// A database of the deployment.
    #[must_use]
    pub fn database(&self, name: &str) -> Database {
        Database::new(self.inner.database(name))
    }

    /// The database that the connection string names, if it names one.
    #[must_use]
    pub fn default_database(&self) -> Option<Database> {
        self.inner.default_database().map(Database::new)
    }

    /// Ends the client for all its clones: connections are closed, and later calls fail.
    pub async fn shutdown(&self) {
        self.inner.shutdown().await;
    }
}

/// A database. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Database {
    inner: driver::Database,
}

impl Database {
    /// The typed view of a database of the driver.
    #[must_use]
    pub fn new(database: driver::Database) -> Self {
        Database { inner: database }
    }

    /// The driver's database.
    #[must_use]
    pub fn driver(&self) -> &driver::Database {
        &self.inner
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// The collection of a model, by the name that the model declares; see [`Collection::named`] for another.
    #[must_use]
    pub fn collection<D: Model>(&self) -> Collection<D> {
        Collection::from_driver(&self.inner.collection::<RawDocumentBuf>(D::COLLECTION))
    }

    /// The schema of this database: register models, make a plan, apply it.
    pub fn schema(&self) -> Schema {
        Schema::new(self.inner.clone())
    }
}

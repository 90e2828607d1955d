//! Handles to a deployment and its databases, and through them to the collections of models.

use crate::bson::RawDocumentBuf;
use crate::collection::Collection;
use crate::driver::{self, options::ClientOptions};
use crate::error::Result;
use crate::model::Model;
use crate::schema::Schema;

/// Creates a client from a connection string. See [`Client::connect`].
///
/// # Errors
/// Returns an error for a malformed connection string and for an unsupported option.
pub async fn connect(uri: impl AsRef<str>) -> Result<Client> {
    Client::connect(uri).await
}

/// A client of one deployment. Create one and share it: cloning is cheap, and all clones use the
/// same connection pools.
#[derive(Clone, Debug)]
pub struct Client {
    inner: driver::Client,
}

impl Client {
    /// Creates a client from a connection string. Connections are established in the background.
    ///
    /// # Errors
    /// Returns an error for a malformed connection string and for an unsupported option.
    pub async fn connect(uri: impl AsRef<str>) -> Result<Self> {
        Ok(Self::new(driver::Client::connect(uri).await?))
    }

    /// Creates a client from options. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// Returns an error for conflicting and for unsupported options.
    pub fn with_options(options: ClientOptions) -> Result<Self> {
        Ok(Self::new(driver::Client::with_options(options)?))
    }

    /// Wraps a client of the driver.
    #[must_use]
    pub fn new(client: driver::Client) -> Self {
        Client { inner: client }
    }

    /// The client of the driver.
    #[must_use]
    pub fn driver(&self) -> &driver::Client {
        &self.inner
    }

    /// Warnings about the connection string, one sentence each: unknown options and invalid values,
    /// which are ignored, and deprecated options. Empty for a client that was created without a
    /// connection string. With the feature `tracing` each warning is also logged at level warn when
    /// the client is created.
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

    /// A handle to a database. Nothing is sent.
    #[must_use]
    pub fn database(&self, name: &str) -> Database {
        Database::new(self.inner.database(name))
    }

    /// The default database of the connection string (`mongodb://host/database`), if it has one.
    #[must_use]
    pub fn default_database(&self) -> Option<Database> {
        self.inner.default_database().map(Database::new)
    }

    /// Shuts down the client and all its clones: connections are closed, and later operations fail.
    pub async fn shutdown(&self) {
        self.inner.shutdown().await;
    }
}

/// A handle to a database. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Database {
    inner: driver::Database,
}

impl Database {
    /// Wraps a database of the driver.
    #[must_use]
    pub fn new(database: driver::Database) -> Self {
        Database { inner: database }
    }

    /// The database of the driver.
    #[must_use]
    pub fn driver(&self) -> &driver::Database {
        &self.inner
    }

    /// The name of the database.
    #[must_use]
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// A handle to the collection of a model. Its name is [`Model::COLLECTION`];
    /// [`Collection::named`] selects another one.
    #[must_use]
    pub fn collection<D: Model>(&self) -> Collection<D> {
        Collection::from_driver(&self.inner.collection::<RawDocumentBuf>(D::COLLECTION))
    }

    /// The schema of the database: register models, make a plan, apply it.
    pub fn schema(&self) -> Schema {
        Schema::new(self.inner.clone())
    }
}

//! Handles to a deployment and its databases, and through them to the collections of models.

#[cfg(feature = "cli")]
pub mod cli;

use crate::{
    base::{
        bson::{RawDocumentBuf, doc},
        error::Result,
    },
    driver::{self, Bind, options::ClientOptions},
    models::model::Model,
    query::{bulk::client::ClientBulk, handle::Collection},
    schema::Schema,
};

/// Creates a client from a connection string; the same as [`Client::connect`].
///
/// ```no_run
/// # use marula_guide::*;
/// # async fn run() -> Result<()> {
/// let client = marula::connect("mongodb://localhost/?timeoutMS=10000").await?;
/// # drop(client);
/// # Ok(()) }
/// ```
///
/// # Errors
/// Those of [`Client::connect`].
pub async fn connect(uri: impl AsRef<str>) -> Result<Client> {
    Client::connect(uri).await
}

/// A client of one deployment. Create one and share it: cloning is cheap, and all clones use the
/// same connection pools.
///
/// The client closes when the last clone and the last handle created from it (databases,
/// collections, streams of documents) are dropped, or when [`shutdown`](Client::shutdown) is
/// called. After a drop, `endSessions` is sent and the connections are closed in a background task
/// on the runtime of the client; `shutdown` can be awaited before the program exits.
#[derive(Clone, Debug)]
pub struct Client {
    inner: driver::Client,
}

impl Client {
    /// Creates a client from a connection string.
    ///
    /// Returns without waiting for a server: connections are established in the background, and an
    /// operation waits up to `serverSelectionTimeoutMS` (default 30 s) for a suitable server. For
    /// `mongodb+srv`, the DNS records are queried first.
    ///
    /// ```no_run
    /// # use marula_guide::*;
    /// # async fn run() -> Result<()> {
    /// let client = Client::connect("mongodb://a,b,c/shop?replicaSet=rs0").await?;
    /// assert_eq!(client.default_database().unwrap().name(), "shop");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if the connection string is malformed, an option is
    /// not supported by this version or by the enabled features, TLS is enabled and a file of a `tls…`
    /// option cannot be read or is invalid, or a DNS query fails. The message names the part. Values that
    /// the specification lets a driver ignore, and `tls…` options without `tls=true`, are warnings of the
    /// [driver's client](crate::driver::Client::warnings).
    ///
    /// Operations fail after the tokio runtime in which the client was created has ended: a client in a
    /// `static` cannot be shared by several `#[tokio::test]`s.
    pub async fn connect(uri: impl AsRef<str>) -> Result<Self> {
        Ok(Self::new(driver::Client::connect(uri).await?))
    }

    /// Creates a client from options. Must be called within a tokio runtime.
    ///
    /// ```no_run
    /// # use marula_guide::*;
    /// # async fn run() -> Result<()> {
    /// use marula::driver::options::ClientOptions;
    /// let mut options = ClientOptions::parse("mongodb://localhost")?.resolve().await?;
    /// options.app_name = Some("shop".to_owned());
    /// let client = Client::with_options(options)?;
    /// # drop(client);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) for invalid, conflicting and unsupported options.
    pub fn with_options(options: ClientOptions) -> Result<Self> {
        Ok(Self::new(driver::Client::with_options(options)?))
    }

    /// Creates a client with automatic encryption: it encrypts the [encrypted fields](crate::encryption) of commands, and
    /// decrypts replies. Must be called within a tokio runtime. For the options see
    /// [`Schema::encrypted_fields_map`](crate::schema::Schema::encrypted_fields_map).
    ///
    /// ```no_run
    /// # async fn run(master_key: [u8; 96]) -> marula::Result<()> {
    /// use marula::driver::encryption::{AutoEncryptionOptions, KmsProviders};
    /// use marula::driver::options::ClientOptions;
    ///
    /// let options = ClientOptions::parse("mongodb://localhost")?.resolve().await?;
    /// let providers = KmsProviders::new().local(&master_key);
    /// let encryption = AutoEncryptionOptions::new("encryption.keys", providers);
    /// let client = marula::Client::with_auto_encryption(options, encryption)?;
    /// # drop(client);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`with_options`](Client::with_options), and those of
    /// [`driver::Client::with_auto_encryption`] for the options of encryption.
    #[cfg(feature = "encryption")]
    pub fn with_auto_encryption(
        options: ClientOptions,
        encryption: driver::encryption::AutoEncryptionOptions,
    ) -> Result<Self> {
        Ok(Self::new(driver::Client::with_auto_encryption(
            options, encryption,
        )?))
    }

    /// Wraps a client of the driver, with which it shares the connection pools.
    ///
    /// ```no_run
    /// # use marula_guide::*;
    /// # async fn run() -> Result<()> {
    /// let driver = marula::driver::Client::connect("mongodb://localhost").await?;
    /// let client = Client::new(driver);
    /// # drop(client);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn new(client: driver::Client) -> Self {
        Client { inner: client }
    }

    /// Sends `ping` to a server that the read preference of the client selects: whether the deployment answers, for the readiness
    /// check of a service. Waits up to `serverSelectionTimeoutMS` (default 30 s), or `timeoutMS`. If the future is dropped,
    /// nothing has changed.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// client.ping().await?;
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if no server can be selected or does not answer, or if a login fails.
    pub async fn ping(&self) -> Result<()> {
        let admin = self.inner.database("admin");
        admin.run_command(doc! { "ping": 1 }).await?;
        Ok(())
    }

    /// The client of the driver, for operations that the ODM does not have, such as
    /// [`list_database_names`](driver::Client::list_database_names).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let names = client.driver().list_database_names().await?;
    /// assert!(names.contains(&"shop".to_owned()));
    /// # Ok(()) });
    /// ```
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

    /// A handle to a database. Nothing is sent, and the name is not checked: an invalid name is an
    /// error of the operations.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let orders = client.database("shop").collection::<Order>();
    /// assert_eq!(orders.estimated_count().await?, 3);
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn database(&self, name: &str) -> Database {
        Database::new(self.inner.database(name))
    }

    /// The default database of the connection string (`mongodb://host/database`), if it has one.
    ///
    /// ```no_run
    /// # use marula_guide::*;
    /// # async fn run() -> Result<()> {
    /// let client = Client::connect("mongodb://localhost/shop").await?;
    /// let db = client.default_database().expect("the connection string names a database");
    /// assert_eq!(db.name(), "shop");
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn default_database(&self) -> Option<Database> {
        self.inner.default_database().map(Database::new)
    }

    /// Starts a session for causally consistent operations, snapshot reads or transactions; pass it to
    /// actions with `.session(&mut session)`. Awaiting the action sends nothing. See
    /// [`driver::Client::start_session`](driver::Client::start_session).
    ///
    /// ```no_run
    /// # use marula::{Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, age: i32 }
    /// # async fn run(client: marula::Client, ada: Person) -> marula::Result<()> {
    /// let people = client.database("town").collection::<Person>();
    /// let mut session = client.start_session().await?;
    /// people.insert_one(&ada).session(&mut session).await?;
    /// // This read observes the insert, also on a secondary.
    /// let found = people.find_by_id(ada._id).session(&mut session).await?;
    /// # drop(found); Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`InvalidArgument`](driver::ErrorKind::InvalidArgument) if the options contradict each other.
    pub fn start_session(&self) -> driver::action::StartSession<'_> {
        self.inner.start_session()
    }

    /// Starts a transaction in a session of its own. The calls of handles that
    /// [`tx.bind`](driver::ClientSession::bind) returns take part in it, and actions with `.session(&mut tx)`. It is
    /// aborted when it is dropped without [`commit`](driver::TransactionScope::commit). Errors and repetitions are left to the caller;
    /// [`transaction`](Client::transaction) handles them.
    ///
    /// ```no_run
    /// # use marula::{Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, age: i32 }
    /// # async fn run(client: marula::Client, people: marula::Collection<Person>) -> marula::Result<()> {
    /// let mut tx = client.start_transaction().await?;
    /// let people = tx.bind(&people);
    /// people.update_by_id(1, |p| p.age().inc(1)).await?;
    /// people.delete_by_id(2).required().await?;
    /// tx.commit().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`InvalidArgument`](driver::ErrorKind::InvalidArgument) if the write concern is
    /// unacknowledged. A deployment without transactions is reported by the first operation.
    pub fn start_transaction(&self) -> driver::action::StartTransactionScope<'_> {
        self.inner.start_transaction()
    }

    /// A transaction that [`run`](driver::action::TransactionSettings::run) runs in a session of its
    /// own, commits, and runs again after errors that another attempt can resolve.
    ///
    /// The body calls handles that [`tx.bind`](driver::ClientSession::bind) returns, or passes `tx` to each action with
    /// `.session(tx)`; other calls are outside of the transaction, and errors if it is
    /// [`strict`](driver::action::TransactionSettings::strict). It can run several times. It must return the errors of
    /// its actions: [`Error`](crate::Error), or a type that both it and the driver's errors convert
    /// to.
    ///
    /// ```no_run
    /// # use marula::{Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "accounts")]
    /// # struct Account { _id: i64, balance: i64 }
    /// # async fn run(client: marula::Client) -> marula::Result<()> {
    /// let accounts = client.database("bank").collection::<Account>();
    /// client
    ///     .transaction()
    ///     .run(async |tx| {
    ///         let accounts = tx.bind(&accounts);
    ///         let from = accounts.update_one(
    ///             |a| a._id().eq(1) & a.balance().gte(50),
    ///             |a| a.balance().inc(-50),
    ///         );
    ///         from.required().await?;
    ///         accounts.update_by_id(2, |a| a.balance().inc(50)).required().await
    ///     })
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn transaction(&self) -> driver::action::TransactionSettings {
        self.inner.transaction()
    }

    /// Several writes on the collections of several models, which are sent in as few commands as
    /// possible when the action is awaited (MongoDB 8.0+). The writes of each collection are added by
    /// [`on`](crate::collection::ClientBulk::on), with the methods of [`Collection::bulk`], which
    /// writes to one collection and works with all servers.
    ///
    /// The concerns of the collections, and those that models declare, are not used: the writes have the
    /// write concern of the client, or that of
    /// [`write_concern`](crate::collection::ClientBulk::write_concern). Without writes, nothing is sent.
    ///
    /// ```no_run
    /// # use marula::{Collection, Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, sku: String }
    /// # #[derive(Document)]
    /// # #[document(collection = "stock")]
    /// # struct Item { _id: String, left: i32 }
    /// # async fn run(client: marula::Client, order: Order) -> marula::Result<()> {
    /// let shop = client.database("shop");
    /// let (orders, stock) = (shop.collection::<Order>(), shop.collection::<Item>());
    /// let done = client
    ///     .bulk()
    ///     .on(&orders, |b| b.insert(&order))
    ///     .on(&stock, |b| b.update_by_id(&order.sku, |i| i.left().inc(-1)))
    ///     .await?;
    /// assert_eq!((done.inserted_count, done.matched_count), (1, 1));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`Collection::bulk`]; [`Unsupported`](driver::ErrorKind::Unsupported) if the server is
    /// older than 8.0.
    pub fn bulk(&self) -> ClientBulk<'_> {
        ClientBulk::new(&self.inner)
    }

    /// Shuts down the client and all its clones; see
    /// [`driver::Client::shutdown`](driver::Client::shutdown). Await the action for what had not
    /// ended. Operations that begin later fail with [`Error::Driver`](crate::Error::Driver).
    ///
    /// With a [`deadline`](driver::action::Shutdown::deadline) the operations, cursors and transactions in
    /// progress may continue until then. Default: none, they fail at once.
    ///
    /// ```no_run
    /// # async fn run(client: marula::Client) {
    /// let rest = client.shutdown().deadline(std::time::Duration::from_secs(10)).await;
    /// println!("{} operations had not ended", rest.operations);
    /// # }
    /// ```
    pub fn shutdown(&self) -> driver::action::Shutdown<'_> {
        self.inner.shutdown()
    }

    /// Establishes connections to each data-bearing server before they are needed; see
    /// [`driver::Client::warm_up`](driver::Client::warm_up).
    ///
    /// ```no_run
    /// # async fn run() -> Result<(), marula::driver::Error> {
    /// let client = marula::connect("mongodb://localhost/?minPoolSize=5").await.unwrap();
    /// client.warm_up().await?;
    /// # Ok(()) }
    /// ```
    pub fn warm_up(&self) -> driver::action::WarmUp<'_> {
        self.inner.warm_up()
    }
}

/// A handle to a database. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Database {
    inner: driver::Database,
}

impl Database {
    /// Wraps a database of the driver, with its concerns and its read preference.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let db = Database::new(client.driver().database("shop"));
    /// assert_eq!(db.collection::<Order>().estimated_count().await?, 3);
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn new(database: driver::Database) -> Self {
        Database { inner: database }
    }

    /// The database of the driver, for operations that the ODM does not have, such as
    /// [`run_command`](driver::Database::run_command) and [`drop`](driver::Database::drop()).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// db.driver().run_command(doc! { "ping": 1 }).await?;
    /// db.driver().drop().await?;
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn driver(&self) -> &driver::Database {
        &self.inner
    }

    /// The client of the database.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let other = db.client().database("archive");
    /// assert_eq!(other.name(), "archive");
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn client(&self) -> Client {
        Client::new(self.inner.client().clone())
    }

    /// The name of the database.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(db.name(), "shop");
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// The database with this name, with the same concerns and read preference: for example one
    /// database for each tenant.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let tenant = db.in_db("shop_acme").collection::<Order>();
    /// assert_eq!(tenant.namespace().to_string(), "shop_acme.orders");
    /// # Ok(()) });
    /// ```
    #[must_use]
    #[doc(alias = "in_database")]
    #[doc(alias = "with_name")]
    pub fn in_db(&self, name: &str) -> Self {
        Database::new(self.inner.with_name(name))
    }

    /// A handle to the collection of a model, with the concerns and the read preference that the
    /// model declares, otherwise those of the database. Its name is [`Model::COLLECTION`]; [`Collection::named`] selects another one.
    /// Nothing is sent.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let orders: Collection<Order> = db.collection();
    /// assert_eq!(orders.name(), "orders");
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn collection<D: Model>(&self) -> Collection<D> {
        let collection = self.inner.collection::<RawDocumentBuf>(D::COLLECTION);
        Collection::from_driver(&D::configured(collection))
    }

    /// A schema without models: [register](Schema::register) models, [make a plan](Schema::plan),
    /// and [apply](crate::schema::SchemaPlan::apply) it. Nothing is sent before the plan is made.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// println!("{}", db.schema().register::<Order>().plan().await?);
    /// # Ok(()) });
    /// ```
    pub fn schema(&self) -> Schema {
        Schema::new(self.inner.clone())
    }
}

/// `tx.bind(&db)`: the same database, whose collections take part in the transaction. See
/// [`ClientSession::bind`](driver::ClientSession::bind).
///
/// ```
/// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
/// client
///     .transaction()
///     .run(async |tx| tx.bind(&db).collection::<Order>().insert_one(&order(10)).await)
///     .await?;
/// # Ok(()) });
/// ```
impl Bind for &Database {
    type Bound = Database;

    fn bind_to(self, transaction: &driver::BoundTransaction) -> Database {
        Database::new(self.inner.bind_to(transaction))
    }
}

impl<D> Collection<D> {
    /// The database of the collection, and with it the client: a handler that has only a collection starts a
    /// transaction with it.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let client = orders.database().client();
    /// client
    ///     .transaction()
    ///     .run(async |tx| tx.bind(&orders).update_by_id(1, |o| o.total().inc(5)).await)
    ///     .await?;
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn database(&self) -> Database {
        Database::new(self.raw().database().clone())
    }
}

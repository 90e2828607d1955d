//! Testing: a replica set for each test, failovers, fail points.
//!
//! `marula-test-server` is a MongoDB-compatible server in the process of the test. A replica set of
//! three members starts in a few milliseconds, without a container and without files, so each test
//! has a deployment of its own, and tests run in parallel.
//!
//! ```
//! # use marula_guide::*;
//! use marula_test_server::TestServer;
//!
//! // #[tokio::test]
//! async fn an_order_is_paid() -> Result<(), Box<dyn std::error::Error>> {
//!     let server = TestServer::builder().replica_set().start().await?;
//!     let client = marula::connect(server.uri()).await?;
//!     let orders = client.database("shop").collection::<Order>();
//!     orders.insert_one(&order(1)).await?;
//!
//!     pay(&orders, 1).await?;
//!
//!     assert_eq!(orders.find_by_id(1).required().await?.status, Status::Paid);
//!     client.shutdown().deadline(std::time::Duration::from_secs(10)).await;
//!     server.stop().await; // panics if the client has violated the protocol
//!     Ok(())
//! }
//!
//! async fn pay(orders: &Collection<Order>, id: i64) -> marula::Result<()> {
//!     let open = orders.update_one(
//!         |o| o.id().eq(id) & o.status().eq(Status::Open),
//!         |o| o.status().set(Status::Paid),
//!     );
//!     open.required().await?;
//!     Ok(())
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! #     an_order_is_paid().await.unwrap();
//! # }
//! ```
//!
//! # A test environment
//!
//! ```
//! # use marula_guide::*;
//! use marula_test_server::TestServer;
//! use marula::schema::SyncMode;
//!
//! struct Env {
//!     server: TestServer,
//!     client: Client,
//!     db: Database,
//! }
//!
//! impl Env {
//!     async fn start() -> Result<Env, Box<dyn std::error::Error>> {
//!         let server = TestServer::builder().replica_set().version("8.0.0").start().await?;
//!         let client = marula::connect(server.uri()).await?;
//!         let db = client.database("shop");
//!         // The same declarations as in production, with unique indexes.
//!         db.schema().register::<Order>().sync(SyncMode::Additive).await?;
//!         Ok(Env { server, client, db })
//!     }
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let env = Env::start().await?;
//! # assert_eq!(env.db.collection::<Order>().estimated_count().await?, 0);
//! # env.client.shutdown().deadline(std::time::Duration::from_secs(10)).await;
//! # env.server.stop().await;
//! # Ok(()) }
//! ```
//!
//! The version decides which features and error codes the server has: run the tests with that of
//! production.
//!
//! # Models with encrypted fields
//!
//! The server stores encrypted collections and checks their state, but commands are analyzed by mongocryptd or `crypt_shared` of
//! MongoDB, with it as with a real one: tests of [encrypted fields](super::encryption) need one of them, libmongocrypt, and the key
//! management service `local`. Both can be installed without a server (MongoDB Enterprise, package
//! `mongodb-enterprise-cryptd`, or the download of `crypt_shared`).
//!
//! # Without a server
//!
//! Filters, updates and pipelines print what they send. Code that builds them is tested without a
//! connection:
//!
//! ```
//! # use marula_guide::*;
//! fn visible(customer: i64) -> Filter<Order> {
//!     let o = Order::fields();
//!     o.customer().eq(customer) & o.status().ne(Status::Shipped)
//! }
//!
//! assert_eq!(
//!     visible(7).to_string(),
//!     r#"{"customer": {"$eq": 7}, "status": {"$ne": "shipped"}}"#
//! );
//! ```
//!
//! # Failovers
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! assert!(server.step_down()); // another member becomes primary
//! // Retryable writes hide the election from the application.
//! orders.insert_one(&order(10)).await?;
//! assert_eq!(orders.estimated_count().await?, 4);
//! # Ok(()) });
//! ```
//!
//! # Fail points
//!
//! The server has MongoDB's `failCommand`: a command fails with a code, or a connection closes, or
//! the reply is delayed.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let fail_point = doc! {
//!     "configureFailPoint": "failCommand",
//!     "mode": { "times": 1 },
//!     "data": { "failCommands": ["find"], "errorCode": 13 },
//! };
//! client.driver().database("admin").run_command(fail_point).await?;
//!
//! let error = orders.find_all().await.unwrap_err();
//! assert_eq!(error.driver().and_then(|e| e.code()), Some(13)); // Unauthorized
//! assert_eq!(orders.find_all().await?.len(), 3); // the next call
//! # Ok(()) });
//! ```
//!
//! # What was sent
//!
//! A command listener records commands; see [Observability](super::observability). The server
//! counts them: `commands_seen("find")`.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! orders.find_by_id(1).await?;
//! orders.find_by_id(2).await?;
//! assert_eq!(server.commands_seen("find"), 2);
//! # Ok(()) });
//! ```
//!
//! # What the server refuses
//!
//! A server that accepts more than MongoDB does makes tests pass that fail in production. What MongoDB refuses,
//! this one refuses with the same code and message, in the same versions and deployments: for example a
//! unique index without the shard key, a text index with a collation, an update of one document of a time
//! series, `$expr` in an upsert, a stage that the version does not have, and what the strict Stable API or
//! a transaction excludes. The table is in its README, and in `marula_test_server::refusals`.
//!
//! Run the tests with the oldest version that the application supports, and with the newest one:
//!
//! ```
//! # use marula_guide::*;
//! use marula_test_server::TestServer;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = TestServer::builder().version("4.2").start().await?;
//! let client = marula::connect(server.uri()).await?;
//! let orders = client.database("shop").collection::<Order>();
//! // `$unionWith` is new in 4.4: the call says so, and sends nothing.
//! let error = orders.aggregate().union_with::<Order>(|o| o).all().await.unwrap_err();
//! assert!(error.to_string().contains("`$unionWith` requires MongoDB 4.4 or later"));
//! assert_eq!(server.commands_seen("aggregate"), 0);
//! # client.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! # Sharded collections
//!
//! A collection that is sharded by a key follows the rules of a cluster with several shards:
//!
//! ```
//! # use marula_guide::*;
//! use marula_test_server::TestServer;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = TestServer::builder().sharded().version("6.0").start().await?;
//! server.shard_collection("shop.orders", &doc! { "customer": 1 })?;
//! let client = marula::connect(server.uri()).await?;
//! let orders = client.database("shop").collection::<Order>();
//! // A save selects the document by its id, which does not name its shard before MongoDB 7.0.
//! let error = orders.save(&order(1)).await.unwrap_err();
//! assert!(matches!(error, Error::ShardKey { key: Some(key), .. } if key.contains_key("customer")));
//! # client.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! # Index builds
//!
//! `hold_index_builds` keeps the builds of indexes open, as those of large collections are, until the returned
//! value is dropped. Other commands on the collection fail meanwhile as MongoDB's do.
//!
//! # What the server lacks
//!
//! The server replies to what it does not implement with an error (238 `NotImplemented`), never with a wrong
//! result: JavaScript, custom roles, moving chunks, and some operators, which its README lists. It has no
//! query planner and no storage engine: plans, statistics, memory limits and times are not those of
//! MongoDB, secondaries never lag, and all data of all shards is in one process. Tests of performance, and
//! tests that need a real server, read its connection string from the environment.

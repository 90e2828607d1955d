//! Transactions: closures, bound handles, guards, versions.
//!
//! Transactions need a replica set or a sharded cluster. One document is always changed atomically,
//! and most tasks need no more than that: put the condition into the filter of the update.
//!
//! # By closure
//!
//! [`Client::transaction`](crate::Client::transaction) runs a closure in a session, commits, and
//! runs it again after errors that another attempt can resolve, such as a write conflict or an
//! election. [`tx.bind`](crate::driver::ClientSession::bind) returns handles whose calls take part in the transaction:
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let placed = client
//!     .transaction()
//!     .run(async |tx| {
//!         let (orders, customers) = tx.bind((&orders, &customers));
//!         customers.find_by_id(1).required().await?;
//!         orders.insert_one(&order(10)).await?;
//!         // An error aborts the transaction.
//!         orders.update_by_id(3, |o| o.total().inc(-50)).required().await
//!     })
//!     .await?;
//! assert_eq!(placed.modified_count, 1);
//! # Ok(()) });
//! ```
//!
//! - Bind the handles at the beginning of the closure, with the names of those outside. A bound handle has the same type, its
//!   scope, its view of soft-deleted documents and its options, so a function that takes `&Collection<Order>` works with both.
//!   `tx.bind(&db)` binds a database and the collections that are made from it, and a
//!   [bulk write](crate::Client::bulk) on bound collections is part of their transaction. A type of your own that
//!   consists of handles implements [`Bind`](crate::driver::Bind).
//! - A closure that ends with `Ok(())` states its error: `Ok::<_, marula::Error>(())`. It can run several times, so it cannot change
//!   variables outside: return what it found.
//! - After the transaction, calls of a bound handle are errors. Two calls at once, in `join!`, are sent one after the other. What
//!   cannot be part of a transaction is an error before it is sent: change streams, estimated counts, `explain`, `$out` and
//!   `$merge`, the schema.
//! - **A call of another handle is outside of the transaction.** It is not undone if the
//!   transaction is aborted. **If it writes to a document that the transaction has written to, it waits for
//!   the transaction, which waits for it**, until `timeoutMS` of the call or
//!   `transactionLifetimeLimitSeconds` of the server, by default 60 s. The time limit of the transaction does
//!   not limit the call. With the feature `tracing`, debug builds log the first such call of each run, as a warning of the target
//!   `marula_driver::transaction`. In a
//!   [`strict`](crate::driver::action::TransactionSettings::strict) transaction, each is an error. One that is meant to be outside
//!   is awaited with [`outside_transaction`](crate::outside_transaction):
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::outside_transaction;
//!
//! let attempts = orders.named("attempts");
//! let cancelled = client
//!     .transaction()
//!     .strict()
//!     .run(async |tx| {
//!         // Remains if the transaction is aborted.
//!         outside_transaction(attempts.insert_one(&order(11))).await?;
//!         tx.bind(&orders).update_by_id(99, |o| o.total().inc(1)).required().await
//!     })
//!     .await;
//! assert!(matches!(cancelled, Err(Error::NotFound { .. })));
//! assert!(attempts.find_by_id(11).await?.is_some());
//! # Ok(()) });
//! ```
//!
//! - [`session(tx)`](crate::collection::Find::session) puts one call into the transaction, without a bound handle. The compiler
//!   does not notice where it is missing.
//! - The closure can run several times. It has no other effects, such as an email; those come after
//!   `run`.
//! - It returns the errors of its calls, also those that it expects. The server aborts the transaction at an
//!   error such as a duplicate key. If the closure handles it and returns `Ok`, the commit fails and the
//!   closure runs again, with the same error, until the time limit: by default 120 s, otherwise
//!   [`timeout`](crate::driver::action::TransactionSettings::timeout). To insert a document unless it exists,
//!   read it first, use an upsert, or handle the error of `run`:
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let inserted = client
//!     .transaction()
//!     .run(async |tx| tx.bind(&orders).insert_one(&order(1)).await.map(drop))
//!     .await;
//! match inserted {
//!     Ok(()) | Err(Error::Duplicate { .. }) => {} // outside of the closure
//!     Err(error) => return Err(error.into()),
//! }
//! # Ok(()) });
//! ```
//!
//! - Its error is [`Error`](crate::Error), or a type that implements `From<marula::Error>` and
//!   `From<marula::driver::Error>`:
//!
//! ```no_run
//! # use marula_guide::*;
//! # async fn run(client: Client, db: Database, orders: Collection<Order>) -> Result<()> {
//! #[derive(Debug)]
//! enum Refused {
//!     TooLate,
//!     Database(Error),
//! }
//!
//! impl From<Error> for Refused {
//!     fn from(error: Error) -> Self {
//!         Refused::Database(error)
//!     }
//! }
//!
//! impl From<marula::driver::Error> for Refused {
//!     fn from(error: marula::driver::Error) -> Self {
//!         Refused::Database(error.into())
//!     }
//! }
//!
//! let cancelled: Result<(), Refused> = client
//!     .transaction()
//!     .timeout(std::time::Duration::from_secs(5))
//!     .run(async |tx| {
//!         let orders = tx.bind(&orders);
//!         let order = orders.find_by_id(1).required().await?;
//!         if order.status == Status::Shipped {
//!             return Err(Refused::TooLate);
//!         }
//!         orders.delete_by_id(1).await?;
//!         Ok(())
//!     })
//!     .await;
//! # drop(cancelled);
//! # Ok(()) }
//! ```
//!
//! # By guard
//!
//! [`Client::start_transaction`](crate::Client::start_transaction) returns a scope. It is aborted
//! when it is dropped without a commit. Errors are not repeated, and calls outside of the transaction are not noticed.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let mut tx = client.start_transaction().await?;
//! let bound = tx.bind(&orders);
//! bound.update_by_id(1, |o| o.total().inc(-50)).required().await?;
//! bound.update_by_id(2, |o| o.total().inc(50)).required().await?;
//! tx.commit().await?;
//! assert_eq!(orders.find_by_id(2).required().await?.total, 250);
//! # Ok(()) });
//! ```
//!
//! # Sessions
//!
//! Operations in one session read their own writes, also on secondaries:
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let mut session = client.start_session().await?;
//! orders.insert_one(&order(10)).session(&mut session).await?;
//! let found = orders.find_by_id(10).session(&mut session).await?;
//! assert!(found.is_some());
//! # Ok(()) });
//! ```
//!
//! # Optimistic locking
//!
//! `#[document(version)]` compares versions instead of locking: a replacement or a save of a
//! document that was changed or deleted since it was read is
//! [`Error::VersionConflict`](crate::Error::VersionConflict). Read it again and repeat the change.
//! Documents that are inserted have the version of the struct, usually 0, those that a save or an
//! upsert inserts version 1; a save with another version than 0 never inserts. An upsert that
//! consists of [`set_on_insert`](crate::UpdateOps::set_on_insert) only does not change the version
//! and the times of a stored document. Other updates do, even if the new values are equal to the
//! stored ones.
//!
//! ```
//! use marula::{Collection, Document, Error, prelude::*};
//!
//! #[derive(Document)]
//! #[document(collection = "pages")]
//! struct Page {
//!     #[serde(rename = "_id")]
//!     id: i64,
//!     text: String,
//!     #[document(version)]
//!     version: i64,
//! }
//!
//! async fn edit(pages: &Collection<Page>, id: i64, change: impl Fn(&mut Page)) -> marula::Result<Page> {
//!     loop {
//!         let mut page = pages.find_by_id(id).required().await?;
//!         change(&mut page);
//!         match pages.save(&mut page).await {
//!             Ok(_) => return Ok(page),
//!             Err(Error::VersionConflict { .. }) => {} // changed meanwhile
//!             Err(error) => return Err(error),
//!         }
//!     }
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = marula_test_server::TestServer::builder().start().await?;
//! # let client = marula::connect(server.uri()).await?;
//! # let pages = client.database("wiki").collection::<Page>();
//! # pages.insert_one(&Page { id: 1, text: "a".into(), version: 0 }).await?;
//! # assert_eq!(edit(&pages, 1, |p| p.text.push('b')).await?.text, "ab");
//! # Ok(()) }
//! ```

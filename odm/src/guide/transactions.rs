//! Transactions: closures, guards, versions.
//!
//! Transactions need a replica set or a sharded cluster. One document is always changed atomically,
//! and most tasks need no more than that: put the condition into the filter of the update.
//!
//! # By closure
//!
//! [`Client::transaction`](crate::Client::transaction) runs a closure in a session, commits, and
//! runs it again after errors that another attempt can resolve, such as a write conflict or an
//! election.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let placed = client
//!     .transaction()
//!     .run(async |tx| {
//!         customers.find_by_id(1).session(tx).required().await?;
//!         orders.insert_one(&order(10)).session(tx).await?;
//!         // An error aborts the transaction.
//!         orders.update_by_id(3, |o| o.total().inc(-50)).session(tx).required().await
//!     })
//!     .await?;
//! assert_eq!(placed.modified_count, 1);
//! # Ok(()) });
//! ```
//!
//! - Pass `tx` to each call: a call without it is outside of the transaction. It is not undone if the
//!   transaction is aborted. **If it writes to a document that the transaction has written to, it waits for
//!   the transaction, which waits for it**, until `timeoutMS` of the call or
//!   `transactionLifetimeLimitSeconds` of the server, by default 60 s. The time limit of the transaction does
//!   not limit the call.
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
//!     .run(async |tx| orders.insert_one(&order(1)).session(tx).await.map(drop))
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
//!         let order = orders.find_by_id(1).session(tx).required().await?;
//!         if order.status == Status::Shipped {
//!             return Err(Refused::TooLate);
//!         }
//!         orders.delete_by_id(1).session(tx).await?;
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
//! when it is dropped without a commit. Errors are not repeated.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let mut tx = client.start_transaction().await?;
//! orders.update_by_id(1, |o| o.total().inc(-50)).session(&mut tx).required().await?;
//! orders.update_by_id(2, |o| o.total().inc(50)).session(&mut tx).required().await?;
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

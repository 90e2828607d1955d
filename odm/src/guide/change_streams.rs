//! Change streams: events, filters, resume tokens.
//!
//! [`Collection::watch`](crate::Collection::watch) returns a
//! [`ChangeStream`](crate::collection::ChangeStream) of typed events. It needs a replica set or a
//! sharded cluster, and resumes by itself after network errors and elections.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::driver::ChangeOperation;
//!
//! let mut events = orders.watch().filter(|o| o.total().gt(500)).await?;
//! orders.insert_one(&order(4)).await?; // 400: filtered out by the server
//! orders.insert_one(&order(7)).await?;
//!
//! let event = events.try_next().await?.expect("an event");
//! assert_eq!(event.operation, ChangeOperation::Insert);
//! assert_eq!(event.full_document.map(|o| o.id), Some(7));
//! # Ok(()) });
//! ```
//!
//! # What an event contains
//!
//! | field | content |
//! |---|---|
//! | `operation` | insert, update, replace, delete, drop, … |
//! | `document_key` | the `_id` of the document |
//! | `full_document` | the document: for inserts and replacements; for updates with the option below, which handles with a scope and models of one kind have by default |
//! | `full_document_before_change` | the document before the change, if the collection has `pre_and_post_images` |
//! | `update_description` | the fields that an update has changed and removed |
//!
//! An update event has no document unless it is requested. `UpdateLookup` reads the present
//! document, which can be newer than the event; `WhenAvailable` and `Required` return the one after
//! the change (MongoDB 6.0+, `#[document(pre_and_post_images)]`).
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::driver::{ChangeOperation, options::FullDocument};
//!
//! let mut updates = orders
//!     .watch()
//!     .operations([ChangeOperation::Update])
//!     .full_document(FullDocument::UpdateLookup)
//!     .await?;
//! orders.update_by_id(1, |o| o.status().set(Status::Paid)).await?;
//!
//! let event = updates.try_next().await?.expect("an event");
//! assert_eq!(event.full_document.map(|o| o.status), Some(Status::Paid));
//! let changed = event.update_description.expect("an update").updated_fields;
//! assert_eq!(changed.get_str("status")?, "paid");
//! # Ok(()) });
//! ```
//!
//! # Continuing after a restart
//!
//! A resume token is the position after the event that was returned last. A worker stores it after
//! it has processed the event, and passes it to
//! [`resume_after`](crate::collection::Watch::resume_after). An event is processed again if the
//! worker ends between both, so processing is idempotent. The type of the token is
//! [`ResumeToken`](crate::driver::ResumeToken).
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let mut events = orders.watch().await?;
//! orders.insert_many([order(4), order(5)]).await?;
//! events.try_next().await?;
//! let token = events.resume_token().expect("a token"); // store it: it implements serde's traits
//! events.close().await;
//!
//! let mut events = orders.watch().resume_after(token).await?;
//! let next = events.try_next().await?.expect("an event");
//! assert_eq!(next.full_document.map(|o| o.id), Some(5));
//! # Ok(()) });
//! ```
//!
//! A token is valid as long as the server's oplog contains its position. Later the stream fails
//! with an error for which
//! [`is_change_stream_history_lost`](crate::driver::Error::is_change_stream_history_lost) is true:
//! read the collection again, and start a new stream.
//!
//! # Ending
//!
//! [`try_next`](crate::collection::ChangeStream::try_next) waits for an event.
//! [`next_if_any`](crate::collection::ChangeStream::next_if_any) returns `None` after
//! [`max_await_time`](crate::collection::Watch::max_await_time). The stream also implements
//! `Stream`. A stream that is dropped closes its cursor in the background;
//! [`close`](crate::collection::ChangeStream::close) waits for it.
//!
//! Databases and deployments are watched by the driver: [`Client::driver`](crate::Client::driver),
//! [`Database::driver`](crate::Database::driver).

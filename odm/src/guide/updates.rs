//! Updates: operators, array elements, upserts, pipelines.
//!
//! # Operators
//!
//! An update is one operator, or a tuple of them; `Option` and `Vec` of updates also are updates.
//! All operators are in [`UpdateOps`](crate::UpdateOps) and
//! [`ArrayUpdateOps`](crate::ArrayUpdateOps).
//!
//! ```
//! # use marula_guide::*;
//! use marula::{IntoUpdate, Update};
//!
//! let o = Order::fields();
//! let update: Update<Order> = (
//!     o.status().set(Status::Paid),
//!     o.total().inc(250),
//!     o.tags().add_each_to_set(["new", "gift"]),
//!     o.note().unset(),
//!     o.created_at().current_date(),
//! )
//!     .into_update();
//! assert_eq!(
//!     update.to_string(),
//!     concat!(
//!         r#"{"$set": {"status": "paid"}, "$inc": {"total": 250}, "#,
//!         r#""$addToSet": {"tags": {"$each": ["new", "gift"]}}, "$unset": {"note": ""}, "#,
//!         r#""$currentDate": {"created_at": true}}"#
//!     )
//! );
//! ```
//!
//! Two operators on one field, or on a field and a part of it, are
//! [`Error::InvalidUpdate`](crate::Error::InvalidUpdate) before anything is sent.
//!
//! # Patches and changes
//!
//! [`#[derive(Patch)]`](derive@crate::Patch) makes an update of a struct of optional fields, such as the body of a
//! `PATCH` request; see [PATCH](super::dynamic#patch). [`save_changes`](crate::Collection::save_changes) compares a
//! document with the one that was read, and sends only the fields that differ, so that it keeps what others have changed:
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let before = orders.find_by_id(1).required().await?;
//! let mut after = before.clone();
//! after.note = Some("ring twice".to_owned());
//! after.tags.push("urgent".to_owned());
//! // Another client changes another field.
//! orders.update_by_id(1, |o| o.status().set(Status::Paid)).await?;
//! orders.save_changes(&before, &after).required().await?;
//! assert_eq!(orders.find_by_id(1).required().await?.status, Status::Paid);
//! # Ok(()) });
//! ```
//!
//! # Which documents
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! // One document by its id; `required` makes a missing document an error.
//! orders.update_by_id(1, |o| o.status().set(Status::Paid)).required().await?;
//!
//! // A condition in the filter makes the update atomic: it changes the order only while it is open.
//! let cancelled = orders
//!     .update_one(|o| o.id().eq(1) & o.status().eq(Status::Open), |o| o.total().set(0))
//!     .await?;
//! assert_eq!(cancelled.matched_count, 0);
//!
//! let many = orders.update_many(|o| o.status().eq(Status::Open), |o| o.tags().push("new")).await?;
//! assert_eq!(many.modified_count, 2);
//!
//! orders.update_all(|o| o.note().unset()).await?;
//! # Ok(()) });
//! ```
//!
//! # Elements of arrays
//!
//! An update through an array states which elements it changes:
//!
//! | elements | path | sent as |
//! |---|---|---|
//! | at an index | `o.lines().nth(0).qty()` | `lines.0.qty` |
//! | the one that the filter matched | `o.lines().positional().qty()` | `lines.$.qty` |
//! | all | `o.lines().all_positional().qty()` | `lines.$[].qty` |
//! | those that match a condition | `o.lines().filtered_positional(\|l\| l.sku().eq("tea")).qty()` | `lines.$[f0].qty` |
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! orders
//!     .update_by_id(1, |o| {
//!         o.lines().filtered_positional(|l| l.sku().eq("tea") & l.qty().lt(10)).qty().inc(5)
//!     })
//!     .await?;
//! orders
//!     .update_one(
//!         |o| o.id().eq(1) & o.lines().elem_match(|l| l.sku().eq("cup")),
//!         |o| o.lines().positional().qty().set(9),
//!     )
//!     .await?;
//! let order = orders.find_by_id(1).required().await?;
//! assert_eq!((order.lines[0].qty, order.lines[1].qty), (7, 9));
//! # Ok(()) });
//! ```
//!
//! Adding and removing elements:
//!
//! ```
//! # use marula_guide::*;
//! let o = Order::fields();
//! let newest = o.lines().push_each([Line { sku: "pot".into(), qty: 1 }]).slice(-10);
//! let update = marula::IntoUpdate::<Order>::into_update(newest);
//! assert_eq!(
//!     update.to_string(),
//!     r#"{"$push": {"lines": {"$each": [{"sku": "pot", "qty": 1}], "$slice": -10}}}"#
//! );
//! assert_eq!(
//!     o.lines().pull(|l| l.qty().lte(0)).to_string(),
//!     r#"{"$pull": {"lines": {"qty": {"$lte": 0}}}}"#
//! );
//! ```
//!
//! # Parents that are missing
//!
//! The server creates what a path goes through. That is what `$set` means, and the types do not prevent it:
//!
//! | update | if the parent is missing | if it is null |
//! |---|---|---|
//! | `p.address().city().set("Bern")`, `address: Option<Address>` | stores `address: {city: "Bern"}` | rejected by the server |
//! | `p.homes().entry("first").city().set("Bern")`, a map | stores `homes.first: {city: "Bern"}` | rejected |
//! | `p.list().nth(0).city().set("Bern")`, an empty array | stores `list: [{city: "Bern"}]` | rejected |
//! | `p.list().nth(2).set(address)`, a shorter array | fills the elements before it with null | rejected |
//! | `p.pay().card().last4().set("1")`, an enum variant | no document matches: the ODM adds the condition | the same |
//!
//! The result cannot be read if `Address` has other required fields: reads of the document, and of lists with
//! it, fail with [`Error::Decode`](crate::Error::Decode). The safe forms are a condition in the filter, and the
//! whole value:
//!
//! ```
//! # use marula::{Document, Embedded, prelude::*};
//! #[derive(Embedded)]
//! struct Address {
//!     street: String,
//!     city: String,
//! }
//!
//! #[derive(Document)]
//! #[document(collection = "people")]
//! struct Person {
//!     _id: i64,
//!     address: Option<Address>,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = marula_test_server::TestServer::builder().start().await?;
//! # let people = marula::connect(server.uri()).await?.database("town").collection::<Person>();
//! people.insert_one(&Person { _id: 1, address: None }).await?;
//! let moved = people
//!     .update_one(|p| p._id().eq(1) & p.address().is_not_null(), |p| p.address().city().set("Bern"))
//!     .await?;
//! assert_eq!(moved.matched_count, 0); // nothing was written
//!
//! let address = Address { street: "Main Street 1".into(), city: "Bern".into() };
//! people.update_by_id(1, |p| p.address().set(address)).required().await?;
//! # assert!(people.find_by_id(1).required().await?.address.is_some());
//! # Ok(()) }
//! ```
//!
//! For a map the condition is `p.homes().entry("first").exists()`, for an element at an index
//! `p.list().nth(2).exists()`; [`filtered_positional`](crate::ArrayUpdateOps::filtered_positional) changes only
//! elements that exist.
//!
//! `inc` stores a sum beyond `i32` as an Int64, which a field of type `i32` cannot be read from. Use `i64`, or
//! a condition: `p.visits().lt(i32::MAX)`.
//!
//! # Upserts
//!
//! An upsert that inserts gives the document the id of the filter or of the update, otherwise a new
//! one from the model's id source. Required fields that the update does not set need
//! [`set_on_insert`](crate::UpdateOps::set_on_insert), or the document cannot be read.
//!
//! ```
//! # use marula::{Document, prelude::*};
//! # #[derive(Document)]
//! # #[document(collection = "counters")]
//! # struct Counter { #[serde(rename = "_id")] name: String, next: i64 }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = marula_test_server::TestServer::builder().start().await?;
//! # let client = marula::connect(server.uri()).await?;
//! # let counters = client.database("shop").collection::<Counter>();
//! let counter = counters
//!     .find_one_and_update(|c| c.name().eq("invoice"), |c| c.next().inc(1))
//!     .upsert(true)
//!     .returning_new()
//!     .required()
//!     .await?;
//! assert_eq!(counter.next, 1);
//! # Ok(()) }
//! ```
//!
//! [`upsert_with`](crate::Collection::upsert_with) inserts the fields of a whole document that the
//! update does not set, so that no required field is missing.
//!
//! # Whole documents
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let mut order = orders.find_by_id(1).required().await?;
//! order.note = Some("ring twice".into());
//! orders.replace(&order).required().await?; // the document must exist
//! order.id = 9;
//! orders.save(&order).await?; // replaced, or inserted
//! assert_eq!(orders.estimated_count().await?, 4);
//! # Ok(()) });
//! ```
//!
//! With `#[document(version)]` both compare the version first; see
//! [Transactions](super::transactions#optimistic-locking).
//!
//! # Pipelines
//!
//! An update by [`stages`](crate::Update::stages) computes values from other fields, by
//! [expressions](crate::expr). Each method adds a stage, which reads the fields as the stages before it leave them.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::{Update, expr::*};
//! orders
//!     .update_many(
//!         |o| o.status().eq(Status::Open),
//!         |o| {
//!             Update::stages()
//!                 .set(o.total(), o.total() + size(o.lines()))
//!                 .set_if(gt(o.total(), 250), o.note(), "large order")
//!         },
//!     )
//!     .await?;
//! assert_eq!(orders.find_by_id(3).required().await?.note.as_deref(), Some("large order"));
//! # Ok(()) });
//! ```
//!
//! Versions and times that the model maintains change as by operators. [`Update::pipeline`](crate::Update::pipeline) takes
//! raw stages; some models accept only some of them.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::{Expr, Update};
//! use marula::expr::*;
//!
//! let with_tax: Expr<Order, i64> = Order::fields().total() * 2;
//! let stage = doc! { "$set": { "total": with_tax.into_bson()? } };
//! orders.update_by_id(1, |_| Update::pipeline([stage])).required().await?;
//! assert_eq!(orders.find_by_id(1).required().await?.total, 200);
//! # Ok(()) });
//! ```
//!
//! # Bulk writes
//!
//! [`Collection::bulk`](crate::Collection::bulk) sends several writes on one collection in as few
//! commands as possible, [`Client::bulk`](crate::Client::bulk) on several collections (MongoDB
//! 8.0+).
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let counts = orders
//!     .bulk()
//!     .insert(&order(10))
//!     .update_many(|o| o.total().lt(150), |o| o.tags().push("small"))
//!     .delete_by_id(3)
//!     .await?;
//! assert_eq!((counts.inserted_count, counts.modified_count, counts.deleted_count), (1, 1, 1));
//! # Ok(()) });
//! ```
//!
//! A bulk write of the client has the writes of each collection in a closure, which adds them to the same builder:
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let counts = client
//!     .bulk()
//!     .on(&orders, |b| b.insert(&order(10)).delete_by_id(3))
//!     .on(&customers, |b| b.update_by_id(1, |c| c.country().set("FR")))
//!     .await?;
//! assert_eq!((counts.inserted_count, counts.deleted_count, counts.modified_count), (1, 1, 1));
//! # Ok(()) });
//! ```
//!
//! [`Error::BulkWrite`](crate::Error::BulkWrite) names the writes that failed, also replacements and saves that
//! lost a race ([`is_version_conflict`](crate::error::FailedWrite::is_version_conflict)).

//! Cookbook: 40 short recipes.
//!
//! The model and the handles are those of the [guide](super). For the reasons read its pages.
//!
//! # Insert, and handle a duplicate
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! # db.schema().register::<Customer>().sync(marula::schema::SyncMode::Additive).await?;
//! let copy = Customer { id: 9, email: "1@example.com".into(), country: "CH".into() };
//! match customers.insert_one(&copy).await {
//!     Err(Error::Duplicate { index, .. }) => assert_eq!(index.as_deref(), Some("email_1")),
//!     other => panic!("{other:?}"),
//! }
//! # Ok(()) });
//! ```
//!
//! # Insert many, and skip those that exist
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let result = orders.insert_many((2..=5).map(order)).ordered(false).await;
//! assert!(matches!(result, Err(Error::Duplicate { .. }))); // 2 and 3 exist
//! assert_eq!(orders.estimated_count().await?, 5); // 4 and 5 are inserted
//! # Ok(()) });
//! ```
//!
//! # Find by id, or 404
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let order = orders.find_by_id(1).required().await?;
//! let missing = orders.find_by_id(99).required().await;
//! assert!(missing.is_err_and(|error| error.is_not_found()));
//! # drop(order);
//! # Ok(()) });
//! ```
//!
//! # The newest document
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let newest = orders.find_all().sort(|o| (o.created_at().desc(), o.id().desc())).first().await?;
//! assert_eq!(newest.map(|o| o.id), Some(3));
//! # Ok(()) });
//! ```
//!
//! # Does a document exist
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! assert!(orders.exists(|o| o.customer().eq(1) & o.status().eq(Status::Open)).await?);
//! # Ok(()) });
//! ```
//!
//! # Search text, without case
//!
//! ```
//! # use marula_guide::*;
//! use marula::Pattern;
//! let found = Order::fields().note().regex(Pattern::containing("1.5").ignore_case());
//! assert_eq!(found.to_string(), r#"{"note": {"$regex": "1\\.5", "$options": "i"}}"#);
//! ```
//!
//! # Full-text search, best results first
//!
//! Needs a text index: `index(text(note))`.
//!
//! ```no_run
//! # use marula_guide::*;
//! # async fn run(client: Client, db: Database, orders: Collection<Order>) -> Result<()> {
//! use marula::SortKey;
//! let found = orders
//!     .find(|_| Filter::text("copper kettle"))
//!     .sort(|_| SortKey::text_score())
//!     .limit(20)
//!     .await?;
//! # drop(found);
//! # Ok(()) }
//! ```
//!
//! # Documents of a day
//!
//! ```
//! # use marula_guide::*;
//! let (from, to) = (DateTime::from_millis(0), DateTime::from_millis(86_400_000));
//! let o = Order::fields();
//! let day = o.created_at().gte(from) & o.created_at().lt(to);
//! assert_eq!(
//!     day.to_string(),
//!     concat!(
//!         r#"{"created_at": {"$gte": {"$date": "1970-01-01T00:00:00Z"}, "#,
//!         r#""$lt": {"$date": "1970-01-02T00:00:00Z"}}}"#
//!     )
//! );
//! ```
//!
//! # Compare two fields
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let odd = orders.find(|o| Filter::expr(expr::ne(o.id(), o.customer()))).await?;
//! assert!(odd.is_empty());
//! # Ok(()) });
//! ```
//!
//! # Optional conditions
//!
//! ```
//! # use marula_guide::*;
//! let (customer, minimum) = (Some(7), None::<i64>);
//! let o = Order::fields();
//! let filter = Filter::all_some([
//!     customer.map(|c| o.customer().eq(c)),
//!     minimum.map(|m| o.total().gte(m)),
//! ]);
//! assert_eq!(filter.to_string(), r#"{"customer": {"$eq": 7}}"#);
//! ```
//!
//! # A page with a link to the next
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let page = orders.find_all().keyset(|o| o.created_at().desc(), None, 2).await?;
//! let link = page.next.map(|token| format!("/orders?after={token}"));
//! assert!(link.is_some());
//! # Ok(()) });
//! ```
//!
//! # Process a large collection
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let mut all = orders.find_all().batch_size(1_000).no_cursor_timeout(true).stream().await?;
//! while let Some(order) = all.try_next().await? {
//!     println!("{}", order.id);
//! }
//! # Ok(()) });
//! ```
//!
//! # Only some fields
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! #[derive(Deserialize, marula::Projection)]
//! #[document(of = Order)]
//! struct Total {
//!     total: i64,
//! }
//!
//! let totals = orders.find_all().select::<Total>().await?;
//! assert_eq!(totals.iter().map(|t| t.total).sum::<i64>(), 600);
//! # Ok(()) });
//! ```
//!
//! # Distinct values
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let customers: Vec<i64> = orders.distinct(|o| o.customer(), |o| o.total().gt(100)).await?;
//! assert_eq!(customers, [2, 3]);
//! # Ok(()) });
//! ```
//!
//! # Change a document atomically, under a condition
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let taken = orders
//!     .update_one(|o| o.id().eq(1) & o.total().gte(60), |o| o.total().inc(-60))
//!     .await?;
//! assert_eq!(taken.matched_count, 1); // 0: the balance is too low
//! # Ok(()) });
//! ```
//!
//! # Change a document and read it
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let paid = orders
//!     .find_one_and_update(|o| o.id().eq(1), |o| o.status().set(Status::Paid))
//!     .returning_new()
//!     .required()
//!     .await?;
//! assert_eq!(paid.status, Status::Paid);
//! # Ok(()) });
//! ```
//!
//! # Take the next job of a queue
//!
//! An index on `(status, created_at)` serves it.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let job = orders
//!     .find_one_and_update(|o| o.status().eq(Status::Open), |o| o.status().set(Status::Paid))
//!     .sort(|o| o.created_at().asc())
//!     .returning_new()
//!     .await?;
//! assert_eq!(job.map(|o| o.id), Some(1));
//! # Ok(()) });
//! ```
//!
//! # A counter
//!
//! ```no_run
//! # use marula_guide::*;
//! # async fn run(client: Client, db: Database, orders: Collection<Order>) -> Result<()> {
//! # #[derive(Document)]
//! # #[document(collection = "counters")]
//! # struct Counter { _id: String, next: i64 }
//! # let counters = db.collection::<Counter>();
//! let number = counters
//!     .find_one_and_update(|c| c._id().eq("invoice"), |c| c.next().inc(1))
//!     .upsert(true)
//!     .returning_new()
//!     .required()
//!     .await?
//!     .next;
//! # drop(number);
//! # Ok(()) }
//! ```
//!
//! # PATCH
//!
//! With nothing to change the call would fail: `allow_empty` permits it, and the document is only read.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let (status, note) = (Some(Status::Paid), None::<String>);
//! orders
//!     .update_by_id(1, |o| (status.map(|s| o.status().set(s)), note.map(|n| o.note().set(n))))
//!     .allow_empty()
//!     .required()
//!     .await?;
//! # Ok(()) });
//! ```
//!
//! # Remove a field
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! orders.update_many(|o| o.note().exists(), |o| o.note().unset()).await?;
//! # Ok(()) });
//! ```
//!
//! # Rename a field in all documents
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::Update;
//! orders.update_all(|_| Update::raw(doc! { "$rename": { "remark": "note" } })).await?;
//! # Ok(()) });
//! ```
//!
//! # Add an element once
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! orders.update_by_id(1, |o| o.tags().add_to_set("vip")).await?;
//! orders.update_by_id(1, |o| o.tags().add_to_set("vip")).await?;
//! assert_eq!(orders.find_by_id(1).required().await?.tags, ["vip"]);
//! # Ok(()) });
//! ```
//!
//! # Keep the last ten elements
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let line = Line { sku: "pot".into(), qty: 1 };
//! orders.update_by_id(1, |o| o.lines().push_each([line]).slice(-10)).await?;
//! # Ok(()) });
//! ```
//!
//! # Change one element of an array
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! orders
//!     .update_by_id(1, |o| o.lines().filtered_positional(|l| l.sku().eq("tea")).qty().set(5))
//!     .await?;
//! assert_eq!(orders.find_by_id(1).required().await?.lines[0].qty, 5);
//! # Ok(()) });
//! ```
//!
//! # Remove elements of an array
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! orders.update_by_id(1, |o| o.lines().pull(|l| l.sku().eq("cup"))).await?;
//! assert_eq!(orders.find_by_id(1).required().await?.lines.len(), 1);
//! # Ok(()) });
//! ```
//!
//! # Compute a field from others
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::Update;
//! let stage = doc! { "$set": { "total": { "$multiply": ["$total", 2] } } };
//! orders.update_by_id(1, |_| Update::pipeline([stage])).await?;
//! assert_eq!(orders.find_by_id(1).required().await?.total, 200);
//! # Ok(()) });
//! ```
//!
//! # Insert or update
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let initial = order(7);
//! orders.upsert_with(|o| o.id().eq(7), |o| o.total().inc(5), &initial).await?;
//! orders.upsert_with(|o| o.id().eq(7), |o| o.total().inc(5), &initial).await?;
//! assert_eq!(orders.find_by_id(7).required().await?.total, 10);
//! # Ok(()) });
//! ```
//!
//! # Many writes in one command
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let changes = [(1, 10), (2, 20)];
//! let bulk = changes.iter().fold(orders.bulk(), |bulk, &(id, total)| {
//!     bulk.update_by_id(id, |o| o.total().set(total))
//! });
//! assert_eq!(bulk.await?.modified_count, 2);
//! # Ok(()) });
//! ```
//!
//! # Delete, and know whether it existed
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let existed = orders.delete_by_id(1).await? == 1;
//! assert!(existed);
//! # Ok(()) });
//! ```
//!
//! # Move documents to an archive
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let archive = orders.named("orders_2025");
//! let old = orders.find(|o| o.created_at().lt(DateTime::from_millis(2_500))).await?;
//! let ids: Vec<i64> = old.iter().map(|o| o.id).collect();
//! client
//!     .transaction()
//!     .run(async |tx| {
//!         let (archive, orders) = tx.bind((&archive, &orders));
//!         archive.insert_many(&old).await?;
//!         orders.delete_many(|o| o.id().is_in(ids.iter().copied())).await
//!     })
//!     .await?;
//! assert_eq!((archive.estimated_count().await?, orders.estimated_count().await?), (2, 1));
//! # Ok(()) });
//! ```
//!
//! # Load the documents that others refer to
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let recent = orders.find_all().await?;
//! let by_id = customers.load(recent.iter().map(|o| o.customer)).await?;
//! assert_eq!(by_id[&1].email, "1@example.com");
//! # Ok(()) });
//! ```
//!
//! # Totals of groups
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::{Shape, expr::*};
//!
//! #[derive(Shape)]
//! struct Revenue {
//!     #[serde(rename = "_id")]
//!     status: Status,
//!     cents: i64,
//! }
//!
//! let revenue = orders
//!     .aggregate()
//!     .group(|o| RevenueGroup { status: expr(o.status()), cents: sum(o.total()) })
//!     .all()
//!     .await?;
//! assert_eq!(revenue[0].cents, 600);
//! # Ok(()) });
//! ```
//!
//! # The most frequent values
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let tags = orders.aggregate().count_by(|o| o.status()).limit(10).all().await?;
//! assert_eq!((tags[0].key, tags[0].count), (Status::Open, 3));
//! # Ok(()) });
//! ```
//!
//! # A transaction
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! client
//!     .transaction()
//!     .run(async |tx| {
//!         let orders = tx.bind(&orders);
//!         orders.update_by_id(1, |o| o.total().inc(-50)).required().await?;
//!         orders.update_by_id(2, |o| o.total().inc(50)).required().await
//!     })
//!     .await?;
//! # Ok(()) });
//! ```
//!
//! # Repeat after a version conflict
//!
//! ```no_run
//! # use marula::{Collection, Document, Error, prelude::*};
//! # #[derive(Document)]
//! # #[document(collection = "pages")]
//! # struct Page { _id: i64, text: String, #[document(version)] version: i64 }
//! async fn append(pages: &Collection<Page>, id: i64, text: &str) -> marula::Result<()> {
//!     loop {
//!         let mut page = pages.find_by_id(id).required().await?;
//!         page.text.push_str(text);
//!         match pages.save(&mut page).await {
//!             Err(Error::VersionConflict { .. }) => continue,
//!             result => return result.map(drop),
//!         }
//!     }
//! }
//! ```
//!
//! # Soft deletion
//!
//! For a unique index that does not contain the deleted documents see [`SoftDelete`](crate::SoftDelete).
//!
//! ```no_run
//! # use marula::{Collection, Document, bson::DateTime, prelude::*};
//! #[derive(Document)]
//! #[document(collection = "notes", soft_delete = deleted_at)]
//! struct Note {
//!     _id: i64,
//!     deleted_at: Option<DateTime>,
//! }
//!
//! async fn run(notes: Collection<Note>) -> marula::Result<()> {
//!     notes.delete_by_id(1).await?; // sets `deleted_at`; queries no longer find it
//!     let deleted = notes.only_deleted().find_all().await?;
//!     notes.restore(|n| n._id().eq(1)).await?;
//!     notes.delete_permanently(|n| n._id().eq(2)).await?;
//!     # drop(deleted);
//!     Ok(())
//! }
//! ```
//!
//! # Expire documents
//!
//! ```
//! # use marula_guide::*;
//! #[derive(Document)]
//! #[document(collection = "sessions", index(seen_at, ttl = "2h"))]
//! struct Session {
//!     _id: String,
//!     seen_at: DateTime,
//! }
//! assert_eq!(
//!     Session::indexes()[0].specification(),
//!     doc! { "key": { "seen_at": 1 }, "name": "seen_at_1", "expireAfterSeconds": 7200_i64 }
//! );
//! ```
//!
//! # Only the documents of one tenant
//!
//! Every call of a [scoped](crate::Collection::scoped) handle has the condition, and what it writes must have the value:
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let own = orders.scoped(|o| o.customer().eq(1));
//! let count = own.count(|o| o.total().gt(0)).await?;
//! own.delete_many(|o| o.status().eq(Status::Paid)).await?;
//! assert!(own.update_all(|o| o.customer().set(2)).await.is_err());
//! # drop(count); Ok(()) });
//! ```
//!
//! More is on the page [Tenants](super::tenants).
//!
//! # A collection or a database for each tenant
//!
//! Each needs its own [`Schema::sync`](crate::schema::Schema::sync); otherwise it has no index but that of `_id`.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let tenant = db.in_db("shop_acme").collection::<Order>();
//! let archive = orders.named("orders_2025");
//! assert_eq!(tenant.namespace().to_string(), "shop_acme.orders");
//! assert_eq!(archive.namespace().to_string(), "shop.orders_2025");
//! # Ok(()) });
//! ```
//!
//! # React to changes
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let mut events = orders.watch().await?;
//! orders.update_by_id(1, |o| o.total().inc(1)).await?;
//! let event = events.try_next().await?.expect("an event");
//! println!("{}: {:?}", event.operation.as_str(), event.document_key);
//! # Ok(()) });
//! ```
//!
//! # Run a command without a method
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let reply = db.driver().run_command(doc! { "ping": 1 }).await?;
//! assert_eq!(reply.get_f64("ok")?, 1.0);
//! # Ok(()) });
//! ```

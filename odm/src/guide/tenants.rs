//! # Tenants
//!
//! Three layouts keep the documents of tenants apart:
//!
//! | layout | handle | choose it if |
//! |---|---|---|
//! | one collection, a field with the tenant | [`scoped`](crate::Collection::scoped) | there are many tenants, or queries about all of them |
//! | a collection for each tenant | [`named`](crate::Collection::named) | a few hundred tenants, each with other indexes or sizes |
//! | a database for each tenant | [`Database::in_db`](crate::Database::in_db) | tenants have users or backups of their own |
//!
//! # One collection
//!
//! A request makes its handle once, from the tenant of its user, and passes no other handle on. Every call of the handle has the
//! condition, and documents and updates that would leave the scope are errors before anything is sent:
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! struct Tenant {
//!     orders: Collection<Order>,
//! }
//!
//! impl Tenant {
//!     fn new(db: &Database, customer: i64) -> Self {
//!         Tenant {
//!             orders: db.collection::<Order>().scoped(|o| o.customer().eq(customer)),
//!         }
//!     }
//! }
//!
//! let tenant = Tenant::new(&db, 2);
//! assert_eq!(tenant.orders.find_all().await?.len(), 1);
//! assert!(tenant.orders.find_by_id(1).await?.is_none());
//! assert_eq!(tenant.orders.delete_by_id(1).await?, 0);
//!
//! let foreign = tenant.orders.insert_one(&order(4)).await.unwrap_err();
//! assert!(foreign.is_out_of_scope());
//! assert!(tenant.orders.update_all(|o| o.customer().set(1)).await.is_err());
//! # Ok(()) });
//! ```
//!
//! A scope with several values, `o.customer().is_in([1, 2])`, is for reads across tenants. An upsert needs a scope of one value, which it
//! stores.
//!
//! ## Indexes
//!
//! Begin each index of the model with the field of the tenant, because every filter has it. A unique index without the field
//! is one for all tenants: a user can then see by a [duplicate](crate::Error::Duplicate) that another tenant has the value.
//!
//! ```
//! # use marula_guide::*;
//! #[derive(Document)]
//! #[document(collection = "projects", index(tenant, name, unique), index(tenant, -created_at))]
//! struct Project {
//!     _id: bson::ObjectId,
//!     tenant: i64,
//!     name: String,
//!     created_at: DateTime,
//! }
//! # assert_eq!(Project::indexes().len(), 2);
//! ```
//!
//! ## Joins
//!
//! The other collection of a lookup has no scope of its own. Give the handle of the tenant:
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! #[derive(Debug, Shape)]
//! struct WithOrders {
//!     #[document(flatten)]
//!     customer: Customer,
//!     orders: Vec<Order>,
//! }
//!
//! let own = orders.scoped(|o| o.customer().eq(2));
//! let joined = customers
//!     .aggregate()
//!     .lookup::<WithOrders>()
//!     .within(&own)
//!     .on(|c| c.id(), |o| o.customer());
//! let orders_of = |found: &[WithOrders]| found.iter().map(|c| c.orders.len()).collect::<Vec<_>>();
//! assert_eq!(orders_of(&joined.all().await?), [0, 1, 0]);
//! # Ok(()) });
//! ```
//!
//! [`within`](crate::Pipeline::within) of an inner pipeline does the same for unions and for lookups by a pipeline.
//! [`load`](crate::Collection::load) of a scoped handle reads its documents only.
//!
//! ## Events
//!
//! A change stream of the handle returns inserts, replacements and updates of its documents, with the full document.
//! Deletes have no document, so that they cannot be assigned to a tenant: watch the collection, and keep the ids of each tenant, or use
//! [soft deletion](derive@crate::Document#maintained-fields), which is an update.
//!
//! ## Limits
//!
//! A scope prevents mistakes of the application. It is not the access control of the server: [`driver()`](crate::Collection::driver),
//! commands, and stages in BSON that read a collection have none. With a collation that ignores case, a scope of the tenant
//! "acme" includes "ACME": use numbers or ids.
//!
//! # A collection or a database for each tenant
//!
//! Each needs a [`Schema::sync`](crate::schema::Schema::sync) of its own when the tenant is created; otherwise it has no index but that of
//! `_id`. The name comes from the tenant, so check it before it becomes a part of a name:
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! fn database(db: &Database, tenant: &str) -> Option<Database> {
//!     let is_valid = !tenant.is_empty() && tenant.bytes().all(|byte| byte.is_ascii_lowercase());
//!     is_valid.then(|| db.in_db(&format!("shop_{tenant}")))
//! }
//!
//! let acme = database(&db, "acme").expect("a valid name");
//! acme.schema().register::<Order>().sync(marula::schema::SyncMode::Additive).await?;
//! acme.collection::<Order>().insert_one(&order(1)).await?;
//! assert!(database(&db, "admin.$cmd").is_none());
//! # Ok(()) });
//! ```
//!
//! The example `multi_tenant` has this layout, and `workspaces` that of one collection.

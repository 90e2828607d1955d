//! Indexes and start-up in production: declarations, plans, modes, the lease, the command line.
//!
//! # Declarations
//!
//! Indexes are attributes of the model. The keys are Rust paths; a mistake is a compile error at
//! the path. The grammar is at [`Document`](derive@crate::Document#indexes).
//!
//! ```
//! use marula::{Document, Embedded, Model, bson::DateTime};
//!
//! #[derive(Clone, Copy, PartialEq, Embedded)]
//! enum Status {
//!     Open,
//!     Done,
//! }
//!
//! #[derive(Embedded)]
//! struct Line {
//!     sku: String,
//! }
//!
//! #[derive(Document)]
//! #[document(
//!     collection = "orders",
//!     index(customer, -created_at),
//!     index(lines.sku),
//!     index(created_at, name = "open_orders", partial(status == Status::Open)),
//!     index(expires_at, ttl = "30d")
//! )]
//! struct Order {
//!     _id: i64,
//!     customer: i64,
//!     status: Status,
//!     lines: Vec<Line>,
//!     #[document(unique)]
//!     number: String,
//!     created_at: DateTime,
//!     expires_at: Option<DateTime>,
//! }
//!
//! let names: Vec<String> = Order::indexes().iter().map(|index| index.index_name()).collect();
//! assert!(names.contains(&"customer_1_created_at_-1".to_owned()));
//! ```
//!
//! # The index of a query
//!
//! [`declared_index`](crate::collection::Find::declared_index) compares a query with the declared indexes, without a
//! server. A test of the application finds with it the queries that read all documents:
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let recent = |customer| orders.find(move |o| o.customer().eq(customer)).sort(|o| o.created_at().desc());
//! let choice = recent(1).declared_index()?;
//! assert!(choice.uses_index("customer_1_created_at_-1") && choice.is_sorted(), "{choice}");
//!
//! let choice = orders.find(|o| o.status().eq(Status::Open)).sort(|o| o.total().desc()).declared_index()?;
//! assert!(choice.is_collection_scan());
//! assert_eq!(choice.to_string(), "no declared index: add index(status, -total)");
//! # Ok(()) });
//! ```
//!
//! The keys of an index serve a query in their order: first those that the filter compares for equality, then those of
//! the sort, then one of a range. A partial index counts if the filter implies its conditions, and each alternative of
//! an `|` has a choice of its own. The filter includes the conditions of the handle: soft deletion and its
//! [scope](crate::Collection::scoped). What a server does shows [`explain`](crate::collection::Find::explain).
//!
//! # Plans
//!
//! A plan compares what is declared with what exists. It only reads. `Display` prints a line for
//! each step.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::schema::Apply;
//!
//! let plan = db.schema().register::<Order>().plan().await?;
//! println!("{plan}");
//! let applied = plan.apply(Apply::additive()).await?;
//! assert_eq!(applied.created.len(), 1);
//!
//! let again = db.schema().register::<Order>().plan().await?;
//! assert!(again.is_empty()); // nothing to do
//! # Ok(()) });
//! ```
//!
//! | sign | step | taken by |
//! |---|---|---|
//! | `+` | create a collection or an index, shard a collection | every [`Apply`](crate::schema::Apply) |
//! | `~` | change options without a rebuild (`collMod`): TTL, hidden, unique, validator | `coll_mod(true)` |
//! | `!` | an existing index conflicts: drop it and build it again | `rebuild(true)`; otherwise an error |
//! | `-` | an index was created from a declaration that no longer exists: hide it, drop it later | `drop_obsolete(..)` |
//! | `?` | no model declares the index, and it was not created from a declaration: it is kept | never |
//!
//! An index without a declared collation inherits the default collation of its collection, and is compared with it. A text
//! index always has the collation `simple`.
//!
//! # Shard keys
//!
//! A model of a sharded collection declares its shard key. The fields are checked by the compiler: they exist, contain no
//! arrays, are not encrypted, and at most one is hashed. `unique` forbids two documents with the same shard key.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! #[derive(Document)]
//! #[document(collection = "visits", shard_key(country, hashed(user)))]
//! struct Visit {
//!     _id: i64,
//!     country: String,
//!     user: i64,
//!     pages: i64,
//! }
//!
//! db.schema().register::<Visit>().sync(marula::schema::SyncMode::Additive).await?; // shards it on a cluster
//! let visits = db.collection::<Visit>();
//! let mut visit = Visit { _id: 1, country: "CH".into(), user: 7, pages: 1 };
//! visits.save(&mut visit).await?; // the filter is {_id: 1, country: "CH", user: 7}
//! visits
//!     .update_one(|v| v._id().eq(1) & v.country().eq("CH") & v.user().eq(7), |v| v.pages().inc(1))
//!     .await?;
//! # Ok(()) });
//! ```
//!
//! - `save`, `replace`, `save_changes`, and `save` and `replace` of bulk writes have equality with the shard key in their filters:
//!   they are sent to one shard, and saves work before MongoDB 7.0. Calls by the id alone, such as
//!   [`find_by_id`](crate::Collection::find_by_id), are sent to all shards. Before MongoDB 7.0, upserts and the
//!   calls `find_one_and_…` need the shard key in their filters.
//! - The `_id`s of a sharded collection are unique in each shard only. Therefore [`save`](crate::Collection::save) and
//!   [`replace`](crate::Collection::replace) of a struct whose shard key was changed fail with
//!   [`Error::ShardKeyChanged`](crate::Error::ShardKeyChanged), on every deployment;
//!   [`save_changes`](crate::Collection::save_changes) changes a shard key. A bulk write does not search for such documents.
//! - On a sharded cluster a plan shards a collection that is not sharded ([`Step::ShardCollection`](crate::schema::Step::ShardCollection)),
//!   after it has created an index that begins with the shard key, unless one is declared. Fields at the end of a declared shard key
//!   that the existing one lacks are added with `coll_mod(true)` (MongoDB 4.4+). Another shard key is an error,
//!   [`SchemaError::ShardKeyConflict`](crate::SchemaError::ShardKeyConflict): a collection is never resharded. Other deployments
//!   ignore the shard key.
//! - A unique index begins with the shard key. The derive rejects others, and a plan those of other models of the collection.
//!
//! # Server versions
//!
//! A plan knows the version of the server: of the oldest data-bearing member, or of the oldest mongos.
//! What a declaration needs a newer server for is in the plan
//! ([`Step::Unsupported`](crate::schema::Step::Unsupported)); such a plan is not applied, and
//! [`SchemaError::Unsupported`](crate::SchemaError::Unsupported) lists all of it. What only newer servers
//! can change is an index that must be built again (`!`):
//!
//! | change | without a rebuild | before |
//! |---|---|---|
//! | an index to unique | MongoDB 6.0+, not with the strict Stable API | rebuild |
//! | `expireAfterSeconds` of an index that has none | MongoDB 5.1+ | rebuild |
//! | `hidden` | MongoDB 4.4+ | an error; obsolete indexes are dropped without being hidden, after the same time |
//! | the size of a capped collection | MongoDB 6.0+ | an error |
//! | pre- and post-images | MongoDB 6.0+, not with the strict Stable API | an error |
//!
//! What only some servers accept is an error of the plan: `$or`, `$in`, `$geoWithin`, `$geoIntersects` and
//! nested `$and` in a partial filter (MongoDB 6.0+), several indexes with equal keys and the same collation
//! (MongoDB 5.0+; an index with another partial filter is rebuilt before), an index with
//! `expireAfterSeconds` in a capped collection (not MongoDB 6.0 and 7.0) or above the seconds since 1970
//! (MongoDB 6.0+), a wildcard key beside other keys (MongoDB 7.0+), and, of a time series, indexes of
//! measurements, sparse and partial ones (MongoDB 6.0+) and those with `expireAfterSeconds` (MongoDB 6.3+).
//!
//! The strict Stable API (version 1) has no capped collections, images, text indexes and search indexes
//! either. Encrypted collections need a replica set or a sharded cluster; queries of ranges of encrypted
//! fields MongoDB 8.0, and those of prefixes, suffixes and substrings MongoDB 8.2.
//!
//! An index that another client is building does not exist yet: a plan says so
//! ([`Step::Building`](crate::schema::Step::Building)), and its application waits until it is
//! built, for at most [`Apply::lease_wait`](crate::schema::Apply::lease_wait). The index remains
//! one of the other client. A standalone and MongoDB 4.2 do not distinguish such an index from one
//! that exists.
//!
//! A conflict of [encrypted fields](super::encryption#changes-of-a-model) or of options that only a new collection can
//! have (`!`) is an error in any case.
//!
//! # Privileges
//!
//! A plan needs `find` on `marula_schema`, `listIndexes` on each collection, and `listCollections` on the
//! database. Without `listCollections` it is made for models that declare neither options of their collection nor
//! encrypted fields: the default collation is then that of the index on `_id`, and a plan does not recognize a
//! capped collection. Applying a plan needs `createIndex`, and, for the steps that it takes, `createCollection`,
//! `collMod` and `dropIndex`; and `insert`, `update` and `remove` on `marula_schema`.
//!
//! # At the start
//!
//! [`Schema::sync`](crate::schema::Schema::sync) makes a plan and applies it. All instances of an
//! application can call it at the same time.
//!
//! | [`SyncMode`](crate::schema::SyncMode) | effect | use |
//! |---|---|---|
//! | `Off` | nothing is read or written | a deployment with its own process for changes |
//! | `Verify` | a difference is [`NotInSync`](crate::SchemaError::NotInSync); nothing is written | production, after a deployment step has applied the plan |
//! | `Additive` | creates what is missing; a conflict is an error | development, tests, small services |
//! | `Full` | also changes, rebuilds, hides and drops | a job that is run by hand or by a pipeline |
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::schema::SyncMode;
//!
//! let mode = match std::env::var("SCHEMA").as_deref() {
//!     Ok("off") => SyncMode::Off,
//!     Ok("verify") => SyncMode::Verify,
//!     Ok("full") => SyncMode::Full,
//!     _ => SyncMode::Additive,
//! };
//! let applied = db.schema().register::<Order>().sync(mode).await?;
//! println!("{applied}");
//! # Ok(()) });
//! ```
//!
//! Creations may be made by several instances at once: an equal index that another one has created
//! is not an error. Changes, rebuilds and drops are made by one instance at a time, which holds a
//! lease in the collection `marula_schema`, with an expiry by the server's clock. The others wait
//! up to [`lease_wait`](crate::schema::Apply::lease_wait), and then make a new plan.
//!
//! While an index of the collection is built, by another client or as a rolling build, the server refuses to change
//! and drop indexes. They are sent again for at most the same time.
//!
//! # What to check before a deployment
//!
//! - An index on a large collection takes time and memory. The server builds it while it serves
//!   requests; the call waits for it.
//! - A first TTL index on old data deletes documents within minutes. The plan says so:
//!   [`IndexChange::deletes_documents`](crate::schema::IndexChange::deletes_documents).
//! - A unique index over duplicates fails with
//!   [`SchemaError::Duplicates`](crate::SchemaError::Duplicates), which contains samples of the
//!   documents.
//! - `renamed_from = "old_name"` keeps an index under its old name instead of building it again.
//! - Remove an index in two deployments: hide it first (`hidden`), and remove the declaration when
//!   no query has become slow.
//!
//! # The command line
//!
//! With the feature `cli`, an application mounts the commands `plan`, `diff`, `verify` and `apply`
//! in its own command line:
//!
//! ```
//! # #[cfg(feature = "cli")]
//! # mod example {
//! # use marula::{Document, Database, prelude::*};
//! # #[derive(Document)]
//! # #[document(collection = "orders")]
//! # struct Order { _id: i64 }
//! use clap::Parser;
//! use marula::cli::SchemaCommand;
//!
//! #[derive(Parser)]
//! enum Command {
//!     /// Serves requests.
//!     Serve,
//!     /// Compares and changes the indexes of the database.
//!     #[command(subcommand)]
//!     Schema(SchemaCommand),
//! }
//!
//! async fn run(command: Command, db: Database) -> std::process::ExitCode {
//!     match command {
//!         Command::Serve => std::process::ExitCode::SUCCESS,
//!         Command::Schema(command) => command.run(db.schema().register::<Order>()).await,
//!     }
//! }
//! # }
//! ```
//!
//! ```sh
//! shop schema plan              # what would be done
//! shop schema verify            # exit code 1 if something is missing or differs: for a pipeline
//! shop schema apply --full      # all steps
//! shop schema apply --json      # the result as JSON
//! ```

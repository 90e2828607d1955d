//! The guide: one page for each subject, with examples that are compiled as tests.
//!
//! The pages are part of the documentation only. They add nothing to the build of an application.
//!
//! | page | subject |
//! |---|---|
//! | [First model](first_model) | from an empty folder to the first query |
//! | [Modelling](modelling) | names, ids, embedded documents, enums, values of other crates, generics, stored forms |
//! | [Models and serde](serde) | what serde's attributes mean for a model, which derives an application needs |
//! | [Queries](queries) | filters, arrays, sorts, the methods that read |
//! | [Dynamic filters and PATCH](dynamic) | conditions, sorts and updates that a request selects |
//! | [Updates](updates) | operators, array elements, upserts, pipelines |
//! | [Pages](pages) | pages by number and by token |
//! | [Projections and aggregation](aggregation) | parts of documents, pipelines, shapes |
//! | [Search](search) | words, highlights, pages, facets, vectors, hybrid search |
//! | [Relations](relations) | references, loading without one query for each document, lookups |
//! | [Tenants](tenants) | scopes, joins within them, a collection or a database for each tenant |
//! | [Transactions](transactions) | closures, bound handles, guards, versions |
//! | [Change streams](change_streams) | events, filters, resume tokens |
//! | [Indexes and start-up in production](schema) | declarations, plans, modes, the lease, the command line |
//! | [Encryption](encryption) | encrypted fields, data keys, clients that encrypt |
//! | [Testing](testing) | a replica set for each test, failovers, fail points |
//! | [Web applications](web) | statuses of errors in axum, plain JSON of ids and dates, responses that stream |
//! | [Observability](observability) | spans, metrics, events, OpenTelemetry |
//! | [Timeouts and shutdown](timeouts) | time limits of calls, warm-up, shutdown |
//! | [Coming from the crate `mongodb`](from_mongodb) | a table of both APIs |
//! | [Coming from Mongoose](from_mongoose) | a table of both APIs |
//! | [Cookbook](cookbook) | 40 short recipes |
//!
//! Most examples run against the in-process server of the crate `marula-test-server`, which their
//! hidden lines start. In them `client` is a [`Client`](crate::Client), `db` a
//! [`Database`](crate::Database), `orders` a [`Collection<Order>`](crate::Collection) with the
//! orders 1 to 3, and `customers` a collection of the customers 1 to 3, with the fields `id`,
//! `email` and `country`. `order(id)` makes an order of the customer with the same number: it is
//! open, costs 100 times the number, and has the lines `{sku: "tea", qty: 2}` and `{sku: "cup",
//! qty: 1}`. The model:
//!
//! ```
//! use marula::{Document, Embedded, bson::DateTime};
//!
//! #[derive(Clone, Copy, Embedded)]
//! #[serde(rename_all = "lowercase")]
//! enum Status {
//!     Open,
//!     Paid,
//!     Shipped,
//! }
//!
//! #[derive(Clone, Embedded)]
//! struct Line {
//!     sku: String,
//!     qty: i32,
//! }
//!
//! #[derive(Clone, Document)]
//! #[document(collection = "orders", index(customer, -created_at))]
//! struct Order {
//!     #[serde(rename = "_id")]
//!     id: i64,
//!     customer: i64,
//!     status: Status,
//!     total: i64,
//!     lines: Vec<Line>,
//!     tags: Vec<String>,
//!     note: Option<String>,
//!     created_at: DateTime,
//! }
//! ```

pub mod aggregation;
pub mod change_streams;
pub mod cookbook;
pub mod dynamic;
pub mod encryption;
pub mod first_model;
pub mod from_mongodb;
pub mod from_mongoose;
pub mod modelling;
pub mod observability;
pub mod pages;
pub mod queries;
pub mod relations;
pub mod schema;
pub mod search;
pub mod serde;
pub mod tenants;
pub mod testing;
pub mod timeouts;
pub mod transactions;
pub mod updates;
pub mod web;

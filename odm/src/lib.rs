//! A typed object-document mapper for MongoDB: queries, updates and indexes checked by the
//! compiler.
//!
//! A struct with [`#[derive(Document)]`](derive@Document) is a [`Model`]: it is stored as the
//! documents of a collection, has an id, and has typed paths with the names that the attributes of serde state. The
//! types of its fields derive [`Embedded`](derive@Embedded). Filters, updates and sorts are built
//! from the paths:
//!
//! ```
//! use marula::prelude::*;
//! use marula::{Document, Embedded};
//!
//! #[derive(Embedded)]
//! #[serde(rename_all = "camelCase")]
//! struct Address {
//!     zip_code: String,
//! }
//!
//! #[derive(Document)]
//! #[document(collection = "people", index(address.zip_code))]
//! struct Person {
//!     _id: marula::bson::ObjectId,
//!     age: i32,
//!     address: Option<Address>,
//!     tags: Vec<String>,
//! }
//!
//! let p = Person::fields();
//! let filter = p.age().gte(18) & (p.address().zip_code().eq("8001") | p.tags().contains("vip"));
//! assert_eq!(
//!     filter.to_string(),
//!     concat!(
//!         r#"{"age": {"$gte": 18}, "#,
//!         r#""$or": [{"address.zipCode": {"$eq": "8001"}}, {"tags": {"$eq": "vip"}}]}"#
//!     )
//! );
//! ```
//!
//! The methods of [`Collection`] take closures over the paths:
//!
//! ```no_run
//! # use marula::prelude::*;
//! # use marula::Document;
//! # #[derive(Document)]
//! # #[document(collection = "people")]
//! # struct Person { _id: marula::bson::ObjectId, age: i32, tags: Vec<String> }
//! # async fn run() -> marula::Result<()> {
//! let db = marula::connect("mongodb://localhost").await?.database("town");
//! let people = db.collection::<Person>();
//! let adults = people.find(|p| p.age().gte(18)).sort(|p| p.age().desc()).limit(10).all().await?;
//! people.update_many(|p| p.tags().size(0), |p| (p.tags().push("new"), p.age().inc(1))).await?;
//! # drop(adults);
//! # Ok(()) }
//! ```
//!
//! A mistake (an unknown field, a value of another type, `$inc` on a string, an update through an
//! array that selects no element) is a compile error at the place where it is made. For everything
//! that has no typed form there are [`Filter::raw`], [`Update::raw`], [`Collection::driver`], and
//! the [`driver`] crate.
//!
//! The [guide] has a page for each subject, a cookbook, and tables for users of the crate `mongodb` and
//! of Mongoose.
//!
//! # Where to find what
//!
//! | task | documentation |
//! |---|---|
//! | declare a model | [`Document`](derive@Document), [`Embedded`](derive@Embedded) |
//! | choose the types of fields and ids | [`path::field`], [`id`] |
//! | connect | [`connect`], [`Client`] |
//! | read and write | [`Collection`], [`collection::Find`] |
//! | filters | [`FilterOps`], [`Filter`], [`Pattern`] |
//! | bodies of POST and PATCH | [`Insert`](derive@Insert), [`Patch`](derive@Patch), [`Patched`] |
//! | updates | [`UpdateOps`], [`ArrayUpdateOps`], [`Update`] |
//! | paths through arrays, maps and options | [`PathOps`], [`path::Mode`] |
//! | sort orders chosen by a request | [`SortNames`] |
//! | pages | [`Find::keyset`](collection::Find::keyset), [`Find::page`](collection::Find::page) |
//! | aggregate | [`aggregate`], [`expr`] |
//! | full-text search, facets, vector search | [`search`], [`aggregate::VectorSearch`] |
//! | load the documents that others refer to | [`relation`] |
//! | only the documents of one tenant or owner | [`Collection::scoped`] |
//! | write several documents | [`Collection::bulk`], [`Client::bulk`], [`Collection::save`] |
//! | transactions | [`Client::transaction`], [`Client::start_transaction`], [`tx.bind(&orders)`](driver::ClientSession::bind) |
//! | watch changes | [`Collection::watch`] |
//! | versions, timestamps, soft deletion, validation | [maintained fields](derive@Document#maintained-fields), [`SoftDelete`], [`Hooks`] |
//! | create and change indexes | [`schema`], [`Schema::sync`](schema::Schema::sync) |
//! | versions of documents, migrations | [`Versioned`], [`Collection::migrate`] |
//! | change indexes and migrate by commands | `cli` (feature `cli`) |
//! | stored forms of further types | [`codec`] |
//! | JSON of web clients | [`json`] |
//! | encrypt fields | [`encryption`] |
//! | spans and metrics of calls | [`observe`] |
//! | handle errors | [`Error`] |
//!
//! # Features
//!
//! `cli` adds the commands of the module `cli`, with the crate clap. `garde` and `validator` add
//! [`validate = garde`](derive@Document#maintained-fields) and `validate = validator`. `metrics` records counts and
//! durations of typed calls, and `tracing` creates a span for each; see [`observe`]. `encryption` adds the attribute
//! `encrypted`; see the module [`encryption`]. All other features
//! are those of the [`driver`](driver#features), with the same names and defaults; `tracing` is one of
//! them, too. The client runs on tokio.

mod ast;
mod base;
mod client;
mod document;
mod form;
// Pages of the documentation, which a build does not contain.
#[cfg(any(doc, doctest))]
pub mod guide;
mod models;
pub mod path;
pub mod prelude;
mod query;
pub mod schema;
mod term;
mod values;

#[doc(hidden)]
pub mod __private_v1;

pub use marula_driver as driver;
#[doc(inline)]
pub use marula_driver::{Bind, BoundTransaction, outside_transaction};

pub use base::{bson, error, json};
#[cfg(feature = "cli")]
pub use client::cli;
pub use form::id;
pub use models::{forms, index, managed, model, patch, projection};
pub use query::{aggregate, collection, observe, relation};
pub use term::{encryption, expr, filter, search, sort, update};
pub use values::{codec, geo, value};

pub use aggregate::Pipeline;
pub use aggregate::Shape;
pub use client::{Client, Database, connect};
pub use collection::Collection;
pub use error::{Error, Result, SchemaError, ValueError};
pub use expr::{Acc, Expr};
pub use filter::{BsonType, Filter, FilterOps, Pattern, TextSearch};
pub use marula_macros::{Document, Embedded, Insert, Patch, Projection, Shape};
pub use model::{Fields, IdRef, Model};
pub use models::hooks::{Hooks, SoftDelete};
pub use models::insert::Insert;
pub use models::versioned::Versioned;
pub use patch::{Patch, Patched};
pub use path::field::{ByFunction, Embedded, Field, Opaque};
pub use path::{AsPath, Path, PathOps};
pub use projection::Projection;
pub use query::read::token_key::TokenKey;
pub use relation::{KeyOf, Ref};
pub use sort::{Direction, IntoKeyset, IntoSort, KeysetSort, Sort, SortKey, SortNames, SortOps};
pub use update::{ArrayUpdateOps, IntoUpdate, Update, UpdateOps};
pub use value::IntoValue;

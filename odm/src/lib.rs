//! A typed object-document mapper for MongoDB: queries, updates and indexes checked by the compiler.
//!
//! A struct with [`#[derive(Document)]`](derive@Document) is a [`Model`]: its documents live in a collection, have an
//! id, and have typed paths that follow the names serde writes. What is inside derives
//! [`Embedded`](derive@Embedded). Filters, updates and sorts are made of the paths:
//!
//! ```
//! use marula::prelude::*;
//! use marula::{Document, Embedded};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Embedded)]
//! #[serde(rename_all = "camelCase")]
//! struct Address {
//!     zip_code: String,
//! }
//!
//! #[derive(Serialize, Deserialize, Document)]
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
//!     r#"{"age": {"$gte": 18}, "$or": [{"address.zipCode": {"$eq": "8001"}}, {"tags": {"$eq": "vip"}}]}"#
//! );
//! ```
//!
//! Calls take closures over the paths; see [`Collection`] for all of them:
//!
//! ```no_run
//! # use marula::prelude::*;
//! # use marula::Document;
//! # use serde::{Deserialize, Serialize};
//! # #[derive(Serialize, Deserialize, Document)]
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
//! A mistake (an unknown field, a value of another type, `$inc` on a string, an update through an array that names no
//! element) is one compile error, at its place. What is not typed yet is a step away: [`Filter::raw`],
//! [`Update::raw`], [`Collection::driver`], and the [`driver`] itself.

pub mod bson;
mod client;
pub mod collection;
pub mod error;
pub mod filter;
pub mod geo;
pub mod id;
pub mod index;
mod json;
pub mod model;
pub mod path;
pub mod prelude;
pub mod schema;
pub mod sort;
mod stored;
pub mod update;
pub mod value;

#[doc(hidden)]
pub mod __private_v1;

pub use marula_driver as driver;

pub use client::{Client, Database, connect};
pub use collection::Collection;
pub use error::{Error, Result, SchemaError, ValueError};
pub use filter::{BsonType, Filter, FilterOps, Pattern, TextSearch};
pub use marula_macros::{Document, Embedded};
pub use model::{Fields, Model};
pub use path::field::{Embedded, Field, Opaque};
pub use path::{AsPath, Path, PathOps};
pub use sort::{Direction, IntoKeyset, IntoSort, KeysetSort, Sort, SortKey, SortNames, SortOps};
pub use update::{ArrayUpdateOps, IntoUpdate, Update, UpdateOps};
pub use value::IntoValue;

//! A typed object-document mapper for MongoDB: queries, updates and indexes checked by the compiler.

pub mod bson;
mod client;
pub mod collection;
pub mod error;
pub mod field;
pub mod filter;
pub mod geo;
pub mod id;
pub mod index;
mod json;
pub mod marker;
pub mod model;
pub mod path;
pub mod prelude;
pub mod schema;
pub mod sort;
pub mod update;
pub mod value;

#[doc(hidden)]
pub mod __private_v1;

pub use marula_driver as driver;

pub use client::{Client, Database, connect};
pub use collection::Collection;
pub use error::{Error, Result, SchemaError, ValueError};
pub use field::{Embedded, Field, Opaque};
pub use filter::{BsonType, Filter, FilterOps, Pattern, TextSearch};
pub use marula_macros::{Document, Embedded};
pub use model::{Fields, Model};
pub use path::{AsPath, Path, PathOps};
pub use sort::{IntoKeyset, IntoSort, SortKey, SortOps};
pub use update::{ArrayUpdateOps, IntoUpdate, Update, UpdateOps};
pub use value::IntoValue;

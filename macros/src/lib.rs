//! The derive macros of marula: `Document` for the documents of a collection, `Embedded` for the
//! types inside.
//!
//! Each has three steps: `parse` reads the attributes, `model` resolves names and defaults and
//! checks combinations, and `expand` generates code. Errors of all steps are reported together.
//! Code is generated in spite of errors, so that one mistake causes one error.

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

mod case;
mod diagnostics;
mod expand;
mod model;
mod parse;
mod symbol;

/// Implements `marula::Model` for a struct: the documents of a collection.
///
/// ```
/// use marula::{Document, bson::DateTime};
/// use serde::{Deserialize, Serialize};
/// use uuid::Uuid;
///
/// #[derive(Document, Serialize, Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// #[document(collection = "orders", index(customer_id, -created_at))]
/// struct Order {
///     #[serde(rename = "_id")]
///     id: Uuid,
///     customer_id: Uuid,
///     created_at: DateTime,
/// }
/// ```
///
/// On the struct: `collection = "name"` (required); `index(…)`, as often as needed; `crate = path`
/// if `marula` is imported under another name. On fields: `id` or
/// `id = uuid_v7 | uuid_v4 | object_id | manual`; `index`; `unique`; `opaque` for a field without
/// typed paths; `as = Type` for a field that is stored in the form of another type.
///
/// A date or a decimal of another crate is converted by `#[serde(with = "…")]`, and `as` states the
/// stored type:
///
/// ```
/// use marula::{Document, bson};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Document, Serialize, Deserialize)]
/// #[document(collection = "jobs", index(due, ttl = "1h"))]
/// struct Job {
///     _id: bson::ObjectId,
///     #[serde(with = "bson_date")]
///     #[document(as = bson::DateTime)]
///     due: std::time::SystemTime,
/// }
///
/// mod bson_date {
///     use std::time::SystemTime;
///
///     use marula::bson::DateTime;
///     use serde::{Deserialize, Deserializer, Serialize, Serializer};
///
///     pub fn serialize<S: Serializer>(date: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
///         DateTime::from_system_time(*date).serialize(serializer)
///     }
///
///     pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
///         DateTime::deserialize(deserializer).map(DateTime::to_system_time)
///     }
/// }
/// ```
///
/// With `opaque` alone, a date of `chrono`, `time` or `jiff` is a compile error, because its
/// `Serialize` writes text. A derive has only the name of a type: a type alias of such a date is
/// not recognized and is stored as text, and a type of another crate with the same name
/// (`NaiveDate`, `Zoned`, `DateTime<T>`) is rejected: use `as = Type` instead of `opaque`.
///
/// An index lists its keys, `-` for descending, and its options: `unique`, `sparse`, `hidden`,
/// `name = "…"`, `renamed_from = "…"`, `ttl = "30d"`, `collation(locale = "en", strength = 2)`,
/// `partial(status == Status::Open && total > 0)`. Special keys are `text(title, weight = 10)`,
/// `geo(place)`, `hashed(tenant)`, `wildcard(attrs)` and `wildcard`.
#[proc_macro_derive(Document, attributes(document, serde))]
pub fn document(input: TokenStream) -> TokenStream {
    derive(&parse_macro_input!(input as DeriveInput), true)
}

/// Implements `marula::Field`, the typed paths, for a struct or an enum inside of documents, and
/// `marula::Embedded` if it is stored as a document.
///
/// On the type: `crate = path`. On fields: `opaque` and `as = Type`, as for `Document`. Enums
/// follow their serde representation. A variant with fields has an accessor; filters on its fields
/// match this variant only, and updates of them change only values of this variant. Every variant
/// of an enum with data has an `is_…()` filter.
///
/// A variant without a tag (`untagged`, `other`) cannot be recognized in a stored value: it has no
/// `is_…()` filter, and filters on its fields and updates of them fail with `InvalidFilter` and
/// `InvalidUpdate`. Sorts and indexes can use its fields, which they share with other variants that
/// store the same names.
///
/// An enum of unit variants is one value: `status().eq(Status::Open)`.
///
/// A `uuid::Uuid` at any depth inside a variant of an enum with `tag` or `untagged`, or inside a
/// flattened field, is a compile error: serde buffers such values in a form that `uuid::Uuid` does
/// not read, and a flattened `Option` would be read as `None`. Use `marula::bson::Uuid`, or, for a
/// field of type `Uuid`, `Option<Uuid>` or `Vec<Uuid>`,
/// `#[serde(with = "marula::bson::uuid_as_binary")]` and `#[document(as = …)]` with its type.
///
/// Not checked are the private fields of types of other crates, a `Deserialize` that is implemented
/// by hand, functions given by `#[serde(with = "…")]`, and types nested more than 32 deep.
#[proc_macro_derive(Embedded, attributes(document, serde))]
pub fn embedded(input: TokenStream) -> TokenStream {
    derive(&parse_macro_input!(input as DeriveInput), false)
}

fn derive(input: &DeriveInput, root: bool) -> TokenStream {
    let sink = diagnostics::Sink::new();
    let parsed = parse::parse(input, root, &sink);
    let model = model::resolve(&parsed, &sink);
    let code = expand::expand(&model);
    let errors = sink.finish();
    quote::quote!(#code #errors).into()
}

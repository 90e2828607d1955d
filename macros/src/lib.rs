//! The derive macros of marula: `Document` for the root of a collection's documents, `Embedded` for what is inside.
//!
//! Each goes through three steps: `parse` reads the attributes, `model` resolves every name and default and checks the
//! combinations, `expand` writes the code. Errors of all steps are reported together, and the code is written
//! nevertheless, so that one mistake gives one error.

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

mod case;
mod diagnostics;
mod expand;
mod model;
mod parse;
mod symbol;

/// Makes a struct the root of the documents of a collection: implements `marula::Model`.
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
/// On the struct: `collection = "name"` (required); `index(…)`, as often as needed; `crate = path` where `marula` is
/// known by another name. On fields: `id` or `id = uuid_v7 | uuid_v4 | object_id | manual`; `index`; `unique`; `opaque`
/// for a field without typed paths; `as = Type` for a field that is stored as another type is.
///
/// A date or a decimal of another crate is converted by `#[serde(with = "…")]`, and `as` names what is stored:
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
/// With `opaque` alone, a date of `chrono`, `time` or `jiff` is a compile error, because its `Serialize` writes text. A derive
/// sees only the name of a type. So a type alias of such a date is not recognised and is stored as text, and a type of another
/// crate with the name of one (`NaiveDate`, `Zoned`, `DateTime<T>`) is refused: give it `as = Type` in place of `opaque`.
///
/// An index lists its keys, `-` for descending, and its options: `unique`, `sparse`, `hidden`, `name = "…"`,
/// `was = "…"`, `ttl = "30d"`, `collation(locale = "en", strength = 2)`, `partial(status == Status::Open && total > 0)`.
/// Special keys are `text(title, weight = 10)`, `geo(place)`, `hashed(tenant)`, `wildcard(attrs)` and `wildcard`.
#[proc_macro_derive(Document, attributes(document, serde))]
pub fn document(input: TokenStream) -> TokenStream {
    derive(&parse_macro_input!(input as DeriveInput), true)
}

/// Gives a struct or an enum inside a document its typed paths: implements `marula::Field`, and `marula::Embedded` when
/// it is stored as a document.
///
/// On the type: `crate = path`. On fields: `opaque` and `as = Type`, as for `Document`. Enums follow their serde
/// representation. A variant with fields has an accessor; filters on its fields ask for the variant too, and updates of them
/// change only values that are this variant. Every variant of an enum with data has an `is_…()` filter.
///
/// Nothing in a stored value shows that it is a variant without a tag (`untagged`, `other`): such a variant has no `is_…()`
/// filter, and filters on its fields and updates of them fail with `InvalidFilter` and `InvalidUpdate`. Sorts and indexes can
/// use its fields, which they share with other variants that store the same names.
///
/// An enum of unit variants is one value: `status().eq(Status::Open)`.
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

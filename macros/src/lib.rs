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
/// representation: a variant with fields has an accessor, which adds the tag to filters, and every variant has an
/// `is_…()` filter.
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

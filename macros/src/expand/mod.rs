//! Generates code from the resolved model. Infallible: after an error it generates as much as
//! possible, so that code that uses the type has no further errors.

use proc_macro2::{Span, TokenStream};
use quote::quote;

use crate::model::{Body, Model};

mod buffered;
mod enums;
mod fields;
mod index;
mod managed;
mod root;
mod values;

/// The location of a span for messages, with the hygiene of the call site.
fn at(span: Span) -> Span {
    Span::call_site().located_at(span)
}

pub(crate) fn expand(model: &Model) -> TokenStream {
    if !model.usable {
        return TokenStream::new();
    }
    let Model { ident, krate, .. } = model;
    let field = match &model.body {
        Body::Struct(accessors) => fields::structure(model, accessors),
        Body::Newtype(newtype) => values::newtype(ident, newtype),
        Body::Plain => values::plain(ident),
        Body::Enum(variants) => enums::enumeration(model, variants),
    };
    let contains_uuid = buffered::contains_uuid(model);
    let rest = match &model.root {
        Some(root) => root::root(model, root),
        None => values::into_value(ident),
    };
    quote! {
        #[doc(hidden)]
        #[allow(
            unused_imports, unreachable_pub, private_interfaces, dead_code, non_snake_case, non_camel_case_types,
            missing_docs, missing_debug_implementations, single_use_lifetimes, clippy::all, clippy::pedantic
        )]
        const _: () = {
            use #krate::__private_v1 as __m;
            use __m::NoUuids as _;
            #field
            #contains_uuid
            #rest
        };
    }
}

//! From the resolved model to code. It cannot fail: after an error it writes what can still be written, so that code
//! which uses the type gives no errors of its own.

use proc_macro2::{Span, TokenStream};
use quote::quote;

use crate::model::{Body, Model};

mod enums;
mod fields;
mod index;
mod root;
mod values;

/// A place for messages, without its hygiene: `self` is the same wherever it points.
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
            #field
            #rest
        };
    }
}

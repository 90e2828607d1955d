//! Generates code from the resolved model. Infallible: after an error it generates as much as
//! possible, so that code that uses the type has no further errors.

use proc_macro2::{Span, TokenStream};
use quote::quote;

use crate::model::{Body, Model};

mod buffered;
mod collection;
mod encrypted;
mod enums;
mod fields;
mod index;
mod json_schema;
mod managed;
mod parts;
mod projection;
mod root;
mod search;
mod shape;
mod stated;
mod values;

pub(crate) use projection::projection;
pub(crate) use shape::shape;

/// The location of a span for messages, with the hygiene of the call site.
fn at(span: Span) -> Span {
    Span::call_site().located_at(span)
}

/// The lints that generated code does not follow.
fn allowed() -> TokenStream {
    quote! {
        #[allow(
            unused_imports, unreachable_patterns, unreachable_pub, private_interfaces, dead_code, non_snake_case, non_camel_case_types,
            missing_docs, missing_debug_implementations, single_use_lifetimes, rustdoc::broken_intra_doc_links, clippy::all,
            clippy::pedantic
        )]
    }
}

pub(crate) fn expand(model: &Model) -> TokenStream {
    if !model.usable {
        return TokenStream::new();
    }
    let Model {
        ident,
        krate,
        generics,
        ..
    } = model;
    let (params, clause, ty) = (generics.params(), generics.clause(), generics.of(ident));
    let field = match &model.body {
        Body::Struct(accessors) => fields::structure(model, accessors),
        Body::Newtype(newtype) => values::newtype(ident, newtype),
        Body::Plain => {
            let plain = values::plain(ident, &TokenStream::new());
            quote!(#plain impl<__K> __m::SearchField<__K> for #ident {})
        }
        Body::Opaque(types) => {
            let plain = values::plain(ident, &json_schema::opaque(types));
            quote!(#plain impl<__K> __m::SearchField<__K> for #ident {})
        }
        Body::Names(names) => {
            let plain = values::plain(ident, &json_schema::names(names));
            quote! {
                #plain
                impl __m::KeysetKey for #ident {}
                impl __m::EncryptedValue for #ident {
                    const BSON_TYPE: &'static str = "string";
                }
                impl __m::EqualityValue for #ident {}
                impl __m::SearchField<__m::Strings> for #ident {}
                impl __m::SearchField<__m::Filters> for #ident {}
            }
        }
        Body::Enum(variants) => enums::enumeration(model, variants),
    };
    let contains_uuid = buffered::contains_uuid(model);
    let rest = match &model.root {
        Some(root) => root::root(model, root),
        // It does not need to implement `Serialize`.
        None if model.reads_itself || model.is_only_read => TokenStream::new(),
        None => values::into_value(model),
    };
    let is_value = model.root.is_none() && !model.reads_itself && !model.is_only_read;
    let operand = is_value.then(|| values::operand(model));
    let is_document = matches!(model.body, Body::Struct(_) | Body::Enum(_));
    let present = (!is_document).then(|| quote!(impl<#params> __m::Present for #ty #clause {}));
    let allowed = allowed();
    quote! {
        #[doc(hidden)]
        #allowed
        const _: () = {
            use #krate::__private_v1 as __m;
            use __m::{NoContents as _, NoUuids as _, NotScalar as _, Untyped as _};
            #field
            #contains_uuid
            impl<#params> __m::Projection<#ty> for #ty #clause {}
            #present
            #operand
            #rest
        };
    }
}

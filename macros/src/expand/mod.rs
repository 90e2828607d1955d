//! Generates code from the resolved model. Infallible: after an error it generates as much as
//! possible, so that code that uses the type has no further errors.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    code::allowed,
    codec::IdCodec,
    model::{Body, Model},
};

mod collection;
mod encrypted;
mod enums;
mod fields;
mod index;
mod input;
mod json_schema;
mod managed;
mod model_fields;
mod projection;
mod root;
mod search;
mod shape;
mod shard_key;
mod values;

pub(crate) use input::{insert, patch};
pub(crate) use projection::projection;
pub(crate) use shape::shape;

/// `id_codec`: how the id of a document is written and read.
pub(crate) fn expand(model: &Model, id_codec: &IdCodec) -> TokenStream {
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
        Body::Newtype(newtype) => values::newtype(model, newtype),
        Body::Plain => {
            let plain = values::plain(model, &TokenStream::new());
            quote!(#plain impl<__K, #params> __m::SearchField<__K> for #ty #clause {})
        }
        Body::Opaque(types) => {
            let plain = values::plain(model, &json_schema::opaque(types));
            quote!(#plain impl<__K, #params> __m::SearchField<__K> for #ty #clause {})
        }
        Body::BySerde(types) => {
            let hidden = types.iter().map(encrypted::check_opaque);
            let by_serde = values::by_serde(model, &json_schema::opaque(types));
            quote!(#(#hidden)* #by_serde)
        }
        Body::Names(names) => {
            let plain = values::plain(model, &json_schema::names(names));
            quote! {
                #plain
                impl<#params> __m::KeysetKey for #ty #clause {}
                impl<#params> __m::EncryptedValue for #ty #clause {
                    const BSON_TYPE: &'static str = "string";
                }
                impl<#params> __m::EqualityValue for #ty #clause {}
                impl<#params> __m::SearchField<__m::Strings> for #ty #clause {}
                impl<#params> __m::SearchField<__m::Filters> for #ty #clause {}
            }
        }
        Body::Enum(variants) => enums::enumeration(model, variants),
    };
    let rest = match &model.root {
        Some(root) => root::root(model, root, id_codec),
        None if model.is_result => TokenStream::new(),
        None => values::into_value(model),
    };
    let is_value = model.root.is_none() && !model.is_result;
    let operand = is_value.then(|| values::operand(model));
    let is_document = matches!(model.body, Body::Struct(_) | Body::Enum(_));
    let present = (!is_document).then(|| quote!(impl<#params> __m::Present for #ty #clause {}));
    let allowed = allowed();
    quote! {
        #[doc(hidden)]
        #allowed
        const _: () = {
            use #krate::__private_v1 as __m;
            use __m::codec::NoForm as _;
            use __m::{NoContents as _, NotScalar as _, Untyped as _};
            #field
            impl<#params> __m::Projection<#ty> for #ty #clause {}
            #present
            #operand
            #rest
        };
    }
}

//! A shape with `#[document(flatten)]`: the flattened model and the added fields are read from the same document.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Ident;
use syn::spanned::Spanned;

use crate::code::at;
use crate::codec::Context;
use crate::codec::document::Reader;
use crate::codec::field::{self, Field};
use crate::parse::{self, Parsed};

pub(super) fn expand(parsed: &Parsed, fields: &[parse::Field]) -> TokenStream {
    let fields = field::fields(fields, parsed.serde.rename_all, true);
    let (flat, added): (Vec<Field<'_>>, Vec<Field<'_>>) = fields.into_iter().partition(Field::is_model);
    let cx = Context::new(parsed, &[], false);
    let (ident, name) = (cx.ident, Ident::new("__Added", Span::call_site()));
    let reader = Reader {
        owner: name.to_token_stream(),
        out: name.to_token_stream(),
        constructor: name.to_token_stream(),
        partial: Ident::new("__Partial", Span::call_site()),
        is_strict: false,
        default: None,
        ignored: None,
        fields: &added,
    };
    let decode_fields = reader.decode_fields(&cx);
    let declared = added.iter().map(|f| {
        let (member, ty) = (&f.member, f.ty);
        quote!(#member: #ty)
    });
    let members: Vec<_> = added.iter().map(|f| &f.member).collect();
    let models = flat.iter().map(|f| {
        let (member, ty) = (&f.member, f.ty);
        let codec = quote_spanned!(at(ty.span())=> <__m::codec::Probe<#ty>>);
        quote!(#member: #codec::decode(__value)?)
    });
    let decode = cx.decode(
        &quote! {
            let __added = __m::codec::read::document::<#name>(__value)?;
            ::core::result::Result::Ok(#ident { #(#models,)* #(#members: __added.#members,)* })
        },
        &TokenStream::new(),
    );
    quote! {
        struct #name {
            #(#declared,)*
        }
        #decode_fields
        #decode
    }
}

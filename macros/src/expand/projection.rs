//! `Projection`: the part of a stored type that a struct reads.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::{
    code::{allowed, at},
    model::{Accessor, AccessorKind, Body, Model},
    parse::projection::{From, Source},
};

pub(crate) fn projection(model: &Model, source: &Source) -> TokenStream {
    let Body::Struct(accessors) = &model.body else {
        return TokenStream::new();
    };
    if !model.usable {
        return TokenStream::new();
    }
    let (ident, krate, of) = (&model.ident, &model.krate, &source.of);
    let fields = accessors.iter().map(|accessor| field(accessor, source));
    let allowed = allowed();
    quote! {
        #[doc(hidden)]
        #allowed
        const _: () = {
            use #krate::__private_v1 as __m;
            impl __m::Projection<#of> for #ident {
                fn node(__path: __m::RawPath) -> __m::Node {
                    let __of = __m::stored::<#of>(&__path);
                    let __selection = <__m::Selection as ::core::default::Default>::default();
                    #(let __selection = #fields;)*
                    __m::Selection::finish(__selection)
                }
            }
        };
    }
}

/// The selection with one more field.
fn field(accessor: &Accessor, source: &Source) -> TokenStream {
    let Accessor {
        ident,
        name,
        ty,
        kind,
        ..
    } = accessor;
    let of = &source.of;
    let ty = match kind {
        AccessorKind::As(stored) => stored,
        _ => ty,
    };
    let from = source.fields.iter().find(|(field, _)| field == ident);
    let segments = match from {
        Some((_, From::Expr(expr))) => {
            let value = quote_spanned!(at(expr.span())=> __m::computed::<#of, _>(&__path, #expr));
            return quote_spanned!(at(ty.span())=> __m::Selection::computed::<#ty, #of>(__selection, #name, #value));
        }
        Some((_, From::Path(segments))) => segments.clone(),
        None => vec![ident.clone()],
    };
    let path = segments.iter().fold(quote!(__of), |path, segment| {
        let mut method = segment.clone();
        method.set_span(at(segment.span()));
        quote_spanned!(at(segment.span())=> __m::Inner::inner(&#path).#method())
    });
    quote_spanned!(at(ty.span())=> __m::Selection::field::<#ty, _>(__selection, #name, &#path))
}

//! Index declarations, generated as calls on the typed paths of the model.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Lit;

use crate::{
    code::at,
    model::{Comparison, Index, Partial},
    parse::index::{CollationOption, FieldPath, Key, KeyKind},
};

pub(super) fn declaration(index: &Index) -> TokenStream {
    let mut out = quote!(__m::IndexDeclaration::new());
    for k in &index.keys {
        out.extend(key(k, index.ttl));
    }
    for (given, method) in [
        (index.unique, quote!(unique)),
        (index.sparse, quote!(sparse)),
        (index.hidden, quote!(hidden)),
    ] {
        if given {
            out.extend(quote!(.#method()));
        }
    }
    let texts = [
        (&index.name, quote!(name)),
        (&index.renamed_from, quote!(renamed_from)),
        (&index.language, quote!(default_language)),
        (&index.language_override, quote!(language_override)),
    ];
    for (text, method) in texts {
        if let Some(text) = text {
            out.extend(quote!(.#method(#text)));
        }
    }
    if let Some(options) = &index.collation {
        let collation = collation(options);
        out.extend(quote!(.collation(#collation)));
    }
    if let Some(partial) = &index.partial {
        let filter = filter(partial);
        out.extend(quote!(.partial(#filter)));
    }
    out
}

/// The document of a collation.
pub(super) fn collation(options: &[CollationOption]) -> TokenStream {
    let entries = options.iter().map(|o| {
        let name = o.name;
        let value = bson(&o.value);
        quote!((#name, #value))
    });
    quote!(__m::options([#(#entries),*]))
}

fn key(key: &Key, ttl: Option<u32>) -> TokenStream {
    let Some(path) = &key.path else {
        return quote!(.wildcard(&__fields));
    };
    let path = accessors(path);
    match (&key.kind, ttl) {
        (KeyKind::Ascending | KeyKind::Descending, Some(seconds)) => quote!(.expiring(#path, #seconds)),
        (KeyKind::Ascending, None) => quote!(.ascending(#path)),
        (KeyKind::Descending, None) => quote!(.descending(#path)),
        (KeyKind::Text { weight: None }, _) => quote!(.text(#path, ::core::option::Option::None)),
        (KeyKind::Text { weight: Some(w) }, _) => quote!(.text(#path, ::core::option::Option::Some(#w))),
        (KeyKind::Geo, _) => quote!(.geo(#path)),
        (KeyKind::Hashed, _) => quote!(.hashed(#path)),
        (KeyKind::Wildcard, _) => quote!(.wildcard(#path)),
    }
}

/// `&__fields.address().city()`. Each step goes through `inner`, so that an operator does not hide
/// a field of the same name, and has the span of its segment, so that errors point to it.
pub(super) fn accessors(path: &FieldPath) -> TokenStream {
    let mut out = quote!(__fields);
    for segment in &path.segments {
        out = quote_spanned!(at(segment.span())=> __m::Inner::inner(&#out).#segment());
    }
    let span = path
        .segments
        .last()
        .map_or_else(proc_macro2::Span::call_site, syn::Ident::span);
    quote_spanned!(at(span)=> &#out)
}

fn filter(partial: &Partial) -> TokenStream {
    match partial {
        Partial::And(a, b) => {
            let (a, b) = (filter(a), filter(b));
            quote!(::core::ops::BitAnd::bitand(#a, #b))
        }
        Partial::Or(a, b) => {
            let (a, b) = (filter(a), filter(b));
            quote!(::core::ops::BitOr::bitor(#a, #b))
        }
        Partial::Compare {
            path,
            comparison,
            value,
        } => {
            let path = accessors(path);
            let method = match comparison {
                Comparison::Eq => quote!(eq),
                Comparison::Gt => quote!(gt),
                Comparison::Gte => quote!(gte),
                Comparison::Lt => quote!(lt),
                Comparison::Lte => quote!(lte),
            };
            quote!(__m::FilterOps::#method(#path, #value))
        }
        Partial::Null { path } => {
            let path = accessors(path);
            quote!(__m::FilterOps::is_null(#path))
        }
        Partial::Exists { path, method } => {
            let path = accessors(path);
            quote!(__m::FilterOps::#method(#path))
        }
        Partial::Call {
            path,
            method,
            argument,
        } => {
            let path = accessors(path);
            quote!(__m::FilterOps::#method(#path, #argument))
        }
    }
}

pub(super) fn bson(value: &Lit) -> TokenStream {
    match value {
        Lit::Int(v) => quote!(__m::Bson::Int32(#v)),
        Lit::Bool(v) => quote!(__m::Bson::Boolean(#v)),
        v => quote!(__m::Bson::from(#v)),
    }
}

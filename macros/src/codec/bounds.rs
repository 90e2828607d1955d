//! The generics of the implementations: those of the type, with bounds of the parameters that are in fields.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Generics, Ident, Type, WherePredicate, parse_quote};

use crate::{
    codec::field::{Field, Form},
    parse::Parsed,
};

/// Whether the implementations are those of writing or of reading.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    Write,
    Read,
}

/// The generics of an implementation.
///
/// The bounds are inferred as serde infers its own: for parameters in the types of fields, except for `PhantomData`. The
/// predicates of `bound` are added to them; if there are none (`bound = ""`), nothing is inferred.
pub(super) fn bounded(parsed: &Parsed, fields: &[&Field<'_>], half: Half) -> Generics {
    let (generics, bounds) = (&parsed.generics, &parsed.serde.bounds);
    let mut out = generics.clone();
    if half == Half::Read {
        let lifetimes = generics.lifetimes().map(|l| &l.lifetime);
        out.params.insert(0, parse_quote!('de: #(#lifetimes +)*));
    }
    let given = match half {
        Half::Write => &bounds.written,
        Half::Read => &bounds.read,
    };
    let is_inferred = given.as_ref().is_none_or(|given| !given.is_empty());
    let mut predicates: Vec<WherePredicate> = given.clone().unwrap_or_default();
    let has_own_default = parsed.serde.default && parsed.serde.default_path.is_none();
    if half == Half::Read
        && is_inferred
        && has_own_default
        && !fields.is_empty()
        && !generics.params.is_empty()
    {
        let (ident, (_, arguments, _)) = (&parsed.ident, generics.split_for_impl());
        predicates.push(parse_quote!(#ident #arguments: ::core::default::Default));
    }
    for field in fields {
        let given = match half {
            Half::Write => &field.serde().bounds.written,
            Half::Read => &field.serde().bounds.read,
        };
        predicates.extend(given.clone().unwrap_or_default());
        if is_inferred && given.as_ref().is_none_or(|given| !given.is_empty()) {
            predicates.extend(inferred(generics, field, half));
        }
    }
    if !predicates.is_empty() {
        let clause = out.make_where_clause();
        for predicate in predicates {
            let is_new = clause.predicates.iter().all(|other| *other != predicate);
            if is_new {
                clause.predicates.push(predicate);
            }
        }
    }
    out
}

/// The bounds that one field needs.
fn inferred(generics: &Generics, field: &Field<'_>, half: Half) -> Vec<WherePredicate> {
    let subjects = subjects(generics, field.ty);
    if subjects.is_empty() || field.is_phantom() {
        return Vec::new();
    }
    let all = |bound: &TokenStream| -> Vec<WherePredicate> {
        let subjects = subjects.iter();
        subjects.map(|subject| parse_quote!(#subject: #bound)).collect()
    };
    let ty = field.ty;
    match half {
        Half::Write if !field.is_written() => Vec::new(),
        Half::Write if field.is_flat() => vec![parse_quote!(#ty: __m::codec::EncodeFields)],
        Half::Write => match field.written_form() {
            Form::Typed => all(&quote!(__m::codec::Encode)),
            Form::As(stored) => {
                vec![parse_quote!(#stored: __m::codec::StoredAs<#ty> + __m::codec::Encode)]
            }
            Form::Serde | Form::Function(_) => all(&quote!(__m::serde::Serialize)),
        },
        Half::Read => {
            let mut bounds = match field.read_form() {
                _ if !field.is_read() => Vec::new(),
                _ if field.is_flat() => vec![parse_quote!(#ty: __m::codec::DecodeFields<'de, Out = #ty>)],
                Form::Typed => all(&quote!(__m::codec::Decode<'de>)),
                Form::As(stored) => {
                    vec![parse_quote!(#stored: __m::codec::StoredAs<#ty> + __m::codec::Decode<'de>)]
                }
                Form::Serde | Form::Function(_) => all(&quote!(__m::serde::de::DeserializeOwned)),
            };
            if field.needs_default() {
                bounds.extend(all(&quote!(::core::default::Default)));
            }
            bounds
        }
    }
}

/// The parameters in a type, and their associated types: `T` and `T::Key`.
fn subjects(generics: &Generics, ty: &Type) -> Vec<TokenStream> {
    let params: Vec<&Ident> = generics.type_params().map(|param| &param.ident).collect();
    let mut found = Vec::new();
    if !params.is_empty() {
        collect(ty.to_token_stream(), &params, &mut found);
    }
    found
}

fn collect(tokens: TokenStream, params: &[&Ident], found: &mut Vec<TokenStream>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => collect(group.stream(), params, found),
            TokenTree::Ident(ident) if params.contains(&&ident) => {
                let mut subject = quote!(#ident);
                while matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == ':') {
                    subject.extend(tokens.next());
                    subject.extend(tokens.next());
                    subject.extend(tokens.next());
                }
                found.push(subject);
            }
            _ => {}
        }
    }
}

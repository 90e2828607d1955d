//! `#[document(of = …)]` of a projection, and `path` and `expr` of its fields.

use syn::parse::ParseStream;
use syn::{Attribute, Data, DeriveInput, Expr, Fields, Ident, Token, Type, ext::IdentExt};

use crate::{diagnostics::Sink, parse::skip_value};

/// What a projection is read from.
pub(crate) struct Source {
    /// The stored type.
    pub(crate) of: Type,
    /// The sources of the fields that have one, by their names.
    pub(crate) fields: Vec<(Ident, From)>,
}

/// The source of a field.
pub(crate) enum From {
    /// The names of fields, from the stored type inwards.
    Path(Vec<Ident>),
    /// A closure that takes the fields of the stored type.
    Expr(Expr),
}

/// Parses the attributes, and removes them so that those of `Embedded` are left. `None` after an
/// error.
pub(crate) fn take(input: &mut DeriveInput, sink: &Sink) -> Option<Source> {
    let mut of = None;
    take_items(&mut input.attrs, &["of"], sink, |meta| {
        of = Some(meta.value()?.parse::<Type>()?);
        Ok(())
    });
    let mut fields = Vec::new();
    match &mut input.data {
        Data::Struct(data) => {
            if let Fields::Named(named) = &mut data.fields {
                for field in &mut named.named {
                    let from = take_field(&mut field.attrs, sink);
                    if let (Some(ident), Some(from)) = (&field.ident, from) {
                        fields.push((ident.clone(), from));
                    }
                }
            } else {
                sink.on(&input.ident, "`Projection` is for structs with named fields");
            }
        }
        _ => sink.on(&input.ident, "`Projection` is for structs with named fields"),
    }
    let Some(of) = of else {
        sink.on(
            &input.ident,
            "a projection needs the type that it is read from: add `#[document(of = Type)]`",
        );
        return None;
    };
    Some(Source { of, fields })
}

fn take_field(attributes: &mut Vec<Attribute>, sink: &Sink) -> Option<From> {
    let mut from = None;
    take_items(attributes, &["path", "expr"], sink, |meta| {
        if from.is_some() {
            return Err(meta.error("a field has one source: write either `path` or `expr`"));
        }
        let input = meta.value()?;
        from = Some(if meta.path.is_ident("path") {
            From::Path(parse_path(input)?)
        } else {
            From::Expr(input.parse()?)
        });
        Ok(())
    });
    from
}

/// The names of fields, from the stored type inwards: `a.b`.
pub(super) fn parse_path(input: ParseStream<'_>) -> syn::Result<Vec<Ident>> {
    let mut segments = vec![input.call(Ident::parse_any)?];
    while input.peek(Token![.]) {
        input.parse::<Token![.]>()?;
        segments.push(input.call(Ident::parse_any)?);
    }
    Ok(segments)
}

/// Calls `item` for the items with these names, and removes the attributes that contain one. Such
/// an attribute contains no other item, except `crate`.
pub(super) fn take_items(
    attributes: &mut Vec<Attribute>,
    names: &[&str],
    sink: &Sink,
    mut item: impl FnMut(&syn::meta::ParseNestedMeta<'_>) -> syn::Result<()>,
) {
    let is_own = |path: &syn::Path| names.iter().any(|name| path.is_ident(name));
    let mut kept = Vec::new();
    for attribute in attributes.drain(..) {
        if !attribute.path().is_ident("document") {
            kept.push(attribute);
            continue;
        }
        let mut own = false;
        let mut others: Vec<proc_macro2::TokenStream> = Vec::new();
        let parsed = attribute.parse_nested_meta(|meta| {
            if is_own(&meta.path) {
                own = true;
                return item(&meta);
            }
            let start = meta.input.cursor();
            let path = &meta.path;
            skip_value(&meta)?;
            let mut rest = proc_macro2::TokenStream::new();
            let mut cursor = start;
            while cursor != meta.input.cursor() {
                let Some((token, next)) = cursor.token_tree() else {
                    break;
                };
                rest.extend([token]);
                cursor = next;
            }
            others.push(quote::quote!(#path #rest));
            Ok(())
        });
        if !own && parsed.is_err() {
            // `Embedded` reports it.
            kept.push(attribute);
            continue;
        }
        sink.ok(parsed);
        if !others.is_empty() {
            kept.push(syn::parse_quote!(#[document(#(#others),*)]));
        }
    }
    *attributes = kept;
}

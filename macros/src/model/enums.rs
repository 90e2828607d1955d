//! Enums: the serde representation of each variant.

use proc_macro2::Span;
use syn::Ident;
use syn::ext::IdentExt;

use crate::case::{Rule, snake};
use crate::diagnostics::Sink;
use crate::model::{Body, Content, Part, Place, Variant, encrypted, fields, fresh};
use crate::parse::{self, Name, Parsed, Shape};

pub(super) fn resolve(variants: &[parse::Variant], parsed: &Parsed, sink: &Sink) -> Body {
    let serde = &parsed.serde;
    for name in [&serde.tag, &serde.content].into_iter().flatten() {
        fields::check_name(name, sink);
    }
    let units = variants.iter().all(|v| matches!(v.shape, Shape::Unit));
    if units && serde.tag.is_none() {
        return names(variants, parsed);
    }
    Body::Enum(
        variants
            .iter()
            .filter(|v| !v.serde.skipped)
            .map(|v| variant(v, parsed, sink))
            .collect(),
    )
}

/// An enum of unit variants. Without names if the form of a value is not known.
fn names(variants: &[parse::Variant], parsed: &Parsed) -> Body {
    let is_plain = |v: &parse::Variant| {
        let serde = &v.serde;
        !serde.other && !serde.untagged && serde.with.is_none()
    };
    if variants.is_empty() || parsed.serde.untagged || parsed.repr || !variants.iter().all(is_plain) {
        return Body::Plain;
    }
    let stored = variants.iter().filter(|v| !v.serde.skipped);
    Body::Names(stored.map(|v| tag(v, parsed)).collect())
}

/// The name of a variant that serde writes.
fn tag(variant: &parse::Variant, parsed: &Parsed) -> String {
    let given = variant.serde.rename.as_ref().map(|n| n.value.clone());
    given.unwrap_or_else(|| {
        let rule = parsed.serde.rename_all;
        rule.variant(&variant.ident.unraw().to_string())
    })
}

fn variant(variant: &parse::Variant, parsed: &Parsed, sink: &Sink) -> Variant {
    let serde = &parsed.serde;
    let rust_name = variant.ident.unraw().to_string();
    let given = variant.serde.rename.clone();
    let tag = tag(variant, parsed);
    let place = match (&serde.tag, &serde.content) {
        _ if serde.untagged || variant.serde.untagged => Place::Untagged,
        (None, _) => {
            let span = given.map_or(variant.ident.span(), |n| n.span);
            fields::check_name(
                &Name {
                    value: tag.clone(),
                    span,
                },
                sink,
            );
            Place::Keyed { tag }
        }
        (Some(name), None) => Place::Beside {
            tag_name: name.value.clone(),
            tag,
        },
        (Some(name), Some(content)) => Place::Within {
            tag_name: name.value.clone(),
            tag,
            content_name: content.value.clone(),
        },
    };
    // A variant for all unknown tags has no tag that a filter could match.
    let place = if variant.serde.other {
        Place::Untagged
    } else {
        place
    };
    let content = match &variant.shape {
        // The form of the content is not known.
        _ if variant.serde.with.is_some() => {
            encrypted::reject(
                variant.shape.fields(),
                "the content of an enum variant with a conversion",
                sink,
            );
            Content::None
        }
        Shape::Unit => Content::Unit,
        Shape::Named(named) => {
            encrypted::reject(named, "a field of an enum variant", sink);
            let rule = if variant.container.rename_all == Rule::None {
                serde.rename_all_fields
            } else {
                variant.container.rename_all
            };
            fields::check_unwritten(named, false, sink);
            let ident = fresh(
                &format!("{}{rust_name}Fields", parsed.ident.unraw()),
                &parsed.identifiers,
            );
            Content::Fields {
                ident,
                accessors: fields::resolve(named, &variant.container, rule, sink),
            }
        }
        Shape::Tuple(fields) if fields.iter().any(|f| f.attributes.encrypted.is_some()) => {
            encrypted::reject(fields, "the content of an enum variant", sink);
            Content::None
        }
        Shape::Tuple(fields) => match &fields[..] {
            [field] => match fields::kind(field, sink) {
                super::AccessorKind::Typed => Content::Newtype(field.ty.clone()),
                super::AccessorKind::As(ty) => Content::Newtype(ty),
                _ => Content::None,
            },
            _ => Content::None,
        },
    };
    let name = snake(&rust_name);
    Variant {
        ident: variant.ident.clone(),
        parts: parts(variant, &content),
        opaque: opaque(variant),
        by_function: matches!(variant.shape.fields(), [field] if field.serde.with.is_some()),
        is_tuple: matches!(&variant.shape, Shape::Tuple(fields) if fields.len() != 1),
        docs: variant.docs.clone(),
        accessor: method(&name, variant.ident.span()),
        is: Ident::new(&format!("is_{name}"), variant.ident.span()),
        buffered: is_buffered(parsed),
        read_types: read_types(variant),
        place,
        content,
    }
}

/// The fields of a variant that are stored by their own types.
fn parts(variant: &parse::Variant, content: &Content) -> Vec<Part> {
    match (&variant.shape, content) {
        _ if variant.serde.with.is_some() => Vec::new(),
        (_, Content::Fields { accessors, .. }) => accessors.iter().filter_map(Part::of_accessor).collect(),
        (Shape::Tuple(fields), _) => {
            let written = fields.iter().enumerate().filter(|(_, f)| !f.serde.skipped);
            let positions = written.enumerate();
            positions
                .filter(|(_, (_, f))| {
                    let attributes = &f.attributes;
                    attributes.opaque.is_none() && attributes.stored_as.is_none() && f.serde.with.is_none()
                })
                .map(|(position, (index, f))| Part {
                    member: syn::Member::from(index),
                    name: Some(position.to_string()),
                    ty: f.ty.clone(),
                })
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The types of values whose stored form is not known, or that of another type that is stated.
fn opaque(variant: &parse::Variant) -> Vec<syn::Type> {
    let fields = match &variant.shape {
        Shape::Tuple(fields) => fields,
        Shape::Named(fields) if variant.serde.with.is_some() => fields,
        Shape::Named(_) | Shape::Unit => return Vec::new(),
    };
    let is_opaque = |f: &parse::Field| {
        f.attributes.opaque.is_some() || f.attributes.stored_as.is_some() || f.serde.with.is_some()
    };
    let written = fields.iter().filter(|f| !f.serde.skipped);
    written
        .filter(|f| variant.serde.with.is_some() || is_opaque(f))
        .map(|f| f.ty.clone())
        .collect()
}

/// Whether serde reads the variants of the enum from a buffer. One untagged variant is enough:
/// serde tries the tagged ones first.
fn is_buffered(parsed: &Parsed) -> bool {
    let serde = &parsed.serde;
    let untagged = |variants: &[parse::Variant]| variants.iter().any(|v| v.serde.untagged);
    serde.untagged
        || (serde.tag.is_some() && serde.content.is_none())
        || matches!(&parsed.body, parse::Body::Enum(variants) if untagged(variants))
}

/// The types whose own `Deserialize` reads a part of the variant.
pub(super) fn read_types(variant: &parse::Variant) -> Vec<syn::Type> {
    match &variant.shape {
        Shape::Named(fields) | Shape::Tuple(fields) if !variant.serde.unread && !variant.serde.read_with => {
            fields::read_types(fields)
        }
        _ => Vec::new(),
    }
}

/// The identifier of a method. Raw if the name is a keyword.
fn method(name: &str, span: Span) -> Ident {
    match syn::parse_str::<Ident>(name) {
        Ok(_) => Ident::new(name, span),
        Err(_) => Ident::new_raw(name, span),
    }
}

//! Enums: the serde representation of each variant.

use syn::Ident;
use syn::ext::IdentExt;

use crate::{
    case::{self, Rule},
    diagnostics::Sink,
    model::{Accessor, AccessorKind, Body, Content, Place, Variant, encrypted, fields, fresh},
    parse::{self, Name, Parsed, Shape},
};

pub(super) fn resolve(variants: &[parse::Variant], parsed: &Parsed, sink: &Sink) -> Body {
    let units = variants.iter().all(|v| matches!(v.shape, Shape::Unit));
    if units && parsed.serde.tag.is_none() {
        check_names(variants, parsed, sink);
        return names(variants, parsed);
    }
    Body::Enum(with_data(variants, parsed, sink))
}

/// The variants of an enum with data.
pub(super) fn with_data(variants: &[parse::Variant], parsed: &Parsed, sink: &Sink) -> Vec<Variant> {
    check_representation(variants, parsed, sink);
    check_names(variants, parsed, sink);
    let stored = variants.iter().filter(|v| !v.serde.skipped);
    stored.map(|v| variant(v, parsed, sink)).collect()
}

/// Rejects representations that contradict themselves, and contents that they cannot have.
fn check_representation(variants: &[parse::Variant], parsed: &Parsed, sink: &Sink) {
    let serde = &parsed.serde;
    for name in [&serde.tag, &serde.content].into_iter().flatten() {
        fields::check_name(name, sink);
    }
    match (&serde.tag, &serde.content) {
        (Some(tag), _) if serde.untagged => {
            sink.at(tag.span, "an enum has a tag or is `untagged`: remove one of both");
        }
        (None, Some(content)) => {
            sink.at(
                content.span,
                "`content` is the name of the content beside a tag: add `tag = \"…\"`",
            );
        }
        (Some(tag), Some(content)) if tag.value == content.value => {
            sink.at(
                content.span,
                "the tag and the content are two fields: give them two names",
            );
        }
        (Some(_), None) => {
            let items = |v: &&parse::Variant| matches!(&v.shape, Shape::Tuple(items) if items.len() > 1);
            let is_tagged =
                |v: &&parse::Variant| !v.serde.untagged && !v.serde.skipped && v.serde.with.is_none();
            for variant in variants.iter().filter(items).filter(is_tagged) {
                sink.on(
                    &variant.ident,
                    "the values of this variant have no names beside the tag: name the fields, or add `content = \"…\"` to the enum",
                );
            }
        }
        _ => {}
    }
}

/// Rejects two variants with one stored name: a value of the second one would be read as the first.
fn check_names(variants: &[parse::Variant], parsed: &Parsed, sink: &Sink) {
    let mut seen: Vec<(String, &Ident)> = Vec::new();
    let is_unnamed = |v: &parse::Variant| {
        let is_skipped = v.serde.skipped && v.serde.unread;
        parsed.serde.untagged || v.serde.untagged || is_skipped
    };
    for variant in variants.iter().filter(|v| !is_unnamed(v)) {
        let own = std::iter::once(tag(variant, parsed)).chain(variant.serde.aliases.iter().cloned());
        for name in own {
            match seen.iter().find(|(other, _)| *other == name) {
                Some((_, first)) if **first != variant.ident => sink.on(
                    &variant.ident,
                    format!(
                        "`{name}` is a stored name or an alias of `{first}` and of this variant, whose values would be read as `{first}`; \
                         remove one, or rename it with `#[serde(rename = \"…\")]`"
                    ),
                ),
                _ => seen.push((name, &variant.ident)),
            }
        }
    }
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
pub(crate) fn tag(variant: &parse::Variant, parsed: &Parsed) -> String {
    let given = variant.serde.rename.as_ref().map(|n| n.value.clone());
    given.unwrap_or_else(|| {
        let rule = parsed.serde.rename_all;
        rule.variant(&variant.ident.unraw().to_string())
    })
}

/// The rule for the names of the fields of a variant.
pub(crate) fn fields_rule(variant: &parse::Variant, parsed: &Parsed) -> Rule {
    match variant.container.rename_all {
        Rule::None => parsed.serde.rename_all_fields,
        rule => rule,
    }
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
    if let Shape::Tuple(items) = &variant.shape {
        fields::check_items(items, sink);
    }
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
            let rule = fields_rule(variant, parsed);
            fields::check_unwritten(named, false, sink);
            let ident = fresh(
                &format!("{}{rust_name}Fields", parsed.ident.unraw()),
                &parsed.identifiers,
            );
            let accessors = fields::resolve(named, &variant.container, rule, sink);
            check_tag(&place, &accessors, sink);
            Content::Fields { ident, accessors }
        }
        Shape::Tuple(fields) if fields.iter().any(|f| f.attributes.encrypted.is_some()) => {
            encrypted::reject(fields, "the content of an enum variant", sink);
            Content::None
        }
        Shape::Tuple(items) => match &items[..] {
            [field] if !field.is_written() => Content::Unit,
            [field] => match fields::kind(field, sink) {
                AccessorKind::Typed => Content::Newtype(field.ty.clone()),
                AccessorKind::As(ty) => Content::Newtype(ty),
                _ => Content::None,
            },
            _ => Content::None,
        },
    };
    let written = variant.shape.fields().iter().filter(|f| f.is_written());
    Variant {
        contents: written.map(|f| f.ty.clone()).collect(),
        is_converted: matches!(variant.shape.fields(), [field] if is_converted(field)),
        docs: variant.docs.clone(),
        accessor: accessor(variant),
        is: Ident::new(
            &format!("is_{}", case::accessor(&rust_name)),
            variant.ident.span(),
        ),
        place,
        content,
    }
}

/// Rejects a field with the name of the tag, which is beside it.
fn check_tag(place: &Place, accessors: &[Accessor], sink: &Sink) {
    let Place::Beside { tag_name, .. } = place else {
        return;
    };
    let is_tag = |a: &&Accessor| a.name == *tag_name && !a.is_flat();
    if let Some(field) = accessors.iter().find(is_tag) {
        sink.on(
            &field.ident,
            format!("this field is stored as `{tag_name}`, which is the name of the tag; rename one of them"),
        );
    }
}

/// Whether a value is stored in another form than that of its type.
fn is_converted(field: &parse::Field) -> bool {
    field.attributes.opaque.is_some() || field.attributes.stored_as.is_some() || field.serde.with.is_some()
}

/// The accessor of a variant. Raw if the name is a keyword.
pub(super) fn accessor(variant: &parse::Variant) -> Ident {
    let (name, span) = (
        case::accessor(&variant.ident.unraw().to_string()),
        variant.ident.span(),
    );
    match name.as_str() {
        // These cannot be raw.
        "super" | "crate" | "self" => Ident::new(&format!("{name}_"), span),
        name if syn::parse_str::<Ident>(name).is_ok() => Ident::new(name, span),
        name => Ident::new_raw(name, span),
    }
}

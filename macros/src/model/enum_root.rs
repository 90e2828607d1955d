//! Models that are enums: the id, which all variants have, and the paths in attributes, which begin with a variant.

use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{Ident, Type};

use crate::{
    diagnostics::Sink,
    model::{
        Id, Managed,
        enums::{accessor, fields_rule},
        managed, root,
    },
    parse::{Body, Field, FieldAttributes, Name, Parsed, SerdeField, Shape, Variant, index::FieldPath},
};

/// The id. All variants have the same one.
pub(super) fn id(variants: &[Variant], parsed: &Parsed, sink: &Sink) -> Option<Id> {
    let serde = &parsed.serde;
    if let Some(content) = &serde.content {
        sink.at(
            content.span,
            "`content` stores the id of a document inside of a field; remove it, so that the fields of a variant are those of the \
             document",
        );
        return None;
    }
    if serde.tag.is_none() {
        sink.on(
            &parsed.ident,
            "`Document` on an enum needs `#[serde(tag = \"…\")]`, the name of the field that states the variant of a document; or derive \
             `Embedded` and put the enum into a field",
        );
        return None;
    }
    let mut first: Option<(Id, &Variant, &Field)> = None;
    for variant in variants {
        let Shape::Named(fields) = &variant.shape else {
            sink.on(
                &variant.ident,
                format!(
                    "the variant `{}` of a document needs named fields, one of them stored as `_id`",
                    variant.ident
                ),
            );
            return None;
        };
        let id = root::id(fields, fields_rule(variant, parsed), &variant.ident, sink)?;
        let field = fields.iter().find(|f| f.ident.as_ref() == Some(&id.ident))?;
        let Some((shared, other, of_other)) = &mut first else {
            first = Some((id, variant, field));
            continue;
        };
        if let Some(difference) = difference((&id, field), (shared, of_other)) {
            sink.on(
                &id.ident,
                format!(
                    "all variants have the same id, but that of `{}` has another {difference}",
                    other.ident
                ),
            );
            return None;
        }
    }
    let Some((mut id, ..)) = first else {
        sink.on(
            &parsed.ident,
            "a document needs an id, and this enum has no variants",
        );
        return None;
    };
    if let Some(variant) = variants.iter().find(|v| accessor(v).unraw() == id.ident.unraw()) {
        sink.on(
            &variant.ident,
            format!(
                "the accessor of this variant has the name of the id, `{}`; rename one of them",
                id.ident
            ),
        );
        return None;
    }
    id.variants = variants.iter().map(|v| v.ident.clone()).collect();
    Some(id)
}

/// The properties in which the ids of two variants can differ.
fn difference((id, field): (&Id, &Field), (other, of_other): (&Id, &Field)) -> Option<&'static str> {
    let form = |field: &Field| {
        let (attributes, functions) = (&field.attributes, &field.serde.functions);
        let parts = [
            attributes.stored_as.as_ref().map(ToTokens::to_token_stream),
            functions.write.as_ref().map(ToTokens::to_token_stream),
            functions.read.as_ref().map(ToTokens::to_token_stream),
        ];
        let parts = parts.map(|part| part.map(|tokens| tokens.to_string()));
        (attributes.opaque.is_some(), parts)
    };
    if id.ident.unraw() != other.ident.unraw() {
        Some("name")
    } else if id.ty != other.ty {
        Some("type")
    } else if form(field) != form(of_other) {
        Some("form")
    } else if id.source != other.source {
        Some("source")
    } else {
        None
    }
}

/// The first segment of a path in an attribute: a variant, or the id.
pub(super) fn paths(variants: &[Variant], id: Option<&Id>) -> Vec<Field> {
    let field = |ident, ty, rename| Field {
        ident: Some(ident),
        ty,
        docs: Vec::new(),
        attributes: FieldAttributes::default(),
        serde: SerdeField {
            rename,
            ..SerdeField::default()
        },
    };
    let none: Type = syn::parse_quote!(());
    let mut paths: Vec<Field> = variants
        .iter()
        .map(|v| field(accessor(v), none.clone(), None))
        .collect();
    if let Some(id) = id {
        let stored = Name {
            value: "_id".to_owned(),
            span: id.ident.span(),
        };
        paths.push(field(id.ident.clone(), id.ty.clone(), Some(stored)));
    }
    paths
}

/// Whether a path is that of a whole variant, which is not a field.
pub(super) fn is_variant(path: &FieldPath, parsed: &Parsed) -> bool {
    let (Body::Enum(variants), [only]) = (&parsed.body, &path.segments[..]) else {
        return false;
    };
    variants.iter().any(|v| accessor(v).unraw() == only.unraw())
}

/// How a path of a field that a variant has begins. For an unknown path that begins with the field.
pub(super) fn hint(field: &Ident, parsed: &Parsed) -> Option<String> {
    let Body::Enum(variants) = &parsed.body else {
        return None;
    };
    let is_field = |f: &Field| f.ident.as_ref().is_some_and(|i| i.unraw() == field.unraw());
    let variant = variants.iter().find(|v| v.shape.fields().iter().any(is_field))?;
    Some(format!(
        "; a path begins with a variant, such as `{}.{field}`",
        accessor(variant)
    ))
}

/// The version of the documents. An enum has no maintained fields.
pub(super) fn managed(variants: &[Variant], parsed: &Parsed, sink: &Sink) -> Managed {
    let attributes = &parsed.attributes;
    if let Some(field) = &attributes.soft_delete {
        sink.on(
            field,
            "`soft_delete` is for a struct: the variants of an enum do not share the field",
        );
    }
    if let Some(kind) = &attributes.kind {
        sink.at(
            kind.span,
            "`kind` is for a struct: the tag of an enum distinguishes its variants",
        );
    }
    let fields = variants
        .iter()
        .flat_map(|v| v.shape.fields().iter().map(move |f| (v, f)));
    for (variant, field) in fields.clone() {
        for (kind, span) in &field.attributes.managed {
            sink.at(
                *span,
                format!(
                    "`{}` is for a struct: the variants of an enum do not share the field",
                    kind.name()
                ),
            );
        }
        let index = [
            (field.attributes.index, "index"),
            (field.attributes.unique, "unique"),
        ];
        for (span, attribute) in index {
            if let (Some(span), Some(ident)) = (span, &field.ident) {
                let (path, unique) = (
                    accessor(variant),
                    if attribute == "unique" { ", unique" } else { "" },
                );
                sink.at(
                    span,
                    format!(
                        "`{attribute}` is for the fields of a struct; declare `index({path}.{ident}{unique})` on the enum"
                    ),
                );
            }
        }
    }
    let names = fields.map(|(variant, field)| (field, fields_rule(variant, parsed)));
    Managed {
        schema_version: attributes
            .schema_version
            .as_ref()
            .map(|given| managed::schema_version(parsed, names, given, sink)),
        ..Managed::default()
    }
}

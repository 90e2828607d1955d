//! Fields: their stored names and their kinds.

use syn::ext::IdentExt;
use syn::{GenericArgument, PathArguments, Type};

use crate::{
    case::Rule,
    diagnostics::Sink,
    model::{Accessor, AccessorKind, dates, encrypted},
    parse::{Field, Name, SerdeContainer, is_option},
};

/// The accessors of all fields that are stored. `owner`: the type or variant that has them.
pub(super) fn resolve(fields: &[Field], owner: &SerdeContainer, rule: Rule, sink: &Sink) -> Vec<Accessor> {
    let mut accessors: Vec<Accessor> = Vec::new();
    for field in fields.iter().filter(|f| f.is_written()) {
        let Some(accessor) = resolve_one(field, owner, rule, sink) else {
            continue;
        };
        let clash = accessors
            .iter()
            .any(|a| a.name == accessor.name && !a.is_flat() && !accessor.is_flat());
        if clash {
            sink.on(
                &accessor.ident,
                format!(
                    "two fields are stored as `{}`; rename one with `#[serde(rename = \"…\")]`",
                    accessor.name
                ),
            );
        }
        accessors.push(accessor);
    }
    check_aliases(&accessors, sink);
    accessors
}

/// Rejects an alias that is the name or an alias of another field, which would not be read then.
fn check_aliases(accessors: &[Accessor], sink: &Sink) {
    let named = || accessors.iter().filter(|a| !a.is_flat());
    for (index, accessor) in named().enumerate() {
        for alias in &accessor.aliases {
            let is_taken = |(at, other): &(usize, &Accessor)| {
                *at != index && (other.name == *alias || (*at < index && other.aliases.contains(alias)))
            };
            if let Some((_, other)) = named().enumerate().find(is_taken) {
                sink.on(
                    &accessor.ident,
                    format!(
                        "the alias `{alias}` is also a name of the field `{}`, which would be read from it: remove the alias",
                        other.ident
                    ),
                );
            }
        }
    }
}

/// Rejects fields that serde does not write but requires for reading, since documents could not be
/// read back. `default`: whether the type has defaults for all fields.
pub(super) fn check_unwritten(fields: &[Field], default: bool, sink: &Sink) {
    for field in fields {
        let serde = &field.serde;
        let Some(span) = serde.unwritten else { continue };
        let optional = field.is_option() && serde.with.is_none() && !serde.read_with;
        if default || serde.default || serde.unread || optional || serde.flatten.is_some() {
            continue;
        }
        let name = field
            .ident
            .as_ref()
            .map_or_else(String::new, |i| format!(" `{i}`"));
        sink.at(
            span,
            format!(
                "the field{name} is not stored, but is required when a document is read, so that stored documents could not be \
                 read; add `#[serde(default)]`, or skip the field on both sides with `#[serde(skip)]`"
            ),
        );
    }
}

/// Rejects items of arrays, and contents of variants, that are only written or only read: an array has no names by which the others
/// could be read.
pub(super) fn check_items(fields: &[Field], sink: &Sink) {
    for field in fields.iter().filter(|f| f.serde.skipped != f.serde.unread) {
        sink.on(
            &field.ty,
            "a value without a name is written and read, or neither: use `#[serde(skip)]`, or a field with a name",
        );
    }
}

fn resolve_one(field: &Field, owner: &SerdeContainer, rule: Rule, sink: &Sink) -> Option<Accessor> {
    let ident = field.ident.clone()?;
    let name = stored_name(field, rule)?;
    if !is_flat(field) {
        let at = field.serde.rename.as_ref().map_or(ident.span(), |n| n.span);
        check_name(
            &Name {
                value: name.clone(),
                span: at,
            },
            sink,
        );
    }
    let kind = kind(field, sink);
    let encryption = encrypted::resolve(field, &name, sink);
    let read = !field.serde.unread && !is_flat(field);
    Some(Accessor {
        ident,
        docs: field.docs.clone(),
        name,
        aliases: field.serde.aliases.clone(),
        ty: field.ty.clone(),
        kind,
        read,
        required: read && !owner.default && !field.serde.default && !field.serde.omitted,
        encryption,
        skips_none: field.serde.skips_none,
        by_function: field.serde.with.is_some(),
    })
}

/// Whether the fields of the value are fields of the outer document.
fn is_flat(field: &Field) -> bool {
    field.serde.flatten.is_some() || field.attributes.flatten.is_some()
}

/// The name that serde writes.
pub(crate) fn stored_name(field: &Field, rule: Rule) -> Option<String> {
    let ident = field.ident.as_ref()?;
    let given = field.serde.rename.as_ref().map(|n| n.value.clone());
    Some(given.unwrap_or_else(|| rule.field(&ident.unraw().to_string())))
}

/// The field that is stored as `_id`.
pub(super) fn id_ident(fields: &[Field], rule: Rule) -> Option<&syn::Ident> {
    let is_id = |field: &&Field| !field.serde.skipped && stored_name(field, rule).as_deref() == Some("_id");
    fields.iter().find(is_id)?.ident.as_ref()
}

pub(super) fn kind(field: &Field, sink: &Sink) -> AccessorKind {
    let attributes = &field.attributes;
    if let Some(span) = field.serde.flatten.or(attributes.flatten) {
        if attributes.opaque.is_some() || attributes.stored_as.is_some() {
            sink.at(
                span,
                "`opaque` and `as` are not allowed on a flattened field, which has no value of its own",
            );
        }
        return AccessorKind::Flat;
    }
    if let Some(ty) = &attributes.stored_as {
        return AccessorKind::As(ty.clone());
    }
    if let Some(span) = attributes.opaque {
        if field.serde.with.is_none()
            && let Some(advice) = dates::advice(&field.ty)
        {
            sink.at(span, advice);
        }
        return AccessorKind::Opaque;
    }
    if let Some((attribute, span)) = &field.serde.with {
        let name = field
            .ident
            .as_ref()
            .map_or_else(String::new, |i| format!(" `{i}`"));
        sink.at(
            *span,
            format!(
                "`{attribute}` determines how the field{name} is stored; state the stored type with `#[document(as = Type)]`, or mark the field \
                 `#[document(opaque)]`"
            ),
        );
        return AccessorKind::Opaque;
    }
    if let Some(inner) = option_in_option(&field.ty) {
        sink.on(
            inner,
            "an `Option` in an `Option` has no stored form of its own: `Some(None)` would be stored as null, and read as `None`; use one \
             `Option`, or an enum with a variant for each case",
        );
    }
    AccessorKind::Typed
}

/// An `Option` directly in another one, anywhere in the type, as far as names show.
fn option_in_option(ty: &Type) -> Option<&Type> {
    let within: Vec<&Type> = match ty {
        Type::Group(group) => vec![&group.elem],
        Type::Paren(paren) => vec![&paren.elem],
        Type::Reference(reference) => vec![&reference.elem],
        Type::Array(array) => vec![&array.elem],
        Type::Slice(slice) => vec![&slice.elem],
        Type::Tuple(tuple) => tuple.elems.iter().collect(),
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            let PathArguments::AngleBracketed(arguments) = &last.arguments else {
                return None;
            };
            let types = arguments.args.iter().filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            });
            let types: Vec<&Type> = types.collect();
            if last.ident == "Option"
                && let [inner] = types[..]
                && is_option(inner)
            {
                return Some(inner);
            }
            types
        }
        _ => return None,
    };
    within.into_iter().find_map(option_in_option)
}

/// Rejects stored names that a dotted path cannot express.
pub(super) fn check_name(name: &Name, sink: &Sink) {
    let value = &name.value;
    let reason = if value.is_empty() {
        "an empty name has no path"
    } else if value.contains('.') {
        "a name with a dot has no path"
    } else if value.starts_with('$') {
        "a name that starts with `$` has no path"
    } else if value.contains('\0') {
        "a name cannot contain NUL"
    } else {
        return;
    };
    sink.at(
        name.span,
        format!("`{value}` cannot be the name of a field: {reason}"),
    );
}

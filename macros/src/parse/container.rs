//! `#[document(…)]` on the type.

use syn::Attribute;

use crate::{
    diagnostics::{Sink, did_you_mean},
    parse::{
        ContainerAttributes, collection, document_items, index, key, model_kind, schema_version, search,
        skip_value,
    },
    symbol,
};

pub(super) fn parse(attributes: &[Attribute], root: bool, sink: &Sink) -> ContainerAttributes {
    let mut out = ContainerAttributes::default();
    let known: &[&str] = if root { &symbol::ROOT } else { &symbol::EMBEDDED };
    let whole = document_items(attributes, sink, |meta| {
        let (name, span) = key(meta);
        match name.as_str() {
            "collection" if root => {
                let value = meta.value()?.parse::<syn::LitStr>()?;
                if out.collection.is_some() {
                    sink.at(span, "`collection` is given twice");
                }
                check_collection(&value, sink);
                out.collection = Some(value);
            }
            "index" if root => {
                let content;
                let paren = syn::parenthesized!(content in meta.input);
                if let Some(index) = index::parse(&content, span, paren.span.close(), sink)? {
                    out.indexes.push(index);
                }
            }
            "search_index" | "vector_search_index" if root => {
                let content;
                syn::parenthesized!(content in meta.input);
                let is_vector = name == "vector_search_index";
                out.search_indexes
                    .push(search::parse(&content, span, is_vector, sink)?);
            }
            "shard_key" if root => {
                let content;
                let paren = syn::parenthesized!(content in meta.input);
                if out.shard_key.is_some() {
                    sink.at(span, "`shard_key` is given twice");
                }
                if content.is_empty() {
                    sink.at(paren.span.close(), "a shard key needs at least one field");
                } else {
                    out.shard_key = index::parse(&content, span, paren.span.close(), sink)?;
                }
            }
            name if root && collection::parse(name, meta, span, &mut out.options, sink)? => {}
            "soft_delete" if root => {
                if out.soft_delete.is_some() {
                    sink.at(span, "`soft_delete` is given twice");
                }
                out.soft_delete = Some(meta.value()?.parse()?);
            }
            "validate" if root => out.validate.push(meta.value()?.parse()?),
            "hooks" if root => out.hooks = Some(span),
            "schema_version" if root => {
                if out.schema_version.is_some() {
                    sink.at(span, "`schema_version` is given twice");
                }
                out.schema_version = schema_version::parse(meta, span, sink)?;
            }
            "kind" if root => {
                if out.kind.is_some() {
                    sink.at(span, "`kind` is given twice");
                }
                out.kind = model_kind::parse(meta, span, sink)?;
            }
            "skip_none" => out.skip_none = true,
            "opaque" if !root => out.opaque = true,
            "opaque" => sink.at(
                span,
                "`opaque` is for `Embedded`: a document has typed paths; mark the fields that have none `#[document(opaque)]`",
            ),
            "crate" => out.krate = Some(meta.value()?.call(syn::Path::parse_mod_style)?),
            "soft_delete" | "validate" | "hooks" | "schema_version" | "kind" => {
                sink.at(
                    span,
                    format!("`{name}` is for `Document`: an `Embedded` type is written with its document"),
                );
                skip_value(meta)?;
            }
            "collection"
            | "index"
            | "search_index"
            | "vector_search_index"
            | "shard_key"
            | "capped"
            | "timeseries"
            | "clustered"
            | "collation"
            | "pre_and_post_images"
            | "json_schema"
            | "read_concern"
            | "write_concern"
            | "read_preference" => {
                sink.at(
                    span,
                    format!("`{name}` is for `Document`: an `Embedded` type has no collection of its own"),
                );
                skip_value(meta)?;
            }
            _ => {
                let name = meta
                    .path
                    .segments
                    .iter()
                    .map(|s| s.ident.to_string())
                    .collect::<Vec<_>>()
                    .join("::");
                let on_field = symbol::FIELD.contains(&name.as_str());
                let hint = if on_field {
                    "; it is an attribute of a field".to_owned()
                } else {
                    did_you_mean(&name, known.iter().copied())
                };
                sink.at(span, format!("unknown attribute `{name}`{hint}"));
                skip_value(meta)?;
                out.broken = true;
            }
        }
        Ok(())
    });
    out.broken |= !whole;
    out
}

/// The reason why servers reject the name of a collection.
fn check_collection(name: &syn::LitStr, sink: &Sink) {
    let value = name.value();
    let reason = if value.is_empty() {
        "the name of a collection cannot be empty"
    } else if value.contains('$') || value.contains('\0') {
        "the name of a collection cannot contain `$` or NUL"
    } else if value.starts_with("system.") {
        "names that start with `system.` are reserved for the server"
    } else {
        return;
    };
    sink.on(name, reason);
}

/// Reports `#[document(…)]` in a place where it has no effect.
pub(super) fn reject(attributes: &[Attribute], place: &str, sink: &Sink) {
    for attribute in attributes.iter().filter(|a| a.path().is_ident("document")) {
        sink.on(attribute, format!("`#[document(…)]` is not allowed on {place}"));
    }
}

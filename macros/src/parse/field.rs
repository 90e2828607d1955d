//! `#[document(…)]` on a field.

use proc_macro2::Span;
use syn::{Attribute, Ident, Token, Type};

use crate::{
    diagnostics::{Sink, did_you_mean},
    parse::{EncryptedAttribute, document_items, encrypted, key, skip_value},
    symbol,
};

#[derive(Default)]
pub(crate) struct FieldAttributes {
    pub(crate) id: Option<(Span, IdSource)>,
    pub(crate) index: Option<Span>,
    pub(crate) unique: Option<Span>,
    pub(crate) opaque: Option<Span>,
    pub(crate) stored_as: Option<Type>,
    /// The span of `skip_none`, and its value.
    pub(crate) skip_none: Option<(Span, bool)>,
    /// Flattened, and read by the code of the derive instead of serde's.
    pub(crate) flatten: Option<Span>,
    pub(crate) encrypted: Option<EncryptedAttribute>,
    /// The spans of `version`, `created_at` and `updated_at`.
    pub(crate) managed: Vec<(ManagedField, Span)>,
}

/// A field that the ODM maintains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ManagedField {
    Version,
    CreatedAt,
    UpdatedAt,
}

impl ManagedField {
    /// The attribute.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ManagedField::Version => "version",
            ManagedField::CreatedAt => "created_at",
            ManagedField::UpdatedAt => "updated_at",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdSource {
    Auto,
    UuidV7,
    UuidV4,
    ObjectId,
    Manual,
}

pub(super) fn parse(attributes: &[Attribute], root: bool, sink: &Sink) -> FieldAttributes {
    let mut out = FieldAttributes::default();
    document_items(attributes, sink, |meta| {
        let (name, span) = key(meta);
        match name.as_str() {
            "id" | "index" | "unique" | "version" | "created_at" | "updated_at" if !root => {
                sink.at(span, format!("`{name}` is for the fields of a `Document`"));
                skip_value(meta)?;
            }
            "id" => {
                let source = if meta.input.peek(Token![=]) {
                    id_source(meta, sink)?
                } else {
                    IdSource::Auto
                };
                out.id = Some((span, source));
            }
            "index" => out.index = Some(span),
            "unique" => out.unique = Some(span),
            "version" => out.managed.push((ManagedField::Version, span)),
            "created_at" => out.managed.push((ManagedField::CreatedAt, span)),
            "updated_at" => out.managed.push((ManagedField::UpdatedAt, span)),
            "encrypted" => out.encrypted = Some(encrypted::parse(meta, span, sink)?),
            "opaque" => out.opaque = Some(span),
            "flatten" => out.flatten = Some(span),
            "skip_none" => {
                let is_skipped = if meta.input.peek(Token![=]) {
                    meta.value()?.parse::<syn::LitBool>()?.value
                } else {
                    true
                };
                out.skip_none = Some((span, is_skipped));
            }
            "as" => out.stored_as = stored_as(meta, sink)?,
            _ => {
                let name = meta
                    .path
                    .segments
                    .iter()
                    .map(|s| s.ident.to_string())
                    .collect::<Vec<_>>()
                    .join("::");
                let hint = if symbol::ROOT.contains(&name.as_str()) {
                    "; it is an attribute of the type".to_owned()
                } else {
                    did_you_mean(&name, symbol::FIELD)
                };
                sink.at(span, format!("unknown attribute `{name}`{hint}"));
                skip_value(meta)?;
            }
        }
        Ok(())
    });
    if let (Some(span), Some(_)) = (out.opaque, &out.stored_as) {
        sink.at(span, "`opaque` and `as` cannot be combined");
        out.opaque = None;
    }
    if let (Some(span), Some(_)) = (out.index, out.unique) {
        sink.at(span, "`unique` already declares an index");
        out.index = None;
    }
    out
}

/// The type of `as`. One in quotes is reported, and used all the same, so that it is the only error.
fn stored_as(meta: &syn::meta::ParseNestedMeta<'_>, sink: &Sink) -> syn::Result<Option<Type>> {
    let value = meta.value()?;
    if !value.peek(syn::LitStr) {
        return value.parse().map(Some);
    }
    let quoted: syn::LitStr = value.parse()?;
    sink.on(
        &quoted,
        format!("`as` takes a type without quotes: `as = {}`", quoted.value()),
    );
    quoted.parse().map(Some)
}

fn id_source(meta: &syn::meta::ParseNestedMeta<'_>, sink: &Sink) -> syn::Result<IdSource> {
    let source: Ident = meta.value()?.parse()?;
    Ok(match source.to_string().as_str() {
        "uuid_v7" => IdSource::UuidV7,
        "uuid_v4" => IdSource::UuidV4,
        "object_id" => IdSource::ObjectId,
        "manual" => IdSource::Manual,
        other => {
            let hint = did_you_mean(other, symbol::ID_SOURCES);
            sink.on(
                &source,
                format!("unknown source of ids `{other}`{hint} (expected `uuid_v7`, `uuid_v4`, `object_id` or `manual`)"),
            );
            IdSource::Manual
        }
    })
}

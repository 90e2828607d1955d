//! The fields that the ODM maintains: version, timestamps, soft deletion.

use proc_macro2::Span;
use syn::{Ident, Type};

use crate::{
    case::Rule,
    diagnostics::{Sink, did_you_mean},
    model::fields,
    parse::{self, ManagedField, Parsed},
};

/// The maintained fields.
#[derive(Default)]
pub(crate) struct Managed {
    pub(crate) version: Option<ManagedColumn>,
    pub(crate) created_at: Option<ManagedColumn>,
    pub(crate) updated_at: Option<ManagedColumn>,
    pub(crate) soft_delete: Option<ManagedColumn>,
    pub(crate) schema_version: Option<SchemaVersion>,
    pub(crate) kind: Option<ModelKind>,
}

impl Managed {
    /// The names of the fields that are in the document, but not in the struct.
    pub(crate) fn fields_beside(&self) -> impl Iterator<Item = &str> {
        let version = self.schema_version.iter().map(|version| version.field.as_str());
        version.chain(self.kind.iter().map(|kind| kind.field.as_str()))
    }
}

/// The value that only the documents of the model have, of those in the collection.
pub(crate) struct ModelKind {
    /// The stored name of the field.
    pub(crate) field: String,
    pub(crate) value: String,
}

/// The version of the documents.
pub(crate) struct SchemaVersion {
    pub(crate) version: u32,
    /// The stored name of the field with the version.
    pub(crate) field: String,
    pub(crate) upgrade: Option<syn::Path>,
}

/// A maintained field.
pub(crate) struct ManagedColumn {
    pub(crate) ident: Ident,
    /// The stored name.
    pub(crate) name: String,
    /// The type of the field.
    pub(crate) ty: Type,
    /// The type in whose form it is stored.
    pub(crate) stored: Type,
}

pub(super) fn resolve(parsed: &Parsed, named: &[parse::Field], sink: &Sink) -> Managed {
    let mut managed = Managed::default();
    for field in named {
        if let [(first, _), (second, span), ..] = field.attributes.managed[..] {
            sink.at(
                span,
                format!(
                    "a field cannot be both `{}` and `{}`",
                    first.name(),
                    second.name()
                ),
            );
            continue;
        }
        for &(kind, span) in &field.attributes.managed {
            let slot = match kind {
                ManagedField::Version => &mut managed.version,
                ManagedField::CreatedAt => &mut managed.created_at,
                ManagedField::UpdatedAt => &mut managed.updated_at,
            };
            if slot.is_some() {
                sink.at(
                    span,
                    format!(
                        "a document has one field with `{0}`; remove `{0}` from one field",
                        kind.name()
                    ),
                );
                continue;
            }
            *slot = column(parsed, field, kind.name(), span, sink);
        }
    }
    if let Some(given) = &parsed.attributes.soft_delete {
        managed.soft_delete = soft_delete(parsed, named, given, sink);
    }
    if let Some(given) = &parsed.attributes.schema_version {
        let names = named.iter().map(|f| (f, parsed.serde.rename_all));
        managed.schema_version = Some(schema_version(parsed, names, given, sink));
    }
    if let Some(given) = &parsed.attributes.kind {
        managed.kind = Some(model_kind(parsed, named, given, sink));
    }
    managed
}

/// Whether a field of this name can be beside those of the struct; reports it otherwise. `what`: the content of the field.
fn is_name_beside(field: &str, what: &str, span: Span, sink: &Sink) -> bool {
    let is_one =
        !field.is_empty() && !field.starts_with('$') && !field.contains(['.', '\0']) && field != "_id";
    if !is_one {
        sink.at(
            span,
            format!("`{field}` cannot be the name of the field with the {what}; it is the name of one field other than `_id`"),
        );
    }
    is_one
}

/// The kind of the documents, which none of the fields stores.
fn model_kind(parsed: &Parsed, named: &[parse::Field], given: &parse::ModelKind, sink: &Sink) -> ModelKind {
    let (field, span) = (
        given.field(),
        given.field.as_ref().map_or(given.span, syn::LitStr::span),
    );
    let is_stored = |f: &&parse::Field| !f.serde.skipped && f.serde.flatten.is_none();
    let has_name = |f: &&parse::Field| {
        fields::stored_name(f, parsed.serde.rename_all).as_deref() == Some(field.as_str())
            || f.serde.aliases.contains(&field)
    };
    let other = named.iter().filter(is_stored).find(has_name);
    let version = parsed
        .attributes
        .schema_version
        .as_ref()
        .map(parse::SchemaVersion::field);
    let is_name = is_name_beside(&field, "kind", span, sink);
    if is_name && let Some(other) = other.and_then(|f| f.ident.as_ref()) {
        sink.at(
            span,
            format!(
                "the kind is stored as `{field}`, which is the stored name of the field `{other}`: remove the field, whose value `kind` \
                 states, or choose another name with `kind(\"{}\", field = \"…\")`",
                given.value
            ),
        );
    } else if version.is_some_and(|version| version == field) {
        sink.at(
            span,
            format!("`kind` and `schema_version` are both stored as `{field}`"),
        );
    }
    if given.value.is_empty() {
        sink.at(
            given.span,
            "the kind is empty: give the value that only the documents of this model have",
        );
    }
    if let Some(tag) = &parsed.serde.tag {
        sink.at(
            tag.span,
            "`kind` stores the name of the documents: remove `#[serde(tag = \"…\")]` from the struct",
        );
    }
    ModelKind {
        field,
        value: given.value.clone(),
    }
}

/// The version of the documents, which none of the fields stores.
pub(super) fn schema_version<'a>(
    parsed: &Parsed,
    mut fields: impl Iterator<Item = (&'a parse::Field, Rule)>,
    given: &parse::SchemaVersion,
    sink: &Sink,
) -> SchemaVersion {
    let span = given.field.as_ref().map_or(given.span, syn::LitStr::span);
    let field = given.field();
    let stores =
        |(f, rule): &(&parse::Field, Rule)| fields::stored_name(f, *rule).as_deref() == Some(field.as_str());
    let is_name = is_name_beside(&field, "version", span, sink);
    if is_name && let Some(other) = fields.find(stores).and_then(|(f, _)| f.ident.as_ref()) {
        sink.at(
            span,
            format!(
                "the version is stored as `{field}`, which is the stored name of the field `{other}`; choose another name with \
                 `schema_version({}, field = \"…\")`",
                given.version
            ),
        );
    }
    if let Some(span) = parsed.serde.deny_unknown {
        sink.at(
            span,
            format!("`deny_unknown_fields` rejects the field `{field}`, in which `schema_version` stores the version"),
        );
    }
    if given.version > 1 && given.upgrade.is_none() {
        sink.at(
            given.span,
            format!(
                "`schema_version({0})` needs `upgrade = function`, which upgrades documents of the versions before {0}",
                given.version
            ),
        );
    }
    SchemaVersion {
        version: given.version,
        field,
        upgrade: given.upgrade.clone(),
    }
}

fn soft_delete(parsed: &Parsed, named: &[parse::Field], given: &Ident, sink: &Sink) -> Option<ManagedColumn> {
    let Some(field) = named.iter().find(|f| f.ident.as_ref() == Some(given)) else {
        let names: Vec<String> = named
            .iter()
            .filter_map(|f| f.ident.as_ref().map(ToString::to_string))
            .collect();
        let written = given.to_string();
        let hint = did_you_mean(&written, names.iter().map(String::as_str));
        sink.on(given, format!("no field `{written}` of `{}`{hint}", parsed.ident));
        return None;
    };
    if let Some((kind, span)) = field.attributes.managed.first() {
        sink.at(
            *span,
            format!(
                "a field cannot be both `{}` and that of `soft_delete`",
                kind.name()
            ),
        );
        return None;
    }
    column(parsed, field, "soft_delete", given.span(), sink)
}

/// A field of the document that is stored under its own name and is not the id.
fn column(
    parsed: &Parsed,
    field: &parse::Field,
    attribute: &str,
    span: Span,
    sink: &Sink,
) -> Option<ManagedColumn> {
    let ident = field.ident.clone()?;
    let name = fields::stored_name(field, parsed.serde.rename_all)?;
    let reason = if field.serde.skipped {
        format!("`{attribute}` needs a stored field, and serde skips `{ident}`")
    } else if field.serde.flatten.is_some() {
        format!("`{attribute}` needs a field of its own, and `{ident}` is flattened; move it to the document")
    } else if name == "_id" || field.attributes.id.is_some() {
        format!("the id of a document does not change, so it cannot be the field of `{attribute}`")
    } else if field.attributes.encrypted.is_some() && field.attributes.managed.is_empty() {
        format!("`{attribute}` needs a field that the server can compare, and `{ident}` is encrypted")
    } else if field.attributes.opaque.is_some() {
        format!("`{attribute}` needs a field with a known type; remove `opaque` from `{ident}`")
    } else {
        let stored = field.attributes.stored_as.clone();
        return Some(ManagedColumn {
            ident,
            name,
            stored: stored.unwrap_or_else(|| field.ty.clone()),
            ty: field.ty.clone(),
        });
    };
    sink.at(span, reason);
    None
}

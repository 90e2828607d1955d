//! `#[serde(…)]`: the attributes that determine stored names and forms.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, LitStr, Token, Type};

use crate::case::Rule;
use crate::diagnostics::Sink;
use crate::parse::{key, skip_value};

/// A name in an attribute.
#[derive(Clone)]
pub(crate) struct Name {
    pub(crate) value: String,
    pub(crate) span: Span,
}

/// Serde's attributes of a type or a variant.
#[derive(Default)]
pub(crate) struct SerdeContainer {
    pub(crate) rename_all: Rule,
    pub(crate) rename_all_fields: Rule,
    pub(crate) tag: Option<Name>,
    pub(crate) content: Option<Name>,
    pub(crate) untagged: bool,
    pub(crate) transparent: bool,
    /// Each field that is not stored has a default.
    pub(crate) default: bool,
    /// The attribute that replaces the form by that of another type: `from`, `into`, `try_from`.
    pub(crate) conversion: Option<(String, Span)>,
    /// The type of `from` or `try_from`, which is read in place of this one.
    pub(crate) read_as: Option<Type>,
    /// The type of `into`, which is written in place of this one.
    pub(crate) written_as: Option<Type>,
    /// The span of `deny_unknown_fields`.
    pub(crate) deny_unknown: Option<Span>,
}

/// Serde's attributes of a field or a variant.
#[derive(Default)]
pub(crate) struct SerdeField {
    /// Further names under which the field is read.
    pub(crate) aliases: Vec<String>,
    pub(crate) rename: Option<Name>,
    pub(crate) flatten: Option<Span>,
    /// Not written at all.
    pub(crate) skipped: bool,
    /// Written but not read.
    pub(crate) unread: bool,
    /// The span of `skip_serializing`.
    pub(crate) unwritten: Option<Span>,
    /// Has a default if it is not stored.
    pub(crate) default: bool,
    /// Not written for some values: `skip_serializing_if`.
    pub(crate) omitted: bool,
    /// `with` or one of its halves, without `bson::exact`, whose stored form is that of the type.
    pub(crate) with: Option<(String, Span)>,
    /// `with` or `deserialize_with`: read by a function and not by the type's own `Deserialize`.
    pub(crate) read_with: bool,
    /// The variant for all unknown tags.
    pub(crate) other: bool,
    /// A variant without a tag in a tagged enum.
    pub(crate) untagged: bool,
}

fn items(attributes: &[Attribute], mut item: impl FnMut(&ParseNestedMeta<'_>) -> syn::Result<()>) {
    for attribute in attributes.iter().filter(|a| a.path().is_ident("serde")) {
        // Serde reports attributes that cannot be parsed.
        attribute.parse_nested_meta(|meta| item(&meta)).ok();
    }
}

pub(super) fn container(attributes: &[Attribute], sink: &Sink) -> SerdeContainer {
    let mut out = SerdeContainer::default();
    items(attributes, |meta| {
        let (name, span) = key(meta);
        match name.as_str() {
            "rename_all" => {
                out.rename_all = both(meta, &name, sink)?.map_or(Rule::None, |n| Rule::parse(&n.value));
            }
            "rename_all_fields" => {
                out.rename_all_fields =
                    both(meta, &name, sink)?.map_or(Rule::None, |n| Rule::parse(&n.value));
            }
            "tag" => out.tag = Some(literal(meta)?),
            "content" => out.content = Some(literal(meta)?),
            "untagged" => out.untagged = true,
            "transparent" => out.transparent = true,
            "deny_unknown_fields" => out.deny_unknown = Some(span),
            "default" => {
                skip_value(meta)?;
                out.default = true;
            }
            "from" | "into" | "try_from" => {
                let other = literal(meta)?;
                let ty = syn::parse_str(&other.value).ok();
                if name == "into" {
                    out.written_as = ty;
                } else {
                    out.read_as = ty;
                }
                out.conversion = Some((name, span));
            }
            _ => skip_value(meta)?,
        }
        Ok(())
    });
    out
}

pub(super) fn field(attributes: &[Attribute], sink: &Sink) -> SerdeField {
    let mut out = SerdeField::default();
    items(attributes, |meta| {
        let (name, span) = key(meta);
        match name.as_str() {
            "rename" => out.rename = both(meta, &name, sink)?,
            "alias" => out.aliases.push(literal(meta)?.value),
            "flatten" => out.flatten = Some(span),
            "skip" => (out.skipped, out.unread) = (true, true),
            "skip_serializing" => {
                out.skipped = true;
                out.unwritten = Some(span);
            }
            "skip_deserializing" => out.unread = true,
            "default" => {
                skip_value(meta)?;
                out.default = true;
            }
            "skip_serializing_if" => {
                skip_value(meta)?;
                out.omitted = true;
            }
            "other" => out.other = true,
            "untagged" => out.untagged = true,
            "with" | "serialize_with" | "deserialize_with" => {
                let function = literal(meta)?;
                out.read_with |= name != "serialize_with";
                if name == "with" && is_exact(&function.value) {
                    return Ok(());
                }
                if out.with.is_none() {
                    out.with = Some((name, span));
                }
            }
            _ => skip_value(meta)?,
        }
        Ok(())
    });
    out
}

/// Whether a path is that of the module `bson::exact`.
fn is_exact(path: &str) -> bool {
    let path: String = path.split_whitespace().collect();
    path == "bson::exact" || path.ends_with("::bson::exact")
}

fn literal(meta: &ParseNestedMeta<'_>) -> syn::Result<Name> {
    let literal: LitStr = meta.value()?.parse()?;
    Ok(Name {
        value: literal.value(),
        span: literal.span(),
    })
}

/// `name = "x"` or `name(serialize = "x", deserialize = "x")`. A stored document has one name for
/// each field, so both names are required and must be equal.
fn both(meta: &ParseNestedMeta<'_>, attribute: &str, sink: &Sink) -> syn::Result<Option<Name>> {
    if meta.input.peek(Token![=]) {
        return literal(meta).map(Some);
    }
    let (mut serialize, mut deserialize) = (None, None);
    meta.parse_nested_meta(|half| {
        let (name, _) = key(&half);
        let value = literal(&half)?;
        match name.as_str() {
            "serialize" => serialize = Some(value),
            _ => deserialize = Some(value),
        }
        Ok(())
    })?;
    if serialize.as_ref().map(|n| &n.value) != deserialize.as_ref().map(|n| &n.value) {
        let span = deserialize
            .as_ref()
            .or(serialize.as_ref())
            .map_or_else(Span::call_site, |n| n.span);
        sink.at(
            span,
            format!(
                "`{attribute}` sets different names for serializing and deserializing, so that stored documents could not be \
                 read; write `{attribute} = \"…\"`"
            ),
        );
    }
    Ok(serialize.or(deserialize))
}

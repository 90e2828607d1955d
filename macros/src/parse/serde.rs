//! `#[serde(…)]`: the attributes that determine stored names and forms.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{Attribute, ExprPath, LitStr, Token, Type, WherePredicate};

use crate::{
    case::Rule,
    diagnostics::Sink,
    parse::{key, skip_value},
};

/// A name in an attribute.
#[derive(Clone)]
pub(crate) struct Name {
    pub(crate) value: String,
    pub(crate) span: Span,
}

/// Serde's attributes of a type or a variant.
#[derive(Default)]
pub(crate) struct SerdeContainer {
    /// The name of the type, which is the tag of a struct with `tag`.
    pub(crate) rename: Option<String>,
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
    /// Whether `try_from` is the attribute of [`read_as`](Self::read_as), and not `from`.
    pub(crate) is_fallible: bool,
    /// The span of `deny_unknown_fields`.
    pub(crate) deny_unknown: Option<Span>,
    /// The function of `default`. `None` for the trait.
    pub(crate) default_path: Option<ExprPath>,
    pub(crate) bounds: Bounds,
}

/// The predicates of `bound`, for each direction. `None` if they are inferred.
#[derive(Default)]
pub(crate) struct Bounds {
    pub(crate) written: Option<Vec<WherePredicate>>,
    pub(crate) read: Option<Vec<WherePredicate>>,
}

/// The functions that a field states.
#[derive(Default)]
pub(crate) struct Functions {
    /// The function of `default`. `None` for the trait.
    pub(crate) default: Option<ExprPath>,
    /// `skip_serializing_if`.
    pub(crate) omit_if: Option<ExprPath>,
    /// `serialize_with`, or the half of `with`.
    pub(crate) write: Option<ExprPath>,
    /// `deserialize_with`, or the half of `with`.
    pub(crate) read: Option<ExprPath>,
    /// Whether the functions are those of `bson::exact`, whose form is that of the type.
    pub(crate) is_exact: bool,
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
    /// Whether `None` is left out because of `skip_none`.
    pub(crate) skips_none: bool,
    /// `with` or one of its halves, without `bson::exact`, whose stored form is that of the type.
    pub(crate) with: Option<(String, Span)>,
    /// `with` or `deserialize_with`: read by a function and not by the type's own `Deserialize`.
    pub(crate) read_with: bool,
    /// The variant for all unknown tags.
    pub(crate) other: bool,
    /// A variant without a tag in a tagged enum.
    pub(crate) untagged: bool,
    pub(crate) functions: Functions,
    pub(crate) bounds: Bounds,
}

/// All attributes of serde.
const KNOWN: [&str; 28] = [
    "alias",
    "borrow",
    "bound",
    "content",
    "crate",
    "default",
    "deny_unknown_fields",
    "deserialize_with",
    "expecting",
    "flatten",
    "from",
    "getter",
    "into",
    "other",
    "remote",
    "rename",
    "rename_all",
    "rename_all_fields",
    "serialize_with",
    "skip",
    "skip_deserializing",
    "skip_serializing",
    "skip_serializing_if",
    "tag",
    "transparent",
    "try_from",
    "untagged",
    "with",
];

/// Rejects attributes that serde does not have: a model may have no other derive that does.
pub(super) fn check(attributes: &[Attribute], sink: &Sink) {
    for attribute in attributes.iter().filter(|a| a.path().is_ident("serde")) {
        let parsed = attribute.parse_nested_meta(|meta| {
            let (name, span) = key(&meta);
            if !KNOWN.contains(&name.as_str()) {
                sink.at(span, format!("serde has no attribute `{name}`"));
            }
            skip_value(&meta)
        });
        if let Err(error) = parsed {
            sink.at(error.span(), error.to_string());
        }
    }
}

fn items(attributes: &[Attribute], mut item: impl FnMut(&ParseNestedMeta<'_>) -> syn::Result<()>) {
    for attribute in attributes.iter().filter(|a| a.path().is_ident("serde")) {
        // `check` reports attributes that cannot be parsed.
        attribute.parse_nested_meta(|meta| item(&meta)).ok();
    }
}

/// The rule of this name.
fn rule(name: &Name, sink: &Sink) -> Rule {
    Rule::parse(&name.value).unwrap_or_else(|| {
        sink.at(
            name.span,
            format!(
                "serde has no rule `{}`; the rules are {}",
                name.value,
                Rule::names()
            ),
        );
        Rule::None
    })
}

pub(super) fn container(attributes: &[Attribute], sink: &Sink) -> SerdeContainer {
    let mut out = SerdeContainer::default();
    items(attributes, |meta| {
        let (name, span) = key(meta);
        match name.as_str() {
            "rename" => out.rename = written_name(meta)?,
            "rename_all" => {
                out.rename_all = both(meta, &name, sink)?.map_or(Rule::None, |name| rule(&name, sink));
            }
            "rename_all_fields" => {
                out.rename_all_fields = both(meta, &name, sink)?.map_or(Rule::None, |name| rule(&name, sink));
            }
            "tag" => out.tag = Some(literal(meta)?),
            "content" => out.content = Some(literal(meta)?),
            "untagged" => out.untagged = true,
            "transparent" => out.transparent = true,
            "deny_unknown_fields" => out.deny_unknown = Some(span),
            "default" => {
                out.default = true;
                out.default_path = path_if_any(meta)?;
            }
            "bound" => out.bounds = bounds(meta)?,
            "remote" => {
                skip_value(meta)?;
                sink.at(
                    span,
                    "`remote` writes and reads values of another type; wrap that type in a newtype, or convert it with \
                     `#[serde(from = \"…\", into = \"…\")]`",
                );
            }
            "from" | "into" | "try_from" => {
                let other: LitStr = meta.value()?.parse()?;
                let ty = other.parse().ok();
                if name == "into" {
                    out.written_as = ty;
                } else {
                    out.read_as = ty;
                    out.is_fallible = name == "try_from";
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
                out.default = true;
                out.functions.default = path_if_any(meta)?;
            }
            "skip_serializing_if" => {
                out.omitted = true;
                out.functions.omit_if = path_if_any(meta)?;
            }
            "bound" => out.bounds = bounds(meta)?,
            "getter" => {
                skip_value(meta)?;
                sink.at(
                    span,
                    "`getter` belongs to `remote`, which the derives do not support",
                );
            }
            "other" => out.other = true,
            "untagged" => out.untagged = true,
            "with" | "serialize_with" | "deserialize_with" => {
                let function: LitStr = meta.value()?.parse()?;
                out.read_with |= name != "serialize_with";
                if let Ok(path) = function.parse::<ExprPath>() {
                    set_functions(&mut out.functions, &name, &path, function.span());
                }
                if name == "with" && is_exact(&function.value()) {
                    out.functions.is_exact = true;
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

/// Sets the functions of `with` or of one of its halves.
fn set_functions(functions: &mut Functions, attribute: &str, path: &ExprPath, span: Span) {
    let of_module = |function: &str| {
        let mut path = path.clone();
        let name = syn::Ident::new(function, span);
        path.path.segments.push(name.into());
        path
    };
    match attribute {
        "serialize_with" => functions.write = Some(path.clone()),
        "deserialize_with" => functions.read = Some(path.clone()),
        _ => {
            functions.write = Some(of_module("serialize"));
            functions.read = Some(of_module("deserialize"));
        }
    }
}

/// The path in the literal of an item. `None` if the item has no value.
fn path_if_any(meta: &ParseNestedMeta<'_>) -> syn::Result<Option<ExprPath>> {
    if !meta.input.peek(Token![=]) {
        return Ok(None);
    }
    let literal: LitStr = meta.value()?.parse()?;
    literal.parse().map(Some)
}

/// `bound = "…"`, or `bound(serialize = "…", deserialize = "…")`.
fn bounds(meta: &ParseNestedMeta<'_>) -> syn::Result<Bounds> {
    let predicates = |meta: &ParseNestedMeta<'_>| -> syn::Result<Option<Vec<WherePredicate>>> {
        let literal: LitStr = meta.value()?.parse()?;
        let parser = Punctuated::<WherePredicate, Token![,]>::parse_terminated;
        let tokens = literal.parse::<proc_macro2::TokenStream>();
        let predicates = tokens.and_then(|tokens| parser.parse2(tokens));
        Ok(predicates.ok().map(|all| all.into_iter().collect()))
    };
    if meta.input.peek(Token![=]) {
        let both = predicates(meta)?;
        return Ok(Bounds {
            written: both.clone(),
            read: both,
        });
    }
    let mut out = Bounds::default();
    meta.parse_nested_meta(|half| {
        match key(&half).0.as_str() {
            "serialize" => out.written = predicates(&half)?,
            _ => out.read = predicates(&half)?,
        }
        Ok(())
    })?;
    Ok(out)
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

/// The name that is written: `rename = "x"` or `rename(serialize = "x")`.
fn written_name(meta: &ParseNestedMeta<'_>) -> syn::Result<Option<String>> {
    if meta.input.peek(Token![=]) {
        return literal(meta).map(|name| Some(name.value));
    }
    let mut written = None;
    meta.parse_nested_meta(|half| {
        let value = literal(&half)?.value;
        if half.path.is_ident("serialize") {
            written = Some(value);
        }
        Ok(())
    })?;
    Ok(written)
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

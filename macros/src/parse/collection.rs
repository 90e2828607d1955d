//! The attributes for options of a collection: `capped(…)`, `timeseries(…)` and others.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::{Ident, Lit, LitInt, LitStr, token};

use crate::{
    diagnostics::{Sink, did_you_mean},
    parse::index::{self, CollationOption, FieldPath},
};

/// The options, as written.
#[derive(Default)]
pub(crate) struct OptionAttributes {
    pub(crate) capped: Option<Capped>,
    pub(crate) time_series: Option<TimeSeries>,
    pub(crate) clustered: Option<Span>,
    pub(crate) collation: Option<Vec<CollationOption>>,
    pub(crate) images: Option<Span>,
    pub(crate) json_schema: Option<JsonSchema>,
    /// `ttl` of a time series or a clustered collection, in seconds.
    pub(crate) ttl: Option<u32>,
    /// The variant of `ReadConcernLevel`.
    pub(crate) read_concern: Option<Ident>,
    pub(crate) write_concern: Option<Acknowledged>,
    /// The variant of `ReadPreferenceMode`.
    pub(crate) read_preference: Option<Ident>,
}

/// `w` of a write concern.
#[derive(Clone)]
pub(crate) enum Acknowledged {
    Majority,
    Nodes(u32),
}

pub(crate) struct Capped {
    pub(crate) size: Option<u64>,
    pub(crate) max: Option<u64>,
    pub(crate) span: Span,
}

pub(crate) struct TimeSeries {
    pub(crate) time: Option<FieldPath>,
    pub(crate) meta: Option<FieldPath>,
    /// The variant of `Granularity`.
    pub(crate) granularity: Option<Ident>,
    pub(crate) span: Span,
}

/// `json_schema(level = "moderate", action = "warn")`.
#[derive(Default)]
pub(crate) struct JsonSchema {
    /// The variant of `ValidationLevel`.
    pub(crate) level: Option<Ident>,
    /// The variant of `ValidationAction`.
    pub(crate) action: Option<Ident>,
}

/// The texts of a `granularity`, a `level` and an `action`, with the variants of the enums.
const GRANULARITIES: [(&str, &str); 3] = [("seconds", "Seconds"), ("minutes", "Minutes"), ("hours", "Hours")];
const LEVELS: [(&str, &str); 3] = [("off", "Off"), ("strict", "Strict"), ("moderate", "Moderate")];
const ACTIONS: [(&str, &str); 3] = [
    ("error", "Error"),
    ("warn", "Warn"),
    ("error_and_log", "ErrorAndLog"),
];
const READ_CONCERNS: [(&str, &str); 5] = [
    ("local", "Local"),
    ("available", "Available"),
    ("majority", "Majority"),
    ("linearizable", "Linearizable"),
    ("snapshot", "Snapshot"),
];
const READ_PREFERENCES: [(&str, &str); 5] = [
    ("primary", "Primary"),
    ("primary_preferred", "PrimaryPreferred"),
    ("secondary", "Secondary"),
    ("secondary_preferred", "SecondaryPreferred"),
    ("nearest", "Nearest"),
];

/// Parses the attribute of this name. `false` if it is another one.
pub(super) fn parse(
    name: &str,
    meta: &ParseNestedMeta<'_>,
    span: Span,
    out: &mut OptionAttributes,
    sink: &Sink,
) -> syn::Result<bool> {
    match name {
        "capped" => {
            let mut capped = Capped {
                size: None,
                max: None,
                span,
            };
            options(meta, sink, &["size", "max"], |option, meta| {
                let value: LitInt = meta.value()?.parse()?;
                match value.base10_parse::<u64>() {
                    Ok(number) if number > 0 && option == "size" => capped.size = Some(number),
                    Ok(number) if number > 0 => capped.max = Some(number),
                    _ => sink.on(&value, format!("`{option}` is a positive integer")),
                }
                Ok(())
            })?;
            out.capped = Some(capped);
        }
        "timeseries" => {
            let mut series = TimeSeries {
                time: None,
                meta: None,
                granularity: None,
                span,
            };
            let mut ttl = None;
            options(
                meta,
                sink,
                &["time", "meta", "granularity", "ttl"],
                |option, meta| {
                    match option {
                        "time" => series.time = Some(index::path(meta.value()?)?),
                        "meta" => series.meta = Some(index::path(meta.value()?)?),
                        "granularity" => series.granularity = one_of(meta, &GRANULARITIES, sink)?,
                        _ => ttl = seconds(meta, sink)?,
                    }
                    Ok(())
                },
            )?;
            out.ttl = ttl.or(out.ttl);
            out.time_series = Some(series);
        }
        "clustered" => {
            let mut ttl = None;
            options(meta, sink, &["ttl"], |_, meta| {
                ttl = seconds(meta, sink)?;
                Ok(())
            })?;
            out.ttl = ttl.or(out.ttl);
            out.clustered = Some(span);
        }
        "collation" => {
            let content;
            syn::parenthesized!(content in meta.input);
            out.collation = Some(index::collation(&content, span, sink)?);
        }
        "pre_and_post_images" => out.images = Some(span),
        "json_schema" => {
            let mut schema = JsonSchema::default();
            options(meta, sink, &["level", "action"], |option, meta| {
                match option {
                    "level" => schema.level = one_of(meta, &LEVELS, sink)?,
                    _ => schema.action = one_of(meta, &ACTIONS, sink)?,
                }
                Ok(())
            })?;
            out.json_schema = Some(schema);
        }
        "read_concern" => out.read_concern = one_of(meta, &READ_CONCERNS, sink)?,
        "read_preference" => out.read_preference = one_of(meta, &READ_PREFERENCES, sink)?,
        "write_concern" => out.write_concern = acknowledged(meta, sink)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// `"majority"` or a number of members. A write that is not acknowledged has no result of the ODM's types.
fn acknowledged(meta: &ParseNestedMeta<'_>, sink: &Sink) -> syn::Result<Option<Acknowledged>> {
    let value: Lit = meta.value()?.parse()?;
    match &value {
        Lit::Str(text) if text.value() == "majority" => return Ok(Some(Acknowledged::Majority)),
        Lit::Int(number) => {
            if let Ok(nodes @ 1..=50) = number.base10_parse() {
                return Ok(Some(Acknowledged::Nodes(nodes)));
            }
        }
        _ => {}
    }
    sink.on(
        &value,
        "expected `\"majority\"`, or how many members have the write: 1 to 50",
    );
    Ok(None)
}

/// Calls `item` for the options in the parentheses, if there are any.
fn options(
    meta: &ParseNestedMeta<'_>,
    sink: &Sink,
    known: &[&'static str],
    mut item: impl FnMut(&str, &ParseNestedMeta<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    if !meta.input.peek(token::Paren) {
        return Ok(());
    }
    meta.parse_nested_meta(|option| {
        let (name, span) = super::key(&option);
        if known.contains(&name.as_str()) {
            return item(&name, &option);
        }
        let hint = did_you_mean(&name, known.iter().copied());
        sink.at(span, format!("unknown option `{name}`{hint}"));
        super::skip_value(&option)
    })
}

/// A text, as the variant of an enum.
fn one_of(
    meta: &ParseNestedMeta<'_>,
    known: &[(&'static str, &'static str)],
    sink: &Sink,
) -> syn::Result<Option<Ident>> {
    let value: LitStr = meta.value()?.parse()?;
    let text = value.value();
    if let Some((_, variant)) = known.iter().find(|(name, _)| *name == text) {
        return Ok(Some(Ident::new(variant, value.span())));
    }
    let names: Vec<String> = known.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    sink.on(&value, format!("expected one of {}", names.join(", ")));
    Ok(None)
}

fn seconds(meta: &ParseNestedMeta<'_>, sink: &Sink) -> syn::Result<Option<u32>> {
    let text: LitStr = meta.value()?.parse()?;
    match index::seconds(&text.value()) {
        Ok(seconds) => Ok(Some(seconds)),
        Err(reason) => {
            sink.on(&text, reason);
            Ok(None)
        }
    }
}

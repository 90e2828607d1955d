//! `encrypted` and `encrypted(…)` on a field.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::{Expr, LitInt};

use crate::{
    diagnostics::{Sink, did_you_mean},
    parse::{key, skip_value},
    symbol,
};

/// How a field is encrypted.
#[derive(Clone)]
pub(crate) struct EncryptedAttribute {
    pub(crate) span: Span,
    pub(crate) kind: QueryKind,
    /// The queries that the field is indexed for: none, one, or a prefix and a suffix.
    pub(crate) queries: Vec<Query>,
    /// `contention`.
    pub(crate) contention: Option<i64>,
    /// Options of queries of strings.
    pub(crate) case_sensitive: bool,
    pub(crate) diacritic_sensitive: bool,
    /// Whether the query types are those of a preview.
    pub(crate) preview: bool,
}

/// The kind of queries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueryKind {
    Unindexed,
    Equality,
    Range,
    Prefix,
    Suffix,
    PrefixAndSuffix,
    Substring,
}

impl QueryKind {
    /// The name of its type in `__private_v1`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unindexed => "Unindexed",
            Self::Equality => "Equality",
            Self::Range => "Range",
            Self::Prefix => "Prefix",
            Self::Suffix => "Suffix",
            Self::PrefixAndSuffix => "PrefixAndSuffix",
            Self::Substring => "Substring",
        }
    }

    /// Whether parts of strings are searched.
    pub(crate) fn is_of_strings(self) -> bool {
        matches!(
            self,
            Self::Prefix | Self::Suffix | Self::PrefixAndSuffix | Self::Substring
        )
    }
}

/// One query type with its options.
#[derive(Clone)]
pub(crate) struct Query {
    /// `queryType`.
    pub(crate) name: &'static str,
    /// The bounds of a range with their names.
    pub(crate) bounds: Vec<(&'static str, Expr)>,
    /// Int64 options with their names in `encryptedFields`.
    pub(crate) longs: Vec<(&'static str, i64)>,
    /// Int32 options with their names in `encryptedFields`.
    pub(crate) ints: Vec<(&'static str, i32)>,
    /// The span of `precision`.
    pub(crate) precision: Option<Span>,
}

impl Query {
    fn new(name: &'static str) -> Self {
        Query {
            name,
            bounds: Vec::new(),
            longs: Vec::new(),
            ints: Vec::new(),
            precision: None,
        }
    }

    fn long(&self, name: &str) -> Option<i64> {
        self.longs
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, value)| *value)
    }
}

/// The names of kinds of queries.
const QUERIES: [&str; 5] = ["equality", "range", "prefix", "suffix", "substring"];

/// Parses the item. Errors are reported, and leave a field that is encrypted.
pub(super) fn parse(meta: &ParseNestedMeta<'_>, span: Span, sink: &Sink) -> syn::Result<EncryptedAttribute> {
    let mut out = EncryptedAttribute {
        span,
        kind: QueryKind::Unindexed,
        queries: Vec::new(),
        contention: None,
        case_sensitive: false,
        diacritic_sensitive: false,
        preview: false,
    };
    if !meta.input.peek(syn::token::Paren) {
        return Ok(out);
    }
    // The first option that only some kinds of queries have.
    let mut of_strings: Option<(String, Span)> = None;
    let mut contention = None;
    let mut known = Vec::new();
    meta.parse_nested_meta(|item| {
        let (name, span) = key(&item);
        if !QUERIES.contains(&name.as_str()) {
            once(&mut known, &name, span, sink);
        }
        match name.as_str() {
            "equality" => out.queries.push(Query::new("equality")),
            "range" => out.queries.push(range(&item, sink)?),
            "prefix" | "suffix" | "substring" => out.queries.push(string(&item, &name, span, sink)?),
            "contention" => {
                out.contention = at_least(0, &item, sink)?;
                contention = Some(span);
            }
            "case_sensitive" | "diacritic_sensitive" | "preview" => {
                match name.as_str() {
                    "case_sensitive" => out.case_sensitive = true,
                    "diacritic_sensitive" => out.diacritic_sensitive = true,
                    _ => out.preview = true,
                }
                of_strings.get_or_insert((name, span));
            }
            "queries" => {
                sink.at(
                    span,
                    "the queries are named without `queries`: `encrypted(equality)`, `encrypted(range(min = .., max = ..))`",
                );
                skip_value(&item)?;
            }
            other => {
                let hint = did_you_mean(other, symbol::ENCRYPTED);
                sink.at(
                    span,
                    format!(
                        "unknown option `{other}` of `encrypted`{hint} (expected `equality`, `range`, `prefix`, `suffix`, \
                         `substring`, `contention`, `case_sensitive`, `diacritic_sensitive` or `preview`)"
                    ),
                );
                skip_value(&item)?;
            }
        }
        Ok(())
    })?;
    out.kind = kind(&mut out.queries, span, sink);
    if let (Some(span), QueryKind::Unindexed) = (contention, out.kind) {
        sink.at(
            span,
            "`contention` is an option of queries, and the field has none: add `equality` or another kind of queries",
        );
    }
    if let Some((name, span)) = of_strings
        && !out.kind.is_of_strings()
    {
        sink.at(
            span,
            format!("`{name}` is an option of `prefix`, `suffix` and `substring`"),
        );
    }
    Ok(out)
}

/// The kind of the queries. After an error only the first query is left.
fn kind(queries: &mut Vec<Query>, span: Span, sink: &Sink) -> QueryKind {
    let names: Vec<&str> = queries.iter().map(|query| query.name).collect();
    match names[..] {
        ["prefix", "suffix"] | ["suffix", "prefix"] => return QueryKind::PrefixAndSuffix,
        [_, second, ..] => sink.at(
            span,
            format!(
                "`{}` and `{second}` cannot be combined: a field has one kind of queries, or `prefix` and `suffix`",
                names[0]
            ),
        ),
        _ => {}
    }
    queries.truncate(1);
    match queries.first().map(|query| query.name) {
        None => QueryKind::Unindexed,
        Some("equality") => QueryKind::Equality,
        Some("range") => QueryKind::Range,
        Some("prefix") => QueryKind::Prefix,
        Some("suffix") => QueryKind::Suffix,
        Some(_) => QueryKind::Substring,
    }
}

fn range(meta: &ParseNestedMeta<'_>, sink: &Sink) -> syn::Result<Query> {
    let mut out = Query::new("range");
    if !meta.input.peek(syn::token::Paren) {
        return Ok(out);
    }
    let mut known = Vec::new();
    meta.parse_nested_meta(|item| {
        let (name, span) = key(&item);
        once(&mut known, &name, span, sink);
        match name.as_str() {
            "min" | "max" => {
                let bound = if name == "min" { "min" } else { "max" };
                out.bounds.push((bound, item.value()?.parse()?));
            }
            "sparsity" => out
                .longs
                .extend(at_least(1, &item, sink)?.map(|v| ("sparsity", v))),
            "trim_factor" => {
                out.ints
                    .extend(int(at_least(0, &item, sink)?).map(|v| ("trimFactor", v)));
            }
            "precision" => {
                out.ints
                    .extend(int(at_least(0, &item, sink)?).map(|v| ("precision", v)));
                out.precision = Some(span);
            }
            other => unknown(other, "range", &symbol::RANGE, &item, span, sink)?,
        }
        Ok(())
    })?;
    if let Some(span) = out.precision
        && out.bounds.len() < 2
    {
        sink.at(span, "`precision` requires `min` and `max`");
    }
    Ok(out)
}

fn string(meta: &ParseNestedMeta<'_>, name: &str, span: Span, sink: &Sink) -> syn::Result<Query> {
    let is_substring = name == "substring";
    let mut out = Query::new(match name {
        "prefix" => "prefix",
        "suffix" => "suffix",
        _ => "substring",
    });
    if meta.input.peek(syn::token::Paren) {
        let mut known = Vec::new();
        meta.parse_nested_meta(|item| {
            let (option, span) = key(&item);
            once(&mut known, &option, span, sink);
            let stored = match option.as_str() {
                "min" => "strMinQueryLength",
                "max" => "strMaxQueryLength",
                "max_length" if is_substring => "strMaxLength",
                other => return unknown(other, name, &symbol::STRING_QUERY, &item, span, sink),
            };
            out.longs
                .extend(at_least(1, &item, sink)?.map(|value| (stored, value)));
            Ok(())
        })?;
    }
    let (min, max) = (out.long("strMinQueryLength"), out.long("strMaxQueryLength"));
    match (min, max, out.long("strMaxLength")) {
        (Some(_), Some(_), None) if is_substring => sink.at(
            span,
            "`substring` requires `max_length`, the longest string that is stored",
        ),
        (Some(min), Some(max), longest) => {
            if min > max || longest.is_some_and(|longest| max > longest) {
                sink.at(span, "`min` must not exceed `max`, and `max` must not exceed `max_length`");
            }
        }
        _ => sink.at(
            span,
            format!("`{name}` requires `min` and `max`, the lengths of the searched text: `{name}(min = 2, max = 10)`"),
        ),
    }
    Ok(out)
}

/// Reports an option that was given before.
fn once(known: &mut Vec<String>, name: &str, span: Span, sink: &Sink) {
    if known.iter().any(|other| other == name) {
        sink.at(span, format!("`{name}` is given twice"));
    }
    known.push(name.to_owned());
}

fn unknown(
    other: &str,
    owner: &str,
    known: &[&'static str],
    meta: &ParseNestedMeta<'_>,
    span: Span,
    sink: &Sink,
) -> syn::Result<()> {
    let hint = did_you_mean(other, known.iter().copied());
    sink.at(span, format!("unknown option `{other}` of `{owner}`{hint}"));
    skip_value(meta)
}

/// An integer literal. `None` after an error.
fn at_least(least: i64, meta: &ParseNestedMeta<'_>, sink: &Sink) -> syn::Result<Option<i64>> {
    let literal: LitInt = meta.value()?.parse()?;
    let value = literal.base10_parse::<i32>().map(i64::from);
    Ok(match value {
        Ok(value) if value >= least => Some(value),
        _ => {
            sink.on(
                &literal,
                format!("expected a whole number from {least} to {}", i32::MAX),
            );
            None
        }
    })
}

fn int(value: Option<i64>) -> Option<i32> {
    value.and_then(|value| i32::try_from(value).ok())
}

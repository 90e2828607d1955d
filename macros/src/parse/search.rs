//! The grammar of `search_index(…)` and `vector_search_index(…)`.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Expr, Ident, Lit, LitInt, LitStr, Token, token};

use crate::{
    diagnostics::{Sink, did_you_mean},
    parse::index::{self, FieldPath},
    symbol,
};

/// One `search_index(…)` or `vector_search_index(…)`, as written.
#[derive(Clone)]
pub(crate) struct SearchAttribute {
    pub(crate) span: Span,
    pub(crate) is_vector: bool,
    pub(crate) name: Option<LitStr>,
    pub(crate) dynamic: bool,
    pub(crate) analyzer: Option<LitStr>,
    pub(crate) search_analyzer: Option<LitStr>,
    pub(crate) fields: Vec<MappedField>,
    /// Whether an error was reported, so that missing items are not.
    pub(crate) broken: bool,
}

/// `string(title, analyzer = "…")`, `vector(plot, dimensions = 1536, similarity = "cosine")`.
#[derive(Clone)]
pub(crate) struct MappedField {
    pub(crate) kind: String,
    pub(crate) span: Span,
    pub(crate) path: FieldPath,
    /// Options of a mapping, by their names in the definition.
    pub(crate) options: Vec<(&'static str, Lit)>,
    pub(crate) dynamic: bool,
    pub(crate) dimensions: Option<LitInt>,
    /// The variant of `Similarity`.
    pub(crate) similarity: Option<Ident>,
    /// The variant of `Quantization`.
    pub(crate) quantization: Option<Ident>,
}

/// Parses the content of the parentheses.
pub(super) fn parse(
    input: ParseStream<'_>,
    span: Span,
    is_vector: bool,
    sink: &Sink,
) -> syn::Result<SearchAttribute> {
    let mut out = SearchAttribute {
        span,
        is_vector,
        name: None,
        dynamic: false,
        analyzer: None,
        search_analyzer: None,
        fields: Vec::new(),
        broken: false,
    };
    while !input.is_empty() {
        item(input, &mut out, sink)?;
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(out)
}

/// Parses one option or field.
fn item(input: ParseStream<'_>, out: &mut SearchAttribute, sink: &Sink) -> syn::Result<()> {
    let first: Ident = input.call(Ident::parse_any)?;
    let name = first.to_string();
    let (kinds, options, flags): (&[&str], &[&str], &[&str]) = if out.is_vector {
        (&symbol::VECTOR_FIELDS, &["name"], &[])
    } else {
        (
            &symbol::SEARCH_FIELDS,
            &["name", "analyzer", "search_analyzer"],
            &["dynamic"],
        )
    };
    if input.peek(Token![=]) && options.contains(&name.as_str()) {
        input.parse::<Token![=]>()?;
        let text: LitStr = input.parse()?;
        if text.value().is_empty() {
            sink.on(&text, "the text must not be empty");
        }
        match name.as_str() {
            "name" => out.name = Some(text),
            "analyzer" => out.analyzer = Some(text),
            _ => out.search_analyzer = Some(text),
        }
    } else if input.peek(token::Paren) && kinds.contains(&name.as_str()) {
        let content;
        syn::parenthesized!(content in input);
        let path = index::path(&content)?;
        let mut field = MappedField {
            kind: name,
            span: first.span(),
            path,
            options: Vec::new(),
            dynamic: false,
            dimensions: None,
            similarity: None,
            quantization: None,
        };
        while content.peek(Token![,]) {
            content.parse::<Token![,]>()?;
            if content.is_empty() {
                break;
            }
            option(&content, &mut field, sink)?;
        }
        out.fields.push(field);
    } else if flags.contains(&name.as_str()) && !input.peek(token::Paren) && !input.peek(Token![=]) {
        out.dynamic = true;
    } else {
        out.broken = true;
        let known = kinds.iter().chain(options).chain(flags).copied();
        let mut hint = did_you_mean(&name, known);
        if hint.is_empty() {
            hint = format!("; fields are given as {}", forms(kinds));
        }
        sink.on(&first, format!("unknown item `{first}`{hint}"));
        if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            input.parse::<Expr>()?;
        } else if input.peek(token::Paren) {
            input.parse::<proc_macro2::Group>()?;
        } else {
            while input.peek(Token![.]) {
                input.parse::<Token![.]>()?;
                input.call(Ident::parse_any)?;
            }
        }
    }
    Ok(())
}

fn forms(kinds: &[&str]) -> String {
    let forms: Vec<String> = kinds.iter().map(|kind| format!("`{kind}(…)`")).collect();
    forms.join(", ")
}

/// Parses an option of a field.
fn option(input: ParseStream<'_>, field: &mut MappedField, sink: &Sink) -> syn::Result<()> {
    let name: Ident = input.call(Ident::parse_any)?;
    let text = name.to_string();
    let known = symbol::search_options(&field.kind);
    if !known.iter().any(|(known, _)| *known == text) {
        let hint = did_you_mean(&text, known.iter().map(|(known, _)| *known));
        sink.on(
            &name,
            format!("unknown option `{text}` of `{}`{hint}", field.kind),
        );
        if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            input.parse::<Expr>()?;
        }
        return Ok(());
    }
    if text == "dynamic" {
        field.dynamic = true;
        return Ok(());
    }
    input.parse::<Token![=]>()?;
    match text.as_str() {
        "dimensions" => field.dimensions = Some(input.parse()?),
        "similarity" => field.similarity = one_of(input, &symbol::SIMILARITIES, sink)?,
        "quantization" => field.quantization = one_of(input, &symbol::QUANTIZATIONS, sink)?,
        _ => {
            let value: Lit = input.parse()?;
            if let Some((_, stored)) = known.iter().find(|(known, _)| *known == text) {
                field.options.push((stored, value));
            }
        }
    }
    Ok(())
}

/// A text, as the variant of an enum.
fn one_of(
    input: ParseStream<'_>,
    known: &[(&'static str, &'static str)],
    sink: &Sink,
) -> syn::Result<Option<Ident>> {
    let value: LitStr = input.parse()?;
    let text = value.value();
    if let Some((_, variant)) = known.iter().find(|(name, _)| *name == text) {
        return Ok(Some(Ident::new(variant, value.span())));
    }
    let names: Vec<String> = known.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    sink.on(&value, format!("expected one of {}", names.join(", ")));
    // Not reported as missing too.
    Ok(known
        .first()
        .map(|(_, variant)| Ident::new(variant, value.span())))
}

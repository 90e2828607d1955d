//! The grammar of `index(…)`.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Expr, Ident, Lit, LitInt, LitStr, Token, token};

use crate::{
    diagnostics::{Sink, did_you_mean},
    symbol,
};

/// `address.city`: fields of structs, and accessors of enum variants.
#[derive(Clone)]
pub(crate) struct FieldPath {
    pub(crate) segments: Vec<Ident>,
}

impl FieldPath {
    /// The path as written.
    pub(crate) fn text(&self) -> String {
        self.segments
            .iter()
            .map(|s| s.unraw().to_string())
            .collect::<Vec<_>>()
            .join(".")
    }

    /// Whether the path is the other one, or within it.
    pub(crate) fn starts_with(&self, other: &FieldPath) -> bool {
        self.segments.len() >= other.segments.len()
            && self
                .segments
                .iter()
                .zip(&other.segments)
                .all(|(own, other)| own.unraw() == other.unraw())
    }

    pub(crate) fn span(&self) -> Span {
        self.segments.first().map_or_else(Span::call_site, Ident::span)
    }
}

pub(crate) enum KeyKind {
    Ascending,
    Descending,
    Text { weight: Option<LitInt> },
    Geo,
    Hashed,
    Wildcard,
}

pub(crate) struct Key {
    /// The path. `None` for the wildcard over the whole document.
    pub(crate) path: Option<FieldPath>,
    pub(crate) kind: KeyKind,
    pub(crate) span: Span,
}

/// An option of `collation(…)` with the server's name.
pub(crate) struct CollationOption {
    pub(crate) name: &'static str,
    pub(crate) value: Lit,
}

/// One `index(…)`, as written.
pub(crate) struct IndexAttribute {
    pub(crate) span: Span,
    pub(crate) keys: Vec<Key>,
    pub(crate) unique: Option<Span>,
    pub(crate) sparse: Option<Span>,
    pub(crate) hidden: Option<Span>,
    pub(crate) name: Option<LitStr>,
    pub(crate) renamed_from: Option<LitStr>,
    pub(crate) ttl: Option<(u32, Span)>,
    pub(crate) language: Option<LitStr>,
    pub(crate) language_override: Option<LitStr>,
    pub(crate) collation: Option<Vec<CollationOption>>,
    pub(crate) partial: Option<(Expr, Span)>,
}

impl IndexAttribute {
    /// An index without keys or options.
    pub(crate) fn new(span: Span) -> Self {
        IndexAttribute {
            span,
            keys: Vec::new(),
            unique: None,
            sparse: None,
            hidden: None,
            name: None,
            renamed_from: None,
            ttl: None,
            language: None,
            language_override: None,
            collation: None,
            partial: None,
        }
    }
}

/// Parses the content of the parentheses. `None` after an error without a usable index.
pub(super) fn parse(
    input: ParseStream<'_>,
    span: Span,
    end: Span,
    sink: &Sink,
) -> syn::Result<Option<IndexAttribute>> {
    let mut index = IndexAttribute::new(span);
    let mut known = true;
    while !input.is_empty() {
        known &= item(input, &mut index, sink)?;
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    if index.keys.is_empty() {
        if known {
            sink.at(end, "an index needs at least one key, the name of a field");
        }
        return Ok(None);
    }
    Ok(Some(index))
}

/// Parses one key or option. `false` after an error, since a key may be missing.
fn item(input: ParseStream<'_>, index: &mut IndexAttribute, sink: &Sink) -> syn::Result<bool> {
    if input.peek(Token![-]) {
        let minus: Token![-] = input.parse()?;
        let path = path(input)?;
        index.keys.push(Key {
            path: Some(path),
            kind: KeyKind::Descending,
            span: minus.span,
        });
        return Ok(true);
    }
    let first: Ident = input.call(Ident::parse_any)?;
    let name = first.to_string();
    if input.peek(Token![=]) {
        input.parse::<Token![=]>()?;
        return value(input, &first, index, sink).map(|()| true);
    }
    if input.peek(token::Paren) {
        return call(input, &first, index, sink);
    }
    let alone = !input.peek(Token![.]);
    match name.as_str() {
        "unique" if alone => index.unique = Some(first.span()),
        "sparse" if alone => index.sparse = Some(first.span()),
        "hidden" if alone => index.hidden = Some(first.span()),
        "wildcard" if alone => {
            index.keys.push(Key {
                path: None,
                kind: KeyKind::Wildcard,
                span: first.span(),
            });
        }
        _ => {
            let span = first.span();
            let path = rest(input, first)?;
            index.keys.push(Key {
                path: Some(path),
                kind: KeyKind::Ascending,
                span,
            });
        }
    }
    Ok(true)
}

/// `option = value`.
fn value(input: ParseStream<'_>, option: &Ident, index: &mut IndexAttribute, sink: &Sink) -> syn::Result<()> {
    match option.to_string().as_str() {
        "name" => index.name = Some(not_empty(input.parse()?, sink)),
        "renamed_from" => index.renamed_from = Some(not_empty(input.parse()?, sink)),
        "language" => index.language = Some(not_empty(input.parse()?, sink)),
        "language_override" => index.language_override = Some(not_empty(input.parse()?, sink)),
        "ttl" => {
            let text: LitStr = input.parse()?;
            match seconds(&text.value()) {
                Ok(seconds) => index.ttl = Some((seconds, option.span())),
                Err(reason) => sink.on(&text, reason),
            }
        }
        other => {
            input.parse::<Expr>()?;
            sink.on(
                option,
                format!(
                    "unknown index option `{other}`{}",
                    did_you_mean(other, symbol::INDEX_VALUES)
                ),
            );
        }
    }
    Ok(())
}

fn not_empty(text: LitStr, sink: &Sink) -> LitStr {
    if text.value().is_empty() || text.value().contains('\0') {
        sink.on(&text, "the text must not be empty or contain NUL");
    }
    text
}

/// `key(path)` or `option(…)`.
fn call(input: ParseStream<'_>, name: &Ident, index: &mut IndexAttribute, sink: &Sink) -> syn::Result<bool> {
    let content;
    syn::parenthesized!(content in input);
    let span = name.span();
    match name.to_string().as_str() {
        "text" => {
            let path = path(&content)?;
            let mut weight = None;
            while content.peek(Token![,]) {
                content.parse::<Token![,]>()?;
                if content.is_empty() {
                    break;
                }
                let option: Ident = content.parse()?;
                content.parse::<Token![=]>()?;
                let value: LitInt = content.parse()?;
                if option != "weight" {
                    sink.on(&option, "a text key has only the option `weight`");
                } else if value
                    .base10_parse::<i32>()
                    .is_ok_and(|w| (1..100_000).contains(&w))
                {
                    weight = Some(value);
                } else {
                    sink.on(&value, "a weight is between 1 and 99999");
                }
            }
            index.keys.push(Key {
                path: Some(path),
                kind: KeyKind::Text { weight },
                span,
            });
        }
        "geo" => index.keys.push(Key {
            path: Some(path(&content)?),
            kind: KeyKind::Geo,
            span,
        }),
        "hashed" => index.keys.push(Key {
            path: Some(path(&content)?),
            kind: KeyKind::Hashed,
            span,
        }),
        "wildcard" => {
            let path = if content.is_empty() {
                None
            } else {
                Some(path(&content)?)
            };
            index.keys.push(Key {
                path,
                kind: KeyKind::Wildcard,
                span,
            });
        }
        "collation" => index.collation = Some(collation(&content, span, sink)?),
        "partial" => index.partial = Some((content.parse()?, span)),
        other => {
            content.parse::<proc_macro2::TokenStream>()?;
            let known = symbol::INDEX_KEYS.into_iter().chain(["collation", "partial"]);
            sink.on(
                name,
                format!(
                    "unknown kind of index key `{other}`{}",
                    did_you_mean(other, known)
                ),
            );
            return Ok(false);
        }
    }
    if !content.is_empty() {
        return Err(content.error("expected `)`"));
    }
    Ok(true)
}

/// The options in the parentheses of `collation(…)`.
pub(super) fn collation(
    input: ParseStream<'_>,
    span: Span,
    sink: &Sink,
) -> syn::Result<Vec<CollationOption>> {
    let mut options = Vec::new();
    while !input.is_empty() {
        let option: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        let value: Lit = input.parse()?;
        let known = symbol::COLLATION.iter().find(|(rust, _)| option == rust);
        match known {
            Some((_, name)) => options.push(CollationOption { name, value }),
            None => {
                let names = symbol::COLLATION.iter().map(|(rust, _)| *rust);
                sink.on(
                    &option,
                    format!(
                        "unknown collation option `{option}`{}",
                        did_you_mean(&option.to_string(), names)
                    ),
                );
            }
        }
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    if !options.iter().any(|o| o.name == "locale") {
        sink.at(span, "a collation needs a `locale`, such as `locale = \"en\"`");
    }
    Ok(options)
}

pub(super) fn path(input: ParseStream<'_>) -> syn::Result<FieldPath> {
    let first = input.call(Ident::parse_any)?;
    rest(input, first)
}

fn rest(input: ParseStream<'_>, first: Ident) -> syn::Result<FieldPath> {
    let mut segments = vec![first];
    while input.peek(Token![.]) {
        input.parse::<Token![.]>()?;
        segments.push(input.call(Ident::parse_any)?);
    }
    Ok(FieldPath { segments })
}

/// Converts `30d`, `12h`, `15m`, `90s` or `2w` to seconds.
pub(super) fn seconds(text: &str) -> Result<u32, &'static str> {
    const SHAPE: &str =
        "a duration is a whole number with a unit, such as \"30d\", \"12h\", \"15m\" or \"90s\"";
    let unit = text.chars().last().ok_or(SHAPE)?;
    let scale = match unit {
        's' => 1_u64,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return Err(SHAPE),
    };
    let count: u64 = text
        .strip_suffix(unit)
        .and_then(|n| n.parse().ok())
        .ok_or(SHAPE)?;
    let seconds = count.checked_mul(scale).filter(|s| *s <= 2_147_483_647);
    seconds
        .and_then(|s| u32::try_from(s).ok())
        .ok_or("the server takes at most 2147483647 seconds, about 68 years")
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn durations_have_a_unit_and_a_limit() {
        assert_eq!(seconds("0s"), Ok(0));
        assert_eq!(seconds("30d"), Ok(2_592_000));
        assert_eq!(seconds("2w"), Ok(1_209_600));
        for bad in ["", "d", "30", "-1d", "1.5h", "1y"] {
            assert!(seconds(bad).is_err_and(|e| e.contains("unit")), "{bad}");
        }
        assert!(seconds("99999999d").is_err_and(|e| e.contains("68 years")));
        assert!(seconds("99999999999999999999d").is_err());
    }
}

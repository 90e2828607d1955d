//! `schema_version(2, upgrade = function, field = "name")`.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::{LitInt, LitStr, Path, token};

use crate::{
    diagnostics::Sink,
    parse::{options, skip_value},
};

const FORM: &str = "write `schema_version(2, upgrade = function)`, with the present version of the documents";

/// The attribute, as written.
pub(crate) struct SchemaVersion {
    pub(crate) span: Span,
    pub(crate) version: u32,
    pub(crate) upgrade: Option<Path>,
    pub(crate) field: Option<LitStr>,
}

impl SchemaVersion {
    /// The stored name of the field with the version.
    pub(crate) fn field(&self) -> String {
        self.field
            .as_ref()
            .map_or_else(|| "schema_version".to_owned(), LitStr::value)
    }
}

/// Parses the attribute. `None` after an error that was reported.
pub(super) fn parse(
    meta: &ParseNestedMeta<'_>,
    span: Span,
    sink: &Sink,
) -> syn::Result<Option<SchemaVersion>> {
    if !meta.input.peek(token::Paren) {
        sink.at(span, FORM);
        skip_value(meta)?;
        return Ok(None);
    }
    let content;
    syn::parenthesized!(content in meta.input);
    if !content.peek(LitInt) {
        sink.at(span, FORM);
        content.parse::<proc_macro2::TokenStream>()?;
        return Ok(None);
    }
    let number: LitInt = content.parse()?;
    let version = match number
        .base10_parse::<i32>()
        .ok()
        .and_then(|n| u32::try_from(n).ok())
    {
        Some(version) if version > 0 => Some(version),
        _ => {
            sink.on(&number, "the version is an integer from 1 to 2147483647");
            None
        }
    };
    let (mut upgrade, mut field) = (None, None);
    options(&content, ["upgrade", "field"], sink, |name, value| {
        if name == "upgrade" {
            upgrade = Some(value.call(Path::parse_mod_style)?);
        } else {
            field = Some(value.parse::<LitStr>()?);
        }
        Ok(())
    })?;
    Ok(version.map(|version| SchemaVersion {
        span,
        version,
        upgrade,
        field,
    }))
}

//! `kind = "click"`, or `kind("click", field = "type")`.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::{LitStr, Token, token};

use crate::{
    diagnostics::Sink,
    parse::{options, skip_value},
};

const FORM: &str = "write `kind = \"…\"`, with the value that only the documents of this model have, or \
                    `kind(\"…\", field = \"…\")`";

/// The attribute, as written.
pub(crate) struct ModelKind {
    pub(crate) span: Span,
    pub(crate) value: String,
    pub(crate) field: Option<LitStr>,
}

impl ModelKind {
    /// The stored name of the field with the kind.
    pub(crate) fn field(&self) -> String {
        self.field
            .as_ref()
            .map_or_else(|| "kind".to_owned(), LitStr::value)
    }
}

/// Parses the attribute. `None` after an error that was reported.
pub(super) fn parse(meta: &ParseNestedMeta<'_>, span: Span, sink: &Sink) -> syn::Result<Option<ModelKind>> {
    if meta.input.peek(Token![=]) {
        let value = meta.value()?;
        if !value.peek(LitStr) {
            sink.at(span, FORM);
            value.parse::<syn::Expr>()?;
            return Ok(None);
        }
        let value = value.parse::<LitStr>()?.value();
        return Ok(Some(ModelKind {
            span,
            value,
            field: None,
        }));
    }
    if !meta.input.peek(token::Paren) {
        sink.at(span, FORM);
        skip_value(meta)?;
        return Ok(None);
    }
    let content;
    syn::parenthesized!(content in meta.input);
    if !content.peek(LitStr) {
        sink.at(span, FORM);
        content.parse::<proc_macro2::TokenStream>()?;
        return Ok(None);
    }
    let value = content.parse::<LitStr>()?.value();
    let mut field = None;
    options(&content, ["field"], sink, |_, value| {
        field = Some(value.parse::<LitStr>()?);
        Ok(())
    })?;
    Ok(Some(ModelKind { span, value, field }))
}

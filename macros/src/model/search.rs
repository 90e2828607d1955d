//! Search indexes: checks their names and fields.

use crate::{
    diagnostics::Sink,
    model::index::check_first,
    parse::{
        Field, Parsed,
        search::{MappedField, SearchAttribute},
    },
};

/// The name of a search index for which none is given, as in `createSearchIndexes`.
const DEFAULT_NAME: &str = "default";

/// Checks all search indexes of the type. Returns those without unknown fields, by their names.
pub(super) fn resolve(parsed: &Parsed, fields: &[Field], sink: &Sink) -> Vec<(String, SearchAttribute)> {
    let mut names: Vec<String> = Vec::new();
    let mut out = Vec::new();
    for attribute in &parsed.attributes.search_indexes {
        let name = attribute
            .name
            .as_ref()
            .map_or_else(|| DEFAULT_NAME.to_owned(), syn::LitStr::value);
        if names.contains(&name) {
            let message =
                format!("two search indexes are named \"{name}\"; give one of them another `name = \"…\"`");
            match &attribute.name {
                Some(given) => sink.on(given, message),
                None => sink.at(attribute.span, message),
            }
        }
        names.push(name.clone());
        check(attribute, sink);
        let is_known = |field: &MappedField| check_first(&field.path, fields, parsed, &[], sink);
        if attribute
            .fields
            .iter()
            .fold(true, |all, field| is_known(field) & all)
        {
            out.push((name, attribute.clone()));
        }
    }
    out
}

fn check(attribute: &SearchAttribute, sink: &Sink) {
    for (position, field) in attribute.fields.iter().enumerate() {
        let is_same = |other: &&MappedField| {
            other.path.text() == field.path.text() && (attribute.is_vector || other.kind == field.kind)
        };
        if attribute
            .fields
            .iter()
            .take(position)
            .any(|other| is_same(&other))
        {
            sink.at(
                field.path.span(),
                format!("`{}` occurs twice in the index", field.path.text()),
            );
        }
        if field.kind == "vector" {
            vector(field, sink);
        }
    }
    if attribute.broken {
        return;
    }
    if attribute.is_vector && !attribute.fields.iter().any(|field| field.kind == "vector") {
        sink.at(
            attribute.span,
            "a vector search index needs a vector: `vector(field, dimensions = 1536, similarity = \"cosine\")`",
        );
    }
    if !attribute.is_vector && attribute.fields.is_empty() && !attribute.dynamic {
        sink.at(
            attribute.span,
            "the index maps no fields: add `dynamic` for all, or fields, such as `string(title)`",
        );
    }
}

fn vector(field: &MappedField, sink: &Sink) {
    match &field.dimensions {
        None => sink.at(
            field.span,
            "a vector needs `dimensions = …`, the number of its elements",
        ),
        Some(number) => {
            if !matches!(number.base10_parse::<u32>(), Ok(1..=8192)) {
                sink.on(number, "a vector has 1 to 8192 dimensions");
            }
        }
    }
    if field.similarity.is_none() {
        sink.at(
            field.span,
            "a vector needs `similarity = \"cosine\"`, \"euclidean\" or \"dot_product\"",
        );
    }
}

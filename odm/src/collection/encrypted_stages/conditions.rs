//! The encrypted values that filters concern.

use crate::bson::{Bson, Document};
use crate::collection::encrypted_stages::expressions::{operator, read};
use crate::collection::encrypted_stages::places::{Place, at_path};

/// # Errors
/// The field that the filter concerns.
pub(super) fn check(filter: Option<&Document>, places: &[Place]) -> Result<(), String> {
    match filter.and_then(|filter| concerned(filter, places)) {
        Some(field) => Err(field),
        None => Ok(()),
    }
}

/// The field that a filter concerns: a condition is on it, or compares a value that contains it.
fn concerned(filter: &Document, places: &[Place]) -> Option<String> {
    filter
        .iter()
        .find_map(|(name, operand)| match (name.as_str(), operand) {
            ("$expr", expression) => read(expression, places),
            ("$jsonSchema", Bson::Document(schema)) => validated(schema, places),
            (name, Bson::Array(filters)) if name.starts_with('$') => {
                documents_of(filters).find_map(|filter| concerned(filter, places))
            }
            (name, _) if name.starts_with('$') => None,
            (name, operand) => condition(&without_indexes(name), operand, places),
        })
}

fn documents_of(all: &[Bson]) -> impl Iterator<Item = &Document> {
    all.iter().filter_map(Bson::as_document)
}

/// The field that a `$jsonSchema` concerns: it has a schema, or a value that contains it is compared.
fn validated(schema: &Document, places: &[Place]) -> Option<String> {
    let any = || places.first().map(|place| place.field.clone());
    schema
        .iter()
        .find_map(|(keyword, value)| match (keyword.as_str(), value) {
            ("properties", Bson::Document(properties)) => properties.iter().find_map(|(name, schema)| {
                let inside = at_path(name, places);
                let own = inside.iter().find(|place| place.at.is_empty());
                own.map(|place| place.field.clone())
                    .or_else(|| validated(schema.as_document()?, &inside))
            }),
            ("enum" | "patternProperties", _) => any(),
            ("additionalProperties" | "additionalItems", Bson::Document(_)) => any(),
            ("allOf" | "anyOf" | "oneOf" | "items", Bson::Array(schemas)) => {
                documents_of(schemas).find_map(|schema| validated(schema, places))
            }
            ("not" | "items", Bson::Document(schema)) => validated(schema, places),
            ("dependencies", Bson::Document(dependencies)) => {
                let schemas = dependencies.values().filter_map(Bson::as_document);
                schemas.into_iter().find_map(|schema| validated(schema, places))
            }
            _ => None,
        })
}

/// A path without the positions of array elements. The first name is that of a field.
fn without_indexes(path: &str) -> String {
    let is_index = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    let names = path.split('.').enumerate();
    let names = names.filter(|(place, name)| *place == 0 || !is_index(name));
    let names: Vec<&str> = names.map(|(_, name)| name).collect();
    names.join(".")
}

fn condition(path: &str, operand: &Bson, places: &[Place]) -> Option<String> {
    let found = at_path(path, places);
    let own = found.iter().find(|place| place.at.is_empty());
    own.map(|place| place.field.clone())
        .or_else(|| compared(operand, &found))
}

/// The field that the comparison of a value concerns which contains encrypted ones.
fn compared(operand: &Bson, inside: &[Place]) -> Option<String> {
    let any = || inside.first().map(|place| place.field.clone());
    let Bson::Document(operators) = operand else {
        return if *operand == Bson::Null { None } else { any() };
    };
    if operator(operators).is_none() {
        return any();
    }
    operators
        .iter()
        .find_map(|(operator, value)| match (operator.as_str(), value) {
            ("$exists" | "$type" | "$size", _) | (_, Bson::Null) => None,
            ("$not", value) => compared(value, inside),
            ("$elemMatch", Bson::Document(element)) => {
                let is_filter = |name: &String| {
                    !name.starts_with('$') || ["$and", "$or", "$nor", "$expr"].contains(&name.as_str())
                };
                if element.keys().all(is_filter) {
                    concerned(element, inside)
                } else {
                    compared(value, inside)
                }
            }
            _ => any(),
        })
}

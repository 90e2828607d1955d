//! The encrypted values that filters concern.

use crate::bson::{Bson, Document};
use crate::collection::encrypted_stages::expressions::{operator, read};
use crate::collection::encrypted_stages::places::{Place, at_path};

/// Whether a condition of a filter is on the encrypted value at a path.
pub(super) fn is_on(filter: &Document, path: &str, places: &[Place]) -> bool {
    let is_there = |place: &&Place| {
        let found = at_path(path, std::slice::from_ref(*place));
        found.iter().any(|place| place.at.is_empty())
    };
    let there: Vec<Place> = places.iter().filter(is_there).cloned().collect();
    !there.is_empty() && concerned(filter, &there).is_some()
}

/// Whether a filter compares a value with a document.
pub(in crate::collection) fn compares_document(filter: &Document) -> bool {
    filter.iter().any(|(name, operand)| match operand {
        Bson::Array(filters) if name.starts_with('$') => documents_of(filters).any(compares_document),
        operand => has_document(operand),
    })
}

fn has_document(operand: &Bson) -> bool {
    match operand {
        Bson::Document(operators) if operator(operators).is_some() => operators.values().any(has_document),
        Bson::Array(all) => all.iter().any(has_document),
        operand => operand.as_document().is_some(),
    }
}

/// Whether the conditions of one filter are in another, which has those of a scope beside them.
pub(super) fn contains(filter: &Document, inner: &Document) -> bool {
    let all = filter.get_array("$and").into_iter().flatten();
    filter == inner || all.filter_map(Bson::as_document).any(|one| contains(one, inner))
}

/// How the filter of an `$elemMatch` is checked: [`concerned`] or [`comparison`].
type Check = fn(&Document, &[Place]) -> Option<String>;

/// The field in a value that a filter compares as a whole. Conditions on the field itself are none.
pub(super) fn comparison(filter: &Document, places: &[Place]) -> Option<String> {
    filter
        .iter()
        .find_map(|(name, operand)| match (name.as_str(), operand) {
            (name, Bson::Array(filters)) if name.starts_with('$') => {
                documents_of(filters).find_map(|filter| comparison(filter, places))
            }
            (name, _) if name.starts_with('$') => None,
            (name, operand) => {
                let found = at_path(name, places);
                let is_own = found.iter().any(|place| place.at.is_empty());
                if is_own {
                    None
                } else {
                    compared(operand, &found, comparison)
                }
            }
        })
}

/// The field that a filter concerns: a condition is on it, or compares a value that contains it.
pub(super) fn concerned(filter: &Document, places: &[Place]) -> Option<String> {
    filter
        .iter()
        .find_map(|(name, operand)| match (name.as_str(), operand) {
            ("$expr", expression) => read(expression, places),
            ("$jsonSchema", Bson::Document(schema)) => validated(schema, places),
            (name, Bson::Array(filters)) if name.starts_with('$') => {
                documents_of(filters).find_map(|filter| concerned(filter, places))
            }
            (name, _) if name.starts_with('$') => None,
            (name, operand) => condition(name, operand, places),
        })
}

fn documents_of(all: &[Bson]) -> impl Iterator<Item = &Document> {
    all.iter().filter_map(Bson::as_document)
}

/// The field that a `$jsonSchema` concerns: a keyword with values, or about the value, is on it or on a value that contains it.
/// The BSON type of an encrypted field, which the schema of its model has, is none.
fn validated(schema: &Document, places: &[Place]) -> Option<String> {
    let own = places.iter().find(|place| place.at.is_empty());
    let any = || own.or(places.first()).map(|place| place.field.clone());
    let each = |schemas: &Document, places: &[Place]| {
        let schemas = schemas.values().filter_map(Bson::as_document);
        schemas.into_iter().find_map(|schema| validated(schema, places))
    };
    schema
        .iter()
        .find_map(|(keyword, value)| match (keyword.as_str(), value) {
            ("bsonType" | "type" | "title" | "description", _) => None,
            ("allOf" | "anyOf" | "oneOf", Bson::Array(schemas)) => {
                documents_of(schemas).find_map(|schema| validated(schema, places))
            }
            ("not", Bson::Document(schema)) => validated(schema, places),
            ("enum", _) => any(),
            _ if own.is_some() => any(),
            ("properties", Bson::Document(properties)) => properties
                .iter()
                .find_map(|(name, schema)| validated(schema.as_document()?, &at_path(name, places))),
            ("patternProperties", Bson::Document(schemas)) => each(schemas, &in_fields(places)),
            ("additionalProperties", Bson::Document(schema)) => validated(schema, &in_fields(places)),
            ("items", Bson::Array(schemas)) => {
                documents_of(schemas).find_map(|schema| validated(schema, places))
            }
            ("items" | "additionalItems", Bson::Document(schema)) => validated(schema, places),
            ("dependencies", Bson::Document(dependencies)) => each(dependencies, places),
            _ => None,
        })
}

/// The places in the values of all fields of a document.
fn in_fields(places: &[Place]) -> Vec<Place> {
    let inside = places.iter().map(|place| {
        let (_, rest) = place.at.split_once('.').unwrap_or_default();
        place.moved(rest)
    });
    inside.collect()
}

fn condition(path: &str, operand: &Bson, places: &[Place]) -> Option<String> {
    let found = at_path(path, places);
    let own = found.iter().find(|place| place.at.is_empty());
    own.map(|place| place.field.clone())
        .or_else(|| compared(operand, &found, concerned))
}

/// The field that the comparison of a value concerns which contains encrypted ones.
fn compared(operand: &Bson, inside: &[Place], of_element: Check) -> Option<String> {
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
            ("$not", value) => compared(value, inside, of_element),
            ("$elemMatch", Bson::Document(element)) => {
                let is_filter = |name: &String| {
                    !name.starts_with('$') || ["$and", "$or", "$nor", "$expr"].contains(&name.as_str())
                };
                if element.keys().all(is_filter) {
                    of_element(element, inside)
                } else {
                    compared(value, inside, of_element)
                }
            }
            _ => any(),
        })
}

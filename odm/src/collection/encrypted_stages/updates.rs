//! The encrypted fields that stages of updates set.

use crate::bson::{Bson, Document};
use crate::collection::encrypted_stages::expressions::{literal_name, operator};
use crate::collection::encrypted_stages::places::is_within;

/// Whether a stage sets the field at a path, or one that contains it or is in it, to another value than that of a field.
pub(in crate::collection) fn sets(stage: &Document, path: &str) -> bool {
    stage
        .iter()
        .any(|(name, argument)| match (name.as_str(), argument) {
            ("$set" | "$addFields" | "$replaceWith", argument) => makes(argument, path),
            ("$replaceRoot", Bson::Document(options)) => {
                options.get("newRoot").is_some_and(|root| makes(root, path))
            }
            ("$project", Bson::Document(fields)) => makes(&computed(fields).into(), path),
            _ => false,
        })
}

/// The fields of a `$project` that are neither included nor excluded.
fn computed(fields: &Document) -> Document {
    let computed = fields.iter().filter_map(|(name, value)| {
        let value = match value {
            Bson::Document(inner) if operator(inner).is_none() => computed(inner).into(),
            Bson::String(_) | Bson::Document(_) | Bson::Array(_) => value.clone(),
            _ => return None,
        };
        Some((name.clone(), value))
    });
    computed.collect()
}

/// Whether a document that an expression makes has a field at a path, or one that contains it or is in it, with another
/// value than that of a field.
fn makes(expression: &Bson, path: &str) -> bool {
    match expression {
        Bson::Array(all) => all.iter().any(|value| makes(value, path)),
        Bson::Document(document) => match operator(document) {
            None => document.iter().any(|(name, value)| sets_field(name, value, path)),
            Some((name, argument)) => operator_makes(name, argument, path),
        },
        _ => false,
    }
}

fn operator_makes(name: &str, argument: &Bson, path: &str) -> bool {
    let Bson::Document(options) = argument else {
        return match name {
            "$literal" => has_value(argument, path),
            "$arrayToObject" => sets_pairs(argument, path),
            _ => makes(argument, path),
        };
    };
    let any = |names: &[&str]| {
        let mut values = names.iter().filter_map(|name| options.get(name));
        values.any(|value| makes(value, path))
    };
    match name {
        "$literal" => has_value(argument, path),
        "$arrayToObject" => sets_pairs(argument, path),
        "$setField" => {
            let name = options.get("field").and_then(literal_name).unwrap_or(path);
            let value = options.get("value");
            value.is_some_and(|value| sets_field(name, value, path)) || any(&["input"])
        }
        "$let" => {
            let variables = options.get_document("vars").into_iter().flatten();
            let mut values = variables.map(|(_, value)| value);
            values.any(|value| makes(value, path)) || any(&["in"])
        }
        "$cond" => any(&["then", "else"]),
        "$switch" => {
            let branches = options.get_array("branches").into_iter().flatten();
            let mut results = branches.filter_map(|branch| branch.as_document()?.get("then"));
            results.any(|value| makes(value, path)) || any(&["default"])
        }
        // The argument can be a document, or have arguments with names.
        _ => makes(argument, path) || options.values().any(|value| makes(value, path)),
    }
}

/// As [`makes`], of `$arrayToObject`: its fields are not known, unless they are those of a field, all or some of them.
fn sets_pairs(argument: &Bson, path: &str) -> bool {
    match argument {
        Bson::Array(all) if all.len() == 1 => sets_pairs(&all[0], path),
        Bson::Document(document) => match operator(document) {
            Some(("$objectToArray", object)) => !is_reference(object) && makes(object, path),
            Some(("$filter", Bson::Document(options))) => {
                options.get("input").is_none_or(|input| sets_pairs(input, path))
            }
            _ => true,
        },
        value => !is_reference(value),
    }
}

/// Whether a value, which is not an expression, has a field at a path, or one that contains it.
fn has_value(value: &Bson, path: &str) -> bool {
    let is_about = |name: &str| is_within(name, path) || is_within(path, name);
    match value {
        Bson::Array(all) => all.iter().any(|value| has_value(value, path)),
        Bson::Document(fields) => fields
            .iter()
            .any(|(name, value)| match path.strip_prefix(&**name) {
                Some(rest) if rest.starts_with('.') && value.as_document().is_some() => {
                    has_value(value, &rest[1..])
                }
                _ => is_about(name),
            }),
        _ => false,
    }
}

fn sets_field(name: &str, value: &Bson, path: &str) -> bool {
    match path.strip_prefix(name) {
        Some("") => !is_reference(value),
        // A document around the field.
        Some(rest) if rest.starts_with('.') => match value {
            Bson::Document(inner) if operator(inner).is_none() => makes(value, &rest[1..]),
            value => !is_reference(value),
        },
        _ => is_within(name, path) && !is_reference(value),
    }
}

/// Whether an expression is the value of a field, or no value: `$$REMOVE`. The value of another variable can be a literal.
fn is_reference(expression: &Bson) -> bool {
    let Some(text) = expression.as_str() else {
        return false;
    };
    match text.strip_prefix("$$") {
        Some(variable) => ["ROOT", "CURRENT", "REMOVE"]
            .iter()
            .any(|name| is_within(variable, name)),
        None => text.starts_with('$'),
    }
}

#[cfg(test)]
mod tests;

//! The encrypted values that expressions read and return.
//!
//! An operator that is not known makes its whole value one of the encrypted values that it reads.

use crate::bson::{Bson, Document};
use crate::collection::encrypted_stages::places::{Place, at_path, is_within, under, variable, whole};

/// Operators that return one of their arguments, or an array or a document of them.
const KEEPING: [&str; 13] = [
    "$addToSet",
    "$arrayElemAt",
    "$concatArrays",
    "$first",
    "$ifNull",
    "$last",
    "$max",
    "$mergeObjects",
    "$min",
    "$push",
    "$reverseArray",
    "$setUnion",
    "$slice",
];
/// Operators whose value is about the type or the presence of their arguments alone.
const OF_KIND: [&str; 6] = ["$and", "$isArray", "$not", "$or", "$size", "$type"];
/// Operators that compare their arguments. The comparison with null is about the presence of the other alone.
const COMPARING: [&str; 7] = ["$cmp", "$eq", "$gt", "$gte", "$lt", "$lte", "$ne"];

/// The path that a string of an expression refers to, that of a variable with its `$`.
fn reference(text: &str) -> Option<&str> {
    let path = text.strip_prefix('$')?;
    let root = ["$ROOT", "$CURRENT"]
        .into_iter()
        .find(|root| is_within(path, root));
    Some(match root {
        Some(root) => path[root.len()..].trim_start_matches('.'),
        None => path,
    })
}

pub(super) fn operator(document: &Document) -> Option<(&str, &Bson)> {
    let (name, argument) = document.iter().next()?;
    name.starts_with('$').then_some((name.as_str(), argument))
}

/// The places in the value of an expression.
pub(super) fn values(expression: &Bson, places: &[Place]) -> Vec<Place> {
    match expression {
        Bson::String(text) => reference(text).map_or_else(Vec::new, |path| at_path(path, places)),
        Bson::Array(all) => all.iter().flat_map(|value| values(value, places)).collect(),
        Bson::Document(document) => match operator(document) {
            None => {
                let fields = document.iter();
                fields
                    .flat_map(|(name, value)| under(name, values(value, places)))
                    .collect()
            }
            Some(("$literal", _)) => Vec::new(),
            Some(("$map", Bson::Document(options))) => {
                let input = options.get("input").map(|input| values(input, places));
                let name = options.get_str("as").unwrap_or("this");
                let mut inner = places.to_vec();
                inner.extend(variable(name, input.unwrap_or_default()));
                options
                    .get("in")
                    .map(|value| values(value, &inner))
                    .unwrap_or_default()
            }
            Some(("$filter", Bson::Document(options))) => options
                .get("input")
                .map(|input| values(input, places))
                .unwrap_or_default(),
            Some(("$cond", argument)) => chosen(argument, places),
            Some(("$switch", Bson::Document(options))) => {
                let branches = options.get_array("branches").into_iter().flatten();
                let branches = branches.filter_map(Bson::as_document);
                let cases = branches.flat_map(|branch| {
                    let case = branch.get("case").map(|case| tested(case, places));
                    let then = branch.get("then").map(|value| values(value, places));
                    case.into_iter().chain(then).flatten()
                });
                let default = options.get("default").map(|value| values(value, places));
                cases.chain(default.into_iter().flatten()).collect()
            }
            Some(("$getField", argument)) => field_value(argument, places),
            Some((name, argument)) if KEEPING.contains(&name) => values(argument, places),
            Some(_) => {
                let read = read(expression, places).into_iter();
                read.map(|field| Place {
                    at: String::new(),
                    field,
                })
                .collect()
            }
        },
        _ => Vec::new(),
    }
}

/// The places in the value of `$cond`.
fn chosen(argument: &Bson, places: &[Place]) -> Vec<Place> {
    let parts = match argument {
        Bson::Array(all) => [all.first(), all.get(1), all.get(2)],
        Bson::Document(options) => ["if", "then", "else"].map(|name| options.get(name)),
        _ => [None; 3],
    };
    let [condition, then, otherwise] = parts;
    let condition = condition.map(|condition| tested(condition, places));
    let results = [then, otherwise].into_iter().flatten();
    let results = results.flat_map(|value| values(value, places));
    condition.into_iter().flatten().chain(results).collect()
}

/// The encrypted values that a condition compares with others: the value that it selects depends on them.
fn tested(condition: &Bson, places: &[Place]) -> Vec<Place> {
    match condition {
        Bson::String(_) => Vec::new(),
        condition => whole(values(condition, places)),
    }
}

/// The places in the value of `$getField`: all those of its input if the name is computed.
fn field_value(argument: &Bson, places: &[Place]) -> Vec<Place> {
    let (field, input) = match argument {
        Bson::Document(options) if operator(options).is_none() => {
            (options.get("field"), options.get("input"))
        }
        field => (Some(field), None),
    };
    let inside = input.map_or_else(|| at_path("", places), |input| values(input, places));
    let name = match field {
        Some(Bson::String(name)) => Some(name.as_str()).filter(|name| !name.starts_with('$')),
        Some(Bson::Document(literal)) => literal.get_str("$literal").ok(),
        _ => None,
    };
    match name {
        Some(name) => at_path(name, &inside),
        None => whole(inside),
    }
}

/// The places in the value of a field of `$setWindowFields` or `$fill`: an operator beside its window, or a `value`.
pub(super) fn argument_values(output: &Bson, places: &[Place]) -> Vec<Place> {
    let Bson::Document(output) = output else {
        return Vec::new();
    };
    let arguments = output.iter().filter(|(name, _)| *name != "window");
    let arguments = arguments.map(|(name, argument)| match name.as_str() {
        "value" => argument.clone(),
        operator => Bson::Document([(operator.to_owned(), argument.clone())].into_iter().collect()),
    });
    arguments.flat_map(|argument| values(&argument, places)).collect()
}

/// The field that an expression reads: itself, or a value that contains it.
pub(super) fn read(expression: &Bson, places: &[Place]) -> Option<String> {
    match expression {
        Bson::String(text) => {
            let found = at_path(reference(text)?, places);
            found.first().map(|place| place.field.clone())
        }
        Bson::Array(all) => all.iter().find_map(|value| read(value, places)),
        Bson::Document(document) => match operator(document) {
            Some(("$literal", _)) => None,
            Some(("$getField", argument)) => {
                let found = field_value(argument, places);
                found.first().map(|place| place.field.clone())
            }
            Some((name, argument)) if is_about_presence(name, argument) => {
                let mut computed = arguments(argument)
                    .iter()
                    .filter(|value| value.as_str().is_none());
                computed.find_map(|value| read(value, places))
            }
            _ => document.values().find_map(|value| read(value, places)),
        },
        _ => None,
    }
}

/// The arguments of an operator: an array, or a single one.
fn arguments(argument: &Bson) -> &[Bson] {
    match argument {
        Bson::Array(all) => all,
        single => std::slice::from_ref(single),
    }
}

/// Whether the value of an operator is about the type or the presence of its arguments alone.
fn is_about_presence(name: &str, argument: &Bson) -> bool {
    OF_KIND.contains(&name) || COMPARING.contains(&name) && arguments(argument).contains(&Bson::Null)
}

//! The encrypted values that expressions read and return.
//!
//! An operator that is not known makes its whole value one of the encrypted values that it reads.

use crate::bson::{Bson, Document};
use crate::collection::encrypted_stages::places::{
    Place, at_path, is_within, one_of, remove_variable, under, variable, whole,
};

/// Operators that return one of their arguments, or an array of them.
const KEEPING: [&str; 10] = [
    "$addToSet",
    "$concatArrays",
    "$first",
    "$ifNull",
    "$last",
    "$max",
    "$min",
    "$push",
    "$reverseArray",
    "$setUnion",
];
/// Operators that return a part of their first argument.
const PARTIAL: [&str; 2] = ["$arrayElemAt", "$slice"];
/// Operators that return a part of an argument with a name, with the name.
const NAMED: [(&str, &str); 11] = [
    ("$bottom", "output"),
    ("$bottomN", "output"),
    ("$filter", "input"),
    ("$firstN", "input"),
    ("$lastN", "input"),
    ("$maxN", "input"),
    ("$minN", "input"),
    ("$shift", "output"),
    ("$sortArray", "input"),
    ("$top", "output"),
    ("$topN", "output"),
];
/// Operators whose value is about the type or the presence of their arguments alone.
const OF_KIND: [&str; 7] = ["$and", "$bsonSize", "$isArray", "$not", "$or", "$size", "$type"];
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
        Bson::Array(all) => one_of(all.iter().filter(is_value).map(|value| values(value, places))),
        Bson::Document(document) => match operator(document) {
            None => {
                let fields = document.iter();
                fields
                    .flat_map(|(name, value)| under(name, values(value, places)))
                    .collect()
            }
            Some((name, argument)) => of_operator(name, argument, expression, places),
        },
        _ => Vec::new(),
    }
}

fn is_value(expression: &&Bson) -> bool {
    **expression != Bson::Null
}

/// The places in the value of an operator.
fn of_operator(name: &str, argument: &Bson, expression: &Bson, places: &[Place]) -> Vec<Place> {
    let named = |name: &str| argument.as_document().and_then(|options| options.get(name));
    let of = |argument: &Bson| values(argument, places);
    let named_part = NAMED.iter().find(|(operator, _)| *operator == name);
    if let Some(part) = named_part.and_then(|(_, part)| named(part)) {
        let default = named("default").filter(is_value);
        return one_of([Some(part), default].into_iter().flatten().map(of));
    }
    match (name, argument) {
        ("$literal", _) => Vec::new(),
        ("$map", Bson::Document(options)) => {
            let input = options.get("input").map(of).unwrap_or_default();
            let name = options.get_str("as").unwrap_or("this");
            let inner = with_variables(places, [(name, input)]);
            options
                .get("in")
                .map(|value| values(value, &inner))
                .unwrap_or_default()
        }
        ("$let", Bson::Document(options)) => {
            let declared = options.get_document("vars").into_iter().flatten();
            let inner = with_variables(places, declared.map(|(name, value)| (&**name, of(value))));
            options
                .get("in")
                .map(|value| values(value, &inner))
                .unwrap_or_default()
        }
        ("$reduce", Bson::Document(_)) => {
            let parts = ["input", "initialValue"].map(|name| named(name).map(of));
            let [input, initial] = parts.map(Option::unwrap_or_default);
            let step = |value: Vec<Place>| {
                let inner = with_variables(places, [("this", input.clone()), ("value", value)]);
                named("in").map(|value| values(value, &inner)).unwrap_or_default()
            };
            let first = step(initial.clone());
            let all = one_of([initial, first]);
            let next = step(all.clone());
            let is_known = |place: &Place| all.iter().any(|known| known.at == place.at);
            if next.iter().all(is_known) {
                one_of([all, next])
            } else {
                whole(all.into_iter().chain(next))
            }
        }
        ("$cond", argument) => chosen(argument, places),
        ("$switch", Bson::Document(options)) => {
            let branches = options.get_array("branches").into_iter().flatten();
            let branches = || branches.clone().filter_map(Bson::as_document);
            let cases = branches().filter_map(|branch| branch.get("case"));
            let cases = cases.flat_map(|case| tested(case, places));
            let results = branches().filter_map(|branch| branch.get("then"));
            let results = results.chain(options.get("default"));
            let results = one_of(results.filter(is_value).map(of));
            cases.chain(results).collect()
        }
        ("$getField", argument) => field_value(argument, places),
        ("$mergeObjects", Bson::Array(all)) => merged(all, places),
        ("$mergeObjects", argument) => of(argument),
        (name, Bson::Array(all)) if PARTIAL.contains(&name) => all.first().map(of).unwrap_or_default(),
        (name, argument) if KEEPING.contains(&name) => of(argument),
        _ => read(expression, places).into_iter().map(Place::part_of).collect(),
    }
}

/// The places, and those in the values of variables, which hide other variables of their names.
fn with_variables<'n>(
    places: &[Place],
    variables: impl IntoIterator<Item = (&'n str, Vec<Place>)>,
) -> Vec<Place> {
    let mut all = places.to_vec();
    let mut added = Vec::new();
    for (name, value) in variables {
        remove_variable(name, &mut all);
        added.extend(variable(name, value));
    }
    all.extend(added);
    all
}

/// The places in the value of `$mergeObjects`: a field of a document is that of the last one that has it.
fn merged(all: &[Bson], places: &[Place]) -> Vec<Place> {
    let mut merged: Vec<Place> = Vec::new();
    for value in all.iter().filter(is_value) {
        let found = values(value, places);
        let is_kept = |place: &Place| match value {
            Bson::Document(document) if operator(document).is_none() => {
                let (first, _) = place.at.split_once('.').unwrap_or((&place.at, ""));
                !first.is_empty() && !document.contains_key(first)
            }
            _ => found.iter().any(|other| other.is_certain && other.at == place.at),
        };
        for place in &mut merged {
            place.is_certain = place.is_certain && is_kept(place);
        }
        merged.extend(found);
    }
    merged
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
    let results = [then, otherwise].into_iter().flatten().filter(is_value);
    let results = one_of(results.map(|value| values(value, places)));
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
    match field.and_then(literal_name) {
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

/// The name in an expression for the name of a field. `None` if it is computed.
pub(super) fn literal_name(field: &Bson) -> Option<&str> {
    match field {
        Bson::String(name) if !name.starts_with('$') => Some(name),
        Bson::Document(literal) => literal.get_str("$literal").ok(),
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

#[cfg(test)]
mod tests;

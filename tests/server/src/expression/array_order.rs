//! `$zip`, `$sortArray`, `$firstN`, `$lastN`, `$minN` and `$maxN`.

use super::{Named, NamedFunction, Scope};
use crate::aggregate::choice::{Choice, Chosen};
use crate::error::{Error, Result};
use crate::query::sort::Sort;
use crate::value::compare::compare;
use crate::value::number::Number;
use crate::value::{is_nullish, truthy, type_name};
use bson::{Bson, Document};

pub(super) const NAMED: &[NamedFunction] = &[
    NamedFunction {
        name: "$zip",
        required: &["inputs"],
        optional: &["useLongestLength", "defaults"],
        run: zip,
    },
    NamedFunction {
        name: "$sortArray",
        required: &["input", "sortBy"],
        optional: &[],
        run: sort,
    },
    NamedFunction {
        name: "$firstN",
        required: &["input", "n"],
        optional: &[],
        run: |n, s| choose(n, s, Choice::First),
    },
    NamedFunction {
        name: "$lastN",
        required: &["input", "n"],
        optional: &[],
        run: |n, s| choose(n, s, Choice::Last),
    },
    NamedFunction {
        name: "$minN",
        required: &["input", "n"],
        optional: &[],
        run: |n, s| choose(n, s, Choice::Min),
    },
    NamedFunction {
        name: "$maxN",
        required: &["input", "n"],
        optional: &[],
        run: |n, s| choose(n, s, Choice::Max),
    },
];

fn zip(named: &Named, _: &Scope<'_>) -> Result<Bson> {
    let Bson::Array(inputs) = named.required("inputs") else {
        return Err(Error::new(34461, "inputs must be an array of expressions"));
    };
    if inputs.is_empty() {
        return Err(Error::new(34465, "$zip requires at least one input array"));
    }
    let mut arrays = Vec::with_capacity(inputs.len());
    for input in inputs {
        match input {
            value if is_nullish(value) => return Ok(Bson::Null),
            Bson::Array(items) => arrays.push(items),
            other => {
                return Err(Error::new(
                    34468,
                    format!("$zip found a non-array expression in input: {}", type_name(other)),
                ));
            }
        }
    }
    let longest = named.get("useLongestLength").is_some_and(truthy);
    let defaults = match named.get("defaults") {
        None => None,
        Some(_) if !longest => {
            return Err(Error::new(
                34466,
                "cannot specify defaults unless useLongestLength is true",
            ));
        }
        Some(Bson::Array(defaults)) if defaults.len() == arrays.len() => Some(defaults),
        Some(_) => return Err(Error::new(34467, "defaults and inputs must have the same length")),
    };
    let lengths = arrays.iter().map(|items| items.len());
    let length = if longest { lengths.max() } else { lengths.min() }.unwrap_or(0);
    let missing = |column: usize| defaults.map_or(Bson::Null, |defaults| defaults[column].clone());
    let rows = (0..length).map(|row| {
        let cells = arrays.iter().enumerate();
        Bson::Array(
            cells
                .map(|(column, items)| items.get(row).cloned().unwrap_or_else(|| missing(column)))
                .collect(),
        )
    });
    Ok(Bson::Array(rows.collect()))
}

fn sort(named: &Named, scope: &Scope<'_>) -> Result<Bson> {
    let mut items = match named.required("input") {
        value if is_nullish(value) => return Ok(Bson::Null),
        Bson::Array(items) => items.clone(),
        other => {
            return Err(Error::new(
                2_942_504,
                format!(
                    "The input argument to $sortArray must be an array, but was of type: {}",
                    type_name(other)
                ),
            ));
        }
    };
    match named.required("sortBy") {
        Bson::Document(pattern) => {
            let sort = Sort::parse(pattern)?;
            let none = Document::new();
            let mut keyed = items
                .into_iter()
                .map(|item| Ok((sort.key(item.as_document().unwrap_or(&none), scope.env)?, item)))
                .collect::<Result<Vec<_>>>()?;
            keyed.sort_by(|(a, _), (b, _)| sort.compare_keys(a, b));
            items = keyed.into_iter().map(|(_, item)| item).collect();
        }
        direction => {
            let ascending = match Number::from_bson(direction).and_then(Number::to_exact_i64) {
                Some(1) => true,
                Some(-1) => false,
                _ => {
                    return Err(Error::new(
                        2_942_503,
                        "$sortArray: sortBy must be 1, -1 or an object",
                    ));
                }
            };
            items.sort_by(|a, b| {
                let order = compare(a, b, scope.env.collation.as_ref());
                if ascending { order } else { order.reverse() }
            });
        }
    }
    Ok(Bson::Array(items))
}

/// Evaluates `$firstN`, `$lastN`, `$minN` or `$maxN` over an array.
fn choose(named: &Named, scope: &Scope<'_>, choice: Choice) -> Result<Bson> {
    let mut chosen = Chosen::new(choice, named.required("n"))?;
    let Bson::Array(items) = named.required("input") else {
        return Err(Error::new(5_788_200, "Input must be an array"));
    };
    for item in items {
        chosen.add(item.clone(), scope.env);
    }
    Ok(Bson::Array(chosen.finish()))
}

//! `$zip`, `$sortArray`, and the first and greatest few of an array.

use super::{Named, NamedFunction, Scope};
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
        run: |n, _| take(n, |items, count| items.into_iter().take(count).collect()),
    },
    NamedFunction {
        name: "$lastN",
        required: &["input", "n"],
        optional: &[],
        run: |n, _| {
            take(n, |items, count| {
                let skip = items.len().saturating_sub(count);
                items.into_iter().skip(skip).collect()
            })
        },
    },
    NamedFunction {
        name: "$minN",
        required: &["input", "n"],
        optional: &[],
        run: |n, s| extreme(n, s, false),
    },
    NamedFunction {
        name: "$maxN",
        required: &["input", "n"],
        optional: &[],
        run: |n, s| extreme(n, s, true),
    },
];

fn zip(named: &Named, _: &Scope<'_>) -> Result<Bson> {
    let Bson::Array(inputs) = named.required("inputs") else {
        return Err(Error::new(34461, "inputs must be an array of expressions"));
    };
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
            let key = |item: &Bson| match item {
                Bson::Document(document) => sort.key(document, scope.env),
                _ => sort.key(&Document::new(), scope.env),
            };
            items.sort_by(|a, b| sort.compare_keys(&key(a), &key(b)));
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

fn take(named: &Named, choose: fn(Vec<Bson>, usize) -> Vec<Bson>) -> Result<Bson> {
    let count = Number::from_bson(named.required("n"))
        .and_then(Number::to_exact_i64)
        .filter(|count| *count > 0)
        .and_then(|count| usize::try_from(count).ok())
        .ok_or_else(|| {
            Error::new(
                5_787_908,
                format!("'n' of {} must be greater than 0 and integral", named.operator),
            )
        })?;
    match named.required("input") {
        Bson::Array(items) => Ok(Bson::Array(choose(items.clone(), count))),
        other => Err(Error::new(
            5_788_200,
            format!(
                "Input of {} must be an array, found: {}",
                named.operator,
                type_name(other)
            ),
        )),
    }
}

fn extreme(named: &Named, scope: &Scope<'_>, greatest: bool) -> Result<Bson> {
    let Bson::Array(mut items) = take(named, |items, _| items)? else {
        return Ok(Bson::Null);
    };
    items.retain(|item| !is_nullish(item));
    items.sort_by(|a, b| {
        let order = compare(a, b, scope.env.collation.as_ref());
        if greatest { order.reverse() } else { order }
    });
    let count = Number::from_bson(named.required("n")).map_or(0, Number::to_saturated_i64);
    items.truncate(usize::try_from(count).unwrap_or(0));
    Ok(Bson::Array(items))
}

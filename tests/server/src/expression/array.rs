//! Array operators: element access, slices, ranges, concatenation, and conversion from and to
//! objects.

use super::string_search::search_bound;
use super::{Function, Scope};
use crate::error::{Error, Result};
use crate::value::compare::equal;
use crate::value::number::Number;
use crate::value::{format, is_nullish, type_name};
use bson::{Bson, Document, doc};

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "$size",
        min: 1,
        max: 1,
        run: size,
    },
    Function {
        name: "$arrayElemAt",
        min: 2,
        max: 2,
        run: element_at,
    },
    Function {
        name: "$first",
        min: 1,
        max: 1,
        run: |a, _| end_element("$first", &a[0], <[Bson]>::first),
    },
    Function {
        name: "$last",
        min: 1,
        max: 1,
        run: |a, _| end_element("$last", &a[0], <[Bson]>::last),
    },
    Function {
        name: "$slice",
        min: 2,
        max: 3,
        run: slice,
    },
    Function {
        name: "$in",
        min: 2,
        max: 2,
        run: is_in,
    },
    Function {
        name: "$indexOfArray",
        min: 2,
        max: 4,
        run: index_of,
    },
    Function {
        name: "$concatArrays",
        min: 0,
        max: usize::MAX,
        run: concat,
    },
    Function {
        name: "$reverseArray",
        min: 1,
        max: 1,
        run: reverse,
    },
    Function {
        name: "$range",
        min: 2,
        max: 3,
        run: range,
    },
    Function {
        name: "$arrayToObject",
        min: 1,
        max: 1,
        run: to_object,
    },
    Function {
        name: "$objectToArray",
        min: 1,
        max: 1,
        run: from_object,
    },
];

/// The maximum number of elements of `$range`, well below the server's limit of 100 MB.
const MAX_RANGE: i64 = 2_000_000;

/// Parses the `limit` of `$filter`.
pub(super) fn filter_limit(value: &Bson) -> Result<usize> {
    if is_nullish(value) {
        return Ok(usize::MAX);
    }
    Number::from_bson(value)
        .and_then(Number::to_exact_i64)
        .filter(|limit| *limit > 0)
        .and_then(|limit| usize::try_from(limit).ok())
        .ok_or_else(|| {
            Error::new(
                327_391,
                format!(
                    "$filter: limit must be a positive integer, found {}",
                    format::bson(value)
                ),
            )
        })
}

/// Parses a 32-bit integer. The codes are for a value that is not numeric and for one that is not a
/// 32-bit integer.
fn index(operator: &str, [numeric_code, integral_code]: [i32; 2], value: &Bson) -> Result<i64> {
    let Some(number) = Number::from_bson(value) else {
        return Err(Error::new(
            numeric_code,
            format!("{operator} requires a number, but found {}", type_name(value)),
        ));
    };
    number
        .to_exact_i64()
        .filter(|number| i32::try_from(*number).is_ok())
        .ok_or_else(|| {
            Error::new(
                integral_code,
                format!(
                    "{operator} requires a value that can be represented as a 32-bit integer, found {}",
                    format::bson(value)
                ),
            )
        })
}

fn size(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    match &arguments[0] {
        Bson::Array(items) => Ok(Bson::Int32(items.len() as i32)),
        other => {
            let name = if matches!(other, Bson::Undefined) {
                "missing"
            } else {
                type_name(other)
            };
            Err(Error::new(
                17124,
                format!("The argument to $size must be an array, but was of type: {name}"),
            ))
        }
    }
}

fn element_at(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    let items = match (&arguments[0], &arguments[1]) {
        (items, at) if is_nullish(items) || is_nullish(at) => return Ok(Bson::Null),
        (Bson::Array(items), _) => items,
        (other, _) => {
            return Err(Error::new(
                28689,
                format!(
                    "$arrayElemAt's first argument must be an array, but is {}",
                    type_name(other)
                ),
            ));
        }
    };
    let at = index("$arrayElemAt", [28690, 28691], &arguments[1])?;
    let at = if at < 0 { at + items.len() as i64 } else { at };
    Ok(usize::try_from(at)
        .ok()
        .and_then(|at| items.get(at))
        .cloned()
        .unwrap_or(Bson::Undefined))
}

fn end_element(operator: &str, value: &Bson, take: fn(&[Bson]) -> Option<&Bson>) -> Result<Bson> {
    match value {
        value if is_nullish(value) => Ok(Bson::Null),
        Bson::Array(items) => Ok(take(items).cloned().unwrap_or(Bson::Undefined)),
        other => Err(Error::new(
            28689,
            format!(
                "{operator}'s argument must be an array, but is {}",
                type_name(other)
            ),
        )),
    }
}

fn slice(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    if arguments.iter().any(is_nullish) {
        return Ok(Bson::Null);
    }
    let Bson::Array(items) = &arguments[0] else {
        return Err(Error::new(
            28724,
            format!(
                "First argument to $slice must be an array, but is of type: {}",
                type_name(&arguments[0])
            ),
        ));
    };
    let length = items.len() as i64;
    let second = index("$slice", [28725, 28726], &arguments[1])?;
    let (start, count) = match arguments.get(2) {
        None if second < 0 => ((length + second).max(0), length),
        None => (0, second),
        Some(count) => {
            let count = index("$slice", [28727, 28728], count)?;
            if count <= 0 {
                return Err(Error::new(
                    28729,
                    format!("Third argument to $slice must be positive: {count}"),
                ));
            }
            (
                if second < 0 {
                    (length + second).max(0)
                } else {
                    second.min(length)
                },
                count,
            )
        }
    };
    Ok(Bson::Array(
        items
            .iter()
            .skip(start as usize)
            .take(count as usize)
            .cloned()
            .collect(),
    ))
}

fn is_in(arguments: &[Bson], scope: &Scope<'_>) -> Result<Bson> {
    match &arguments[1] {
        Bson::Array(items) => {
            let collation = scope.env.collation.as_ref();
            Ok(Bson::Boolean(
                items.iter().any(|item| equal(item, &arguments[0], collation)),
            ))
        }
        other => {
            let name = if matches!(other, Bson::Undefined) {
                "missing"
            } else {
                type_name(other)
            };
            Err(Error::new(
                40081,
                format!("$in requires an array as a second argument, found: {name}"),
            ))
        }
    }
}

fn index_of(arguments: &[Bson], scope: &Scope<'_>) -> Result<Bson> {
    let items = match &arguments[0] {
        value if is_nullish(value) => return Ok(Bson::Null),
        Bson::Array(items) => items,
        other => {
            return Err(Error::new(
                40090,
                format!(
                    "$indexOfArray requires an array as a first argument, found: {}",
                    type_name(other)
                ),
            ));
        }
    };
    let bound = |position: usize, default: usize| match arguments.get(position) {
        None => Ok(default),
        Some(value) => {
            let name = if position == 2 {
                "starting index"
            } else {
                "ending index"
            };
            search_bound("$indexOfArray", name, [9_711_600, 9_711_601], value)
        }
    };
    let (start, end) = (bound(2, 0)?, bound(3, items.len())?.min(items.len()));
    let found = (start..end).find(|at| equal(&items[*at], &arguments[1], scope.env.collation.as_ref()));
    Ok(Bson::Int32(found.map_or(-1, |at| at as i32)))
}

fn concat(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    let mut joined = Vec::new();
    for argument in arguments {
        match argument {
            Bson::Array(items) => joined.extend(items.iter().cloned()),
            value if is_nullish(value) => return Ok(Bson::Null),
            other => {
                return Err(Error::new(
                    28664,
                    format!("$concatArrays only supports arrays, not {}", type_name(other)),
                ));
            }
        }
    }
    Ok(Bson::Array(joined))
}

fn reverse(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    match &arguments[0] {
        value if is_nullish(value) => Ok(Bson::Null),
        Bson::Array(items) => Ok(Bson::Array(items.iter().rev().cloned().collect())),
        other => Err(Error::new(
            34435,
            format!(
                "The argument to $reverseArray must be an array, but was of type: {}",
                type_name(other)
            ),
        )),
    }
}

fn range(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    let (start, end) = (
        index("$range", [34443, 34444], &arguments[0])?,
        index("$range", [34445, 34446], &arguments[1])?,
    );
    let step = arguments
        .get(2)
        .map_or(Ok(1), |step| index("$range", [34447, 34448], step))?;
    if step == 0 {
        return Err(Error::new(34449, "$range requires a non-zero step value"));
    }
    let count = ((end - start) as f64 / step as f64).ceil().max(0.0) as i64;
    if count > MAX_RANGE {
        return Err(Error::new(146, "$range would use too much memory"));
    }
    let element = |number: i64| i32::try_from(number).map_or(Bson::Int64(number), Bson::Int32);
    Ok(Bson::Array(
        (0..count).map(|n| element(start + n * step)).collect(),
    ))
}

fn to_object(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    let items = match &arguments[0] {
        value if is_nullish(value) => return Ok(Bson::Null),
        Bson::Array(items) => items,
        other => {
            return Err(Error::new(
                40386,
                format!(
                    "$arrayToObject requires an array input, found: {}",
                    type_name(other)
                ),
            ));
        }
    };
    let mut object = Document::new();
    for item in items {
        let (name, value) = match item {
            Bson::Array(pair) if pair.len() == 2 => (&pair[0], &pair[1]),
            Bson::Array(_) => {
                return Err(Error::new(
                    40397,
                    "$arrayToObject requires an array of size 2 arrays",
                ));
            }
            Bson::Document(pair) if pair.len() == 2 => match (pair.get("k"), pair.get("v")) {
                (Some(name), Some(value)) => (name, value),
                _ => {
                    return Err(Error::new(
                        40393,
                        "$arrayToObject requires an object with keys 'k' and 'v'",
                    ));
                }
            },
            Bson::Document(_) => {
                return Err(Error::new(
                    40392,
                    "$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect number of keys",
                ));
            }
            _ => {
                return Err(Error::new(
                    40398,
                    "Unrecognised input type format for $arrayToObject",
                ));
            }
        };
        let Bson::String(name) = name else {
            return Err(Error::new(
                40395,
                "$arrayToObject requires keys to be of type string",
            ));
        };
        object.insert(name, value.clone());
    }
    Ok(Bson::Document(object))
}

fn from_object(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    match &arguments[0] {
        value if is_nullish(value) => Ok(Bson::Null),
        Bson::Document(document) => Ok(Bson::Array(
            document
                .iter()
                .map(|(name, value)| Bson::Document(doc! { "k": name, "v": value.clone() }))
                .collect(),
        )),
        other => Err(Error::new(
            40390,
            format!(
                "$objectToArray requires a document input, found: {}",
                type_name(other)
            ),
        )),
    }
}

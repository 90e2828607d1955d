//! String operators: case, lengths, substrings, concatenation, splitting and trimming. Positions
//! count code points (`CP`) or bytes.

use super::{Function, Named, NamedFunction, Scope};
use crate::error::{Error, Result};
use crate::value::number::Number;
use crate::value::{format, is_nullish, type_name};
use bson::Bson;
use std::cmp::Ordering;

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "$concat",
        min: 0,
        max: usize::MAX,
        run: concat,
    },
    Function {
        name: "$toUpper",
        min: 1,
        max: 1,
        run: |a, _| case(&a[0], "$toUpper", str::to_ascii_uppercase),
    },
    Function {
        name: "$toLower",
        min: 1,
        max: 1,
        run: |a, _| case(&a[0], "$toLower", str::to_ascii_lowercase),
    },
    Function {
        name: "$strLenCP",
        min: 1,
        max: 1,
        run: |a, _| length(&a[0], "$strLenCP", 34471, |s| s.chars().count()),
    },
    Function {
        name: "$strLenBytes",
        min: 1,
        max: 1,
        run: |a, _| length(&a[0], "$strLenBytes", 34473, str::len),
    },
    Function {
        name: "$substr",
        min: 3,
        max: 3,
        run: substr_bytes,
    },
    Function {
        name: "$substrBytes",
        min: 3,
        max: 3,
        run: substr_bytes,
    },
    Function {
        name: "$substrCP",
        min: 3,
        max: 3,
        run: substr_cp,
    },
    Function {
        name: "$split",
        min: 2,
        max: 2,
        run: split,
    },
    Function {
        name: "$strcasecmp",
        min: 2,
        max: 2,
        run: strcasecmp,
    },
];

pub(super) const NAMED: &[NamedFunction] = &[
    NamedFunction {
        name: "$trim",
        required: &["input"],
        optional: &["chars"],
        run: |n, _| trim(n, true, true),
    },
    NamedFunction {
        name: "$ltrim",
        required: &["input"],
        optional: &["chars"],
        run: |n, _| trim(n, true, false),
    },
    NamedFunction {
        name: "$rtrim",
        required: &["input"],
        optional: &["chars"],
        run: |n, _| trim(n, false, true),
    },
];

fn concat(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    let mut joined = String::new();
    for argument in arguments {
        match argument {
            Bson::String(text) => joined.push_str(text),
            value if is_nullish(value) => return Ok(Bson::Null),
            other => {
                return Err(Error::new(
                    16702,
                    format!("$concat only supports strings, not {}", type_name(other)),
                ));
            }
        }
    }
    Ok(Bson::String(joined))
}

/// Converts a scalar to a string. Null becomes the empty string; other types are errors.
fn coerced(value: &Bson, operator: &str) -> Result<String> {
    if is_nullish(value) {
        return Ok(String::new());
    }
    format::to_text(value).ok_or_else(|| {
        Error::new(
            16007,
            format!(
                "can't convert from BSON type {} to String for {operator}",
                type_name(value)
            ),
        )
    })
}

fn case(value: &Bson, operator: &str, change: fn(&str) -> String) -> Result<Bson> {
    coerced(value, operator).map(|text| Bson::String(change(&text)))
}

fn length(value: &Bson, operator: &str, code: i32, measure: fn(&str) -> usize) -> Result<Bson> {
    match value {
        Bson::String(text) => Ok(Bson::Int32(measure(text) as i32)),
        other => Err(Error::new(
            code,
            format!(
                "{operator} requires a string argument, found: {}",
                type_name(other)
            ),
        )),
    }
}

fn integer(value: &Bson, operator: &str, code: i32) -> Result<i64> {
    Number::from_bson(value)
        .map(Number::to_saturated_i64)
        .ok_or_else(|| {
            Error::new(
                code,
                format!("{operator}: expected a number, found {}", type_name(value)),
            )
        })
}

fn substr_bytes(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    let text = coerced(&arguments[0], "$substrBytes")?;
    let start = integer(&arguments[1], "$substrBytes", 16034)?;
    let count = integer(&arguments[2], "$substrBytes", 16035)?;
    let start = usize::try_from(start)
        .map_err(|_| Error::new(50752, "$substrBytes: starting index must be non-negative"))?;
    if start >= text.len() {
        return Ok(Bson::String(String::new()));
    }
    let end = if count < 0 {
        text.len()
    } else {
        start.saturating_add(count as usize).min(text.len())
    };
    if !text.is_char_boundary(start) {
        return Err(Error::new(
            28656,
            "$substrBytes: Invalid range, starting index is a UTF-8 continuation byte.",
        ));
    }
    if !text.is_char_boundary(end) {
        return Err(Error::new(
            28657,
            "$substrBytes: Invalid range, ending index is in the middle of a UTF-8 character.",
        ));
    }
    Ok(Bson::String(text[start..end].to_owned()))
}

fn substr_cp(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    let text = coerced(&arguments[0], "$substrCP")?;
    let integer = |index: usize, name: &str, [numeric_code, integral_code]: [i32; 2]| {
        let value = &arguments[index];
        let number = Number::from_bson(value).ok_or_else(|| {
            Error::new(
                numeric_code,
                format!(
                    "$substrCP: {name} must be a numeric type (is BSON type {})",
                    type_name(value)
                ),
            )
        })?;
        number
            .to_exact_i64()
            .filter(|number| i32::try_from(*number).is_ok())
            .ok_or_else(|| {
                Error::new(
                    integral_code,
                    format!(
                        "$substrCP: {name} cannot be represented as a 32-bit integral value: {}",
                        format::bson(value)
                    ),
                )
            })
    };
    let start = integer(1, "starting index", [34450, 34451])?;
    let count = integer(2, "length", [34452, 34453])?;
    for (code, name, value) in [(34454, "length", count), (34455, "starting index", start)] {
        if value < 0 {
            return Err(Error::new(
                code,
                format!("$substrCP: {name} must be a nonnegative integer."),
            ));
        }
    }
    Ok(Bson::String(
        text.chars().skip(start as usize).take(count as usize).collect(),
    ))
}

fn split(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    match (&arguments[0], &arguments[1]) {
        (text, separator) if is_nullish(text) || is_nullish(separator) => Ok(Bson::Null),
        (Bson::String(_), Bson::String(separator)) if separator.is_empty() => {
            Err(Error::new(40087, "$split requires a non-empty separator"))
        }
        (Bson::String(text), Bson::String(separator)) => Ok(Bson::Array(
            text.split(separator.as_str())
                .map(|part| Bson::String(part.to_owned()))
                .collect(),
        )),
        (Bson::String(_), Bson::RegularExpression(_)) => {
            Err(Error::not_served("$split by a regular expression"))
        }
        (Bson::String(_), other) => Err(Error::new(
            40086,
            format!(
                "$split requires an expression that evaluates to a string as a second argument, found: {}",
                type_name(other)
            ),
        )),
        (other, _) => Err(Error::new(
            40085,
            format!(
                "$split requires an expression that evaluates to a string as a first argument, found: {}",
                type_name(other)
            ),
        )),
    }
}

fn strcasecmp(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    let left = coerced(&arguments[0], "$strcasecmp")?.to_ascii_uppercase();
    let right = coerced(&arguments[1], "$strcasecmp")?.to_ascii_uppercase();
    Ok(Bson::Int32(match left.cmp(&right) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }))
}

fn trim(named: &Named, left: bool, right: bool) -> Result<Bson> {
    if named.is_null("input") || named.is_null("chars") {
        return Ok(Bson::Null);
    }
    let text = |name: &str, code: i32| match named.required(name) {
        Bson::String(text) => Ok(text.clone()),
        other => Err(Error::new(
            code,
            format!(
                "{} requires its {name} to be a string, got {}",
                named.operator,
                type_name(other)
            ),
        )),
    };
    let input = text("input", 50699)?;
    let characters = if named.get("chars").is_some() {
        Some(text("chars", 50700)?)
    } else {
        None
    };
    let removed = |c: char| match &characters {
        Some(characters) => characters.contains(c),
        // The server's list of whitespace characters, which is shorter than Unicode's.
        None => {
            matches!(c, '\0' | '\t'..='\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}')
        }
    };
    let mut rest = input.as_str();
    if left {
        rest = rest.trim_start_matches(removed);
    }
    if right {
        rest = rest.trim_end_matches(removed);
    }
    Ok(Bson::String(rest.to_owned()))
}

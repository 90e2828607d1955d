//! String searches: `$indexOfBytes`, `$indexOfCP`, `$replaceOne`, `$replaceAll` and regular
//! expressions.

use super::{Function, Named, NamedFunction, Scope};
use crate::error::{Error, Result};
use crate::query::regex::Regex;
use crate::value::number::Number;
use crate::value::{format, is_nullish, type_name};
use bson::{Bson, Document, doc};

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "$indexOfCP",
        min: 2,
        max: 4,
        run: |a, _| index_of(a, true),
    },
    Function {
        name: "$indexOfBytes",
        min: 2,
        max: 4,
        run: |a, _| index_of(a, false),
    },
];

pub(super) const NAMED: &[NamedFunction] = &[
    NamedFunction {
        name: "$replaceOne",
        required: &["input", "find", "replacement"],
        optional: &[],
        run: |n, _| replace(n, false),
    },
    NamedFunction {
        name: "$replaceAll",
        required: &["input", "find", "replacement"],
        optional: &[],
        run: |n, _| replace(n, true),
    },
    NamedFunction {
        name: "$regexMatch",
        required: &["input", "regex"],
        optional: &["options"],
        run: regex_match,
    },
    NamedFunction {
        name: "$regexFind",
        required: &["input", "regex"],
        optional: &["options"],
        run: regex_find,
    },
    NamedFunction {
        name: "$regexFindAll",
        required: &["input", "regex"],
        optional: &["options"],
        run: regex_find_all,
    },
];

fn index_of(arguments: &[Bson], code_points: bool) -> Result<Bson> {
    let (operator, codes) = if code_points {
        ("$indexOfCP", [40093, 40094])
    } else {
        ("$indexOfBytes", [40091, 40092])
    };
    if is_nullish(&arguments[0]) {
        return Ok(Bson::Null);
    }
    let string = |index: usize, place: &str| match &arguments[index] {
        Bson::String(text) => Ok(text.as_str()),
        other => Err(Error::new(
            codes[index],
            format!(
                "{operator} requires a string as the {place} argument, found: {}",
                type_name(other)
            ),
        )),
    };
    let (text, token) = (string(0, "first")?, string(1, "second")?);
    let bound = |index: usize, name: &str, default: usize| match arguments.get(index) {
        None => Ok(default),
        Some(value) => search_bound(operator, name, [40096, 40097], value),
    };
    let length = if code_points {
        text.chars().count()
    } else {
        text.len()
    };
    let start = bound(2, "starting index", 0)?;
    let end = bound(3, "ending index", length)?.min(length);
    if start > end {
        return Ok(Bson::Int32(-1));
    }
    let found = if code_points {
        // Only the first code point of a match must precede the end.
        let begins = |(_, (at, _)): &(usize, (usize, char))| text[*at..].starts_with(token);
        let empty = (text.is_empty() && token.is_empty()).then_some(0);
        empty.or_else(|| {
            text.char_indices()
                .enumerate()
                .take(end)
                .skip(start)
                .find(begins)
                .map(|(index, _)| index)
        })
    } else {
        let bytes = &text.as_bytes()[..end];
        let token = token.as_bytes();
        (start..=end).find(|at| bytes[*at..].starts_with(token))
    };
    Ok(Bson::Int32(found.map_or(-1, |at| at as i32)))
}

/// Parses a starting or ending index: a non-negative 32-bit integer.
pub(super) fn search_bound(
    operator: &str,
    name: &str,
    [integral_code, negative_code]: [i32; 2],
    value: &Bson,
) -> Result<usize> {
    let bound = Number::from_bson(value)
        .and_then(Number::to_exact_i64)
        .and_then(|number| i32::try_from(number).ok())
        .ok_or_else(|| {
            Error::new(
                integral_code,
                format!(
                    "{operator} requires an integral {name}, found a value of type: {}, with value: {}",
                    type_name(value),
                    format::bson(value)
                ),
            )
        })?;
    usize::try_from(bound).map_err(|_| {
        Error::new(
            negative_code,
            format!("{operator} requires a nonnegative {name}, found: {bound}"),
        )
    })
}

fn replace(named: &Named, all: bool) -> Result<Bson> {
    if ["input", "find", "replacement"]
        .iter()
        .any(|name| named.is_null(name))
    {
        return Ok(Bson::Null);
    }
    let text = |name: &str, code: i32| match named.required(name) {
        Bson::String(text) => Ok(text.as_str()),
        other => Err(Error::new(
            code,
            format!(
                "{} requires that '{name}' be a string, found: {}",
                named.operator,
                type_name(other)
            ),
        )),
    };
    let (input, find, replacement) = (
        text("input", 51746)?,
        text("find", 51745)?,
        text("replacement", 51744)?,
    );
    Ok(Bson::String(if all {
        input.replace(find, replacement)
    } else {
        input.replacen(find, replacement, 1)
    }))
}

/// Returns the input and the compiled pattern, or `None` if either is null.
fn prepare(named: &Named) -> Result<Option<(String, Regex)>> {
    let options = match named.get("options") {
        None => None,
        Some(value) if is_nullish(value) => None,
        Some(Bson::String(options)) => Some(options.as_str()),
        Some(_) => {
            return Err(Error::new(
                51106,
                format!("{} needs 'options' to be of type string", named.operator),
            ));
        }
    };
    let regex = match named.required("regex") {
        value if is_nullish(value) => return Ok(None),
        Bson::String(pattern) => Regex::new(pattern, options.unwrap_or(""))?,
        Bson::RegularExpression(regex) => {
            let own = regex.options.as_str();
            if options.is_some() && !own.is_empty() {
                return Err(Error::new(
                    51107,
                    format!(
                        "{}: found regex options specified in both 'regex' and 'options' fields",
                        named.operator
                    ),
                ));
            }
            Regex::new(regex.pattern.as_str(), options.unwrap_or(own))?
        }
        _ => {
            return Err(Error::new(
                51105,
                format!("{} needs 'regex' to be of type string or regex", named.operator),
            ));
        }
    };
    match named.required("input") {
        value if is_nullish(value) => Ok(None),
        Bson::String(text) => Ok(Some((text.clone(), regex))),
        _ => Err(Error::new(
            51104,
            format!("{} needs 'input' to be of type string", named.operator),
        )),
    }
}

fn regex_match(named: &Named, _: &Scope<'_>) -> Result<Bson> {
    match prepare(named)? {
        None => Ok(Bson::Boolean(false)),
        Some((text, regex)) => regex.is_match(&text).map(Bson::Boolean),
    }
}

fn found(text: &str, groups: &[Option<(usize, usize)>]) -> Document {
    let range = groups.first().copied().flatten().unwrap_or((0, 0));
    let captures: Vec<Bson> = groups
        .iter()
        .skip(1)
        .map(|group| {
            group.map_or(Bson::Null, |(start, end)| {
                Bson::String(text[start..end].to_owned())
            })
        })
        .collect();
    doc! {
        "match": &text[range.0..range.1],
        "idx": text[..range.0].chars().count() as i32,
        "captures": captures,
    }
}

fn regex_find(named: &Named, _: &Scope<'_>) -> Result<Bson> {
    let Some((text, regex)) = prepare(named)? else {
        return Ok(Bson::Null);
    };
    Ok(regex
        .captures(&text, 0)?
        .map_or(Bson::Null, |groups| Bson::Document(found(&text, &groups))))
}

fn regex_find_all(named: &Named, _: &Scope<'_>) -> Result<Bson> {
    let Some((text, regex)) = prepare(named)? else {
        return Ok(Bson::Array(Vec::new()));
    };
    let mut all = Vec::new();
    let mut from = 0;
    loop {
        let Some(groups) = regex.captures(&text, from)? else {
            break;
        };
        all.push(Bson::Document(found(&text, &groups)));
        let (start, end) = groups.first().copied().flatten().unwrap_or((from, from));
        from = if end > start {
            end
        } else {
            // After an empty match, continue after the next character.
            end + text[end..].chars().next().map_or(1, char::len_utf8)
        };
        // An empty match at the end is found in an empty string only.
        if from >= text.len() {
            break;
        }
    }
    Ok(Bson::Array(all))
}

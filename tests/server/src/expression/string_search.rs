//! Searching in strings: `$indexOfCP`, `$replaceOne`, `$regexMatch` and their like.

use super::{Function, Named, NamedFunction, Scope};
use crate::error::{Error, Result};
use crate::query::regex::Regex;
use crate::value::number::Number;
use crate::value::{is_nullish, type_name};
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
    let operator = if code_points {
        "$indexOfCP"
    } else {
        "$indexOfBytes"
    };
    let text = match &arguments[0] {
        value if is_nullish(value) => return Ok(Bson::Null),
        Bson::String(text) => text,
        other => {
            return Err(Error::new(
                40093,
                format!(
                    "{operator} requires a string as the first argument, found: {}",
                    type_name(other)
                ),
            ));
        }
    };
    let Bson::String(token) = &arguments[1] else {
        return Err(Error::new(
            40094,
            format!(
                "{operator} requires a string as the second argument, found: {}",
                type_name(&arguments[1])
            ),
        ));
    };
    let bound = |index: usize, default: usize| match arguments.get(index) {
        None => Ok(default),
        Some(value) => Number::from_bson(value)
            .and_then(Number::to_exact_i64)
            .and_then(|number| usize::try_from(number).ok())
            .ok_or_else(|| {
                Error::new(
                    40097,
                    format!("{operator} requires its bounds to be non-negative integers"),
                )
            }),
    };
    let length = if code_points {
        text.chars().count()
    } else {
        text.len()
    };
    let (start, end) = (bound(2, 0)?, bound(3, length)?.min(length));
    if start > end {
        return Ok(Bson::Int32(-1));
    }
    let offset = |position: usize| {
        if code_points {
            text.char_indices()
                .nth(position)
                .map_or(text.len(), |(offset, _)| offset)
        } else {
            position
        }
    };
    let (from, to) = (offset(start), offset(end));
    let found = text
        .get(from..to)
        .and_then(|part| part.find(token.as_str()))
        .map(|at| at + from);
    Ok(Bson::Int32(match found {
        None => -1,
        Some(at) if code_points => text[..at].chars().count() as i32,
        Some(at) => at as i32,
    }))
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

/// The input and the compiled expression; `None` if either is null.
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
    let whole = groups.first().copied().flatten().unwrap_or((0, 0));
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
        "match": &text[whole.0..whole.1],
        "idx": text[..whole.0].chars().count() as i32,
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
    while from <= text.len() {
        let Some(groups) = regex.captures(&text, from)? else {
            break;
        };
        all.push(Bson::Document(found(&text, &groups)));
        let (start, end) = groups.first().copied().flatten().unwrap_or((from, from));
        from = if end > start {
            end
        } else {
            // After an empty match, go on behind the next character.
            end + text[end..].chars().next().map_or(1, char::len_utf8)
        };
    }
    Ok(Bson::Array(all))
}

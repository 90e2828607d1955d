//! The matching operators: documents whose only key begins with `$$`.

use marula_driver::bson::{Bson, from_extended_json};

use super::{Lookup, Number, Step, ValuePath, compare, same_scalar, show, type_name};

/// The type aliases of `$$type`.
const TYPES: [&str; 21] = [
    "double",
    "string",
    "object",
    "array",
    "binData",
    "undefined",
    "objectId",
    "bool",
    "date",
    "null",
    "regex",
    "dbPointer",
    "javascript",
    "symbol",
    "javascriptWithScope",
    "int",
    "timestamp",
    "long",
    "decimal",
    "minKey",
    "maxKey",
];

pub(super) fn apply(
    name: &str,
    operand: &Bson,
    actual: Option<&Bson>,
    root: bool,
    lookup: &dyn Lookup,
    path: &ValuePath<'_>,
) -> Result<(), String> {
    match name {
        "$$exists" => exists(operand, actual, path),
        "$$unsetOrMatches" => match actual {
            None => Ok(()),
            some => compare(operand, some, root, lookup, path),
        },
        "$$type" => of_type(operand, actual, path),
        "$$matchesEntity" => {
            let expected = lookup
                .value(id(name, operand, path)?)
                .or_else(|e| path.mismatch(e))?;
            match_literally(&expected, actual, root, path)
        }
        "$$sessionLsid" => {
            let lsid = lookup
                .session_id(id(name, operand, path)?)
                .or_else(|e| path.mismatch(e))?;
            match_literally(&Bson::Document(lsid), actual, false, path)
        }
        "$$matchesHexBytes" => hex_bytes(operand, actual, path),
        "$$lte" => {
            let Some(max) = Number::of(operand) else {
                return path.mismatch(format!("$$lte requires a number, found {}", show(operand)));
            };
            match actual.and_then(Number::of) {
                Some(number) if number.at_most(max) => Ok(()),
                _ => path.mismatch(format!(
                    "expected a number up to {}, found {}",
                    show(operand),
                    found(actual)
                )),
            }
        }
        "$$matchAsDocument" => {
            let Some(Bson::String(text)) = actual else {
                return path.mismatch(format!(
                    "expected Extended JSON in a string, found {}",
                    found(actual)
                ));
            };
            let document = from_extended_json(text)
                .or_else(|e| path.mismatch(format!("invalid Extended JSON: {e}: {text}")))?;
            compare(operand, Some(&Bson::Document(document)), false, lookup, path)
        }
        "$$matchAsRoot" => match actual {
            Some(document @ Bson::Document(_)) => compare(operand, Some(document), true, lookup, path),
            _ => path.mismatch(format!("expected a document, found {}", found(actual))),
        },
        "$$placeholder" | "$$hexBytes" => path.mismatch(format!("{name} cannot be an expected value")),
        _ => path.mismatch(format!("unknown operator {name}")),
    }
}

fn found(actual: Option<&Bson>) -> String {
    actual.map_or_else(|| "nothing".to_owned(), show)
}

fn id<'a>(name: &str, operand: &'a Bson, path: &ValuePath<'_>) -> Result<&'a str, String> {
    match operand {
        Bson::String(id) => Ok(id),
        other => path.mismatch(format!("{name} requires an entity name, found {}", show(other))),
    }
}

fn exists(operand: &Bson, actual: Option<&Bson>, path: &ValuePath<'_>) -> Result<(), String> {
    if !matches!(path.step, Step::Key(_)) {
        return path.mismatch("$$exists must be the value of a key");
    }
    match (operand, actual) {
        (Bson::Boolean(true), Some(_)) | (Bson::Boolean(false), None) => Ok(()),
        (Bson::Boolean(true), None) => path.mismatch("missing key"),
        (Bson::Boolean(false), Some(value)) => {
            path.mismatch(format!("unexpected key with value {}", show(value)))
        }
        (other, _) => path.mismatch(format!("$$exists requires a boolean, found {}", show(other))),
    }
}

pub(super) fn of_type(operand: &Bson, actual: Option<&Bson>, path: &ValuePath<'_>) -> Result<(), String> {
    let names: Vec<&str> = match operand {
        Bson::String(name) => vec![name],
        Bson::Array(names) => names.iter().filter_map(Bson::as_str).collect(),
        _ => Vec::new(),
    };
    if names.is_empty()
        || names
            .iter()
            .any(|name| *name != "number" && !TYPES.contains(name))
    {
        return path.mismatch(format!("$$type requires type names, found {}", show(operand)));
    }
    let Some(actual) = actual else {
        return path.mismatch(format!(
            "expected a value of type {}, found nothing",
            names.join(" or ")
        ));
    };
    let own = type_name(actual);
    let number = matches!(own, "int" | "long" | "double" | "decimal");
    if names
        .iter()
        .any(|name| *name == own || (number && *name == "number"))
    {
        Ok(())
    } else {
        path.mismatch(format!(
            "expected type {}, found {}",
            names.join(" or "),
            show(actual)
        ))
    }
}

/// Compares with the value of an entity, in which `$$` keys are not operators. Numbers are compared
/// flexibly.
fn match_literally(
    expected: &Bson,
    actual: Option<&Bson>,
    root: bool,
    path: &ValuePath<'_>,
) -> Result<(), String> {
    let Some(actual) = actual else {
        return path.mismatch(format!("expected {}, found nothing", show(expected)));
    };
    if same(expected, actual, root) {
        Ok(())
    } else {
        path.mismatch(format!("expected {}, found {}", show(expected), show(actual)))
    }
}

fn same(expected: &Bson, actual: &Bson, root: bool) -> bool {
    match (expected, actual) {
        (Bson::Document(expected), Bson::Document(actual)) => {
            (root || expected.len() == actual.len())
                && expected
                    .iter()
                    .all(|(key, value)| actual.get(key).is_some_and(|found| same(value, found, false)))
        }
        (Bson::Array(expected), Bson::Array(actual)) => {
            expected.len() == actual.len() && expected.iter().zip(actual).all(|(a, b)| same(a, b, false))
        }
        _ => same_scalar(expected, actual),
    }
}

fn hex_bytes(operand: &Bson, actual: Option<&Bson>, path: &ValuePath<'_>) -> Result<(), String> {
    let Some(expected) = operand.as_str().and_then(bytes_of_hex) else {
        return path.mismatch(format!(
            "$$matchesHexBytes requires hexadecimal digits, found {}",
            show(operand)
        ));
    };
    match actual {
        Some(Bson::Binary(binary)) if binary.bytes == expected => Ok(()),
        _ => path.mismatch(format!(
            "expected the bytes {}, found {}",
            show(operand),
            found(actual)
        )),
    }
}

/// Decodes pairs of hexadecimal digits.
pub(crate) fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
    let digits = digits?;
    if digits.len() % 2 != 0 {
        return None;
    }
    digits
        .chunks_exact(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(high * 16 + low).ok(),
            _ => None,
        })
        .collect()
}

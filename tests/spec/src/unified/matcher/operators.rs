//! The operators of expected values: documents whose one key begins with `$$`.

use marula_driver::bson::{Bson, from_extended_json};

use super::{Lookup, Number, Place, Step, compare, same_scalar, show, type_name};

/// The type aliases that `$$type` takes.
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
    place: &Place<'_>,
) -> Result<(), String> {
    match name {
        "$$exists" => exists(operand, actual, place),
        "$$unsetOrMatches" => match actual {
            None => Ok(()),
            some => compare(operand, some, root, lookup, place),
        },
        "$$type" => of_type(operand, actual, place),
        "$$matchesEntity" => {
            let expected = lookup
                .value(id(name, operand, place)?)
                .or_else(|e| place.fault(e))?;
            literally(&expected, actual, root, place)
        }
        "$$sessionLsid" => {
            let lsid = lookup
                .session_id(id(name, operand, place)?)
                .or_else(|e| place.fault(e))?;
            literally(&Bson::Document(lsid), actual, false, place)
        }
        "$$matchesHexBytes" => hex_bytes(operand, actual, place),
        "$$lte" => {
            let Some(most) = Number::of(operand) else {
                return place.fault(format!("$$lte needs a number, not {}", show(operand)));
            };
            match actual.and_then(Number::of) {
                Some(number) if number.at_most(most) => Ok(()),
                _ => place.fault(format!(
                    "expected a number up to {}, found {}",
                    show(operand),
                    found(actual)
                )),
            }
        }
        "$$matchAsDocument" => {
            let Some(Bson::String(text)) = actual else {
                return place.fault(format!(
                    "expected Extended JSON in a string, found {}",
                    found(actual)
                ));
            };
            let document = from_extended_json(text)
                .or_else(|e| place.fault(format!("this is no Extended JSON: {e}: {text}")))?;
            compare(operand, Some(&Bson::Document(document)), false, lookup, place)
        }
        "$$matchAsRoot" => match actual {
            Some(document @ Bson::Document(_)) => compare(operand, Some(document), true, lookup, place),
            _ => place.fault(format!("expected a document, found {}", found(actual))),
        },
        "$$placeholder" | "$$hexBytes" => place.fault(format!("{name} cannot be an expected value")),
        _ => place.fault(format!("unknown operator {name}")),
    }
}

fn found(actual: Option<&Bson>) -> String {
    actual.map_or_else(|| "nothing".to_owned(), show)
}

fn id<'a>(name: &str, operand: &'a Bson, place: &Place<'_>) -> Result<&'a str, String> {
    match operand {
        Bson::String(id) => Ok(id),
        other => place.fault(format!("{name} needs the name of an entity, not {}", show(other))),
    }
}

fn exists(operand: &Bson, actual: Option<&Bson>, place: &Place<'_>) -> Result<(), String> {
    if !matches!(place.step, Step::Key(_)) {
        return place.fault("$$exists can only be the value of a key");
    }
    match (operand, actual) {
        (Bson::Boolean(true), Some(_)) | (Bson::Boolean(false), None) => Ok(()),
        (Bson::Boolean(true), None) => place.fault("the key should be there"),
        (Bson::Boolean(false), Some(value)) => place.fault(format!("should not be there: {}", show(value))),
        (other, _) => place.fault(format!("$$exists needs a boolean, not {}", show(other))),
    }
}

fn of_type(operand: &Bson, actual: Option<&Bson>, place: &Place<'_>) -> Result<(), String> {
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
        return place.fault(format!("$$type needs names of types, not {}", show(operand)));
    }
    let Some(actual) = actual else {
        return place.fault(format!(
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
        place.fault(format!(
            "expected type {}, found {}",
            names.join(" or "),
            show(actual)
        ))
    }
}

/// The value of an entity is no expectation with operators: documents in it compare key by key, numbers loosely.
fn literally(expected: &Bson, actual: Option<&Bson>, root: bool, place: &Place<'_>) -> Result<(), String> {
    let Some(actual) = actual else {
        return place.fault(format!("expected {}, found nothing", show(expected)));
    };
    if same(expected, actual, root) {
        Ok(())
    } else {
        place.fault(format!("expected {}, found {}", show(expected), show(actual)))
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

fn hex_bytes(operand: &Bson, actual: Option<&Bson>, place: &Place<'_>) -> Result<(), String> {
    let Some(expected) = operand.as_str().and_then(bytes_of_hex) else {
        return place.fault(format!(
            "$$matchesHexBytes needs hexadecimal digits, not {}",
            show(operand)
        ));
    };
    match actual {
        Some(Bson::Binary(binary)) if binary.bytes == expected => Ok(()),
        _ => place.fault(format!(
            "expected the bytes {}, found {}",
            show(operand),
            found(actual)
        )),
    }
}

/// The bytes that pairs of hexadecimal digits stand for.
fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
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

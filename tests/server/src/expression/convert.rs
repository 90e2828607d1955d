//! Conversions between types.

use super::{Function, Named, NamedFunction, Scope};
use crate::error::{Error, Result, code};
use crate::value::decimal::Decimal;
use crate::value::number::{Number, in_i64_range};
use crate::value::{date, format, is_nullish, truthy, type_name};
use bson::oid::ObjectId;
use bson::{Bson, DateTime};

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "$toString",
        min: 1,
        max: 1,
        run: |a, _| or_null(&a[0], "string"),
    },
    Function {
        name: "$toInt",
        min: 1,
        max: 1,
        run: |a, _| or_null(&a[0], "int"),
    },
    Function {
        name: "$toLong",
        min: 1,
        max: 1,
        run: |a, _| or_null(&a[0], "long"),
    },
    Function {
        name: "$toDouble",
        min: 1,
        max: 1,
        run: |a, _| or_null(&a[0], "double"),
    },
    Function {
        name: "$toDecimal",
        min: 1,
        max: 1,
        run: |a, _| or_null(&a[0], "decimal"),
    },
    Function {
        name: "$toBool",
        min: 1,
        max: 1,
        run: |a, _| or_null(&a[0], "bool"),
    },
    Function {
        name: "$toObjectId",
        min: 1,
        max: 1,
        run: |a, _| or_null(&a[0], "objectId"),
    },
    Function {
        name: "$toDate",
        min: 1,
        max: 1,
        run: |a, _| or_null(&a[0], "date"),
    },
];

pub(super) const NAMED: &[NamedFunction] = &[NamedFunction {
    name: "$convert",
    required: &["input", "to"],
    optional: &["onError", "onNull"],
    run: convert_named,
}];

fn or_null(value: &Bson, to: &str) -> Result<Bson> {
    if is_nullish(value) {
        Ok(Bson::Null)
    } else {
        convert(value, to)
    }
}

fn convert_named(named: &Named, _: &Scope<'_>) -> Result<Bson> {
    let to = match named.required("to") {
        value if is_nullish(value) => return Ok(Bson::Null),
        Bson::Document(_) => return Err(Error::not_served("$convert with a type document")),
        value => match crate::query::parse::type_tests(value)?.as_slice() {
            [crate::query::filter::TypeTest::Named(name)] => *name,
            _ => {
                return Err(Error::failed_to_parse(
                    "$convert's 'to' argument must name one type",
                ));
            }
        },
    };
    if named.is_null("input") {
        return Ok(named.get("onNull").cloned().unwrap_or(Bson::Null));
    }
    match (convert(named.required("input"), to), named.get("onError")) {
        (Err(error), Some(fallback)) if error.code == code::CONVERSION_FAILURE => Ok(fallback.clone()),
        (result, _) => result,
    }
}

/// The error of a failed conversion; every message ends in the same way.
fn failure(what: &str, detail: &str) -> Error {
    Error::new(
        code::CONVERSION_FAILURE,
        format!("{what} in $convert with no onError value{detail}"),
    )
}

fn unsupported(value: &Bson, to: &str) -> Error {
    failure(
        &format!("Unsupported conversion from {} to {to}", type_name(value)),
        "",
    )
}

/// The error of a string that is not a number of the target type.
fn not_a_number(text: &str, why: &str) -> Error {
    failure(&format!("Failed to parse number '{text}'"), &format!(": {why}"))
}

fn overflow(value: &str) -> Error {
    failure("Conversion would overflow target type", &format!(": {value}"))
}

/// Converts a value other than null.
fn convert(value: &Bson, to: &str) -> Result<Bson> {
    match to {
        "string" => format::to_text(value)
            .map(Bson::String)
            .ok_or_else(|| unsupported(value, to)),
        "bool" => Ok(Bson::Boolean(match value {
            Bson::String(_) | Bson::ObjectId(_) | Bson::DateTime(_) => true,
            other => truthy(other),
        })),
        "int" => to_int(value),
        "long" => to_long(value, to).map(Bson::Int64),
        "double" => to_double(value, to),
        "decimal" => to_decimal(value, to),
        "objectId" => match value {
            Bson::ObjectId(_) => Ok(value.clone()),
            Bson::String(text) => ObjectId::parse_str(text)
                .map(Bson::ObjectId)
                .map_err(|_| not_an_object_id(text)),
            other => Err(unsupported(other, to)),
        },
        "date" => to_date(value, to),
        _ => Err(unsupported(value, to)),
    }
}

fn not_an_object_id(text: &str) -> Error {
    let why = match text.chars().find(|c| !c.is_ascii_hexdigit()) {
        Some(other) if text.len() == 24 => format!("Invalid character found in hex string: {other}"),
        _ => format!(
            "Invalid string length for parsing to OID, expected 24 but found {}",
            text.len()
        ),
    };
    failure(&format!("Failed to parse objectId '{text}'"), &format!(": {why}"))
}

/// Parses a decimal integer with an optional sign.
fn parse_integer(text: &str) -> Result<i64> {
    if text.starts_with("0x") {
        return Err(failure("Illegal hexadecimal input", &format!(": {text}")));
    }
    if text.is_empty() {
        return Err(not_a_number(text, "No digits"));
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(not_a_number(text, "Did not consume whole string."));
    }
    text.parse().map_err(|_| not_a_number(text, "Overflow"))
}

fn to_int(value: &Bson) -> Result<Bson> {
    if let Bson::String(text) = value {
        let number = parse_integer(text)?;
        return i32::try_from(number)
            .map(Bson::Int32)
            .map_err(|_| not_a_number(text, "Overflow"));
    }
    let number = to_long(value, "int")?;
    i32::try_from(number).map(Bson::Int32).map_err(|_| {
        overflow(&match value {
            Bson::Double(number) => format::short(*number),
            Bson::Decimal128(number) => number.to_string(),
            _ => String::new(),
        })
    })
}

fn to_long(value: &Bson, to: &str) -> Result<i64> {
    match value {
        Bson::Boolean(value) => Ok(i64::from(*value)),
        Bson::DateTime(at) if to != "int" => Ok(at.timestamp_millis()),
        Bson::String(text) => parse_integer(text),
        other => {
            let number = Number::from_bson(other).ok_or_else(|| unsupported(value, to))?;
            let kind = match number.to_f64() {
                number if number.is_nan() => Some("NaN"),
                _ if matches!(number, Number::Decimal(Decimal::Infinity { .. })) => Some("infinity"),
                double if double.is_infinite() && matches!(number, Number::Double(_)) => Some("infinity"),
                _ => None,
            };
            if let Some(kind) = kind {
                return Err(failure(
                    &format!("Attempt to convert {kind} value to integer type"),
                    "",
                ));
            }
            match number {
                Number::Double(number) if in_i64_range(number) => Ok(number as i64),
                Number::Double(number) => Err(overflow(&format::short(number))),
                Number::Decimal(number) => number
                    .truncate_to_i64()
                    .ok_or_else(|| overflow(&number.to_bson().to_string())),
                number => Ok(number.to_saturated_i64()),
            }
        }
    }
}

/// Parses a double as C's `strtod` does.
fn parse_double(text: &str) -> Result<f64> {
    if text.starts_with("0x") {
        return Err(failure("Illegal hexadecimal input", &format!(": {text}")));
    }
    if text.is_empty() {
        return Err(not_a_number(text, "Empty string"));
    }
    if text.starts_with(|c: char| c.is_ascii_whitespace()) {
        return Err(not_a_number(text, "Leading whitespace"));
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text).to_ascii_lowercase();
    if let Some(hex) = unsigned.strip_prefix("0x") {
        let magnitude = u64::from_str_radix(hex, 16)
            .map_err(|_| Error::not_served(format!("the hexadecimal number {text:?}")))?;
        let magnitude = magnitude as f64;
        return Ok(if text.starts_with('-') {
            -magnitude
        } else {
            magnitude
        });
    }
    let Ok(number) = text.parse::<f64>() else {
        let begins = unsigned.strip_prefix('.').unwrap_or(&unsigned);
        let digits = begins.starts_with(|c: char| c.is_ascii_digit())
            || ["inf", "nan"].iter().any(|name| unsigned.starts_with(name));
        return Err(not_a_number(
            text,
            if digits {
                "Did not consume whole string."
            } else {
                "Did not consume any digits"
            },
        ));
    };
    let mantissa = unsigned.split('e').next().unwrap_or("");
    let not_zero = mantissa.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    if not_zero && (number.is_infinite() || number.abs() < f64::MIN_POSITIVE) {
        return Err(not_a_number(text, "Out of range"));
    }
    Ok(number)
}

fn to_double(value: &Bson, to: &str) -> Result<Bson> {
    match value {
        Bson::Boolean(value) => Ok(Bson::Double(f64::from(u8::from(*value)))),
        Bson::DateTime(at) => Ok(Bson::Double(at.timestamp_millis() as f64)),
        Bson::String(text) => parse_double(text).map(Bson::Double),
        other => Number::from_bson(other)
            .map(|n| Bson::Double(n.to_f64()))
            .ok_or_else(|| unsupported(value, to)),
    }
}

fn to_decimal(value: &Bson, to: &str) -> Result<Bson> {
    let decimal = match value {
        Bson::Boolean(value) => Decimal::from_i64(i64::from(*value)),
        Bson::DateTime(at) => Decimal::from_i64(at.timestamp_millis()),
        Bson::String(text) if text.is_empty() => return Err(not_a_number(text, "Empty string")),
        Bson::String(text) => {
            Decimal::parse(text).ok_or_else(|| not_a_number(text, "Failed to parse string to decimal"))?
        }
        other => Number::from_bson(other)
            .ok_or_else(|| unsupported(value, to))?
            .to_decimal(),
    };
    Ok(Bson::Decimal128(decimal.to_bson()))
}

fn to_date(value: &Bson, to: &str) -> Result<Bson> {
    let millis = match value {
        Bson::DateTime(_) => return Ok(value.clone()),
        Bson::ObjectId(id) => id.timestamp().timestamp_millis(),
        Bson::Timestamp(at) => i64::from(at.time) * 1000,
        Bson::String(text) => match date::parse_iso(text) {
            Some(millis) => millis,
            None if date::may_be_other_form(text) => {
                return Err(Error::not_served(format!("the date string {text:?}")));
            }
            None => {
                return Err(Error::new(
                    code::CONVERSION_FAILURE,
                    format!("Error parsing date string '{text}'"),
                ));
            }
        },
        // An int32 is too short for current dates in milliseconds; the server rejects it too.
        Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => to_long(value, to)?,
        other => return Err(unsupported(other, to)),
    };
    Ok(Bson::DateTime(DateTime::from_millis(millis)))
}

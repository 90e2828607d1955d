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

fn failure(value: &Bson, to: &str, why: &str) -> Error {
    Error::new(
        code::CONVERSION_FAILURE,
        format!(
            "Failed to convert {} of type {} to {to} in $convert{why}",
            format::bson(value),
            type_name(value)
        ),
    )
}

fn unsupported(value: &Bson, to: &str) -> Error {
    Error::new(
        code::CONVERSION_FAILURE,
        format!(
            "Unsupported conversion from {} to {to} in $convert with no onError value",
            type_name(value)
        ),
    )
}

/// Converts a value that is not null.
fn convert(value: &Bson, to: &str) -> Result<Bson> {
    match to {
        "string" => format::to_text(value)
            .map(Bson::String)
            .ok_or_else(|| unsupported(value, to)),
        "bool" => Ok(Bson::Boolean(match value {
            Bson::String(_) | Bson::ObjectId(_) | Bson::DateTime(_) => true,
            other => truthy(other),
        })),
        "int" => {
            let number = to_integer(value, to)?;
            i32::try_from(number)
                .map(Bson::Int32)
                .map_err(|_| failure(value, to, ": conversion would overflow target type"))
        }
        "long" => to_integer(value, to).map(Bson::Int64),
        "double" => to_double(value, to),
        "decimal" => to_decimal(value, to),
        "objectId" => match value {
            Bson::ObjectId(_) => Ok(value.clone()),
            Bson::String(text) => ObjectId::parse_str(text)
                .map(Bson::ObjectId)
                .map_err(|_| failure(value, to, ": not 24 hex digits")),
            other => Err(unsupported(other, to)),
        },
        "date" => to_date(value, to),
        _ => Err(unsupported(value, to)),
    }
}

fn to_integer(value: &Bson, to: &str) -> Result<i64> {
    let overflow = || failure(value, to, ": conversion would overflow target type");
    match value {
        Bson::Boolean(value) => Ok(i64::from(*value)),
        Bson::DateTime(at) if to == "long" => Ok(at.timestamp_millis()),
        Bson::String(text) => {
            let digits = text
                .strip_prefix('+')
                .filter(|rest| !rest.starts_with('-'))
                .unwrap_or(text);
            digits.parse().map_err(|_| failure(value, to, ": not an integer"))
        }
        other => match Number::from_bson(other) {
            Some(Number::Double(number)) if number.is_finite() && in_i64_range(number) => Ok(number as i64),
            Some(Number::Double(_)) => Err(overflow()),
            Some(Number::Decimal(number)) => number.truncate_to_i64().ok_or_else(overflow),
            Some(number) => Ok(number.to_saturated_i64()),
            None => Err(unsupported(value, to)),
        },
    }
}

fn to_double(value: &Bson, to: &str) -> Result<Bson> {
    match value {
        Bson::Boolean(value) => Ok(Bson::Double(f64::from(u8::from(*value)))),
        Bson::DateTime(at) => Ok(Bson::Double(at.timestamp_millis() as f64)),
        Bson::String(text) => match text.trim() == text {
            true => text
                .parse()
                .map(Bson::Double)
                .map_err(|_| failure(value, to, ": not a number")),
            false => Err(failure(value, to, ": leading or trailing space")),
        },
        other => Number::from_bson(other)
            .map(|n| Bson::Double(n.to_f64()))
            .ok_or_else(|| unsupported(value, to)),
    }
}

fn to_decimal(value: &Bson, to: &str) -> Result<Bson> {
    let decimal = match value {
        Bson::Boolean(value) => Decimal::from_i64(i64::from(*value)),
        Bson::DateTime(at) => Decimal::from_i64(at.timestamp_millis()),
        Bson::String(text) => Decimal::parse(text).ok_or_else(|| failure(value, to, ": not a number"))?,
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
        Bson::String(text) => date::parse_iso(text).ok_or_else(|| failure(value, to, ": not a date"))?,
        // An int is too short for the milliseconds of today; the server refuses it too.
        Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => to_integer(value, "long")?,
        other => return Err(unsupported(other, to)),
    };
    Ok(Bson::DateTime(DateTime::from_millis(millis)))
}

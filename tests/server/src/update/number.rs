//! `$inc`, `$mul` and `$bit`.

use super::modify::Change;
use super::parse::Action;
use crate::error::{Error, Result};
use crate::value::number::Number;
use crate::value::{format, type_name};
use bson::{Bson, Document};

/// Returns the new value of a field under `$inc` or `$mul`.
pub(super) fn arithmetic(
    operator: &str,
    path: &str,
    current: Option<&Bson>,
    operand: Number,
    id: &str,
) -> Result<Change> {
    let Some(current) = current else {
        return Ok(Change::Set(match (operator, operand) {
            ("$inc", operand) => operand.to_bson(),
            // `$mul` of a missing field yields zero in the type of the operand.
            (_, Number::Int(_)) => Bson::Int32(0),
            (_, Number::Long(_)) => Bson::Int64(0),
            (_, Number::Double(_)) => Bson::Double(0.0),
            (_, Number::Decimal(_)) => Number::Decimal(crate::value::decimal::Decimal::from_i64(0)).to_bson(),
        }));
    };
    let number = Number::from_bson(current).ok_or_else(|| {
        let field = path.rsplit('.').next().unwrap_or(path);
        Error::type_mismatch(format!(
            "Cannot apply {operator} to a value of non-numeric type. {{_id: {id}}} has the field '{field}' of non-numeric type {}",
            type_name(current)
        ))
    })?;
    let result = if operator == "$inc" {
        number.add(operand)
    } else {
        number.multiply(operand)
    };
    let result = result.ok_or_else(|| {
        Error::bad_value(format!(
            "Failed to apply {operator} operations to current value ((NumberLong){}) for document {{_id: {id}}}",
            format::bson(current)
        ))
    })?;
    Ok(Change::Set(result.to_bson()))
}

/// Parses `{and: n}`, `{or: n}` and `{xor: n}`, also combined.
pub(super) fn parse_bit(path: &str, argument: &Bson) -> Result<Action> {
    let Bson::Document(operations) = argument else {
        return Err(Error::bad_value(format!(
            "The $bit modifier is not compatible with a {}. You must pass in an embedded document: {{$bit: {{field: {{and/or/xor: #}}}}",
            type_name(argument)
        )));
    };
    if operations.is_empty() {
        return Err(Error::bad_value(format!(
            "You must pass in at least one bitwise operation. The format is: {{$bit: {{{path}: {{and/or/xor: #}}}}"
        )));
    }
    let parse = |(name, value): (&String, &Bson)| {
        if !matches!(name.as_str(), "and" | "or" | "xor") {
            return Err(Error::bad_value(format!(
                "The $bit modifier only supports 'and', 'or', and 'xor', not '{name}' which is an unknown operator: {{{name}: {}}}",
                format::bson(value)
            )));
        }
        match Number::from_bson(value) {
            Some(number @ (Number::Int(_) | Number::Long(_))) => Ok((name.clone(), number)),
            _ => Err(Error::bad_value(format!(
                "The $bit modifier field must be an Integer(32/64 bit); a '{}' is not supported here: {{{name}: {}}}",
                type_name(value),
                format::bson(value)
            ))),
        }
    };
    operations
        .iter()
        .map(parse)
        .collect::<Result<_>>()
        .map(Action::Bit)
}

/// Returns the new value of a field under `$bit`.
pub(super) fn bit(
    path: &str,
    current: Option<&Bson>,
    operations: &[(String, Number)],
    document: &Document,
) -> Result<Change> {
    let mut value = match current {
        None => Bson::Int32(0),
        Some(value @ (Bson::Int32(_) | Bson::Int64(_))) => value.clone(),
        Some(other) => {
            return Err(Error::bad_value(format!(
                "Cannot apply $bit to a value of non-integral type.{} has the field {path} of non-integer type {}",
                document
                    .get("_id")
                    .map_or_else(String::new, |id| format!("_id: {}", format::bson(id))),
                type_name(other)
            )));
        }
    };
    for (name, operand) in operations {
        let combine = |a: i64, b: i64| match name.as_str() {
            "and" => a & b,
            "or" => a | b,
            _ => a ^ b,
        };
        value = match (&value, operand) {
            (Bson::Int32(a), Number::Int(b)) => Bson::Int32(combine(i64::from(*a), i64::from(*b)) as i32),
            (value, operand) => {
                let current = Number::from_bson(value).map_or(0, Number::to_saturated_i64);
                Bson::Int64(combine(current, operand.to_saturated_i64()))
            }
        };
    }
    Ok(Change::Set(value))
}

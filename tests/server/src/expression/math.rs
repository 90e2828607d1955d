//! Roots, powers, logarithms, trigonometry and bitwise operators. Decimals are not implemented (error
//! 238); the bitwise operators reject them as MongoDB does.

use super::{Function, Scope};
use crate::error::{Error, Result};
use crate::value::number::Number;
use crate::value::{format, is_nullish, type_name};
use bson::Bson;

/// An operator with one argument.
macro_rules! unary {
    ($name:literal, $run:expr) => {
        Function {
            name: $name,
            min: 1,
            max: 1,
            run: $run,
        }
    };
}

pub(super) const FUNCTIONS: &[Function] = &[
    unary!("$sqrt", sqrt),
    unary!("$sigmoid", |a, _| double("$sigmoid", &a[0], |x| 1.0
        / (1.0 + (-x).exp()))),
    unary!("$exp", |a, _| double("$exp", &a[0], f64::exp)),
    unary!("$ln", |a, _| logarithm("$ln", 28766, &a[0], f64::ln)),
    unary!("$log10", |a, _| logarithm("$log10", 28761, &a[0], f64::log10)),
    Function {
        name: "$log",
        min: 2,
        max: 2,
        run: log,
    },
    Function {
        name: "$pow",
        min: 2,
        max: 2,
        run: pow,
    },
    unary!("$sin", |a, _| finite("$sin", &a[0], f64::sin)),
    unary!("$cos", |a, _| finite("$cos", &a[0], f64::cos)),
    unary!("$tan", |a, _| finite("$tan", &a[0], f64::tan)),
    unary!("$asin", |a, _| bounded("$asin", &a[0], f64::asin, -1.0, 1.0)),
    unary!("$acos", |a, _| bounded("$acos", &a[0], f64::acos, -1.0, 1.0)),
    unary!("$atan", |a, _| double("$atan", &a[0], f64::atan)),
    unary!("$sinh", |a, _| double("$sinh", &a[0], f64::sinh)),
    unary!("$cosh", |a, _| double("$cosh", &a[0], f64::cosh)),
    unary!("$tanh", |a, _| double("$tanh", &a[0], f64::tanh)),
    unary!("$asinh", |a, _| double("$asinh", &a[0], f64::asinh)),
    unary!("$acosh", |a, _| bounded(
        "$acosh",
        &a[0],
        f64::acosh,
        1.0,
        f64::INFINITY
    )),
    unary!("$atanh", |a, _| bounded("$atanh", &a[0], f64::atanh, -1.0, 1.0)),
    Function {
        name: "$atan2",
        min: 2,
        max: 2,
        run: atan2,
    },
    unary!("$degreesToRadians", |a, _| double(
        "$degreesToRadians",
        &a[0],
        |degrees| degrees * (std::f64::consts::PI / 180.0)
    )),
    unary!("$radiansToDegrees", |a, _| double(
        "$radiansToDegrees",
        &a[0],
        |radians| radians * (180.0 / std::f64::consts::PI)
    )),
    Function {
        name: "$bitAnd",
        min: 0,
        max: usize::MAX,
        run: |a, _| bitwise("$bitAnd", a, -1, |a, b| a & b),
    },
    Function {
        name: "$bitOr",
        min: 0,
        max: usize::MAX,
        run: |a, _| bitwise("$bitOr", a, 0, |a, b| a | b),
    },
    Function {
        name: "$bitXor",
        min: 0,
        max: usize::MAX,
        run: |a, _| bitwise("$bitXor", a, 0, |a, b| a ^ b),
    },
    unary!("$bitNot", bit_not),
];

/// The number in an argument; `None` if the argument is null or missing. Another type is the error
/// `code`.
pub(super) fn one_number(operator: &str, code: i32, value: &Bson) -> Result<Option<Number>> {
    if is_nullish(value) {
        return Ok(None);
    }
    Number::from_bson(value).map(Some).ok_or_else(|| {
        Error::new(
            code,
            format!("{operator} only supports numeric types, not {}", type_name(value)),
        )
    })
}

/// Applies a function of doubles to a number. The result of null is null.
fn double(operator: &str, value: &Bson, apply: fn(f64) -> f64) -> Result<Bson> {
    match one_number(operator, 28765, value)? {
        None => Ok(Bson::Null),
        Some(Number::Decimal(_)) => Err(Error::not_served(format!("{operator} of a decimal"))),
        Some(number) => Ok(Bson::Double(apply(number.to_f64()))),
    }
}

/// As [`double`] for a logarithm. A number that is not positive is the error `code`.
fn logarithm(operator: &str, code: i32, value: &Bson, apply: fn(f64) -> f64) -> Result<Bson> {
    match Number::from_bson(value) {
        Some(number) if number.to_f64() <= 0.0 => Err(Error::new(
            code,
            format!(
                "{operator}'s argument must be a positive number, but is {}",
                format::short(number.to_f64())
            ),
        )),
        _ => double(operator, value, apply),
    }
}

/// The number in the argument `name` of an operator with several arguments. Another type is the
/// error `code`.
fn named_number(operator: &str, name: &str, code: i32, value: &Bson) -> Result<Number> {
    Number::from_bson(value).ok_or_else(|| {
        Error::new(
            code,
            format!("{operator}'s {name} must be numeric, not {}", type_name(value)),
        )
    })
}

fn log(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    if arguments.iter().any(is_nullish) {
        return Ok(Bson::Null);
    }
    let argument = named_number("$log", "argument", 28756, &arguments[0])?;
    let base = named_number("$log", "base", 28757, &arguments[1])?;
    if argument.to_f64() <= 0.0 {
        return Err(Error::new(
            28758,
            format!(
                "$log's argument must be a positive number, but is {}",
                format::short(argument.to_f64())
            ),
        ));
    }
    if base.to_f64() <= 0.0 || base.to_f64() == 1.0 {
        return Err(Error::new(
            28759,
            format!(
                "$log's base must be a positive number not equal to 1, but is {}",
                format::short(base.to_f64())
            ),
        ));
    }
    match (argument, base) {
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => Err(Error::not_served("$log of decimals")),
        _ => Ok(Bson::Double(argument.to_f64().ln() / base.to_f64().ln())),
    }
}

fn sqrt(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    match Number::from_bson(&arguments[0]) {
        Some(number) if number.to_f64() < 0.0 => Err(Error::new(
            28714,
            "$sqrt's argument must be greater than or equal to 0",
        )),
        _ => double("$sqrt", &arguments[0], f64::sqrt),
    }
}

fn pow(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    if arguments.iter().any(is_nullish) {
        return Ok(Bson::Null);
    }
    let base = named_number("$pow", "base", 28762, &arguments[0])?;
    let exponent = named_number("$pow", "exponent", 28763, &arguments[1])?;
    if base.to_f64() == 0.0 && exponent.to_f64() < 0.0 {
        return Err(Error::new(
            28764,
            "$pow cannot take a base of 0 and a negative exponent",
        ));
    }
    match (base, exponent) {
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            return Err(Error::not_served("$pow of decimals"));
        }
        (Number::Double(_), _) | (_, Number::Double(_)) => {
            return Ok(Bson::Double(base.to_f64().powf(exponent.to_f64())));
        }
        _ => {}
    }
    let only_ints = matches!((base, exponent), (Number::Int(_), Number::Int(_)));
    let power = exponent.to_saturated_i64();
    // The result, if it is an integer that fits in 64 bits.
    let exact = match base.to_saturated_i64() {
        1 => Some(1),
        -1 => Some(if power % 2 == 0 { 1 } else { -1 }),
        0 if power > 0 => Some(0),
        base => u32::try_from(power)
            .ok()
            .and_then(|power| base.checked_pow(power)),
    };
    Ok(match exact {
        Some(value) if only_ints => i32::try_from(value).map_or(Bson::Int64(value), Bson::Int32),
        Some(value) => Bson::Int64(value),
        None => Bson::Double(base.to_f64().powf(power as f64)),
    })
}

fn out_of_bounds(operator: &str, number: f64, bounds: &str) -> Error {
    Error::new(
        50989,
        format!(
            "cannot apply {operator} to {}, value must be in {bounds}",
            format::short(number)
        ),
    )
}

/// As [`double`] for a function that is undefined for infinities.
fn finite(operator: &str, value: &Bson, apply: fn(f64) -> f64) -> Result<Bson> {
    match Number::from_bson(value).map(Number::to_f64) {
        Some(number) if number.is_infinite() => Err(out_of_bounds(operator, number, "(-inf,inf)")),
        _ => double(operator, value, apply),
    }
}

/// As [`double`] for a function that is defined from `min` to `max`.
fn bounded(operator: &str, value: &Bson, apply: fn(f64) -> f64, min: f64, max: f64) -> Result<Bson> {
    match Number::from_bson(value).map(Number::to_f64) {
        Some(number) if number < min || number > max => {
            let bounds = format!("[{},{}]", format::short(min), format::short(max));
            Err(out_of_bounds(operator, number, &bounds))
        }
        _ => double(operator, value, apply),
    }
}

fn atan2(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    let Some(y) = one_number("$atan2", 51044, &arguments[0])? else {
        return Ok(Bson::Null);
    };
    let Some(x) = one_number("$atan2", 51045, &arguments[1])? else {
        return Ok(Bson::Null);
    };
    match (y, x) {
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => Err(Error::not_served("$atan2 of decimals")),
        _ => Ok(Bson::Double(y.to_f64().atan2(x.to_f64()))),
    }
}

/// Combines ints and longs. The result is a long if any argument is one. `identity`: the result
/// without arguments.
fn bitwise(operator: &str, arguments: &[Bson], identity: i32, apply: fn(i64, i64) -> i64) -> Result<Bson> {
    let mut result = i64::from(identity);
    let mut long = false;
    for argument in arguments {
        result = match argument {
            value if is_nullish(value) => return Ok(Bson::Null),
            Bson::Int32(value) => apply(result, i64::from(*value)),
            Bson::Int64(value) => {
                long = true;
                apply(result, *value)
            }
            other => {
                return Err(Error::type_mismatch(format!(
                    "{operator} only supports int and long operands, found {}",
                    type_name(other)
                )));
            }
        };
    }
    // Sign extension commutes with the operators, so the low 32 bits are the result for ints.
    Ok(if long {
        Bson::Int64(result)
    } else {
        Bson::Int32(result as i32)
    })
}

fn bit_not(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    Ok(match one_number("$bitNot", 28765, &arguments[0])? {
        None => Bson::Null,
        Some(Number::Int(value)) => Bson::Int32(!value),
        Some(Number::Long(value)) => Bson::Int64(!value),
        Some(_) => {
            return Err(Error::type_mismatch(format!(
                "$bitNot only supports int and long, not: {}.",
                type_name(&arguments[0])
            )));
        }
    })
}

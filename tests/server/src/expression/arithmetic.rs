//! Arithmetic and rounding operators, and the accumulators that are also expressions.

use super::math::one_number;
use super::{Function, Scope};
use crate::aggregate::accumulator::{Kind, State};
use crate::error::{Error, Result};
use crate::value::decimal::Decimal;
use crate::value::number::{Number, in_i64_range};
use crate::value::{format, is_nullish, type_name};
use bson::{Bson, DateTime};

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "$add",
        min: 0,
        max: usize::MAX,
        run: add,
    },
    Function {
        name: "$subtract",
        min: 2,
        max: 2,
        run: subtract,
    },
    Function {
        name: "$multiply",
        min: 0,
        max: usize::MAX,
        run: multiply,
    },
    Function {
        name: "$divide",
        min: 2,
        max: 2,
        run: divide,
    },
    Function {
        name: "$mod",
        min: 2,
        max: 2,
        run: modulo,
    },
    Function {
        name: "$abs",
        min: 1,
        max: 1,
        run: abs,
    },
    Function {
        name: "$ceil",
        min: 1,
        max: 1,
        run: |a, _| rounded("$ceil", &a[0], f64::ceil, 1),
    },
    Function {
        name: "$floor",
        min: 1,
        max: 1,
        run: |a, _| rounded("$floor", &a[0], f64::floor, -1),
    },
    Function {
        name: "$round",
        min: 1,
        max: 2,
        run: |a, _| round(a, false),
    },
    Function {
        name: "$trunc",
        min: 1,
        max: 2,
        run: |a, _| round(a, true),
    },
    Function {
        name: "$sum",
        min: 0,
        max: usize::MAX,
        run: |a, s| accumulate(Kind::Sum, a, s),
    },
    Function {
        name: "$avg",
        min: 0,
        max: usize::MAX,
        run: |a, s| accumulate(Kind::Avg, a, s),
    },
    Function {
        name: "$min",
        min: 0,
        max: usize::MAX,
        run: |a, s| accumulate(Kind::Min, a, s),
    },
    Function {
        name: "$max",
        min: 0,
        max: usize::MAX,
        run: |a, s| accumulate(Kind::Max, a, s),
    },
    Function {
        name: "$stdDevPop",
        min: 0,
        max: usize::MAX,
        run: |a, s| accumulate(Kind::StdDevPop, a, s),
    },
    Function {
        name: "$stdDevSamp",
        min: 0,
        max: usize::MAX,
        run: |a, s| accumulate(Kind::StdDevSamp, a, s),
    },
];

/// Evaluates an accumulator. A single array argument is replaced with its elements.
fn accumulate(kind: Kind, arguments: &[Bson], scope: &Scope<'_>) -> Result<Bson> {
    let items = match arguments {
        [Bson::Array(items)] => items,
        other => other,
    };
    let mut state = State::new(kind);
    for item in items {
        state.add(item.clone(), scope.env)?;
    }
    Ok(state.finish())
}

fn add(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    let mut sum = Number::Int(0);
    let mut date: Option<DateTime> = None;
    for argument in arguments {
        match argument {
            value if is_nullish(value) => return Ok(Bson::Null),
            Bson::DateTime(_) if date.is_some() => {
                return Err(Error::new(16612, "only one date allowed in an $add expression"));
            }
            Bson::DateTime(at) => date = Some(*at),
            other => {
                let number = Number::from_bson(other).ok_or_else(|| {
                    Error::type_mismatch(format!(
                        "$add only supports numeric or date types, not {}",
                        type_name(other)
                    ))
                })?;
                sum = sum.add_widening(number);
            }
        }
    }
    match date {
        None => Ok(sum.to_bson()),
        Some(at) => shift_date(at, sum),
    }
}

fn shift_date(at: DateTime, by: Number) -> Result<Bson> {
    let millis = match by {
        Number::Double(number) if number.is_finite() && in_i64_range(number) => number.round() as i64,
        Number::Double(_) => return Err(Error::new(15, "date overflow")),
        other => other.to_saturated_i64(),
    };
    at.timestamp_millis()
        .checked_add(millis)
        .map(|millis| Bson::DateTime(DateTime::from_millis(millis)))
        .ok_or_else(|| Error::new(15, "date overflow"))
}

fn subtract(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    let [left, right] = [&arguments[0], &arguments[1]];
    if is_nullish(left) || is_nullish(right) {
        return Ok(Bson::Null);
    }
    if let Bson::DateTime(left) = left {
        return match right {
            Bson::DateTime(right) => Ok(Bson::Int64(
                left.timestamp_millis().saturating_sub(right.timestamp_millis()),
            )),
            other => {
                let number = Number::from_bson(other).ok_or_else(|| {
                    Error::type_mismatch(format!("can't $subtract {} from date", type_name(other)))
                })?;
                let negated = Number::Int(0)
                    .subtract(number)
                    .unwrap_or(Number::Double(-number.to_f64()));
                shift_date(*left, negated)
            }
        };
    }
    match (Number::from_bson(left), Number::from_bson(right)) {
        (Some(left), Some(right)) => Ok(left
            .subtract(right)
            .unwrap_or_else(|| Number::Double(left.to_f64() - right.to_f64()))
            .to_bson()),
        _ => Err(Error::type_mismatch(format!(
            "can't $subtract {} from {}",
            type_name(right),
            type_name(left)
        ))),
    }
}

fn multiply(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    let mut product = Number::Int(1);
    for argument in arguments {
        if is_nullish(argument) {
            return Ok(Bson::Null);
        }
        let number = Number::from_bson(argument).ok_or_else(|| {
            Error::type_mismatch(format!(
                "$multiply only supports numeric types, not {}",
                type_name(argument)
            ))
        })?;
        product = product
            .multiply(number)
            .unwrap_or_else(|| Number::Double(product.to_f64() * number.to_f64()));
    }
    Ok(product.to_bson())
}

fn two_numbers(operator: &str, code: i32, arguments: &[Bson]) -> Result<Option<(Number, Number)>> {
    if arguments.iter().any(is_nullish) {
        return Ok(None);
    }
    match (Number::from_bson(&arguments[0]), Number::from_bson(&arguments[1])) {
        (Some(left), Some(right)) => Ok(Some((left, right))),
        _ => Err(Error::new(
            code,
            format!(
                "{operator} only supports numeric types, not {} and {}",
                type_name(&arguments[0]),
                type_name(&arguments[1])
            ),
        )),
    }
}

fn divide(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    let Some((left, right)) = two_numbers("$divide", 14, arguments)? else {
        return Ok(Bson::Null);
    };
    let zero = match right {
        Number::Decimal(number) => number.is_zero(),
        other => other.to_f64() == 0.0,
    };
    if zero {
        return Err(Error::bad_value("can't $divide by zero"));
    }
    Ok(match (left, right) {
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            Number::Decimal(left.to_decimal().divide(right.to_decimal())).to_bson()
        }
        _ => Bson::Double(left.to_f64() / right.to_f64()),
    })
}

fn modulo(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    let Some((left, right)) = two_numbers("$mod", 16611, arguments)? else {
        return Ok(Bson::Null);
    };
    let (zero, code) = match (left, right) {
        (_, Number::Decimal(right)) => (right.is_zero(), 5_733_415),
        (Number::Decimal(_), right) => (right.to_f64() == 0.0, 5_733_415),
        (_, right) => (right.to_f64() == 0.0, 16610),
    };
    if zero {
        return Err(Error::new(code, "can't $mod by zero"));
    }
    match (left, right) {
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            Ok(Number::Decimal(left.to_decimal().remainder(right.to_decimal())).to_bson())
        }
        (Number::Double(_), _) | (_, Number::Double(_)) => Ok(Bson::Double(left.to_f64() % right.to_f64())),
        (Number::Int(left), Number::Int(right)) => Ok(Bson::Int32(left.checked_rem(right).unwrap_or(0))),
        _ => {
            let rest = left
                .to_saturated_i64()
                .checked_rem(right.to_saturated_i64())
                .unwrap_or(0);
            Ok(Bson::Int64(rest))
        }
    }
}

fn abs(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    let Some(number) = one_number("$abs", 28765, &arguments[0])? else {
        return Ok(Bson::Null);
    };
    Ok(match number {
        Number::Int(number) => number
            .checked_abs()
            .map_or(Bson::Int64(2_147_483_648), Bson::Int32),
        Number::Long(number) => Bson::Int64(
            number
                .checked_abs()
                .ok_or_else(|| Error::new(28680, "can't take $abs of long long min"))?,
        ),
        Number::Double(number) => Bson::Double(number.abs()),
        Number::Decimal(number) => Number::Decimal(if number.is_negative() {
            number.negate()
        } else {
            number
        })
        .to_bson(),
    })
}

/// Rounds to an integer. The sign of `direction` selects the rounding direction of decimals.
fn rounded(operator: &str, value: &Bson, double: fn(f64) -> f64, direction: i64) -> Result<Bson> {
    let Some(number) = one_number(operator, 28765, value)? else {
        return Ok(Bson::Null);
    };
    Ok(match number {
        Number::Double(number) => Bson::Double(double(number)),
        Number::Decimal(number) => {
            let truncated = number.quantize(0, true);
            let towards_zero = number.is_integral() || (direction < 0) != number.is_negative();
            let moved = if towards_zero {
                truncated
            } else {
                truncated.add(Decimal::from_i64(direction))
            };
            Number::Decimal(moved).to_bson()
        }
        number => number.to_bson(),
    })
}

/// The second argument of `$round` and `$trunc`, or `None` if it is null.
fn places(operator: &str, value: &Bson) -> Result<Option<i32>> {
    if is_nullish(value) {
        return Ok(None);
    }
    let number = Number::from_bson(value).ok_or_else(|| {
        Error::new(
            16004,
            format!("can't convert from BSON type {} to long", type_name(value)),
        )
    })?;
    if !number.to_f64().is_finite() {
        return Err(Error::new(
            31109,
            format!(
                "Can't coerce out of range value {} to long",
                format::short(number.to_f64())
            ),
        ));
    }
    let places = number
        .to_exact_i64()
        .and_then(|places| i32::try_from(places).ok())
        .ok_or_else(|| {
            // The two spaces are in the server's message.
            Error::new(
                51082,
                format!("precision argument to  {operator} must be a integral value"),
            )
        })?;
    if !(-20..=100).contains(&places) {
        return Err(Error::new(
            51083,
            format!("cannot apply {operator} with precision value {places} value must be in [-20, 100]"),
        ));
    }
    Ok(Some(places))
}

fn round(arguments: &[Bson], truncate: bool) -> Result<Bson> {
    let operator = if truncate { "$trunc" } else { "$round" };
    let Some(number) = one_number(operator, 51081, &arguments[0])? else {
        return Ok(Bson::Null);
    };
    let places = match arguments.get(1) {
        None => 0,
        Some(value) => match places(operator, value)? {
            None => return Ok(Bson::Null),
            Some(places) => places,
        },
    };
    Ok(match number {
        Number::Double(number) if !number.is_finite() => Bson::Double(number),
        // Rounds the exact decimal digits of the double, as the server does.
        Number::Double(number) => {
            Bson::Double(Decimal::from_f64(number, 34).quantize(places, truncate).to_f64())
        }
        Number::Decimal(number) => Number::Decimal(number.quantize(places, truncate)).to_bson(),
        number if places >= 0 => number.to_bson(),
        number => {
            let kept = number.to_decimal().quantize(places, truncate).truncate_to_i64();
            let kept = kept.ok_or_else(|| {
                Error::new(
                    51080,
                    format!(
                        "invalid conversion from Decimal128 result in {operator} resulting from arguments: [{}, {places}]",
                        number.to_saturated_i64()
                    ),
                )
            })?;
            match number {
                Number::Int(_) => i32::try_from(kept).map_or(Bson::Int64(kept), Bson::Int32),
                _ => Bson::Int64(kept),
            }
        }
    })
}

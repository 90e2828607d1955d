//! The window functions of two variables: `$derivative`, `$integral`, `$covariancePop` and
//! `$covarianceSamp`.

use super::SortBy;
use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::expression::date::{check_unit, unit_millis};
use crate::query::Env;
use crate::value::number::Number;
use crate::value::sum::Sum;
use crate::value::{format, is_nullish, is_number, type_name};
use bson::{Bson, Document, doc};

/// `$derivative` or `$integral` by the `sortBy` field.
#[derive(Debug, Clone)]
pub(super) struct Slope {
    pub(super) input: Expression,
    integral: bool,
    /// The length of the time unit in milliseconds, for dates.
    unit: Option<i64>,
    /// The result for two points, an expression over `x1`, `y1`, `x2` and `y2`.
    step: Expression,
    /// The distance of the points.
    run: Expression,
}

impl Slope {
    pub(super) fn parse(name: &str, argument: &Bson, sort: Option<&SortBy>, env: &Env) -> Result<Slope> {
        match sort {
            None => return Err(Error::failed_to_parse(format!("{name} requires a sortBy"))),
            Some(by) if by.fields != 1 => {
                return Err(Error::failed_to_parse(format!(
                    "{name} requires a non-compound sortBy"
                )));
            }
            Some(_) => {}
        }
        let Bson::Document(fields) = argument else {
            return Err(Error::failed_to_parse(format!(
                "{name} expects an object, but got a {}: {}",
                type_name(argument),
                format::bson(argument)
            )));
        };
        let (mut input, mut unit) = (None, None);
        for (field, value) in fields {
            match (field.as_str(), value) {
                ("input", value) => input = Some(Expression::parse(value, env)?),
                ("unit", Bson::String(name)) => {
                    if matches!(check_unit(name)?, "year" | "quarter" | "month") {
                        return Err(Error::new(5_490_710, "unit must be 'week' or smaller"));
                    }
                    unit = Some(unit_millis(name));
                }
                ("unit", other) => {
                    return Err(Error::failed_to_parse(format!(
                        "'unit' must be a string, but got {}",
                        type_name(other)
                    )));
                }
                (other, _) => {
                    return Err(Error::failed_to_parse(format!(
                        "{name} got unexpected argument: {other}"
                    )));
                }
            }
        }
        let input =
            input.ok_or_else(|| Error::failed_to_parse(format!("{name} requires an 'input' expression")))?;
        let run = doc! { "$subtract": ["$x2", "$x1"] };
        let integral = name == "$integral";
        let step = if integral {
            doc! { "$divide": [{ "$multiply": [run.clone(), { "$add": ["$y1", "$y2"] }] }, 2] }
        } else {
            doc! { "$subtract": ["$y2", "$y1"] }
        };
        Ok(Slope {
            input,
            integral,
            unit,
            step: Expression::parse(&step.into(), env)?,
            run: Expression::parse(&run.into(), env)?,
        })
    }

    /// The result for the positions and values of a window.
    pub(super) fn of(&self, positions: &[Bson], values: &[Bson], env: &Env) -> Result<Bson> {
        if positions.is_empty() {
            return Ok(Bson::Null);
        }
        if self.integral {
            self.integrate(positions, values, env)
        } else {
            self.derive(positions, values, env)
        }
    }

    /// The slope between the first and the last point of the window.
    fn derive(&self, positions: &[Bson], values: &[Bson], env: &Env) -> Result<Bson> {
        let last = positions.len() - 1;
        let is_date = |value: &Bson| matches!(value, Bson::DateTime(_));
        let ends = [&positions[0], &positions[last]];
        if self.unit.is_some() {
            if !ends.iter().all(|end| is_date(end)) {
                return Err(Error::new(
                    5_624_900,
                    "$derivative with 'unit' expects the sortBy field to be a Date",
                ));
            }
        } else if ends.iter().any(|end| is_date(end)) {
            return Err(Error::new(
                5_624_901,
                "$derivative where the sortBy is a Date requires an 'unit'",
            ));
        } else if !ends.iter().all(|end| is_number(end)) {
            return Err(Error::new(
                5_624_902,
                "$derivative (with no 'unit') expects the sortBy field to be numeric",
            ));
        }
        let points = points(ends, [&values[0], &values[last]]);
        let rise = self.step.evaluate(&points, env)?;
        if is_nullish(&rise) {
            return Err(Error::new(
                5_624_903,
                "$derivative input must not be null or missing",
            ));
        }
        let run = self.run.evaluate(&points, env)?;
        if Number::from_bson(&run).is_none_or(|run| run.to_f64() == 0.0) {
            return Ok(Bson::Null);
        }
        let slope = doc! { "$divide": [literal(rise), literal(run)] };
        let slope = match self.unit {
            Some(unit) => doc! { "$multiply": [slope, unit] },
            None => slope,
        };
        Expression::parse(&slope.into(), env)?.evaluate(&Document::new(), env)
    }

    /// The integral over the window by the trapezoidal rule.
    fn integrate(&self, positions: &[Bson], values: &[Bson], env: &Env) -> Result<Bson> {
        for (position, value) in positions.iter().zip(values) {
            let is_date = matches!(position, Bson::DateTime(_));
            if !is_number(value) || !(is_date || is_number(position)) {
                return Err(Error::new(
                    5_423_900,
                    "The input value of $integral window function must be a vector with 2 value, the first value must be numeric \
                     or date type and the second must be numeric.",
                ));
            }
            match (self.unit, is_date) {
                (Some(_), false) => {
                    return Err(Error::new(
                        5_423_901,
                        "$integral with 'unit' expects the sortBy field to be a Date",
                    ));
                }
                (None, true) => {
                    return Err(Error::new(
                        5_423_902,
                        "$integral (with no 'unit') expects the sortBy field to be numeric",
                    ));
                }
                _ => {}
            }
        }
        let mut sum = Sum::new();
        for (x, y) in positions.windows(2).zip(values.windows(2)) {
            let area = self.step.evaluate(&points([&x[0], &x[1]], [&y[0], &y[1]]), env)?;
            if let Some(area) = Number::from_bson(&area) {
                sum.add(area);
            }
        }
        let total = sum.total();
        match self.unit {
            None => Ok(total),
            Some(unit) => {
                let scaled = doc! { "$divide": [literal(total), unit] };
                Expression::parse(&scaled.into(), env)?.evaluate(&Document::new(), env)
            }
        }
    }
}

fn literal(value: Bson) -> Document {
    doc! { "$literal": value }
}

fn points(x: [&Bson; 2], y: [&Bson; 2]) -> Document {
    doc! { "x1": x[0].clone(), "y1": y[0].clone(), "x2": x[1].clone(), "y2": y[1].clone() }
}

/// `$covariancePop` and `$covarianceSamp`.
#[derive(Debug, Clone)]
pub(super) struct Covariance {
    pub(super) input: Expression,
    sample: bool,
}

impl Covariance {
    pub(super) fn parse(name: &str, argument: &Bson, env: &Env) -> Result<Covariance> {
        Ok(Covariance {
            input: Expression::parse(argument, env)?,
            sample: name == "$covarianceSamp",
        })
    }

    /// The covariance of the pairs of numbers. Other values are ignored.
    pub(super) fn of(&self, values: &[Bson]) -> Result<Bson> {
        let (mut count, mut means, mut products) = (0_u64, (0.0, 0.0), 0.0);
        for value in values {
            let Bson::Array(pair) = value else { continue };
            let [x, y] = pair.as_slice() else { continue };
            let (Some(x), Some(y)) = (Number::from_bson(x), Number::from_bson(y)) else {
                continue;
            };
            if matches!((x, y), (Number::Decimal(_), _) | (_, Number::Decimal(_))) {
                return Err(Error::not_served("the covariance of decimals"));
            }
            let (x, y) = (x.to_f64(), y.to_f64());
            count += 1;
            let from_mean = x - means.0;
            means.0 += from_mean / count as f64;
            means.1 += (y - means.1) / count as f64;
            products += from_mean * (y - means.1);
        }
        let divisor = count.saturating_sub(u64::from(self.sample));
        Ok(if divisor == 0 {
            Bson::Null
        } else {
            Bson::Double(products / divisor as f64)
        })
    }
}

//! The window functions without a window: `$rank`, `$denseRank`, `$documentNumber`, `$shift` and
//! `$expMovingAvg`.

use super::{Partition, SortBy};
use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::query::Env;
use crate::value::decimal::Decimal;
use crate::value::number::Number;
use crate::value::{format, type_name};
use bson::{Bson, Document};

/// A function of the position in the partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    /// `$rank`: documents that are tied have the same rank, and are counted.
    Standard,
    /// `$denseRank`: without gaps after documents that are tied.
    Dense,
    /// `$documentNumber`
    Number,
}

impl Rank {
    pub(super) fn parse(name: &str, spec: &Document, sort: Option<&SortBy>) -> Result<Rank> {
        if spec.len() != 1 {
            return Err(Error::new(
                5_371_601,
                "Rank style window functions take no other arguments",
            ));
        }
        if !matches!(spec.get(name), Some(Bson::Document(argument)) if argument.is_empty()) {
            return Err(Error::new(
                5_371_603,
                format!("{name} must be specified with '{{}}' as the value"),
            ));
        }
        if sort.is_none_or(|by| by.fields != 1) {
            return Err(Error::new(
                5_371_602,
                format!(
                    "{name} must be specified with a top level sortBy expression with exactly one element"
                ),
            ));
        }
        Ok(match name {
            "$rank" => Rank::Standard,
            "$denseRank" => Rank::Dense,
            _ => Rank::Number,
        })
    }

    pub(super) fn of(self, partition: &Partition<'_>, env: &Env) -> Result<Vec<Bson>> {
        let mut rank = 0_i64;
        let mut ranks = Vec::with_capacity(partition.documents.len());
        for at in 0..partition.documents.len() {
            let tied = match at.checked_sub(1) {
                Some(before) => partition.is_tied(at, before, env)?,
                None => false,
            };
            match self {
                Rank::Number => rank += 1,
                _ if tied => {}
                Rank::Standard => rank = at as i64 + 1,
                Rank::Dense => rank += 1,
            }
            ranks.push(i32::try_from(rank).map_or(Bson::Int64(rank), Bson::Int32));
        }
        Ok(ranks)
    }
}

/// `$shift`: the value of another document of the partition.
#[derive(Debug, Clone)]
pub(super) struct Shift {
    pub(super) output: Expression,
    by: i64,
    default: Bson,
}

impl Shift {
    pub(super) fn parse(argument: &Bson, sort: Option<&SortBy>, env: &Env) -> Result<Shift> {
        if sort.is_none() {
            return Err(Error::failed_to_parse("'$shift' requires a sortBy"));
        }
        let Bson::Document(fields) = argument else {
            return Err(Error::failed_to_parse("Argument to $shift must be an object"));
        };
        let (mut output, mut by, mut default) = (None, None, Bson::Null);
        for (name, value) in fields {
            match name.as_str() {
                "output" => output = Some(Expression::parse(value, env)?),
                "by" => {
                    by = Number::from_bson(value).and_then(Number::to_exact_i64);
                    if by.is_none() {
                        return Err(Error::failed_to_parse(format!(
                            "'$shift:by' field must be an integer, but found type {}",
                            type_name(value)
                        )));
                    }
                }
                "default" => {
                    let expression = Expression::parse(value, env)?;
                    if !expression.is_constant() {
                        return Err(Error::failed_to_parse(
                            "'$shift:default' expression must yield a constant value.",
                        ));
                    }
                    default = expression.evaluate(&Document::new(), env)?;
                }
                other => {
                    return Err(Error::failed_to_parse(format!(
                        "Unknown argument in $shift: {other}"
                    )));
                }
            }
        }
        let (Some(output), Some(by)) = (output, by) else {
            return Err(Error::failed_to_parse(
                "$shift requires the fields 'output' and 'by'",
            ));
        };
        Ok(Shift { output, by, default })
    }

    pub(super) fn of(&self, values: &[Bson]) -> Vec<Bson> {
        (0..values.len())
            .map(|at| {
                let source = (at as i64)
                    .checked_add(self.by)
                    .and_then(|index| usize::try_from(index).ok());
                source
                    .and_then(|index| values.get(index))
                    .unwrap_or(&self.default)
                    .clone()
            })
            .collect()
    }
}

/// `$expMovingAvg`
#[derive(Debug, Clone)]
pub(super) struct MovingAverage {
    pub(super) input: Expression,
    /// The weight of the current value.
    alpha: Decimal,
}

impl MovingAverage {
    pub(super) fn parse(argument: &Bson, sort: Option<&SortBy>, env: &Env) -> Result<MovingAverage> {
        let Bson::Document(fields) = argument else {
            return Err(Error::failed_to_parse(
                "$expMovingAvg must have exactly one argument that is an object",
            ));
        };
        let malformed = || {
            Error::failed_to_parse(
                "$expMovingAvg sub object must have exactly two fields: An 'input' field, and either an 'N' field or an 'alpha' field",
            )
        };
        let input = fields
            .get("input")
            .filter(|_| fields.len() == 2)
            .ok_or_else(malformed)?;
        if sort.is_none() {
            return Err(Error::failed_to_parse(
                "$expMovingAvg requires an explicit 'sortBy'",
            ));
        }
        let alpha = match (fields.get("N"), fields.get("alpha")) {
            (Some(count), _) => {
                let shown = format::bson(count);
                let number = Number::from_bson(count).and_then(Number::to_exact_i64).ok_or_else(|| {
                    Error::failed_to_parse(format!(
                        "'N' field must be an integer, but found  {shown}. To use a non-integer, use the 'alpha' argument instead"
                    ))
                })?;
                if number <= 0 {
                    return Err(Error::failed_to_parse(format!(
                        "'N' must be greater than zero. Got {shown}"
                    )));
                }
                Decimal::from_i64(2).divide(Decimal::from_i64(number.saturating_add(1)))
            }
            (None, Some(alpha)) => {
                let number = Number::from_bson(alpha)
                    .ok_or_else(|| Error::failed_to_parse("'alpha' must be a number"))?;
                let float = number.to_f64();
                if !(float > 0.0 && float < 1.0) {
                    return Err(Error::failed_to_parse(format!(
                        "'alpha' must be between 0 and 1 (exclusive), found {}",
                        format::bson(alpha)
                    )));
                }
                number.to_decimal()
            }
            (None, None) => return Err(malformed()),
        };
        Ok(MovingAverage {
            input: Expression::parse(input, env)?,
            alpha,
        })
    }

    /// The running averages. Values that are not numbers do not change the average.
    pub(super) fn of(&self, values: &[Bson]) -> Result<Vec<Bson>> {
        let mut average: Option<Number> = None;
        let mut averages = Vec::with_capacity(values.len());
        for value in values {
            if let Some(number) = Number::from_bson(value) {
                average = Some(match average {
                    None => number,
                    Some(before @ Number::Decimal(_)) => self.next_decimal(before, number),
                    Some(before) if matches!(number, Number::Decimal(_)) => self.next_decimal(before, number),
                    Some(before) => {
                        let alpha = self.alpha.to_f64();
                        Number::Double(number.to_f64() * alpha + before.to_f64() * (1.0 - alpha))
                    }
                });
            }
            averages.push(average.map_or(Bson::Null, Number::to_bson));
        }
        Ok(averages)
    }

    fn next_decimal(&self, before: Number, number: Number) -> Number {
        let rest = Decimal::from_i64(1).add(self.alpha.negate());
        let current = number.to_decimal().multiply(self.alpha);
        Number::Decimal(current.add(before.to_decimal().multiply(rest)))
    }
}

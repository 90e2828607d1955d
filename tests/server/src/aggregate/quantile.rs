//! `$percentile` and `$median`, as accumulators and as expressions. The ranks are exact, as the
//! method `approximate` allows and as MongoDB computes for few values.

use crate::error::{Error, Result, code};
use crate::expression::Expression;
use crate::query::Env;
use crate::value::format;
use crate::value::number::Number;
use bson::{Bson, Document};

/// A parsed `$percentile` or `$median`.
#[derive(Debug, Clone)]
pub(crate) struct Quantile {
    pub(crate) input: Expression,
    /// The percentiles from 0 to 1; `None` for `$median`, whose result is not an array.
    percentiles: Option<Vec<f64>>,
}

impl Quantile {
    /// Parses the argument of the operator; `parse` parses the expressions in it.
    pub(crate) fn parse(
        operator: &str,
        argument: &Bson,
        env: &Env,
        parse: &mut dyn FnMut(&Bson) -> Result<Expression>,
    ) -> Result<Quantile> {
        let Bson::Document(fields) = argument else {
            return Err(Error::new(
                if operator == "$median" {
                    7_436_100
                } else {
                    7_436_200
                },
                format!(
                    "specification must be an object; found {operator}: {}",
                    format::bson(argument)
                ),
            ));
        };
        let required: &[&str] = if operator == "$median" {
            &["input", "method"]
        } else {
            &["input", "p", "method"]
        };
        if let Some(name) = fields.keys().find(|name| !required.contains(&name.as_str())) {
            return Err(Error::new(
                code::UNKNOWN_FIELD,
                format!("BSON field '{operator}.{name}' is an unknown field."),
            ));
        }
        if let Some(name) = required.iter().find(|name| !fields.contains_key(*name)) {
            return Err(Error::new(
                code::MISSING_FIELD,
                format!("BSON field '{operator}.{name}' is missing but a required field"),
            ));
        }
        match fields.get("method") {
            Some(Bson::String(method)) if method == "approximate" => {}
            Some(Bson::String(_)) => {
                return Err(Error::bad_value(
                    "Currently only 'approximate' can be used as percentile 'method'.",
                ));
            }
            other => {
                return Err(Error::type_mismatch(format!(
                    "BSON field '{operator}.method' is the wrong type '{}', expected type 'string'",
                    other.map_or("missing", crate::value::type_name)
                )));
            }
        }
        let percentiles = match fields.get("p") {
            Some(value) => Some(percentiles(value, env, parse)?),
            None => None,
        };
        Ok(Quantile {
            input: parse(fields.get("input").unwrap_or(&Bson::Null))?,
            percentiles,
        })
    }

    /// Adds an input to the values; ignores inputs that are not numbers.
    pub(crate) fn add(values: &mut Vec<f64>, input: &Bson) {
        if let Some(number) = Number::from_bson(input) {
            values.extend(Some(number.to_f64()).filter(|number| !number.is_nan()));
        }
    }

    /// The result for the values; null if there are none.
    pub(crate) fn finish(&self, mut values: Vec<f64>) -> Bson {
        values.sort_by(f64::total_cmp);
        let ranked = |percentile: f64| {
            let rank = (percentile * values.len() as f64).ceil() as usize;
            let rank = rank.clamp(1, values.len().max(1)) - 1;
            values.get(rank).copied().map_or(Bson::Null, Bson::Double)
        };
        match &self.percentiles {
            None => ranked(0.5),
            Some(percentiles) => Bson::Array(percentiles.iter().copied().map(ranked).collect()),
        }
    }

    /// The result for the elements of an array or a single number.
    pub(crate) fn of_value(&self, input: &Bson) -> Bson {
        let mut values = Vec::new();
        match input {
            Bson::Array(items) => items.iter().for_each(|item| Self::add(&mut values, item)),
            other => Self::add(&mut values, other),
        }
        self.finish(values)
    }
}

fn percentiles(
    value: &Bson,
    env: &Env,
    parse: &mut dyn FnMut(&Bson) -> Result<Expression>,
) -> Result<Vec<f64>> {
    let expression = parse(value)?;
    if !expression.is_constant() {
        return Err(Error::new(
            7_750_300,
            format!(
                "The $percentile 'p' field must be an array of constant values, but found value: {}.",
                format::bson(value)
            ),
        ));
    }
    let value = expression.evaluate(&Document::new(), env)?;
    let invalid = |code: i32, value: &Bson| {
        Error::new(
            code,
            format!(
                "The $percentile 'p' field must be an array of numbers from [0.0, 1.0], but found: {}",
                format::bson(value)
            ),
        )
    };
    match &value {
        Bson::Array(items) if !items.is_empty() => items
            .iter()
            .map(|item| match Number::from_bson(item).map(Number::to_f64) {
                None => Err(invalid(7_750_302, item)),
                Some(number) if (0.0..=1.0).contains(&number) => Ok(number),
                Some(_) => Err(invalid(7_750_303, item)),
            })
            .collect(),
        other => Err(invalid(7_750_301, other)),
    }
}

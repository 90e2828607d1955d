//! `$bucketAuto`: groups documents by ascending values into buckets of about the same size.

use super::accumulator::Accumulator;
use super::granularity::Granularity;
use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::query::Env;
use crate::value::compare::{compare, equal};
use crate::value::format;
use crate::value::number::Number;
use bson::{Bson, Document, doc};

/// A `$bucketAuto` stage.
#[derive(Debug, Clone)]
pub(crate) struct BucketAuto {
    by: Expression,
    buckets: usize,
    granularity: Option<Granularity>,
    accumulators: Vec<Accumulator>,
}

impl BucketAuto {
    pub(super) fn parse(spec: &Document, env: &Env) -> Result<BucketAuto> {
        let (mut by, mut buckets, mut output, mut granularity) = (None, None, None, None);
        for (name, value) in spec {
            match (name.as_str(), value) {
                ("groupBy", value) => by = Some(group_by(value, env)?),
                ("buckets", value) => buckets = Some(count(value)?),
                ("output", Bson::Document(fields)) => output = Some(fields),
                ("output", other) => {
                    return Err(Error::new(
                        40244,
                        format!(
                            "The $bucketAuto 'output' field must be an object, but found type: {}",
                            crate::value::type_name(other)
                        ),
                    ));
                }
                ("granularity", Bson::String(name)) => granularity = Some(Granularity::parse(name)?),
                ("granularity", other) => {
                    return Err(Error::new(
                        40261,
                        format!(
                            "The $bucketAuto 'granularity' field must be a string, but found type: {}",
                            crate::value::type_name(other)
                        ),
                    ));
                }
                (other, _) => {
                    return Err(Error::new(
                        40245,
                        format!("Unrecognized option to $bucketAuto: {other}."),
                    ));
                }
            }
        }
        let (Some(by), Some(buckets)) = (by, buckets) else {
            return Err(Error::new(
                40246,
                "$bucketAuto requires 'groupBy' and 'buckets' to be specified.",
            ));
        };
        let counted = doc! { "count": { "$sum": 1 } };
        let accumulators = output
            .filter(|output| !output.is_empty())
            .unwrap_or(&counted)
            .iter()
            .map(|(name, value)| Accumulator::parse(name, value, env))
            .collect::<Result<_>>()?;
        Ok(BucketAuto {
            by,
            buckets,
            granularity,
            accumulators,
        })
    }

    pub(super) fn run(&self, documents: Vec<Document>, env: &Env) -> Result<Vec<Document>> {
        let collation = env.collation.as_ref();
        let mut keyed = Vec::with_capacity(documents.len());
        for (position, document) in documents.into_iter().enumerate() {
            let key = match self.by.evaluate(&document, env)? {
                Bson::Undefined => Bson::Null,
                key => key,
            };
            if self.granularity.is_some() {
                check_number(&key)?;
            }
            keyed.push((key, position, document));
        }
        keyed.sort_by(|a, b| compare(&a.0, &b.0, collation));
        let size = (keyed.len() as f64 / self.buckets as f64).round().max(1.0) as usize;
        let mut rows = Vec::new();
        let mut begin = 0;
        while begin < keyed.len() && rows.len() < self.buckets {
            let mut end = (begin + size).min(keyed.len());
            if rows.len() + 1 == self.buckets {
                end = keyed.len();
            }
            // Equal values are in the same bucket.
            while end < keyed.len() && equal(&keyed[end].0, &keyed[end - 1].0, collation) {
                end += 1;
            }
            // The upper bound is the first value of the next bucket, or the last value for the last
            // bucket.
            let mut upper = keyed.get(end).unwrap_or(&keyed[end - 1]).0.clone();
            let mut lower = keyed[begin].0.clone();
            if let Some(granularity) = &self.granularity {
                upper = Bson::Double(granularity.above(number(&keyed[end - 1].0)));
                // Values below the rounded bound belong to this bucket too.
                while end < keyed.len() && compare(&keyed[end].0, &upper, None).is_lt() {
                    end += 1;
                }
                if let Some((next, _, _)) = keyed.get(end)
                    && number(&upper) == 0.0
                {
                    upper = Bson::Double(granularity.below(number(next)));
                }
                let previous = rows
                    .last()
                    .and_then(|row: &Document| row.get_document("_id").ok());
                lower = match previous.and_then(|bounds| bounds.get("max")) {
                    Some(previous) => previous.clone(),
                    None if number(&lower) == 0.0 => lower,
                    None => Bson::Double(granularity.below(number(&lower))),
                };
            }
            // Accumulators process documents in input order.
            let bucket = &mut keyed[begin..end];
            bucket.sort_by_key(|(_, position, _)| *position);
            rows.push(self.row(lower, upper, bucket, env)?);
            begin = end;
        }
        Ok(rows)
    }

    fn row(
        &self,
        lower: Bson,
        upper: Bson,
        bucket: &[(Bson, usize, Document)],
        env: &Env,
    ) -> Result<Document> {
        let mut row = doc! { "_id": { "min": lower, "max": upper } };
        for accumulator in &self.accumulators {
            let mut state = accumulator.start(&Bson::Null, env)?;
            for (_, _, document) in bucket {
                accumulator.add(&mut state, document, env)?;
            }
            row.insert(&accumulator.name, accumulator.finish(state)?);
        }
        Ok(row)
    }
}

fn number(value: &Bson) -> f64 {
    Number::from_bson(value).map_or(0.0, Number::to_f64)
}

/// Fails if a value cannot be rounded to a granularity.
fn check_number(value: &Bson) -> Result<()> {
    let Some(number) = Number::from_bson(value).map(Number::to_f64) else {
        return Err(Error::new(
            40258,
            format!(
                "$bucketAuto can specify a 'granularity' with numeric boundaries only, but found a value with type: {}",
                crate::value::type_name(value)
            ),
        ));
    };
    if number.is_nan() {
        return Err(Error::new(
            40259,
            "$bucketAuto can specify a 'granularity' with numeric boundaries only, but found a NaN",
        ));
    }
    if number < 0.0 {
        return Err(Error::new(
            40260,
            "$bucketAuto can specify a 'granularity' with non-negative numbers only",
        ));
    }
    if number.is_infinite() || matches!(value, Bson::Decimal128(_)) {
        return Err(Error::not_served("a granularity for decimals and infinities"));
    }
    Ok(())
}

fn group_by(value: &Bson, env: &Env) -> Result<Expression> {
    let is_expression = match value {
        Bson::String(text) => text.starts_with('$'),
        Bson::Document(fields) => fields.keys().next().is_some_and(|name| name.starts_with('$')),
        _ => false,
    };
    if !is_expression {
        return Err(Error::new(
            40239,
            format!(
                "The $bucketAuto 'groupBy' field must be defined as a $-prefixed path or an expression object, but found: {}",
                format::bson(value)
            ),
        ));
    }
    Expression::parse(value, env)
}

fn count(value: &Bson) -> Result<usize> {
    let number = Number::from_bson(value).ok_or_else(|| {
        Error::new(
            40241,
            format!(
                "The $bucketAuto 'buckets' field must be a numeric value, but found type: {}",
                crate::value::type_name(value)
            ),
        )
    })?;
    let count = number
        .to_exact_i64()
        .and_then(|count| i32::try_from(count).ok())
        .ok_or_else(|| {
            Error::new(
                40242,
                format!(
                    "The $bucketAuto 'buckets' field must be representable as a 32-bit integer, but found {}",
                    format::bson(value)
                ),
            )
        })?;
    usize::try_from(count)
        .ok()
        .filter(|count| *count > 0)
        .ok_or_else(|| {
            Error::new(
                40243,
                format!("The $bucketAuto 'buckets' field must be greater than 0, but found: {count}"),
            )
        })
}

//! The functions of `$setWindowFields`: parsed from the output specification, then evaluated for
//! all documents of a partition.

use super::bounds::Bounds;
use super::calculus::{Covariance, Slope};
use super::sequence::{MovingAverage, Rank, Shift};
use super::{Partition, SortBy};
use crate::aggregate::accumulator::Accumulator;
use crate::aggregate::fill::{check_points, interpolated, line};
use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::features::Feature;
use crate::query::Env;
use crate::value::is_nullish;
use bson::{Bson, Document};

/// A window function.
#[derive(Debug, Clone)]
pub(super) enum Function {
    Accumulate(Accumulator, Bounds),
    Covariance(Covariance, Bounds),
    /// `$derivative` and `$integral`.
    Slope(Box<Slope>, Bounds),
    Rank(Rank),
    Shift(Box<Shift>),
    MovingAverage(MovingAverage),
    /// Input, and the line between two points.
    LinearFill(Expression, Expression),
    /// `$locf`
    LastObserved(Expression),
}

/// The functions that are accumulators with the whole window as their group.
const ACCUMULATORS: [&str; 21] = [
    "$sum",
    "$avg",
    "$min",
    "$max",
    "$count",
    "$push",
    "$addToSet",
    "$first",
    "$last",
    "$stdDevPop",
    "$stdDevSamp",
    "$firstN",
    "$lastN",
    "$minN",
    "$maxN",
    "$top",
    "$topN",
    "$bottom",
    "$bottomN",
    "$percentile",
    "$median",
];

/// The other functions.
const OTHERS: [&str; 11] = [
    "$rank",
    "$denseRank",
    "$documentNumber",
    "$shift",
    "$derivative",
    "$integral",
    "$expMovingAvg",
    "$covariancePop",
    "$covarianceSamp",
    "$linearFill",
    "$locf",
];

impl Function {
    pub(super) fn parse(spec: &Document, sort: Option<&SortBy>, env: &Env) -> Result<Function> {
        let Some(name) = spec.keys().find(|name| name.starts_with('$')) else {
            let first = spec.keys().next().map(|name| format!(", {name}"));
            return Err(Error::failed_to_parse(format!(
                "Expected a $-prefixed window function{}",
                first.unwrap_or_default()
            )));
        };
        let known = |name: &str| ACCUMULATORS.contains(&name) || OTHERS.contains(&name);
        let version = env.profile.version;
        if !known(name) || !Feature::WindowFunction.is_in(name, version) {
            return Err(Feature::WindowFunction.refuse(name, version, || {
                Error::failed_to_parse(format!("Unrecognized window function, {name}"))
            }));
        }
        if matches!(name.as_str(), "$rank" | "$denseRank" | "$documentNumber") {
            return Rank::parse(name, spec, sort).map(Function::Rank);
        }
        if let Some(other) = spec.keys().find(|other| *other != name && *other != "window") {
            return Err(Error::failed_to_parse(if known(other) {
                "Cannot specify two functions in window function spec".to_owned()
            } else {
                format!("Window function found an unknown argument: {other}")
            }));
        }
        let window = spec.get("window");
        let argument = spec.get(name).unwrap_or(&Bson::Null);
        if window.is_some()
            && matches!(
                name.as_str(),
                "$linearFill" | "$locf" | "$shift" | "$expMovingAvg"
            )
        {
            return Err(Error::failed_to_parse(format!(
                "'window' field is not allowed in {name}"
            )));
        }
        let bounds = || match window {
            Some(window) => Bounds::parse(window, sort, env),
            None => Ok(Bounds::ALL),
        };
        Ok(match name.as_str() {
            "$shift" => Function::Shift(Box::new(Shift::parse(argument, sort, env)?)),
            "$expMovingAvg" => Function::MovingAverage(MovingAverage::parse(argument, sort, env)?),
            "$derivative" | "$integral" => {
                let slope = Slope::parse(name, argument, sort, env)?;
                if window.is_none() && name == "$derivative" {
                    return Err(Error::failed_to_parse(
                        "$derivative requires explicit window bounds",
                    ));
                }
                Function::Slope(Box::new(slope), bounds()?)
            }
            "$covariancePop" | "$covarianceSamp" => {
                Function::Covariance(Covariance::parse(name, argument, env)?, bounds()?)
            }
            "$linearFill" => {
                if sort.is_none_or(|by| by.fields != 1) {
                    return Err(Error::new(
                        605_001,
                        "$linearFill must be specified with a top level sortBy expression with exactly one element",
                    ));
                }
                Function::LinearFill(Expression::parse(argument, env)?, line(env)?)
            }
            "$locf" => Function::LastObserved(Expression::parse(argument, env)?),
            _ => Function::Accumulate(Accumulator::parse_window(name, argument, env)?, bounds()?),
        })
    }

    /// The value of each document of the partition.
    pub(super) fn evaluate(&self, partition: &Partition<'_>, env: &Env) -> Result<Vec<Bson>> {
        let inputs = |input: &Expression| {
            let values = partition
                .documents
                .iter()
                .map(|document| input.evaluate(document, env));
            values.collect::<Result<Vec<_>>>()
        };
        match self {
            Function::Accumulate(accumulator, bounds) => (0..partition.documents.len())
                .map(|at| {
                    let mut state = accumulator.start(&Bson::Null, env)?;
                    for document in &partition.documents[bounds.window(partition, at)?] {
                        accumulator.add(&mut state, document, env)?;
                    }
                    accumulator.finish(state)
                })
                .collect(),
            Function::Covariance(covariance, bounds) => {
                let values = inputs(&covariance.input)?;
                (0..values.len())
                    .map(|at| covariance.of(&values[bounds.window(partition, at)?]))
                    .collect()
            }
            Function::Slope(slope, bounds) => {
                let values = inputs(&slope.input)?;
                (0..values.len())
                    .map(|at| {
                        let window = bounds.window(partition, at)?;
                        slope.of(&partition.positions[window.clone()], &values[window], env)
                    })
                    .collect()
            }
            Function::Rank(rank) => rank.of(partition, env),
            Function::Shift(shift) => Ok(shift.of(&inputs(&shift.output)?)),
            Function::MovingAverage(average) => average.of(&inputs(&average.input)?),
            Function::LinearFill(input, line) => {
                let values = inputs(input)?;
                let points: Vec<(Bson, Bson)> = partition.positions.iter().cloned().zip(values).collect();
                check_points(&points)?;
                let filled = interpolated(&points, line, env)?;
                let values = filled.into_iter().zip(points);
                Ok(values.map(|(filled, (_, y))| filled.unwrap_or(y)).collect())
            }
            Function::LastObserved(input) => {
                let mut last = Bson::Null;
                let mut filled = inputs(input)?;
                for value in &mut filled {
                    if is_nullish(value) {
                        value.clone_from(&last);
                    } else {
                        last.clone_from(value);
                    }
                }
                Ok(filled)
            }
        }
    }
}

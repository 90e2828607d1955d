//! Accumulators of `$group`, `$bucket` and `$bucketAuto`. Some are also expression operators.

use super::choice::{Chooser, Chosen};
use super::quantile::Quantile;
use crate::error::{Error, Result, code};
use crate::expression::Expression;
use crate::features::Feature;
use crate::query::Env;
use crate::value::compare::{compare, equal};
use crate::value::is_nullish;
use crate::value::number::Number;
use crate::value::sum::Sum;
use bson::{Bson, Document};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sum,
    Avg,
    Min,
    Max,
    First,
    Last,
    Push,
    AddToSet,
    Count,
    MergeObjects,
    StdDevPop,
    StdDevSamp,
}

/// One output field of a group.
#[derive(Debug, Clone)]
pub(crate) struct Accumulator {
    pub(crate) name: String,
    operation: Operation,
}

#[derive(Debug, Clone)]
enum Operation {
    Plain(Kind, Expression),
    Choose(Box<Chooser>),
    Quantile(Box<Quantile>),
}

/// The state of one accumulator for one group.
#[derive(Debug, Clone)]
pub(super) enum GroupState {
    Plain(State),
    Chosen(Chosen),
    Values(Vec<f64>),
}

impl Kind {
    pub(crate) fn parse(operator: &str) -> Option<Kind> {
        Some(match operator {
            "$sum" => Kind::Sum,
            "$avg" => Kind::Avg,
            "$min" => Kind::Min,
            "$max" => Kind::Max,
            "$first" => Kind::First,
            "$last" => Kind::Last,
            "$push" => Kind::Push,
            "$addToSet" => Kind::AddToSet,
            "$count" => Kind::Count,
            "$mergeObjects" => Kind::MergeObjects,
            "$stdDevPop" => Kind::StdDevPop,
            "$stdDevSamp" => Kind::StdDevSamp,
            _ => return None,
        })
    }
}

fn unknown(operator: &str) -> Error {
    Error::new(15952, format!("unknown group operator '{operator}'"))
}

impl Accumulator {
    pub(super) fn parse(name: &str, spec: &Bson, env: &Env) -> Result<Accumulator> {
        if name.contains('.') {
            return Err(Error::new(
                40235,
                format!("The field name '{name}' cannot contain '.'"),
            ));
        }
        if name.starts_with('$') {
            return Err(Error::new(
                40236,
                format!("The field name '{name}' cannot be an operator name"),
            ));
        }
        let Bson::Document(spec) = spec else {
            return Err(Error::new(
                40234,
                format!("The field '{name}' must be an accumulator object"),
            ));
        };
        let mut fields = spec.iter();
        let (Some((operator, argument)), None) = (fields.next(), fields.next()) else {
            return Err(Error::new(
                40238,
                format!("The field '{name}' must specify one accumulator"),
            ));
        };
        if !operator.starts_with('$') {
            return Err(Error::new(
                40234,
                format!("The field '{name}' must be an accumulator object"),
            ));
        }
        if matches!(argument, Bson::Array(_)) {
            return Err(Error::new(
                40237,
                format!("The {operator} accumulator is a unary operator"),
            ));
        }
        if !Feature::Accumulator.is_in(operator, env.profile.version) {
            return Err(unknown(operator));
        }
        Ok(Accumulator {
            name: name.to_owned(),
            operation: Operation::parse(operator, argument, env)?,
        })
    }

    /// Parses an accumulator of a window.
    pub(super) fn parse_window(operator: &str, argument: &Bson, env: &Env) -> Result<Accumulator> {
        Ok(Accumulator {
            name: String::new(),
            operation: Operation::parse(operator, argument, env)?,
        })
    }

    /// The initial state for the group with this `_id`.
    pub(super) fn start(&self, id: &Bson, env: &Env) -> Result<GroupState> {
        Ok(match &self.operation {
            Operation::Plain(kind, _) => GroupState::Plain(State::new(*kind)),
            Operation::Choose(chooser) => GroupState::Chosen(chooser.start(id, env)?),
            Operation::Quantile(_) => GroupState::Values(Vec::new()),
        })
    }

    /// Adds the value of a document.
    pub(super) fn add(&self, state: &mut GroupState, document: &Document, env: &Env) -> Result<()> {
        match (&self.operation, state) {
            (Operation::Plain(_, argument), GroupState::Plain(state)) => {
                state.add(argument.evaluate(document, env)?, env)
            }
            (Operation::Choose(chooser), GroupState::Chosen(chosen)) => chooser.add(chosen, document, env),
            (Operation::Quantile(quantile), GroupState::Values(values)) => {
                Quantile::add(values, &quantile.input.evaluate(document, env)?);
                Ok(())
            }
            _ => Err(state_mismatch()),
        }
    }

    pub(super) fn finish(&self, state: GroupState) -> Result<Bson> {
        match (&self.operation, state) {
            (Operation::Plain(..), GroupState::Plain(state)) => Ok(state.finish()),
            (Operation::Choose(chooser), GroupState::Chosen(chosen)) => Ok(chooser.finish(chosen)),
            (Operation::Quantile(quantile), GroupState::Values(values)) => Ok(quantile.finish(values)),
            _ => Err(state_mismatch()),
        }
    }
}

fn state_mismatch() -> Error {
    Error::new(code::INTERNAL_ERROR, "the state belongs to another accumulator")
}

impl Operation {
    /// Parses the operator and argument of an accumulator. Whether the version has the operator as
    /// an accumulator or as a window function was checked before.
    fn parse(operator: &str, argument: &Bson, env: &Env) -> Result<Operation> {
        if matches!(operator, "$percentile" | "$median") {
            return Quantile::parse(operator, argument, env, &mut |value| {
                Expression::parse(value, env)
            })
            .map(|quantile| Operation::Quantile(Box::new(quantile)));
        }
        if let Some(chooser) = Chooser::parse(operator, argument, env)? {
            return Ok(Operation::Choose(Box::new(chooser)));
        }
        let kind = Kind::parse(operator).ok_or_else(|| {
            Feature::Accumulator.refuse(operator, env.profile.version, || unknown(operator))
        })?;
        let argument = match (kind, argument) {
            (Kind::Count, Bson::Document(empty)) if empty.is_empty() => Expression::Literal(Bson::Int32(1)),
            (Kind::Count, _) => {
                return Err(Error::type_mismatch("$count takes no arguments, i.e. $count:{}"));
            }
            (_, argument) => Expression::parse(argument, env)?,
        };
        Ok(Operation::Plain(kind, argument))
    }
}

/// The state of an accumulator of a [`Kind`].
#[derive(Debug, Clone)]
pub(crate) struct State {
    kind: Kind,
    sum: Sum,
    count: u64,
    /// Mean and sum of squared differences from it, by Welford's method.
    spread: (f64, f64),
    value: Option<Bson>,
    values: Vec<Bson>,
}

impl State {
    pub(crate) fn new(kind: Kind) -> State {
        State {
            kind,
            sum: Sum::new(),
            count: 0,
            spread: (0.0, 0.0),
            value: None,
            values: Vec::new(),
        }
    }

    /// Adds a value; a missing value is `Undefined`.
    pub(crate) fn add(&mut self, value: Bson, env: &Env) -> Result<()> {
        let collation = env.collation.as_ref();
        let null_for_missing = |value| {
            if matches!(value, Bson::Undefined) {
                Bson::Null
            } else {
                value
            }
        };
        match self.kind {
            Kind::Sum | Kind::Count => {
                if let Some(number) = Number::from_bson(&value) {
                    self.sum.add(number);
                }
            }
            Kind::Avg => {
                if let Some(number) = Number::from_bson(&value) {
                    self.sum.add(number);
                    self.count += 1;
                }
            }
            Kind::StdDevPop | Kind::StdDevSamp => {
                if let Some(number) = Number::from_bson(&value).map(Number::to_f64) {
                    self.count += 1;
                    let (mean, squares) = &mut self.spread;
                    let difference = number - *mean;
                    *mean += difference / self.count as f64;
                    *squares += difference * (number - *mean);
                }
            }
            Kind::Min | Kind::Max => {
                if is_nullish(&value) {
                    return Ok(());
                }
                let wanted = if self.kind == Kind::Min {
                    std::cmp::Ordering::Less
                } else {
                    std::cmp::Ordering::Greater
                };
                if self
                    .value
                    .as_ref()
                    .is_none_or(|held| compare(&value, held, collation) == wanted)
                {
                    self.value = Some(value);
                }
            }
            Kind::First => {
                if self.value.is_none() {
                    self.value = Some(null_for_missing(value));
                }
            }
            Kind::Last => self.value = Some(null_for_missing(value)),
            Kind::Push => {
                if !matches!(value, Bson::Undefined) {
                    self.values.push(value);
                }
            }
            Kind::AddToSet => {
                if !matches!(value, Bson::Undefined)
                    && !self.values.iter().any(|held| equal(held, &value, collation))
                {
                    self.values.push(value);
                }
            }
            Kind::MergeObjects => match value {
                Bson::Document(document) => match &mut self.value {
                    Some(Bson::Document(held)) => held.extend(document),
                    held => *held = Some(Bson::Document(document)),
                },
                value if is_nullish(&value) => {}
                other => {
                    return Err(Error::new(
                        40400,
                        format!(
                            "$mergeObjects requires object inputs, but input {} is of type {}",
                            other,
                            crate::value::type_name(&other)
                        ),
                    ));
                }
            },
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Bson {
        match self.kind {
            Kind::Sum | Kind::Count => self.sum.total(),
            Kind::Avg if self.count == 0 => Bson::Null,
            Kind::Avg => self.sum.mean(self.count),
            Kind::Min | Kind::Max | Kind::First | Kind::Last => self.value.unwrap_or(Bson::Null),
            Kind::Push | Kind::AddToSet => Bson::Array(self.values),
            Kind::MergeObjects => self.value.unwrap_or_else(|| Bson::Document(Document::new())),
            Kind::StdDevPop => deviation(self.spread.1, self.count),
            Kind::StdDevSamp => deviation(self.spread.1, self.count.saturating_sub(1)),
        }
    }
}

fn deviation(squares: f64, count: u64) -> Bson {
    if count == 0 {
        Bson::Null
    } else {
        Bson::Double((squares / count as f64).sqrt())
    }
}

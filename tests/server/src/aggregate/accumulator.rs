//! Accumulators of `$group` and `$bucket`, some of which are also expressions.

use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::features::Feature;
use crate::query::Env;
use crate::value::compare::{compare, equal};
use crate::value::decimal::Decimal;
use crate::value::is_nullish;
use crate::value::number::Number;
use bson::{Bson, Document};

/// The kinds of accumulators.
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
    kind: Kind,
    argument: Expression,
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
        let kind = Kind::parse(operator).ok_or_else(|| {
            Feature::Accumulator.refuse(operator, || {
                Error::new(15952, format!("unknown group operator '{operator}'"))
            })
        })?;
        let argument = match (kind, argument) {
            (Kind::Count, Bson::Document(empty)) if empty.is_empty() => Expression::Literal(Bson::Int32(1)),
            (Kind::Count, _) => {
                return Err(Error::type_mismatch("$count takes no arguments, i.e. $count:{}"));
            }
            (_, Bson::Array(items)) if items.len() != 1 => {
                return Err(Error::new(
                    40237,
                    format!("The {operator} accumulator is a unary operator"),
                ));
            }
            (_, Bson::Array(items)) => Expression::parse(&items[0], env)?,
            (_, argument) => Expression::parse(argument, env)?,
        };
        Ok(Accumulator {
            name: name.to_owned(),
            kind,
            argument,
        })
    }

    /// A state without input.
    pub(super) fn start(&self) -> State {
        State::new(self.kind)
    }

    /// Adds what a document gives.
    pub(super) fn add(&self, state: &mut State, document: &Document, env: &Env) -> Result<()> {
        state.add(self.argument.evaluate(document, env)?, env)
    }
}

/// What an accumulator has seen.
#[derive(Debug, Clone)]
pub(crate) struct State {
    kind: Kind,
    sum: Number,
    count: u64,
    value: Option<Bson>,
    values: Vec<Bson>,
}

impl State {
    pub(crate) fn new(kind: Kind) -> State {
        State {
            kind,
            sum: Number::Int(0),
            count: 0,
            value: None,
            values: Vec::new(),
        }
    }

    /// Adds a value; a missing one is `Undefined`.
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
                    self.sum = self.sum.add_widening(number);
                }
            }
            Kind::Avg => {
                if let Some(number) = Number::from_bson(&value) {
                    self.sum = self.sum.add_widening(number);
                    self.count += 1;
                }
            }
            Kind::StdDevPop | Kind::StdDevSamp => {
                if crate::value::is_number(&value) {
                    self.values.push(value);
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

    /// The result.
    pub(crate) fn finish(self) -> Bson {
        match self.kind {
            Kind::Sum | Kind::Count => self.sum.to_bson(),
            Kind::Avg if self.count == 0 => Bson::Null,
            Kind::Avg => match self.sum {
                Number::Decimal(sum) => {
                    Number::Decimal(sum.divide(Decimal::from_i64(self.count as i64))).to_bson()
                }
                sum => Bson::Double(sum.to_f64() / self.count as f64),
            },
            Kind::Min | Kind::Max | Kind::First | Kind::Last => self.value.unwrap_or(Bson::Null),
            Kind::Push | Kind::AddToSet => Bson::Array(self.values),
            Kind::MergeObjects => self.value.unwrap_or_else(|| Bson::Document(Document::new())),
            Kind::StdDevPop => deviation(&self.values, 0),
            Kind::StdDevSamp => deviation(&self.values, 1),
        }
    }
}

fn deviation(values: &[Bson], taken_off: usize) -> Bson {
    if values.len() <= taken_off {
        return Bson::Null;
    }
    let numbers: Vec<f64> = values
        .iter()
        .filter_map(Number::from_bson)
        .map(Number::to_f64)
        .collect();
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    Bson::Double((squares / (numbers.len() - taken_off) as f64).sqrt())
}

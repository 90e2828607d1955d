//! The accumulators that select some of their inputs: `$firstN`, `$lastN`, `$minN`, `$maxN`,
//! `$top`, `$topN`, `$bottom`, `$bottomN`.

use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::query::Env;
use crate::query::sort::Sort;
use crate::value::compare::compare;
use crate::value::number::Number;
use crate::value::{format, is_nullish};
use bson::{Bson, Document};
use std::cmp::Ordering;

/// Which inputs are selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    First,
    Last,
    Min,
    Max,
    Top,
    Bottom,
}

/// A parsed accumulator.
#[derive(Debug, Clone)]
pub(super) struct Chooser {
    choice: Choice,
    /// Whether the result is one value instead of an array: `$top` and `$bottom`.
    single: bool,
    count: Expression,
    input: Expression,
    order: Option<Order>,
}

/// The `sortBy` of `$top`, `$topN`, `$bottom` and `$bottomN`: one expression per field, and the
/// sort pattern over their values.
#[derive(Debug, Clone)]
struct Order {
    keys: Vec<(String, Expression)>,
    sort: Sort,
}

/// The inputs selected so far.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    choice: Choice,
    limit: usize,
    /// In ascending order of the sort key, which is empty for `$firstN` and `$lastN`.
    rows: Vec<(Vec<Bson>, Bson)>,
}

impl Chooser {
    /// Parses the argument of an operator; `None` if the operator is not one of these.
    pub(super) fn parse(operator: &str, argument: &Bson, env: &Env) -> Result<Option<Chooser>> {
        let (choice, single) = match operator {
            "$firstN" => (Choice::First, false),
            "$lastN" => (Choice::Last, false),
            "$minN" => (Choice::Min, false),
            "$maxN" => (Choice::Max, false),
            "$topN" => (Choice::Top, false),
            "$bottomN" => (Choice::Bottom, false),
            "$top" => (Choice::Top, true),
            "$bottom" => (Choice::Bottom, true),
            _ => return Ok(None),
        };
        let sorted = matches!(choice, Choice::Top | Choice::Bottom);
        let Bson::Document(fields) = argument else {
            let code = match choice {
                Choice::First | Choice::Last => 5_787_801,
                Choice::Min | Choice::Max => 5_787_900,
                Choice::Top | Choice::Bottom => 5_788_001,
            };
            let shown = format::bson(argument);
            return Err(Error::new(
                code,
                format!("specification must be an object; found {operator}: {shown}"),
            ));
        };
        let (input_name, unknown_code, codes) = if sorted {
            ("output", 5_788_002, [5_788_003, 5_788_004])
        } else {
            ("input", 5_787_901, [5_787_906, 5_787_907])
        };
        for name in fields.keys() {
            let known = match name.as_str() {
                "n" => !single,
                "sortBy" => sorted,
                name => name == input_name,
            };
            if !known {
                let owner = if sorted { operator } else { "'n' operator:" };
                return Err(Error::new(
                    unknown_code,
                    format!("Unknown argument to {owner} '{name}'"),
                ));
            }
        }
        let required = |name: &str, code: i32| match fields.get(name) {
            Some(value) => Expression::parse(value, env),
            None => Err(Error::new(code, format!("Missing value for '{name}'"))),
        };
        let count = if single {
            Expression::Literal(Bson::Int32(1))
        } else {
            required("n", codes[0])?
        };
        let input = required(input_name, codes[1])?;
        let order = match fields.get("sortBy") {
            _ if !sorted => None,
            Some(Bson::Document(pattern)) => Some(Order::parse(pattern, env)?),
            Some(_) => {
                return Err(Error::new(
                    10065,
                    "invalid parameter: expected an object (sortBy)",
                ));
            }
            None => return Err(Error::new(5_788_005, "Missing value for 'sortBy'")),
        };
        Ok(Some(Chooser {
            choice,
            single,
            count,
            input,
            order,
        }))
    }

    /// The initial state. `n` may refer to the fields of the group's `_id` if that is a document.
    pub(super) fn start(&self, id: &Bson, env: &Env) -> Result<Chosen> {
        let none = Document::new();
        let root = id.as_document().unwrap_or(&none);
        Chosen::new(self.choice, &self.count.evaluate(root, env)?)
    }

    pub(super) fn add(&self, chosen: &mut Chosen, document: &Document, env: &Env) -> Result<()> {
        let value = self.input.evaluate(document, env)?;
        match &self.order {
            None => chosen.add(value, env),
            Some(order) => {
                let key = order.key(document, env)?;
                chosen.insert(key, null_for_missing(value), |a, b| order.sort.compare_keys(a, b));
            }
        }
        Ok(())
    }

    pub(super) fn finish(&self, chosen: Chosen) -> Bson {
        let mut values = chosen.finish();
        if !self.single {
            return Bson::Array(values);
        }
        if values.is_empty() {
            Bson::Null
        } else {
            values.remove(0)
        }
    }
}

impl Order {
    fn parse(pattern: &Document, env: &Env) -> Result<Order> {
        Sort::parse(pattern)?;
        let mut keys = Vec::with_capacity(pattern.len());
        let mut positions = Document::new();
        for (index, (path, direction)) in pattern.iter().enumerate() {
            let name = format!("key{index}");
            positions.insert(&name, direction.clone());
            keys.push((name, Expression::parse(&Bson::String(format!("${path}")), env)?));
        }
        Ok(Order {
            keys,
            sort: Sort::parse(&positions)?,
        })
    }

    fn key(&self, document: &Document, env: &Env) -> Result<Vec<Bson>> {
        let mut values = Document::new();
        for (name, expression) in &self.keys {
            match expression.evaluate(document, env)? {
                Bson::Undefined => {}
                value => {
                    values.insert(name, value);
                }
            }
        }
        self.sort.key(&values, env)
    }
}

fn null_for_missing(value: Bson) -> Bson {
    match value {
        Bson::Undefined => Bson::Null,
        value => value,
    }
}

impl Chosen {
    /// The initial state; `count` is the `n` of the operator.
    pub(crate) fn new(choice: Choice, count: &Bson) -> Result<Chosen> {
        let shown = || format::bson(count);
        let integral = |code: i32| {
            Error::new(
                code,
                format!("Value for 'n' must be of integral type, but found {}", shown()),
            )
        };
        let limit = Number::from_bson(count)
            .ok_or_else(|| integral(5_787_902))?
            .to_exact_i64()
            .ok_or_else(|| integral(5_787_903))?;
        let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0);
        Ok(Chosen {
            choice,
            limit: limit.ok_or_else(|| {
                Error::new(
                    5_787_908,
                    format!("'n' must be greater than 0, found {}", shown()),
                )
            })?,
            rows: Vec::new(),
        })
    }

    /// Adds an input of `$firstN`, `$lastN`, `$minN` or `$maxN`.
    pub(crate) fn add(&mut self, value: Bson, env: &Env) {
        match self.choice {
            Choice::First => {
                if self.rows.len() < self.limit {
                    self.rows.push((Vec::new(), null_for_missing(value)));
                }
            }
            Choice::Last => {
                if self.rows.len() == self.limit {
                    self.rows.remove(0);
                }
                self.rows.push((Vec::new(), null_for_missing(value)));
            }
            _ if is_nullish(&value) => {}
            _ => {
                let collation = env.collation.as_ref();
                self.insert(vec![value.clone()], value, |a, b| {
                    compare(&a[0], &b[0], collation)
                });
            }
        }
    }

    /// Inserts a value at the position of its sort key if fewer than `n` are selected or another
    /// value has a lower rank, which is then removed. Of values with equal keys the first is
    /// selected.
    fn insert(&mut self, key: Vec<Bson>, value: Bson, order: impl Fn(&[Bson], &[Bson]) -> Ordering) {
        if self.rows.len() == self.limit {
            let (displaced, wanted) = match self.choice {
                Choice::Max | Choice::Bottom => (0, Ordering::Greater),
                _ => (self.limit - 1, Ordering::Less),
            };
            if order(&key, &self.rows[displaced].0) != wanted {
                return;
            }
            self.rows.remove(displaced);
        }
        let at = self
            .rows
            .partition_point(|(held, _)| order(held, &key) != Ordering::Greater);
        self.rows.insert(at, (key, value));
    }

    /// The selected values in the order of the result.
    pub(crate) fn finish(self) -> Vec<Bson> {
        let values = self.rows.into_iter().map(|(_, value)| value);
        if self.choice == Choice::Max {
            values.rev().collect()
        } else {
            values.collect()
        }
    }
}

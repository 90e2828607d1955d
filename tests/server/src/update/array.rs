//! Array update operators: `$push`, `$addToSet`, `$pull`, `$pullAll` and `$pop`.

use super::modify::Change;
use crate::error::{Error, Result};
use crate::query::sort::Sort;
use crate::query::{Env, Filter};
use crate::value::compare::{compare, equal};
use crate::value::number::Number;
use crate::value::{format, type_name};
use bson::{Bson, Document, doc};

#[derive(Debug)]
pub(crate) struct Push {
    values: Vec<Bson>,
    position: Option<i64>,
    slice: Option<i64>,
    sort: Option<PushSort>,
}

#[derive(Debug)]
enum PushSort {
    Whole(bool),
    Fields(Sort),
}

/// Returns the values of `{$each: […]}`, or the argument as the only value.
pub(super) fn each(operator: &str, argument: &Bson) -> Result<Vec<Bson>> {
    match argument {
        Bson::Document(clauses) if clauses.keys().next().is_some_and(|name| name == "$each") => {
            if let Some(other) = clauses.keys().nth(1) {
                return Err(Error::bad_value(format!(
                    "Found unexpected fields after $each in {operator}: {other}"
                )));
            }
            each_values(operator, clauses)
        }
        other => Ok(vec![other.clone()]),
    }
}

fn each_values(operator: &str, clauses: &Document) -> Result<Vec<Bson>> {
    match clauses.get("$each") {
        Some(Bson::Array(items)) => Ok(items.clone()),
        other => {
            let found = other.map_or("missing", type_name);
            Err(if operator == "$push" {
                Error::bad_value(format!(
                    "The argument to $each in $push must be an array but it was of type: {found}"
                ))
            } else {
                Error::type_mismatch(format!(
                    "The argument to $each in {operator} must be an array but it was of type {found}"
                ))
            })
        }
    }
}

impl Push {
    pub(super) fn parse(argument: &Bson) -> Result<Push> {
        let clauses = match argument {
            Bson::Document(clauses) if clauses.contains_key("$each") => clauses,
            other => {
                return Ok(Push {
                    values: vec![other.clone()],
                    position: None,
                    slice: None,
                    sort: None,
                });
            }
        };
        let mut push = Push {
            values: each_values("$push", clauses)?,
            position: None,
            slice: None,
            sort: None,
        };
        for (name, value) in clauses {
            let integer = || {
                Number::from_bson(value)
                    .and_then(Number::to_exact_i64)
                    .ok_or_else(|| {
                        Error::bad_value(format!(
                            "The value for {name} must be an integer value but was given type: {}",
                            type_name(value)
                        ))
                    })
            };
            match name.as_str() {
                "$each" => {}
                "$position" => push.position = Some(integer()?),
                "$slice" => push.slice = Some(integer()?),
                "$sort" => push.sort = Some(PushSort::parse(value)?),
                other => return Err(Error::bad_value(format!("Unrecognized clause in $push: {other}"))),
            }
        }
        Ok(push)
    }

    /// Returns the array after the push.
    pub(super) fn apply(&self, path: &str, current: Option<&Bson>, id: &str, env: &Env) -> Result<Change> {
        let mut items = array_or_missing(path, current, id)?.unwrap_or_default();
        let length = items.len() as i64;
        let at = match self.position {
            None => length,
            Some(position) if position < 0 => (length + position).max(0),
            Some(position) => position.min(length),
        };
        items.splice(at as usize..at as usize, self.values.iter().cloned());
        match &self.sort {
            None => {}
            Some(PushSort::Whole(ascending)) => items.sort_by(|a, b| {
                let order = compare(a, b, env.collation.as_ref());
                if *ascending { order } else { order.reverse() }
            }),
            Some(PushSort::Fields(sort)) => {
                let none = Document::new();
                let mut keyed = items
                    .into_iter()
                    .map(|item| Ok((sort.key(item.as_document().unwrap_or(&none), env)?, item)))
                    .collect::<Result<Vec<_>>>()?;
                keyed.sort_by(|(a, _), (b, _)| sort.compare_keys(a, b));
                items = keyed.into_iter().map(|(_, item)| item).collect();
            }
        }
        match self.slice {
            None => {}
            Some(slice) if slice >= 0 => items.truncate(slice as usize),
            Some(slice) => {
                let excess = items.len().saturating_sub(slice.unsigned_abs() as usize);
                items.drain(..excess);
            }
        }
        Ok(Change::Set(Bson::Array(items)))
    }
}

impl PushSort {
    fn parse(value: &Bson) -> Result<PushSort> {
        let invalid = || {
            Error::bad_value(
                "The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields",
            )
        };
        match value {
            Bson::Document(pattern) if !pattern.is_empty() => Sort::parse(pattern)
                .map(PushSort::Fields)
                .map_err(|error| Error { code: 2, ..error }),
            other => match Number::from_bson(other).and_then(Number::to_exact_i64) {
                Some(1) => Ok(PushSort::Whole(true)),
                Some(-1) => Ok(PushSort::Whole(false)),
                _ => Err(invalid()),
            },
        }
    }
}

fn array_or_missing(path: &str, current: Option<&Bson>, id: &str) -> Result<Option<Vec<Bson>>> {
    match current {
        None => Ok(None),
        Some(Bson::Array(items)) => Ok(Some(items.clone())),
        Some(other) => Err(Error::bad_value(format!(
            "The field '{path}' must be an array but is of type {} in document {{_id: {id}}}",
            type_name(other)
        ))),
    }
}

/// Returns the array with the values that it does not contain yet.
pub(super) fn add_to_set(
    path: &str,
    current: Option<&Bson>,
    values: &[Bson],
    id: &str,
    env: &Env,
) -> Result<Change> {
    let mut items = array_or_missing(path, current, id)?.unwrap_or_default();
    for value in values {
        if !items
            .iter()
            .any(|item| equal(item, value, env.collation.as_ref()))
        {
            items.push(value.clone());
        }
    }
    Ok(Change::Set(Bson::Array(items)))
}

/// Selects the elements that `$pull` removes.
#[derive(Debug)]
pub(crate) enum PullCondition {
    Equal(Bson),
    /// Operators on the element, which is represented as a field with an empty name.
    Value(Filter),
    /// Conditions on the fields of elements that are documents.
    Fields(Filter),
}

impl PullCondition {
    pub(super) fn parse(argument: &Bson, env: &Env) -> Result<PullCondition> {
        match argument {
            Bson::Document(condition) if crate::query::parse::is_operators(condition) => {
                let first = condition.keys().next().map_or("", String::as_str);
                if matches!(first, "$and" | "$or" | "$nor" | "$expr") {
                    return Filter::parse(condition, env).map(PullCondition::Fields);
                }
                Filter::parse(&doc! { "": condition.clone() }, env).map(PullCondition::Value)
            }
            Bson::Document(condition) => Filter::parse(condition, env).map(PullCondition::Fields),
            Bson::RegularExpression(_) => {
                Filter::parse(&doc! { "": argument.clone() }, env).map(PullCondition::Value)
            }
            other => Ok(PullCondition::Equal(other.clone())),
        }
    }

    fn removes(&self, item: &Bson, env: &Env) -> Result<bool> {
        match (self, item) {
            (PullCondition::Equal(value), item) => Ok(equal(item, value, env.collation.as_ref())),
            (PullCondition::Value(filter), item) => filter.matches(&doc! { "": item.clone() }, env),
            (PullCondition::Fields(filter), Bson::Document(document)) => filter.matches(document, env),
            (PullCondition::Fields(_), _) => Ok(false),
        }
    }
}

/// Returns the array without the elements that match a condition.
pub(super) fn pull(current: Option<&Bson>, condition: &PullCondition, env: &Env) -> Result<Change> {
    let Some(current) = current else {
        return Ok(Change::Keep);
    };
    let Bson::Array(items) = current else {
        return Err(Error::bad_value("Cannot apply $pull to a non-array value"));
    };
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        if !condition.removes(item, env)? {
            kept.push(item.clone());
        }
    }
    Ok(Change::Set(Bson::Array(kept)))
}

/// Returns the array without the elements equal to one of the values.
pub(super) fn pull_all(current: Option<&Bson>, values: &[Bson], env: &Env) -> Result<Change> {
    match current {
        None => Ok(Change::Keep),
        Some(Bson::Array(items)) => {
            let keeps = |item: &&Bson| {
                !values
                    .iter()
                    .any(|value| equal(item, value, env.collation.as_ref()))
            };
            Ok(Change::Set(Bson::Array(
                items.iter().filter(keeps).cloned().collect(),
            )))
        }
        Some(_) => Err(Error::bad_value("Cannot apply $pullAll to a non-array value")),
    }
}

/// Returns the array without its first or last element.
pub(super) fn pop(path: &str, current: Option<&Bson>, first: bool) -> Result<Change> {
    match current {
        None => Ok(Change::Keep),
        Some(Bson::Array(items)) => {
            let mut items = items.clone();
            if first && !items.is_empty() {
                items.remove(0);
            } else {
                items.pop();
            }
            Ok(Change::Set(Bson::Array(items)))
        }
        Some(other) => Err(Error::type_mismatch(format!(
            "Path '{path}' contains an element of non-array type '{}': {}",
            type_name(other),
            format::bson(other)
        ))),
    }
}

//! Applies one update operator to a document.

use super::Target;
use super::array;
use super::modify::{Change, modify};
use super::number;
use super::parse::{Action, Operation};
use crate::error::{Error, Result, code};
use crate::query::Filter;
use crate::query::path::Part;
use crate::value::compare::compare;
use crate::value::format;
use bson::{Bson, Document, doc};
use std::collections::BTreeMap;

/// The state shared by the operators of one update while they are applied to one document.
pub(crate) struct Context<'c> {
    pub(crate) target: Target<'c>,
    pub(crate) array_filters: &'c BTreeMap<String, Filter>,
    /// The document before the update.
    pub(crate) document: &'c Document,
}

impl Context<'_> {
    /// Returns whether an array element matches the array filter of an identifier.
    pub(super) fn matches_filter(&self, identifier: &str, item: &Bson) -> Result<bool> {
        match self.array_filters.get(identifier) {
            Some(filter) => filter.matches(&doc! { identifier: item.clone() }, self.target.env),
            None => Ok(false),
        }
    }

    fn id(&self) -> String {
        self.document
            .get("_id")
            .map_or_else(|| "null".to_owned(), format::bson)
    }

    pub(super) fn apply(&self, operation: &Operation, document: &mut Document) -> Result<()> {
        if matches!(operation.action, Action::SetOnInsert(_)) && !self.target.insert {
            return Ok(());
        }
        for path in operation.path.resolve(self, document)? {
            match &operation.action {
                Action::Rename(to) => {
                    let to: Vec<Part> = to.text.split('.').map(Part::new).collect();
                    rename(document, &path, &to)?;
                }
                action => {
                    let text = text(&path);
                    modify(document, &path, &mut |current| {
                        self.change(action, &text, current)
                    })?;
                }
            }
        }
        Ok(())
    }

    fn change(&self, action: &Action, path: &str, current: Option<&Bson>) -> Result<Change> {
        let env = self.target.env;
        let better = |value: &Bson, wanted: std::cmp::Ordering| match current {
            Some(current) if compare(value, current, env.collation.as_ref()) != wanted => Change::Keep,
            _ => Change::Set(value.clone()),
        };
        match action {
            Action::Set(value) | Action::SetOnInsert(value) => Ok(Change::Set(value.clone())),
            Action::Unset => Ok(if current.is_some() {
                Change::Remove
            } else {
                Change::Keep
            }),
            Action::Inc(operand) => number::arithmetic("$inc", path, current, *operand, &self.id()),
            Action::Mul(operand) => number::arithmetic("$mul", path, current, *operand, &self.id()),
            Action::Min(value) => Ok(better(value, std::cmp::Ordering::Less)),
            Action::Max(value) => Ok(better(value, std::cmp::Ordering::Greater)),
            Action::CurrentDate => Ok(Change::Set(Bson::DateTime(env.now))),
            Action::CurrentTimestamp => Ok(Change::Set(Bson::Timestamp(self.target.timestamp))),
            Action::Bit(operations) => number::bit(path, current, operations, self.document),
            Action::Push(push) => push.apply(path, current, &self.id(), env),
            Action::AddToSet(values) => array::add_to_set(path, current, values, &self.id(), env),
            Action::Pull(condition) => array::pull(current, condition, env),
            Action::PullAll(values) => array::pull_all(current, values, env),
            Action::Pop(first) => array::pop(path, current, *first),
            Action::Rename(_) => Ok(Change::Keep),
        }
    }
}

fn text(path: &[Part]) -> String {
    path.iter()
        .map(|part| part.name.as_str())
        .collect::<Vec<_>>()
        .join(".")
}

fn rename(document: &mut Document, from: &[Part], to: &[Part]) -> Result<()> {
    let Some(value) = renamed(document, from)? else {
        return Ok(());
    };
    if let Some(array) = array_on(document, to) {
        return Err(array_element("destination", to, array, document));
    }
    modify(document, from, &mut |_| Ok(Change::Remove))?;
    // The target is removed first, so that it is appended as the last field.
    modify(document, to, &mut |current| {
        Ok(if current.is_some() {
            Change::Remove
        } else {
            Change::Keep
        })
    })?;
    modify(document, to, &mut |_| Ok(Change::Set(value.clone())))
}

/// Returns the value that `$rename` moves, or `None` if the path does not exist.
fn renamed(document: &Document, from: &[Part]) -> Result<Option<Bson>> {
    let mut value = document.get(&from[0].name);
    for (index, part) in from.iter().enumerate().skip(1) {
        value = match (value, part.index) {
            (None, _) => return Ok(None),
            (Some(Bson::Document(inner)), _) => inner.get(&part.name),
            (Some(Bson::Array(items)), Some(index)) => items.get(index),
            (Some(other), _) => {
                return Err(Error::new(
                    code::PATH_NOT_VIABLE,
                    format!(
                        "cannot use the part ({} of {}) to traverse the element ({{{}: {}}})",
                        part.name,
                        text(from),
                        from[index - 1].name,
                        format::bson(other)
                    ),
                ));
            }
        };
    }
    match (value, array_on(document, from)) {
        (Some(_), Some(array)) => Err(array_element("source", from, array, document)),
        (value, _) => Ok(value.cloned()),
    }
}

fn array_element(name: &str, path: &[Part], array: &str, document: &Document) -> Error {
    Error::bad_value(format!(
        "The {name} field cannot be an array element, '{}' in doc with _id: {} has an array field called '{array}'",
        text(path),
        document
            .get("_id")
            .map_or_else(|| "null".to_owned(), format::bson)
    ))
}

/// The name of an array field along a path.
fn array_on<'p>(document: &Document, path: &'p [Part]) -> Option<&'p str> {
    let mut value = document.get(&path[0].name);
    for (index, part) in path.iter().enumerate().skip(1) {
        value = match value {
            Some(Bson::Array(_)) => return Some(&path[index - 1].name),
            Some(Bson::Document(inner)) => inner.get(&part.name),
            _ => None,
        };
    }
    None
}

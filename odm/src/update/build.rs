//! From operations to the update document: grouping, numbering of array filters, the check for overlap.

use crate::bson::{Bson, Document};
use crate::error::{Error, Result};
use crate::filter::{carried, prefixed};
use crate::update::Operation;
use crate::update::variant::own_filter;

/// An update as it is sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Compiled {
    /// A document of operators, with the array filters that its `$[id]` segments name.
    Operators {
        /// `{$set: {…}, …}`.
        update: Document,
        /// One filter for each identifier.
        array_filters: Vec<Document>,
    },
    /// An aggregation pipeline.
    Pipeline(Vec<Document>),
}

/// The operations of a raw update document.
pub(super) fn parse(update: Document) -> Result<Vec<Operation>> {
    let mut operations = Vec::new();
    for (operator, fields) in update {
        let Bson::Document(fields) = fields else {
            return Err(Error::update(
                "",
                format!("`{operator}` of a raw update is not a document"),
            ));
        };
        if !operator.starts_with('$') {
            return Err(Error::update(operator, "a raw update holds operators only"));
        }
        operations.extend(fields.into_iter().map(|(path, value)| Operation {
            operator: operator.clone(),
            path,
            value,
            array_filters: Vec::new(),
            variants: Vec::new(),
        }));
    }
    Ok(operations)
}

/// One array filter of the update: where its array is, its condition, its identifier.
struct Placed {
    array: String,
    condition: Document,
    id: String,
}

pub(super) fn compile(operations: Vec<Operation>) -> Result<Compiled> {
    if operations.is_empty() {
        return Err(Error::update("", "the update changes nothing"));
    }
    let mut placed: Vec<Placed> = Vec::new();
    let mut update = Document::new();
    let mut changed: Vec<String> = Vec::new();
    for operation in operations {
        let path = place(&operation, &mut placed)?;
        check_path(&path)?;
        changed.push(path.clone());
        if operation.operator == "$rename"
            && let Bson::String(to) = &operation.value
        {
            check_path(to)?;
            changed.push(to.clone());
        }
        match update
            .entry(operation.operator)
            .or_insert_with(|| Bson::Document(Document::new()))
        {
            Bson::Document(fields) => {
                fields.insert(path, operation.value);
            }
            _ => return Err(Error::update(path, "an operator is not a document")),
        }
    }
    check_overlap(&changed)?;
    let array_filters = placed
        .iter()
        .map(|p| prefixed(&p.condition, &p.id))
        .collect::<Result<_>>()?;
    Ok(Compiled::Operators {
        update,
        array_filters,
    })
}

/// The path with the identifiers of the whole update in place of its own. The same condition on the same array gets
/// the same identifier, so that overlap is seen by comparing paths.
fn place(operation: &Operation, placed: &mut Vec<Placed>) -> Result<String> {
    if operation.array_filters.is_empty() {
        return Ok(operation.path.clone());
    }
    let mut path = String::new();
    for segment in operation.path.split('.') {
        let segment = match own_filter(segment).and_then(|n| operation.array_filters.get(n)) {
            None => segment.to_owned(),
            Some(condition) => {
                if let Some(reason) = carried(condition) {
                    return Err(Error::update(path, reason));
                }
                if condition.is_empty() {
                    return Err(Error::update(
                        path,
                        "an array filter without a condition; use `all_positional()`",
                    ));
                }
                let known = placed
                    .iter()
                    .find(|p| p.array == path && p.condition == *condition);
                let id = known.map_or_else(|| format!("f{}", placed.len()), |p| p.id.clone());
                if known.is_none() {
                    placed.push(Placed {
                        array: path.clone(),
                        condition: condition.clone(),
                        id: id.clone(),
                    });
                }
                format!("$[{id}]")
            }
        };
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&segment);
    }
    Ok(path)
}

fn check_path(path: &str) -> Result<()> {
    if path.is_empty() {
        return Err(Error::update(
            "",
            "a document cannot be updated as a whole; update its fields or replace it",
        ));
    }
    if path.split('.').filter(|s| *s == "$").count() > 1 {
        return Err(Error::update(path, "only one segment can be the positional `$`"));
    }
    Ok(())
}

/// Refuses two changes of one field, and of a field with a part of it: the server would.
fn check_overlap(changed: &[String]) -> Result<()> {
    let mut sorted: Vec<Vec<&str>> = changed.iter().map(|p| p.split('.').collect()).collect();
    sorted.sort();
    for pair in sorted.windows(2) {
        if let [shorter, longer] = pair
            && longer.starts_with(shorter)
        {
            let reason = if shorter == longer {
                "two operators change this field".to_owned()
            } else {
                format!(
                    "another operator changes `{}`, which is a part of it",
                    longer.join(".")
                )
            };
            return Err(Error::update(shorter.join("."), reason));
        }
    }
    Ok(())
}

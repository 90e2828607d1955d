//! Compiles operations to an update document: groups them by operator, numbers the array filters,
//! and checks for conflicts.

use crate::ast::filter::{Keys, Node};
use crate::bson::{Bson, Document};
use crate::error::{Error, Result};
use crate::update::Operation;
use crate::update::variant::own_filter;

/// An update in the form in which it is sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Compiled {
    /// A document of operators, with the array filters of its `$[identifier]` segments.
    Operators {
        /// `{$set: {…}, …}`.
        update: Document,
        /// One filter for each identifier, in the order of `f0`, `f1` ….
        array_filters: Vec<Document>,
    },
    /// An aggregation pipeline.
    Pipeline(Vec<Document>),
}

/// The operations of a raw update document.
pub(super) fn parse(update: Document) -> Result<Vec<Operation>> {
    let mut operations = Vec::new();
    for (operator, fields) in update {
        if !operator.starts_with('$') {
            return Err(Error::update(
                operator,
                "a raw update must consist of update operators, such as `$set`: `{$set: {..}}`; to replace a whole document use \
                 `replace_one`",
            ));
        }
        let Bson::Document(fields) = fields else {
            return Err(Error::update(
                "",
                format!("the operand of `{operator}` in a raw update is not a document of fields"),
            ));
        };
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

/// An array filter of the update: the path of its array, its condition, its identifier.
struct NumberedFilter {
    array: String,
    condition: Node,
    id: String,
}

impl NumberedFilter {
    fn to_document(&self) -> Result<Document> {
        match self.condition.operator_beside_fields() {
            Some(operator) => Err(Error::update(
                "",
                format!("`{operator}` cannot be used in an array filter"),
            )),
            None => Ok(self.condition.to_document_of(Keys::Under(&self.id))),
        }
    }
}

pub(super) fn compile(operations: Vec<Operation>) -> Result<Compiled> {
    if operations.is_empty() {
        return Err(Error::update("", super::NOTHING));
    }
    let mut filters: Vec<NumberedFilter> = Vec::new();
    let mut update = Document::new();
    let mut changed: Vec<String> = Vec::new();
    for operation in operations {
        let path = numbered_path(&operation, &mut filters)?;
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
            _ => {
                return Err(Error::update(
                    path,
                    "the operand of an operator is not a document",
                ));
            }
        }
    }
    check_conflicts(&changed)?;
    let array_filters = filters
        .iter()
        .map(NumberedFilter::to_document)
        .collect::<Result<_>>()?;
    Ok(Compiled::Operators {
        update,
        array_filters,
    })
}

/// The path with identifiers that are unique in the update. Equal conditions on the same array get
/// the same identifier, so that [`check_conflicts`] can compare paths.
fn numbered_path(operation: &Operation, filters: &mut Vec<NumberedFilter>) -> Result<String> {
    if operation.array_filters.is_empty() {
        return Ok(operation.path.clone());
    }
    let mut path = String::new();
    for segment in operation.path.split('.') {
        let segment = match own_filter(segment).and_then(|n| operation.array_filters.get(n)) {
            None => segment.to_owned(),
            Some(condition) => {
                let condition = condition
                    .as_ref()
                    .map_err(|e| Error::update(path.clone(), e.to_string()))?;
                if condition.is_empty() {
                    return Err(Error::update(
                        path,
                        "the array filter has no condition; to change all elements use `all_positional()`",
                    ));
                }
                let known = filters
                    .iter()
                    .find(|p| p.array == path && p.condition == *condition);
                let id = known.map_or_else(|| format!("f{}", filters.len()), |p| p.id.clone());
                if known.is_none() {
                    filters.push(NumberedFilter {
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
            "the whole document cannot be the target of an update operator; update its fields or replace it",
        ));
    }
    if path.split('.').filter(|s| *s == "$").count() > 1 {
        return Err(Error::update(path, "a path can contain only one positional `$`"));
    }
    Ok(())
}

/// Rejects two operators on one field, or on a field and a part of it, as the server does with
/// ConflictingUpdateOperators.
fn check_conflicts(changed: &[String]) -> Result<()> {
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
                    "another operator changes `{}`, which is a part of this field",
                    longer.join(".")
                )
            };
            return Err(Error::update(shorter.join("."), reason));
        }
    }
    Ok(())
}

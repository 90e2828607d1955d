//! `$setWindowFields`: fields computed over a window of each document's partition.

mod bounds;
mod calculus;
mod function;
mod sequence;
#[cfg(test)]
mod tests;

use super::partition::partitions;
use super::shape::set_path;
use crate::error::{Error, Result, code};
use crate::expression::Expression;
use crate::query::Env;
use crate::query::path::check_field_path;
use crate::query::sort::Sort;
use crate::value::compare::equal;
use crate::value::number::Number;
use crate::value::type_name;
use bson::{Bson, Document};
use function::Function;

/// A `$setWindowFields` stage.
#[derive(Debug, Clone)]
pub(crate) struct WindowFields {
    partition: Option<Expression>,
    sort: Option<SortBy>,
    outputs: Vec<(String, Function)>,
}

/// The `sortBy` of the stage.
#[derive(Debug, Clone)]
struct SortBy {
    sort: Sort,
    fields: usize,
    /// The first field.
    position: Expression,
    ascending: bool,
}

/// The documents of a partition in order.
struct Partition<'p> {
    documents: &'p [Document],
    /// The value of the first field of `sortBy` of each document; missing without `sortBy`.
    positions: Vec<Bson>,
    sort: Option<&'p SortBy>,
}

impl SortBy {
    fn parse(pattern: &Document, env: &Env) -> Result<SortBy> {
        let Some((path, direction)) = pattern.iter().next() else {
            return Err(Error::new(15976, "$sort stage must have at least one sort key"));
        };
        let sort = Sort::parse(pattern)?;
        Ok(SortBy {
            sort,
            fields: pattern.len(),
            position: Expression::parse(&Bson::String(format!("${path}")), env)?,
            ascending: Number::from_bson(direction).is_some_and(|number| number.to_f64() > 0.0),
        })
    }
}

impl WindowFields {
    pub(super) fn parse(spec: &Document, env: &Env) -> Result<WindowFields> {
        let wrong_type = |field: &str, value: &Bson| {
            Error::type_mismatch(format!(
                "BSON field '$setWindowFields.{field}' is the wrong type '{}', expected type 'object'",
                type_name(value)
            ))
        };
        let (mut partition, mut sort, mut output) = (None, None, None);
        for (name, value) in spec {
            match (name.as_str(), value) {
                ("partitionBy", value) => partition = Some(Expression::parse(value, env)?),
                ("sortBy", Bson::Document(pattern)) => sort = Some(SortBy::parse(pattern, env)?),
                ("output", Bson::Document(fields)) => output = Some(fields),
                ("sortBy" | "output", value) => return Err(wrong_type(name, value)),
                _ => {
                    return Err(Error::new(
                        code::UNKNOWN_FIELD,
                        format!("BSON field '$setWindowFields.{name}' is an unknown field."),
                    ));
                }
            }
        }
        let output = output.ok_or_else(|| {
            Error::new(
                code::MISSING_FIELD,
                "BSON field '$setWindowFields.output' is missing but a required field",
            )
        })?;
        let mut outputs: Vec<(String, Function)> = Vec::with_capacity(output.len());
        for (path, function) in output {
            check_field_path(path)?;
            let contains = |outer: &str, inner: &str| {
                inner
                    .strip_prefix(outer)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            if outputs
                .iter()
                .any(|(other, _)| contains(other, path) || contains(path, other))
            {
                return Err(Error::new(
                    6_307_900,
                    "$setWindowFields 'output' specification contains two conflicting paths",
                ));
            }
            let Bson::Document(function) = function else {
                return Err(Error::failed_to_parse(format!(
                    "The field '{path}' must be an object"
                )));
            };
            outputs.push((path.clone(), Function::parse(function, sort.as_ref(), env)?));
        }
        if let Some(partition) = &partition
            && partition.is_constant()
            && matches!(partition.evaluate(&Document::new(), env)?, Bson::Array(_))
        {
            return Err(Error::type_mismatch(
                "An expression used to partition cannot evaluate to value of type array",
            ));
        }
        Ok(WindowFields {
            partition,
            sort,
            outputs,
        })
    }

    pub(super) fn run(&self, documents: Vec<Document>, env: &Env) -> Result<Vec<Document>> {
        let mut documents = documents;
        if let Some(by) = &self.sort {
            by.sort.sort(&mut documents, env)?;
        }
        let mut changed = Vec::with_capacity(documents.len());
        for mut documents in partitions(self.partition.as_ref(), documents, env)? {
            let positions = documents.iter().map(|document| match &self.sort {
                Some(by) => by.position.evaluate(document, env),
                None => Ok(Bson::Undefined),
            });
            let partition = Partition {
                positions: positions.collect::<Result<_>>()?,
                documents: &documents,
                sort: self.sort.as_ref(),
            };
            let mut columns = Vec::with_capacity(self.outputs.len());
            for (path, function) in &self.outputs {
                columns.push((path, function.evaluate(&partition, env)?));
            }
            for (path, values) in columns {
                for (document, value) in documents.iter_mut().zip(values) {
                    set_path(document, path, &value);
                }
            }
            changed.extend(documents);
        }
        Ok(changed)
    }
}

impl Partition<'_> {
    /// Whether two neighbors have the same position in the sort order.
    fn is_tied(&self, at: usize, before: usize, env: &Env) -> Result<bool> {
        let (Some(by), [one, other]) = (self.sort, [at, before].map(|index| &self.positions[index])) else {
            return Ok(false);
        };
        let array = |value: &Bson| matches!(value, Bson::Array(_));
        if array(one) || array(other) {
            let keys = [at, before].map(|index| by.sort.key(&self.documents[index], env));
            let [one, other] = keys;
            return Ok(by.sort.compare_keys(&one?, &other?).is_eq());
        }
        let nullish = crate::value::is_nullish;
        Ok((nullish(one) && nullish(other)) || equal(one, other, env.collation.as_ref()))
    }
}

//! `$fill`: fills null and missing fields with an expression, the last observed value, or by linear
//! interpolation.

use super::partition::partitions;
use super::shape::set_path;
use crate::error::{Error, Result, code};
use crate::expression::Expression;
use crate::query::Env;
use crate::query::sort::Sort;
use crate::value::compare::equal;
use crate::value::{is_nullish, is_number, type_name};
use bson::{Bson, Document, doc};

/// A `$fill` stage.
#[derive(Debug, Clone)]
pub(crate) struct Fill {
    partition: Option<Expression>,
    sort: Option<Sort>,
    /// The only field of `sortBy`, for interpolation.
    position: Option<Expression>,
    /// The interpolated value, an expression over `x`, `x1`, `y1`, `x2` and `y2`.
    line: Expression,
    fields: Vec<(String, Expression, Method)>,
}

#[derive(Debug, Clone)]
enum Method {
    Value(Expression),
    LastObserved,
    Linear,
}

impl Fill {
    pub(super) fn parse(spec: &Document, env: &Env) -> Result<Fill> {
        let known = ["sortBy", "partitionBy", "partitionByFields", "output"];
        check_fields("$fill", spec, &known)?;
        let output = match spec.get("output") {
            Some(Bson::Document(output)) if !output.is_empty() => output,
            Some(Bson::Document(_)) => {
                return Err(Error::new(
                    6_050_203,
                    "The output field in '$fill' must contain an object with at least one element",
                ));
            }
            Some(other) => return Err(wrong_type("output", other, "object")),
            None => {
                return Err(Error::new(
                    code::MISSING_FIELD,
                    "BSON field '$fill.output' is missing but a required field",
                ));
            }
        };
        let mut fields = Vec::with_capacity(output.len());
        for (path, spec) in output {
            let Bson::Document(spec) = spec else {
                return Err(Error::new(
                    6_050_200,
                    "Each fill output specification must be an object with exactly one field",
                ));
            };
            check_fields("$fill", spec, &["value", "method"])?;
            let current = Expression::parse(&Bson::String(format!("${path}")), env)?;
            if let Some(method) = Method::parse(spec, env)? {
                fields.push((path.clone(), current, method));
            }
        }
        let pattern = match spec.get("sortBy") {
            None => None,
            Some(Bson::Document(pattern)) => Some(pattern),
            Some(other) => return Err(wrong_type("sortBy", other, "object")),
        };
        let linear = fields
            .iter()
            .any(|(_, _, method)| matches!(method, Method::Linear));
        let position = match pattern.map(|pattern| (pattern.len(), pattern.keys().next())) {
            Some((1, Some(path))) => Some(Expression::parse(&Bson::String(format!("${path}")), env)?),
            _ if linear => {
                return Err(Error::new(
                    605_001,
                    "the method 'linear' of $fill requires a sortBy with one field",
                ));
            }
            _ => None,
        };
        Ok(Fill {
            partition: partition(spec, env)?,
            sort: pattern.map(Sort::parse).transpose()?,
            position,
            line: line(env)?,
            fields,
        })
    }

    pub(super) fn run(&self, documents: Vec<Document>, env: &Env) -> Result<Vec<Document>> {
        let ordered = self
            .fields
            .iter()
            .any(|(_, _, method)| !matches!(method, Method::Value(_)));
        let mut documents = documents;
        if ordered {
            if let Some(sort) = &self.sort {
                sort.sort(&mut documents, env)?;
            }
            let mut filled = Vec::with_capacity(documents.len());
            for mut partition in partitions(self.partition.as_ref(), documents, env)? {
                for (path, current, method) in &self.fields {
                    match method {
                        Method::LastObserved => fill_last_observed(&mut partition, path, current, env)?,
                        Method::Linear => self.interpolate(&mut partition, path, current, env)?,
                        Method::Value(_) => {}
                    }
                }
                filled.extend(partition);
            }
            documents = filled;
        }
        for document in &mut documents {
            let before = document.clone();
            for (path, current, method) in &self.fields {
                if let Method::Value(value) = method
                    && is_nullish(&current.evaluate(&before, env)?)
                {
                    set_path(document, path, &value.evaluate(&before, env)?);
                }
            }
        }
        Ok(documents)
    }

    fn interpolate(
        &self,
        partition: &mut [Document],
        path: &str,
        current: &Expression,
        env: &Env,
    ) -> Result<()> {
        let Some(position) = &self.position else {
            return Ok(());
        };
        let mut points = Vec::with_capacity(partition.len());
        for document in partition.iter() {
            points.push((
                position.evaluate(document, env)?,
                current.evaluate(document, env)?,
            ));
        }
        check_points(&points)?;
        for (document, value) in partition.iter_mut().zip(interpolated(&points, &self.line, env)?) {
            if let Some(value) = value {
                set_path(document, path, &value);
            }
        }
        Ok(())
    }
}

impl Method {
    fn parse(spec: &Document, env: &Env) -> Result<Option<Method>> {
        match (spec.get("method"), spec.get("value")) {
            (Some(_), Some(_)) => Err(Error::new(
                6_050_201,
                "Each fill output specification must have exactly one of 'method' or 'value' fields, not both",
            )),
            (Some(Bson::String(method)), None) => match method.as_str() {
                "locf" => Ok(Some(Method::LastObserved)),
                "linear" => Ok(Some(Method::Linear)),
                _ => Err(Error::new(6_050_202, "Method must be either locf or linear")),
            },
            (Some(other), None) => Err(wrong_type("method", other, "string")),
            (None, Some(value)) => Ok(Some(Method::Value(Expression::parse(value, env)?))),
            (None, None) => Ok(None),
        }
    }
}

pub(super) fn check_fields(owner: &str, fields: &Document, known: &[&str]) -> Result<()> {
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Error::new(
            code::UNKNOWN_FIELD,
            format!("BSON field '{owner}.{name}' is an unknown field."),
        )),
    }
}

fn wrong_type(field: &str, value: &Bson, expected: &str) -> Error {
    Error::type_mismatch(format!(
        "BSON field '$fill.{field}' is the wrong type '{}', expected type '{expected}'",
        type_name(value)
    ))
}

fn partition(spec: &Document, env: &Env) -> Result<Option<Expression>> {
    match (spec.get("partitionBy"), spec.get("partitionByFields")) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(Error::new(
            6_050_204,
            "Maximum one of 'partitionBy' and 'partitionByFields can be specified in '$fill'",
        )),
        (Some(by @ (Bson::String(_) | Bson::Document(_))), None) => Expression::parse(by, env).map(Some),
        (Some(other), None) => Err(wrong_type("partitionBy", other, "object")),
        (None, Some(Bson::Array(names))) => {
            let paths = names
                .iter()
                .map(|name| match name {
                    Bson::String(path) => Expression::parse(&Bson::String(format!("${path}")), env),
                    other => Err(wrong_type("partitionByFields", other, "string")),
                })
                .collect::<Result<Vec<_>>>()?;
            let names = (0..paths.len()).map(|index| index.to_string());
            Ok(Some(Expression::Object(names.zip(paths).collect())))
        }
        (None, Some(other)) => Err(wrong_type("partitionByFields", other, "array")),
    }
}

/// `locf`: sets null and missing fields to the last observed value.
fn fill_last_observed(partition: &mut [Document], path: &str, current: &Expression, env: &Env) -> Result<()> {
    let mut last = Bson::Null;
    for document in partition {
        let value = current.evaluate(document, env)?;
        if is_nullish(&value) {
            set_path(document, path, &last);
        } else {
            last = value;
        }
    }
    Ok(())
}

/// The line through two points as an expression over `x`, `x1`, `y1`, `x2` and `y2`.
pub(super) fn line(env: &Env) -> Result<Expression> {
    let slope = doc! { "$divide": [{ "$subtract": ["$y2", "$y1"] }, { "$subtract": ["$x2", "$x1"] }] };
    let line = doc! { "$add": ["$y1", { "$multiply": [{ "$subtract": ["$x", "$x1"] }, slope] }] };
    Expression::parse(&Bson::Document(line), env)
}

/// Linear interpolation: one value per point whose `y` is null or missing, which is null before the
/// first and after the last known `y`.
pub(super) fn interpolated(
    points: &[(Bson, Bson)],
    line: &Expression,
    env: &Env,
) -> Result<Vec<Option<Bson>>> {
    let known: Vec<usize> = (0..points.len())
        .filter(|at| !is_nullish(&points[*at].1))
        .collect();
    let mut values = Vec::with_capacity(points.len());
    for (at, (x, y)) in points.iter().enumerate() {
        if !is_nullish(y) {
            values.push(None);
            continue;
        }
        let next = known.partition_point(|index| *index < at);
        values.push(Some(match (next.checked_sub(1), known.get(next)) {
            (Some(before), Some(after)) => {
                let ((x1, y1), (x2, y2)) = (&points[known[before]], &points[*after]);
                let variables = doc! {
                    "x": x.clone(), "x1": x1.clone(), "y1": y1.clone(), "x2": x2.clone(), "y2": y2.clone(),
                };
                line.evaluate(&variables, env)?
            }
            _ => Bson::Null,
        }));
    }
    Ok(values)
}

/// Fails if the points cannot be interpolated.
pub(super) fn check_points(points: &[(Bson, Bson)]) -> Result<()> {
    for (index, (x, y)) in points.iter().enumerate() {
        if !is_number(y) && !is_nullish(y) {
            return Err(Error::type_mismatch(format!(
                "Value to be filled must be numeric or nullish, but found {}",
                type_name(y)
            )));
        }
        let is_date = matches!(x, Bson::DateTime(_));
        if !is_number(x) && !is_date {
            return Err(Error::type_mismatch(format!(
                "Value of the sortBy field must be numeric or a date, but found {}",
                type_name(x)
            )));
        }
        let Some((before, _)) = index.checked_sub(1).map(|before| &points[before]) else {
            continue;
        };
        if equal(before, x, None) {
            return Err(Error::new(
                6_050_106,
                "There can be no repeated values in the sort field",
            ));
        }
        if is_date != matches!(before, Bson::DateTime(_)) {
            return Err(Error::type_mismatch(format!(
                "Conflicting sort value types, previously received type {}, but found {}",
                type_name(before),
                type_name(x)
            )));
        }
    }
    Ok(())
}

//! `$densify`: adds documents for the missing values of a field, a number or a date.

use super::fill::check_fields;
use super::shape::set_path;
use crate::error::{Error, Result, code};
use crate::expression::Expression;
use crate::expression::date::{add_units, check_unit};
use crate::query::Env;
use crate::query::path::check_field_path;
use crate::query::sort::Sort;
use crate::value::compare::{compare, equal, type_class};
use crate::value::number::Number;
use crate::value::zone::Zone;
use crate::value::{is_nullish, is_number, type_name};
use bson::{Bson, DateTime, Document};
use std::cmp::Ordering;

/// The maximum number of documents that the stage adds.
const MAX_ADDED: usize = 500_000;

/// A `$densify` stage.
#[derive(Debug, Clone)]
pub(crate) struct Densify {
    field: String,
    value: Expression,
    /// `partitionByFields`
    partition: Vec<(String, Expression)>,
    sort: Sort,
    step: Number,
    unit: Option<String>,
    bounds: Bounds,
}

#[derive(Debug, Clone)]
enum Bounds {
    Full,
    Partition,
    /// The lower bound, and the upper bound, which is exclusive.
    Between(Box<[Bson; 2]>),
}

/// A partition: the values of its fields, and its last value on a step.
struct Partition {
    fields: Vec<Bson>,
    last: Bson,
}

impl Densify {
    pub(super) fn parse(spec: &Document, env: &Env) -> Result<Densify> {
        check_fields("$densify", spec, &["field", "partitionByFields", "range"])?;
        let wrong_type = |field: &str, value: &Bson, expected: &str| {
            Error::type_mismatch(format!(
                "BSON field '$densify.{field}' is the wrong type '{}', expected type '{expected}'",
                type_name(value)
            ))
        };
        let missing = |field: &str| {
            Error::new(
                code::MISSING_FIELD,
                format!("BSON field '$densify.{field}' is missing but a required field"),
            )
        };
        let field = match spec.get("field") {
            Some(Bson::String(field)) => field.clone(),
            Some(other) => return Err(wrong_type("field", other, "string")),
            None => return Err(missing("field")),
        };
        let range = match spec.get("range") {
            Some(Bson::Document(range)) => range,
            Some(other) => return Err(wrong_type("range", other, "object")),
            None => return Err(missing("range")),
        };
        check_fields("$densify.range", range, &["step", "bounds", "unit"])?;
        let step = range.get("step").ok_or_else(|| missing("range.step"))?;
        let number = Number::from_bson(step)
            .filter(|step| step.to_f64() > 0.0)
            .ok_or_else(|| {
                Error::new(
                    5_733_401,
                    "The step parameter in a range statement must be a strictly positive numeric value",
                )
            })?;
        let unit = match range.get("unit") {
            None => None,
            Some(Bson::String(unit)) => {
                if number.to_exact_i64().is_none() {
                    return Err(Error::new(
                        6_586_400,
                        "The step parameter in a range statement must be a whole number when densifying a date range",
                    ));
                }
                Some(check_unit(unit)?.to_owned())
            }
            Some(other) => return Err(wrong_type("range.unit", other, "string")),
        };
        let bounds = bounds(
            range.get("bounds").ok_or_else(|| missing("range.bounds"))?,
            step,
            unit.is_some(),
        )?;
        let names = match spec.get("partitionByFields") {
            None => Vec::new(),
            Some(Bson::Array(names)) => names
                .iter()
                .map(|name| match name {
                    Bson::String(name) => check_field_path(name).map(|()| name.clone()),
                    other => Err(wrong_type("partitionByFields", other, "string")),
                })
                .collect::<Result<_>>()?,
            Some(other) => return Err(wrong_type("partitionByFields", other, "array")),
        };
        check_field_path(&field)?;
        if names.contains(&field) {
            return Err(Error::new(
                8_993_000,
                "The field that is densified cannot be one of partitionByFields",
            ));
        }
        if matches!(bounds, Bounds::Partition) && names.is_empty() {
            return Err(Error::new(
                5_733_408,
                "One cannot specify the bounds as 'partition' without specifying a non-empty array of partitionByFields. You may \
                 have meant to specify 'full' bounds.",
            ));
        }
        // With `full` bounds all partitions are processed together.
        let mut pattern = Document::new();
        if !matches!(bounds, Bounds::Full) {
            pattern.extend(names.iter().map(|name| (name.clone(), Bson::Int32(1))));
        }
        pattern.insert(&field, 1);
        let path = |name: &str| Expression::parse(&Bson::String(format!("${name}")), env);
        Ok(Densify {
            value: path(&field)?,
            field,
            partition: names
                .into_iter()
                .map(|name| path(&name).map(|value| (name, value)))
                .collect::<Result<_>>()?,
            sort: Sort::parse(&pattern)?,
            step: number,
            unit,
            bounds,
        })
    }

    pub(super) fn run(&self, documents: Vec<Document>, env: &Env) -> Result<Vec<Document>> {
        let mut documents = documents;
        self.sort.sort(&mut documents, env)?;
        let mut partitions: Vec<Partition> = Vec::new();
        // The least and the greatest value, for `full` bounds.
        let mut extremes: Option<(Bson, Bson)> = None;
        let mut dense = Vec::with_capacity(documents.len());
        let mut added = 0;
        for document in documents {
            let value = self.value.evaluate(&document, env)?;
            if is_nullish(&value) {
                dense.push(document);
                continue;
            }
            self.check(&value)?;
            let fields = self
                .partition
                .iter()
                .map(|(_, field)| field.evaluate(&document, env));
            let fields = fields.collect::<Result<Vec<_>>>()?;
            let least = match &mut extremes {
                None => extremes.insert((value.clone(), value.clone())).0.clone(),
                Some((least, greatest)) => {
                    greatest.clone_from(&value);
                    least.clone()
                }
            };
            let same = |partition: &Partition| {
                let mut pairs = partition.fields.iter().zip(&fields);
                pairs.all(|(a, b)| equal(a, b, env.collation.as_ref()))
            };
            let at = match partitions.iter().position(same) {
                Some(at) => at,
                None => {
                    let last = match &self.bounds {
                        Bounds::Full => self.moved(&least, -1)?,
                        Bounds::Partition => self.moved(&value, -1)?,
                        Bounds::Between(limits) => self.moved(&limits[0], -1)?,
                    };
                    partitions.push(Partition { fields, last });
                    partitions.len() - 1
                }
            };
            let partition = &mut partitions[at];
            let below = matches!(&self.bounds, Bounds::Between(limits) if before(&value, &limits[0]));
            if !below {
                let end = match &self.bounds {
                    Bounds::Between(limits) if before(&limits[1], &value) => &limits[1],
                    _ => &value,
                };
                self.advance(partition, end, false, &mut dense, &mut added)?;
                // A value on a step is not repeated.
                let next = self.moved(&partition.last, 1)?;
                if equal(&next, &value, None) {
                    partition.last = next;
                }
            }
            dense.push(document);
        }
        let (end, inclusive) = match (&self.bounds, extremes) {
            (Bounds::Between(limits), _) => (limits[1].clone(), false),
            (Bounds::Full, Some((_, greatest))) => (greatest, true),
            _ => return Ok(dense),
        };
        if partitions.is_empty()
            && self.partition.is_empty()
            && let Bounds::Between(limits) = &self.bounds
        {
            partitions.push(Partition {
                fields: Vec::new(),
                last: self.moved(&limits[0], -1)?,
            });
        }
        for partition in &mut partitions {
            self.advance(partition, &end, inclusive, &mut dense, &mut added)?;
        }
        Ok(dense)
    }

    /// Fails if the value of the field is of another kind than the step.
    fn check(&self, value: &Bson) -> Result<()> {
        let is_date = matches!(value, Bson::DateTime(_));
        if !is_date && !is_number(value) {
            return Err(Error::new(
                5_733_201,
                "Densify field type must be numeric or a date",
            ));
        }
        if is_date != self.unit.is_some() {
            return Err(Error::new(
                6_053_600,
                if is_date {
                    "Encountered date value in collection when step does not have a date unit."
                } else {
                    "Encountered non-date value in collection when step has a date unit."
                },
            ));
        }
        Ok(())
    }

    /// Adds documents for the steps of a partition before `end`.
    fn advance(
        &self,
        partition: &mut Partition,
        end: &Bson,
        inclusive: bool,
        dense: &mut Vec<Document>,
        added: &mut usize,
    ) -> Result<()> {
        loop {
            let next = self.moved(&partition.last, 1)?;
            match compare(&next, end, None) {
                Ordering::Less => {}
                Ordering::Equal if inclusive => {}
                _ => return Ok(()),
            }
            *added += 1;
            if *added > MAX_ADDED {
                return Err(Error::new(
                    5_897_900,
                    format!(
                        "Generated {added} documents in $densify, which is over the limit of {MAX_ADDED}. Increase the \
                         'internalQueryMaxAllowedDensifyDocs' parameter to allow more generated documents"
                    ),
                ));
            }
            let mut document = Document::new();
            for ((name, _), value) in self.partition.iter().zip(&partition.fields) {
                set_path(&mut document, name, value);
            }
            set_path(&mut document, &self.field, &next);
            dense.push(document);
            partition.last = next;
        }
    }

    /// The value at a number of steps from another.
    fn moved(&self, value: &Bson, steps: i64) -> Result<Bson> {
        match (value, &self.unit) {
            (Bson::DateTime(date), Some(unit)) => {
                let amount = self.step.to_saturated_i64().saturating_mul(steps);
                add_units(date.timestamp_millis(), unit, amount, &Zone::UTC)
                    .map(|millis| Bson::DateTime(DateTime::from_millis(millis)))
                    .ok_or_else(|| Error::new(5_166_406, "date overflow"))
            }
            _ => {
                let by = Number::Long(steps).multiply(self.step);
                let by = match (self.step, by) {
                    (Number::Int(step), _) => Number::Int(if steps < 0 { -step } else { step }),
                    (_, Some(by)) => by,
                    (step, None) => step,
                };
                Ok(Number::from_bson(value).map_or(Bson::Null, |value| value.add_widening(by).to_bson()))
            }
        }
    }
}

fn before(one: &Bson, other: &Bson) -> bool {
    compare(one, other, None).is_lt()
}

fn bounds(value: &Bson, step: &Bson, with_unit: bool) -> Result<Bounds> {
    let items = match value {
        Bson::String(keyword) => {
            return match keyword.as_str() {
                "full" => Ok(Bounds::Full),
                "partition" => Ok(Bounds::Partition),
                _ => Err(Error::new(
                    5_946_802,
                    "Bounds string must either be 'full' or 'partition'",
                )),
            };
        }
        Bson::Array(items) => items,
        _ => {
            return Err(Error::new(
                5_733_404,
                "The bounds in a range statement must be the string 'full', 'partition', or an ascending array of two numbers or \
                 two dates",
            ));
        }
    };
    let [lower, upper] = items.as_slice() else {
        return Err(Error::new(
            5_733_403,
            "A bounding array in a range statement must have exactly two elements",
        ));
    };
    if before(upper, lower) {
        return Err(Error::new(
            5_733_402,
            "A bounding array must be an ascending array of either two dates or two numbers",
        ));
    }
    let same_kind = type_class(lower) == type_class(upper);
    let mixed = |code: i32| {
        Error::new(
            code,
            "A bounding array must contain either both dates or both numeric types",
        )
    };
    match lower {
        lower if is_number(lower) => {
            if with_unit {
                return Err(Error::new(
                    5_733_409,
                    "Numeric bounds may not have unit parameter",
                ));
            }
            if !same_kind {
                return Err(mixed(5_733_406));
            }
            let kinds = [lower, upper, step].map(type_name);
            if kinds.iter().any(|kind| *kind != kinds[0]) {
                return Err(Error::new(
                    5_876_900,
                    "Upper bound, lower bound, and step must all have the same type",
                ));
            }
        }
        Bson::DateTime(_) => {
            if !same_kind {
                return Err(mixed(5_733_405));
            }
            if !with_unit {
                return Err(Error::new(
                    5_733_410,
                    "A bounding array of dates must specify a unit",
                ));
            }
        }
        _ => return Err(Error::new(5_946_800, "Explicit bounds must be numeric or dates")),
    }
    Ok(Bounds::Between(Box::new([lower.clone(), upper.clone()])))
}

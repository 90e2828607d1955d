//! Windows: which documents of the partition belong to the window of a document.

use super::{Partition, SortBy};
use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::expression::date::{add_units, check_unit};
use crate::query::Env;
use crate::value::compare::compare;
use crate::value::number::Number;
use crate::value::zone::Zone;
use crate::value::{format, type_name};
use bson::{Bson, DateTime, Document};
use std::ops::Range;

/// One end of a window, relative to the current document.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bound {
    Unbounded,
    Current,
    At(Number),
}

/// The bounds of a window.
#[derive(Debug, Clone)]
pub(super) enum Bounds {
    /// By the positions of the documents.
    Documents(Bound, Bound),
    /// By the value of the `sortBy` field, with the time unit for dates.
    Values(Bound, Bound, Option<String>),
}

impl Bounds {
    /// The whole partition, which is the default.
    pub(super) const ALL: Bounds = Bounds::Documents(Bound::Unbounded, Bound::Unbounded);

    /// Parses the `window` of a function.
    pub(super) fn parse(window: &Bson, sort: Option<&SortBy>, env: &Env) -> Result<Bounds> {
        let Bson::Document(fields) = window else {
            return Err(Error::failed_to_parse("'window' field must be an object"));
        };
        let (documents, range, unit) = (fields.get("documents"), fields.get("range"), fields.get("unit"));
        match (documents, range, unit) {
            (Some(_), Some(_), _) => Err(Error::failed_to_parse(
                "Window bounds can specify either 'documents' or 'unit', not both.",
            )),
            (_, None, Some(_)) => Err(Error::failed_to_parse(
                "Window bounds can only specify 'unit' with range-based bounds.",
            )),
            (None, None, None) if fields.is_empty() => Ok(Bounds::ALL),
            (None, None, None) => Err(Error::failed_to_parse(
                "'window' field can only contain 'documents' as the only argument or 'range' with an optional 'unit' field",
            )),
            (Some(documents), None, None) => {
                if fields.len() > 1 {
                    return Err(Error::failed_to_parse(
                        "'window' field that specifies documents cannot have other fields",
                    ));
                }
                by_position(documents, sort, env)
            }
            (None, Some(range), unit) => {
                if fields.len() > 1 + usize::from(unit.is_some()) {
                    return Err(Error::failed_to_parse(
                        "'window' field that specifies range cannot have other fields besides 'unit'",
                    ));
                }
                by_value(range, unit, sort, env)
            }
        }
    }

    /// The window of the document at an index of the partition.
    pub(super) fn window(&self, partition: &Partition<'_>, at: usize) -> Result<Range<usize>> {
        let length = partition.documents.len();
        match self {
            Bounds::Documents(lower, upper) => {
                let index = |bound: &Bound, unbounded: i64| match bound {
                    Bound::Unbounded => unbounded,
                    Bound::Current => at as i64,
                    Bound::At(offset) => (at as i64).saturating_add(offset.to_saturated_i64()),
                };
                let from = index(lower, 0).clamp(0, length as i64);
                let to = index(upper, length as i64 - 1)
                    .saturating_add(1)
                    .clamp(from, length as i64);
                Ok(from as usize..to as usize)
            }
            Bounds::Values(lower, upper, unit) => {
                let base = &partition.positions[at];
                check_base(base, unit.is_some())?;
                // `current` includes all documents with the position of the current one.
                let value = |bound: &Bound| match bound {
                    Bound::Unbounded => Ok(None),
                    Bound::Current => Ok(Some(base.clone())),
                    Bound::At(offset) => moved(base, *offset, unit.as_deref()).map(Some),
                };
                let (lower, upper) = (value(lower)?, value(upper)?);
                let from = lower.map_or(0, |value| {
                    partition
                        .positions
                        .partition_point(|other| compare(other, &value, None).is_lt())
                });
                let to = upper.map_or(length, |value| {
                    partition
                        .positions
                        .partition_point(|other| compare(other, &value, None).is_le())
                });
                Ok(from..to.max(from))
            }
        }
    }
}

/// Fails if the position of the current document is not one that a range can be measured from.
fn check_base(base: &Bson, with_unit: bool) -> Result<()> {
    let is_date = matches!(base, Bson::DateTime(_));
    if with_unit && !is_date {
        return Err(Error::new(
            5_429_513,
            format!(
                "Invalid range: Expected the sortBy field to be a Date, but it was {}",
                type_name(base)
            ),
        ));
    }
    if !with_unit && is_date {
        return Err(Error::new(
            5_429_413,
            "Invalid range: For windows that involve date or time ranges, a unit must be provided.",
        ));
    }
    if !with_unit && Number::from_bson(base).is_none() {
        return Err(Error::new(
            5_429_414,
            format!(
                "Invalid range: Expected the sortBy field to be a number, but it was {}",
                type_name(base)
            ),
        ));
    }
    Ok(())
}

/// The position at an offset from another.
fn moved(base: &Bson, offset: Number, unit: Option<&str>) -> Result<Bson> {
    match (base, unit) {
        (Bson::DateTime(date), Some(unit)) => add_units(
            date.timestamp_millis(),
            unit,
            offset.to_saturated_i64(),
            &Zone::UTC,
        )
        .map(|millis| Bson::DateTime(DateTime::from_millis(millis)))
        .ok_or_else(|| Error::new(5_166_406, "date overflow")),
        _ => Ok(Number::from_bson(base).map_or(Bson::Null, |base| base.add_widening(offset).to_bson())),
    }
}

/// The two elements of an array of bounds.
fn pair(bounds: &Bson) -> Result<(&Bson, &Bson)> {
    match bounds {
        Bson::Array(items) if items.len() == 2 => Ok((&items[0], &items[1])),
        other => Err(Error::failed_to_parse(format!(
            "Window bounds must be a 2-element array: {}",
            format::bson(other)
        ))),
    }
}

/// Parses one bound, which is a keyword or a constant that `check` accepts.
fn bound(value: &Bson, env: &Env, check: &dyn Fn(&Bson) -> Result<()>) -> Result<Bound> {
    match value {
        Bson::String(keyword) => match keyword.as_str() {
            "unbounded" => Ok(Bound::Unbounded),
            "current" => Ok(Bound::Current),
            _ => Err(Error::failed_to_parse(
                "Window bounds must be 'unbounded', 'current', or a number.",
            )),
        },
        value => {
            let expression = Expression::parse(value, env)?;
            if !expression.is_constant() {
                return Err(Error::failed_to_parse(
                    "Window bounds expression must be a constant.",
                ));
            }
            let value = expression.evaluate(&Document::new(), env)?;
            check(&value)?;
            Number::from_bson(&value)
                .map(Bound::At)
                .ok_or_else(|| Error::failed_to_parse("Range-based bounds expression must be a number"))
        }
    }
}

/// Fails if the lower bound is greater than the upper bound.
fn check_order(lower: Bound, upper: Bound) -> Result<()> {
    let number = |bound: Bound| match bound {
        Bound::Unbounded => None,
        Bound::Current => Some(Bson::Int32(0)),
        Bound::At(number) => Some(number.to_bson()),
    };
    match (number(lower), number(upper)) {
        (Some(lower), Some(upper)) if compare(&lower, &upper, None).is_gt() => Err(Error::new(
            5_339_900,
            format!(
                "Lower bound must not exceed upper bound: [{}, {}]",
                format::bson(&lower),
                format::bson(&upper)
            ),
        )),
        _ => Ok(()),
    }
}

fn integer(value: &Bson, message: &str) -> Result<()> {
    match Number::from_bson(value).and_then(Number::to_exact_i64) {
        Some(_) => Ok(()),
        None => Err(Error::failed_to_parse(message)),
    }
}

fn by_position(bounds: &Bson, sort: Option<&SortBy>, env: &Env) -> Result<Bounds> {
    let (lower, upper) = pair(bounds)?;
    let check = |value: &Bson| integer(value, "Numeric document-based bounds must be an integer");
    let (lower, upper) = (bound(lower, env, &check)?, bound(upper, env, &check)?);
    check_order(lower, upper)?;
    let unbounded = matches!((lower, upper), (Bound::Unbounded, Bound::Unbounded));
    if sort.is_none() && !unbounded {
        return Err(Error::new(5_339_901, "Document-based bounds require a sortBy"));
    }
    Ok(Bounds::Documents(lower, upper))
}

fn by_value(bounds: &Bson, unit: Option<&Bson>, sort: Option<&SortBy>, env: &Env) -> Result<Bounds> {
    let (lower, upper) = pair(bounds)?;
    let unit = match unit {
        None => None,
        Some(Bson::String(unit)) => Some(unit.as_str()),
        Some(_) => return Err(Error::failed_to_parse("'unit' must be a string")),
    };
    let check = |value: &Bson| match unit {
        Some(_) => integer(value, "With 'unit', range-based bounds must be an integer"),
        None => Ok(()),
    };
    let (lower, upper) = (bound(lower, env, &check)?, bound(upper, env, &check)?);
    check_order(lower, upper)?;
    let unit = unit.map(check_unit).transpose()?.map(str::to_owned);
    match sort.filter(|by| by.fields == 1) {
        None => Err(Error::new(
            5_339_902,
            "Range-based bounds require sortBy a single field",
        )),
        Some(by) if !by.ascending => Err(Error::new(
            8_947_401,
            "Range-based bounds require an ascending sortBy",
        )),
        Some(_) => Ok(Bounds::Values(lower, upper, unit)),
    }
}

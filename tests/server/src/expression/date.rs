//! Dates: parts, `$dateAdd`, `$dateSubtract`, `$dateDiff` and `$dateTrunc`, in any time zone.

use super::{Function, Named, NamedFunction, Scope};
use crate::error::{Error, Result};
use crate::value::date::{Civil, days_in_month};
use crate::value::number::Number;
use crate::value::zone::Zone;
use crate::value::{is_nullish, type_name};
use bson::{Bson, DateTime};

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "$tsSecond",
        min: 1,
        max: 1,
        run: |a, _| timestamp("$tsSecond", 5_687_301, &a[0], |at| at.time),
    },
    Function {
        name: "$tsIncrement",
        min: 1,
        max: 1,
        run: |a, _| timestamp("$tsIncrement", 5_687_302, &a[0], |at| at.increment),
    },
    Function {
        name: "$year",
        min: 1,
        max: 1,
        run: |a, _| part(&a[0], |c| c.year),
    },
    Function {
        name: "$month",
        min: 1,
        max: 1,
        run: |a, _| part(&a[0], |c| c.month),
    },
    Function {
        name: "$dayOfMonth",
        min: 1,
        max: 1,
        run: |a, _| part(&a[0], |c| c.day),
    },
    Function {
        name: "$hour",
        min: 1,
        max: 1,
        run: |a, _| part(&a[0], |c| c.hour),
    },
    Function {
        name: "$minute",
        min: 1,
        max: 1,
        run: |a, _| part(&a[0], |c| c.minute),
    },
    Function {
        name: "$second",
        min: 1,
        max: 1,
        run: |a, _| part(&a[0], |c| c.second),
    },
    Function {
        name: "$millisecond",
        min: 1,
        max: 1,
        run: |a, _| part(&a[0], |c| c.millisecond),
    },
    Function {
        name: "$dayOfYear",
        min: 1,
        max: 1,
        run: |a, _| part(&a[0], Civil::day_of_year),
    },
    Function {
        name: "$dayOfWeek",
        min: 1,
        max: 1,
        run: |a, _| part(&a[0], Civil::day_of_week),
    },
    Function {
        name: "$week",
        min: 1,
        max: 1,
        run: |a, _| part(&a[0], Civil::week),
    },
    Function {
        name: "$isoDayOfWeek",
        min: 1,
        max: 1,
        run: |a, _| part(&a[0], Civil::iso_day_of_week),
    },
    Function {
        name: "$isoWeek",
        min: 1,
        max: 1,
        run: |a, _| part(&a[0], |c| c.iso_week().1),
    },
    Function {
        name: "$isoWeekYear",
        min: 1,
        max: 1,
        run: |a, _| iso_week_year(&a[0]),
    },
];

pub(super) const NAMED: &[NamedFunction] = &[
    NamedFunction {
        name: "$dateAdd",
        required: &["startDate", "unit", "amount"],
        optional: &["timezone"],
        run: |n, _| add(n, 1),
    },
    NamedFunction {
        name: "$dateSubtract",
        required: &["startDate", "unit", "amount"],
        optional: &["timezone"],
        run: |n, _| add(n, -1),
    },
    NamedFunction {
        name: "$dateDiff",
        required: &["startDate", "endDate", "unit"],
        optional: &["timezone", "startOfWeek"],
        run: diff,
    },
    NamedFunction {
        name: "$dateTrunc",
        required: &["date", "unit"],
        optional: &["binSize", "timezone", "startOfWeek"],
        run: truncate,
    },
];

/// Converts a date, ObjectId or timestamp to milliseconds since the epoch.
pub(super) fn millis(value: &Bson, operator: &str) -> Result<i64> {
    match value {
        Bson::DateTime(at) => Ok(at.timestamp_millis()),
        Bson::Timestamp(at) => Ok(i64::from(at.time) * 1000),
        Bson::ObjectId(id) => Ok(id.timestamp().timestamp_millis()),
        other => Err(Error::new(
            16006,
            format!(
                "can't convert from BSON type {} to Date in {operator}",
                type_name(other)
            ),
        )),
    }
}

fn timestamp(operator: &str, code: i32, value: &Bson, take: fn(bson::Timestamp) -> u32) -> Result<Bson> {
    match value {
        value if is_nullish(value) => Ok(Bson::Null),
        Bson::Timestamp(at) => Ok(Bson::Int64(i64::from(take(*at)))),
        other => Err(Error::new(
            code,
            format!(
                "Argument to {operator} must be a timestamp, but is {}",
                type_name(other)
            ),
        )),
    }
}

/// Parses a `timezone` argument. Default: UTC.
pub(super) fn zone(value: Option<&Bson>) -> Result<Zone> {
    match value {
        None => Ok(Zone::UTC),
        Some(Bson::String(zone)) => Zone::parse(zone),
        Some(other) => Err(Error::new(
            40517,
            format!("timezone must evaluate to a string, found {}", type_name(other)),
        )),
    }
}

fn part(value: &Bson, take: fn(Civil) -> i64) -> Result<Bson> {
    let (value, zone) = match value {
        value if is_nullish(value) => return Ok(Bson::Null),
        // The form `{ date: …, timezone: … }`.
        Bson::Document(fields) => {
            if let Some(other) = fields
                .keys()
                .find(|name| !matches!(name.as_str(), "date" | "timezone"))
            {
                return Err(Error::new(
                    40535,
                    format!("unrecognized option to a date part: \"{other}\""),
                ));
            }
            let zone = match fields.get("timezone") {
                Some(value) if is_nullish(value) => return Ok(Bson::Null),
                value => zone(value)?,
            };
            match fields.get("date") {
                Some(Bson::Null) => return Ok(Bson::Null),
                None => return Err(Error::new(40539, "missing 'date' argument")),
                Some(value) => (value, zone),
            }
        }
        value => (value, Zone::UTC),
    };
    let civil = Civil::from_millis(zone.to_local(millis(value, "a date part")?));
    Ok(Bson::Int32(take(civil) as i32))
}

fn iso_week_year(value: &Bson) -> Result<Bson> {
    Ok(match part(value, |civil| civil.iso_week().0)? {
        Bson::Int32(year) => Bson::Int64(i64::from(year)),
        other => other,
    })
}

fn unit(named: &Named) -> Result<&str> {
    match named.required("unit") {
        Bson::String(unit) => check_unit(unit),
        other => Err(Error::new(
            5_439_013,
            format!(
                "{} requires 'unit' to be a string, but got {}",
                named.operator,
                type_name(other)
            ),
        )),
    }
}

/// Returns the name if it is one of a time unit.
pub(crate) fn check_unit(unit: &str) -> Result<&str> {
    const UNITS: [&str; 9] = [
        "year",
        "quarter",
        "month",
        "week",
        "day",
        "hour",
        "minute",
        "second",
        "millisecond",
    ];
    if UNITS.contains(&unit) {
        Ok(unit)
    } else {
        Err(Error::failed_to_parse(format!("unknown time unit value: {unit}")))
    }
}

/// The length of a unit of at most a week, in milliseconds.
pub(crate) fn unit_millis(unit: &str) -> i64 {
    match unit {
        "week" => 7 * 86_400_000,
        "day" => 86_400_000,
        "hour" => 3_600_000,
        "minute" => 60_000,
        "second" => 1_000,
        _ => 1,
    }
}

pub(super) fn any_null(named: &Named, names: &[&str]) -> bool {
    names.iter().any(|name| named.is_null(name))
}

fn date_result(millis: Option<i64>) -> Result<Bson> {
    millis
        .map(|millis| Bson::DateTime(DateTime::from_millis(millis)))
        .ok_or_else(|| Error::new(5_166_406, "date overflow"))
}

fn add(named: &Named, sign: i64) -> Result<Bson> {
    if any_null(named, &["startDate", "unit", "amount", "timezone"]) {
        return Ok(Bson::Null);
    }
    let amount = Number::from_bson(named.required("amount"))
        .and_then(Number::to_exact_i64)
        .and_then(|amount| amount.checked_mul(sign))
        .ok_or_else(|| {
            Error::new(
                5_166_405,
                format!("{} expects integer amount of time units", named.operator),
            )
        })?;
    let start = millis(named.required("startDate"), named.operator)?;
    let (unit, zone) = (unit(named)?, zone(named.get("timezone"))?);
    date_result(add_units(start, unit, amount, &zone))
}

/// Adds an amount of time units to a time in milliseconds since the epoch. `None` on overflow.
pub(crate) fn add_units(start: i64, unit: &str, amount: i64, zone: &Zone) -> Option<i64> {
    let months = match unit {
        "year" => 12,
        "quarter" => 3,
        "month" => 1,
        "week" | "day" => {
            // Calendar days, which do not always have 24 hours.
            let by = amount.checked_mul(unit_millis(unit))?;
            let local = zone.to_local(start).checked_add(by)?;
            return Some(zone.to_utc(local));
        }
        unit => return start.checked_add(amount.checked_mul(unit_millis(unit))?),
    };
    let mut civil = Civil::from_millis(zone.to_local(start));
    let total = amount.checked_mul(months)?.checked_add(civil.month - 1)?;
    if total.abs() >= 4_000_000_000 {
        return None;
    }
    civil.year += total.div_euclid(12);
    civil.month = total.rem_euclid(12) + 1;
    // Clamp to the last day of a shorter month.
    civil.day = civil.day.min(days_in_month(civil.year, civil.month));
    civil.to_millis().map(|local| zone.to_utc(local))
}

fn start_of_week(named: &Named) -> Result<i64> {
    // The number of days from Monday to the first day of the week.
    match named.get("startOfWeek") {
        None => Ok(6),
        Some(Bson::String(day)) => {
            let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
            let short = day.to_lowercase();
            days.iter()
                .position(|known| short.starts_with(known))
                .map(|position| position as i64)
                .ok_or_else(|| {
                    Error::failed_to_parse(format!(
                        "{} parameter 'startOfWeek' value cannot be recognized as a day of a week: {day}",
                        named.operator
                    ))
                })
        }
        Some(_) => Err(Error::new(5_439_015, "startOfWeek must be a string")),
    }
}

/// The index of the calendar period that contains a local time, for days and longer units.
fn period(local: i64, unit: &str, week_start: i64) -> i64 {
    let civil = Civil::from_millis(local);
    match unit {
        "year" => civil.year,
        "quarter" => civil.year * 4 + (civil.month - 1) / 3,
        "month" => civil.year * 12 + civil.month - 1,
        // 1970-01-01 was a Thursday, three days after Monday.
        "week" => (local.div_euclid(86_400_000) + 3 - week_start).div_euclid(7),
        _ => local.div_euclid(86_400_000),
    }
}

/// Returns whether the unit has a constant length.
fn is_absolute(unit: &str) -> bool {
    matches!(unit, "hour" | "minute" | "second" | "millisecond")
}

/// 2000-01-01T00:00:00Z in milliseconds; periods and bins are counted from it.
const REFERENCE: i64 = 946_684_800_000;

fn diff(named: &Named, _: &Scope<'_>) -> Result<Bson> {
    if any_null(
        named,
        &["startDate", "endDate", "unit", "timezone", "startOfWeek"],
    ) {
        return Ok(Bson::Null);
    }
    let zone = zone(named.get("timezone"))?;
    let unit = unit(named)?;
    let week_start = start_of_week(named)?;
    let start = millis(named.required("startDate"), named.operator)?;
    let end = millis(named.required("endDate"), named.operator)?;
    let index = |at: i64| {
        if is_absolute(unit) {
            at.saturating_sub(zone.to_utc(REFERENCE))
                .div_euclid(unit_millis(unit))
        } else {
            period(zone.to_local(at), unit, week_start)
        }
    };
    Ok(Bson::Int64(index(end) - index(start)))
}

/// Returns the start of the bin that contains a time. Bins are counted from `start`.
fn bin_start(at: i64, start: i64, length: i64) -> Option<i64> {
    at.checked_sub(start)?
        .div_euclid(length)
        .checked_mul(length)?
        .checked_add(start)
}

fn truncate(named: &Named, _: &Scope<'_>) -> Result<Bson> {
    if any_null(named, &["date", "unit", "binSize", "timezone", "startOfWeek"]) {
        return Ok(Bson::Null);
    }
    let bin = match named.get("binSize") {
        None => 1,
        Some(value) => Number::from_bson(value)
            .and_then(Number::to_exact_i64)
            .filter(|bin| (1..=1_000_000_000_000).contains(bin))
            .ok_or_else(|| {
                Error::new(
                    5_439_017,
                    "$dateTrunc requires 'binSize' to be a positive 64-bit integer",
                )
            })?,
    };
    let (unit, zone) = (unit(named)?, zone(named.get("timezone"))?);
    let utc = millis(named.required("date"), named.operator)?;
    let at = zone.to_local(utc);
    // Bins are counted from 2000-01-01, for weeks from the first day of a week.
    let week_start = start_of_week(named)?;
    let civil = |year: i64, month: i64| {
        Civil {
            year,
            month,
            day: 1,
            hour: 0,
            minute: 0,
            second: 0,
            millisecond: 0,
        }
        .to_millis()
    };
    let begin = match unit {
        "year" | "quarter" | "month" => {
            let months = bin
                * match unit {
                    "year" => 12,
                    "quarter" => 3,
                    _ => 1,
                };
            let now = Civil::from_millis(at);
            let since = (now.year - 2000) * 12 + now.month - 1;
            let first = since.div_euclid(months) * months;
            civil(2000 + first.div_euclid(12), first.rem_euclid(12) + 1)
        }
        unit if is_absolute(unit) => {
            let start = zone.to_utc(REFERENCE);
            let length = unit_millis(unit).checked_mul(bin);
            return date_result(length.and_then(|length| bin_start(utc, start, length)));
        }
        unit => {
            let start = if unit == "week" {
                // The first day of a week on or after Saturday 2000-01-01.
                REFERENCE + (week_start - 5).rem_euclid(7) * 86_400_000
            } else {
                REFERENCE
            };
            let length = unit_millis(unit).checked_mul(bin);
            length.and_then(|length| bin_start(at, start, length))
        }
    };
    date_result(begin.map(|local| zone.to_utc(local)))
}

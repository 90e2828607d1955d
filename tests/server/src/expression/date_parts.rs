//! `$dateToParts` and `$dateFromParts`, with calendar parts or ISO 8601 week date parts.

use super::date::{any_null, millis, zone};
use super::{Named, NamedFunction, Scope};
use crate::error::{Error, Result};
use crate::value::date::{Civil, days_from_civil};
use crate::value::number::Number;
use crate::value::type_name;
use bson::{Bson, DateTime, Document, doc};

pub(super) const NAMED: &[NamedFunction] = &[
    NamedFunction {
        name: "$dateToParts",
        required: &["date"],
        optional: &["timezone", "iso8601"],
        run: to_parts,
    },
    NamedFunction {
        name: "$dateFromParts",
        required: &[],
        optional: &[
            "year",
            "month",
            "day",
            "isoWeekYear",
            "isoWeek",
            "isoDayOfWeek",
            "hour",
            "minute",
            "second",
            "millisecond",
            "timezone",
        ],
        run: from_parts,
    },
];

fn to_parts(named: &Named, _: &Scope<'_>) -> Result<Bson> {
    if any_null(named, &["date", "timezone", "iso8601"]) {
        return Ok(Bson::Null);
    }
    let iso = match named.get("iso8601") {
        None => false,
        Some(Bson::Boolean(iso)) => *iso,
        Some(other) => {
            return Err(Error::new(
                40521,
                format!("iso8601 must evaluate to a bool, found {}", type_name(other)),
            ));
        }
    };
    let at = millis(named.required("date"), named.operator)?;
    let c = Civil::from_millis(zone(named.get("timezone"))?.to_local(at));
    let mut parts = if iso {
        let (year, week) = c.iso_week();
        doc! {
            "isoWeekYear": year as i32, "isoWeek": week as i32, "isoDayOfWeek": c.iso_day_of_week() as i32,
        }
    } else {
        doc! { "year": c.year as i32, "month": c.month as i32, "day": c.day as i32 }
    };
    let time: Document = doc! {
        "hour": c.hour as i32, "minute": c.minute as i32, "second": c.second as i32, "millisecond": c.millisecond as i32,
    };
    parts.extend(time);
    Ok(Bson::Document(parts))
}

/// A part of a date, or `None` if it is null.
fn part(named: &Named, name: &str, default: i64) -> Result<Option<i64>> {
    match named.get(name) {
        None => Ok(Some(default)),
        Some(value) if crate::value::is_nullish(value) => Ok(None),
        Some(value) => Number::from_bson(value)
            .and_then(Number::to_exact_i64)
            .map(Some)
            .ok_or_else(|| {
                Error::new(
                    40515,
                    format!("'{name}' must evaluate to an integer, found {}", type_name(value)),
                )
            }),
    }
}

fn from_parts(named: &Named, _: &Scope<'_>) -> Result<Bson> {
    let iso = named.get("isoWeekYear").is_some();
    let given = |names: &[&str]| names.iter().any(|name| named.get(name).is_some());
    let (natural, week) = (["year", "month", "day"], ["isoWeek", "isoDayOfWeek"]);
    if (iso && given(&natural)) || (named.get("year").is_some() && given(&week)) {
        return Err(Error::new(
            40489,
            "$dateFromParts does not allow mixing natural dates with ISO dates",
        ));
    }
    if !iso && named.get("year").is_none() {
        return Err(Error::new(
            40516,
            "$dateFromParts requires either 'year' or 'isoWeekYear' to be present",
        ));
    }
    let names = if iso {
        ["isoWeekYear", "isoWeek", "isoDayOfWeek"]
    } else {
        natural
    };
    let parts = [
        part(named, names[0], 1970)?,
        part(named, names[1], 1)?,
        part(named, names[2], 1)?,
        part(named, "hour", 0)?,
        part(named, "minute", 0)?,
        part(named, "second", 0)?,
        part(named, "millisecond", 0)?,
    ];
    let [
        Some(year),
        Some(second_part),
        Some(third_part),
        Some(hour),
        Some(minute),
        Some(second),
        Some(millisecond),
    ] = parts
    else {
        return Ok(Bson::Null);
    };
    if named.is_null("timezone") {
        return Ok(Bson::Null);
    }
    if !(1..=9999).contains(&year) {
        let code = if iso { 31095 } else { 40523 };
        return Err(Error::new(
            code,
            format!(
                "'{}' must evaluate to an integer in the range 1 to 9999, found {year}",
                names[0]
            ),
        ));
    }
    let out_of_range = || Error::new(31034, "a part of the date is out of range");
    let (month, day) = if iso {
        (
            1,
            iso_day(year, second_part, third_part).ok_or_else(out_of_range)?,
        )
    } else {
        (second_part, third_part)
    };
    let civil = Civil {
        year,
        month,
        day,
        hour,
        minute,
        second,
        millisecond,
    };
    let local = civil.to_millis().ok_or_else(out_of_range)?;
    let zone = zone(named.get("timezone"))?;
    Ok(Bson::DateTime(DateTime::from_millis(zone.to_utc(local))))
}

/// Returns the ISO week date as a day of January of that year. Weeks and days out of range carry.
pub(super) fn iso_day(year: i64, week: i64, day: i64) -> Option<i64> {
    let fourth = Civil {
        year,
        month: 1,
        day: 4,
        hour: 0,
        minute: 0,
        second: 0,
        millisecond: 0,
    };
    // The first week contains January 4th.
    let monday = days_from_civil(year, 1, 4) - fourth.iso_day_of_week() + 1;
    let days = week
        .checked_sub(1)?
        .checked_mul(7)?
        .checked_add(day.checked_sub(1)?)?;
    days.checked_add(monday - days_from_civil(year, 1, 1) + 1)
}

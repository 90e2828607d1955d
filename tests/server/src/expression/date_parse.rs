//! `$dateFromString`: ISO 8601, or a format in the notation of `$dateToString`.

use super::date_format::MONTHS;
use super::date_parts::iso_day;
use super::{Named, NamedFunction, Scope, date};
use crate::error::{Error, Result, code};
use crate::value::date::{Civil, days_in_month, may_be_other_form, parse_civil, parse_offset};
use crate::value::type_name;
use bson::{Bson, DateTime};

pub(super) const NAMED: &[NamedFunction] = &[NamedFunction {
    name: "$dateFromString",
    required: &["dateString"],
    optional: &["format", "timezone", "onError", "onNull"],
    run: from_string,
}];

fn from_string(named: &Named, _: &Scope<'_>) -> Result<Bson> {
    let format = match named.get("format") {
        Some(Bson::String(format)) => Some(format.as_str()),
        Some(value) if !crate::value::is_nullish(value) => {
            return Err(Error::new(
                40684,
                format!(
                    "$dateFromString requires that 'format' be a string, found: {}",
                    type_name(value)
                ),
            ));
        }
        _ => None,
    };
    if let Some(format) = format {
        check(format)?;
    }
    if named.is_null("dateString") {
        return Ok(named.get("onNull").cloned().unwrap_or(Bson::Null));
    }
    if named.is_null("timezone") || named.is_null("format") {
        return Ok(Bson::Null);
    }
    let clock = date::zone(named.get("timezone"))?;
    let parsed = match named.required("dateString") {
        Bson::String(text) => parse(text, format)?
            .and_then(|(civil, zone)| match zone {
                Some(_) if named.get("timezone").is_some() => None,
                Some(minutes) => civil.to_millis()?.checked_sub(minutes * 60_000),
                None => civil.to_millis().map(|local| clock.to_utc(local)),
            })
            .ok_or_else(|| format!("Error parsing date string '{text}'")),
        other => Err(format!(
            "$dateFromString requires that 'dateString' be a string, found: {}",
            type_name(other)
        )),
    };
    match (parsed, named.get("onError")) {
        (Ok(millis), _) => Ok(Bson::DateTime(DateTime::from_millis(millis))),
        (Err(_), Some(fallback)) => Ok(fallback.clone()),
        (Err(message), None) => Err(Error::new(code::CONVERSION_FAILURE, message)),
    }
}

/// Parses a local time with an optional offset in minutes. Returns `None` for an invalid date
/// string.
fn parse(text: &str, format: Option<&str>) -> Result<Option<(Civil, Option<i64>)>> {
    match (format, parse_civil(text)) {
        (Some(format), _) => Ok(by_format(text, format)),
        (None, None) if may_be_other_form(text) => {
            Err(Error::not_served(format!("the date string {text:?}")))
        }
        (None, parsed) => Ok(parsed),
    }
}

/// Returns an error for an invalid format string.
fn check(format: &str) -> Result<()> {
    let mut chars = format.chars();
    while let Some(next) = chars.next() {
        if next != '%' {
            continue;
        }
        match chars.next() {
            Some(
                'd' | 'G' | 'H' | 'j' | 'L' | 'm' | 'M' | 'S' | 'u' | 'V' | 'Y' | 'z' | 'Z' | 'b' | 'B' | '%',
            ) => {}
            Some(other) => {
                return Err(Error::new(
                    18536,
                    format!("Invalid format character '%{other}' in format string"),
                ));
            }
            None => return Err(Error::new(18535, "Unmatched '%' at end of format string")),
        }
    }
    Ok(())
}

/// Consumes an integer of at most `most` digits.
fn digits(text: &mut &str, max: usize) -> Option<i64> {
    let count = text.bytes().take(max).take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(count);
    *text = rest;
    number.parse().ok()
}

/// Consumes a month name or its first three letters.
fn month_name(text: &mut &str) -> Option<i64> {
    let (index, length) = MONTHS.iter().enumerate().find_map(|(index, name)| {
        [*name, &name[..3]]
            .into_iter()
            .find(|name| {
                text.get(..name.len())
                    .is_some_and(|start| start.eq_ignore_ascii_case(name))
            })
            .map(|name| (index, name.len()))
    })?;
    *text = &text[length..];
    Some(index as i64 + 1)
}

/// Consumes an offset such as `+01:00`, `-0530`, `Z` or `UTC`. Returns minutes.
fn zone(text: &mut &str) -> Option<i64> {
    let end = if text.starts_with(['+', '-']) {
        1 + text[1..]
            .find(|c: char| !c.is_ascii_digit() && c != ':')
            .unwrap_or(text.len() - 1)
    } else {
        text.find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(text.len())
    };
    let (name, rest) = text.split_at(end);
    *text = rest;
    (!name.is_empty()).then(|| parse_offset(name))?
}

fn by_format(text: &str, format: &str) -> Option<(Civil, Option<i64>)> {
    let mut rest = text;
    let mut parts: [Option<i64>; 7] = [None; 7];
    let [year, month, day, iso_year, iso_week, iso_weekday, day_of_year] = &mut parts;
    let (mut hour, mut minute, mut second, mut millisecond) = (0, 0, 0, 0);
    let mut minutes = None;
    let mut chars = format.chars();
    while let Some(next) = chars.next() {
        if next != '%' {
            rest = rest.strip_prefix(next)?;
            continue;
        }
        match chars.next()? {
            'Y' => *year = Some(digits(&mut rest, 4)?),
            'm' => *month = Some(digits(&mut rest, 2)?),
            'b' | 'B' => *month = Some(month_name(&mut rest)?),
            'd' => *day = Some(digits(&mut rest, 2)?),
            'j' => *day_of_year = Some(digits(&mut rest, 3)?),
            'G' => *iso_year = Some(digits(&mut rest, 4)?),
            'V' => *iso_week = Some(digits(&mut rest, 2)?),
            'u' => *iso_weekday = Some(digits(&mut rest, 1)?),
            'H' => hour = digits(&mut rest, 2)?,
            'M' => minute = digits(&mut rest, 2)?,
            'S' => second = digits(&mut rest, 2)?,
            'L' => {
                let before = rest.len();
                let fraction = digits(&mut rest, 3)?;
                millisecond = fraction * 10_i64.pow(3 - (before - rest.len()) as u32);
            }
            'z' => minutes = Some(zone(&mut rest)?),
            'Z' => {
                let negative = rest.starts_with('-');
                rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
                let offset = digits(&mut rest, 4)?;
                minutes = Some(if negative { -offset } else { offset });
            }
            _ => rest = rest.strip_prefix('%')?,
        }
    }
    let (year, month, day) = match parts {
        [Some(year), Some(month), Some(day), None, None, None, None]
            if (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day) =>
        {
            (year, month, day)
        }
        [Some(year), None, None, None, None, None, Some(day)] if (1..=366).contains(&day) => (year, 1, day),
        [None, None, None, Some(year), week, day, None] => {
            let (week, day) = (week.unwrap_or(1), day.unwrap_or(1));
            let exists = (1..=53).contains(&week) && (1..=7).contains(&day);
            (year, 1, exists.then(|| iso_day(year, week, day))??)
        }
        _ => return None,
    };
    let in_range = hour <= 24 && minute <= 59 && second <= 60;
    (rest.is_empty() && in_range).then_some((
        Civil {
            year,
            month,
            day,
            hour,
            minute,
            second,
            millisecond,
        },
        minutes,
    ))
}

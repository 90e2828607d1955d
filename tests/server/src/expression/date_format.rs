//! `$dateToString`.

use super::date::{millis, zone};
use super::{Named, NamedFunction, Scope};
use crate::error::{Error, Result};
use crate::value::date::Civil;
use crate::value::type_name;
use crate::value::zone::Zone;
use bson::Bson;

pub(super) const NAMED: &[NamedFunction] = &[NamedFunction {
    name: "$dateToString",
    required: &["date"],
    optional: &["format", "timezone", "onNull"],
    run: to_string,
}];

fn to_string(named: &Named, _: &Scope<'_>) -> Result<Bson> {
    if named.is_null("date") {
        return Ok(named.get("onNull").cloned().unwrap_or(Bson::Null));
    }
    if named.is_null("format") || named.is_null("timezone") {
        return Ok(Bson::Null);
    }
    let zone = zone(named.get("timezone"))?;
    let at = millis(named.required("date"), "$dateToString")?;
    let shift = zone.offset_at(at);
    let format = match named.get("format") {
        None if matches!(zone, Zone::Fixed(0)) => "%Y-%m-%dT%H:%M:%S.%LZ",
        None => "%Y-%m-%dT%H:%M:%S.%L",
        Some(Bson::String(format)) => format,
        Some(other) => {
            return Err(Error::new(
                18533,
                format!(
                    "$dateToString requires that 'format' be a string, found: {}",
                    type_name(other)
                ),
            ));
        }
    };
    print(
        Civil::from_millis(at.saturating_add(shift)),
        format,
        shift / 60_000,
    )
    .map(Bson::String)
}

/// English month names, January first.
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn print(c: Civil, format: &str, offset: i64) -> Result<String> {
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(next) = chars.next() {
        if next != '%' {
            out.push(next);
            continue;
        }
        let month = MONTHS[(c.month - 1).clamp(0, 11) as usize];
        out.push_str(&match chars.next() {
            Some('Y') => format!("{:04}", c.year),
            Some('m') => format!("{:02}", c.month),
            Some('d') => format!("{:02}", c.day),
            Some('H') => format!("{:02}", c.hour),
            Some('M') => format!("{:02}", c.minute),
            Some('S') => format!("{:02}", c.second),
            Some('L') => format!("{:03}", c.millisecond),
            Some('j') => format!("{:03}", c.day_of_year()),
            Some('w') => c.day_of_week().to_string(),
            Some('U') => format!("{:02}", c.week()),
            Some('G') => format!("{:04}", c.iso_week().0),
            Some('V') => format!("{:02}", c.iso_week().1),
            Some('u') => c.iso_day_of_week().to_string(),
            Some('b') => month[..3].to_owned(),
            Some('B') => month.to_owned(),
            Some('z') => format!(
                "{}{:02}{:02}",
                if offset < 0 { '-' } else { '+' },
                offset.abs() / 60,
                offset.abs() % 60
            ),
            Some('Z') => offset.to_string(),
            Some('%') => "%".to_owned(),
            Some(other) => {
                return Err(Error::new(
                    18536,
                    format!("Invalid format character '%{other}' in format string"),
                ));
            }
            None => return Err(Error::new(18535, "Unmatched '%' at end of format string")),
        });
    }
    Ok(out)
}

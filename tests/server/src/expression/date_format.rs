//! `$dateToString`, `$dateFromString`, `$dateFromParts`.

use super::date::{millis, offset};
use super::{Named, NamedFunction, Scope};
use crate::error::{Error, Result, code};
use crate::value::date::{Civil, parse_iso};
use crate::value::number::Number;
use crate::value::type_name;
use bson::{Bson, DateTime};

pub(super) const NAMED: &[NamedFunction] = &[
    NamedFunction {
        name: "$dateToString",
        required: &["date"],
        optional: &["format", "timezone", "onNull"],
        run: to_string,
    },
    NamedFunction {
        name: "$dateFromString",
        required: &["dateString"],
        optional: &["format", "timezone", "onError", "onNull"],
        run: from_string,
    },
    NamedFunction {
        name: "$dateFromParts",
        required: &["year"],
        optional: &[
            "month",
            "day",
            "hour",
            "minute",
            "second",
            "millisecond",
            "timezone",
        ],
        run: from_parts,
    },
];

fn to_string(named: &Named, _: &Scope<'_>) -> Result<Bson> {
    if named.is_null("date") {
        return Ok(named.get("onNull").cloned().unwrap_or(Bson::Null));
    }
    if named.is_null("format") || named.is_null("timezone") {
        return Ok(Bson::Null);
    }
    let shift = offset(named)?;
    let format = match named.get("format") {
        None if named.get("timezone").is_some() && shift != 0 => "%Y-%m-%dT%H:%M:%S.%L",
        None => "%Y-%m-%dT%H:%M:%S.%LZ",
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
    let at = millis(named.required("date"), "$dateToString")?;
    print(
        Civil::from_millis(at.saturating_add(shift)),
        format,
        shift / 60_000,
    )
    .map(Bson::String)
}

fn print(c: Civil, format: &str, offset: i64) -> Result<String> {
    const MONTHS: [&str; 12] = [
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

fn from_string(named: &Named, _: &Scope<'_>) -> Result<Bson> {
    if named.is_null("dateString") {
        return Ok(named.get("onNull").cloned().unwrap_or(Bson::Null));
    }
    if named.get("format").is_some() {
        return Err(Error::not_served("$dateFromString with a format"));
    }
    let parsed = match named.required("dateString") {
        Bson::String(text) => parse_iso(text).ok_or_else(|| format!("Error parsing date string '{text}'")),
        other => Err(format!(
            "$dateFromString requires that 'dateString' be a string, found: {}",
            type_name(other)
        )),
    };
    match (parsed, named.get("onError")) {
        (Ok(millis), _) => Ok(Bson::DateTime(DateTime::from_millis(millis - offset(named)?))),
        (Err(_), Some(fallback)) => Ok(fallback.clone()),
        (Err(message), None) => Err(Error::new(code::CONVERSION_FAILURE, message)),
    }
}

fn from_parts(named: &Named, _: &Scope<'_>) -> Result<Bson> {
    let part = |name: &str, default: i64| match named.get(name) {
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
    };
    let parts = [
        part("year", 1970)?,
        part("month", 1)?,
        part("day", 1)?,
        part("hour", 0)?,
        part("minute", 0)?,
        part("second", 0)?,
        part("millisecond", 0)?,
    ];
    let [
        Some(year),
        Some(month),
        Some(day),
        Some(hour),
        Some(minute),
        Some(second),
        Some(millisecond),
    ] = parts
    else {
        return Ok(Bson::Null);
    };
    if !(1..=9999).contains(&year) {
        return Err(Error::new(
            40523,
            format!("'year' must be an integer in the range 1 to 9999, found {year}"),
        ));
    }
    let civil = Civil {
        year,
        month,
        day,
        hour,
        minute,
        second,
        millisecond,
    };
    let millis = civil
        .to_millis()
        .ok_or_else(|| Error::new(31034, "'part' of the date is out of range"))?;
    Ok(Bson::DateTime(DateTime::from_millis(millis - offset(named)?)))
}

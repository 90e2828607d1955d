//! Dates in the format of RFC 3339, for relaxed Extended JSON.

use std::fmt::{self, Write};
use std::ops::RangeInclusive;

const DAY: i64 = 86_400_000;
/// Days from 0000-03-01 to 1970-01-01 in the Gregorian calendar.
const EPOCH: i64 = 719_468;

/// The dates that relaxed Extended JSON represents as text: the years 1970 to 9999, in
/// milliseconds.
pub(super) const TEXTUAL: RangeInclusive<i64> = 0..=253_402_300_799_999;

/// Writes a date within [`TEXTUAL`]. Milliseconds are omitted if they are zero.
pub(super) fn write_date(millis: i64, out: &mut dyn Write) -> fmt::Result {
    let (days, rest) = (millis.div_euclid(DAY), millis.rem_euclid(DAY));
    let (year, month, day) = civil(days);
    let (seconds, fraction) = (rest / 1000, rest % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    write!(
        out,
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
    )?;
    if fraction > 0 {
        write!(out, ".{fraction:03}")?;
    }
    out.write_char('Z')
}

/// Year, month and day of a number of days since 1970-01-01. Internally years start in March, so
/// that the leap day is the last day of a year.
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let march_month = (month + 9) % 12;
    let day_of_year = (153 * march_month + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - EPOCH
}

/// Parses a date such as `2012-12-24T12:15:30.501Z`. Returns milliseconds since 1970.
///
/// Fractions of milliseconds are truncated. Offsets have the form `+01:00`, or the forms `+0100`
/// and `+01` of old tools.
pub(crate) fn read_date(text: &str) -> Option<i64> {
    let mut rest = text.as_bytes();
    let year = number(&mut rest, 4)?;
    mark(&mut rest, b"-")?;
    let month = number(&mut rest, 2)?;
    mark(&mut rest, b"-")?;
    let day = number(&mut rest, 2)?;
    mark(&mut rest, b"Tt")?;
    let hour = number(&mut rest, 2)?;
    mark(&mut rest, b":")?;
    let minute = number(&mut rest, 2)?;
    mark(&mut rest, b":")?;
    let second = number(&mut rest, 2)?;
    let fraction = match mark(&mut rest, b".") {
        Some(_) => read_fraction(&mut rest)?,
        None => 0,
    };
    let offset = read_offset(&mut rest)?;
    if !rest.is_empty() || !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days_from_civil(year, month, day);
    // A day that does not exist in its month is converted to one of the next month.
    if civil(days) != (year, month, day) {
        return None;
    }
    Some(days * DAY + ((hour * 60 + minute - offset) * 60 + second) * 1000 + fraction)
}

fn read_fraction(rest: &mut &[u8]) -> Option<i64> {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (fraction, after) = rest.split_at_checked(digits)?;
    *rest = after;
    let padded = fraction.iter().copied().chain(std::iter::repeat(b'0')).take(3);
    (digits > 0).then(|| padded.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
}

/// Offset from UTC in minutes.
fn read_offset(rest: &mut &[u8]) -> Option<i64> {
    let sign = match mark(rest, b"Zz+-")? {
        b'+' => 1,
        b'-' => -1,
        _ => return Some(0),
    };
    let hours = number(rest, 2)?;
    let colon = mark(rest, b":").is_some();
    let minutes = if rest.is_empty() && !colon {
        0
    } else {
        number(rest, 2)?
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

fn number(rest: &mut &[u8], digits: usize) -> Option<i64> {
    let (number, after) = rest.split_at_checked(digits)?;
    *rest = after;
    number.iter().try_fold(0, |sum, digit| {
        digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0'))
    })
}

fn mark(rest: &mut &[u8], marks: &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    marks.contains(first).then(|| {
        *rest = after;
        *first
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(millis: i64) -> String {
        let mut text = String::new();
        write_date(millis, &mut text).unwrap();
        text
    }

    #[test]
    fn dates_go_both_ways() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_356_351_330_501, "2012-12-24T12:15:30.501Z"),
            (1_356_351_330_001, "2012-12-24T12:15:30.001Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(written(millis), text);
            assert_eq!(read_date(text), Some(millis));
        }
        for day in (0..=2_932_896).step_by(13) {
            let millis = day * DAY + 1;
            assert_eq!(read_date(&written(millis)), Some(millis));
        }
    }

    #[test]
    fn other_spellings_are_read() {
        for (text, millis) in [
            ("1970-01-01t01:00:00+01:00", 0),
            ("1970-01-01T01:00:00+0100", 0),
            ("1970-01-01T01:00:00.5+01", 500),
            ("1969-12-31T22:30:00.000-01:30", 0),
            ("1969-12-31T23:59:59.9999Z", -1),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000),
        ] {
            assert_eq!(read_date(text), Some(millis), "{text}");
        }
    }

    #[test]
    fn text_other_than_a_date_is_rejected() {
        for text in [
            "",
            "1970",
            "1970-01-01",
            "1970-01-01T00:00Z",
            "1970-01-01T00:00:00",
            "1970-01-01 00:00:00Z",
            "1970-13-01T00:00:00Z",
            "1970-00-01T00:00:00Z",
            "1970-02-30T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "1970-01-00T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-01T00:60:00Z",
            "1970-01-01T00:00:60Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00ZZ",
            "1970-01-01T00:00:00+1",
            "1970-01-01T00:00:00+01:",
            "1970-01-01T00:00:00+24:00",
            "+970-01-01T00:00:00Z",
            "1970-01-01T00:00:0éZ",
        ] {
            assert_eq!(read_date(text), None, "{text}");
        }
    }
}

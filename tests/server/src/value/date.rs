//! Calendar arithmetic on BSON dates (UTC, proleptic Gregorian calendar), and their string formats.

/// The parts of a date and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
    pub(crate) millisecond: i64,
}

const MILLIS_PER_DAY: i64 = 86_400_000;

/// Days from 1970-01-01 to a date. Months outside 1 to 12 carry into the year.
pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year + (month - 1).div_euclid(12);
    let month = (month - 1).rem_euclid(12) + 1;
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

impl Civil {
    /// Converts from milliseconds since the epoch.
    pub(crate) fn from_millis(millis: i64) -> Civil {
        let days = millis.div_euclid(MILLIS_PER_DAY);
        let rest = millis.rem_euclid(MILLIS_PER_DAY);
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let month = if shifted_month < 10 {
            shifted_month + 3
        } else {
            shifted_month - 9
        };
        Civil {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * shifted_month + 2) / 5 + 1,
            hour: rest / 3_600_000,
            minute: rest / 60_000 % 60,
            second: rest / 1_000 % 60,
            millisecond: rest % 1_000,
        }
    }

    /// Converts to milliseconds since the epoch. Parts out of range carry. `None` on overflow.
    pub(crate) fn to_millis(self) -> Option<i64> {
        if !(-300_000_000..=300_000_000).contains(&self.year) || self.month.abs() > 1_000_000_000 {
            return None;
        }
        days_from_civil(self.year, self.month, 1)
            .checked_add(self.day.checked_sub(1)?)?
            .checked_mul(MILLIS_PER_DAY)?
            .checked_add(self.hour.checked_mul(3_600_000)?)?
            .checked_add(self.minute.checked_mul(60_000)?)?
            .checked_add(self.second.checked_mul(1_000)?)?
            .checked_add(self.millisecond)
    }

    /// 1 to 366.
    pub(crate) fn day_of_year(self) -> i64 {
        days_from_civil(self.year, self.month, self.day) - days_from_civil(self.year, 1, 1) + 1
    }

    /// 1 (Sunday) to 7 (Saturday).
    pub(crate) fn day_of_week(self) -> i64 {
        (days_from_civil(self.year, self.month, self.day) + 4).rem_euclid(7) + 1
    }

    /// 1 (Monday) to 7 (Sunday).
    pub(crate) fn iso_day_of_week(self) -> i64 {
        (self.day_of_week() + 5) % 7 + 1
    }

    /// 0 to 53. Weeks begin on Sunday; days before the first Sunday are in week 0.
    pub(crate) fn week(self) -> i64 {
        (self.day_of_year() + 7 - self.day_of_week()) / 7
    }

    /// The ISO 8601 year and week.
    pub(crate) fn iso_week(self) -> (i64, i64) {
        let days = days_from_civil(self.year, self.month, self.day);
        let thursday = Civil::from_millis((days + 4 - self.iso_day_of_week()) * MILLIS_PER_DAY);
        (thursday.year, (thursday.day_of_year() - 1) / 7 + 1)
    }
}

pub(crate) fn days_in_month(year: i64, month: i64) -> i64 {
    days_from_civil(year, month + 1, 1) - days_from_civil(year, month, 1)
}

/// ISO 8601 format with milliseconds and `Z`.
pub(crate) fn to_iso(millis: i64) -> String {
    let c = Civil::from_millis(millis);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        c.year, c.month, c.day, c.hour, c.minute, c.second, c.millisecond
    )
}

/// Parses an offset such as `+03:00`, `-0530`, `Z` or `UTC`. Returns minutes.
pub(crate) fn parse_offset(text: &str) -> Option<i64> {
    if matches!(
        text,
        "Z" | "z" | "UTC" | "GMT" | "Etc/UTC" | "Etc/GMT" | "Europe/UTC" | ""
    ) {
        return Some(0);
    }
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits: String = text[1..].chars().filter(|c| *c != ':').collect();
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes) = match digits.len() {
        2 => (digits.parse::<i64>().ok()?, 0),
        4 => (digits[..2].parse::<i64>().ok()?, digits[2..].parse::<i64>().ok()?),
        _ => return None,
    };
    Some(sign * (hours * 60 + minutes))
}

/// Parses an ISO 8601 date with optional time, fraction and offset. Returns milliseconds since the
/// epoch.
pub(crate) fn parse_iso(text: &str) -> Option<i64> {
    let (civil, offset) = parse_civil(text)?;
    civil
        .to_millis()?
        .checked_sub(offset.unwrap_or(0).checked_mul(60_000)?)
}

/// Parses an ISO 8601 date with optional time, and the offset from UTC in minutes, if present. The
/// day is optional, the month is not: the server parses four digits as a time.
pub(crate) fn parse_civil(text: &str) -> Option<(Civil, Option<i64>)> {
    let text = text.trim();
    if !text.is_ascii() {
        return None;
    }
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let compact = date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit());
    let (year, month, day) = if compact {
        (&date[..4], &date[4..6], &date[6..])
    } else {
        let mut parts = date.splitn(3, '-');
        (parts.next()?, parts.next()?, parts.next().unwrap_or("1"))
    };
    if year.len() != 4 || month.len() > 2 || day.len() > 2 {
        return None;
    }
    let (year, month, day) = (number(year)?, number(month)?, number(day)?);
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    let mut civil = Civil {
        year,
        month,
        day,
        hour: 0,
        minute: 0,
        second: 0,
        millisecond: 0,
    };
    let mut offset = None;
    if let Some(time) = time {
        let end = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
        let zone = &time[end..];
        if !zone.is_empty() {
            offset = Some(parse_offset(zone)?);
        }
        let (clock, fraction) = time[..end].split_once('.').unwrap_or((&time[..end], ""));
        let mut parts = clock.splitn(3, ':').map(number);
        civil.hour = parts.next()??;
        civil.minute = parts.next()??;
        civil.second = parts.next().unwrap_or(Some(0))?;
        if civil.hour > 24 || civil.minute > 59 || civil.second > 60 {
            return None;
        }
        if !fraction.is_empty() {
            let padded: String = fraction.chars().chain("00".chars()).take(3).collect();
            number(fraction)?;
            civil.millisecond = number(&padded)?;
        }
    }
    Some((civil, offset))
}

/// Returns whether a string that is not in ISO 8601 format may be in another format that the server
/// accepts, such as `July 4, 2017`, `7/4/2017` or `@0`.
pub(crate) fn may_be_other_form(text: &str) -> bool {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let lower = text.trim().to_ascii_lowercase();
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut words = lower.split(|c: char| !c.is_ascii_alphabetic());
    let month = words.any(|word| MONTHS.iter().any(|month| word.starts_with(month)));
    let first = lower.split([' ', 't']).next().unwrap_or("");
    let slashes = first.contains('/') && first.split('/').all(digits);
    (month && lower.bytes().any(|byte| byte.is_ascii_digit()))
        || slashes
        || lower.strip_prefix('@').is_some_and(digits)
}

fn number(text: &str) -> Option<i64> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips() {
        for millis in [
            0,
            -1,
            951_782_400_000,
            1_700_000_000_123,
            -62_135_596_800_000,
            253_402_300_799_999,
        ] {
            assert_eq!(Civil::from_millis(millis).to_millis(), Some(millis));
        }
        assert_eq!(to_iso(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
        assert_eq!(to_iso(-1), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn weeks_and_days() {
        let c = Civil::from_millis(parse_iso("2021-01-03").unwrap());
        assert_eq!(
            (c.day_of_week(), c.iso_day_of_week(), c.week(), c.iso_week()),
            (1, 7, 1, (2020, 53))
        );
        let c = Civil::from_millis(parse_iso("2024-12-31").unwrap());
        assert_eq!((c.day_of_year(), c.iso_week()), (366, (2025, 1)));
    }

    #[test]
    fn parses_iso_text() {
        assert_eq!(parse_iso("1970-01-01T00:00:01.5Z"), Some(1_500));
        assert_eq!(parse_iso("1970-01-01T01:00:00+01:00"), Some(0));
        assert_eq!(parse_iso("2023-02-29"), None);
        assert_eq!(parse_iso("x"), None);
        assert_eq!(parse_iso("2017"), None);
        assert_eq!(parse_iso("2017-01"), parse_iso("20170101"));
        assert_eq!(parse_civil("2017-01-01T00:00:00").unwrap().1, None);
        assert_eq!(parse_civil("2017-01-01T00:00:00+0100").unwrap().1, Some(60));
        for other in ["July 4, 2017", "7/4/2017", "@0", "4 jul 2017"] {
            assert!(parse_iso(other).is_none() && may_be_other_form(other), "{other}");
        }
        for none in ["x", "2017", "foo1", "2017-13-01", "@x"] {
            assert!(!may_be_other_form(none), "{none}");
        }
        assert_eq!(parse_offset("-0530"), Some(-330));
    }
}

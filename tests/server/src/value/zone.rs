//! Time zones: fixed offsets, and the zones of the system's time zone database (RFC 9636), whose
//! files are read on first use.

mod rules;

use super::date::parse_offset;
use crate::error::{Error, Result};
use rules::Rules;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The usual paths of the database.
const DIRECTORIES: [&str; 3] = [
    "/usr/share/zoneinfo",
    "/usr/lib/zoneinfo",
    "/usr/share/lib/zoneinfo",
];

const MILLIS_PER_DAY: i64 = 86_400_000;

/// A time zone. All times are in milliseconds since the epoch.
#[derive(Debug, Clone)]
pub(crate) enum Zone {
    /// The offset from UTC in milliseconds.
    Fixed(i64),
    Rules(Arc<Rules>),
}

impl Zone {
    /// UTC.
    pub(crate) const UTC: Zone = Zone::Fixed(0);

    /// Parses an offset or a time zone name.
    pub(crate) fn parse(name: &str) -> Result<Zone> {
        static READ: LazyLock<Mutex<HashMap<String, Arc<Rules>>>> = LazyLock::new(Mutex::default);
        if let Some(minutes) = parse_offset(name) {
            return Ok(Zone::Fixed(minutes * 60_000));
        }
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rules) = read.get(name) {
            return Ok(Zone::Rules(Arc::clone(rules)));
        }
        let rules = Arc::new(from_database(name)?);
        read.insert(name.to_owned(), Arc::clone(&rules));
        Ok(Zone::Rules(rules))
    }

    /// The offset from UTC at a time.
    pub(crate) fn offset_at(&self, utc: i64) -> i64 {
        match self {
            Zone::Fixed(offset) => *offset,
            Zone::Rules(rules) => rules.offset_at(utc.div_euclid(1000)) * 1000,
        }
    }

    /// Converts to local time.
    pub(crate) fn to_local(&self, utc: i64) -> i64 {
        utc.saturating_add(self.offset_at(utc))
    }

    /// Converts from local time. An ambiguous time is the earlier one; a time in a gap uses the
    /// offset before the gap.
    pub(crate) fn to_utc(&self, local: i64) -> i64 {
        let before = self.offset_at(local.saturating_sub(MILLIS_PER_DAY));
        let after = self.offset_at(local.saturating_add(MILLIS_PER_DAY));
        let first = local.saturating_sub(before);
        let second = local.saturating_sub(after);
        if self.offset_at(first) != before && self.offset_at(second) == after {
            second
        } else {
            first
        }
    }
}

fn from_database(name: &str) -> Result<Rules> {
    let unknown = || Error::new(40485, format!("unrecognized time zone identifier: \"{name}\""));
    let proper = name
        .split('/')
        .all(|part| part.starts_with(|c: char| c.is_ascii_alphabetic()) && !part.contains('.'))
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"/_+-".contains(&byte));
    if !proper {
        return Err(unknown());
    }
    let directory = DIRECTORIES.into_iter().map(Path::new).find(|path| path.is_dir());
    let Some(directory) = directory else {
        return Err(Error::not_served(format!(
            "the time zone {name:?} on a system without a time zone database"
        )));
    };
    let bytes = std::fs::read(directory.join(name)).map_err(|_| unknown())?;
    Rules::parse(&bytes).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::date::parse_iso;

    /// A zone without transitions, to which the rule always applies.
    fn zone(rule: &str) -> Zone {
        Zone::Rules(Arc::new(Rules::parse(&rules::tests::file(&[], rule)).unwrap()))
    }

    fn at(text: &str) -> i64 {
        parse_iso(text).unwrap()
    }

    #[test]
    fn local_times_in_gaps_and_overlaps() {
        let new_york = zone("EST5EDT,M3.2.0,M11.1.0");
        for (local, utc) in [
            ("2026-01-15T12:00:00", "2026-01-15T17:00:00"),
            ("2026-07-15T12:00:00", "2026-07-15T16:00:00"),
            ("2026-03-08T01:59:00", "2026-03-08T06:59:00"),
            // Clocks change from 2:00 to 3:00.
            ("2026-03-08T02:30:00", "2026-03-08T07:30:00"),
            ("2026-03-08T03:00:00", "2026-03-08T07:00:00"),
            // 1:30 occurs twice.
            ("2026-11-01T01:30:00", "2026-11-01T05:30:00"),
            ("2026-11-01T02:00:00", "2026-11-01T07:00:00"),
        ] {
            assert_eq!(new_york.to_utc(at(local)), at(utc), "{local}");
        }
        assert_eq!(
            new_york.to_local(at("2026-03-08T07:30:00")),
            at("2026-03-08T03:30:00")
        );
    }

    #[test]
    fn offsets_and_unknown_names() {
        assert_eq!(Zone::parse("+05:30").unwrap().offset_at(0), 19_800_000);
        assert_eq!(Zone::parse("UTC").unwrap().to_utc(5), 5);
        for name in [
            "../etc/passwd",
            "/etc/passwd",
            "America/",
            "x.y",
            "America/New York",
        ] {
            assert_eq!(Zone::parse(name).unwrap_err().code, 40485, "{name}");
        }
    }
}

//! The rules of one time zone: a TZif file (RFC 9636), and the POSIX `TZ` string for the times
//! after its last transition.

use super::super::date::{Civil, days_from_civil, days_in_month};

/// Transitions, and the rule after the last one. All times and offsets are in seconds.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// The offset before the first transition.
    first: i64,
    /// The times of the transitions and the offsets after them, in ascending order.
    transitions: Vec<(i64, i64)>,
    after: Option<Yearly>,
}

/// A standard offset, and an offset for a part of each year.
#[derive(Debug, Clone, Copy)]
struct Yearly {
    standard: i64,
    /// The offset, start and end of daylight saving time.
    daylight: Option<(i64, Change, Change)>,
}

#[derive(Debug, Clone, Copy)]
struct Change {
    day: Day,
    time: i64,
}

#[derive(Debug, Clone, Copy)]
enum Day {
    /// 1 to 365; February 29 is not counted.
    Julian(i64),
    /// 0 to 365.
    OfYear(i64),
    /// Month, week (5: the last), weekday (0: Sunday).
    Weekday(i64, i64, i64),
}

impl Rules {
    /// Parses a TZif file. Returns `None` if it is malformed.
    pub(super) fn parse(file: &[u8]) -> Option<Rules> {
        let (counts, body) = header(file)?;
        // The version 1 block has 32-bit times; a version 2 block with 64-bit times follows.
        let second = body.get(counts.length(4)..)?;
        let (counts, body) = header(second)?;
        let (times, rest) = body.split_at_checked(counts.times * 8)?;
        let (indexes, rest) = rest.split_at_checked(counts.times)?;
        let (types, _) = rest.split_at_checked(counts.types * 6)?;
        let offset = |index: u8| {
            let entry = types.get(usize::from(index) * 6..)?.first_chunk::<4>()?;
            Some(i64::from(i32::from_be_bytes(*entry)))
        };
        let transitions = times
            .chunks_exact(8)
            .zip(indexes)
            .map(|(time, index)| Some((i64::from_be_bytes(time.try_into().ok()?), offset(*index)?)))
            .collect::<Option<Vec<_>>>()?;
        let footer = std::str::from_utf8(body.get(counts.length(8)..)?).ok()?;
        let after = match footer.trim_matches('\n') {
            "" => None,
            rule => Some(Yearly::parse(rule)?),
        };
        Some(Rules {
            first: offset(0)?,
            transitions,
            after,
        })
    }

    /// The offset at a time.
    pub(super) fn offset_at(&self, utc: i64) -> i64 {
        let passed = self.transitions.partition_point(|(at, _)| *at <= utc);
        if passed == self.transitions.len()
            && let Some(yearly) = &self.after
        {
            return yearly.offset_at(utc);
        }
        passed
            .checked_sub(1)
            .map_or(self.first, |last| self.transitions[last].1)
    }
}

/// The number of entries of each kind in a block.
struct Counts {
    utc_flags: usize,
    standard_flags: usize,
    leaps: usize,
    times: usize,
    types: usize,
    letters: usize,
}

impl Counts {
    /// The length of the block in bytes. `time` is the size of a time value in bytes.
    fn length(&self, time: usize) -> usize {
        self.times * (time + 1)
            + self.types * 6
            + self.letters
            + self.leaps * (time + 4)
            + self.standard_flags
            + self.utc_flags
    }
}

fn header(file: &[u8]) -> Option<(Counts, &[u8])> {
    let (head, body) = file.split_at_checked(44)?;
    if !head.starts_with(b"TZif") || head[4] < b'2' {
        return None;
    }
    let count = |index: usize| {
        let bytes = head.get(20 + index * 4..)?.first_chunk::<4>()?;
        usize::try_from(u32::from_be_bytes(*bytes)).ok()
    };
    let counts = Counts {
        utc_flags: count(0)?,
        standard_flags: count(1)?,
        leaps: count(2)?,
        times: count(3)?,
        types: count(4)?,
        letters: count(5)?,
    };
    // Valid zones are far smaller; larger counts could overflow the sums of lengths.
    (counts.length(8) < 1 << 24).then_some((counts, body))
}

impl Yearly {
    /// Parses a string such as `EST5EDT,M3.2.0,M11.1.0`.
    fn parse(text: &str) -> Option<Yearly> {
        let mut rest = text;
        name(&mut rest)?;
        let standard = -time(&mut rest)?;
        if rest.is_empty() {
            return Some(Yearly {
                standard,
                daylight: None,
            });
        }
        name(&mut rest)?;
        let offset = if rest.starts_with(',') {
            standard + 3600
        } else {
            -time(&mut rest)?
        };
        let begin = Change::parse(&mut rest)?;
        let end = Change::parse(&mut rest)?;
        rest.is_empty().then_some(Yearly {
            standard,
            daylight: Some((offset, begin, end)),
        })
    }

    fn offset_at(&self, utc: i64) -> i64 {
        let Some((daylight, begin, end)) = self.daylight else {
            return self.standard;
        };
        let year = Civil::from_millis(utc.saturating_add(self.standard).saturating_mul(1000)).year;
        let begins = begin.local(year) - self.standard;
        let ends = end.local(year) - daylight;
        let saved = if begins < ends {
            (begins..ends).contains(&utc)
        } else {
            !(ends..begins).contains(&utc)
        };
        if saved { daylight } else { self.standard }
    }
}

impl Change {
    /// Consumes `,M3.2.0/2`, `,J60` or `,59`.
    fn parse(rest: &mut &str) -> Option<Change> {
        *rest = rest.strip_prefix(',')?;
        let day = if let Some(julian) = rest.strip_prefix('J') {
            *rest = julian;
            Day::Julian(number(rest)?)
        } else if let Some(month) = rest.strip_prefix('M') {
            *rest = month;
            let month = number(rest)?;
            *rest = rest.strip_prefix('.')?;
            let week = number(rest)?;
            *rest = rest.strip_prefix('.')?;
            Day::Weekday(month, week, number(rest)?)
        } else {
            Day::OfYear(number(rest)?)
        };
        let time = match rest.strip_prefix('/') {
            None => 2 * 3600,
            Some(after) => {
                *rest = after;
                time(rest)?
            }
        };
        Some(Change { day, time })
    }

    /// The local time of the change in a year.
    fn local(self, year: i64) -> i64 {
        let first = days_from_civil(year, 1, 1);
        let days = match self.day {
            Day::OfYear(day) => first + day,
            Day::Julian(day) => {
                let leap = days_in_month(year, 2) == 29 && day >= 60;
                first + day - 1 + i64::from(leap)
            }
            Day::Weekday(month, week, weekday) => {
                let first = days_from_civil(year, month, 1);
                // 1970-01-01 was a Thursday.
                let day = first + (weekday - (first + 4)).rem_euclid(7) + (week - 1) * 7;
                if day >= first + days_in_month(year, month) {
                    day - 7
                } else {
                    day
                }
            }
        };
        days * 86_400 + self.time
    }
}

/// Consumes an abbreviation: letters, or any text in angle brackets.
fn name(rest: &mut &str) -> Option<()> {
    *rest = match rest.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>')?.1,
        None => rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()),
    };
    Some(())
}

fn number(rest: &mut &str) -> Option<i64> {
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    *rest = after;
    // Hours, minutes, days and weeks have at most three digits.
    (digits.len() <= 3).then(|| digits.parse().ok())?
}

/// Consumes `[+-]hours[:minutes[:seconds]]`.
fn time(rest: &mut &str) -> Option<i64> {
    let negative = rest.starts_with('-');
    *rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let mut seconds = number(rest)? * 3600;
    for unit in [60, 1] {
        if let Some(after) = rest.strip_prefix(':') {
            *rest = after;
            seconds += number(rest)? * unit;
        }
    }
    Some(if negative { -seconds } else { seconds })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::value::date::parse_iso;

    /// A file with an initial offset of zero, transitions (time, offset), and the rule for later
    /// times.
    pub(in super::super) fn file(transitions: &[(i64, i32)], rule: &str) -> Vec<u8> {
        let header = |times: usize, types: usize| {
            let mut head = b"TZif2".to_vec();
            head.resize(20, 0);
            for count in [0, 0, 0, times, types, 0] {
                head.extend((count as u32).to_be_bytes());
            }
            head
        };
        let mut file = header(0, 1);
        file.extend([0; 6]);
        file.extend(header(transitions.len(), transitions.len() + 1));
        for (at, _) in transitions {
            file.extend(at.to_be_bytes());
        }
        file.extend((1..).take(transitions.len()));
        for offset in [0].iter().chain(transitions.iter().map(|(_, offset)| offset)) {
            file.extend(offset.to_be_bytes());
            file.extend([0, 0]);
        }
        file.extend(format!("\n{rule}\n").bytes());
        file
    }

    fn offset(rules: &Rules, text: &str) -> i64 {
        rules.offset_at(parse_iso(text).unwrap() / 1000)
    }

    #[test]
    fn transitions_precede_the_rule() {
        let rules = Rules::parse(&file(&[(1000, 60), (2000, 120)], "X-1")).unwrap();
        let at = |utc: i64| rules.offset_at(utc);
        assert_eq!(
            [at(-5), at(999), at(1000), at(1999), at(2000)],
            [0, 0, 60, 60, 3600]
        );
        let rules = Rules::parse(&file(&[(1000, 60)], "")).unwrap();
        assert_eq!(rules.offset_at(5000), 60);
    }

    #[test]
    fn yearly_rules() {
        let rule = |rule: &str| Rules::parse(&file(&[], rule)).unwrap();
        let berlin = rule("CET-1CEST,M3.5.0,M10.5.0/3");
        assert_eq!(offset(&berlin, "2026-03-29T00:59:59"), 3600);
        assert_eq!(offset(&berlin, "2026-03-29T01:00:00"), 7200);
        assert_eq!(offset(&berlin, "2026-10-25T00:59:59"), 7200);
        assert_eq!(offset(&berlin, "2026-10-25T01:00:00"), 3600);
        // Daylight saving time extends over the end of the year.
        let sydney = rule("AEST-10AEDT,M10.1.0,M4.1.0/3");
        assert_eq!(offset(&sydney, "2026-01-01T00:00:00"), 39_600);
        assert_eq!(offset(&sydney, "2026-07-01T00:00:00"), 36_000);
        // Standard time is in summer, daylight saving time (with a negative offset) in winter.
        let dublin = rule("IST-1GMT0,M10.5.0,M3.5.0/1");
        assert_eq!(offset(&dublin, "2026-01-01T00:00:00"), 0);
        assert_eq!(offset(&dublin, "2026-07-01T00:00:00"), 3600);
        let days = rule("A0B,J60/0,300/-1:30");
        assert_eq!(offset(&days, "2024-03-01T00:00:00"), 3600);
        assert_eq!(offset(&days, "2024-02-29T23:59:59"), 0);
        assert_eq!(offset(&days, "2023-10-27T21:29:59"), 3600);
        assert_eq!(offset(&days, "2023-10-27T21:30:00"), 0);
        assert_eq!(offset(&rule("<+0545>-5:45"), "2026-01-01T00:00:00"), 20_700);
    }

    #[test]
    fn malformed_files() {
        let good = file(&[(1000, 60)], "CET-1CEST,M3.5.0,M10.5.0/3");
        for length in 0..good.len() - 2 {
            // A truncated rule may be valid; parsing must not panic.
            let _ = Rules::parse(&good[..length]);
        }
        assert!(Rules::parse(&good[..60]).is_none());
        assert!(Rules::parse(b"TZif").is_none());
        assert!(Rules::parse(&file(&[], "CET-1CEST")).is_none());
        let mut huge = good;
        huge[32..36].fill(0xff);
        assert!(Rules::parse(&huge).is_none());
    }
}

//! Parsers for the values of options. An invalid value causes a warning, and the option is ignored.

use std::{collections::BTreeMap, time::Duration};

/// Parses values and collects the warnings.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The name of the option being read, as the connection string spells it.
    pub(super) name: String,
    pub(super) warnings: Vec<String>,
}

impl Reader {
    /// Adds a warning for an ignored value. The warning does not contain the value, which can be a
    /// secret.
    pub(super) fn warn_ignored(&mut self, expected: &str) {
        self.warnings.push(format!(
            "the value of {} is ignored: expected {expected}",
            self.name
        ));
    }

    /// As [`warn_ignored`](Self::warn_ignored); returns `None` as the value.
    pub(super) fn ignore<T>(&mut self, expected: &str) -> Option<T> {
        self.warn_ignored(expected);
        None
    }

    pub(super) fn boolean(&mut self, value: &str) -> Option<bool> {
        let (meant, current) = match value {
            "true" => return Some(true),
            "false" => return Some(false),
            "1" | "yes" | "y" | "t" => (true, "true"),
            "0" | "-1" | "no" | "n" | "f" => (false, "false"),
            _ => return self.ignore("true or false"),
        };
        self.warnings.push(format!(
            "the value of {0} is deprecated: write {0}={current}",
            self.name
        ));
        Some(meant)
    }

    /// A 32-bit integer from `least` to `most`.
    pub(super) fn integer(&mut self, value: &str, least: i32, most: i32) -> Option<i32> {
        match value.parse::<i32>() {
            Ok(number) if (least..=most).contains(&number) => Some(number),
            _ if most == i32::MAX => self.ignore(&format!("an integer of at least {least}")),
            _ => self.ignore(&format!("an integer from {least} to {most}")),
        }
    }

    pub(super) fn count(&mut self, value: &str, least: i32) -> Option<u32> {
        self.integer(value, least, i32::MAX)
            .and_then(|number| u32::try_from(number).ok())
    }

    pub(super) fn millis(&mut self, value: &str, least: i32) -> Option<Duration> {
        self.count(value, least)
            .map(|millis| Duration::from_millis(u64::from(millis)))
    }

    /// Parses `a:1,b:2`. An empty value is an empty map.
    pub(super) fn pairs(&mut self, value: &str) -> Option<BTreeMap<String, String>> {
        if value.is_empty() {
            return Some(BTreeMap::new());
        }
        let pairs = value.split(',').map(|pair| {
            let (name, value) = pair.split_once(':')?;
            (!name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
        });
        match pairs.collect() {
            Some(pairs) => Some(pairs),
            None => self.ignore("name:value pairs, separated by commas"),
        }
    }
}

//! The types that an option's value can have. A value of the wrong form is a warning and the option is ignored.

use std::{collections::BTreeMap, time::Duration};

/// Collects warnings while values are read.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) warnings: Vec<String>,
}

impl Reader {
    /// Notes that a value was ignored. Values can be secrets, so they are not repeated.
    pub(super) fn warn_ignored(&mut self, key: &str, expected: &str) {
        self.warnings
            .push(format!("the value of {key} is ignored: expected {expected}"));
    }

    /// As [`warn_ignored`](Self::warn_ignored), in place of the value.
    pub(super) fn ignore<T>(&mut self, key: &str, expected: &str) -> Option<T> {
        self.warn_ignored(key, expected);
        None
    }

    pub(super) fn boolean(&mut self, key: &str, value: &str) -> Option<bool> {
        let (meant, current) = match value {
            "true" => return Some(true),
            "false" => return Some(false),
            "1" | "yes" | "y" | "t" => (true, "true"),
            "0" | "-1" | "no" | "n" | "f" => (false, "false"),
            _ => return self.ignore(key, "true or false"),
        };
        self.warnings
            .push(format!("the value of {key} is deprecated: write {key}={current}"));
        Some(meant)
    }

    /// A 32-bit integer within bounds.
    pub(super) fn integer(&mut self, key: &str, value: &str, least: i32, most: i32) -> Option<i32> {
        match value.parse::<i32>() {
            Ok(number) if (least..=most).contains(&number) => Some(number),
            _ if most == i32::MAX => self.ignore(key, &format!("an integer of at least {least}")),
            _ => self.ignore(key, &format!("an integer from {least} to {most}")),
        }
    }

    pub(super) fn count(&mut self, key: &str, value: &str, least: i32) -> Option<u32> {
        self.integer(key, value, least, i32::MAX)
            .and_then(|number| u32::try_from(number).ok())
    }

    pub(super) fn millis(&mut self, key: &str, value: &str, least: i32) -> Option<Duration> {
        self.count(key, value, least)
            .map(|millis| Duration::from_millis(u64::from(millis)))
    }

    /// `a:1,b:2`. An empty value is an empty map.
    pub(super) fn pairs(&mut self, key: &str, value: &str) -> Option<BTreeMap<String, String>> {
        if value.is_empty() {
            return Some(BTreeMap::new());
        }
        let pairs = value.split(',').map(|pair| {
            let (name, value) = pair.split_once(':')?;
            (!name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
        });
        match pairs.collect() {
            Some(pairs) => Some(pairs),
            None => self.ignore(key, "name:value pairs, separated by commas"),
        }
    }
}

//! Parsers for the values of options. An invalid value causes a warning, and the option is ignored.

use std::{collections::BTreeMap, time::Duration};

use crate::options::error::PropertiesProblem;

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

    /// The properties in `authMechanismProperties`, or none and the problem.
    pub(super) fn properties(
        &mut self,
        value: &str,
    ) -> (BTreeMap<String, String>, Option<PropertiesProblem>) {
        let Self { name, warnings } = self;
        match properties(value, |problem| {
            warnings.push(format!("{name}: {problem}, and is ignored"));
        }) {
            Ok(properties) => (properties, None),
            Err(problem) => {
                self.warn_ignored(&format!("NAME:value pairs, separated by commas; {problem}"));
                (BTreeMap::new(), Some(problem))
            }
        }
    }
}

/// Everything up to the first colon of a pair is the name of the property (Connection String, "Values"). `tolerate` is
/// called with problems that do not change what is meant: a comma at the end, and a pair that is repeated.
fn properties(
    value: &str,
    mut tolerate: impl FnMut(PropertiesProblem),
) -> Result<BTreeMap<String, String>, PropertiesProblem> {
    let mut properties = BTreeMap::<String, String>::new();
    let mut pairs = value.split(',').enumerate().peekable();
    while let Some((index, pair)) = pairs.next() {
        let position = index + 1;
        let Some((name, value)) = pair.split_once(':') else {
            if !pair.trim().is_empty() {
                return Err(PropertiesProblem::NoColon { position });
            }
            let problem = PropertiesProblem::Empty { position };
            if properties.is_empty() || pairs.peek().is_some() {
                return Err(problem);
            }
            tolerate(problem);
            continue;
        };
        if name.trim().is_empty() {
            return Err(PropertiesProblem::NoName { position });
        }
        let known = properties
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        if let Some((_, known)) = known {
            let problem = PropertiesProblem::Repeated { position };
            if known != value {
                return Err(problem);
            }
            tolerate(problem);
            continue;
        }
        properties.insert(name.to_owned(), value.to_owned());
    }
    Ok(properties)
}

//! The list of skipped cases: `skips.toml`.

use std::cell::Cell;

/// The contents of `skips.toml`.
pub const LIST: &str = include_str!("../../skips.toml");

/// A pattern of case names with the reason to skip them.
#[derive(Debug)]
pub struct Skip {
    /// The name of a case; `*` matches any text.
    pub name: String,
    /// The reason of the skip.
    pub reason: String,
    /// Whether a case of its file was seen.
    concerned: Cell<bool>,
    matched: Cell<bool>,
}

impl Skip {
    /// Whether the case is of a file that the entry names.
    fn concerns(&self, case: &str) -> bool {
        let file = |name: &str| {
            name.split_once("::")
                .map_or_else(|| name.to_owned(), |(file, _)| file.to_owned())
        };
        matches(&file(&self.name), &file(case))
    }
}

/// The entries of `skips.toml`.
#[derive(Debug, Default)]
pub struct Skips(Vec<Skip>);

impl Skips {
    /// Parses the list: the subset of TOML with `[[skip]]` tables of strings.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut entries: Vec<(Option<String>, Option<String>)> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            let refuse = |why: &str| Err(format!("skips.toml, line {}: {why}", number + 1));
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line == "[[skip]]" {
                entries.push((None, None));
                continue;
            }
            let Some((key, value)) = line.split_once('=') else {
                return refuse("expected [[skip]], or a key and a value");
            };
            // A JSON string is a TOML basic string, except for escapes that names do not contain.
            let Ok(value) = serde_json::from_str::<String>(value.trim()) else {
                return refuse("the value must be a string in double quotes");
            };
            let Some(entry) = entries.last_mut() else {
                return refuse("key before the first [[skip]]");
            };
            let field = match key.trim() {
                "name" => &mut entry.0,
                "reason" => &mut entry.1,
                _ => return refuse("unknown key, expected name or reason"),
            };
            if value.trim().is_empty() || field.replace(value).is_some() {
                return refuse("duplicate key or empty value");
            }
        }
        entries
            .into_iter()
            .map(|(name, reason)| {
                Ok(Skip {
                    name: name.ok_or("skips.toml: entry without name")?,
                    reason: reason.ok_or("skips.toml: entry without reason")?,
                    concerned: Cell::new(false),
                    matched: Cell::new(false),
                })
            })
            .collect::<Result<_, String>>()
            .map(Self)
    }

    /// Returns the reason to skip a case. Marks matching entries as used.
    pub fn reason(&self, case: &str) -> Option<&str> {
        let mut reason = None;
        for skip in self.0.iter().filter(|skip| skip.concerns(case)) {
            skip.concerned.set(true);
            if matches(&skip.name, case) {
                skip.matched.set(true);
                reason = reason.or(Some(skip.reason.as_str()));
            }
        }
        reason
    }

    /// Entries that have not matched a case of their file. The folder of the tests need not have every file.
    pub fn unmatched(&self) -> Vec<&str> {
        self.0
            .iter()
            .filter(|skip| skip.concerned.get() && !skip.matched.get())
            .map(|skip| skip.name.as_str())
            .collect()
    }
}

/// Matches a pattern in which `*` matches any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else {
        return rest.is_empty();
    };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_toml_is_valid() {
        assert!(Skips::parse(LIST).is_ok());
    }

    #[test]
    fn unmatched_entries_are_reported() {
        let text = "# c\n[[skip]]\nname = \"a/*::x \\\"y\\\"\"\nreason = \"why\"\n[[skip]]\nname=\"b::y\"\nreason=\"r\"\n";
        let skips = Skips::parse(text).unwrap();
        assert_eq!(skips.reason("a/file::x \"y\""), Some("why"));
        assert_eq!(skips.reason("a/file::z"), None);
        assert_eq!(skips.unmatched(), [""; 0]);
        assert_eq!(skips.reason("b::z"), None);
        assert_eq!(skips.unmatched(), ["b::y"]);
    }

    #[test]
    fn malformed_lists_are_rejected() {
        for text in [
            "name = \"a\"",
            "[[skip]]\nname = \"a\"",
            "[[skip]]\nreason = \"a\"",
            "[[skip]]\nname = a",
            "[[skip]]\nwhy = \"a\"",
            "[[skip]]\nname = \"a\"\nname = \"b\"\nreason = \"r\"",
            "[[skip]]\nname = \"a\"\nreason = \" \"",
            "nonsense",
        ] {
            assert!(Skips::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn stars_match_any_text() {
        for (pattern, text, fits) in [
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("a*a", "a", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }
}

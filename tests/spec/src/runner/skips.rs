//! The list of cases that are not run: `skips.toml`.

use std::cell::Cell;

/// The list in this repository.
pub const LIST: &str = include_str!("../../skips.toml");

/// One entry.
#[derive(Debug)]
pub struct Skip {
    /// A case's name; `*` stands for any text.
    pub name: String,
    /// Why it is not run.
    pub reason: String,
    matched: Cell<bool>,
}

/// All entries.
#[derive(Debug, Default)]
pub struct Skips(Vec<Skip>);

impl Skips {
    /// Reads the list: TOML, as far as tables `[[skip]]` of texts need it.
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
            // A JSON text is a basic string of TOML, but for escapes that no name holds.
            let Ok(value) = serde_json::from_str::<String>(value.trim()) else {
                return refuse("the value must be a text in double quotes");
            };
            let Some(entry) = entries.last_mut() else {
                return refuse("a key before the first [[skip]]");
            };
            let field = match key.trim() {
                "name" => &mut entry.0,
                "reason" => &mut entry.1,
                _ => return refuse("only name and reason are known"),
            };
            if value.trim().is_empty() || field.replace(value).is_some() {
                return refuse("the key is given twice, or its value is empty");
            }
        }
        entries
            .into_iter()
            .map(|(name, reason)| {
                Ok(Skip {
                    name: name.ok_or("skips.toml: an entry has no name")?,
                    reason: reason.ok_or("skips.toml: an entry has no reason")?,
                    matched: Cell::new(false),
                })
            })
            .collect::<Result<_, String>>()
            .map(Self)
    }

    /// Why the case is not run. The entries that match are marked as used.
    pub fn reason(&self, case: &str) -> Option<&str> {
        let mut reason = None;
        for skip in self.0.iter().filter(|skip| matches(&skip.name, case)) {
            skip.matched.set(true);
            reason = reason.or(Some(skip.reason.as_str()));
        }
        reason
    }

    /// Entries that matched no case so far.
    pub fn unmatched(&self) -> Vec<&str> {
        self.0
            .iter()
            .filter(|skip| !skip.matched.get())
            .map(|skip| skip.name.as_str())
            .collect()
    }
}

/// Whether the text fits the pattern, in which `*` stands for any text.
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
    fn the_list_in_the_repository_is_readable() {
        assert!(Skips::parse(LIST).is_ok());
    }

    #[test]
    fn entries_that_match_nothing_are_known() {
        let text = "# c\n[[skip]]\nname = \"a/*::x \\\"y\\\"\"\nreason = \"why\"\n[[skip]]\nname=\"b\"\nreason=\"r\"\n";
        let skips = Skips::parse(text).unwrap();
        assert_eq!(skips.reason("a/file::x \"y\""), Some("why"));
        assert_eq!(skips.reason("a/file::z"), None);
        assert_eq!(skips.unmatched(), ["b"]);
    }

    #[test]
    fn malformed_lists_are_refused() {
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
    fn stars_stand_for_any_text() {
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

//! Regular expressions with PCRE syntax, translated to the dialect of `fancy_regex`, with a limit
//! on backtracking.

use crate::error::{Error, Result};

/// A compiled regular expression and its source.
#[derive(Debug, Clone)]
pub(crate) struct Regex {
    pub(crate) pattern: String,
    pub(crate) options: String,
    compiled: fancy_regex::Regex,
}

/// The byte ranges of a match and of its groups, in order. `None` for a group that did not match.
pub(crate) type Groups = Vec<Option<(usize, usize)>>;

/// The server's maximum pattern length, in bytes.
const MAX_PATTERN: usize = 32_764;

impl Regex {
    /// Compiles a pattern. Valid options are `i`, `m`, `s`, `x` and `u`.
    pub(crate) fn new(pattern: &str, options: &str) -> Result<Regex> {
        if pattern.len() > MAX_PATTERN {
            return Err(Error::new(
                51091,
                "Regular expression is invalid: pattern string is too long",
            ));
        }
        let mut flags = String::new();
        for option in options.chars() {
            match option {
                'i' | 'm' | 's' | 'x' if !flags.contains(option) => flags.push(option),
                'i' | 'm' | 's' | 'x' | 'u' => {}
                other => {
                    return Err(Error::new(
                        51108,
                        format!("invalid flag in regex options: {other}"),
                    ));
                }
            }
        }
        let body = translate(pattern, flags.contains('m'));
        let source = if flags.is_empty() {
            body
        } else {
            format!("(?{flags}){body}")
        };
        let compiled = fancy_regex::RegexBuilder::new(&source)
            .backtrack_limit(1_000_000)
            .build()
            .map_err(|error| Error::new(51091, format!("Regular expression is invalid: {error}")))?;
        Ok(Regex {
            pattern: pattern.to_owned(),
            options: options.to_owned(),
            compiled,
        })
    }

    /// Returns whether the pattern matches anywhere in the text.
    pub(crate) fn is_match(&self, text: &str) -> Result<bool> {
        self.compiled.is_match(text).map_err(|error| Self::failed(&error))
    }

    /// Returns the byte ranges of the first match at or after `from` and of its groups.
    pub(crate) fn captures(&self, text: &str, from: usize) -> Result<Option<Groups>> {
        let captures = self
            .compiled
            .captures_from_pos(text, from)
            .map_err(|error| Self::failed(&error))?;
        Ok(captures.map(|groups| {
            groups
                .iter()
                .map(|group| group.map(|g| (g.start(), g.end())))
                .collect()
        }))
    }

    fn failed(error: &fancy_regex::Error) -> Error {
        Error::new(
            51156,
            format!("Error occurred while executing the regular expression: {error}"),
        )
    }
}

/// Rewrites the differences of the dialects: `\d`, `\w` and `\s` match ASCII only, and `$` also
/// matches before a final newline.
fn translate(pattern: &str, multi_line: bool) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('Z') => out.push_str(r"(?=\n?\z)"),
                Some(shorthand @ ('d' | 'w' | 's' | 'D' | 'W' | 'S')) => {
                    let set = match shorthand.to_ascii_lowercase() {
                        'd' => "0-9",
                        'w' => "A-Za-z0-9_",
                        _ => r"\t\n\x0B\x0C\r\x20",
                    };
                    let not = if shorthand.is_ascii_uppercase() { "^" } else { "" };
                    if in_class && not.is_empty() {
                        out.push_str(set);
                    } else {
                        out.push_str(&format!("[{not}{set}]"));
                    }
                }
                Some(other) => {
                    out.push('\\');
                    out.push(other);
                }
                None => out.push('\\'),
            },
            '[' if in_class && chars.peek() != Some(&':') => out.push_str("\\["),
            '[' => {
                out.push('[');
                if in_class {
                    // A POSIX class is copied up to its end.
                    let mut previous = ' ';
                    for inner in chars.by_ref() {
                        out.push(inner);
                        if previous == ':' && inner == ']' {
                            break;
                        }
                        previous = inner;
                    }
                    continue;
                }
                in_class = true;
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                if chars.next_if_eq(&']').is_some() {
                    out.push_str("\\]");
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            // Set operators in character classes of `fancy_regex`, literals in PCRE.
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            '$' if !in_class && !multi_line => out.push_str(r"(?=\n?\z)"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, options: &str, text: &str) -> bool {
        Regex::new(pattern, options).unwrap().is_match(text).unwrap()
    }

    #[test]
    fn options_and_anchors() {
        assert!(matches("^ab", "i", "ABC"));
        assert!(!matches("^b", "", "a\nb"));
        assert!(matches("^b$", "m", "a\nb\nc"));
        assert!(matches("a$", "", "a\n"));
        assert!(!matches("a.b", "", "a\nb"));
        assert!(matches("a.b", "s", "a\nb"));
        assert!(matches("a b # comment", "x", "ab"));
    }

    #[test]
    fn pcre_features() {
        assert!(matches(r"(a)\1", "", "aa"));
        assert!(matches(r"foo(?!bar)", "", "foobaz"));
        assert!(!matches(r"^\d$", "", "٣"));
        assert!(matches(r"^[\w-]+$", "", "a-b_1"));
        assert!(matches(r"^[^\]]+$", "", "a&b"));
    }

    #[test]
    fn errors_are_typed() {
        assert_eq!(Regex::new("(", "").unwrap_err().code, 51091);
        assert_eq!(Regex::new("a", "g").unwrap_err().code, 51108);
        let slow = Regex::new(r"^(a|a|aa)+(?=b)c$", "").unwrap();
        assert_eq!(slow.is_match(&"a".repeat(60)).unwrap_err().code, 51156);
    }
}

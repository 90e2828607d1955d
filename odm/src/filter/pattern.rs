//! Regular expressions as the server takes them.

use crate::bson::{Document, Regex, doc};
use crate::error::ValueError;

/// A regular expression with its options, in the server's dialect (PCRE).
#[derive(Clone, Debug)]
pub struct Pattern {
    pattern: String,
    options: String,
}

impl Pattern {
    /// The pattern of strings that start with the prefix, all its characters taken as they are.
    pub(super) fn prefix(prefix: &str) -> Self {
        let mut pattern = String::with_capacity(prefix.len() + 1);
        pattern.push('^');
        for c in prefix.chars() {
            if c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_' && c != ' ' && !c.is_ascii_control() {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        Pattern {
            pattern,
            options: String::new(),
        }
    }

    pub(super) fn into_condition(self) -> Result<Document, ValueError> {
        if self.pattern.contains('\0') || self.options.contains('\0') {
            return Err(ValueError::new("a regular expression holds a NUL character"));
        }
        let mut condition = doc! { "$regex": self.pattern };
        if !self.options.is_empty() {
            condition.insert("$options", self.options);
        }
        Ok(condition)
    }
}

impl From<&str> for Pattern {
    fn from(pattern: &str) -> Self {
        Pattern {
            pattern: pattern.to_owned(),
            options: String::new(),
        }
    }
}

impl From<String> for Pattern {
    fn from(pattern: String) -> Self {
        Pattern {
            pattern,
            options: String::new(),
        }
    }
}

impl From<&String> for Pattern {
    fn from(pattern: &String) -> Self {
        pattern.as_str().into()
    }
}

impl<P: Into<String>> From<(P, &str)> for Pattern {
    fn from((pattern, options): (P, &str)) -> Self {
        Pattern {
            pattern: pattern.into(),
            options: options.to_owned(),
        }
    }
}

impl From<Regex> for Pattern {
    fn from(regex: Regex) -> Self {
        Pattern {
            pattern: regex.pattern.to_string(),
            options: regex.options.to_string(),
        }
    }
}

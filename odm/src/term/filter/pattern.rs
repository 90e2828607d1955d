//! Regular expressions of `$regex`.

use std::fmt::Write as _;

use crate::{
    ast::filter::{self, Op},
    base::{
        bson::{Bson, Regex},
        error::ValueError,
    },
};

/// A regular expression with its options, in the syntax of the server (PCRE), for
/// [`regex`](crate::FilterOps::regex). Created from text by the functions below, which escape it,
/// or by `From` from a pattern, which is not escaped.
#[derive(Clone, Debug)]
pub struct Pattern {
    pattern: String,
    options: String,
}

impl Pattern {
    fn new(pattern: String) -> Self {
        Pattern {
            pattern,
            options: String::new(),
        }
    }

    /// Escapes text, so that it matches literally inside a regular expression.
    ///
    /// Use it for untrusted text that becomes part of a pattern: an unescaped `.*` in a request
    /// would match every string.
    ///
    /// ```
    /// use marula::Pattern;
    /// assert_eq!(Pattern::escape("a.b*"), r"a\.b\*");
    /// ```
    #[must_use]
    pub fn escape(text: &str) -> String {
        let mut pattern = String::with_capacity(text.len() + 2);
        push_escaped(&mut pattern, text);
        pattern
    }

    /// Matches strings that contain the text literally.
    ///
    /// ```
    /// # use marula::{Document, Pattern, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, name: String }
    /// let filter = Person::fields().name().regex(Pattern::containing("d.a").ignore_case());
    /// assert_eq!(filter.to_string(), r#"{"name": {"$regex": "d\\.a", "$options": "i"}}"#);
    /// ```
    #[must_use]
    pub fn containing(text: &str) -> Self {
        Self::new(Self::escape(text))
    }

    /// Matches strings that start with the text literally. It can use an index unless
    /// [`ignore_case`](Pattern::ignore_case) is set.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let filter = Order::fields().note().regex(Pattern::starting_with("a.b").ignore_case());
    /// assert_eq!(filter.to_string(), r#"{"note": {"$regex": "^a\\.b", "$options": "i"}}"#);
    /// ```
    #[must_use]
    pub fn starting_with(text: &str) -> Self {
        let mut pattern = String::with_capacity(text.len() + 1);
        pattern.push('^');
        push_escaped(&mut pattern, text);
        Self::new(pattern)
    }

    /// Matches strings that end with the text literally.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let filter = Order::fields().note().regex(Pattern::ending_with("tea"));
    /// assert_eq!(filter.to_string(), r#"{"note": {"$regex": "tea\\z"}}"#);
    /// ```
    #[must_use]
    pub fn ending_with(text: &str) -> Self {
        let mut pattern = Self::escape(text);
        // Unlike `$`, `\z` does not match before a line break at the end.
        pattern.push_str(r"\z");
        Self::new(pattern)
    }

    /// Matches strings that are equal to the text. With [`ignore_case`](Pattern::ignore_case) they can differ in case; a
    /// collation (`strength: 2`) does the same and can use an index. Without it use [`eq`](crate::FilterOps::eq).
    ///
    /// ```
    /// # use marula_guide::*;
    /// let filter = Order::fields().note().regex(Pattern::equal_to("a.b").ignore_case());
    /// assert_eq!(filter.to_string(), r#"{"note": {"$regex": "^a\\.b\\z", "$options": "i"}}"#);
    /// ```
    #[must_use]
    pub fn equal_to(text: &str) -> Self {
        let mut pattern = String::with_capacity(text.len() + 3);
        pattern.push('^');
        push_escaped(&mut pattern, text);
        pattern.push_str(r"\z");
        Self::new(pattern)
    }

    /// Ignores case (option `i`). Default: case-sensitive.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let filter = Order::fields().note().regex(Pattern::containing("Tea").ignore_case());
    /// assert_eq!(filter.to_string(), r#"{"note": {"$regex": "Tea", "$options": "i"}}"#);
    /// ```
    #[must_use]
    pub fn ignore_case(mut self) -> Self {
        if !self.options.contains('i') {
            self.options.push('i');
        }
        self
    }

    pub(super) fn into_operator(self) -> Result<Op, ValueError> {
        if self.pattern.contains('\0') || self.options.contains('\0') {
            return Err(ValueError::new(
                "a regular expression must not contain a NUL character",
            ));
        }
        let options = Some(self.options).filter(|options| !options.is_empty());
        Ok(Op::Regex(Box::new(filter::Regex {
            pattern: Bson::String(self.pattern),
            options: options.map(Bson::String),
        })))
    }
}

/// The white space outside of ASCII that the option `x` ignores since MongoDB 6.1 (PCRE2), also
/// after a backslash.
const IGNORED: [char; 5] = ['\u{85}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}'];

/// Appends the text with a backslash before every character that can have a special meaning in a
/// pattern.
fn push_escaped(pattern: &mut String, text: &str) {
    for c in text.chars() {
        if IGNORED.contains(&c) {
            // Writing to a `String` does not fail.
            let _ = write!(pattern, r"\x{{{:x}}}", u32::from(c));
            continue;
        }
        // The option `x` ignores unescaped white space. `\x0b` is the vertical tab.
        let is_space = c.is_ascii_whitespace() || c == '\x0b';
        let is_special = c.is_ascii_punctuation() && c != '_';
        if is_space || is_special {
            pattern.push('\\');
        }
        pattern.push(c);
    }
}

impl From<&str> for Pattern {
    fn from(pattern: &str) -> Self {
        Self::new(pattern.to_owned())
    }
}

impl From<String> for Pattern {
    fn from(pattern: String) -> Self {
        Self::new(pattern)
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

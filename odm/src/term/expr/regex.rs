//! Operators of regular expressions.

use serde::{Deserialize, Serialize};

use crate::{
    base::bson::{Bson, DecodeError},
    path::{
        AsPath, Inner, Mode, Path, RawPath,
        field::{DerivedDocument, Field},
        marker::Text,
    },
    term::expr::{Expr, Operand, literal, named},
    values::{
        codec::{Decode, Value, read},
        record::result_types,
    },
};

result_types! {
    /// An occurrence of a regular expression: the result of [`regex_find`] and [`regex_find_all`].
    [Clone, Debug, PartialEq, Eq, Serialize, Deserialize] RegexMatch<> RegexMatchFields {
        /// The text that matches.
        text as "match": String;
        /// The index of the text in code points.
        at as "idx": i32;
        /// The texts of the groups; `None` for a group that does not occur.
        captures: Vec<Option<String>>;
    }
}

fn regex<R, A: Operand<R>, T>(operator: &str, text: A, pattern: &str, options: &str) -> Expr<R, T> {
    let part = |part: &str| literal(Ok(Bson::from(part)));
    named(
        operator,
        [
            ("input", Some(text.into_operand().into_raw())),
            ("regex", Some(part(pattern))),
            ("options", (!options.is_empty()).then(|| part(options))),
        ],
    )
}

/// Whether a string matches a regular expression (`$regexMatch`), with options such as `i`; see the
/// [server's
/// documentation](https://www.mongodb.com/docs/manual/reference/operator/aggregation/regexMatch/).
/// Of null it is false.
///
/// ```
/// # use marula::expr::{lit, regex_match};
/// let is_match = regex_match(lit::<(), String>("abc"), "^A", "i");
/// assert_eq!(
///     is_match.to_string(),
///     r#"{"$regexMatch": {"input": "abc", "regex": "^A", "options": "i"}}"#
/// );
/// ```
#[doc(alias = "$regexMatch")]
pub fn regex_match<R, A: Operand<R, Value: Text>>(text: A, pattern: &str, options: &str) -> Expr<R, bool> {
    regex("$regexMatch", text, pattern, options)
}

/// The first occurrence of a regular expression in a string, with options as those of [`regex_match`]; `None` if there
/// is none (`$regexFind`).
///
/// ```
/// # use marula::expr::{lit, regex_find};
/// let number = regex_find(lit::<(), String>("no 17"), "[0-9]+", "");
/// assert_eq!(number.to_string(), r#"{"$regexFind": {"input": "no 17", "regex": "[0-9]+"}}"#);
/// ```
#[doc(alias = "$regexFind")]
pub fn regex_find<R, A: Operand<R, Value: Text>>(
    text: A,
    pattern: &str,
    options: &str,
) -> Expr<R, Option<RegexMatch>> {
    regex("$regexFind", text, pattern, options)
}

/// All occurrences of a regular expression in a string, with options as those of [`regex_match`] (`$regexFindAll`).
///
/// ```
/// # use marula::expr::{lit, regex_find_all};
/// let numbers = regex_find_all(lit::<(), String>("1 2"), "[0-9]+", "");
/// assert_eq!(numbers.to_string(), r#"{"$regexFindAll": {"input": "1 2", "regex": "[0-9]+"}}"#);
/// ```
#[doc(alias = "$regexFindAll")]
pub fn regex_find_all<R, A: Operand<R, Value: Text>>(
    text: A,
    pattern: &str,
    options: &str,
) -> Expr<R, Vec<RegexMatch>> {
    regex("$regexFindAll", text, pattern, options)
}

//! Analyzers, which divide strings into tokens, and the comparison of tokens.

use crate::error::{Error, Result};
use crate::text::terms::{Language, Sensitivity, terms, words};
use crate::value::format;
use bson::Bson;

/// How a string is divided into tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Analyzer {
    /// `lucene.standard` and `lucene.simple`: words in lower case.
    Standard,
    /// `lucene.english`: also without stop words, and stemmed.
    English,
    /// `lucene.keyword`: the whole string.
    Keyword,
    /// `lucene.whitespace`
    Whitespace,
}

impl Analyzer {
    pub(super) fn parse(name: &Bson) -> Result<Analyzer> {
        match name.as_str() {
            Some("lucene.standard" | "lucene.simple") => Ok(Analyzer::Standard),
            Some("lucene.english") => Ok(Analyzer::English),
            Some("lucene.keyword") => Ok(Analyzer::Keyword),
            Some("lucene.whitespace") => Ok(Analyzer::Whitespace),
            _ => Err(Error::not_served(format!("the analyzer {}", format::bson(name)))),
        }
    }

    pub(super) fn tokens(self, text: &str) -> Vec<String> {
        match self {
            Analyzer::Standard => words(text, Language::English)
                .into_iter()
                .map(str::to_lowercase)
                .collect(),
            Analyzer::English => terms(
                text,
                Language::English,
                Sensitivity {
                    diacritics: true,
                    ..Sensitivity::default()
                },
            ),
            Analyzer::Keyword => vec![text.to_owned()],
            Analyzer::Whitespace => text.split_whitespace().map(str::to_owned).collect(),
        }
    }
}

/// The option `fuzzy`: tokens that differ in a few characters are equal.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fuzzy {
    pub(super) edits: usize,
    /// The number of first characters that must be equal.
    pub(super) prefix: usize,
}

impl Fuzzy {
    pub(super) fn equal(self, query: &str, token: &str) -> bool {
        if self.edits == 0 || query == token {
            return query == token;
        }
        let start = |text: &str| text.chars().take(self.prefix).collect::<String>();
        start(query) == start(token) && distance(query, token) <= self.edits
    }

    pub(super) fn is_prefix(self, query: &str, token: &str) -> bool {
        let start: String = token.chars().take(query.chars().count()).collect();
        self.equal(query, &start)
    }
}

/// The number of insertions, deletions, substitutions and transpositions between two words.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let mut least = (rows[i][j] + usize::from(a != b))
                .min(rows[i][j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last()).copied().unwrap_or(0)
}

/// Whether a text matches a pattern with `*`, `?` and escapes. Takes time in proportion to the
/// product of their lengths.
pub(super) fn wildcard(pattern: &[char], text: &[char]) -> bool {
    // Which prefixes of the text the pattern matches so far.
    let mut matched = vec![false; text.len() + 1];
    matched[0] = true;
    let mut pattern = pattern.iter();
    while let Some(next) = pattern.next() {
        if *next == '*' {
            for at in 1..matched.len() {
                matched[at] |= matched[at - 1];
            }
            continue;
        }
        let literal = match next {
            '?' => None,
            '\\' => Some(pattern.next().unwrap_or(next)),
            other => Some(other),
        };
        for at in (1..matched.len()).rev() {
            matched[at] = matched[at - 1] && literal.is_none_or(|literal| *literal == text[at - 1]);
        }
        matched[0] = false;
    }
    matched[text.len()]
}

//! The terms of a string: words without stop words, folded in case and diacritics, and stemmed.

use super::stem;
use crate::error::{Error, Result};
use crate::value::collation::without_diacritics;

/// A language of text search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// No stop words and no stemming.
    None,
    English,
}

/// English words that are not terms.
const STOP_WORDS: &str = "a about above after again against all am an and any are aren't as at be because been before being \
    below between both but by can't cannot could couldn't did didn't do does doesn't doing don't down during each few for \
    from further had hadn't has hasn't have haven't having he he'd he'll he's her here here's hers herself him himself his \
    how how's i i'd i'll i'm i've if in into is isn't it it's its itself let's me more most mustn't my myself no nor not of \
    off on once only or other ought our ours ourselves out over own same shan't she she'd she'll she's should shouldn't so \
    some such than that that's the their theirs them themselves then there there's these they they'd they'll they're \
    they've this those through to too under until up very was wasn't we we'd we'll we're we've were weren't what what's \
    when when's where where's which while who who's whom why why's with won't would wouldn't you you'd you'll you're \
    you've your yours yourself yourselves";

/// Whether terms differ in case and in diacritics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sensitivity {
    pub(crate) case: bool,
    pub(crate) diacritics: bool,
}

impl Language {
    /// Parses a name or code. Fails with 238 for a language that MongoDB supports and this server
    /// does not.
    pub(crate) fn parse(name: &str) -> Result<Language> {
        match name.to_lowercase().as_str() {
            "none" => Ok(Language::None),
            "english" | "en" => Ok(Language::English),
            other if crate::storage::text_spec::is_language(other) => {
                Err(Error::not_served(format!("text search in the language {name}")))
            }
            _ => Err(Error::bad_value(format!(
                "unsupported language: \"{name}\" for text index version 3"
            ))),
        }
    }
}

impl Sensitivity {
    /// Folds the differences that do not count.
    pub(crate) fn fold(self, text: &str) -> String {
        let text = if self.case {
            text.to_owned()
        } else {
            text.to_lowercase()
        };
        if self.diacritics {
            text
        } else {
            without_diacritics(&text)
        }
    }
}

/// The words of a text: sequences of letters, digits and underscores, in English also apostrophes.
pub(crate) fn words(text: &str, language: Language) -> Vec<&str> {
    let apostrophe = language == Language::English;
    let in_word = |c: char| {
        c.is_alphanumeric() || matches!(c, '_' | '\u{300}'..='\u{36f}') || (apostrophe && c == '\'')
    };
    text.split(|c: char| !in_word(c))
        .map(|word| word.trim_matches('\''))
        .filter(|word| !word.is_empty())
        .collect()
}

/// The terms of a text, in order.
pub(crate) fn terms(text: &str, language: Language, sensitivity: Sensitivity) -> Vec<String> {
    words(text, language)
        .into_iter()
        .filter(|word| {
            let lower = word.to_lowercase();
            language == Language::None || !STOP_WORDS.split_whitespace().any(|stop| stop == lower)
        })
        .map(|word| {
            let folded = sensitivity.fold(word);
            match language {
                Language::None => folded,
                Language::English => stem::english(&folded),
            }
        })
        .collect()
}

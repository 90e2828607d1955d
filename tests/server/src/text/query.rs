//! `$text`: terms, phrases and negations, and the score of a document.

use super::index::{TextIndex, add_scores};
use super::terms::{Language, Sensitivity, terms};
use crate::error::{Error, Result};
use crate::value::type_name;
use bson::Bson;
use bson::Document;
use std::collections::HashMap;

/// A parsed `$text`.
#[derive(Debug, Clone)]
pub(crate) struct TextQuery {
    /// The words to find, also those of phrases.
    words: String,
    negated: String,
    phrases: Vec<String>,
    negated_phrases: Vec<String>,
    /// `None`: the default language of the index.
    language: Option<Language>,
    sensitivity: Sensitivity,
}

impl TextQuery {
    /// Parses the argument of `$text`.
    pub(crate) fn parse(argument: &Bson) -> Result<TextQuery> {
        let Bson::Document(fields) = argument else {
            return Err(Error::bad_value("$text expects an object"));
        };
        let flag = |name: &str| match fields.get(name) {
            None => Ok(false),
            Some(Bson::Boolean(on)) => Ok(*on),
            Some(other) => Err(wrong_type(name, "bool", other)),
        };
        if let Some(name) = fields.keys().find(|name| {
            !matches!(
                name.as_str(),
                "$search" | "$language" | "$caseSensitive" | "$diacriticSensitive"
            )
        }) {
            return Err(Error::bad_value(format!("extra fields in $text: {name}")));
        }
        let language = match fields.get("$language") {
            None => None,
            Some(Bson::String(language)) => Some(Language::parse(language)?),
            Some(other) => return Err(wrong_type("$language", "string", other)),
        };
        let sensitivity = Sensitivity {
            case: flag("$caseSensitive")?,
            diacritics: flag("$diacriticSensitive")?,
        };
        match fields.get("$search") {
            Some(Bson::String(search)) => Ok(TextQuery::of(search, language, sensitivity)),
            Some(other) => Err(wrong_type("$search", "string", other)),
            None => Err(Error::new(4, "Missing expected field \"$search\"")),
        }
    }

    /// Divides a search string into words, phrases in quotes, and those that follow a minus.
    fn of(search: &str, language: Option<Language>, sensitivity: Sensitivity) -> TextQuery {
        let mut query = TextQuery {
            words: String::new(),
            negated: String::new(),
            phrases: Vec::new(),
            negated_phrases: Vec::new(),
            language,
            sensitivity,
        };
        let mut rest = search;
        // A minus within a word is a separator.
        let mut begins = true;
        while let Some(first) = rest.chars().next() {
            let negated = first == '-' && begins;
            if negated {
                rest = &rest[1..];
            }
            if let Some(quoted) = rest.strip_prefix('"') {
                let (phrase, after) = quoted.split_once('"').unwrap_or((quoted, ""));
                if negated {
                    query.negated_phrases.push(phrase.to_owned());
                } else {
                    query.words.push(' ');
                    query.words.push_str(phrase);
                    query.phrases.push(phrase.to_owned());
                }
                rest = after;
                begins = true;
                continue;
            }
            let end = rest
                .char_indices()
                .skip(1)
                .find(|(_, c)| c.is_whitespace() || matches!(c, '"' | '-'))
                .map_or(rest.len(), |(at, _)| at);
            let (word, after) = rest.split_at(end);
            let target = if negated {
                &mut query.negated
            } else {
                &mut query.words
            };
            target.push(' ');
            target.push_str(word);
            begins = word.chars().all(char::is_whitespace) || after.starts_with(char::is_whitespace);
            rest = after;
        }
        query
    }

    /// The score of a document; `None` if it does not match.
    pub(crate) fn score(&self, document: &Document, index: &TextIndex) -> Result<Option<f64>> {
        let language = match self.language {
            Some(language) => language,
            None => index.default_language()?,
        };
        let strings = index.strings(document)?;
        let own = index.language_of(document)?;
        let mut scores = HashMap::new();
        for (text, weight) in &strings {
            add_scores(text, *weight, own, &mut scores);
        }
        let mut wanted = terms(&self.words, language, Sensitivity::default());
        wanted.sort();
        wanted.dedup();
        let found: Vec<f64> = wanted
            .iter()
            .filter_map(|term| scores.get(term).copied())
            .collect();
        if found.is_empty() {
            return Ok(None);
        }
        // The exact terms, where case or diacritics count.
        let exact = |words: &str| {
            let own: Vec<String> = strings
                .iter()
                .flat_map(|(text, _)| terms(text, own, self.sensitivity))
                .collect();
            let mut wanted = terms(words, language, self.sensitivity).into_iter();
            wanted.any(|term| own.contains(&term))
        };
        let sensitive = self.sensitivity != Sensitivity::default();
        if (sensitive && !exact(&self.words)) || exact(&self.negated) {
            return Ok(None);
        }
        let has_phrase = |phrase: &String| {
            let phrase = self.sensitivity.fold(phrase);
            let mut texts = strings.iter();
            texts.any(|(text, _)| self.sensitivity.fold(text).contains(&phrase))
        };
        let matched = self.phrases.iter().all(has_phrase) && !self.negated_phrases.iter().any(has_phrase);
        Ok(matched.then(|| found.iter().sum()))
    }
}

fn wrong_type(field: &str, expected: &str, found: &Bson) -> Error {
    Error::type_mismatch(format!(
        "\"{field}\" had the wrong type. Expected {expected}, found {}",
        type_name(found)
    ))
}

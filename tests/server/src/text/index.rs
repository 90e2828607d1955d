//! The text index of a collection: which strings of a document are searched, and the score of their
//! terms.

use super::terms::{Language, Sensitivity, terms};
use crate::error::Result;
use crate::query::path::{Path, walk};
use crate::storage::Collection;
use crate::value::number::Number;
use bson::{Bson, Document};
use std::collections::HashMap;

/// The definition of a text index.
#[derive(Debug, Clone)]
pub(crate) struct TextIndex {
    /// The indexed paths and their weights.
    weights: Vec<(Path, f64)>,
    /// The weight of all other strings, for `$**`.
    wildcard: Option<f64>,
    default_language: String,
    /// The field with the language of a document.
    language_override: String,
}

impl TextIndex {
    /// The text index of the collection, if it has one.
    pub(crate) fn of(collection: &Collection) -> Option<TextIndex> {
        let spec = collection
            .indexes
            .iter()
            .find(|index| index.spec.contains_key("textIndexVersion"))
            .map(|index| &index.spec)?;
        let text = |field: &str| spec.get_str(field).unwrap_or_default().to_owned();
        let mut index = TextIndex {
            weights: Vec::new(),
            wildcard: None,
            default_language: text("default_language"),
            language_override: text("language_override"),
        };
        for (path, weight) in spec.get_document("weights").ok()? {
            let weight = Number::from_bson(weight).map_or(1.0, Number::to_f64);
            if path == "$**" {
                index.wildcard = Some(weight);
            } else {
                index.weights.push((Path::new(path), weight));
            }
        }
        Some(index)
    }

    pub(crate) fn default_language(&self) -> Result<Language> {
        Language::parse(&self.default_language)
    }

    /// The language of a document.
    pub(super) fn language_of(&self, document: &Document) -> Result<Language> {
        match document.get(&self.language_override) {
            Some(Bson::String(language)) => Language::parse(language),
            _ => self.default_language(),
        }
    }

    /// The indexed strings of a document with their weights.
    pub(super) fn strings(&self, document: &Document) -> Result<Vec<(String, f64)>> {
        let mut found = Vec::new();
        for (path, weight) in &self.weights {
            walk(document, &path.parts, None, &mut |value, _| {
                match value {
                    Some(Bson::String(text)) => found.push((text.clone(), *weight)),
                    Some(Bson::Array(items)) => {
                        let texts = items.iter().filter_map(Bson::as_str);
                        found.extend(texts.map(|text| (text.to_owned(), *weight)));
                    }
                    _ => {}
                }
                Ok(false)
            })?;
        }
        if let Some(weight) = self.wildcard {
            let mut names = Vec::new();
            for (name, value) in document {
                names.push(name.as_str());
                self.all_strings(value, weight, &mut names, &mut found);
                names.pop();
            }
        }
        Ok(found)
    }

    /// Collects the strings of a value that have no weight of their own.
    fn all_strings<'d>(
        &self,
        value: &'d Bson,
        weight: f64,
        names: &mut Vec<&'d str>,
        found: &mut Vec<(String, f64)>,
    ) {
        match value {
            Bson::String(text) => {
                let path = names.join(".");
                if !self.weights.iter().any(|(own, _)| own.text == path) {
                    found.push((text.clone(), weight));
                }
            }
            Bson::Array(items) => {
                for item in items {
                    self.all_strings(item, weight, names, found);
                }
            }
            Bson::Document(document) => {
                for (name, value) in document {
                    names.push(name);
                    self.all_strings(value, weight, names, found);
                    names.pop();
                }
            }
            _ => {}
        }
    }
}

/// Adds the scores of the terms of a string: the frequency of a term, where each occurrence counts
/// half as much as the one before, its share of the terms of the string, and the weight.
pub(super) fn add_scores(text: &str, weight: f64, language: Language, scores: &mut HashMap<String, f64>) {
    let all = terms(text, language, Sensitivity::default());
    let mut counted: HashMap<&str, (f64, f64)> = HashMap::new();
    for term in &all {
        let (count, frequency) = counted.entry(term).or_insert((0.0, 0.0));
        *frequency += 0.5_f64.powf(*count);
        *count += 1.0;
    }
    for (term, (count, frequency)) in counted {
        let share = 0.5 * count / all.len() as f64 + 0.5;
        // A term that is the whole string has a higher score.
        let whole = if text.eq_ignore_ascii_case(term) { 1.1 } else { 1.0 };
        *scores.entry(term.to_owned()).or_insert(0.0) += weight * frequency * share * whole;
    }
}

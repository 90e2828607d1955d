//! The options of text indexes: weights and languages.

use crate::error::{Error, Result, code};
use crate::value::number::Number;
use bson::{Bson, Document, doc};

/// The languages of text index version 3, by name and by code.
const LANGUAGES: [&str; 31] = [
    "none",
    "da",
    "danish",
    "de",
    "german",
    "en",
    "english",
    "es",
    "spanish",
    "fi",
    "finnish",
    "fr",
    "french",
    "hu",
    "hungarian",
    "it",
    "italian",
    "nb",
    "norwegian",
    "nl",
    "dutch",
    "pt",
    "portuguese",
    "ro",
    "romanian",
    "ru",
    "russian",
    "sv",
    "swedish",
    "tr",
    "turkish",
];

/// Whether the name or code is one of a language of text indexes.
pub(crate) fn is_language(name: &str) -> bool {
    LANGUAGES.contains(&name)
}

/// Completes the listed specification of a text index with the default weights and languages, and
/// the internal fields of its key.
pub(super) fn complete(spec: &Document, listed: &mut Document) -> Result<()> {
    let key = spec.get_document("key").cloned().unwrap_or_default();
    let mut stored = Document::new();
    let mut weights = match spec.get("weights") {
        None => Document::new(),
        Some(Bson::Document(weights)) => weights.clone(),
        Some(_) => {
            return Err(Error::new(
                code::CANNOT_CREATE_INDEX,
                "text index option 'weights' must be an object",
            ));
        }
    };
    for (path, value) in &key {
        if value.as_str() == Some("text") {
            if !stored.contains_key("_fts") {
                stored.extend(doc! { "_fts": "text", "_ftsx": 1 });
            }
            if path != "_fts" && !weights.contains_key(path) {
                weights.insert(path, 1);
            }
        } else if path != "_ftsx" {
            stored.insert(path, value.clone());
        }
    }
    let mut sorted: Vec<(String, Bson)> = weights.into_iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, weight) in &sorted {
        if !matches!(
            Number::from_bson(weight).and_then(Number::to_exact_i64),
            Some(1..=99_999)
        ) {
            return Err(Error::new(
                code::CANNOT_CREATE_INDEX,
                format!("text index weight must be in the exclusive interval (0,100000) but found: {path}"),
            ));
        }
    }
    let text = |field: &str, default: &str| match spec.get(field) {
        Some(Bson::String(text)) => Ok(text.clone()),
        None => Ok(default.to_owned()),
        Some(_) => Err(Error::new(
            code::CANNOT_CREATE_INDEX,
            format!("text index option '{field}' must be a string"),
        )),
    };
    listed.insert("key", stored);
    listed.insert("weights", sorted.into_iter().collect::<Document>());
    let language = text("default_language", "english")?;
    if !LANGUAGES.contains(&language.to_lowercase().as_str()) {
        return Err(Error::new(
            code::CANNOT_CREATE_INDEX,
            format!(
                "default_language is not valid: unsupported language: \"{language}\" for text index version 3"
            ),
        ));
    }
    listed.insert("default_language", language);
    listed.insert("language_override", text("language_override", "language")?);
    listed.insert("textIndexVersion", 3);
    Ok(())
}

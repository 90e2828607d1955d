//! The options of text indexes: weights and languages.

use crate::error::{Error, Result, code};
use crate::refusal::indexes as rows;
use crate::value::format;
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

/// Checks the order of the fields, and the values of the ordinary ones.
fn check_key(key: &Document) -> Result<()> {
    let is_text = |value: &Bson| value.as_str() == Some("text");
    let groups = key.values().collect::<Vec<_>>();
    let groups = groups.chunk_by(|a, b| is_text(a) == is_text(b));
    if groups.filter(|group| is_text(group[0])).count() > 1 {
        return Err(rows::TEXT_ADJACENT.error(&[]));
    }
    let ordinary = key
        .iter()
        .filter(|(path, value)| !is_text(value) && *path != "_ftsx");
    for (_, value) in ordinary {
        let direction = Number::from_bson(value).map(Number::to_f64);
        if !direction.is_some_and(|direction| direction.abs() == 1.0) {
            return Err(rows::TEXT_VALUE.error(&[]));
        }
    }
    Ok(())
}

/// Completes the listed specification of a text index with the default weights and languages, and
/// the internal fields of its key.
pub(super) fn complete(spec: &Document, listed: &mut Document) -> Result<()> {
    let key = spec.get_document("key").cloned().unwrap_or_default();
    check_key(&key)?;
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
    for (_, weight) in &sorted {
        if !matches!(
            Number::from_bson(weight).and_then(Number::to_exact_i64),
            Some(1..=99_999)
        ) {
            return Err(rows::TEXT_WEIGHT.error(&[&format::bson(weight)]));
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
        return Err(rows::TEXT_LANGUAGE.error(&[]));
    }
    listed.insert("default_language", language);
    listed.insert("language_override", text("language_override", "language")?);
    listed.insert("textIndexVersion", 3);
    Ok(())
}

//! The option `highlight`: the found words of fields with the text around them.

use super::evaluate::strings;
use super::invalid;
use super::operator::{Operator, Path, Test, paths_of};
use super::tokens::{Analyzer, wildcard};
use crate::error::Result;
use bson::{Bson, Document, doc};

#[derive(Debug, Clone)]
pub(crate) struct Highlight {
    paths: Vec<Path>,
    passages: usize,
    characters: usize,
}

impl Highlight {
    pub(crate) fn parse(value: &Bson) -> Result<Highlight> {
        let fields = value
            .as_document()
            .ok_or_else(|| invalid("\"highlight\" must be a document"))?;
        let known = ["path", "maxCharsToExamine", "maxNumPassages"];
        if let Some(other) = fields.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(invalid(format!("\"highlight\": unrecognized field \"{other}\"")));
        }
        let count = |name: &str, default: usize| match fields.get(name) {
            None => Ok(default),
            Some(value) => crate::value::number::Number::from_bson(value)
                .and_then(crate::value::number::Number::to_exact_i64)
                .and_then(|count| usize::try_from(count).ok())
                .filter(|count| *count > 0)
                .ok_or_else(|| invalid(format!("\"highlight.{name}\" must be a positive integer"))),
        };
        Ok(Highlight {
            paths: paths_of("highlight", fields.get("path"))?,
            passages: count("maxNumPassages", 5)?,
            characters: count("maxCharsToExamine", 500_000)?,
        })
    }

    /// The highlights of a document: a passage for each string with a found word.
    pub(crate) fn of(&self, document: &Document, operator: &Operator) -> Vec<Bson> {
        let mut all = Vec::new();
        let mut names = Vec::new();
        super::evaluate::string_names(document, "", &mut names);
        names.dedup();
        for name in names {
            let is_chosen = self.paths.iter().any(|path| match path {
                Path::Field(path) => *path == name,
                Path::Pattern(pattern) => wildcard(
                    &pattern.chars().collect::<Vec<_>>(),
                    &name.chars().collect::<Vec<_>>(),
                ),
            });
            if !is_chosen {
                continue;
            }
            let mut words = Vec::new();
            words_of(operator, &name, &mut words);
            let texts = strings(document, &name).into_iter();
            let passages = texts.filter_map(|text| {
                let examined: String = text.chars().take(self.characters).collect();
                passage(&examined, &words)
            });
            for (texts, hits) in passages.take(self.passages) {
                all.push(doc! { "path": name.as_str(), "texts": texts, "score": hits as f64 }.into());
            }
        }
        all
    }
}

/// The words that the operators look for in a field.
fn words_of(operator: &Operator, name: &str, words: &mut Vec<String>) {
    match &operator.test {
        Test::Text(paths, queries, ..) | Test::Phrase(paths, queries, _) => {
            let is_searched = paths.iter().any(|path| match path {
                Path::Field(path) => path == name,
                Path::Pattern(_) => true,
            });
            if is_searched {
                words.extend(queries.iter().flat_map(|query| Analyzer::Standard.tokens(query)));
            }
        }
        Test::Autocomplete(path, queries, ..) if path == name => {
            words.extend(queries.iter().flat_map(|query| Analyzer::Standard.tokens(query)));
        }
        Test::Compound(compound) => {
            let clauses = compound
                .must
                .iter()
                .chain(&compound.should)
                .chain(&compound.filter);
            clauses.for_each(|clause| words_of(clause, name, words));
        }
        Test::Embedded(_, inner, _) => words_of(inner, name, words),
        _ => {}
    }
}

/// The text in parts, and the number of found words. `None` without one.
fn passage(text: &str, words: &[String]) -> Option<(Vec<Bson>, usize)> {
    let mut parts: Vec<(bool, String)> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = first.is_alphanumeric();
        let end = rest
            .find(|c: char| c.is_alphanumeric() != is_word)
            .unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        let is_hit = is_word && words.contains(&part.to_lowercase());
        match parts.last_mut() {
            Some((false, last)) if !is_hit => last.push_str(part),
            _ => parts.push((is_hit, part.to_owned())),
        }
    }
    let hits = parts.iter().filter(|(is_hit, _)| *is_hit).count();
    let parts = parts.into_iter().map(|(is_hit, value)| {
        let kind = if is_hit { "hit" } else { "text" };
        doc! { "value": value, "type": kind }.into()
    });
    (hits > 0).then(|| (parts.collect(), hits))
}

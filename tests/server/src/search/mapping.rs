//! The mappings of a search index: which fields are indexed as which types.

use super::invalid;
use super::tokens::Analyzer;
use crate::error::{Error, Result};
use bson::{Bson, Document};

/// The parsed `mappings` of a definition.
#[derive(Debug, Clone)]
pub(crate) struct Mapping {
    dynamic: bool,
    fields: Vec<(String, Field)>,
    analyzer: Analyzer,
}

/// How a field is indexed.
#[derive(Debug, Clone, Default)]
struct Field {
    types: Vec<String>,
    analyzer: Option<Analyzer>,
    /// For the types `document` and `embeddedDocuments`.
    inner: Option<(bool, Vec<(String, Field)>)>,
}

/// The types of dynamic mappings.
const DYNAMIC: [&str; 7] = [
    "boolean", "date", "document", "number", "objectId", "string", "uuid",
];

/// All types that are implemented.
const TYPES: [&str; 14] = [
    "autocomplete",
    "boolean",
    "date",
    "dateFacet",
    "document",
    "embeddedDocuments",
    "geo",
    "number",
    "numberFacet",
    "objectId",
    "string",
    "stringFacet",
    "token",
    "uuid",
];

impl Mapping {
    pub(super) fn parse(definition: &Document) -> Result<Mapping> {
        let mappings = match definition.get("mappings") {
            Some(Bson::Document(mappings)) => mappings,
            Some(_) => return Err(invalid("\"mappings\" must be an object")),
            None => return Err(invalid("\"mappings\" is required")),
        };
        for refused in ["analyzers", "synonyms", "typeSets"] {
            if definition.contains_key(refused) {
                return Err(Error::not_served(format!("the search index option {refused}")));
            }
        }
        let analyzer = match definition.get("analyzer") {
            None => Analyzer::Standard,
            Some(name) => Analyzer::parse(name)?,
        };
        let (dynamic, fields) = parse_level(mappings)?;
        Ok(Mapping {
            dynamic,
            fields,
            analyzer,
        })
    }

    /// Whether the elements of the array at a path are indexed one by one.
    pub(super) fn has_embedded(&self, path: &str) -> bool {
        find_field(false, &self.fields, path, "embeddedDocuments").is_some()
    }

    /// The analyzer of a path if it is indexed as this type.
    pub(super) fn find(&self, path: &str, kind: &str) -> Option<Analyzer> {
        let own = find_field(self.dynamic, &self.fields, path, kind)?;
        Some(own.unwrap_or(self.analyzer))
    }
}

/// Whether the path is indexed as the type, and the analyzer of its field.
fn find_field(dynamic: bool, fields: &[(String, Field)], path: &str, kind: &str) -> Option<Option<Analyzer>> {
    if let Some((_, field)) = fields.iter().find(|(name, _)| name == path) {
        return field
            .types
            .iter()
            .any(|own| own == kind)
            .then_some(field.analyzer);
    }
    let inner = path.split_once('.').and_then(|(first, rest)| {
        let (_, field) = fields.iter().find(|(name, _)| name == first)?;
        Some((field.inner.as_ref(), rest))
    });
    match inner {
        Some((Some((dynamic, fields)), rest)) => find_field(*dynamic, fields, rest, kind),
        Some((None, _)) => None,
        None => (dynamic && DYNAMIC.contains(&kind)).then_some(None),
    }
}

fn parse_level(level: &Document) -> Result<(bool, Vec<(String, Field)>)> {
    let dynamic = match level.get("dynamic") {
        None => false,
        Some(Bson::Boolean(on)) => *on,
        Some(_) => return Err(Error::not_served("dynamic mappings with a type set")),
    };
    let mut fields = Vec::new();
    match level.get("fields") {
        None => {}
        Some(Bson::Document(definitions)) => {
            for (name, definition) in definitions {
                let mut field = Field::default();
                match definition {
                    Bson::Document(one) => field.add(name, one)?,
                    Bson::Array(several) => {
                        for one in several.iter().filter_map(Bson::as_document) {
                            field.add(name, one)?;
                        }
                    }
                    _ => return Err(invalid(format!("\"mappings.fields.{name}\" must be an object"))),
                }
                fields.push((name.clone(), field));
            }
        }
        Some(_) => return Err(invalid("\"mappings.fields\" must be an object")),
    }
    Ok((dynamic, fields))
}

impl Field {
    fn add(&mut self, name: &str, definition: &Document) -> Result<()> {
        let Ok(kind) = definition.get_str("type") else {
            return Err(invalid(format!("\"mappings.fields.{name}.type\" is required")));
        };
        if !TYPES.contains(&kind) {
            return Err(Error::not_served(format!("the search field type {kind}")));
        }
        if matches!(kind, "document" | "embeddedDocuments") {
            self.inner = Some(parse_level(definition)?);
        }
        if kind == "string"
            && let Some(analyzer) = definition.get("analyzer")
        {
            self.analyzer = Some(Analyzer::parse(analyzer)?);
        }
        for refused in ["multi", "tokenization", "normalizer"] {
            let default = matches!(definition.get_str(refused), Ok("edgeGram" | "none"));
            if definition.contains_key(refused) && !default {
                return Err(Error::not_served(format!(
                    "the option {refused} of a search field"
                )));
            }
        }
        self.types.push(kind.to_owned());
        Ok(())
    }
}

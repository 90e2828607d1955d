//! Search indexes: their definitions and their states.

use super::invalid;
use super::mapping::Mapping;
use crate::error::{Error, Result, code};
use crate::value::number::Number;
use bson::oid::ObjectId;
use bson::{Bson, DateTime, Document, doc};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// The states of an index in their order. An index enters the next state after it was listed or
/// searched.
const STATES: [&str; 3] = ["PENDING", "BUILDING", "READY"];

/// A search index of a collection.
#[derive(Debug, Clone)]
pub(crate) struct SearchIndex {
    pub(crate) id: ObjectId,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    definition: Document,
    version: i64,
    created: DateTime,
    /// The position in [`STATES`]. Shared by copies of the collection.
    state: Arc<AtomicU8>,
    /// Whether the index was ready before it was updated.
    queryable: bool,
}

/// What an index supports.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Search(Mapping),
    Vector(Vec<VectorField>, Vec<String>),
}

/// A field with vectors.
#[derive(Debug, Clone)]
pub(crate) struct VectorField {
    pub(crate) path: String,
    pub(crate) dimensions: usize,
    pub(crate) similarity: Similarity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Similarity {
    Cosine,
    DotProduct,
    Euclidean,
}

impl SearchIndex {
    /// Parses an element of the `indexes` of `createSearchIndexes`.
    pub(crate) fn parse(spec: &Document) -> Result<SearchIndex> {
        let name = match spec.get("name") {
            None => "default".to_owned(),
            Some(Bson::String(name)) if !name.is_empty() => name.clone(),
            Some(_) => {
                return Err(Error::type_mismatch(
                    "the name of a search index must be a string",
                ));
            }
        };
        let kind = match spec.get("type") {
            None => "search",
            Some(Bson::String(kind)) => kind.as_str(),
            Some(_) => {
                return Err(Error::type_mismatch(
                    "the type of a search index must be a string",
                ));
            }
        };
        if let Some(other) = spec
            .keys()
            .find(|field| !matches!(field.as_str(), "name" | "type" | "definition"))
        {
            return Err(Error::new(
                code::UNKNOWN_FIELD,
                format!("BSON field 'createSearchIndexes.indexes.{other}' is an unknown field."),
            ));
        }
        let definition = definition(spec)?;
        Ok(SearchIndex {
            id: ObjectId::new(),
            name,
            kind: Kind::parse(kind, definition)?,
            definition: definition.clone(),
            version: 0,
            created: DateTime::now(),
            state: Arc::default(),
            queryable: false,
        })
    }

    /// Replaces the definition. The index can be searched meanwhile if it was ready.
    pub(crate) fn update(&mut self, spec: &Document) -> Result<()> {
        let definition = definition(spec)?;
        self.kind = Kind::parse(self.type_name(), definition)?;
        self.definition = definition.clone();
        self.version += 1;
        self.queryable = self.is_queryable();
        self.created = DateTime::now();
        self.state = Arc::new(AtomicU8::new(1));
        Ok(())
    }

    fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Search(_) => "search",
            Kind::Vector(..) => "vectorSearch",
        }
    }

    fn state(&self) -> usize {
        usize::from(self.state.load(Ordering::Relaxed)).min(STATES.len() - 1)
    }

    fn is_queryable(&self) -> bool {
        self.queryable || self.state() == STATES.len() - 1
    }

    fn advance(&self) {
        if self.state() < STATES.len() - 1 {
            self.state.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether the index can be searched now. Enters the next state.
    pub(crate) fn search(&self) -> bool {
        let queryable = self.is_queryable();
        self.advance();
        queryable
    }

    /// The row of `$listSearchIndexes`. Enters the next state.
    pub(crate) fn list(&self) -> Document {
        let row = doc! {
            "id": self.id.to_hex(),
            "name": &self.name,
            "type": self.type_name(),
            "status": STATES[self.state()],
            "queryable": self.is_queryable(),
            "latestDefinitionVersion": { "version": self.version, "createdAt": self.created },
            "latestDefinition": self.definition.clone(),
            "statusDetail": [],
        };
        self.advance();
        row
    }
}

fn definition(spec: &Document) -> Result<&Document> {
    match spec.get("definition") {
        Some(Bson::Document(definition)) => Ok(definition),
        Some(_) => Err(Error::type_mismatch(
            "the definition of a search index must be an object",
        )),
        None => Err(Error::new(
            code::MISSING_FIELD,
            "BSON field 'definition' is missing but a required field",
        )),
    }
}

impl Kind {
    fn parse(kind: &str, definition: &Document) -> Result<Kind> {
        match kind {
            "search" => Mapping::parse(definition).map(Kind::Search),
            "vectorSearch" => vector_fields(definition),
            other => Err(invalid(format!(
                "\"type\" must be one of [search, vectorSearch], found {other}"
            ))),
        }
    }
}

fn vector_fields(definition: &Document) -> Result<Kind> {
    let Some(Bson::Array(fields)) = definition.get("fields") else {
        return Err(invalid("\"fields\" is required"));
    };
    let (mut vectors, mut filters) = (Vec::new(), Vec::new());
    for field in fields {
        let Bson::Document(field) = field else {
            return Err(invalid("\"fields\" must contain objects"));
        };
        let Ok(path) = field.get_str("path") else {
            return Err(invalid("\"fields.path\" is required"));
        };
        match field.get_str("type") {
            Ok("filter") => filters.push(path.to_owned()),
            Ok("vector") => {
                let dimensions = field
                    .get("numDimensions")
                    .and_then(Number::from_bson)
                    .and_then(Number::to_exact_i64)
                    .and_then(|dimensions| usize::try_from(dimensions).ok())
                    .filter(|dimensions| (1..=8192).contains(dimensions))
                    .ok_or_else(|| invalid("\"fields.numDimensions\" must be between 1 and 8192"))?;
                let similarity = match field.get_str("similarity") {
                    Ok("cosine") => Similarity::Cosine,
                    Ok("dotProduct") => Similarity::DotProduct,
                    Ok("euclidean") => Similarity::Euclidean,
                    _ => {
                        return Err(invalid(
                            "\"fields.similarity\" must be one of [euclidean, cosine, dotProduct]",
                        ));
                    }
                };
                vectors.push(VectorField {
                    path: path.to_owned(),
                    dimensions,
                    similarity,
                });
            }
            Ok(other @ ("text" | "autoEmbed")) => {
                return Err(Error::not_served(format!("the vector search field type {other}")));
            }
            _ => return Err(invalid("\"fields.type\" must be one of [filter, vector]")),
        }
    }
    if vectors.is_empty() {
        return Err(invalid("\"fields\" must contain a field of type vector"));
    }
    Ok(Kind::Vector(vectors, filters))
}

//! The update language: replacements, update operators and pipelines, applied to one document at a
//! time.

pub(crate) mod apply;
pub(crate) mod array;
pub(crate) mod modify;
pub(crate) mod number;
pub(crate) mod parse;
pub(crate) mod path;

use crate::aggregate::Pipeline;
use crate::error::{Error, Result, code};
use crate::query::{Env, Filter};
use crate::value::{format, identical};
use apply::Context;
use bson::oid::ObjectId;
use bson::{Bson, Document, Timestamp};
use parse::Operation;
use std::collections::BTreeMap;

#[derive(Debug)]
pub(crate) enum Update {
    Replacement(Document),
    Operators {
        operations: Vec<Operation>,
        array_filters: BTreeMap<String, Filter>,
    },
    Pipeline(Pipeline),
}

/// The context of applying an update to a document.
#[derive(Clone, Copy)]
pub(crate) struct Target<'t> {
    /// The array index matched by the filter, for the positional operator.
    pub(crate) position: Option<usize>,
    pub(crate) env: &'t Env,
    /// True if an upsert inserts the document.
    pub(crate) insert: bool,
    /// The timestamp for `$currentDate`.
    pub(crate) timestamp: Timestamp,
}

impl Update {
    /// Returns whether the update replaces the whole document.
    pub(crate) fn is_replacement(&self) -> bool {
        matches!(self, Update::Replacement(_))
    }

    /// Returns the document after the update. The `_id` is unchanged.
    pub(crate) fn apply(&self, document: &Document, target: Target<'_>) -> Result<Document> {
        let mut updated = match self {
            Update::Replacement(replacement) => replacement.clone(),
            Update::Operators {
                operations,
                array_filters,
            } => {
                let mut updated = document.clone();
                let context = Context {
                    target,
                    array_filters,
                    document,
                };
                for operation in operations {
                    context.apply(operation, &mut updated)?;
                }
                updated
            }
            Update::Pipeline(pipeline) => pipeline.run_on_one(document.clone(), target.env)?,
        };
        self.keep_id(document, &mut updated)?;
        Ok(updated)
    }

    fn keep_id(&self, document: &Document, updated: &mut Document) -> Result<()> {
        let Some(id) = document.get("_id") else {
            return Ok(());
        };
        match updated.get("_id") {
            Some(same) if identical(id, same) || crate::value::compare::equal(id, same, None) => {}
            None if !matches!(self, Update::Operators { .. }) => {}
            _ if self.is_replacement() => {
                return Err(Error::new(
                    code::IMMUTABLE_FIELD,
                    format!(
                        "After applying the update, the (immutable) field '_id' was found to have been altered to _id: {}",
                        updated
                            .get("_id")
                            .map_or_else(|| "missing".to_owned(), format::bson)
                    ),
                ));
            }
            _ => {
                return Err(Error::new(
                    code::IMMUTABLE_FIELD,
                    "Performing an update on the path '_id' would modify the immutable field '_id'",
                ));
            }
        }
        // The stored `_id` keeps its type and is the first field.
        let mut ordered = bson::doc! { "_id": id.clone() };
        updated.remove("_id");
        ordered.extend(std::mem::take(updated));
        *updated = ordered;
        Ok(())
    }

    /// Returns the document that an upsert inserts.
    pub(crate) fn upsert(&self, filter: &Filter, target: Target<'_>) -> Result<Document> {
        let mut seeds = Vec::new();
        filter.equality_seeds(&mut seeds);
        let mut base = Document::new();
        if self.is_replacement() {
            seeds.retain(|(path, _)| path == "_id" || path.starts_with("_id."));
        }
        check_seeds(&seeds)?;
        for (path, value) in seeds {
            if path == "_id" || !self.is_replacement() {
                crate::query::path::set(&mut base, &path, value);
            }
        }
        let mut updated = self.apply(
            &base,
            Target {
                insert: true,
                ..target
            },
        )?;
        if !updated.contains_key("_id") {
            let id = ObjectId::new();
            let mut ordered = bson::doc! { "_id": id };
            ordered.extend(updated);
            updated = ordered;
        } else if updated.keys().next().is_some_and(|first| first != "_id") {
            let id = updated.remove("_id").unwrap_or(Bson::Null);
            let mut ordered = bson::doc! { "_id": id };
            ordered.extend(updated);
            updated = ordered;
        }
        if let Some(id) = updated.get("_id") {
            crate::command::insert::check_id(id)?;
        }
        Ok(updated)
    }
}

/// Rejects a filter with several values for one path: the value to insert is ambiguous.
fn check_seeds(seeds: &[(String, Bson)]) -> Result<()> {
    let under = |a: &str, b: &str| {
        a.strip_prefix(b)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    for (index, (path, _)) in seeds.iter().enumerate() {
        if seeds[..index]
            .iter()
            .any(|(earlier, _)| under(path, earlier) || under(earlier, path))
        {
            return Err(Error::new(
                54,
                format!("cannot infer query fields to set, path '{path}' is matched twice"),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

//! Projections: inclusion, exclusion, computed fields, and the `find` projection operators
//! `$slice`, `$elemMatch` and `$`.

use super::{Env, Filter};
use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::value::metadata;
use bson::{Bson, Document};
use parse::Builder;

mod parse;

/// The projection of one field.
#[derive(Debug, Clone)]
enum Node {
    Include,
    Exclude,
    Inner(Vec<(String, Node)>),
    Computed(Expression),
    /// Skip (negative: from the end) and limit.
    Slice(i64, Option<i64>),
    ElemMatch(Filter),
    Positional,
}

#[derive(Debug, Clone)]
pub(crate) struct Projection {
    fields: Vec<(String, Node)>,
    /// True for an inclusion, false for an exclusion.
    inclusive: bool,
    keep_id: bool,
}

/// `find` has projection operators whose names are expressions in `$project`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Find,
    Stage,
}

impl Projection {
    /// Parses the projection of `find` and `findAndModify`.
    pub(crate) fn parse_find(spec: &Document, env: &Env) -> Result<Projection> {
        Builder::new(Dialect::Find, env).build(spec)
    }

    /// Parses a `$project` stage.
    pub(crate) fn parse_stage(spec: &Document, env: &Env) -> Result<Projection> {
        if spec.is_empty() {
            return Err(Error::new(
                51272,
                "Invalid $project :: caused by :: projection specification must have at least one field",
            ));
        }
        Builder::new(Dialect::Stage, env).build(spec)
    }

    /// Applies a projection without a positional operator.
    pub(crate) fn apply(&self, document: &Document, env: &Env) -> Result<Document> {
        self.run(document, None, env)
    }

    /// Applies a projection to a document that matches `filter`.
    pub(crate) fn apply_matched(&self, document: &Document, filter: &Filter, env: &Env) -> Result<Document> {
        let position = if self.has_positional(&self.fields) {
            filter.matches_with_position(document, env)?.1
        } else {
            None
        };
        self.run(document, position, env)
    }

    fn has_positional(&self, fields: &[(String, Node)]) -> bool {
        fields.iter().any(|(_, node)| match node {
            Node::Positional => true,
            Node::Inner(inner) => self.has_positional(inner),
            _ => false,
        })
    }

    fn run(&self, document: &Document, position: Option<usize>, env: &Env) -> Result<Document> {
        let context = Context {
            root: document,
            position,
            env,
            inclusive: self.inclusive,
        };
        let mut out = Document::new();
        let id = self
            .fields
            .iter()
            .find(|(name, _)| name == "_id")
            .map(|(_, node)| node);
        for (name, value) in document {
            if name == "_id" && id.is_none() {
                if self.keep_id {
                    out.insert(name, value.clone());
                }
                continue;
            }
            match self.fields.iter().find(|(field, _)| field == name) {
                None if self.inclusive => {}
                None => {
                    out.insert(name, value.clone());
                }
                Some((_, Node::Computed(_))) if name == "_id" => {
                    out.insert(name, value.clone());
                }
                Some((_, node)) => {
                    if let Some(value) = context.existing(node, value)? {
                        out.insert(name, value);
                    }
                }
            }
        }
        context.add_computed(&self.fields, &mut out)?;
        metadata::carry(document, &mut out);
        Ok(out)
    }
}

struct Context<'c> {
    root: &'c Document,
    position: Option<usize>,
    env: &'c Env,
    inclusive: bool,
}

impl Context<'_> {
    /// Projects an existing field. `None` removes the field.
    fn existing(&self, node: &Node, value: &Bson) -> Result<Option<Bson>> {
        Ok(match node {
            Node::Include => Some(value.clone()),
            Node::Exclude => None,
            // Computed fields follow the included ones; only `_id` keeps its position.
            Node::Computed(_) => None,
            Node::Inner(inner) => self.inner(inner, value)?,
            Node::Slice(skip, limit) => Some(match value {
                Bson::Array(items) => Bson::Array(slice(items, *skip, *limit)),
                other => other.clone(),
            }),
            Node::ElemMatch(filter) => match value {
                Bson::Array(items) => {
                    let mut found = None;
                    for item in items {
                        if filter.matches_element(item, self.env)? {
                            found = Some(Bson::Array(vec![item.clone()]));
                            break;
                        }
                    }
                    found
                }
                _ => None,
            },
            Node::Positional => Some(match value {
                Bson::Array(items) => {
                    let index = self.position.ok_or_else(|| {
                        Error::new(
                            51246,
                            "positional operator '.$' couldn't find a matching element in the array",
                        )
                    })?;
                    Bson::Array(items.get(index).cloned().into_iter().collect())
                }
                other => other.clone(),
            }),
        })
    }

    fn inner(&self, fields: &[(String, Node)], value: &Bson) -> Result<Option<Bson>> {
        match value {
            Bson::Document(document) => {
                let mut out = Document::new();
                for (name, value) in document {
                    match fields.iter().find(|(field, _)| field == name) {
                        None if self.inclusive => {}
                        None => {
                            out.insert(name, value.clone());
                        }
                        Some((_, node)) => {
                            if let Some(value) = self.existing(node, value)? {
                                out.insert(name, value);
                            }
                        }
                    }
                }
                Ok(Some(Bson::Document(out)))
            }
            Bson::Array(items) => {
                let mut out = Vec::with_capacity(items.len());
                for item in items {
                    out.extend(self.inner(fields, item)?);
                }
                Ok(Some(Bson::Array(out)))
            }
            // A scalar has no such field: an exclusion keeps the scalar, an inclusion removes it.
            other => Ok((!self.inclusive).then(|| other.clone())),
        }
    }

    fn add_computed(&self, fields: &[(String, Node)], out: &mut Document) -> Result<()> {
        for (name, node) in fields {
            match node {
                Node::Computed(expression) => {
                    let value = expression.evaluate(self.root, self.env)?;
                    if matches!(value, Bson::Undefined) {
                        out.remove(name);
                    } else {
                        out.insert(name, value);
                    }
                }
                Node::Inner(inner) if has_computed(inner) => {
                    let current = out.get(name).cloned();
                    let value = self.computed_inner(inner, current)?;
                    out.insert(name, value);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds computed fields to an embedded document, or to every element of an array. A scalar is
    /// replaced.
    fn computed_inner(&self, fields: &[(String, Node)], current: Option<Bson>) -> Result<Bson> {
        match current {
            Some(Bson::Array(items)) => {
                let items = items
                    .into_iter()
                    .map(|item| self.computed_inner(fields, Some(item)));
                items.collect::<Result<Vec<_>>>().map(Bson::Array)
            }
            current => {
                let mut document = match current {
                    Some(Bson::Document(document)) => document,
                    _ => Document::new(),
                };
                self.add_computed(fields, &mut document)?;
                Ok(Bson::Document(document))
            }
        }
    }
}

fn has_computed(fields: &[(String, Node)]) -> bool {
    fields.iter().any(|(_, node)| match node {
        Node::Computed(_) => true,
        Node::Inner(inner) => has_computed(inner),
        _ => false,
    })
}

/// The `$slice` of `find`. A negative skip counts from the end.
fn slice(items: &[Bson], skip: i64, limit: Option<i64>) -> Vec<Bson> {
    let length = items.len() as i64;
    let (start, count) = match limit {
        None if skip < 0 => ((length + skip).max(0), -skip),
        None => (0, skip),
        Some(limit) => (
            if skip < 0 {
                (length + skip).max(0)
            } else {
                skip.min(length)
            },
            limit,
        ),
    };
    items
        .iter()
        .skip(start as usize)
        .take(count.max(0) as usize)
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests;

//! Update paths: fields, and the positional operators `$`, `$[]` and `$[identifier]`.

use super::apply::Context;
use crate::error::{Error, Result, code};
use crate::query::path::Part;
use crate::value::format;
use bson::{Bson, Document};

/// One component of an update path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Field(Part),
    /// `$`
    Matched,
    /// `$[]`
    All,
    /// `$[identifier]`
    Filtered(String),
}

#[derive(Debug, Clone)]
pub(crate) struct UpdatePath {
    pub(crate) text: String,
    pub(crate) steps: Vec<Step>,
}

impl UpdatePath {
    pub(crate) fn parse(text: &str) -> Result<UpdatePath> {
        if text.is_empty() {
            return Err(Error::new(
                code::EMPTY_FIELD_NAME,
                "An empty update path is not valid.",
            ));
        }
        let mut steps = Vec::new();
        for part in text.split('.') {
            let identifier = part.strip_prefix("$[").and_then(|rest| rest.strip_suffix(']'));
            steps.push(match (part, identifier) {
                ("", _) => {
                    return Err(Error::new(
                        code::EMPTY_FIELD_NAME,
                        format!(
                            "The update path '{text}' contains an empty field name, which is not allowed."
                        ),
                    ));
                }
                ("$", _) => Step::Matched,
                (_, Some("")) => Step::All,
                (_, Some(identifier)) => Step::Filtered(identifier.to_owned()),
                (part, _) if part.starts_with('$') && !matches!(part, "$ref" | "$id" | "$db") => {
                    return Err(Error::new(
                        code::DOLLAR_PREFIXED_FIELD_NAME,
                        format!(
                            "The dollar ($) prefixed field '{part}' in '{text}' is not valid for storage."
                        ),
                    ));
                }
                (part, _) => Step::Field(Part::new(part)),
            });
        }
        if !matches!(steps[0], Step::Field(_)) {
            return Err(Error::bad_value(format!(
                "Cannot have array filter identifier or positional operator as the first component in '{text}'"
            )));
        }
        let positional = steps.iter().filter(|step| **step == Step::Matched).count();
        if positional > 1 {
            return Err(Error::bad_value(format!(
                "Too many positional (i.e. '$') elements found in path '{text}'"
            )));
        }
        Ok(UpdatePath {
            text: text.to_owned(),
            steps,
        })
    }

    /// Returns the common prefix if one path is a prefix of the other.
    pub(crate) fn conflicts_with(&self, other: &UpdatePath) -> Option<String> {
        let common = self.steps.len().min(other.steps.len());
        (self.steps[..common] == other.steps[..common])
            .then(|| self.text.split('.').take(common).collect::<Vec<_>>().join("."))
    }

    pub(crate) fn is_positional(&self) -> bool {
        self.steps.iter().any(|step| !matches!(step, Step::Field(_)))
    }

    /// Expands the positional components to concrete paths in a document.
    pub(crate) fn resolve(&self, context: &Context<'_>, document: &Document) -> Result<Vec<Vec<Part>>> {
        let mut found = Vec::new();
        self.expand(
            context,
            Some(&Bson::Document(Document::new())),
            document,
            Vec::new(),
            &self.steps,
            &mut found,
        )?;
        Ok(found)
    }

    fn expand(
        &self,
        context: &Context<'_>,
        value: Option<&Bson>,
        root: &Document,
        taken: Vec<Part>,
        steps: &[Step],
        found: &mut Vec<Vec<Part>>,
    ) -> Result<()> {
        let Some((step, rest)) = steps.split_first() else {
            found.push(taken);
            return Ok(());
        };
        let next = |part: Part| {
            let mut path = taken.clone();
            path.push(part);
            path
        };
        match step {
            Step::Field(part) => {
                let child = if taken.is_empty() {
                    root.get(&part.name)
                } else {
                    match value {
                        Some(Bson::Document(document)) => document.get(&part.name),
                        Some(Bson::Array(items)) => part.index.and_then(|index| items.get(index)),
                        _ => None,
                    }
                };
                self.expand(context, child, root, next(part.clone()), rest, found)
            }
            Step::Matched => {
                let index = context.target.position.ok_or_else(|| {
                    Error::bad_value("The positional operator did not find the match needed from the query.")
                })?;
                let child = match value {
                    Some(Bson::Array(items)) => items.get(index),
                    Some(Bson::Document(document)) => document.get(index.to_string()),
                    _ => None,
                };
                self.expand(
                    context,
                    child,
                    root,
                    next(Part::new(&index.to_string())),
                    rest,
                    found,
                )
            }
            Step::All | Step::Filtered(_) => {
                let at = taken
                    .iter()
                    .map(|part| part.name.as_str())
                    .collect::<Vec<_>>()
                    .join(".");
                let items = match value {
                    Some(Bson::Array(items)) => items,
                    None => {
                        return Err(Error::bad_value(format!(
                            "The path '{at}' must exist in the document in order to apply array updates."
                        )));
                    }
                    Some(other) => {
                        return Err(Error::bad_value(format!(
                            "Cannot apply array updates to non-array element {at}: {}",
                            format::bson(other)
                        )));
                    }
                };
                for (index, item) in items.iter().enumerate() {
                    if let Step::Filtered(identifier) = step
                        && !context.matches_filter(identifier, item)?
                    {
                        continue;
                    }
                    self.expand(
                        context,
                        Some(item),
                        root,
                        next(Part::new(&index.to_string())),
                        rest,
                        found,
                    )?;
                }
                Ok(())
            }
        }
    }
}

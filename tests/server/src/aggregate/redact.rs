//! `$redact`: keeps, descends into or prunes documents and embedded documents.

use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::query::Env;
use crate::value::{format, metadata};
use bson::{Bson, Document};

/// The system variables that the expression of a `$redact` evaluates to, and their values.
const DECISIONS: [(&str, &str); 3] = [("DESCEND", "descend"), ("PRUNE", "prune"), ("KEEP", "keep")];

/// A `$redact` stage.
#[derive(Debug, Clone)]
pub(crate) struct Redact(Expression);

impl Redact {
    pub(super) fn parse(expression: &Bson, env: &Env) -> Result<Redact> {
        Expression::parse(expression, &with_decisions(env)).map(Redact)
    }

    pub(super) fn run(&self, documents: &[Document], env: &Env) -> Result<Vec<Document>> {
        let env = with_decisions(env);
        let mut kept = Vec::new();
        for document in documents {
            let mut own = document.clone();
            metadata::clear(&mut own);
            if let Some(mut redacted) = self.redact(&own, document, &env)? {
                metadata::carry(document, &mut redacted);
                kept.push(redacted);
            }
        }
        Ok(kept)
    }

    /// The redacted document; `None` if it is pruned.
    fn redact(&self, document: &Document, root: &Document, env: &Env) -> Result<Option<Document>> {
        let current = Bson::Document(document.clone());
        let decision = self.0.evaluate_within(root, &current, env)?;
        match decision.as_str() {
            Some("keep") => Ok(Some(document.clone())),
            Some("prune") => Ok(None),
            Some("descend") => {
                let mut left = Document::new();
                for (name, value) in document {
                    if let Some(value) = self.value(value, root, env)? {
                        left.insert(name, value);
                    }
                }
                Ok(Some(left))
            }
            _ => Err(Error::new(
                17053,
                format!(
                    "$redact's expression should not return anything aside from the variables $$KEEP, $$DESCEND, and \
                     $$PRUNE, but returned {}",
                    format::bson(&decision)
                ),
            )),
        }
    }

    fn value(&self, value: &Bson, root: &Document, env: &Env) -> Result<Option<Bson>> {
        Ok(match value {
            Bson::Document(inner) => self.redact(inner, root, env)?.map(Bson::Document),
            Bson::Array(items) => {
                let mut left = Vec::with_capacity(items.len());
                for item in items {
                    left.extend(self.value(item, root, env)?);
                }
                Some(Bson::Array(left))
            }
            other => Some(other.clone()),
        })
    }
}

fn with_decisions(env: &Env) -> Env {
    let mut env = env.clone();
    for (name, value) in DECISIONS {
        env.variables
            .insert(name.to_owned(), Bson::String(value.to_owned()));
    }
    env
}

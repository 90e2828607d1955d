//! Expressions and pipelines: comparisons with find payloads become conditions on `__safeContent__`.

use super::SAFE_CONTENT;
use super::filter::{Operand, Queries};
use super::payload::FindPayload;
use crate::error::Result;
use bson::{Bson, Document, bson, doc};

impl Queries<'_> {
    /// Replaces the payloads of the stages of a pipeline.
    pub(super) fn pipeline(&self, stages: &[Bson]) -> Result<Bson> {
        let stage = |stage: &Bson| match stage {
            Bson::Document(stage) => self.stage(stage).map(Bson::Document),
            other => Ok(other.clone()),
        };
        stages
            .iter()
            .map(stage)
            .collect::<Result<Vec<_>>>()
            .map(Bson::Array)
    }

    fn stage(&self, stage: &Document) -> Result<Document> {
        let mut rewritten = Document::new();
        for (name, value) in stage {
            let value = match (name.as_str(), value) {
                ("$match", Bson::Document(filter)) => Bson::Document(self.filter(filter)?),
                ("$lookup" | "$unionWith", Bson::Document(join)) => Bson::Document(self.join(join)?),
                ("$facet", Bson::Document(facets)) => {
                    let mut rewritten = Document::new();
                    for (name, stages) in facets {
                        rewritten.insert(name, self.stages(stages)?);
                    }
                    Bson::Document(rewritten)
                }
                (_, value) => self.expression(value)?,
            };
            rewritten.insert(name, value);
        }
        Ok(rewritten)
    }

    fn stages(&self, stages: &Bson) -> Result<Bson> {
        match stages {
            Bson::Array(stages) => self.pipeline(stages),
            other => Ok(other.clone()),
        }
    }

    /// A stage with the pipeline of another collection.
    fn join(&self, join: &Document) -> Result<Document> {
        let other = join.get_str("from").or(join.get_str("coll")).unwrap_or_default();
        let mut rewritten = join.clone();
        if let Some(stages) = rewritten.get_mut("pipeline") {
            *stages = self.of(other).stages(stages)?;
        }
        Ok(rewritten)
    }

    /// Replaces the comparisons with payloads in an expression.
    pub(super) fn expression(&self, expression: &Bson) -> Result<Bson> {
        match expression {
            Bson::Array(items) => {
                let items = items.iter().map(|item| self.expression(item));
                items.collect::<Result<Vec<_>>>().map(Bson::Array)
            }
            Bson::Document(document) => {
                if let (1, Some((operator, operands))) = (document.len(), document.iter().next())
                    && let Some(comparison) = self.comparison(operator, operands)?
                {
                    return Ok(comparison);
                }
                let mut rewritten = Document::new();
                for (name, value) in document {
                    rewritten.insert(name, self.expression(value)?);
                }
                Ok(Bson::Document(rewritten))
            }
            other => Ok(other.clone()),
        }
    }

    /// The expression for an operator with a payload. `None` for others.
    fn comparison(&self, operator: &str, operands: &Bson) -> Result<Option<Bson>> {
        let part = match operator {
            "$encStrStartsWith" => "prefix",
            "$encStrEndsWith" => "suffix",
            "$encStrContains" => "substring",
            "$encStrNormalizedEq" => "string",
            "$eq" | "$ne" | "$gt" | "$gte" | "$lt" | "$lte" => {
                let Bson::Array(operands) = operands else {
                    return Ok(None);
                };
                let payloads: Vec<&Bson> = operands
                    .iter()
                    .filter(|value| FindPayload::is_one(value))
                    .collect();
                let found = self.any_of(&payloads)?;
                return Ok(match operator {
                    "$ne" => found.map(|found| bson!({ "$not": [found] })),
                    _ => found,
                });
            }
            "$in" => {
                let list = operands
                    .as_array()
                    .and_then(|operands| operands.get(1)?.as_array());
                let payloads = list.into_iter().flatten();
                return self.any_of(
                    &payloads
                        .filter(|value| FindPayload::is_one(value))
                        .collect::<Vec<_>>(),
                );
            }
            _ => return Ok(None),
        };
        let payload = operands.as_document().and_then(|operands| operands.get(part));
        self.any_of(&payload.into_iter().collect::<Vec<_>>())
    }

    /// Whether the document has a tag of one of the payloads. `None` without payloads.
    fn any_of(&self, payloads: &[&Bson]) -> Result<Option<Bson>> {
        let mut tags = Vec::new();
        let mut found = false;
        for payload in payloads {
            match self.operand(payload)? {
                Some(Operand::Tags(some)) => tags.extend(some),
                Some(Operand::All) => return Ok(Some(Bson::Boolean(true))),
                None => continue,
            }
            found = true;
        }
        let own = doc! { "$ifNull": [format!("${SAFE_CONTENT}"), []] };
        Ok(found.then(|| bson!({ "$gt": [{ "$size": { "$setIntersection": [own, tags] } }, 0] })))
    }
}

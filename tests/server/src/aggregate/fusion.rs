//! `$rankFusion` and `$scoreFusion`: one list of the documents of several pipelines.

use super::{Pipeline, Source, parse};
use crate::error::{Error, Result};
use crate::query::Env;
use crate::value::metadata;
use crate::value::number::Number;
use bson::{Bson, Document, doc};

/// The constant of reciprocal rank fusion.
const RANK_CONSTANT: f64 = 60.0;

/// The stages that leave the documents as they are.
const ALLOWED: [&str; 8] = [
    "$geoNear",
    "$limit",
    "$match",
    "$sample",
    "$search",
    "$skip",
    "$sort",
    "$vectorSearch",
];

/// The metadata with the scores of a pipeline.
const SCORES: [&str; 3] = ["searchScore", "vectorSearchScore", "textScore"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Normalization {
    None,
    Sigmoid,
    MinMaxScaler,
}

/// How the documents are scored.
#[derive(Debug, Clone, Copy)]
enum Method {
    Ranks,
    Scores(Normalization),
}

/// A `$rankFusion` or `$scoreFusion` stage.
#[derive(Debug, Clone)]
pub(crate) struct Fusion {
    inputs: Vec<Input>,
    method: Method,
    score_details: bool,
}

#[derive(Debug, Clone)]
struct Input {
    name: String,
    pipeline: Pipeline,
    weight: f64,
}

/// A document with the parts of its score.
struct Fused {
    document: Document,
    score: f64,
    details: Vec<Bson>,
}

impl Fusion {
    pub(super) fn parse(stage: &str, spec: &Document, env: &Env) -> Result<Fusion> {
        let error = |reason: String| Error::bad_value(format!("{stage}: {reason}"));
        if let Some(other) = spec
            .keys()
            .find(|name| !matches!(name.as_str(), "input" | "combination" | "scoreDetails"))
        {
            return Err(error(format!("unknown field '{other}'")));
        }
        let input = spec
            .get_document("input")
            .map_err(|_| error("'input' is required".to_owned()))?;
        let pipelines = match input.get_document("pipelines") {
            Ok(pipelines) if !pipelines.is_empty() => pipelines,
            _ => return Err(error("'input.pipelines' cannot be empty".to_owned())),
        };
        let method = if stage == "$rankFusion" {
            Method::Ranks
        } else {
            Method::Scores(match input.get_str("normalization") {
                Ok("none") => Normalization::None,
                Ok("sigmoid") => Normalization::Sigmoid,
                Ok("minMaxScaler") => Normalization::MinMaxScaler,
                _ => {
                    return Err(error(
                        "'input.normalization' must be one of none, sigmoid, minMaxScaler".to_owned(),
                    ));
                }
            })
        };
        let combination = spec.get_document("combination").cloned().unwrap_or_default();
        if combination.get_str("method").is_ok_and(|method| method != "avg") {
            return Err(Error::not_served(format!("this method of {stage}")));
        }
        let weights = combination.get_document("weights").cloned().unwrap_or_default();
        if let Some(other) = weights.keys().find(|name| !pipelines.contains_key(name.as_str())) {
            return Err(error(format!(
                "there is a weight, and no pipeline, of the name '{other}'"
            )));
        }
        let mut inputs = Vec::new();
        for (name, stages) in pipelines {
            if name.is_empty() || name.starts_with('$') || name.contains('.') {
                return Err(error(format!("'{name}' is not a valid name of a pipeline")));
            }
            let stages = stages
                .as_array()
                .filter(|stages| !stages.is_empty())
                .ok_or_else(|| error(format!("the pipeline '{name}' is empty")))?;
            check(stage, name, stages, matches!(method, Method::Ranks))?;
            let weight = weights.get(name).and_then(Number::from_bson).map(Number::to_f64);
            let weight = weight.unwrap_or(1.0);
            if weight < 0.0 {
                return Err(error(format!("the weight of '{name}' is negative")));
            }
            inputs.push(Input {
                name: name.clone(),
                pipeline: parse::pipeline(stages, env)?,
                weight,
            });
        }
        Ok(Fusion {
            inputs,
            method,
            score_details: matches!(spec.get("scoreDetails"), Some(Bson::Boolean(true))),
        })
    }

    pub(super) fn run(&self, documents: &[Document], source: Source<'_>, env: &Env) -> Result<Vec<Document>> {
        let mut all: Vec<Fused> = Vec::new();
        for input in &self.inputs {
            let rows = input
                .pipeline
                .run_with_metadata(documents.to_vec(), source, env)?;
            let scores = self.scores(&rows, input);
            for (rank, (document, score)) in rows.into_iter().zip(scores).enumerate() {
                let details = doc! {
                    "inputPipelineName": &input.name, "rank": rank as i32 + 1, "weight": input.weight, "value": score,
                };
                match all
                    .iter_mut()
                    .find(|known| known.document.get("_id") == document.get("_id"))
                {
                    Some(known) => {
                        known.score += score;
                        known.details.push(details.into());
                    }
                    None => all.push(Fused {
                        document,
                        score,
                        details: vec![details.into()],
                    }),
                }
            }
        }
        all.sort_by(|a, b| b.score.total_cmp(&a.score));
        let rows = all.into_iter().map(|fused| {
            let mut row = fused.document;
            metadata::clear(&mut row);
            metadata::set(&mut row, "score", fused.score.into());
            if self.score_details {
                let details = doc! {
                    "value": fused.score, "description": "fusion of the test server", "details": fused.details,
                };
                metadata::set(&mut row, "scoreDetails", details.into());
            }
            row
        });
        Ok(rows.collect())
    }

    /// The part of each document of a pipeline in its score.
    fn scores(&self, rows: &[Document], input: &Input) -> Vec<f64> {
        let normalization = match self.method {
            Method::Ranks => {
                let ranks = (1..=rows.len()).map(|rank| input.weight / (RANK_CONSTANT + rank as f64));
                return ranks.collect();
            }
            Method::Scores(normalization) => normalization,
        };
        let score = |row: &Document| {
            let known = SCORES.iter().find_map(|kind| metadata::get(row, kind).ok());
            known
                .as_ref()
                .and_then(Number::from_bson)
                .map_or(0.0, Number::to_f64)
        };
        let scores: Vec<f64> = rows.iter().map(score).collect();
        let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let normal = |score: f64| match normalization {
            Normalization::None => score,
            Normalization::Sigmoid => 1.0 / (1.0 + (-score).exp()),
            Normalization::MinMaxScaler if greatest > least => (score - least) / (greatest - least),
            Normalization::MinMaxScaler => 1.0,
        };
        let count = self.inputs.len() as f64;
        scores
            .into_iter()
            .map(|score| input.weight * normal(score) / count)
            .collect()
    }
}

/// Fails if a pipeline changes its documents, or does not order or score them.
fn check(stage: &str, name: &str, stages: &[Bson], by_rank: bool) -> Result<()> {
    let mut names = Vec::new();
    for inner in stages {
        let (own, argument) = parse::single_field(inner)?;
        if !ALLOWED.contains(&own) {
            return Err(Error::bad_value(format!(
                "{stage}: the stage {own} of the pipeline '{name}' is not allowed: the documents must stay as they are"
            )));
        }
        names.push((own, argument));
    }
    let is_scored = match names.first() {
        Some(("$search" | "$vectorSearch" | "$geoNear", _)) => true,
        Some(("$match", Bson::Document(filter))) => filter.contains_key("$text"),
        _ => false,
    };
    if is_scored || by_rank && names.iter().any(|(own, _)| *own == "$sort") {
        return Ok(());
    }
    Err(Error::bad_value(format!(
        "{stage}: the pipeline '{name}' must be {}",
        if by_rank { "ranked" } else { "scored" }
    )))
}

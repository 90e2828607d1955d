//! Aggregation pipelines. A pipeline is parsed into stages. Each stage processes all documents
//! before the next stage begins.

pub(crate) mod accumulator;
pub(crate) mod bucket_auto;
pub(crate) mod choice;
pub(crate) mod densify;
pub(crate) mod fill;
pub(crate) mod fusion;
pub(crate) mod geo_near;
mod granularity;
pub(crate) mod graph_lookup;
pub(crate) mod group;
pub(crate) mod lookup;
pub(crate) mod output;
pub(crate) mod parse;
pub(crate) mod partition;
pub(crate) mod quantile;
pub(crate) mod redact;
pub(crate) mod rules;
pub(crate) mod search;
pub(crate) mod shape;
pub(crate) mod stage;
pub(crate) mod stats;
pub(crate) mod window;

use crate::error::{Error, Result, code};
use crate::query::Env;
use crate::refusal::ServerProfile;
use crate::storage::Catalog;
use crate::value::metadata;
use crate::version::Version;
use bson::{Bson, Document};
use output::Output;
use stage::Stage;

/// A parsed pipeline.
#[derive(Debug, Clone)]
pub(crate) struct Pipeline {
    pub(crate) stages: Vec<Stage>,
    /// `$out` or `$merge`, the last stage of a pipeline.
    pub(crate) output: Option<Box<Output>>,
}

/// The data that stages read besides their input.
#[derive(Clone, Copy)]
pub(crate) struct Source<'s> {
    pub(crate) catalog: &'s Catalog,
    pub(crate) database: &'s str,
    /// The collection of the `aggregate`; `None` for `aggregate: 1`.
    pub(crate) collection: Option<&'s str>,
    /// The address of this server, for `$collStats` and `$indexStats`.
    pub(crate) host: &'s str,
    /// The session of the command, for `$listLocalSessions`.
    pub(crate) lsid: Option<&'s Bson>,
    /// The version and the deployment, for the definitions of views.
    pub(crate) profile: ServerProfile,
}

/// Stages allowed in the pipeline of an update.
const UPDATE_STAGES: [&str; 6] = [
    "$addFields",
    "$set",
    "$project",
    "$unset",
    "$replaceRoot",
    "$replaceWith",
];

impl Pipeline {
    /// Parses the pipeline of an `aggregate`.
    pub(crate) fn parse(stages: &[Bson], env: &Env) -> Result<Pipeline> {
        parse::pipeline(stages, env)
    }

    /// Fails on stages that the version of MongoDB does not have.
    pub(crate) fn check_stages(stages: &[Bson], version: Version) -> Result<()> {
        stages
            .iter()
            .try_for_each(|stage| match parse::single_field(stage)? {
                (name, _) if parse::is_known(name, version) => Ok(()),
                (name, _) => Err(parse::unknown_stage(name)),
            })
    }

    /// Parses the pipeline of an update. Fails on stages that are not allowed there.
    pub(crate) fn parse_update(stages: &[Bson], env: &Env) -> Result<Pipeline> {
        for stage in stages {
            let (name, _) = parse::single_field(stage)?;
            if !parse::is_known(name, env.profile.version) {
                return Err(parse::unknown_stage(name));
            }
            if !UPDATE_STAGES.contains(&name) {
                return Err(Error::new(
                    code::INVALID_OPTIONS,
                    format!("{name} is not allowed to be used within an update"),
                ));
            }
        }
        parse::pipeline(stages, env)
    }

    /// Runs all stages except the output.
    pub(crate) fn run(
        &self,
        documents: Vec<Document>,
        source: Source<'_>,
        env: &Env,
    ) -> Result<Vec<Document>> {
        let mut documents = self.run_with_metadata(documents, source, env)?;
        documents.iter_mut().for_each(metadata::clear);
        Ok(documents)
    }

    /// Runs all stages except the output. The documents have their metadata.
    pub(crate) fn run_with_metadata(
        &self,
        mut documents: Vec<Document>,
        source: Source<'_>,
        env: &Env,
    ) -> Result<Vec<Document>> {
        for stage in &self.stages {
            documents = stage.run(documents, source, env)?;
        }
        Ok(documents)
    }

    /// Runs the pipeline of an update on its document.
    pub(crate) fn run_on_one(&self, mut document: Document, env: &Env) -> Result<Document> {
        for stage in &self.stages {
            document = stage.transform(&document, env)?.ok_or_else(|| {
                Error::new(
                    code::INTERNAL_ERROR,
                    "the pipeline of an update returned no document",
                )
            })?;
        }
        Ok(document)
    }
}

#[cfg(test)]
mod tests;

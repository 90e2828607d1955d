//! Parsing of pipelines from BSON, with MongoDB's errors.

use super::Pipeline;
use super::bucket_auto::BucketAuto;
use super::densify::Densify;
use super::fill::Fill;
use super::fusion::Fusion;
use super::geo_near::GeoNear;
use super::graph_lookup::GraphLookup;
use super::group::Group;
use super::lookup::{Lookup, UnionWith};
use super::output::Output;
use super::redact::Redact;
use super::search::{ListSearchIndexes, Search, VectorSearch};
use super::shape::{AddFields, Unwind};
use super::stage::Stage;
use super::stats::Stats;
use super::window::WindowFields;
use crate::command::current_op::Listing;
use crate::error::{Error, Result, code};
use crate::expression::Expression;
use crate::features::Feature;
use crate::query::projection::Projection;
use crate::query::sort::Sort;
use crate::query::{Env, Filter};
use crate::refusal::{aggregation as rows, queries};
use crate::value::number::Number;
use crate::value::{format, type_name};
use crate::version::Version;
use bson::{Bson, Document, doc};

/// The stages that this server implements.
pub(crate) const IMPLEMENTED: [&str; 39] = [
    "$rankFusion",
    "$scoreFusion",
    "$listSearchIndexes",
    "$search",
    "$searchMeta",
    "$vectorSearch",
    "$geoNear",
    "$densify",
    "$graphLookup",
    "$setWindowFields",
    "$fill",
    "$bucketAuto",
    "$redact",
    "$match",
    "$project",
    "$addFields",
    "$set",
    "$unset",
    "$replaceRoot",
    "$replaceWith",
    "$group",
    "$sort",
    "$limit",
    "$skip",
    "$count",
    "$unwind",
    "$lookup",
    "$unionWith",
    "$facet",
    "$sample",
    "$sortByCount",
    "$bucket",
    "$documents",
    "$collStats",
    "$currentOp",
    "$indexStats",
    "$listLocalSessions",
    "$out",
    "$merge",
];

/// The stages that `$facet` does not allow.
const NOT_IN_FACET: [&str; 18] = [
    "$out",
    "$merge",
    "$facet",
    "$changeStream",
    "$collStats",
    "$currentOp",
    "$documents",
    "$geoNear",
    "$indexStats",
    "$listLocalSessions",
    "$listSearchIndexes",
    "$listSessions",
    "$planCacheStats",
    "$rankFusion",
    "$scoreFusion",
    "$search",
    "$searchMeta",
    "$vectorSearch",
];

/// Whether the version of MongoDB has a stage of this name.
pub(super) fn is_known(name: &str, version: Version) -> bool {
    (IMPLEMENTED.contains(&name) && Feature::Stage.is_in(name, version))
        || Feature::Stage.is_missing(name, version)
}

pub(super) fn unknown_stage(name: &str) -> Error {
    Error::new(40324, format!("Unrecognized pipeline stage name: '{name}'"))
}

/// Returns the name and the argument of a stage.
pub(super) fn single_field(stage: &Bson) -> Result<(&str, &Bson)> {
    let Bson::Document(stage) = stage else {
        return Err(Error::type_mismatch(
            "Each element of the 'pipeline' array must be an object",
        ));
    };
    let mut fields = stage.iter();
    match (fields.next(), fields.next()) {
        (Some((name, argument)), None) => Ok((name, argument)),
        _ => Err(Error::new(
            40323,
            "A pipeline stage specification object must contain exactly one field.",
        )),
    }
}

pub(super) fn pipeline(stages: &[Bson], env: &Env) -> Result<Pipeline> {
    if stages.len() > 1000 {
        return Err(Error::new(
            7_749_501,
            "Pipeline length must be no longer than 1000 stages",
        ));
    }
    let mut pipeline = Pipeline {
        stages: Vec::with_capacity(stages.len()),
        output: None,
    };
    let mut output_name = "";
    for (index, stage) in stages.iter().enumerate() {
        let (name, argument) = single_field(stage)?;
        if !Feature::Stage.is_in(name, env.profile.version) {
            return Err(unknown_stage(name));
        }
        if pipeline.output.is_some() {
            return Err(rows::OUTPUT_NOT_LAST.error(&[&output_name]));
        }
        let first_only = matches!(
            name,
            "$documents"
                | "$collStats"
                | "$currentOp"
                | "$geoNear"
                | "$indexStats"
                | "$listLocalSessions"
                | "$listSearchIndexes"
                | "$rankFusion"
                | "$scoreFusion"
                | "$search"
                | "$searchMeta"
                | "$vectorSearch"
        );
        if first_only && index > 0 {
            return Err(Error::new(
                40602,
                format!("{name} is only valid as the first stage in a pipeline."),
            ));
        }
        if name == "$match"
            && index > 0
            && argument
                .as_document()
                .is_some_and(|filter| filter.contains_key("$text"))
        {
            return Err(Error::new(
                17313,
                "$match with $text is only allowed as the first pipeline stage",
            ));
        }
        if matches!(name, "$out" | "$merge") {
            output_name = name;
        }
        match name {
            "$out" => pipeline.output = Some(Box::new(Output::parse_out(argument, env)?)),
            "$merge" => pipeline.output = Some(Box::new(Output::parse_merge(argument, env)?)),
            _ => parse_stage(name, argument, env, &mut pipeline.stages)?,
        }
    }
    Ok(pipeline)
}

fn parse_stage(name: &str, argument: &Bson, env: &Env, stages: &mut Vec<Stage>) -> Result<()> {
    let object = |code: i32| match argument {
        Bson::Document(document) => Ok(document),
        other => Err(Error::new(
            code,
            format!(
                "the {name} stage specification must be an object, found {}",
                type_name(other)
            ),
        )),
    };
    let stage = match name {
        "$match" => match argument {
            Bson::Document(filter) => {
                let filter = Filter::parse(filter, env)?;
                let near = filter.near().is_some();
                queries::NEAR_IN_MATCH.check(env.profile, near, &[])?;
                queries::NEAR_IN_MATCH_OLD.check(env.profile, near, &[])?;
                Stage::Match(filter)
            }
            _ => {
                return Err(Error::new(
                    15959,
                    "the match filter must be an expression in an object",
                ));
            }
        },
        "$project" => Stage::Project(Projection::parse_stage(object(15969)?, env)?),
        "$addFields" | "$set" => Stage::AddFields(AddFields::parse(name, object(40272)?, env)?),
        "$unset" => Stage::Project(Projection::parse_stage(&unset(argument)?, env)?),
        "$replaceRoot" => match object(40229)?.get("newRoot") {
            Some(root) => Stage::ReplaceRoot(Expression::parse(root, env)?),
            None => {
                return Err(Error::new(
                    40231,
                    "no newRoot specified for the $replaceRoot stage",
                ));
            }
        },
        "$replaceWith" => Stage::ReplaceRoot(Expression::parse(argument, env)?),
        "$group" => Stage::Group(Group::parse(object(15947)?, env)?),
        "$bucket" => Stage::Group(Group::parse_bucket(object(40201)?, env)?),
        "$bucketAuto" => Stage::BucketAuto(Box::new(BucketAuto::parse(object(40240)?, env)?)),
        "$fill" => Stage::Fill(Box::new(Fill::parse(object(9)?, env)?)),
        "$geoNear" => Stage::GeoNear(Box::new(GeoNear::parse(object(10065)?, env)?)),
        "$search" | "$searchMeta" => Stage::Search(Box::new(Search::parse(name, object(9)?, env)?)),
        "$rankFusion" | "$scoreFusion" => Stage::Fusion(Box::new(Fusion::parse(name, object(9)?, env)?)),
        "$vectorSearch" => Stage::VectorSearch(Box::new(VectorSearch::parse(object(9)?, env)?)),
        "$listSearchIndexes" => Stage::ListSearchIndexes(ListSearchIndexes::parse(object(9)?, env)?),
        "$densify" => Stage::Densify(Box::new(Densify::parse(object(9)?, env)?)),
        "$setWindowFields" => Stage::WindowFields(Box::new(WindowFields::parse(object(9)?, env)?)),
        "$graphLookup" => Stage::GraphLookup(Box::new(GraphLookup::parse(object(9)?, env)?)),
        "$redact" => Stage::Redact(Redact::parse(argument, env)?),
        "$sortByCount" => {
            stages.push(Stage::Group(Group::parse_count(argument, env)?));
            Stage::Sort(Sort::parse(&doc! { "count": -1 })?)
        }
        "$sort" => {
            let pattern = object(15973)?;
            if pattern.is_empty() {
                return Err(Error::new(15976, "$sort stage must have at least one sort key"));
            }
            Stage::Sort(Sort::parse(pattern)?)
        }
        "$limit" => Stage::Limit(positive(name, argument, 15958, 1)?),
        "$skip" => Stage::Skip(positive(name, argument, 15956, 0)?),
        "$sample" => match object(28745)?.get("size") {
            Some(size) => Stage::Sample(positive(name, size, 28747, 1)?),
            None => return Err(Error::new(28749, "$sample stage must specify a size")),
        },
        "$count" => Stage::Count(count_field(argument)?),
        "$unwind" => Stage::Unwind(Unwind::parse(argument)?),
        "$lookup" => Stage::Lookup(Box::new(Lookup::parse(object(9)?, env)?)),
        "$unionWith" => Stage::UnionWith(Box::new(UnionWith::parse(argument, env)?)),
        "$facet" => Stage::Facet(facets(object(40169)?, env)?),
        "$documents" => Stage::Documents(Expression::parse(argument, env)?),
        "$collStats" => Stage::Stats(Stats::parse_collection(object(5_447_000)?)?),
        "$indexStats" => {
            if !object(28803)?.is_empty() {
                return Err(Error::new(
                    28803,
                    "The $indexStats stage specification must be an empty object",
                ));
            }
            Stage::Stats(Stats::Indexes)
        }
        "$currentOp" => Stage::CurrentOp(Listing::parse(object(9)?)?),
        "$listLocalSessions" => {
            object(9)?;
            Stage::ListLocalSessions
        }
        "$changeStreamSplitLargeEvent" => {
            return Err(Error::new(
                code::ILLEGAL_OPERATION,
                "$changeStreamSplitLargeEvent can only be used in a $changeStream pipeline",
            ));
        }
        name => {
            let version = env.profile.version;
            return Err(Feature::Stage.refuse(name, version, || unknown_stage(name)));
        }
    };
    stages.push(stage);
    Ok(())
}

fn unset(argument: &Bson) -> Result<Document> {
    let text = |value: &Bson| match value {
        Bson::String(path) if !path.is_empty() && !path.starts_with('$') => {
            Ok((path.clone(), Bson::Int32(0)))
        }
        _ => Err(Error::new(
            31120,
            "$unset specification must be a string or an array containing only string fields",
        )),
    };
    match argument {
        Bson::Array(items) if items.is_empty() => Err(Error::new(
            31119,
            "$unset specification must be a string or an array with at least one field",
        )),
        Bson::Array(items) => items.iter().map(text).collect(),
        other => text(other).map(|field| [field].into_iter().collect()),
    }
}

fn positive(name: &str, argument: &Bson, code: i32, least: i64) -> Result<usize> {
    let number = Number::from_bson(argument).ok_or_else(|| {
        Error::new(
            code,
            format!(
                "invalid argument to {name} stage: Expected a number in: {name}: {}",
                format::bson(argument)
            ),
        )
    })?;
    number
        .to_exact_i64()
        .filter(|number| *number >= least)
        .and_then(|number| usize::try_from(number).ok())
        .ok_or_else(|| {
            Error::new(
                code,
                format!(
                    "invalid argument to {name} stage: Expected a number of at least {least} in: {name}: {}",
                    format::bson(argument)
                ),
            )
        })
}

fn count_field(argument: &Bson) -> Result<String> {
    match argument {
        Bson::String(name) if name.is_empty() => {
            Err(Error::new(40157, "the count field must be a non-empty string"))
        }
        Bson::String(name) if name.starts_with('$') => {
            Err(Error::new(40158, "the count field cannot be a $-prefixed path"))
        }
        Bson::String(name) if name.contains('.') => {
            Err(Error::new(40160, "the count field cannot contain '.'"))
        }
        Bson::String(name) => Ok(name.clone()),
        _ => Err(Error::new(40156, "the count field must be a non-empty string")),
    }
}

fn facets(spec: &Document, env: &Env) -> Result<Vec<(String, Pipeline)>> {
    if spec.is_empty() {
        return Err(Error::new(
            40169,
            "the $facet specification must be a non-empty object",
        ));
    }
    spec.iter()
        .map(|(name, stages)| {
            let Bson::Array(stages) = stages else {
                return Err(Error::new(
                    40170,
                    format!(
                        "arguments to $facet must be arrays, {name} is type {}",
                        type_name(stages)
                    ),
                ));
            };
            rows::EMPTY_FACET.check(env.profile, stages.is_empty(), &[])?;
            let mut names = stages
                .iter()
                .filter_map(|stage| stage.as_document()?.keys().next());
            if let Some(refused) = names.find(|name| NOT_IN_FACET.contains(&name.as_str())) {
                return Err(rows::STAGE_IN_FACET.error(&[refused]));
            }
            let inner = pipeline(stages, env)?;
            let text = inner
                .stages
                .iter()
                .any(|stage| matches!(stage, Stage::Match(filter) if filter.text().is_some()));
            if text {
                return Err(rows::STAGE_IN_FACET.error(&[&"$match"]));
            }
            Ok((name.clone(), inner))
        })
        .collect()
}

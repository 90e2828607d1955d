//! `$lookup` and `$unionWith`.

use super::{Pipeline, Source};
use crate::command::view;
use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::expression::parse::check_variable_name;
use crate::query::filter::Test;
use crate::query::path::{self, Path, expanded};
use crate::query::{Env, Filter};
use crate::refusal::{Refusal, aggregation as rows};
use crate::value::compare::compare;
use crate::value::format;
use bson::{Bson, Document};

/// A `$lookup` stage, with an equality match, a pipeline, or both.
#[derive(Debug, Clone)]
pub(crate) struct Lookup {
    from: Option<String>,
    into: String,
    fields: Option<(Path, Path)>,
    variables: Vec<(String, Expression)>,
    pipeline: Option<Pipeline>,
}

impl Lookup {
    pub(super) fn parse(spec: &Document, env: &Env) -> Result<Lookup> {
        let text = |name: &str| match spec.get(name) {
            None => Ok(None),
            Some(Bson::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Error::failed_to_parse(format!(
                "$lookup argument '{name}' must be a string"
            ))),
        };
        if let Some(name) = spec.keys().find(|name| {
            !matches!(
                name.as_str(),
                "from" | "as" | "localField" | "foreignField" | "let" | "pipeline"
            )
        }) {
            return Err(Error::failed_to_parse(format!(
                "unknown argument to $lookup: {name}"
            )));
        }
        if matches!(spec.get("from"), Some(Bson::Document(_))) {
            return Err(Error::not_served("$lookup from another database"));
        }
        let into =
            text("as")?.ok_or_else(|| Error::failed_to_parse("must specify 'as' field for a $lookup"))?;
        let from = text("from")?;
        let fields = match (text("localField")?, text("foreignField")?) {
            (Some(local), Some(foreign)) => Some((Path::new(&local), Path::new(&foreign))),
            (None, None) => None,
            _ => {
                return Err(Error::failed_to_parse(
                    "$lookup requires both or neither of 'localField' and 'foreignField' to be specified",
                ));
            }
        };
        let mut variables = Vec::new();
        let mut inner_env = env.clone();
        match spec.get("let") {
            None => {}
            Some(Bson::Document(defined)) => {
                for (name, value) in defined {
                    check_variable_name(name)?;
                    variables.push((name.clone(), Expression::parse(value, env)?));
                    inner_env.variables.insert(name.clone(), Bson::Null);
                }
            }
            Some(_) => return Err(Error::failed_to_parse("$lookup argument 'let' must be an object")),
        }
        let has_pipeline = spec.contains_key("pipeline");
        let has_fields = spec.contains_key("localField") || spec.contains_key("foreignField");
        rows::LOOKUP_WITHOUT_FROM.check(env.profile, from.is_none(), &[&format::document(spec)])?;
        rows::LOOKUP_FIELDS_AND_PIPELINE.check(env.profile, has_pipeline && has_fields, &[])?;
        rows::LOOKUP_LET.check(env.profile, spec.contains_key("let") && !has_pipeline, &[])?;
        rows::LOOKUP_WITHOUT_DOCUMENTS.check(env.profile, from.is_none() && !has_pipeline, &[])?;
        let pipeline = match spec.get("pipeline") {
            None => None,
            Some(Bson::Array(stages)) => {
                check_nested(stages, &rows::STAGE_IN_LOOKUP)?;
                Some(Pipeline::parse(stages, &inner_env)?)
            }
            Some(_) => {
                return Err(Error::type_mismatch(
                    "'pipeline' option must be specified as an array",
                ));
            }
        };
        if pipeline.is_none() && fields.is_none() {
            return Err(Error::failed_to_parse(
                "$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified",
            ));
        }
        if from.is_none() && !pipeline.as_ref().is_some_and(starts_with_documents) {
            return Err(Error::failed_to_parse("must specify 'from' field for a $lookup"));
        }
        Ok(Lookup {
            from,
            into,
            fields,
            variables,
            pipeline,
        })
    }

    pub(super) fn run(
        &self,
        documents: Vec<Document>,
        source: Source<'_>,
        env: &Env,
    ) -> Result<Vec<Document>> {
        let collection = match &self.from {
            None => None,
            Some(from) => view::joined(source, from)?,
        };
        let mut joined = Vec::with_capacity(documents.len());
        for mut document in documents {
            let filter = self
                .fields
                .as_ref()
                .map(|(local, foreign)| equality(&document, local, foreign, env));
            let filter = filter.unwrap_or(Filter::Constant(true));
            let mut found = Vec::new();
            if let Some(collection) = collection.as_deref() {
                for id in collection.matching(&filter, env)? {
                    found.extend(collection.record(id).map(|document| document.as_ref().clone()));
                }
            }
            if let Some(pipeline) = &self.pipeline {
                let mut inner = env.clone();
                inner.set_text_index(collection.as_deref());
                for (name, value) in &self.variables {
                    inner
                        .variables
                        .insert(name.clone(), value.evaluate(&document, env)?);
                }
                let source = Source {
                    collection: self.from.as_deref(),
                    ..source
                };
                found = pipeline.run(found, source, &inner)?;
            }
            path::set(
                &mut document,
                &self.into,
                Bson::Array(found.into_iter().map(Bson::Document).collect()),
            );
            joined.push(document);
        }
        Ok(joined)
    }
}

/// Fails on stages that are not allowed in the pipeline of another stage.
fn check_nested(stages: &[Bson], row: &Refusal) -> Result<()> {
    let mut names = stages
        .iter()
        .filter_map(|stage| stage.as_document()?.keys().next());
    match names.find(|name| matches!(name.as_str(), "$out" | "$merge" | "$changeStream")) {
        Some(name) => Err(row.error(&[name])),
        None => Ok(()),
    }
}

fn starts_with_documents(pipeline: &Pipeline) -> bool {
    matches!(pipeline.stages.first(), Some(super::stage::Stage::Documents(_)))
}

/// The filter on the foreign collection: the foreign field equals the local value or one of its
/// elements. A missing local value equals null.
fn equality(document: &Document, local: &Path, foreign: &Path, env: &Env) -> Filter {
    let mut values: Vec<Bson> = expanded(document, local)
        .into_iter()
        .map(|value| value.unwrap_or(Bson::Null))
        .collect();
    let whole = path::get(document, &local.text);
    if values.is_empty() && whole.is_none() {
        values.push(Bson::Null);
    }
    values.sort_by(|a, b| compare(a, b, env.collation.as_ref()));
    Filter::Field(foreign.clone(), Test::In(values, Vec::new()))
}

/// A `$unionWith` stage.
#[derive(Debug, Clone)]
pub(crate) struct UnionWith {
    collection: Option<String>,
    pipeline: Option<Pipeline>,
}

impl UnionWith {
    pub(super) fn parse(spec: &Bson, env: &Env) -> Result<UnionWith> {
        match spec {
            Bson::String(collection) => Ok(UnionWith {
                collection: Some(collection.clone()),
                pipeline: None,
            }),
            Bson::Document(fields) => {
                let mut union = UnionWith {
                    collection: None,
                    pipeline: None,
                };
                for (name, value) in fields {
                    match (name.as_str(), value) {
                        ("coll", Bson::String(collection)) => union.collection = Some(collection.clone()),
                        ("pipeline", Bson::Array(stages)) => {
                            check_nested(stages, &rows::STAGE_IN_UNION)?;
                            union.pipeline = Some(Pipeline::parse(stages, env)?);
                        }
                        (other, _) => {
                            return Err(Error::new(
                                40415,
                                format!("BSON field '$unionWith.{other}' is an unknown field."),
                            ));
                        }
                    }
                }
                if union.collection.is_none() && !union.pipeline.as_ref().is_some_and(starts_with_documents) {
                    return Err(Error::failed_to_parse(
                        "$unionWith stage without explicit collection must have a pipeline with $documents as first stage",
                    ));
                }
                Ok(union)
            }
            _ => Err(Error::failed_to_parse(
                "the $unionWith stage specification must be an object or string",
            )),
        }
    }

    pub(super) fn run(
        &self,
        mut documents: Vec<Document>,
        source: Source<'_>,
        env: &Env,
    ) -> Result<Vec<Document>> {
        let mut more = Vec::new();
        let mut inner = env.clone();
        inner.text_index = None;
        if let Some(name) = &self.collection
            && let Some(collection) = view::joined(source, name)?
        {
            inner.set_text_index(Some(&collection));
            more.extend(
                collection
                    .records()
                    .map(|(_, document)| document.as_ref().clone()),
            );
        }
        if let Some(pipeline) = &self.pipeline {
            more = pipeline.run_with_metadata(
                more,
                Source {
                    collection: self.collection.as_deref(),
                    ..source
                },
                &inner,
            )?;
        }
        documents.extend(more);
        Ok(documents)
    }
}

//! The stages of a pipeline, and the execution of each.

use super::bucket_auto::BucketAuto;
use super::densify::Densify;
use super::fill::Fill;
use super::fusion::Fusion;
use super::geo_near::GeoNear;
use super::graph_lookup::GraphLookup;
use super::group::Group;
use super::lookup::{Lookup, UnionWith};
use super::redact::Redact;
use super::search::{ListSearchIndexes, Search, VectorSearch};
use super::shape::{AddFields, Unwind};
use super::stats::Stats;
use super::window::WindowFields;
use super::{Pipeline, Source};
use crate::command::current_op::Listing;
use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::query::projection::Projection;
use crate::query::sort::Sort;
use crate::query::{Env, Filter};
use crate::value::{format, metadata};
use bson::{Bson, Document, doc};

/// A stage other than `$out` and `$merge`.
#[derive(Debug, Clone)]
pub(crate) enum Stage {
    Match(Filter),
    Project(Projection),
    AddFields(AddFields),
    ReplaceRoot(Expression),
    Group(Group),
    BucketAuto(Box<BucketAuto>),
    Redact(Redact),
    Fill(Box<Fill>),
    Densify(Box<Densify>),
    Search(Box<Search>),
    VectorSearch(Box<VectorSearch>),
    Fusion(Box<Fusion>),
    ListSearchIndexes(ListSearchIndexes),
    GeoNear(Box<GeoNear>),
    WindowFields(Box<WindowFields>),
    Sort(Sort),
    Limit(usize),
    Skip(usize),
    Count(String),
    Unwind(Unwind),
    Lookup(Box<Lookup>),
    GraphLookup(Box<GraphLookup>),
    UnionWith(Box<UnionWith>),
    Facet(Vec<(String, Pipeline)>),
    Sample(usize),
    Documents(Expression),
    Stats(Stats),
    /// Replaced by its rows before the pipeline is run.
    CurrentOp(Listing),
    ListLocalSessions,
}

impl Stage {
    /// Runs the stage on all documents.
    pub(crate) fn run(
        &self,
        documents: Vec<Document>,
        source: Source<'_>,
        env: &Env,
    ) -> Result<Vec<Document>> {
        Ok(match self {
            Stage::Match(filter) => {
                if filter.text().is_some() {
                    env.required_text_index()?;
                }
                let mut kept = Vec::new();
                for document in documents {
                    if filter.matches(&document, env)? {
                        kept.push(filter.with_metadata(&document, env)?.unwrap_or(document));
                    }
                }
                kept
            }
            Stage::Project(_) | Stage::AddFields(_) | Stage::ReplaceRoot(_) => {
                let mut changed = Vec::with_capacity(documents.len());
                for document in documents {
                    changed.extend(self.transform(&document, env)?);
                }
                changed
            }
            Stage::Group(group) => group.run(&documents, env)?,
            Stage::BucketAuto(buckets) => buckets.run(documents, env)?,
            Stage::Fill(fill) => fill.run(documents, env)?,
            Stage::GeoNear(near) => near.run(documents, source, env)?,
            Stage::Search(search) => search.run(documents, source, env)?,
            Stage::VectorSearch(search) => search.run(documents, source, env)?,
            Stage::Fusion(fusion) => fusion.run(&documents, source, env)?,
            Stage::ListSearchIndexes(listing) => listing.run(source)?,
            Stage::Densify(densify) => densify.run(documents, env)?,
            Stage::WindowFields(fields) => fields.run(documents, env)?,
            Stage::Redact(redact) => redact.run(&documents, env)?,
            Stage::Sort(sort) => {
                let mut documents = documents;
                sort.sort(&mut documents, env)?;
                documents
            }
            Stage::Limit(limit) => documents.into_iter().take(*limit).collect(),
            Stage::Skip(skip) => documents.into_iter().skip(*skip).collect(),
            Stage::Count(_) if documents.is_empty() => Vec::new(),
            Stage::Count(name) => vec![doc! { name: documents.len() as i32 }],
            Stage::Unwind(unwind) => documents.into_iter().flat_map(|document| unwind.run(document)).collect(),
            Stage::Lookup(lookup) => lookup.run(documents, source, env)?,
            Stage::GraphLookup(lookup) => lookup.run(documents, source, env)?,
            Stage::UnionWith(union) => union.run(documents, source, env)?,
            Stage::Facet(facets) => {
                let mut out = Document::new();
                for (name, pipeline) in facets {
                    let rows = pipeline.run(documents.clone(), source, env)?;
                    out.insert(name, rows);
                }
                vec![out]
            }
            Stage::CurrentOp(_) => documents,
            Stage::Sample(size) => sample(documents, *size),
            Stage::Documents(expression) => match expression.evaluate(&Document::new(), env)? {
                Bson::Array(items) => items
                    .into_iter()
                    .map(|item| match item {
                        Bson::Document(document) => Ok(document),
                        other => Err(Error::new(
                            40228,
                            format!("'newRoot' expression must evaluate to an object, but resulting value was: {}", format::bson(&other)),
                        )),
                    })
                    .collect::<Result<_>>()?,
                _ => return Err(Error::new(5_858_203, "an array is expected")),
            },
            Stage::Stats(stats) => stats.run(source)?,
            Stage::ListLocalSessions => {
                let id = source.lsid.cloned().unwrap_or_else(|| Bson::Document(doc! { "id": bson::Uuid::new() }));
                vec![doc! { "_id": id, "lastUse": env.now }]
            }
        })
    }

    /// Runs a stage that maps or filters single documents.
    pub(crate) fn transform(&self, document: &Document, env: &Env) -> Result<Option<Document>> {
        match self {
            Stage::Project(projection) => projection.apply(document, env).map(Some),
            Stage::AddFields(fields) => fields.apply(document, env).map(Some),
            Stage::ReplaceRoot(expression) => match expression.evaluate(document, env)? {
                Bson::Document(mut root) => {
                    metadata::carry(document, &mut root);
                    Ok(Some(root))
                }
                other => Err(Error::new(
                    40228,
                    format!(
                        "'newRoot' expression must evaluate to an object, but resulting value was: {}. Type of resulting value: '{}'.",
                        format::bson(&other),
                        if matches!(other, Bson::Undefined) {
                            "missing"
                        } else {
                            crate::value::type_name(&other)
                        }
                    ),
                )),
            },
            _ => Ok(None),
        }
    }
}

/// Selects `size` random documents, each at most once.
fn sample(mut documents: Vec<Document>, size: usize) -> Vec<Document> {
    let mut chosen = Vec::new();
    while chosen.len() < size && !documents.is_empty() {
        let index = (crate::expression::logic::random() * documents.len() as f64) as usize;
        chosen.push(documents.swap_remove(index.min(documents.len() - 1)));
    }
    chosen
}

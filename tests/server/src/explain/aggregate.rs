//! `explain` of `aggregate`. The leading stages that form a query are planned as one query; the
//! remaining stages are listed in order.

use super::planner::Query;
use super::reply::{self, Verbosity, explained};
use crate::aggregate::{Pipeline, Source};
use crate::command::Call;
use crate::error::{Error, Result, code};
use crate::query::{Env, Filter};
use crate::storage::{Catalog, Namespace};
use crate::value::number::Number;
use bson::{Bson, Document, doc};

/// The maximum depth of views defined on views.
const MAX_VIEW_DEPTH: usize = 20;

/// The query that the leading stages of a pipeline form.
#[derive(Default)]
struct LeadingQuery {
    filter: Document,
    sort: Option<Document>,
    skip: usize,
    limit: Option<usize>,
    projection: Option<Document>,
    /// The number of leading stages.
    stages: usize,
}

impl LeadingQuery {
    fn of(stages: &[Bson]) -> LeadingQuery {
        let mut leading = LeadingQuery::default();
        for (position, stage) in stages.iter().enumerate() {
            let Some((name, argument)) = stage.as_document().and_then(|stage| stage.iter().next()) else {
                break;
            };
            let last = position + 1 == stages.len();
            if !leading.add(name, argument, last) {
                break;
            }
            leading.stages += 1;
        }
        leading
    }

    /// Adds a stage to the query. Returns false if the stage cannot be part of it.
    fn add(&mut self, name: &str, argument: &Bson, last: bool) -> bool {
        let amount = || {
            let amount = Number::from_bson(argument).and_then(Number::to_exact_i64);
            amount.and_then(|amount| usize::try_from(amount).ok())
        };
        let paged = self.skip > 0 || self.limit.is_some();
        match (name, argument) {
            ("$match", Bson::Document(filter)) if !paged && self.projection.is_none() => {
                if self.filter.is_empty() {
                    self.filter = filter.clone();
                } else if !filter.is_empty() {
                    let both = [std::mem::take(&mut self.filter), filter.clone()];
                    self.filter = doc! { "$and": both.map(Bson::from).to_vec() };
                }
            }
            ("$sort", Bson::Document(sort)) if !paged && self.sort.is_none() => {
                self.sort = Some(sort.clone());
            }
            ("$skip", _) if self.limit.is_none() => match amount() {
                Some(amount) => self.skip += amount,
                None => return false,
            },
            ("$limit", _) => match amount() {
                Some(amount) => self.limit = Some(self.limit.map_or(amount, |limit| limit.min(amount))),
                None => return false,
            },
            ("$project", Bson::Document(projection)) if last => self.projection = Some(projection.clone()),
            _ => return false,
        }
        true
    }
}

/// Explains the `aggregate` command.
pub(crate) fn explain(call: &Call<'_>, verbosity: Verbosity) -> Result<Document> {
    let catalog = call.catalog();
    on_catalog(call, verbosity, &catalog)
}

pub(super) fn on_catalog(call: &Call<'_>, verbosity: Verbosity, catalog: &Catalog) -> Result<Document> {
    let args = call.args();
    if call.body.contains_key("writeConcern") {
        return Err(Error::failed_to_parse(
            "Aggregation explain does not support the 'writeConcern' option",
        ));
    }
    let requested = match call.body.get(call.key) {
        Some(Bson::String(_)) => Some(call.namespace()?),
        _ => None,
    };
    let own = args.required_array("pipeline")?;
    if matches!(own.first(), Some(Bson::Document(first)) if first.contains_key("$changeStream")) {
        return Err(Error::not_served("explain of a change stream"));
    }
    let env = call.env(requested.as_ref().and_then(|namespace| catalog.get(namespace)))?;
    Pipeline::parse(own, &env)?;
    let (namespace, stages) = match requested {
        Some(requested) => resolve(catalog, requested, own)?,
        None => {
            let rest = rest(call, catalog, None, (own, Vec::new()), verbosity, &env)?;
            return Ok(of_stages(call, rest));
        }
    };
    let collection = catalog.get(&namespace);
    let leading = LeadingQuery::of(&stages);
    let name = namespace.to_string();
    let query = Query {
        collection,
        filter: &leading.filter,
        parsed: &Filter::of_query(&leading.filter, &env)?,
        sort: leading.sort.as_ref(),
        projection: leading.projection.as_ref(),
        skip: leading.skip,
        limit: leading.limit,
        hint: args.get("hint"),
        env: &env,
        express: call.deployment.version.at_least(8, 0),
    };
    let choice = query.choose()?;
    let (planner, stats) = explained(call, verbosity, &name, &query, &choice, &|stage, _| Ok(stage))?;
    if leading.stages == stages.len() && !call.deployment.is_mongos() {
        return Ok(reply::of_query(call, verbosity, planner, stats));
    }
    if leading.stages == stages.len() {
        let mut shown = doc! { "explainVersion": "1", "queryPlanner": planner };
        if let Some(stats) = stats {
            shown.insert("executionStats", stats);
        }
        return Ok(of_shards(call, shown));
    }
    let reads = !matches!(
        stages
            .first()
            .and_then(Bson::as_document)
            .and_then(|stage| stage.keys().next())
            .map(String::as_str),
        Some("$collStats" | "$indexStats" | "$documents" | "$listLocalSessions" | "$currentOp")
    );
    let mut shown = Vec::new();
    let mut input = Vec::new();
    if reads {
        let executed = &choice.winner.1;
        let documents = executed.ids.iter().filter_map(|id| collection?.record(*id));
        input = documents.map(|document| document.as_ref().clone()).collect();
        let mut cursor = doc! { "queryPlanner": planner };
        let mut stage = Document::new();
        if let Some(stats) = stats {
            cursor.insert("executionStats", stats);
            stage.insert("nReturned", executed.ids.len() as i64);
            stage.insert("executionTimeMillisEstimate", 0_i64);
        }
        let mut first = doc! { "$cursor": cursor };
        first.extend(stage);
        shown.push(first);
    }
    let rest = rest(
        call,
        catalog,
        Some(&namespace),
        (&stages[leading.stages..], input),
        verbosity,
        &env,
    )?;
    shown.extend(rest);
    Ok(of_stages(call, shown))
}

/// Returns the collection that the view is defined on, through nested views, and the whole pipeline
/// on that collection.
fn resolve(catalog: &Catalog, mut namespace: Namespace, own: &[Bson]) -> Result<(Namespace, Vec<Bson>)> {
    let mut stages = own.to_vec();
    for _ in 0..MAX_VIEW_DEPTH {
        let Some(view) = catalog
            .get(&namespace)
            .and_then(|collection| collection.view.as_ref())
        else {
            return Ok((namespace, stages));
        };
        stages.splice(0..0, view.pipeline.iter().cloned());
        namespace = Namespace::new(&namespace.database, &view.on)?;
    }
    Err(Error::new(
        code::VIEW_DEPTH_LIMIT_EXCEEDED,
        format!("View depth is limited to {MAX_VIEW_DEPTH}"),
    ))
}

/// Describes the stages after the leading query, each with the number of documents it returns.
fn rest(
    call: &Call<'_>,
    catalog: &Catalog,
    namespace: Option<&Namespace>,
    (stages, mut documents): (&[Bson], Vec<Document>),
    verbosity: Verbosity,
    env: &Env,
) -> Result<Vec<Document>> {
    let host = call.deployment.hosts[call.member.index].clone();
    let source = Source {
        catalog,
        database: call.db,
        collection: namespace.map(|namespace| namespace.collection.as_str()),
        host: &host,
        lsid: call.body.get("lsid"),
        profile: call.deployment.profile(),
    };
    let mut shown = Vec::with_capacity(stages.len());
    for stage in stages {
        let Bson::Document(stage) = stage else { continue };
        let mut stage = stage.clone();
        if verbosity > Verbosity::QueryPlanner {
            let pipeline = Pipeline::parse(&[Bson::Document(stage.clone())], env)?;
            documents = pipeline.run(documents, source, env)?;
            if pipeline.output.is_some() {
                documents.clear();
            }
            stage.insert("nReturned", i64::try_from(documents.len()).unwrap_or(i64::MAX));
            stage.insert("executionTimeMillisEstimate", 0_i64);
        }
        shown.push(stage);
    }
    Ok(shown)
}

fn of_stages(call: &Call<'_>, stages: Vec<Document>) -> Document {
    let mut shown = doc! { "explainVersion": "1", "stages": stages };
    if call.deployment.is_mongos() {
        return of_shards(call, shown);
    }
    reply::close(call, &mut shown);
    shown
}

/// Wraps the explanation of the only shard as a mongos returns it.
fn of_shards(call: &Call<'_>, shown: Document) -> Document {
    let mut shard = doc! { "host": &call.deployment.hosts[call.member.index] };
    shard.extend(shown);
    let mut reply = doc! {
        "mergeType": "mongos",
        "splitPipeline": null,
        "shards": { "shard01": shard },
    };
    reply::close(call, &mut reply);
    reply
}

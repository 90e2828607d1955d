//! Builds the replies to `explain`.

use super::clauses::to_document;
use super::execution::Executed;
use super::planner::{Choice, Query};
use super::stages::{Stage, count};
use crate::command::Call;
use crate::error::{Error, Result};
use crate::wire::crc32c;
use bson::{Bson, Document, doc};

/// The `verbosity` of `explain`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    QueryPlanner,
    ExecutionStats,
    AllPlansExecution,
}

impl Verbosity {
    pub(super) fn parse(name: Option<&str>) -> Result<Verbosity> {
        match name {
            None | Some("allPlansExecution") => Ok(Verbosity::AllPlansExecution),
            Some("queryPlanner") => Ok(Verbosity::QueryPlanner),
            Some("executionStats") => Ok(Verbosity::ExecutionStats),
            Some(other) => Err(Error::bad_value(format!(
                "Enumeration value '{other}' for field 'explain.verbosity' is not a valid value."
            ))),
        }
    }
}

/// The result of an explanation.
pub(super) enum Explained {
    /// `queryPlanner` and `executionStats` of one query.
    Query {
        planner: Document,
        stats: Option<Document>,
    },
    /// A complete reply.
    Reply(Document),
}

/// Adds the stages of the command above the stages of a plan.
pub(super) type Wrap<'w> = &'w dyn Fn(Stage, &Executed) -> Result<Stage>;

/// Explains a query with its chosen plans.
pub(super) fn explained(
    call: &Call<'_>,
    verbosity: Verbosity,
    namespace: &str,
    query: &Query<'_>,
    choice: &Choice<'_>,
    wrap: Wrap<'_>,
) -> Result<(Document, Option<Document>)> {
    let (_, executed) = &choice.winner;
    let top = wrap(executed.stage.clone(), executed)?;
    let rejected = choice
        .rejected
        .iter()
        .map(|(_, other)| wrap(other.stage.clone(), other))
        .collect::<Result<Vec<_>>>()?;
    let mut planner = planner(call, namespace, query, choice);
    planner.insert("winningPlan", plan(call, &top));
    let shown: Vec<Bson> = rejected.iter().map(|stage| plan(call, stage).into()).collect();
    planner.insert("rejectedPlans", shown);
    if verbosity == Verbosity::QueryPlanner {
        return Ok((planner, None));
    }
    let mut stats = doc! {
        "executionSuccess": true,
        "nReturned": count(top.returned),
        "executionTimeMillis": 0,
        "totalKeysExamined": count(executed.keys_examined),
        "totalDocsExamined": count(executed.documents_examined),
        "executionStages": top.executed(),
    };
    if verbosity == Verbosity::AllPlansExecution {
        let mut all = Vec::new();
        if !rejected.is_empty() {
            let plans = std::iter::once((executed, &top))
                .chain(choice.rejected.iter().map(|(_, other)| other).zip(&rejected));
            all.extend(plans.map(|(executed, stage)| {
                doc! {
                    "nReturned": count(stage.returned),
                    "executionTimeMillisEstimate": 0,
                    "totalKeysExamined": count(executed.keys_examined),
                    "totalDocsExamined": count(executed.documents_examined),
                    "executionStages": stage.executed(),
                }
            }));
        }
        stats.insert("allPlansExecution", all);
    }
    Ok((planner, Some(stats)))
}

/// Shows a plan, with `isCached` since 8.0.
fn plan(call: &Call<'_>, stage: &Stage) -> Document {
    let mut shown = Document::new();
    if call.deployment.version.at_least(8, 0) {
        shown.insert("isCached", false);
    }
    shown.extend(stage.plan());
    shown
}

/// Builds `queryPlanner` without the plans.
fn planner(call: &Call<'_>, namespace: &str, query: &Query<'_>, choice: &Choice<'_>) -> Document {
    let version = call.deployment.version;
    let parsed = to_document(&choice.clauses);
    let shape = doc! {
        "query": shape(&parsed),
        "sort": query.sort.cloned().unwrap_or_default(),
        "projection": query.projection.cloned().unwrap_or_default(),
    };
    let indexes: Vec<Document> = query
        .collection
        .iter()
        .flat_map(|collection| &collection.indexes)
        .map(|index| index.spec.clone())
        .collect();
    let hash = |document: &Document| format!("{:08X}", crc32c::checksum(document.to_string().as_bytes()));
    let mut planner = doc! {
        "namespace": namespace,
        "parsedQuery": parsed,
        "indexFilterSet": false,
        "queryHash": hash(&shape),
    };
    if version.at_least(8, 0) {
        planner.insert("planCacheShapeHash", hash(&shape));
    }
    planner.insert("planCacheKey", hash(&doc! { "shape": shape, "indexes": indexes }));
    if version.at_least(7, 0) {
        planner.insert("optimizationTimeMillis", 0);
    }
    planner.extend(doc! {
        "maxIndexedOrSolutionsReached": false,
        "maxIndexedAndSolutionsReached": false,
        "maxScansToExplodeReached": false,
    });
    if version.at_least(8, 0) {
        planner.insert("prunedSimilarIndexes", false);
    }
    planner
}

/// Replaces the values of a filter with `?`.
fn shape(filter: &Document) -> Document {
    let member = |value: &Bson| match value {
        Bson::Document(inner) => Bson::Document(shape(inner)),
        other => other.clone(),
    };
    filter
        .iter()
        .map(|(name, value)| {
            let shown = match value {
                Bson::Document(inner) => Bson::Document(shape(inner)),
                Bson::Array(items) if matches!(name.as_str(), "$and" | "$or" | "$nor") => {
                    items.iter().map(member).collect::<Vec<_>>().into()
                }
                _ => Bson::from("?"),
            };
            (name.clone(), shown)
        })
        .collect()
}

/// Builds `serverInfo`.
pub(super) fn server_info(call: &Call<'_>) -> Document {
    let address = &call.deployment.hosts[call.member.index];
    let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
    doc! {
        "host": host,
        "port": port.parse::<i32>().unwrap_or_default(),
        "version": call.deployment.version.to_string(),
        "gitVersion": "marula-test-server",
    }
}

/// The explained command, with `$db`.
pub(super) fn command(call: &Call<'_>) -> Document {
    let mut command = call.body.clone();
    command.insert("$db", call.db);
    command
}

/// Wraps the explanation of one shard as a mongos returns it.
pub(super) fn shard(call: &Call<'_>, shown: Document) -> Document {
    let mut shard = doc! {
        "shardName": "shard01",
        "connectionString": "shard01/localhost:27217",
        "serverInfo": server_info(call),
    };
    shard.extend(shown);
    shard
}

/// Builds the reply for one query.
pub(super) fn of_query(
    call: &Call<'_>,
    verbosity: Verbosity,
    planner: Document,
    stats: Option<Document>,
) -> Document {
    let mut reply = doc! { "explainVersion": "1" };
    if call.deployment.is_mongos() {
        let plan = doc! { "stage": "SINGLE_SHARD", "shards": [shard(call, planner)] };
        reply.insert(
            "queryPlanner",
            doc! { "mongosPlannerVersion": 1, "winningPlan": plan },
        );
        if let Some(mut stats) = stats {
            let figures: Document = [
                "nReturned",
                "executionTimeMillis",
                "totalKeysExamined",
                "totalDocsExamined",
            ]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), stats.get(name)?.clone())))
            .collect();
            let plans = stats.remove("allPlansExecution");
            let mut own = doc! { "shardName": "shard01" };
            own.extend(stats);
            let mut stages = doc! { "stage": "SINGLE_SHARD" };
            stages.extend(figures.clone());
            stages.extend(doc! { "totalChildMillis": 0_i64, "shards": [own] });
            let mut all = figures;
            all.insert("executionStages", stages);
            if verbosity == Verbosity::AllPlansExecution {
                let plans = plans.unwrap_or_else(|| Bson::Array(Vec::new()));
                all.insert(
                    "allPlansExecution",
                    [doc! { "shardName": "shard01", "allPlans": plans }]
                        .map(Bson::from)
                        .to_vec(),
                );
            }
            reply.insert("executionStats", all);
        }
    } else {
        reply.insert("queryPlanner", planner);
        if let Some(stats) = stats {
            reply.insert("executionStats", stats);
        }
    }
    close(call, &mut reply);
    reply
}

/// Appends the fields that end every reply.
pub(super) fn close(call: &Call<'_>, reply: &mut Document) {
    reply.insert("command", command(call));
    reply.insert("serverInfo", server_info(call));
}

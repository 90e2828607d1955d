//! `aggregate`.

use super::Call;
use super::find::read_from;
use super::list::cursor_batch_size;
use super::plan::{Scan, select};
use super::{shard_key, view};
use crate::aggregate::rules;
use crate::aggregate::stage::Stage;
use crate::aggregate::{Pipeline, Source};
use crate::change_stream::ChangeStream;
use crate::cursor::{End, Opening, Origin};
use crate::error::{Error, Result, code};
use crate::query::Filter;
use crate::storage::collection::MAX_DOCUMENT_SIZE;
use crate::storage::{Catalog, Namespace};
use crate::value::document_size;
use crate::value::number::Number;
use bson::{Bson, Document, doc};
use std::sync::Arc;

pub(crate) fn run(call: &Call<'_>) -> Result<Document> {
    run_pipeline(call).map_err(|error| super::error_prefix::of_aggregate(call, error))
}

fn run_pipeline(call: &Call<'_>) -> Result<Document> {
    let args = call.args();
    let namespace = match call.body.get(call.key) {
        Some(value) if Number::from_bson(value).and_then(Number::to_exact_i64) == Some(1) => None,
        Some(value) if crate::value::is_number(value) => {
            return Err(Error::failed_to_parse(
                "Invalid command format: the 'aggregate' field must specify a collection name or 1",
            ));
        }
        _ => Some(call.namespace()?),
    };
    let stages = args.required_array("pipeline")?;
    let concern = call.body.get_document("readConcern").ok();
    let explain = args.flag("explain", false)?;
    let profile = call.deployment.profile();
    if call.in_transaction() {
        rules::check_transaction(profile, stages, explain, concern)?;
    } else {
        rules::check_read_concern(profile, stages, concern)?;
    }
    if explain {
        return crate::explain::explain_aggregate(call, crate::explain::Verbosity::QueryPlanner);
    }
    if args.document("cursor")?.is_none() {
        return Err(Error::failed_to_parse(
            "The 'cursor' option is required, except for aggregate with the explain argument",
        ));
    }
    let batch_size = cursor_batch_size(call)?;
    if let Some(Bson::Document(first)) = stages.first()
        && first.contains_key("$changeStream")
        && !call.deployment.is_replicated()
    {
        return Err(Error::new(
            40573,
            "The $changeStream stage is only supported on replica sets",
        ));
    }
    if let Some(Bson::Document(first)) = stages.first()
        && first.contains_key("$changeStream")
    {
        return change_stream(call, namespace.as_ref(), stages, batch_size);
    }
    let mut catalog = call.catalog();
    shard_key::check_stages(call, &catalog, stages)?;
    let collection = namespace.as_ref().and_then(|namespace| catalog.get(namespace));
    let env = call.env(collection)?;
    let pipeline = Pipeline::parse(stages, &env)?;
    check_source(call, namespace.as_ref(), &pipeline)?;
    if let Some(output) = &pipeline.output {
        // A secondary forwards the writes to the primary.
        let forwarded = call.deployment.version.at_least(4, 4)
            && call.deployment.topology(|topology| topology.primary.is_some());
        if !call.is_writable() && !forwarded {
            return Err(Error::new(code::NOT_WRITABLE_PRIMARY, "not primary"));
        }
        let target = output.namespace(call.db)?;
        output.check_target(&target, namespace.as_ref(), &env)?;
        target.check_creatable()?;
        view::refuse(&catalog, &target)?;
        if !call.in_transaction() && super::concerns::snapshot_time(call.body).is_some() {
            return Err(Error::new(
                code::INVALID_OPTIONS,
                "$out and $merge cannot be used with a 'snapshot' read concern level",
            ));
        }
    }
    let host = call.deployment.hosts[call.member.index].clone();
    let source = Source {
        catalog: &catalog,
        database: call.db,
        collection: namespace.as_ref().map(|namespace| namespace.collection.as_str()),
        host: &host,
        lsid: call.body.get("lsid"),
        profile: call.deployment.profile(),
    };
    let (input, done) = input(call, &catalog, namespace.as_ref(), &pipeline, &env)?;
    let rest = Pipeline {
        stages: pipeline.stages[done..].to_vec(),
        output: None,
    };
    let mut rows = rest.run(input, source, &env).map_err(Error::executing)?;
    // Stages can create documents over the size limit of replies and collections.
    if let Some(size) = rows
        .iter()
        .map(document_size)
        .find(|size| *size > MAX_DOCUMENT_SIZE)
    {
        return Err(Error::new(
            code::BSON_OBJECT_TOO_LARGE,
            format!("BSONObj size: {size} is invalid"),
        ));
    }
    if let Some(output) = &pipeline.output {
        let bypass = args.flag("bypassDocumentValidation", false)?;
        output
            .write(
                std::mem::take(&mut rows),
                &mut catalog,
                call.db,
                &env,
                &|| call.deployment.tick(),
                bypass,
            )
            .map_err(Error::executing)?;
        call.advance_clock();
    }
    // A pipeline of these stages is executed as a query: its cursor is exhausted as that of `find`,
    // and closed with its collection.
    let is_query = pipeline.output.is_none()
        && pipeline.stages.iter().all(|stage| {
            matches!(
                stage,
                Stage::Match(_) | Stage::Sort(_) | Stage::Skip(_) | Stage::Limit(_)
            )
        });
    let ends_at_once = pipeline.stages.iter().any(|stage| match stage {
        Stage::Sort(_) => true,
        Stage::Limit(limit) => *limit == rows.len(),
        _ => false,
    });
    let source = match namespace
        .as_ref()
        .map(|namespace| (namespace, catalog.get(namespace)))
    {
        Some((namespace, Some(collection)))
            if is_query && collection.view.is_none() && call.isolated.is_none() =>
        {
            Some(read_from(namespace, collection, args.get("hint"))?)
        }
        _ => None,
    };
    let shown = namespace.map_or_else(
        || format!("{}.$cmd.aggregate", call.db),
        |namespace| namespace.to_string(),
    );
    let cursor = call.member.cursors.first_batch(Opening {
        namespace: &shown,
        rows: rows.into_iter().map(Arc::new).collect(),
        batch_size,
        end: if is_query && ends_at_once {
            End::WithLastRowOfGetMore
        } else {
            End::PastLastRow
        },
        owner: call.owner()?,
        source,
    });
    Ok(doc! { "cursor": cursor })
}

/// Runs an `aggregate` whose first stage is `$changeStream`.
fn change_stream(
    call: &Call<'_>,
    namespace: Option<&Namespace>,
    stages: &[Bson],
    batch_size: Option<usize>,
) -> Result<Document> {
    if call.in_transaction() || super::concerns::snapshot_time(call.body).is_some() {
        return Err(Error::new(
            code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
            "Operation not permitted in transaction :: caused by :: $changeStream cannot be used in a transaction",
        ));
    }
    if let Some(Bson::Document(concern)) = call.body.get("readConcern")
        && let Some(level) = concern.get("level")
        && *level != Bson::from("majority")
    {
        return Err(Error::new(
            code::INVALID_OPTIONS,
            "$changeStream cannot run with a readConcern other than 'majority'",
        ));
    }
    let catalog = call.catalog();
    if let Some(namespace) = namespace {
        view::refuse(&catalog, namespace)?;
    }
    let env = call.env(namespace.and_then(|namespace| catalog.get(namespace)))?;
    let stream = ChangeStream::open(call.deployment, call.db, namespace, stages, env)?;
    let shown = namespace.map_or_else(|| format!("{}.$cmd.aggregate", call.db), ToString::to_string);
    let origin = Origin {
        deployment: call.deployment,
        catalog: &catalog,
    };
    let cursor = call
        .member
        .cursors
        .first_of_stream(&shown, stream, origin, batch_size, call.owner()?)?;
    Ok(doc! { "cursor": cursor })
}

/// Fails if the first stage must run on a database and the command names a collection, or the
/// reverse.
fn check_source(call: &Call<'_>, namespace: Option<&Namespace>, pipeline: &Pipeline) -> Result<()> {
    match (pipeline.stages.first(), namespace) {
        (Some(Stage::CurrentOp(_)), None) if call.db == "admin" => Ok(()),
        (Some(Stage::CurrentOp(_)), _) => Err(Error::new(
            code::INVALID_NAMESPACE,
            "$currentOp must be run against the 'admin' database with {aggregate: 1}",
        )),
        (Some(Stage::Documents(_) | Stage::ListLocalSessions), None) => Ok(()),
        (Some(Stage::Documents(_) | Stage::ListLocalSessions), Some(_)) => Err(Error::new(
            code::INVALID_NAMESPACE,
            "$documents and $listLocalSessions must be run against a database with {aggregate: 1}",
        )),
        (_, None) => Err(Error::new(
            code::INVALID_NAMESPACE,
            format!(
                "{{aggregate: 1}} is not valid for '{}'; a collection is required.",
                call.db
            ),
        )),
        (_, Some(_)) => Ok(()),
    }
}

/// Returns the input documents of the pipeline, and the number of stages already applied to them.
fn input(
    call: &Call<'_>,
    catalog: &Catalog,
    namespace: Option<&Namespace>,
    pipeline: &Pipeline,
    env: &crate::query::Env,
) -> Result<(Vec<Document>, usize)> {
    if let Some(Stage::CurrentOp(listing)) = pipeline.stages.first() {
        return Ok((super::current_op::list(call, *listing), 1));
    }
    let makes_own = matches!(
        pipeline.stages.first(),
        Some(Stage::Documents(_) | Stage::ListLocalSessions | Stage::Stats(_) | Stage::ListSearchIndexes(_))
    );
    let seen = match namespace {
        Some(namespace) if !makes_own => view::readable(call, catalog, namespace)?,
        _ => None,
    };
    let Some(collection) = seen.as_deref() else {
        return Ok((Vec::new(), 0));
    };
    let everything = Filter::Constant(true);
    let (filter, done) = match pipeline.stages.first() {
        Some(Stage::Match(filter)) => (filter, 1),
        _ => (&everything, 0),
    };
    let hint = call.args().get("hint");
    let ids = select(
        collection,
        filter,
        Scan {
            hint,
            ..Scan::default()
        },
        env,
    )?;
    Ok((
        ids.into_iter()
            .filter_map(|id| collection.record(id))
            .map(|document| {
                let annotated = filter.with_metadata(document, env)?;
                Ok(annotated.unwrap_or_else(|| document.as_ref().clone()))
            })
            .collect::<Result<_>>()?,
        done,
    ))
}

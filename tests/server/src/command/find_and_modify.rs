//! `findAndModify`.

use super::Call;
use super::find::sorted;
use super::plan::{Scan, select};
use super::update::Write;
use crate::error::{Error, Result};
use crate::query::projection::Projection;
use crate::query::sort::Sort;
use crate::query::{Env, Filter, check_upsert};
use crate::storage::{Catalog, Namespace};
use crate::update::Update;
use bson::{Bson, Document, doc};

pub(crate) fn run(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    super::system_writes::check(call, &namespace)?;
    let history = call
        .deployment
        .sessions
        .history(call.body, call.deployment.is_replicated())?;
    if let Some(mut recorded) = history.find(0) {
        recorded.insert("retriedStmtId", history.statement_id(0));
        return Ok(recorded);
    }
    let mut catalog = call.catalog();
    super::view::writable(call, &catalog, &namespace)?;
    if let Some(collection) = catalog.get(&namespace) {
        super::timeseries::check_find_and_modify(call, collection, &namespace)?;
        if call.args().flag("remove", false)? {
            super::delete::check_capped(call, collection, &namespace)?;
        }
    }
    let reply = modify(call, &mut catalog, &namespace)?;
    history.record(0, reply.clone());
    Ok(reply)
}

fn modify(call: &Call<'_>, catalog: &mut Catalog, namespace: &Namespace) -> Result<Document> {
    let args = call.args();
    let remove = args.flag("remove", false)?;
    let new = args.flag("new", false)?;
    let upsert = args.flag("upsert", false)?;
    match (remove, args.get("update")) {
        (true, Some(_)) => {
            return Err(Error::failed_to_parse(
                "Cannot specify both an update and remove=true",
            ));
        }
        (false, None) => {
            return Err(Error::failed_to_parse(
                "Either an update or remove=true must be specified",
            ));
        }
        (true, None) if upsert => {
            return Err(Error::failed_to_parse(
                "Cannot specify both upsert=true and remove=true",
            ));
        }
        (true, None) if args.get("arrayFilters").is_some() => {
            return Err(Error::failed_to_parse(
                "Cannot specify arrayFilters and remove=true",
            ));
        }
        (true, None) if new => {
            return Err(Error::failed_to_parse(
                "Cannot specify both new=true and remove=true; 'remove' always returns the deleted document",
            ));
        }
        _ => {}
    }
    let empty = Document::new();
    let env = call.env(catalog.get(namespace))?;
    let filter = Filter::of_query(args.document("query")?.unwrap_or(&empty), &env)?;
    if upsert {
        check_upsert(args.document("query")?.unwrap_or(&empty), &env)?;
    }
    filter.check_order(args.document("sort")?, args.get("hint"), &env)?;
    super::shard_key::check_find_and_modify(call, catalog.get(namespace), &filter, &env)?;
    let sort = args.document("sort")?.map(Sort::parse).transpose()?;
    let fields = args.document("fields")?.filter(|fields| !fields.is_empty());
    let projection = fields
        .map(|fields| Projection::parse_find(fields, &env))
        .transpose()?;
    let project = |document: &Document| project(projection.as_ref(), document, &filter, &env);
    let update = match args.get("update") {
        Some(update) => Some(Update::parse(
            update,
            args.array("arrayFilters")?.map(Vec::as_slice),
            &env,
        )?),
        None => None,
    };
    let id = match catalog.get(namespace) {
        None => None,
        Some(collection) => {
            let scan = Scan {
                hint: args.get("hint"),
                ..Scan::default()
            };
            let ids = select(collection, &filter, scan, &env)?;
            sorted(collection, ids, sort.as_ref(), &env)?.first().copied()
        }
    };
    let Some(update) = update else {
        let removed = id.and_then(|id| catalog.get_mut(namespace)?.remove(id));
        return Ok(match removed {
            Some(document) => {
                call.advance_clock();
                doc! { "lastErrorObject": { "n": 1 }, "value": project(&document)? }
            }
            None => doc! { "lastErrorObject": { "n": 0 }, "value": null },
        });
    };
    let bypass = args.flag("bypassDocumentValidation", false)?;
    let write = Write {
        call,
        namespace,
        env: &env,
        filter: &filter,
        update: &update,
        multi: false,
        bypass,
    };
    if let Some(id) = id
        && let Some(collection) = catalog.get_mut(namespace)
    {
        let (old, after, _) = write.update_one(collection, id)?;
        let shown = if new { project(&after)? } else { project(&old)? };
        return Ok(doc! { "lastErrorObject": { "n": 1, "updatedExisting": true }, "value": shown });
    }
    if !upsert {
        return Ok(doc! { "lastErrorObject": { "n": 0, "updatedExisting": false }, "value": null });
    }
    let inserted = write.upsert(catalog)?;
    let id = inserted.get("_id").cloned().unwrap_or(Bson::Null);
    let value = if new {
        Bson::Document(project(&inserted)?)
    } else {
        Bson::Null
    };
    Ok(doc! {
        "lastErrorObject": { "n": 1, "updatedExisting": false, "upserted": id },
        "value": value,
    })
}

fn project(
    projection: Option<&Projection>,
    document: &Document,
    filter: &Filter,
    env: &Env,
) -> Result<Document> {
    match projection {
        Some(projection) => projection.apply_matched(document, filter, env),
        None => Ok(document.clone()),
    }
}

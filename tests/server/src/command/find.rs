//! `find`.

use super::Call;
use super::plan::{Hint, Scan, resolve, select};
use super::view;
use crate::cursor::Origin;
use crate::error::{Error, Result};
use crate::query::path;
use crate::query::projection::Projection;
use crate::query::sort::Sort;
use crate::query::{Env, Filter};
use crate::storage::{Catalog, Collection, Namespace, RecordId};
use crate::tail::Tail;
use bson::{Bson, Document, doc};
use std::sync::Arc;

pub(crate) fn run(call: &Call<'_>) -> Result<Document> {
    query(call).map_err(|error| super::executor::of_find(call, error))
}

fn query(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    let args = call.args();
    let tailable = args.flag("tailable", false)?;
    let await_data = args.flag("awaitData", false)?;
    if await_data && !tailable {
        return Err(Error::failed_to_parse(
            "Cannot set 'awaitData' without also setting 'tailable'",
        ));
    }
    let empty = Document::new();
    let filter = args.document("filter")?.unwrap_or(&empty);
    let sort = args.document("sort")?.map(Sort::parse).transpose()?;
    let skip = args.count("skip")?.unwrap_or(0);
    let limit = args.count("limit")?.filter(|limit| *limit > 0);
    let batch_size = args.count("batchSize")?;
    let single_batch = args.flag("singleBatch", false)?;
    let return_key = args.flag("returnKey", false)?;
    let show_record_id = args.flag("showRecordId", false)?;
    let hint = args.get("hint");
    let sort_field = args.document("sort")?.and_then(|sort| sort.keys().next());
    let scan = Scan {
        hint,
        min: args.document("min")?,
        max: args.document("max")?,
    };

    let catalog = call.catalog();
    let seen = view::readable(call, &catalog, &namespace)?;
    let collection = seen.as_deref();
    let env = call.env(collection)?;
    let filter = Filter::parse(filter, &env)?;
    let projection = args
        .document("projection")?
        .filter(|p| !p.is_empty())
        .map(|p| Projection::parse_find(p, &env))
        .transpose()?;
    if tailable {
        return tail(call, &catalog, namespace, filter, projection, env, await_data);
    }
    let rows = match collection {
        None => Vec::new(),
        Some(collection) => {
            let ids = select(collection, &filter, scan, &env)?;
            let found = order(collection, ids, sort.as_ref(), &env)?;
            let page = found.into_iter().skip(skip).take(limit.unwrap_or(usize::MAX));
            let mut rows = Vec::new();
            for (id, document) in page {
                rows.push(if return_key {
                    Arc::new(index_key(collection, hint, &filter, sort_field, &document)?)
                } else {
                    match &projection {
                        Some(projection) => Arc::new(projection.apply_matched(&document, &filter, &env)?),
                        None => document,
                    }
                });
                if show_record_id
                    && !return_key
                    && let Some(row) = rows.last_mut()
                {
                    Arc::make_mut(row).insert("$recordId", id as i64);
                }
            }
            rows
        }
    };
    let cursor = call
        .member
        .cursors
        .first_batch(&namespace.to_string(), rows, batch_size, single_batch);
    Ok(doc! { "cursor": cursor })
}

/// A tailable cursor, which only capped collections have.
fn tail(
    call: &Call<'_>,
    catalog: &Catalog,
    namespace: Namespace,
    filter: Filter,
    projection: Option<Projection>,
    env: Env,
    await_data: bool,
) -> Result<Document> {
    let args = call.args();
    let natural = |sort: &Document| sort.keys().all(|field| field == "$natural");
    if args.document("sort")?.is_some_and(|sort| !natural(sort)) {
        return Err(Error::failed_to_parse(
            "cannot use tailable option with a sort other than {$natural: 1}",
        ));
    }
    if args.flag("singleBatch", false)? {
        return Err(Error::failed_to_parse(
            "cannot use tailable option with the 'singleBatch' option",
        ));
    }
    let Some(collection) = catalog.get(&namespace) else {
        let rows = Vec::new();
        let cursor = call
            .member
            .cursors
            .first_batch(&namespace.to_string(), rows, None, true);
        return Ok(doc! { "cursor": cursor });
    };
    if collection.capped.is_none() {
        return Err(Error::bad_value(
            "error processing query: tailable cursor requested on non capped collection",
        ));
    }
    let tail = Tail {
        uuid: collection.uuid,
        namespace,
        filter,
        projection,
        env,
        position: 0,
    };
    let origin = Origin {
        deployment: call.deployment,
        catalog,
    };
    let batch_size = args.count("batchSize")?;
    let cursor = call
        .member
        .cursors
        .first_of_tail(tail, origin, batch_size, await_data)?;
    Ok(doc! { "cursor": cursor })
}

/// Records with their ids, sorted.
fn order(
    collection: &Collection,
    ids: Vec<RecordId>,
    sort: Option<&Sort>,
    env: &Env,
) -> Result<Vec<(RecordId, Arc<Document>)>> {
    let ids = sorted(collection, ids, sort, env)?;
    Ok(ids
        .into_iter()
        .filter_map(|id| collection.record(id).map(|document| (id, Arc::clone(document))))
        .collect())
}

/// Record ids sorted by their documents.
pub(crate) fn sorted(
    collection: &Collection,
    ids: Vec<RecordId>,
    sort: Option<&Sort>,
    env: &Env,
) -> Result<Vec<RecordId>> {
    struct Row<'d>(RecordId, &'d Document);
    impl std::borrow::Borrow<Document> for Row<'_> {
        fn borrow(&self) -> &Document {
            self.1
        }
    }
    let Some(sort) = sort else { return Ok(ids) };
    let mut rows: Vec<Row<'_>> = ids
        .into_iter()
        .filter_map(|id| Some(Row(id, collection.record(id)?.as_ref())))
        .collect();
    sort.sort(&mut rows, env)?;
    Ok(rows.into_iter().map(|row| row.0).collect())
}

/// With `returnKey`: the fields of the index that was used, which is the hinted one, or one that serves the sort or the filter.
fn index_key(
    collection: &Collection,
    hint: Option<&Bson>,
    filter: &Filter,
    sort_field: Option<&String>,
    document: &Document,
) -> Result<Document> {
    let index = match hint.map(|hint| resolve(collection, hint)).transpose()? {
        Some(Hint::Index(index)) => Some(index),
        Some(Hint::Natural(_)) => None,
        None => collection.indexes.iter().find(|index| {
            let pattern = index.key_pattern();
            pattern
                .keys()
                .next()
                .is_some_and(|field| Some(field) == sort_field || filter.restricts(field))
        }),
    };
    let Some(index) = index else {
        return Ok(Document::new());
    };
    Ok(index
        .key_pattern()
        .keys()
        .map(|name| {
            (
                name.clone(),
                path::get(document, name).cloned().unwrap_or(Bson::Null),
            )
        })
        .collect())
}

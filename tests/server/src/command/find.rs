//! `find`.

use super::Call;
use super::plan::{Hint, Scan, resolve, select};
use super::view;
use crate::cursor::{End, Opening, Origin, ReadFrom};
use crate::error::{Error, Result};
use crate::query::path;
use crate::query::projection::Projection;
use crate::query::sort::Sort;
use crate::query::{Env, Filter};
use crate::refusal::{queries, transactions};
use crate::storage::index::{Index, Kind};
use crate::storage::{Catalog, Collection, Namespace, RecordId};
use crate::tail::Tail;
use crate::value::metadata;
use crate::value::number::Number;
use bson::{Bson, Document, doc};
use std::sync::Arc;

pub(crate) fn run(call: &Call<'_>) -> Result<Document> {
    query(call).map_err(|error| super::error_prefix::of_find(call, error))
}

fn query(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    let args = call.args();
    let tailable = args.flag("tailable", false)?;
    let await_data = args.flag("awaitData", false)?;
    check_options(call)?;
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
    view::check_find(call, &catalog, &namespace)?;
    let seen = view::readable(call, &catalog, &namespace)?;
    let collection = seen.as_deref();
    let env = call.env(collection)?;
    let filter = Filter::of_query(filter, &env)?;
    filter.check_order(args.document("sort")?, hint, &env)?;
    let projection = args.document("projection")?.filter(|p| !p.is_empty());
    if let Some(sort) = args.document("sort")? {
        Sort::check_metadata(sort, projection, &env)?;
    }
    let projection = projection.map(|p| Projection::parse_find(p, &env)).transpose()?;
    if tailable {
        filter.check_tailable(&env)?;
        let tail = Tail {
            uuid: bson::Uuid::default(),
            namespace,
            filter,
            projection,
            env,
            position: 0,
            skip,
            left: limit.unwrap_or(usize::MAX),
        };
        return open_tail(call, &catalog, tail, await_data);
    }
    let rows = match collection {
        None => Vec::new(),
        Some(collection) => {
            let ids = select(collection, &filter, scan, &env)?;
            let found = order(collection, ids, &filter, sort.as_ref(), &env)?;
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
                if let Some(row) = rows.last_mut()
                    && row.contains_key(metadata::FIELD)
                {
                    metadata::clear(Arc::make_mut(row));
                }
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
    let is_view = catalog.get(&namespace).is_some_and(|found| found.view.is_some());
    let end = match collection {
        _ if single_batch => End::SingleBatch,
        None => End::SingleBatch,
        // A view is read by its pipeline.
        Some(_) if is_view => End::PastLastRow,
        Some(_) if limit == Some(rows.len()) => End::WithLastRow,
        Some(collection) => end_of(call, collection, &filter, &env)?,
    };
    let source = collection.filter(|_| !is_view && call.isolated.is_none());
    let cursor = call.member.cursors.first_batch(Opening {
        namespace: &namespace.to_string(),
        rows,
        batch_size,
        end,
        owner: call.owner()?,
        source: source
            .map(|collection| read_from(&namespace, collection, hint))
            .transpose()?,
    });
    Ok(doc! { "cursor": cursor })
}

/// Fails on options that the server refuses before it reads the filter.
fn check_options(call: &Call<'_>) -> Result<()> {
    let args = call.args();
    let profile = call.deployment.profile();
    let tailable = args.flag("tailable", false)?;
    if args.flag("awaitData", false)? && !tailable {
        return Err(Error::failed_to_parse(
            "Cannot set 'awaitData' without also setting 'tailable'",
        ));
    }
    transactions::TAILABLE.check(profile, tailable && call.in_transaction(), &[])?;
    if let Some(sort) = args.document("sort")? {
        Sort::check_values(sort, profile)?;
    }
    for (field, name) in [("skip", "Skip"), ("limit", "Limit"), ("batchSize", "BatchSize")] {
        let value = args.integer(field)?.unwrap_or(0);
        queries::NEGATIVE_COUNT.check(profile, value < 0, &[&name, &value])?;
    }
    Ok(())
}

/// When the server detects the end of a query without a limit: with the last document if it looks
/// up one `_id` or unique key, or sorts in memory.
fn end_of(call: &Call<'_>, collection: &Collection, filter: &Filter, env: &Env) -> Result<End> {
    let args = call.args();
    let fields = args.document("filter")?;
    let sort = args.document("sort")?.filter(|sort| !sort.is_empty());
    let plain = args.get("hint").is_none() && args.count("skip")?.unwrap_or(0) == 0;
    if plain
        && let Some(fields) = fields.filter(|fields| fields.len() == 1)
        && let Some(path) = fields.keys().next()
        && filter.equal_values(path).is_some_and(|values| values.len() == 1)
        && !matches!(fields.get(path), Some(Bson::Document(operators)) if operators.keys().any(|name| name == "$in"))
    {
        let unique = |index: &Index| {
            let pattern = index.key_pattern();
            let express = sort.is_none() && call.deployment.version.at_least(8, 0);
            index.unique
                && !index.sparse
                && !index.hidden
                && index.partial.is_none()
                && index.collation == env.collation
                && pattern.len() == 1
                && pattern.contains_key(path)
                && (path == "_id" || express)
        };
        if collection.indexes.iter().any(unique) {
            return Ok(End::WithLastRow);
        }
    }
    let sorted = |sort: &Document| {
        sort.contains_key("$natural") || collection.indexes.iter().any(|index| provides(index, sort, env))
    };
    Ok(match sort {
        Some(sort) if !sorted(sort) => End::WithLastRow,
        _ => End::PastLastRow,
    })
}

/// Whether the entries of an index are in the order of the sort or its reverse.
fn provides(index: &Index, sort: &Document, env: &Env) -> bool {
    let usable = index.kind == Kind::Ordered
        && !index.hidden
        && !index.sparse
        && index.partial.is_none()
        && index.collation == env.collation;
    let direction = |value: Option<&Bson>| {
        value
            .and_then(Number::from_bson)
            .map(|number| number.to_f64() > 0.0)
    };
    let pattern = index.key_pattern();
    let along = |forward: bool| {
        sort.len() <= pattern.len()
            && sort.iter().zip(&pattern).all(|((field, wanted), (path, kept))| {
                field == path && direction(Some(wanted)) == direction(Some(kept)).map(|up| up == forward)
            })
    };
    usable && (along(true) || along(false))
}

/// The collection that a cursor reads, and the index if a hint names it.
pub(crate) fn read_from(
    namespace: &Namespace,
    collection: &Collection,
    hint: Option<&Bson>,
) -> Result<ReadFrom> {
    let index = match hint.map(|hint| resolve(collection, hint)).transpose()? {
        Some(Hint::Index(index)) => Some(index.name.clone()),
        Some(Hint::Natural(_)) | None => None,
    };
    Ok(ReadFrom {
        namespace: namespace.clone(),
        uuid: collection.uuid,
        index,
    })
}

/// Opens a tailable cursor; fails if the collection is not capped.
fn open_tail(call: &Call<'_>, catalog: &Catalog, tail: Tail, await_data: bool) -> Result<Document> {
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
    let Some(collection) = catalog.get(&tail.namespace) else {
        let cursor = doc! { "firstBatch": [], "id": 0_i64, "ns": tail.namespace.to_string() };
        return Ok(doc! { "cursor": cursor });
    };
    if collection.capped.is_none() {
        return Err(Error::bad_value(
            "error processing query: tailable cursor requested on non capped collection",
        ));
    }
    let tail = Tail {
        uuid: collection.uuid,
        ..tail
    };
    let origin = Origin {
        deployment: call.deployment,
        catalog,
    };
    let batch_size = args.count("batchSize")?;
    let cursor = call
        .member
        .cursors
        .first_of_tail(tail, origin, batch_size, await_data, call.owner()?)?;
    Ok(doc! { "cursor": cursor })
}

/// Returns the sorted records with their ids and their metadata.
fn order(
    collection: &Collection,
    ids: Vec<RecordId>,
    filter: &Filter,
    sort: Option<&Sort>,
    env: &Env,
) -> Result<Vec<(RecordId, Arc<Document>)>> {
    struct Row(RecordId, Arc<Document>);
    impl std::borrow::Borrow<Document> for Row {
        fn borrow(&self) -> &Document {
            &self.1
        }
    }
    let mut rows = Vec::with_capacity(ids.len());
    for id in ids {
        if let Some(document) = collection.record(id) {
            let annotated = filter.with_metadata(document, env)?.map(Arc::new);
            rows.push(Row(id, annotated.unwrap_or_else(|| Arc::clone(document))));
        }
    }
    if let Some(sort) = sort {
        sort.sort(&mut rows, env)?;
    }
    Ok(rows.into_iter().map(|Row(id, document)| (id, document)).collect())
}

/// Returns the record ids in the sort order of their documents.
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

/// For `returnKey`: the key pattern of the index that is used. That is the hinted one, or one that
/// supports the sort or the filter.
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

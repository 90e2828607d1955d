//! `explain` of `find`, `count` and `distinct`.

use super::aggregate;
use super::clauses::clauses;
use super::planner::{Access, Query};
use super::reply::{Explained, Verbosity, explained};
use super::scan::IndexScan;
use super::stages::{Stage, count as counter};
use crate::command::Call;
use crate::error::{Error, Result};
use crate::query::Filter;
use crate::query::path::{Path, expanded};
use crate::query::projection::Projection;
use crate::query::sort::Sort;
use crate::storage::{Catalog, Namespace};
use bson::{Bson, Document, doc};
use std::collections::BTreeSet;

/// Explains a read of a view as the equivalent aggregation. Returns `None` if the namespace is not
/// a view.
fn on_view(
    call: &Call<'_>,
    catalog: &Catalog,
    namespace: &Namespace,
    verbosity: Verbosity,
    stages: Vec<Document>,
) -> Option<Result<Explained>> {
    catalog.get(namespace)?.view.as_ref()?;
    let mut body = doc! {
        "aggregate": &namespace.collection,
        "pipeline": stages,
        "cursor": {},
    };
    for field in ["collation", "hint", "let"] {
        if let Some(value) = call.body.get(field) {
            body.insert(field, value.clone());
        }
    }
    let call = Call {
        name: "aggregate",
        key: "aggregate",
        body: &body,
        ..*call
    };
    Some(aggregate::on_catalog(&call, verbosity, catalog).map(Explained::Reply))
}

pub(super) fn find(call: &Call<'_>, verbosity: Verbosity) -> Result<Explained> {
    let namespace = call.namespace()?;
    let args = call.args();
    for bound in ["min", "max"] {
        if args.document(bound)?.is_some_and(|bound| !bound.is_empty()) {
            return Err(Error::not_served(format!("explain of find with {bound}")));
        }
    }
    let empty = Document::new();
    let filter = args.document("filter")?.unwrap_or(&empty);
    let sort = args.document("sort")?.filter(|sort| !sort.is_empty());
    sort.map(Sort::parse).transpose()?;
    let projection = args
        .document("projection")?
        .filter(|projection| !projection.is_empty());
    let skip = args.count("skip")?.unwrap_or(0);
    let limit = args.count("limit")?.filter(|limit| *limit > 0);
    let catalog = call.catalog();
    let mut stages = vec![doc! { "$match": filter.clone() }];
    stages.extend(sort.map(|sort| doc! { "$sort": sort.clone() }));
    stages.extend((skip > 0).then(|| doc! { "$skip": skip as i64 }));
    stages.extend(limit.map(|limit| doc! { "$limit": limit as i64 }));
    stages.extend(projection.map(|projection| doc! { "$project": projection.clone() }));
    if let Some(explained) = on_view(call, &catalog, &namespace, verbosity, stages) {
        return explained;
    }
    let collection = catalog.get(&namespace);
    let env = call.env(collection)?;
    projection
        .map(|projection| Projection::parse_find(projection, &env))
        .transpose()?;
    let query = Query {
        collection,
        filter,
        parsed: &Filter::of_query(filter, &env)?,
        sort,
        projection,
        skip,
        limit,
        hint: args.get("hint"),
        env: &env,
        express: call.deployment.version.at_least(8, 0),
    };
    let choice = query.choose()?;
    let name = namespace.to_string();
    let (planner, stats) = explained(call, verbosity, &name, &query, &choice, &|stage, _| Ok(stage))?;
    Ok(Explained::Query { planner, stats })
}

pub(super) fn count(call: &Call<'_>, verbosity: Verbosity) -> Result<Explained> {
    let namespace = call.namespace()?;
    let args = call.args();
    let empty = Document::new();
    let filter = args.document("query")?.unwrap_or(&empty);
    let limit = args.integer("limit")?.unwrap_or(0).unsigned_abs() as usize;
    let skip = args.count("skip")?.unwrap_or(0);
    let catalog = call.catalog();
    let mut stages = vec![doc! { "$match": filter.clone() }];
    stages.extend((skip > 0).then(|| doc! { "$skip": skip as i64 }));
    stages.extend((limit > 0).then(|| doc! { "$limit": limit as i64 }));
    stages.push(doc! { "$count": "count" });
    if let Some(explained) = on_view(call, &catalog, &namespace, verbosity, stages) {
        return explained;
    }
    let collection = catalog.get(&namespace);
    let env = call.env(collection)?;
    let query = Query {
        collection,
        filter,
        parsed: &Filter::of_query(filter, &env)?,
        sort: None,
        projection: None,
        skip: 0,
        limit: (limit > 0).then(|| limit.saturating_add(skip)),
        hint: args.get("hint"),
        env: &env,
        express: false,
    };
    let mut choice = query.choose()?;
    let fast = filter.is_empty() && query.hint.is_none() && collection.is_some();
    let found = choice.winner.1.ids.len();
    let counted = found.saturating_sub(skip);
    let scan = match &choice.winner.0.access {
        Access::Index(scan) if is_exact(scan) => Some(scan.clone()),
        _ => None,
    };
    if fast || scan.is_some() {
        choice.winner.1.documents_examined = 0;
        choice.rejected.clear();
    }
    if scan.is_some() {
        // COUNT_SCAN also examines the key at the end of its range.
        choice.winner.1.keys_examined = found as u64 + 1;
    }
    let wrap = |stage: Stage, _: &_| {
        let input = match stage.name {
            "LIMIT" => stage.inputs.into_iter().next().unwrap_or_default(),
            _ => stage,
        };
        if input.name == "EOF" {
            return Ok(input);
        }
        let figures = doc! { "nCounted": counted as i64, "nSkipped": skip.min(found) as i64 };
        if fast {
            return Ok(Stage {
                name: "RECORD_STORE_FAST_COUNT",
                counted: figures,
                works: 1,
                is_eof: true,
                ..Stage::default()
            });
        }
        let input = match &scan {
            Some(scan) => Stage {
                name: "COUNT_SCAN",
                parameters: scan.describe(false),
                counted: doc! { "keysExamined": counter(found as u64 + 1) },
                returned: found as u64,
                works: found as u64 + 1,
                is_eof: true,
                inputs: Vec::new(),
            },
            None => input,
        };
        let mut stage = Stage::over("COUNT", Document::new(), input);
        stage.counted = figures;
        stage.returned = 0;
        Ok(stage)
    };
    let name = namespace.to_string();
    let (planner, stats) = explained(call, verbosity, &name, &query, &choice, &wrap)?;
    Ok(Explained::Query { planner, stats })
}

/// Returns whether the keys within the bounds are exactly those of the matching documents.
fn is_exact(scan: &IndexScan<'_>) -> bool {
    scan.on_document.is_empty() && scan.on_key.is_empty() && scan.is_single_range() && !scan.is_multikey()
}

pub(super) fn distinct(call: &Call<'_>, verbosity: Verbosity) -> Result<Explained> {
    let namespace = call.namespace()?;
    let args = call.args();
    let key = args.required_string("key")?;
    let empty = Document::new();
    let filter = args.document("query")?.unwrap_or(&empty);
    let catalog = call.catalog();
    let stages = vec![
        doc! { "$match": filter.clone() },
        doc! { "$unwind": { "path": format!("${key}"), "preserveNullAndEmptyArrays": true } },
        doc! { "$group": { "_id": null, "distinct": { "$addToSet": format!("${key}") } } },
    ];
    if let Some(explained) = on_view(call, &catalog, &namespace, verbosity, stages) {
        return explained;
    }
    let collection = catalog.get(&namespace);
    let env = call.env(collection)?;
    let query = Query {
        collection,
        filter,
        parsed: &Filter::of_query(filter, &env)?,
        sort: None,
        projection: None,
        skip: 0,
        limit: None,
        hint: args.get("hint"),
        env: &env,
        express: false,
    };
    let mut choice = query.choose()?;
    let clauses = clauses(filter);
    let starts_with_key = |scan: &IndexScan<'_>| {
        is_exact(scan)
            && scan
                .index
                .key_pattern()
                .keys()
                .next()
                .is_some_and(|first| first == key)
    };
    let scan = match (&choice.winner.0.access, collection) {
        (Access::Index(scan), _) if starts_with_key(scan) => Some(scan.clone()),
        (Access::Records { .. }, Some(collection)) if filter.is_empty() && query.hint.is_none() => collection
            .indexes
            .iter()
            .filter_map(|index| IndexScan::of_full_range(collection, index, &clauses, &env))
            .find(starts_with_key),
        _ => None,
    };
    let wrap_scan;
    let pass = |stage: Stage, _: &_| Ok(stage);
    let wrap: super::reply::Wrap<'_> = match (scan, collection) {
        (Some(scan), Some(collection)) => {
            let path = Path::new(key);
            let values: BTreeSet<crate::storage::key::Key> = choice
                .winner
                .1
                .ids
                .iter()
                .filter_map(|id| collection.record(*id))
                .flat_map(|document| expanded(document, &path))
                .map(|value| crate::storage::key::Key(vec![value.unwrap_or(Bson::Null)]))
                .collect();
            let found = values.len() as u64;
            choice.winner.1.keys_examined = found;
            choice.winner.1.documents_examined = 0;
            choice.rejected.clear();
            wrap_scan = move |_: Stage, _: &_| {
                let input = Stage {
                    name: "DISTINCT_SCAN",
                    parameters: scan.describe(true),
                    counted: doc! { "keysExamined": counter(found) },
                    returned: found,
                    works: found + 1,
                    is_eof: true,
                    inputs: Vec::new(),
                };
                let projection = doc! { "transformBy": { "_id": 0, key: 1 } };
                Ok(Stage::over("PROJECTION_COVERED", projection, input))
            };
            &wrap_scan
        }
        _ => &pass,
    };
    let name = namespace.to_string();
    let (planner, stats) = explained(call, verbosity, &name, &query, &choice, wrap)?;
    Ok(Explained::Query { planner, stats })
}

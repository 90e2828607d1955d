//! Views: their definitions, reading them, and rejecting writes to them.

use super::{Call, sharding, system};
use crate::aggregate::{Pipeline, Source, rules};
use crate::error::{Error, Result, code};
use crate::query::Env;
use crate::refusal::collections::MOD_VIEW_OPTION;
use crate::refusal::writes::ON_VIEW;
use crate::storage::collection::View;
use crate::storage::{Catalog, Collection, Namespace};
use crate::value::collation::Collation;
use bson::{Bson, Document, doc};
use std::borrow::Cow;

/// The maximum depth of views on views.
const MAX_VIEW_DEPTH: usize = 20;

/// The collection with the view definitions of a database.
pub(crate) const SYSTEM_VIEWS: &str = "system.views";

/// The documents of `system.views`.
pub(crate) fn definitions(catalog: &Catalog, database: &str) -> Vec<Document> {
    let views = catalog.collections(database).filter_map(|(name, collection)| {
        let view = collection.view.as_ref()?;
        let mut definition = doc! {
            "_id": format!("{database}.{name}"),
            "viewOn": &view.on,
            "pipeline": view.pipeline.clone(),
        };
        if let Some(collation) = &collection.collation {
            definition.insert("collation", collation.to_document());
        }
        Some(definition)
    });
    views.collect()
}

/// The collections and views that a view reads.
fn sources(view: &View) -> Vec<String> {
    let mut found = vec![view.on.clone()];
    of_stages(&view.pipeline, &mut found);
    found
}

fn of_stages(stages: &[Bson], found: &mut Vec<String>) {
    for (name, argument) in stages.iter().filter_map(Bson::as_document).flatten() {
        match (name.as_str(), argument) {
            ("$lookup" | "$unionWith" | "$graphLookup", Bson::Document(spec)) => {
                let from = spec.get_str("from").or_else(|_| spec.get_str("coll"));
                found.extend(from.ok().map(str::to_owned));
                of_stages(spec.get_array("pipeline").map_or(&[][..], Vec::as_slice), found);
            }
            ("$unionWith", Bson::String(from)) => found.push(from.clone()),
            ("$facet", Bson::Document(facets)) => {
                for stages in facets.values().filter_map(Bson::as_array) {
                    of_stages(stages, found);
                }
            }
            _ => {}
        }
    }
}

/// Fails if a view reads itself through other views (5 GraphContainsCycle), or the depth of views
/// exceeds the maximum (165 ViewDepthLimitExceeded).
pub(crate) fn check_graph(catalog: &Catalog, namespace: &Namespace, view: &View) -> Result<()> {
    let mut path = vec![namespace.collection.clone()];
    follow(catalog, namespace, view, &mut path)
}

fn follow(catalog: &Catalog, namespace: &Namespace, view: &View, path: &mut Vec<String>) -> Result<()> {
    if path.len() > MAX_VIEW_DEPTH {
        return Err(too_deep());
    }
    for source in sources(view) {
        path.push(source.clone());
        if source == namespace.collection {
            let names: Vec<String> = path
                .iter()
                .map(|name| format!("{}.{name}", namespace.database))
                .collect();
            return Err(Error::new(
                code::GRAPH_CONTAINS_CYCLE,
                format!("View cycle detected: {}", names.join(" => ")),
            ));
        }
        let below = Namespace::new(&namespace.database, &source)?;
        if let Some(view) = catalog
            .get(&below)
            .and_then(|collection| collection.view.as_ref())
        {
            follow(catalog, namespace, view, path)?;
        }
        path.pop();
    }
    Ok(())
}

/// `collMod` with `viewOn` or `pipeline`.
pub(crate) fn modify(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    let args = call.args();
    let mut catalog = call.catalog();
    let old = catalog.get(&namespace).ok_or_else(|| {
        Error::new(
            code::NAMESPACE_NOT_FOUND,
            format!("ns does not exist: {namespace}"),
        )
    })?;
    let Some(view) = &old.view else {
        return Err(MOD_VIEW_OPTION.error(&[&"viewOn"]));
    };
    let view = View {
        on: args.string("viewOn")?.unwrap_or(&view.on).to_owned(),
        pipeline: args.array("pipeline")?.unwrap_or(&view.pipeline).clone(),
    };
    check_definition(call, &view, old.collation.clone())?;
    check_graph(&catalog, &namespace, &view)?;
    if let Some(collection) = catalog.get_mut(&namespace) {
        collection.options.insert("viewOn", &view.on);
        collection.options.insert("pipeline", view.pipeline.clone());
        collection.view = Some(view);
    }
    call.advance_clock();
    Ok(Document::new())
}

/// Fails if the definition of a view is invalid.
pub(crate) fn check_definition(call: &Call<'_>, view: &View, collation: Option<Collation>) -> Result<()> {
    Namespace::new(call.db, &view.on)?;
    rules::check_view(
        call.deployment.profile(),
        &view.pipeline,
        &call.namespace_or_any()?,
    )?;
    Pipeline::parse(&view.pipeline, &call.definition_env(collation)).map(|_| ())
}

/// Fails on options of `find` that are not supported on views, which are read by aggregation.
pub(crate) fn check_find(call: &Call<'_>, catalog: &Catalog, namespace: &Namespace) -> Result<()> {
    if catalog
        .get(namespace)
        .is_none_or(|collection| collection.view.is_none())
    {
        return Ok(());
    }
    let refused = |what: &str| {
        Err(Error::new(
            code::INVALID_PIPELINE_OPERATOR,
            format!("{what} not supported in aggregation"),
        ))
    };
    if call
        .args()
        .document("sort")?
        .is_some_and(|sort| sort.contains_key("$natural"))
    {
        return refused("Sort option $natural");
    }
    for option in [
        "tailable",
        "awaitData",
        "noCursorTimeout",
        "oplogReplay",
        "returnKey",
        "showRecordId",
    ] {
        if call.args().flag(option, false)? {
            return refused(&format!("Option {option}"));
        }
    }
    for option in ["min", "max"] {
        if call
            .args()
            .document(option)?
            .is_some_and(|bound| !bound.is_empty())
        {
            return refused(&format!("Option {option}"));
        }
    }
    Ok(())
}

/// Fails if the namespace is a view, or a capped collection and the command is in a transaction.
pub(crate) fn writable(call: &Call<'_>, catalog: &Catalog, namespace: &Namespace) -> Result<()> {
    refuse(catalog, namespace)?;
    let capped = catalog
        .get(namespace)
        .is_some_and(|collection| collection.capped.is_some());
    if capped && call.body.contains_key("autocommit") {
        return Err(Error::new(
            code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
            format!(
                "Collection '{namespace}' is a capped collection. Writes in transactions are not allowed on capped collections."
            ),
        ));
    }
    Ok(())
}

/// Fails if the namespace is a view.
pub(crate) fn refuse(catalog: &Catalog, namespace: &Namespace) -> Result<()> {
    match catalog.get(namespace) {
        Some(collection) if collection.view.is_some() => Err(ON_VIEW.error(&[namespace])),
        _ => Ok(()),
    }
}

/// The collection to read: a stored one, or the materialized view.
pub(crate) fn readable<'c>(
    call: &Call<'_>,
    catalog: &'c Catalog,
    namespace: &Namespace,
) -> Result<Option<Cow<'c, Collection>>> {
    system::check_readable(call.deployment, namespace)?;
    if call.deployment.is_mongos() && namespace.database == "config" && namespace.collection == "collections"
    {
        let sharded = sharding::sharded_collections(catalog, call.deployment.profile());
        return Ok(Some(Cow::Owned(Collection::of_rows(sharded, None))));
    }
    let source = Source {
        catalog,
        database: &namespace.database,
        collection: None,
        host: &call.deployment.hosts[call.member.index],
        lsid: None,
        profile: call.deployment.profile(),
    };
    rows(source, catalog, namespace, 0)
}

/// The collection that a stage reads: a stored one, or the materialized view.
pub(crate) fn joined<'c>(source: Source<'c>, collection: &str) -> Result<Option<Cow<'c, Collection>>> {
    let namespace = Namespace::new(source.database, collection)?;
    rows(source, source.catalog, &namespace, 0)
}

fn too_deep() -> Error {
    Error::new(
        code::VIEW_DEPTH_LIMIT_EXCEEDED,
        format!("View depth is limited to {MAX_VIEW_DEPTH}"),
    )
}

fn rows<'c>(
    source: Source<'_>,
    catalog: &'c Catalog,
    namespace: &Namespace,
    depth: usize,
) -> Result<Option<Cow<'c, Collection>>> {
    let Some(collection) = catalog.get(namespace) else {
        let views = match namespace.collection.as_str() {
            SYSTEM_VIEWS => definitions(catalog, &namespace.database),
            _ => Vec::new(),
        };
        return Ok((!views.is_empty()).then(|| Cow::Owned(Collection::of_rows(views, None))));
    };
    let Some(view) = &collection.view else {
        return Ok(Some(Cow::Borrowed(collection)));
    };
    if depth >= MAX_VIEW_DEPTH {
        return Err(too_deep());
    }
    let on = Namespace::new(&namespace.database, &view.on)?;
    let below = rows(source, catalog, &on, depth + 1)?;
    let documents = below
        .iter()
        .flat_map(|collection| collection.records())
        .map(|(_, document)| document.as_ref().clone())
        .collect();
    let env = Env {
        collation: collection.collation.clone(),
        ..Env::of(source.profile)
    };
    let source = Source {
        collection: Some(&view.on),
        lsid: None,
        ..source
    };
    let rows = Pipeline::parse(&view.pipeline, &env)?
        .run(documents, source, &env)
        .map_err(Error::executing)?;
    Ok(Some(Cow::Owned(Collection::of_rows(
        rows,
        collection.collation.clone(),
    ))))
}

//! Views: what a read of one sees, the refusal of writes to it, and of definitions that refer to themselves.

use super::Call;
use crate::aggregate::{Pipeline, Source};
use crate::error::{Error, Result, code};
use crate::query::Env;
use crate::storage::{Catalog, Collection, Namespace};
use bson::{Bson, Document, doc};
use std::borrow::Cow;

/// How deep views may be defined on views.
const DEEPEST: usize = 20;

/// Fails if the namespace is a view.
pub(crate) fn refuse(catalog: &Catalog, namespace: &Namespace) -> Result<()> {
    match catalog.get(namespace) {
        Some(collection) if collection.view.is_some() => Err(Error::new(
            code::COMMAND_NOT_SUPPORTED_ON_VIEW,
            format!("Namespace {namespace} is a view, not a collection"),
        )),
        _ => Ok(()),
    }
}

/// The collection that a database has as soon as it has a view: one document per view.
pub(crate) const SYSTEM_VIEWS: &str = "system.views";

/// The definitions of a database's views as `system.views` holds them.
pub(crate) fn definitions(catalog: &Catalog, database: &str) -> Vec<Document> {
    catalog
        .collections(database)
        .filter_map(|(name, collection)| {
            let view = collection.view.as_ref()?;
            let mut definition = doc! {
                "_id": format!("{database}.{name}"), "viewOn": &view.on, "pipeline": view.pipeline.clone(),
            };
            if let Some(collation) = &collection.collation {
                definition.insert("collation", collation.to_document());
            }
            Some(definition)
        })
        .collect()
}

/// Fails if a view with this definition would lead back to itself, or stand on too many others.
pub(crate) fn check_references(
    catalog: &Catalog,
    name: &Namespace,
    on: &str,
    pipeline: &[Bson],
) -> Result<()> {
    let mut trail = vec![name.collection.clone()];
    follow(catalog, &name.database, references(on, pipeline), &mut trail)
}

fn follow(catalog: &Catalog, database: &str, next: Vec<String>, trail: &mut Vec<String>) -> Result<()> {
    for name in next {
        if name == trail[0] {
            let path: Vec<String> = trail
                .iter()
                .chain([&name])
                .map(|name| format!("{database}.{name}"))
                .collect();
            return Err(Error::new(
                code::GRAPH_CONTAINS_CYCLE,
                format!("View cycle detected: {}", path.join(" => ")),
            ));
        }
        let namespace = Namespace::new(database, &name)?;
        let Some(view) = catalog
            .get(&namespace)
            .and_then(|collection| collection.view.as_ref())
        else {
            continue;
        };
        if trail.len() >= DEEPEST {
            return Err(Error::new(
                code::VIEW_DEPTH_LIMIT_EXCEEDED,
                format!("View depth limit exceeded; maximum depth is {DEEPEST}"),
            ));
        }
        trail.push(name);
        follow(catalog, database, references(&view.on, &view.pipeline), trail)?;
        trail.pop();
    }
    Ok(())
}

/// The collections of the same database that a view reads.
fn references(on: &str, pipeline: &[Bson]) -> Vec<String> {
    let mut found = vec![on.to_owned()];
    pipeline_references(pipeline, &mut found);
    found
}

fn pipeline_references(pipeline: &[Bson], found: &mut Vec<String>) {
    for (name, argument) in pipeline.iter().filter_map(Bson::as_document).flatten() {
        let collection = match (name.as_str(), argument) {
            ("$unionWith", Bson::String(collection)) => Some(collection),
            ("$unionWith", Bson::Document(fields)) => match fields.get("coll") {
                Some(Bson::String(collection)) => Some(collection),
                _ => None,
            },
            ("$lookup" | "$graphLookup", Bson::Document(fields)) => match fields.get("from") {
                Some(Bson::String(collection)) => Some(collection),
                _ => None,
            },
            _ => None,
        };
        found.extend(collection.cloned());
        match (name.as_str(), argument) {
            ("$facet", Bson::Document(facets)) => {
                for inner in facets.values().filter_map(Bson::as_array) {
                    pipeline_references(inner, found);
                }
            }
            (_, Bson::Document(fields)) => {
                if let Some(Bson::Array(inner)) = fields.get("pipeline") {
                    pipeline_references(inner, found);
                }
            }
            _ => {}
        }
    }
}

/// The collection that a read sees: itself, or the rows that a view gives.
pub(crate) fn readable<'c>(
    call: &Call<'_>,
    catalog: &'c Catalog,
    namespace: &Namespace,
) -> Result<Option<Cow<'c, Collection>>> {
    rows(call, catalog, namespace, 0)
}

fn rows<'c>(
    call: &Call<'_>,
    catalog: &'c Catalog,
    namespace: &Namespace,
    depth: usize,
) -> Result<Option<Cow<'c, Collection>>> {
    let Some(collection) = catalog.get(namespace) else {
        if namespace.collection == SYSTEM_VIEWS {
            let rows = definitions(catalog, &namespace.database);
            return Ok((!rows.is_empty()).then(|| Cow::Owned(Collection::of_rows(rows, None))));
        }
        return Ok(None);
    };
    let Some(view) = &collection.view else {
        return Ok(Some(Cow::Borrowed(collection)));
    };
    if depth >= DEEPEST {
        return Err(Error::new(
            code::VIEW_DEPTH_LIMIT_EXCEEDED,
            format!("View depth is limited to {DEEPEST}"),
        ));
    }
    let on = Namespace::new(&namespace.database, &view.on)?;
    let below = rows(call, catalog, &on, depth + 1)?;
    let documents = below
        .iter()
        .flat_map(|collection| collection.records())
        .map(|(_, document)| document.as_ref().clone())
        .collect();
    let env = Env::with_collation(collection.collation.clone());
    let source = Source {
        catalog,
        database: &namespace.database,
        collection: Some(&view.on),
        host: &call.deployment.hosts[call.member.index],
        lsid: None,
    };
    let rows = Pipeline::parse(&view.pipeline, &env)?
        .run(documents, source, &env)
        .map_err(Error::executing)?;
    Ok(Some(Cow::Owned(Collection::of_rows(
        rows,
        collection.collation.clone(),
    ))))
}

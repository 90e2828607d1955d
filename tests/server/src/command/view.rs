//! Views: what a read of one sees, and the refusal of writes to it.

use super::Call;
use crate::aggregate::{Pipeline, Source};
use crate::error::{Error, Result, code};
use crate::query::Env;
use crate::storage::{Catalog, Collection, Namespace};
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

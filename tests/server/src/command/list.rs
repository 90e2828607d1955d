//! `listCollections`, `listDatabases`, `listIndexes`.

use super::view::SYSTEM_VIEWS;
use super::{Call, sasl, system};
use crate::auth::roles::Resource;
use crate::cursor::{End, Opening};
use crate::error::{Error, Result, code};
use crate::query::{Env, Filter};
use crate::settings::Kind;
use crate::storage::Collection;
use crate::storage::index::Index;
use crate::storage::namespace::check_database;
use bson::{Bson, Document, doc};
use std::sync::Arc;

pub(crate) fn list_collections(call: &Call<'_>) -> Result<Document> {
    check_database(call.db)?;
    let args = call.args();
    let name_only = args.flag("nameOnly", false)?;
    let empty = Document::new();
    let env = Env::of(call.deployment.profile());
    let filter = Filter::parse(args.document("filter")?.unwrap_or(&empty), &env)?;
    let batch_size = cursor_batch_size(call)?;
    let mut rows = Vec::new();
    let catalog = call.catalog();
    let views = system::views_entry(&catalog, call.db);
    let views = views.iter().map(|views| (SYSTEM_VIEWS, views));
    let own = catalog
        .collections(call.db)
        .map(|(name, own)| (name.as_str(), own));
    for (name, collection) in own.chain(views) {
        let full = describe(name, collection);
        if filter.matches(&full, &env)? {
            rows.push(Arc::new(if name_only {
                doc! { "name": name, "type": collection.kind() }
            } else {
                full
            }));
        }
    }
    let namespace = format!("{}.$cmd.listCollections", call.db);
    Ok(doc! { "cursor": listed(call, &namespace, rows, batch_size)? })
}

/// The `cursor` field of a reply with listed rows.
pub(crate) fn listed(
    call: &Call<'_>,
    namespace: &str,
    rows: Vec<Arc<Document>>,
    batch_size: Option<usize>,
) -> Result<Document> {
    Ok(call.member.cursors.first_batch(Opening {
        namespace,
        rows,
        batch_size,
        end: End::WithLastRow,
        owner: call.owner()?,
        source: None,
    }))
}

fn describe(name: &str, collection: &Collection) -> Document {
    let mut document = doc! {
        "name": name,
        "type": collection.kind(),
        "options": collection.options.clone(),
        "info": { "readOnly": collection.view.is_some() },
    };
    if collection.view.is_none()
        && let Ok(info) = document.get_document_mut("info")
    {
        info.insert("uuid", collection.uuid);
    }
    if collection.kind() == "collection"
        && let Some(index) = collection.indexes.first()
    {
        document.insert("idIndex", index.spec.clone());
    }
    document
}

/// Parses `cursor.batchSize`.
pub(crate) fn cursor_batch_size(call: &Call<'_>) -> Result<Option<usize>> {
    match call.args().document("cursor")? {
        None => Ok(None),
        Some(cursor) => {
            let args = super::args::Args::new("cursor", cursor);
            args.only(&["batchSize"])?;
            args.count("batchSize")
        }
    }
}

pub(crate) fn list_databases(call: &Call<'_>) -> Result<Document> {
    let args = call.args();
    let name_only = args.flag("nameOnly", false)?;
    let empty = Document::new();
    let env = Env::of(call.deployment.profile());
    let filter = Filter::parse(args.document("filter")?.unwrap_or(&empty), &env)?;
    let rights = sasl::rights(call.deployment, call.client);
    let all = rights.allow(&Resource::Cluster, "listDatabases");
    let authorized = match args.get("authorizedDatabases") {
        Some(_) => args.flag("authorizedDatabases", false)?,
        None => !all,
    };
    if !all && !authorized {
        return Err(Error::new(
            code::UNAUTHORIZED,
            "Insufficient permissions to list all databases",
        ));
    }
    let mut databases = Vec::new();
    let mut total = 0;
    for (name, collections) in call.catalog().databases() {
        if authorized && !rights.has_access_to(name) {
            continue;
        }
        let taken = collections
            .values()
            .filter(|collection| collection.view.is_none());
        let size: i64 = taken
            .map(|collection| collection.storage_size() + collection.indexes_size())
            .sum();
        let empty = collections.values().all(|collection| collection.len() == 0);
        let full = doc! { "name": name, "sizeOnDisk": size, "empty": empty };
        if filter.matches(&full, &env)? {
            total += size;
            databases.push(Bson::Document(if name_only {
                doc! { "name": name }
            } else {
                full
            }));
        }
    }
    let mut reply = doc! { "databases": databases };
    if !name_only {
        reply.insert("totalSize", total);
        reply.insert("totalSizeMb", total / (1024 * 1024));
    }
    Ok(reply)
}

pub(crate) fn list_indexes(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    let batch_size = cursor_batch_size(call)?;
    let catalog = call.catalog();
    let collection = catalog.get(&namespace).ok_or_else(|| {
        Error::new(
            code::NAMESPACE_NOT_FOUND,
            format!("ns does not exist: {namespace}"),
        )
    })?;
    // Measurements have no index on `_id`.
    let is_listed = |index: &&Index| collection.time_field.is_none() || index.name != "_id_";
    let built = collection.indexes.iter().filter(is_listed);
    let built = built.map(|index| index.spec.clone());
    // The indexes that are being built are listed too. A standalone has no ids of builds.
    let profile = call.deployment.profile();
    let with_ids = call.args().flag("includeBuildUUIDs", false)? && profile.kind != Kind::Single;
    let building = call.deployment.index_builds.listed(&namespace, with_ids);
    let rows = built.chain(building).map(Arc::new).collect();
    Ok(doc! { "cursor": listed(call, &namespace.to_string(), rows, batch_size)? })
}

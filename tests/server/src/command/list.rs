//! `listCollections`, `listDatabases`, `listIndexes`.

use super::Call;
use crate::error::{Error, Result, code};
use crate::query::{Env, Filter};
use crate::storage::Collection;
use crate::storage::namespace::check_database;
use bson::{Bson, Document, doc};
use std::sync::Arc;

pub(crate) fn list_collections(call: &Call<'_>) -> Result<Document> {
    check_database(call.db)?;
    let args = call.args();
    let name_only = args.flag("nameOnly", false)?;
    let empty = Document::new();
    let env = Env::default();
    let filter = Filter::parse(args.document("filter")?.unwrap_or(&empty), &env)?;
    let batch_size = cursor_batch_size(call)?;
    let mut rows = Vec::new();
    for (name, collection) in call.catalog().collections(call.db) {
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
    Ok(doc! { "cursor": call.member.cursors.first_batch(&namespace, rows, batch_size, false) })
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

/// The `cursor.batchSize` of a command that gives a cursor.
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
    let env = Env::default();
    let filter = Filter::parse(args.document("filter")?.unwrap_or(&empty), &env)?;
    let mut databases = Vec::new();
    let mut total = 0;
    for (name, collections) in call.catalog().databases() {
        let size: usize = collections.values().map(|collection| collection.bytes()).sum();
        let empty = collections.values().all(|collection| collection.len() == 0);
        // As the server does for collections without data, some space counts as taken.
        let size = size as i64 + 4096 * collections.len() as i64;
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
    let rows = collection
        .indexes
        .iter()
        .map(|index| Arc::new(index.spec.clone()))
        .collect();
    Ok(doc! { "cursor": call.member.cursors.first_batch(&namespace.to_string(), rows, batch_size, false) })
}

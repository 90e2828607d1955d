//! Commands of mongos only. Sharding a collection does not change how it is stored.

use super::Call;
use super::list::cursor_batch_size;
use crate::error::{Error, Result, code};
use crate::storage::Namespace;
use crate::storage::change::Definition;
use bson::{Bson, Document, doc};

pub(crate) fn is_dbgrid(call: &Call<'_>) -> Result<Document> {
    Ok(doc! { "isdbgrid": 1, "hostname": &call.deployment.hosts[call.member.index] })
}

pub(crate) fn list_shards(_: &Call<'_>) -> Result<Document> {
    Ok(doc! { "shards": [super::system::shard()] })
}

pub(crate) fn enable(call: &Call<'_>) -> Result<Document> {
    crate::storage::namespace::check_database(call.args().required_string(call.key)?)?;
    Ok(Document::new())
}

pub(crate) fn shard_collection(call: &Call<'_>) -> Result<Document> {
    let args = call.args();
    let name = args.required_string(call.key)?;
    let key = args.required_document("key")?;
    let namespace = match name.split_once('.') {
        Some((database, collection)) => Namespace::new(database, collection)?,
        None => {
            return Err(Error::new(
                code::INVALID_NAMESPACE,
                format!("Invalid namespace specified '{name}'"),
            ));
        }
    };
    if key.is_empty() {
        return Err(Error::bad_value("The shard key cannot be empty"));
    }
    let mut catalog = call.catalog();
    catalog.get_or_create(&namespace)?;
    if let Some(collection) = catalog.shared(&namespace).cloned() {
        let description = doc! { "shardKey": key.clone(), "unique": args.flag("unique", false)?, "numInitialChunks": 0_i64 };
        catalog.define(
            &namespace,
            &collection,
            Definition::Other("shardCollection", description),
        );
    }
    Ok(doc! { "collectionsharded": name })
}

/// `checkMetadataConsistency`. Returns an empty cursor.
pub(crate) fn check_metadata(call: &Call<'_>) -> Result<Document> {
    let namespace = match call.body.get(call.key) {
        Some(Bson::String(collection)) => Namespace::new(call.db, collection)?.to_string(),
        _ => format!("{}.$cmd.aggregate", call.db),
    };
    let batch_size = cursor_batch_size(call)?;
    Ok(doc! { "cursor": super::list::listed(call, &namespace, Vec::new(), batch_size)? })
}

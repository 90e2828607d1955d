//! The collection `marula_schema`: which indexes were created from declarations, and the lease of the
//! instance that changes indexes.

use std::collections::BTreeMap;

use crate::bson::{Bson, DateTime, Document, doc};
use crate::driver::{self, options::WriteConcern};

/// The name of the collection, in the database of the models.
pub(super) const COLLECTION: &str = "marula_schema";

/// The collection, with write concern `majority`: what it contains must survive elections.
pub(super) fn collection(database: &driver::Database) -> driver::Collection<Document> {
    database
        .collection::<Document>(COLLECTION)
        .with_write_concern(WriteConcern::majority())
}

/// The recorded indexes of a collection by name, with the time since which they are hidden because no
/// model declares them any more.
pub(super) type Recorded = BTreeMap<String, Option<DateTime>>;

/// Reads what is recorded of all collections of the database.
pub(super) async fn read(database: &driver::Database) -> driver::Result<BTreeMap<String, Recorded>> {
    let mut all: BTreeMap<String, Recorded> = BTreeMap::new();
    let filter = doc! { "_id.index": { "$exists": true } };
    let mut cursor = collection(database).find(filter).await?;
    while cursor.advance().await? {
        let record: Document = cursor.deserialize_current()?;
        let Ok(id) = record.get_document("_id") else {
            continue;
        };
        if let (Ok(collection), Ok(index)) = (id.get_str("collection"), id.get_str("index")) {
            let hidden_at = record.get("hidden_at").and_then(Bson::as_datetime).copied();
            let indexes = all.entry(collection.to_owned()).or_default();
            indexes.insert(index.to_owned(), hidden_at);
        }
    }
    Ok(all)
}

fn id(collection: &str, index: &str) -> Document {
    doc! { "_id": { "collection": collection, "index": index } }
}

/// Records that indexes are created from declarations.
pub(super) async fn created(
    database: &driver::Database,
    name: &str,
    indexes: &[String],
) -> driver::Result<()> {
    for index in indexes {
        let set = doc! { "$unset": { "hidden_at": "" }, "$currentDate": { "created_at": true } };
        let record = collection(database);
        record.update_one(id(name, index), set).upsert(true).await?;
    }
    Ok(())
}

/// Records that an index is hidden because no model declares it any more.
pub(super) async fn hidden(database: &driver::Database, name: &str, index: &str) -> driver::Result<()> {
    let set = doc! { "$currentDate": { "hidden_at": true } };
    collection(database).update_one(id(name, index), set).await?;
    Ok(())
}

/// Removes the record of an index.
pub(super) async fn dropped(database: &driver::Database, name: &str, index: &str) -> driver::Result<()> {
    collection(database).delete_one(id(name, index)).await?;
    Ok(())
}

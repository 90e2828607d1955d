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

/// What is recorded of a collection.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    pub(super) indexes: Recorded,
    /// Search indexes are not hidden: the time is the one since which they are not declared.
    pub(super) search_indexes: Recorded,
}

/// Which indexes a record is about. They have names of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Index,
    Search,
}

impl Kind {
    fn field(self) -> &'static str {
        match self {
            Kind::Index => "index",
            Kind::Search => "search_index",
        }
    }
}

/// Reads what is recorded of all collections of the database.
pub(super) async fn read(database: &driver::Database) -> driver::Result<BTreeMap<String, Records>> {
    let mut all: BTreeMap<String, Records> = BTreeMap::new();
    let filter = doc! { "_id.collection": { "$exists": true } };
    let mut cursor = collection(database).find(filter).await?;
    while cursor.advance().await? {
        let record: Document = cursor.deserialize_current()?;
        let Ok(id) = record.get_document("_id") else {
            continue;
        };
        let Ok(collection) = id.get_str("collection") else {
            continue;
        };
        let since = record.get("hidden_at").and_then(Bson::as_datetime).copied();
        let records = all.entry(collection.to_owned()).or_default();
        for kind in [Kind::Index, Kind::Search] {
            if let Ok(index) = id.get_str(kind.field()) {
                let recorded = match kind {
                    Kind::Index => &mut records.indexes,
                    Kind::Search => &mut records.search_indexes,
                };
                recorded.insert(index.to_owned(), since);
            }
        }
    }
    Ok(all)
}

fn id(collection: &str, kind: Kind, index: &str) -> Document {
    doc! { "_id": { "collection": collection, kind.field(): index } }
}

/// Records that indexes are created from declarations.
pub(super) async fn created(
    database: &driver::Database,
    name: &str,
    kind: Kind,
    indexes: &[String],
) -> driver::Result<()> {
    for index in indexes {
        let set = doc! { "$unset": { "hidden_at": "" }, "$currentDate": { "created_at": true } };
        let record = collection(database);
        record.update_one(id(name, kind, index), set).upsert(true).await?;
    }
    Ok(())
}

/// Records that an index is hidden, or a search index obsolete, because no model declares it any more.
pub(super) async fn hidden(
    database: &driver::Database,
    name: &str,
    kind: Kind,
    index: &str,
) -> driver::Result<()> {
    let set = doc! { "$currentDate": { "hidden_at": true } };
    collection(database)
        .update_one(id(name, kind, index), set)
        .await?;
    Ok(())
}

/// Removes the record of an index.
pub(super) async fn dropped(
    database: &driver::Database,
    name: &str,
    kind: Kind,
    index: &str,
) -> driver::Result<()> {
    collection(database).delete_one(id(name, kind, index)).await?;
    Ok(())
}

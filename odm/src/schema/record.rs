//! The collection `marula_schema`: which indexes were created from declarations, and the lease of the
//! instance that changes indexes.

use std::collections::{BTreeMap, BTreeSet};

use crate::bson::{Bson, DateTime, Document, doc};
use crate::driver::{self, options::WriteConcern};

/// The name of the collection, in the database of the models.
pub(super) const COLLECTION: &str = "marula_schema";

/// The field of a record that names the creation in progress.
const CREATING: &str = "creating";

/// The errors after which the server may go on building an index: of an election or a shutdown, and of
/// interrupted commands (91 ShutdownInProgress, 189 PrimarySteppedDown, 10107 NotWritablePrimary,
/// 11600 InterruptedAtShutdown, 11601 Interrupted, 11602 InterruptedDueToReplStateChange).
const CONTINUED: [i32; 6] = [91, 189, 10_107, 11_600, 11_601, 11_602];

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
    /// The indexes whose creation began and was not confirmed: an instance ended meanwhile, or its
    /// connection failed. Such a record does not mean that the index was created from a declaration.
    pub(super) unconfirmed: BTreeSet<(Kind, String)>,
}

/// Which indexes a record is about. They have names of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
                if record.contains_key(CREATING) {
                    records.unconfirmed.insert((kind, index.to_owned()));
                    continue;
                }
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

/// The creation of indexes from declarations.
///
/// Its record has two steps. The first is written before the creation: if the instance ends before the
/// second, the next one finds it with the index and [confirms](confirm) it. A record of the first step
/// alone does not permit to drop an index of that name, which another client could have created.
pub(super) struct Creation<'a> {
    database: &'a driver::Database,
    collection: &'a str,
    kind: Kind,
    names: &'a [String],
    /// Identifies the creation, so that it does not remove the record of another instance.
    id: String,
}

impl<'a> Creation<'a> {
    /// Records that the creation begins. Replaces records of earlier indexes of these names.
    pub(super) async fn begin(
        database: &'a driver::Database,
        name: &'a str,
        kind: Kind,
        names: &'a [String],
    ) -> driver::Result<Self> {
        let creation = Creation {
            database,
            collection: name,
            kind,
            names,
            id: uuid::Uuid::now_v7().to_string(),
        };
        for index in names {
            let begun = doc! {
                "$set": { CREATING: &creation.id }, "$unset": { "hidden_at": "", "created_at": "" },
            };
            collection(database)
                .update_one(id(name, kind, index), begun)
                .upsert(true)
                .await?;
        }
        Ok(creation)
    }

    /// Records that the indexes exist.
    pub(super) async fn succeeded(self) -> driver::Result<()> {
        for index in self.names {
            confirm(self.database, self.collection, self.kind, index).await?;
        }
        Ok(())
    }

    /// Removes the records of indexes that were not created. If the error does not show that, they remain
    /// unconfirmed. The error of the creation is reported also if they cannot be removed: unconfirmed
    /// records have no effect on indexes that are not declared.
    pub(super) async fn failed(self, error: &driver::Error) {
        if error.code().is_none_or(|code| CONTINUED.contains(&code)) {
            return;
        }
        for index in self.names {
            let mut own = id(self.collection, self.kind, index);
            own.insert(CREATING, &self.id);
            let _ = collection(self.database).delete_one(own).await;
        }
    }
}

/// Records that an index exists that was created from a declaration.
pub(super) async fn confirm(
    database: &driver::Database,
    name: &str,
    kind: Kind,
    index: &str,
) -> driver::Result<()> {
    let confirmed = doc! {
        "$unset": { CREATING: "", "hidden_at": "" }, "$currentDate": { "created_at": true },
    };
    collection(database)
        .update_one(id(name, kind, index), confirmed)
        .upsert(true)
        .await?;
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

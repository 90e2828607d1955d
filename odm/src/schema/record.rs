//! The collection `marula_schema`: which indexes were created from declarations, and the lease of
//! the instance that changes indexes.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    base::bson::{Bson, DateTime, Document, decode_document, doc},
    driver::{
        self,
        error::code,
        options::{ReadConcern, ReadPreference, WriteConcern},
    },
    schema::Step,
};

/// The name of the collection, in the database of the models.
pub(super) const COLLECTION: &str = "marula_schema";

/// The field of a record that names the creation in progress.
const CREATING: &str = "creating";

/// The errors after which the server may go on building an index: of an election or a shutdown, of
/// interrupted commands, of the connections between a mongos and its shards, and of builds that another
/// command has started.
const CONTINUED: [i32; 16] = [
    code::HOST_UNREACHABLE,
    code::HOST_NOT_FOUND,
    code::NETWORK_TIMEOUT,
    code::SHUTDOWN_IN_PROGRESS,
    code::PRIMARY_STEPPED_DOWN,
    code::EXCEEDED_TIME_LIMIT,
    code::INDEX_BUILD_ALREADY_IN_PROGRESS,
    code::SOCKET_EXCEPTION,
    code::NOT_WRITABLE_PRIMARY,
    code::INTERRUPTED_AT_SHUTDOWN,
    code::INTERRUPTED,
    code::INTERRUPTED_DUE_TO_REPL_STATE_CHANGE,
    code::BACKGROUND_OPERATION_IN_PROGRESS_FOR_DATABASE,
    code::BACKGROUND_OPERATION_IN_PROGRESS_FOR_NAMESPACE,
    code::NOT_PRIMARY_NO_SECONDARY_OK,
    code::NOT_PRIMARY_OR_SECONDARY,
];

/// The field of a record with the time since which the index is known to exist.
const CREATED: &str = "created_at";

/// The collection, with write concern `majority`: what it contains must survive elections. Reads
/// are those of the present state, from the primary, also if the database has another read
/// preference.
pub(super) fn collection(database: &driver::Database) -> driver::Collection<Document> {
    database
        .collection::<Document>(COLLECTION)
        .with_write_concern(WriteConcern::majority())
        .with_read_concern(ReadConcern::local())
        .with_read_preference(ReadPreference::primary())
}

/// The recorded indexes of a collection by name, with the time since which they are hidden because
/// no model declares them any more.
pub(super) type Recorded = BTreeMap<String, Option<DateTime>>;

/// What is recorded of a collection.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    pub(super) indexes: Recorded,
    /// Search indexes are not hidden: the time is the one since which they are not declared.
    pub(super) search_indexes: Recorded,
    /// The indexes whose creation began and was not confirmed: an instance ended meanwhile, or its
    /// connection failed. Such a record does not mean that the index was created from a
    /// declaration.
    unconfirmed: BTreeSet<(Kind, String)>,
}

impl Records {
    /// The indexes of which a plan keeps those that it confirms: with unconfirmed records, and
    /// those that were recorded as not declared and are declared again.
    pub(super) fn unconfirmed(&self, steps: &[Step]) -> BTreeSet<(Kind, String)> {
        let mut unconfirmed = self.unconfirmed.clone();
        for step in steps {
            let (kind, name, records) = match step {
                Step::Keep { name, .. } => (Kind::Index, name, &self.indexes),
                Step::KeepSearchIndex { name, .. } => (Kind::Search, name, &self.search_indexes),
                _ => continue,
            };
            if records.get(name).is_some_and(Option::is_some) {
                unconfirmed.insert((kind, name.clone()));
            }
        }
        unconfirmed
    }
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
        let record = decode_document(cursor.current()?.as_bytes())?;
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
/// Its record has two steps. The first is written before the creation: if the instance ends before
/// the second, the next one that declares an equal index [confirms](confirm) it. A record of the
/// first step alone does not permit to drop an index of that name. After the confirmation, an index
/// with the same name and options that another client created in the meantime is not distinguished
/// from one of these.
pub(super) struct Creation<'a> {
    database: &'a driver::Database,
    collection: &'a str,
    kind: Kind,
    /// The names of the indexes, and their records before the creation.
    indexes: Vec<(&'a str, Option<Document>)>,
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
        let mut creation = Creation {
            database,
            collection: name,
            kind,
            indexes: Vec::new(),
            id: uuid::Uuid::now_v7().to_string(),
        };
        for index in names {
            let begun = doc! {
                "$set": { CREATING: &creation.id }, "$unset": { "hidden_at": "", CREATED: "" },
            };
            let before = collection(database)
                .find_one_and_update(id(name, kind, index), begun)
                .upsert(true)
                .await?;
            creation.indexes.push((index, before));
        }
        Ok(creation)
    }

    /// Records that the indexes exist.
    pub(super) async fn succeeded(self) -> driver::Result<()> {
        for (index, _) in self.indexes {
            confirm(self.database, self.collection, self.kind, index).await?;
        }
        Ok(())
    }

    /// Removes the records of indexes that were not created, and restores those of indexes that
    /// exist: another instance created them after the plan was made. If the error does not show
    /// that nothing was created, the records remain unconfirmed. The error of the creation is
    /// reported also if they cannot be changed: unconfirmed records have no effect on indexes that
    /// are not declared.
    pub(super) async fn failed(self, error: &driver::Error) {
        if error.code().is_none_or(|code| CONTINUED.contains(&code)) {
            return;
        }
        let is_confirmed = |(_, before): &(&str, Option<Document>)| {
            before.as_ref().is_some_and(|record| record.contains_key(CREATED))
        };
        let existing = if self.indexes.iter().any(is_confirmed) {
            match self.existing().await {
                Ok(existing) => existing,
                Err(_) => return,
            }
        } else {
            BTreeSet::new()
        };
        for index in self.indexes {
            let restored = is_confirmed(&index) && existing.contains(index.0);
            let (name, before) = index;
            let mut own = id(self.collection, self.kind, name);
            own.insert(CREATING, &self.id);
            let records = collection(self.database);
            let _ = match before.filter(|_| restored) {
                Some(before) => records.replace_one(own, &before).await.map(drop),
                None => records.delete_one(own).await.map(drop),
            };
        }
    }

    /// The names of the existing indexes.
    async fn existing(&self) -> driver::Result<BTreeSet<String>> {
        let indexed = self.database.collection::<Document>(self.collection);
        let names = match self.kind {
            Kind::Index => indexed.list_index_names().await?,
            Kind::Search => {
                let listing = indexed.list_search_indexes(None).with_type::<Document>();
                let listed: Vec<Document> = listing.await?.try_collect().await?;
                let name = |index: &Document| index.get_str("name").ok().map(str::to_owned);
                listed.iter().filter_map(name).collect()
            }
        };
        Ok(names.into_iter().collect())
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
        "$unset": { CREATING: "", "hidden_at": "" }, "$currentDate": { CREATED: true },
    };
    collection(database)
        .update_one(id(name, kind, index), confirmed)
        .upsert(true)
        .await?;
    Ok(())
}

/// Records that an index is hidden, or a search index obsolete, because no model declares it any
/// more.
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

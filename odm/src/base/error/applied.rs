//! What errors of schema plans contain: what was done and changed, and which documents prevent an index.

use std::fmt;

use crate::base::{
    bson::{Bson, Document},
    relaxed_json::relaxed,
};

/// What [`SchemaPlan::apply`](crate::schema::SchemaPlan::apply) has done. Indexes are
/// `database.collection` and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// The created collections, as `database.collection`. They include those that another client created
    /// after the plan was made.
    pub created_collections: Vec<String>,
    /// The collections of which options were changed.
    pub modified_collections: Vec<String>,
    /// The collections that were sharded, as `database.collection`.
    pub sharded_collections: Vec<String>,
    /// The collections to whose shard keys fields were added.
    pub refined_shard_keys: Vec<String>,
    /// The created indexes. They include those that another client created after the plan was made,
    /// and not those that another client was building then.
    pub created: Vec<(String, String)>,
    /// The indexes of which options were changed; after an error, those of which some were changed.
    pub modified: Vec<(String, String)>,
    /// The changes of these indexes in their order, each with collection and name.
    pub index_changes: Vec<(String, String, IndexChange)>,
    /// The indexes that were dropped and built again.
    pub rebuilt: Vec<(String, String)>,
    /// The obsolete indexes that were hidden.
    pub hidden: Vec<(String, String)>,
    /// The dropped indexes: obsolete ones, and, after an error, those that were not built again.
    pub dropped: Vec<(String, String)>,
    /// The created search indexes. They include those that another client created after the plan was
    /// made.
    pub created_search: Vec<(String, String)>,
    /// The search indexes whose definitions were replaced.
    pub updated_search: Vec<(String, String)>,
    /// The dropped search indexes: obsolete ones, and those that were created again with another type.
    pub dropped_search: Vec<(String, String)>,
}

impl Applied {
    fn all(&self) -> [(&'static str, &Vec<(String, String)>); 8] {
        [
            ("created", &self.created),
            ("modified", &self.modified),
            ("rebuilt", &self.rebuilt),
            ("hidden", &self.hidden),
            ("dropped", &self.dropped),
            ("dropped search index", &self.dropped_search),
            ("created search index", &self.created_search),
            ("updated search index", &self.updated_search),
        ]
    }

    fn collections(&self) -> [(&'static str, &Vec<String>); 4] {
        [
            ("created collection", &self.created_collections),
            ("modified collection", &self.modified_collections),
            ("sharded collection", &self.sharded_collections),
            ("refined shard key", &self.refined_shard_keys),
        ]
    }

    /// Adds a change of an index.
    pub(crate) fn change(&mut self, (namespace, name): (String, String), change: IndexChange) {
        let index = (namespace.clone(), name.clone());
        if !self.modified.contains(&index) {
            self.modified.push(index);
        }
        self.index_changes.push((namespace, name, change));
    }

    /// The name of an index, with its changes.
    fn shown(&self, (namespace, name): &(String, String), with_changes: bool) -> String {
        let of_index = |change: &&(String, String, IndexChange)| change.0 == *namespace && change.1 == *name;
        let changes = self.index_changes.iter().filter(of_index);
        let changes: Vec<String> = changes
            .filter(|_| with_changes)
            .map(|(_, _, change)| change.to_string())
            .collect();
        if changes.is_empty() {
            return format!("{namespace} {name}");
        }
        format!("{namespace} {name} ({})", changes.join(", "))
    }

    /// Whether nothing was done.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let applied = db.schema().register::<Order>().sync(SyncMode::Off).await?;
    /// assert!(applied.is_empty());
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let collections = self.collections().iter().all(|(_, names)| names.is_empty());
        collections && self.all().iter().all(|(_, indexes)| indexes.is_empty())
    }
}

/// `created shop.orders number_1, shop.orders status_1; dropped shop.orders old_1`
impl fmt::Display for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing to do");
        }
        let mut separator = "";
        for (what, names) in self
            .collections()
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
        {
            write!(f, "{separator}{what} {}", names.join(", "))?;
            separator = "; ";
        }
        for (what, indexes) in self.all().into_iter().filter(|(_, indexes)| !indexes.is_empty()) {
            let names: Vec<String> = indexes
                .iter()
                .map(|index| self.shown(index, what == "modified"))
                .collect();
            write!(f, "{separator}{what} {}", names.join(", "))?;
            separator = "; ";
        }
        Ok(())
    }
}

/// A change of an existing index by `collMod`, which does not build the index again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexChange {
    /// The documents expire after another time (`expireAfterSeconds`).
    ExpireAfter {
        /// The declared time.
        seconds: i64,
        /// The present time; `None` if the documents do not expire (changed by MongoDB 5.1+).
        before: Option<i64>,
    },
    /// The index is hidden from the query planner, or no longer (MongoDB 4.4+).
    Hidden(bool),
    /// The index becomes unique (MongoDB 6.0+). Writes of further duplicates are rejected while the
    /// existing documents are checked (`prepareUnique`, then `unique`).
    Unique,
    /// Writes of further duplicates are rejected (`prepareUnique`, MongoDB 6.0+). Not part of a plan: in
    /// [`Applied::index_changes`] after an error, if the index did not become unique and could not be
    /// changed back.
    PrepareUnique,
}

impl IndexChange {
    /// Whether the server deletes existing documents after the change, which expire earlier.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::schema::IndexChange;
    /// let shorter = IndexChange::ExpireAfter { seconds: 3600, before: Some(7200) };
    /// assert!(shorter.deletes_documents());
    /// ```
    #[must_use]
    pub fn deletes_documents(&self) -> bool {
        match self {
            IndexChange::ExpireAfter { seconds, before } => before.is_none_or(|before| *seconds < before),
            IndexChange::Hidden(_) | IndexChange::Unique | IndexChange::PrepareUnique => false,
        }
    }
}

impl fmt::Display for IndexChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexChange::ExpireAfter { seconds, before } => {
                write!(f, "expireAfterSeconds: ")?;
                match before {
                    Some(before) => write!(f, "{before} → {seconds}")?,
                    None => write!(f, "none → {seconds}")?,
                }
                if self.deletes_documents() {
                    f.write_str(" (deletes the documents that have expired)")?;
                }
                Ok(())
            }
            IndexChange::Hidden(hidden) => write!(f, "hidden: {} → {hidden}", !hidden),
            IndexChange::Unique => f.write_str("unique: false → true"),
            IndexChange::PrepareUnique => f.write_str("prepareUnique: false → true"),
        }
    }
}

/// A key that several documents have.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DuplicateKey {
    /// The fields of the index with their values; null for a missing field.
    pub key: Document,
    /// Number of documents with the key.
    pub count: i64,
    /// The ids of two of the documents.
    pub ids: [Bson; 2],
}

/// The documents, without the values of the key, which may be personal data.
impl fmt::Display for DuplicateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = &self.ids;
        write!(f, "{} and {}", relaxed(first), relaxed(second))?;
        match self.count - 2 {
            ..=0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

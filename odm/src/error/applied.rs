//! What errors of schema plans contain: what was done, and which documents prevent an index.

use std::fmt;

use crate::bson::{Bson, Document};
use crate::json::relaxed;

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
    /// The created indexes. They include those that another client created after the plan was made.
    pub created: Vec<(String, String)>,
    /// The indexes of which options were changed.
    pub modified: Vec<(String, String)>,
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
        let collections = self.created_collections.len() + self.modified_collections.len();
        collections == 0 && self.all().iter().all(|(_, indexes)| indexes.is_empty())
    }
}

/// `created shop.orders number_1, shop.orders status_1; dropped shop.orders old_1`
impl fmt::Display for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing to do");
        }
        let mut separator = "";
        let collections = [
            ("created collection", &self.created_collections),
            ("modified collection", &self.modified_collections),
        ];
        for (what, names) in collections.into_iter().filter(|(_, names)| !names.is_empty()) {
            write!(f, "{separator}{what} {}", names.join(", "))?;
            separator = "; ";
        }
        for (what, indexes) in self.all().into_iter().filter(|(_, indexes)| !indexes.is_empty()) {
            let names: Vec<String> = indexes.iter().map(|(of, name)| format!("{of} {name}")).collect();
            write!(f, "{separator}{what} {}", names.join(", "))?;
            separator = "; ";
        }
        Ok(())
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

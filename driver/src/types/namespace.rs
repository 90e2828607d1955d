//! Namespaces.

use std::fmt;

/// The full name of a collection, `database.collection`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Namespace {
    /// The name of the database; contains no dot.
    pub database: String,
    /// The name of the collection; may contain dots.
    pub collection: String,
}

impl Namespace {
    /// A namespace of two names. They are not validated; the server rejects invalid names with code
    /// 73 (`InvalidNamespace`).
    #[must_use]
    pub fn new(database: impl Into<String>, collection: impl Into<String>) -> Self {
        Self {
            database: database.into(),
            collection: collection.into(),
        }
    }

    /// Parses `database.collection`, split at the first dot. Returns `None` if there is no dot or a
    /// part is empty.
    #[must_use]
    pub fn parse(full: &str) -> Option<Self> {
        let (database, collection) = full.split_once('.')?;
        (!database.is_empty() && !collection.is_empty()).then(|| Self::new(database, collection))
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.database, self.collection)
    }
}

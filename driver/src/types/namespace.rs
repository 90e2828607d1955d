//! The name of a collection within a database.

use std::fmt;

/// `database.collection`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Namespace {
    /// The database's name; holds no dot.
    pub database: String,
    /// The collection's name; may hold dots.
    pub collection: String,
}

impl Namespace {
    /// Joins the two names. Nothing is checked here; the server refuses a wrong name with code 73.
    #[must_use]
    pub fn new(database: impl Into<String>, collection: impl Into<String>) -> Self {
        Self {
            database: database.into(),
            collection: collection.into(),
        }
    }

    /// Splits at the first dot.
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

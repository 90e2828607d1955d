//! Hints for the query planner.

use crate::bson::Document;

/// The index that an operation must use, by name or by key pattern. The server rejects a hint for
/// which there is no index.
///
/// ```
/// use marula_driver::{bson::doc, options::Hint};
/// let by_name = Hint::from("email_1");
/// let by_keys = Hint::from(doc! { "email": 1 });
/// assert_ne!(by_name, by_keys);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Hint {
    /// The name of the index.
    Name(String),
    /// The key pattern of the index, in order. `doc! { "$natural": 1 }` is a scan of the
    /// collection.
    Keys(Document),
}

impl From<&str> for Hint {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl From<String> for Hint {
    fn from(name: String) -> Self {
        Self::Name(name)
    }
}

impl From<Document> for Hint {
    fn from(keys: Document) -> Self {
        Self::Keys(keys)
    }
}

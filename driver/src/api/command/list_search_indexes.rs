//! [`Collection::list_search_indexes`], which runs `aggregate` ([Index Management], "Search
//! Indexes").
//!
//! [Index Management]: https://github.com/mongodb/specifications/blob/master/source/index-management/index-management.md

use std::borrow::Cow;

use super::aggregate::Aggregate;
use crate::{
    Collection,
    bson::{Document, doc},
};

impl<T> Collection<T> {
    /// Lists the search index with this name, or all search indexes. Awaiting the action returns a
    /// [`Cursor`](crate::Cursor) of documents with the fields `name`, `type`, `status`, `queryable`
    /// and `latestDefinition`. The read concern of the collection is not sent, nor that of a causally
    /// consistent session. Requires Atlas, or a deployment with `mongot`.
    pub fn list_search_indexes(&self, name: Option<&str>) -> Aggregate<'_> {
        let specification = name.map_or_else(Document::new, |name| doc! { "name": name });
        let stage = doc! { "$listSearchIndexes": specification };
        Aggregate::new(Cow::Owned(self.inner().without_read_concern()), false, [stage])
            .listing_search_indexes()
    }
}

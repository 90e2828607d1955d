//! Creating, changing, dropping and listing search indexes.

use std::borrow::Cow;

use super::{Deferred, InSession, aggregate::Aggregate, awaitable, session_setter};
use crate::{
    Result,
    api::collection::CollectionInner,
    bson::{Document, IntoDocument, RawDocumentBuf, doc},
    operation::search_indexes::{Change, ChangeSearchIndexes, SearchIndexModel},
};

/// Creates search indexes. Await it for their names; see
/// [`Collection::create_search_indexes`](crate::Collection::create_search_indexes).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct CreateSearchIndexes<'a> {
    collection: &'a CollectionInner,
    models: Vec<SearchIndexModel>,
    session: InSession<'a>,
}

impl<'a> CreateSearchIndexes<'a> {
    pub(crate) fn new(collection: &'a CollectionInner, models: Vec<SearchIndexModel>) -> Self {
        Self {
            collection,
            models,
            session: None,
        }
    }

    session_setter!();

    async fn run(self) -> Result<Vec<String>> {
        let mut operation = ChangeSearchIndexes {
            namespace: self.collection.namespace(),
            change: Change::Create(&self.models),
        };
        self.collection
            .executor()
            .run_in(self.session, &mut operation)
            .await
    }
}

/// Creates one search index. Await it for its name; see
/// [`Collection::create_search_index`](crate::Collection::create_search_index).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct CreateSearchIndex<'a>(CreateSearchIndexes<'a>);

impl<'a> CreateSearchIndex<'a> {
    pub(crate) fn new(collection: &'a CollectionInner, model: SearchIndexModel) -> Self {
        Self(CreateSearchIndexes::new(collection, vec![model]))
    }

    /// Runs in this session, and not in one of the operation's own.
    pub fn session(self, session: &'a mut crate::ClientSession) -> Self {
        Self(self.0.session(session))
    }

    async fn run(self) -> Result<String> {
        Ok(self.0.run().await?.pop().unwrap_or_default())
    }
}

/// Changes a search index. Await it; see
/// [`Collection::update_search_index`](crate::Collection::update_search_index).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct UpdateSearchIndex<'a> {
    collection: &'a CollectionInner,
    name: String,
    definition: RawDocumentBuf,
    session: InSession<'a>,
    deferred: Deferred,
}

impl<'a> UpdateSearchIndex<'a> {
    pub(crate) fn new(collection: &'a CollectionInner, name: String, definition: impl IntoDocument) -> Self {
        let mut deferred = Deferred::default();
        Self {
            collection,
            name,
            definition: deferred.document("definition", definition),
            session: None,
            deferred,
        }
    }

    session_setter!();

    async fn run(self) -> Result<()> {
        self.deferred.into_result()?;
        let mut operation = ChangeSearchIndexes {
            namespace: self.collection.namespace(),
            change: Change::Update(&self.name, &self.definition),
        };
        self.collection
            .executor()
            .run_in(self.session, &mut operation)
            .await
            .map(drop)
    }
}

/// Drops a search index. Await it; see [`Collection::drop_search_index`](crate::Collection::drop_search_index).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct DropSearchIndex<'a> {
    collection: &'a CollectionInner,
    name: String,
    session: InSession<'a>,
}

impl<'a> DropSearchIndex<'a> {
    pub(crate) fn new(collection: &'a CollectionInner, name: String) -> Self {
        Self {
            collection,
            name,
            session: None,
        }
    }

    session_setter!();

    async fn run(self) -> Result<()> {
        let mut operation = ChangeSearchIndexes {
            namespace: self.collection.namespace(),
            change: Change::Drop(&self.name),
        };
        self.collection
            .executor()
            .run_in(self.session, &mut operation)
            .await
            .map(drop)
    }
}

/// The aggregation that lists search indexes: one of this name, or all. It never has a read concern.
pub(crate) fn list_search_indexes<'a>(collection: &CollectionInner, name: Option<&str>) -> Aggregate<'a> {
    let selected = name.map_or_else(Document::new, |name| doc! { "name": name });
    let stage = doc! { "$listSearchIndexes": selected };
    Aggregate::new(Cow::Owned(collection.without_read_concern()), false, [stage])
}

awaitable!(['a] CreateSearchIndexes<'a> => Vec<String>);
awaitable!(['a] CreateSearchIndex<'a> => String);
awaitable!(['a] UpdateSearchIndex<'a> => ());
awaitable!(['a] DropSearchIndex<'a> => ());

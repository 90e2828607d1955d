//! `createSearchIndexes`: [`Collection::create_search_index`] and
//! [`Collection::create_search_indexes`] ([Index Management], "Search Indexes").
//!
//! [Index Management]: https://github.com/mongodb/specifications/blob/master/source/index-management/index-management.md

use std::{slice, time::Duration};

use serde::{Deserialize, Serialize};

use super::{InSession, awaitable, session_setter, timeout_setter};
use crate::{
    Collection, Namespace, Result,
    api::collection::CollectionInner,
    bson::{Document, exact, find_element},
    operation::{Operation, Properties, ReplyContext},
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
    },
};

/// A search index or vector search index: its definition, its name and its type. Search indexes
/// require Atlas, or a deployment with `mongot`.
///
/// ```
/// use marula_driver::{SearchIndexModel, bson::doc};
/// let model = SearchIndexModel::new(doc! { "mappings": { "dynamic": true } }).name("everything");
/// assert_eq!(model.name.as_deref(), Some("everything"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SearchIndexModel {
    /// The definition: for a search index e.g. the mappings of its fields, for a vector search
    /// index its `fields`.
    #[serde(deserialize_with = "exact::deserialize")]
    pub definition: Document,
    /// The name. Default: not sent; the server's default is `default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `type`: `search` or `vectorSearch`. Default: not sent; the server's default is `search`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// The name that the server gives to an index without one.
const DEFAULT_NAME: &str = "default";

impl SearchIndexModel {
    /// A search index with this definition.
    #[must_use]
    pub fn new(definition: Document) -> Self {
        Self {
            definition,
            ..Self::default()
        }
    }

    /// Sets [`name`](Self::name).
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets [`kind`](Self::kind).
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = Some(kind.into());
        self
    }
}

impl<T> Collection<T> {
    /// Creates a search index on the collection, which must exist. Awaiting the action returns the
    /// name of the index. The server builds the index in the background: queries can use it when
    /// [`list_search_indexes`](Self::list_search_indexes) shows `queryable: true`. The write
    /// concern of the collection is not sent. Requires Atlas, or a deployment with `mongot`.
    pub fn create_search_index(&self, model: SearchIndexModel) -> CreateSearchIndex<'_> {
        CreateSearchIndex {
            collection: self.inner(),
            model,
            session: None,
            timeout: None,
        }
    }

    /// Creates several search indexes in one command. Awaiting the action returns their names in
    /// order. As [`create_search_index`](Self::create_search_index) otherwise.
    pub fn create_search_indexes(
        &self,
        models: impl IntoIterator<Item = SearchIndexModel>,
    ) -> CreateSearchIndexes<'_> {
        CreateSearchIndexes {
            collection: self.inner(),
            models: models.into_iter().collect(),
            session: None,
            timeout: None,
        }
    }
}

/// Creates one search index. Await it for its name; see [`Collection::create_search_index`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct CreateSearchIndex<'a> {
    collection: &'a CollectionInner,
    model: SearchIndexModel,
    session: InSession<'a>,
    timeout: Option<Duration>,
}

impl<'a> CreateSearchIndex<'a> {
    session_setter!();

    timeout_setter!();

    async fn run(self) -> Result<String> {
        let mut names = create(
            self.collection,
            slice::from_ref(&self.model),
            self.session,
            self.timeout,
        )
        .await?;
        Ok(names.pop().unwrap_or_default())
    }
}

awaitable!(['a] CreateSearchIndex<'a> => String);

/// Creates search indexes. Await it for their names; see [`Collection::create_search_indexes`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct CreateSearchIndexes<'a> {
    collection: &'a CollectionInner,
    models: Vec<SearchIndexModel>,
    session: InSession<'a>,
    timeout: Option<Duration>,
}

impl<'a> CreateSearchIndexes<'a> {
    session_setter!();

    timeout_setter!();

    async fn run(self) -> Result<Vec<String>> {
        create(self.collection, &self.models, self.session, self.timeout).await
    }
}

awaitable!(['a] CreateSearchIndexes<'a> => Vec<String>);

async fn create(
    collection: &CollectionInner,
    models: &[SearchIndexModel],
    session: InSession<'_>,
    timeout: Option<Duration>,
) -> Result<Vec<String>> {
    let timeout = collection.start_timeout("createSearchIndexes", timeout, session)?;
    let mut operation = CreateSearchIndexesOperation {
        namespace: collection.namespace(),
        models,
    };
    collection
        .executor()
        .run_in(session, timeout, &mut operation)
        .await
}

/// `createSearchIndexes`. Returns the names of the indexes.
struct CreateSearchIndexesOperation<'a> {
    namespace: &'a Namespace,
    models: &'a [SearchIndexModel],
}

impl Operation for CreateSearchIndexesOperation<'_> {
    type Output = Vec<String>;

    fn properties(&self) -> Properties<'_> {
        Properties::administration("createSearchIndexes", &self.namespace.database, None)
            .without_causal_consistency()
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.namespace.collection)
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, _server: &HelloReply) -> Result<()> {
        command.str("createSearchIndexes", &self.namespace.collection);
        command.serialize("indexes", &self.models);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<Vec<String>> {
        // The indexes are created even if the reply does not name them.
        let created = find_element(reply.body, "indexesCreated").ok().flatten();
        let created = created.and_then(|created| created.value.array().ok());
        let mut created = created.into_iter().flatten().map(|index| {
            let name = find_element(index.ok()?.value.document().ok()?.as_bytes(), "name");
            Some(name.ok()??.value.str().ok()?.to_owned())
        });
        let name = |model: &SearchIndexModel| {
            let received = created.next().flatten();
            received
                .or_else(|| model.name.clone())
                .unwrap_or_else(|| DEFAULT_NAME.to_owned())
        };
        Ok(self.models.iter().map(name).collect())
    }
}

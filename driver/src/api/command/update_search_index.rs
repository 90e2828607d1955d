//! `updateSearchIndex`: [`Collection::update_search_index`] ([Index Management], "Search Indexes").
//!
//! [Index Management]: https://github.com/mongodb/specifications/blob/master/source/index-management/index-management.md

use std::time::Duration;

use super::{Deferred, InSession, awaitable, session_setter, timeout_setter};
use crate::{
    Collection, Namespace, Result,
    api::collection::CollectionInner,
    bson::{IntoDocument, RawDocument, RawDocumentBuf},
    operation::{Operation, Properties, ReplyContext},
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
    },
};

impl<T> Collection<T> {
    /// Replaces the definition of the search index with this name. The server builds the new index
    /// in the background and uses the old one until it is complete. The server returns an error if
    /// the index does not exist. Requires Atlas, or a deployment with `mongot`.
    pub fn update_search_index(
        &self,
        name: impl Into<String>,
        definition: impl IntoDocument,
    ) -> UpdateSearchIndex<'_> {
        let mut deferred = Deferred::default();
        UpdateSearchIndex {
            collection: self.inner(),
            name: name.into(),
            definition: deferred.document("definition", definition),
            deferred,
            session: None,
            timeout: None,
        }
    }
}

/// Replaces the definition of a search index. Await it; see [`Collection::update_search_index`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct UpdateSearchIndex<'a> {
    collection: &'a CollectionInner,
    name: String,
    definition: RawDocumentBuf,
    deferred: Deferred,
    session: InSession<'a>,
    timeout: Option<Duration>,
}

impl<'a> UpdateSearchIndex<'a> {
    session_setter!();

    timeout_setter!();

    async fn run(self) -> Result<()> {
        self.deferred.into_result()?;
        let timeout = self
            .collection
            .start_timeout("updateSearchIndex", self.timeout, self.session)?;
        let mut operation = UpdateSearchIndexOperation {
            namespace: self.collection.namespace(),
            name: &self.name,
            definition: &self.definition,
        };
        let executor = self.collection.executor();
        executor.run_in(self.session, timeout, &mut operation).await
    }
}

awaitable!(['a] UpdateSearchIndex<'a> => ());

/// The `updateSearchIndex` command.
struct UpdateSearchIndexOperation<'a> {
    namespace: &'a Namespace,
    name: &'a str,
    definition: &'a RawDocument,
}

impl Operation for UpdateSearchIndexOperation<'_> {
    type Output = ();

    fn properties(&self) -> Properties<'_> {
        Properties::administration("updateSearchIndex", &self.namespace.database, None)
            .without_causal_consistency()
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.namespace.collection)
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, _server: &HelloReply) -> Result<()> {
        command.str("updateSearchIndex", &self.namespace.collection);
        command.str("name", self.name);
        command.document("definition", self.definition);
        Ok(())
    }

    fn parse(&mut self, _reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<()> {
        Ok(())
    }
}

//! `dropSearchIndex`: [`Collection::drop_search_index`] ([Index Management], "Search Indexes").
//!
//! [Index Management]: https://github.com/mongodb/specifications/blob/master/source/index-management/index-management.md

use std::time::Duration;

use super::{InSession, awaitable, session_setter, timeout_setter};
use crate::{
    Collection, Error, Namespace, Result,
    api::collection::CollectionInner,
    error::code::NAMESPACE_NOT_FOUND,
    operation::{Operation, Properties, ReplyContext},
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
    },
};

impl<T> Collection<T> {
    /// Drops the search index with this name. Succeeds if the collection does not exist; the server
    /// returns an error if the collection has no such index. Requires Atlas, or a deployment with
    /// `mongot`.
    pub fn drop_search_index(&self, name: impl Into<String>) -> DropSearchIndex<'_> {
        DropSearchIndex {
            collection: self.inner(),
            name: name.into(),
            session: None,
            timeout: None,
        }
    }
}

/// Drops a search index. Await it; see [`Collection::drop_search_index`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct DropSearchIndex<'a> {
    collection: &'a CollectionInner,
    name: String,
    session: InSession<'a>,
    timeout: Option<Duration>,
}

impl<'a> DropSearchIndex<'a> {
    session_setter!();

    timeout_setter!();

    async fn run(self) -> Result<()> {
        let timeout = self
            .collection
            .start_timeout("dropSearchIndex", self.timeout, self.session)?;
        let mut operation = DropSearchIndexOperation {
            namespace: self.collection.namespace(),
            name: &self.name,
        };
        let executor = self.collection.executor();
        executor.run_in(self.session, timeout, &mut operation).await
    }
}

awaitable!(['a] DropSearchIndex<'a> => ());

/// The `dropSearchIndex` command.
struct DropSearchIndexOperation<'a> {
    namespace: &'a Namespace,
    name: &'a str,
}

impl Operation for DropSearchIndexOperation<'_> {
    type Output = ();

    fn properties(&self) -> Properties<'_> {
        Properties::administration("dropSearchIndex", &self.namespace.database, None)
            .without_causal_consistency()
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.namespace.collection)
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, _server: &HelloReply) -> Result<()> {
        command.str("dropSearchIndex", &self.namespace.collection);
        command.str("name", self.name);
        Ok(())
    }

    fn parse(&mut self, _reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<()> {
        Ok(())
    }

    fn recover(&mut self, error: Error) -> Result<()> {
        if error.code() == Some(NAMESPACE_NOT_FOUND) {
            Ok(())
        } else {
            Err(error)
        }
    }
}

//! `estimated_document_count`.

use std::time::Duration;

use super::{InSession, awaitable, session_setter, setters};
use crate::{
    Result,
    api::collection::CollectionInner,
    bson::Bson,
    operation::count::{self, CountOptions},
};

/// Counts from metadata. Await it; see
/// [`Collection::estimated_document_count`](crate::Collection::estimated_document_count).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct EstimatedDocumentCount<'a> {
    collection: &'a CollectionInner,
    options: CountOptions,
    session: InSession<'a>,
}

impl<'a> EstimatedDocumentCount<'a> {
    pub(crate) fn new(collection: &'a CollectionInner) -> Self {
        Self {
            collection,
            options: CountOptions::default(),
            session: None,
        }
    }

    setters! {
        /// For MongoDB's own tools: work on the collection's storage as it is (server 8.2). Older servers are not told.
        #[doc(hidden)]
        raw_data: plain = bool;
        /// How long the server may work on the operation; it then answers with code 50.
        /// Zero means no limit, even where the cluster has a default limit (`defaultMaxTimeMS`).
        max_time: plain = Duration;
        /// A note that shows up in the server's logs and profiler.
        comment: value = Bson;
    }

    session_setter!();

    async fn run(self) -> Result<u64> {
        let mut operation = count::Count {
            scope: self.collection.read_scope(),
            options: &self.options,
        };
        self.collection
            .executor()
            .run_in(self.session, &mut operation)
            .await
    }
}

awaitable!(['a] EstimatedDocumentCount<'a> => u64);

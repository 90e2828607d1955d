//! `distinct`.

use std::time::Duration;

use super::{Deferred, InSession, awaitable, session_setter, setters};
use crate::{
    Result,
    api::collection::CollectionInner,
    bson::{Bson, IntoDocument},
    operation::distinct::{self, DistinctOptions},
    types::{collation::Collation, hint::Hint},
};

/// Finds the distinct values of a field. Await it; see [`Collection::distinct`](crate::Collection::distinct).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct Distinct<'a> {
    collection: &'a CollectionInner,
    field: String,
    options: DistinctOptions,
    deferred: Deferred,
    session: InSession<'a>,
}

impl<'a> Distinct<'a> {
    pub(crate) fn new(collection: &'a CollectionInner, field: String, filter: impl IntoDocument) -> Self {
        let mut deferred = Deferred::default();
        Self {
            collection,
            field,
            options: DistinctOptions {
                filter: deferred.document("filter", filter),
                ..DistinctOptions::default()
            },
            deferred,
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
        /// How strings compare.
        collation: boxed = Collation;
        /// A note that shows up in the server's logs and profiler.
        comment: boxed = Bson;
        /// The index the server must use, by name or by keys (server 7.1).
        hint: boxed = Hint;
    }

    session_setter!();

    async fn run(&mut self) -> Result<Vec<Bson>> {
        self.deferred.take_result()?;
        let mut operation = distinct::Distinct {
            scope: self.collection.read_scope(),
            field: &self.field,
            options: &self.options,
        };
        self.collection
            .executor()
            .run_in(self.session, &mut operation)
            .await
    }
}

awaitable!(in place ['a] Distinct<'a> => Vec<Bson>);

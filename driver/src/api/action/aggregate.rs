//! `aggregate`, on a collection or a database.

use std::{marker::PhantomData, time::Duration};

use super::{Deferred, InSession, awaitable, session_setter, setters};
use crate::{
    Cursor, Result,
    api::collection::CollectionInner,
    bson::{Bson, Document, IntoDocument},
    operation::aggregate::{self, AggregateOptions},
    types::{collation::Collation, hint::Hint},
};

/// Runs an aggregation pipeline. Await it for a [`Cursor`]; see [`Collection::aggregate`](crate::Collection::aggregate).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct Aggregate<'a, T = Document> {
    collection: std::borrow::Cow<'a, CollectionInner>,
    whole_database: bool,
    options: AggregateOptions,
    deferred: Deferred,
    output: PhantomData<fn() -> T>,
    session: InSession<'a>,
}

impl<'a> Aggregate<'a> {
    pub(crate) fn new<D: IntoDocument>(
        collection: std::borrow::Cow<'a, CollectionInner>,
        whole_database: bool,
        pipeline: impl IntoIterator<Item = D>,
    ) -> Self {
        let mut deferred = Deferred::default();
        Self {
            collection,
            whole_database,
            options: AggregateOptions {
                pipeline: deferred.documents("pipeline", pipeline),
                ..AggregateOptions::default()
            },
            deferred,
            output: PhantomData,
            session: None,
        }
    }
}

impl<'a, T> Aggregate<'a, T> {
    setters! {
        /// For MongoDB's own tools: work on the collection's storage as it is (server 8.2). Older servers are not told.
        #[doc(hidden)]
        raw_data: plain = bool;
        /// How many documents the server sends at a time.
        batch_size: plain = u32;
        /// Allow stages to use the disk.
        allow_disk_use: plain = bool;
        /// Skip the target collection's schema validation in `$out` and `$merge`.
        bypass_document_validation: plain = bool;
        /// How long the server may work on the operation; it then answers with code 50.
        /// Zero means no limit, even where the cluster has a default limit (`defaultMaxTimeMS`).
        max_time: plain = Duration;
        /// How long a getMore of a tailable cursor may wait for news.
        max_await_time: plain = Duration;
        /// The index the server must use, by name or by keys.
        hint: boxed = Hint;
        /// How strings compare.
        collation: boxed = Collation;
        /// A note that shows up in the server's logs and profiler.
        comment: boxed = Bson;
        /// Variables for the pipeline, read as `$$name`.
        let_vars: document;
    }

    pub(crate) fn in_session(mut self, session: InSession<'a>) -> Self {
        self.session = session;
        self
    }

    /// Decodes the results as `U`.
    pub fn with_type<U>(self) -> Aggregate<'a, U> {
        Aggregate {
            collection: self.collection,
            whole_database: self.whole_database,
            options: self.options,
            deferred: self.deferred,
            output: PhantomData,
            session: self.session,
        }
    }

    session_setter!();

    async fn run(&mut self) -> Result<Cursor<T>> {
        self.deferred.take_result()?;
        let mut operation = aggregate::Aggregate {
            scope: self.collection.read_scope(),
            whole_database: self.whole_database,
            options: &self.options,
            write_concern: self.collection.write_concern(),
        };
        let reply = self
            .collection
            .executor()
            .run_in(self.session, &mut operation)
            .await?;
        let mut cursor = Cursor::new(
            self.collection.client(),
            reply,
            self.options.batch_size,
            self.options.comment.take().map(|comment| *comment),
        )
        .in_session(self.session);
        cursor.max_await_time(self.options.max_await_time);
        Ok(cursor)
    }
}

awaitable!(in place ['a, T: 'a] Aggregate<'a, T> => Cursor<T>);

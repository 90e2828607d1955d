//! `find` and `find_one`.

use std::{marker::PhantomData, time::Duration};

use serde::de::DeserializeOwned;

use super::{Deferred, InSession, awaitable, session_setter, setters};
use crate::{
    Collection, Cursor, Result,
    api::collection::CollectionInner,
    bson::{Bson, IntoDocument},
    operation::find::{self, FindOptions},
    types::{collation::Collation, hint::Hint},
};

/// Finds documents. Await it for a [`Cursor`]; see [`Collection::find`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct Find<'a, T> {
    collection: &'a Collection<T>,
    options: FindOptions,
    deferred: Deferred,
    session: InSession<'a>,
}

/// Finds one document. Await it; see [`Collection::find_one`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct FindOne<'a, T> {
    collection: &'a CollectionInner,
    options: FindOptions,
    deferred: Deferred,
    session: InSession<'a>,
    document: PhantomData<fn() -> T>,
}

fn options(filter: impl IntoDocument) -> (FindOptions, Deferred) {
    let mut deferred = Deferred::default();
    let options = FindOptions {
        filter: deferred.document("filter", filter),
        ..FindOptions::default()
    };
    (options, deferred)
}

macro_rules! common_setters {
    () => {
        setters! {
            /// For MongoDB's own tools: work on the collection's storage as it is (server 8.2). Older servers are not told.
            #[doc(hidden)]
            raw_data: plain = bool;
            /// The order of the documents, e.g. `doc! { "age": -1, "name": 1 }`.
            sort: document;
            /// Which fields are returned.
            projection: document;
            /// How many documents are skipped first.
            skip: plain = u64;
            /// The index the server must use, by name or by keys.
            hint: boxed = Hint;
            /// How strings compare.
            collation: boxed = Collation;
            /// A note that shows up in the server's logs and profiler.
            comment: boxed = Bson;
            /// How long the server may work on the operation; it then answers with code 50.
            /// Zero means no limit, even where the cluster has a default limit (`defaultMaxTimeMS`).
            max_time: plain = Duration;
            /// Variables for `$expr`, read as `$$name`.
            let_vars: document;
            /// Lower bound of an index scan; needs a hint.
            min: document;
            /// Upper bound of an index scan, itself excluded; needs a hint.
            max: document;
            /// Return only the indexed fields.
            return_key: plain = bool;
            /// Add the record's id as `$recordId`.
            show_record_id: plain = bool;
            /// On a sharded cluster, return what can be had when a shard is down.
            allow_partial_results: plain = bool;
            /// Allow the server to sort on disk.
            allow_disk_use: plain = bool;
        }
    };
}

impl<'a, T> Find<'a, T> {
    pub(crate) fn new(collection: &'a Collection<T>, filter: impl IntoDocument) -> Self {
        let (options, deferred) = options(filter);
        Self {
            collection,
            options,
            deferred,
            session: None,
        }
    }

    common_setters!();
    setters! {
        /// At most this many documents; negative: at most `-limit`, in one batch; 0: all.
        limit: plain = i64;
        /// How many documents the server sends at a time. Its default is 101, then as many as fit 16 MiB.
        batch_size: plain = u32;
        /// Keep an idle cursor open beyond the server's 10 minutes.
        no_cursor_timeout: plain = bool;
    }

    session_setter!();

    async fn run(&mut self) -> Result<Cursor<T>> {
        self.deferred.take_result()?;
        let inner = self.collection.inner();
        let mut operation = find::Find {
            scope: inner.read_scope(),
            options: &self.options,
        };
        let reply = inner.executor().run_in(self.session, &mut operation).await?;
        let mut cursor = Cursor::new(
            inner.client(),
            reply,
            self.options.batch_size,
            self.options.comment.take().map(|comment| *comment),
        )
        .in_session(self.session);
        cursor.limit_total(self.options.limit);
        Ok(cursor)
    }
}

impl<'a, T: DeserializeOwned + 'static> FindOne<'a, T> {
    pub(crate) fn new(collection: &'a Collection<T>, filter: impl IntoDocument) -> Self {
        let (options, deferred) = options(filter);
        Self {
            collection: collection.inner(),
            options,
            deferred,
            session: None,
            document: PhantomData,
        }
    }

    common_setters!();

    session_setter!();

    /// The same query, with the document read as another type.
    pub fn with_type<U>(self) -> FindOne<'a, U> {
        FindOne {
            collection: self.collection,
            options: self.options,
            deferred: self.deferred,
            session: self.session,
            document: PhantomData,
        }
    }

    async fn run(&mut self) -> Result<Option<T>> {
        self.deferred.take_result()?;
        let inner = self.collection;
        let mut operation = find::FindOne {
            scope: inner.read_scope(),
            options: &self.options,
            document: PhantomData,
        };
        inner.executor().run_in(self.session, &mut operation).await
    }
}

awaitable!(in place ['a, T: Send + Sync + 'a] Find<'a, T> => Cursor<T>);
awaitable!(in place ['a, T: DeserializeOwned + Send + Sync + 'static] FindOne<'a, T> => Option<T>);

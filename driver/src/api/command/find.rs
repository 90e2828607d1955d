//! `find`: [`Collection::find`] and [`Collection::find_one`] ([Find, getMore and killCursors
//! Commands]).
//!
//! [Find, getMore and killCursors Commands]:
//!     https://github.com/mongodb/specifications/blob/master/source/find_getmore_killcursors_commands/find_getmore_killcursors_commands.md

use std::{borrow::Cow, marker::PhantomData};

use serde::de::DeserializeOwned;

use super::shown::{FieldNames, debug_without_values};
use super::{
    Deferred, InSession, awaitable, check_read_concern,
    declare::{define_options, option_setters},
    explain::{Explain, Explained, ExplainedCursor, explain_method},
    session_setter,
    wire::WriteOptions,
};
use crate::{
    Collection, Cursor, Result,
    api::{collection::CollectionInner, cursor::CursorTimeoutOptions},
    bson::{IntoDocument, RawDocumentBuf},
    operation::{
        Operation, OperationOverrides, Properties, ReadScope, ReplyContext,
        cursor::{self, CursorReply},
        decode_owned,
    },
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        timeout::MaxTime,
    },
    types::{
        collation::Collation, cursor_type::CursorType, hint::Hint, server_requirement::ServerRequirement,
    },
};

/// The options of `find`, in the order of the fields of the command.
/// See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __find_options {
    ($then:path { $($arguments:tt)* }) => {
        $crate::__query_options! { $then { $($arguments)* }
            /// The sort order, e.g. `doc! { "age": -1, "name": 1 }`. Default: none, the order is
            /// undefined.
            [driver] sort: document = "sort";
            /// The fields to return, e.g. `doc! { "name": 1, "_id": 0 }`. Default: all fields.
            [driver] projection: document = "projection";
            /// The number of matching documents to skip. Default: 0.
            skip: plain u64 => write_skip;
            /// The maximum number of documents to return. A negative number returns at most its
            /// absolute value, in a single batch, and closes the cursor. Default: 0, no limit.
            [cursor driver] limit: plain i64 => write_limits;
            /// How the timeout applies to the cursor. An error without a timeout. Default:
            /// `CursorLifetime`.
            [cursor driver] timeout_mode: plain $crate::options::TimeoutMode;
            /// The number of documents per batch. Default, and 0: the server's, 101 documents in the
            /// first batch and 16 MiB in each later batch.
            [cursor] batch_size: plain u32;
            /// The exclusive upper bound of the index scan, one value per field of the index, e.g.
            /// `doc! { "age": 65 }`. Requires `hint`. Default: none.
            [driver] max: boxed_document = "max";
            /// The inclusive lower bound of the index scan, one value per field of the index, e.g.
            /// `doc! { "age": 18 }`. Requires `hint`. Default: none.
            [driver] min: boxed_document = "min";
            /// Return only the index keys of the documents. Default: `false`.
            [driver] return_key: plain bool = "returnKey";
            /// Add the record ID to each document, as `$recordId`. Default: `false`.
            [driver] show_record_id: plain bool = "showRecordId";
            /// Do not close the cursor on the server after 10 minutes of inactivity. Default:
            /// `false`.
            [cursor] no_cursor_timeout: plain bool = "noCursorTimeout";
            /// Whether the cursor stays open at the end of a capped collection and returns later
            /// documents; see [tailable cursors](crate::Cursor#tailable-cursors). Default: it ends.
            [cursor driver] cursor_type: plain $crate::options::CursorType => write_cursor_type;
            /// `maxTimeMS` of getMore: how long the server waits for documents of a cursor of the
            /// type [`TailableAwait`](crate::options::CursorType::TailableAwait), sent in whole
            /// milliseconds (at least 1). Other cursors ignore it. Default: the server's, 1 second.
            [cursor driver] max_await_time: plain std::time::Duration;
            /// On a sharded cluster, return partial results if shards are unavailable. Default:
            /// `false`.
            allow_partial_results: plain bool = "allowPartialResults";
            /// Allow the server to write temporary files for a sort that exceeds 100 MB of memory
            /// (MongoDB 4.4+). Default: the server's, `true` in MongoDB 6.0+.
            allow_disk_use: plain bool = "allowDiskUse" [needs (4, 4)];
            /// Variables for expressions, e.g. `doc! { "least": 5 }`, used as `$$least` in `$expr`
            /// (MongoDB 5.0+). Default: none.
            let_vars: boxed_document = "let" [needs (5, 0)];
        }
    };
}

crate::__find_options! { define_options {
    /// Options of [`Collection::find`] and [`Collection::find_one`]; the latter ignores `limit`,
    /// `batch_size`, `no_cursor_timeout`, `cursor_type` and `max_await_time`.
    ///
    /// ```no_run
    /// # use marula_driver::{Collection, Result, bson::Document};
    /// # async fn run(books: Collection<Document>) -> Result<()> {
    /// use marula_driver::{bson::doc, options::FindOptions};
    /// let newest = FindOptions::default().sort(doc! { "year": -1 }).limit(10);
    /// let novels = books.find(doc! { "kind": "novel" }).with_options(newest.clone()).await?;
    /// let poems = books.find(doc! { "kind": "poem" }).with_options(newest).await?;
    /// # Ok(()) }
    /// ```
    pub struct FindOptions;
} }

/// For the ODM, which adds to the sort and compares the options with declared indexes.
#[doc(hidden)]
impl FindOptions {
    #[must_use]
    pub fn __sort(&self) -> Option<&RawDocumentBuf> {
        self.sort.as_ref()
    }

    /// Whether an option changes which fields the documents have.
    #[must_use]
    pub fn __changes_fields(&self) -> bool {
        self.projection.is_some() || self.return_key == Some(true)
    }

    /// The time limit of the call.
    #[must_use]
    pub fn __timeout(&self) -> Option<std::time::Duration> {
        self.timeout
    }

    /// The name of an option that selects documents or returns others than they are, which an aggregation does not have.
    #[must_use]
    pub fn __only_of_find(&self) -> Option<&'static str> {
        let options = [
            ("min", self.min.is_some()),
            ("max", self.max.is_some()),
            ("return_key", self.return_key == Some(true)),
            ("show_record_id", self.show_record_id == Some(true)),
        ];
        options
            .into_iter()
            .find_map(|(name, is_set)| is_set.then_some(name))
    }

    /// The numbers of documents to skip and to return, where there are any.
    #[must_use]
    pub fn __range(&self) -> (Option<i64>, Option<i64>) {
        let skip = self.skip.filter(|skip| *skip > 0);
        let limit = self.limit.filter(|limit| *limit != 0);
        (
            skip.map(|skip| i64::try_from(skip).unwrap_or(i64::MAX)),
            limit.map(|limit| limit.checked_abs().unwrap_or(i64::MAX)),
        )
    }

    #[must_use]
    pub fn __hint(&self) -> Option<&Hint> {
        self.hint.as_deref()
    }

    #[must_use]
    pub fn __collation(&self) -> Option<&Collation> {
        self.collation.as_deref()
    }
}

impl FindOptions {
    fn write_skip(&self, command: &mut CommandBuilder<'_>, _server: &HelloReply) {
        if let Some(skip) = self.skip.filter(|skip| *skip > 0) {
            command.i64("skip", i64::try_from(skip).unwrap_or(i64::MAX));
        }
    }

    fn write_cursor_type(&self, command: &mut CommandBuilder<'_>, _server: &HelloReply) {
        match self.cursor_type.unwrap_or_default() {
            CursorType::NonTailable => {}
            CursorType::Tailable => command.bool("tailable", true),
            CursorType::TailableAwait => {
                command.bool("tailable", true);
                command.bool("awaitData", true);
            }
        }
    }

    /// Writes `limit`, `batchSize` and `singleBatch` (Find, getMore and killCursors Commands,
    /// "Mapping OP_QUERY behavior to the find command limit and batchSize fields").
    fn write_limits(&self, command: &mut CommandBuilder<'_>, _server: &HelloReply) {
        let limit = self.limit.unwrap_or(0);
        if limit != 0 {
            command.i64("limit", limit.saturating_abs());
        }
        if let Some(size) = self.batch_size.filter(|size| *size > 0) {
            // If the batch size is equal to the limit, MongoDB 5.0+ leaves the cursor open after
            // the last document. With a larger batch size it closes the cursor in its first reply.
            let size = i64::from(size);
            let adjusted = if size == limit { size + 1 } else { size };
            command.i64("batchSize", adjusted);
        }
        if limit < 0 {
            command.bool("singleBatch", true);
        }
    }
}

impl<T> Collection<T> {
    /// Queries the documents that match the filter; `doc! {}` matches all. Awaiting the action
    /// returns a [`Cursor`] with the first batch.
    pub fn find(&self, filter: impl IntoDocument) -> Find<'_, T> {
        let mut deferred = Deferred::default();
        Find {
            collection: self,
            filter: deferred.document("filter", filter),
            deferred,
            options: FindOptions::default(),
            session: self.inner().session(),
        }
    }
}

impl<T: DeserializeOwned + 'static> Collection<T> {
    /// Queries one document that matches the filter: the first in the order of
    /// [`sort`](FindOne::sort), without it any of them. Awaiting the action returns `None` if no
    /// document matches.
    pub fn find_one(&self, filter: impl IntoDocument) -> FindOne<'_, T> {
        let mut deferred = Deferred::default();
        FindOne {
            collection: self.inner(),
            filter: deferred.document("filter", filter),
            deferred,
            options: FindOptions::default(),
            session: self.inner().session(),
            document: PhantomData,
        }
    }
}

/// Queries documents. Await it for a [`Cursor`]; see [`Collection::find`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Find<'a, T> {
    collection: &'a Collection<T>,
    filter: RawDocumentBuf,
    deferred: Deferred,
    options: FindOptions,
    session: InSession<'a>,
}

debug_without_values! {
    [T] Find<'_, T>, "Find", |it|
    namespace: it.collection.namespace(), filter: FieldNames(&it.filter), options: it.options
}

impl<'a, T> Find<'a, T> {
    crate::__find_options! { option_setters { FindOptions } }

    session_setter!();

    explain_method! {
        pub fn explain(self) -> Explain<'a> {
            let Self { collection, filter, deferred, options, session } = self;
            let cursor = ExplainedCursor {
                timeout_mode: options.timeout_mode,
                cursor_type: options.cursor_type.unwrap_or_default(),
                max_await_time: options.max_await_time,
            };
            explain(collection.inner(), session, filter, deferred, options).with_cursor(cursor)
        }
    }

    async fn run(&mut self) -> Result<Cursor<T>> {
        self.deferred.take_result()?;
        self.options.deferred.take_result()?;
        check_read_concern(self.session, self.options.read_concern.as_deref())?;
        let inner = self.collection.inner();
        let timeout = CursorTimeoutOptions {
            mode: self.options.timeout_mode,
            cursor_type: self.options.cursor_type.unwrap_or_default(),
            max_await_time: self.options.max_await_time,
            ..inner.cursor_timeout("find", self.session, self.options.timeout)?
        }
        .start(self.session)?;
        let mut operation = FindOperation::new(inner, &self.filter, &self.options);
        operation.has_max_time = timeout.has_max_time();
        let reply = inner
            .executor()
            .run_in(self.session, timeout.of_operation(), &mut operation)
            .await?;
        let mut cursor = Cursor::new(
            inner.client(),
            reply,
            self.options.batch_size,
            self.options.comment.take().map(|comment| *comment),
        )
        .in_session(self.session)
        .with_time_limit(timeout);
        cursor.limit_total(self.options.limit);
        if self.options.cursor_type == Some(CursorType::TailableAwait) {
            cursor.max_await_time(self.options.max_await_time);
        }
        Ok(cursor)
    }
}

/// Queries one document. Await it for an [`Option`] of the document; see [`Collection::find_one`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct FindOne<'a, T> {
    collection: &'a CollectionInner,
    filter: RawDocumentBuf,
    deferred: Deferred,
    options: FindOptions,
    session: InSession<'a>,
    document: PhantomData<fn() -> T>,
}

debug_without_values! {
    [T] FindOne<'_, T>, "FindOne", |it|
    namespace: it.collection.namespace(), filter: FieldNames(&it.filter), options: it.options
}

impl<'a, T: DeserializeOwned + 'static> FindOne<'a, T> {
    crate::__find_options! { option_setters { FindOptions without cursor } }

    session_setter!();

    /// Deserializes the document as `U` instead of the document type of the collection.
    pub fn with_type<U>(self) -> FindOne<'a, U> {
        FindOne {
            collection: self.collection,
            filter: self.filter,
            deferred: self.deferred,
            options: self.options,
            session: self.session,
            document: PhantomData,
        }
    }

    explain_method! {
        pub fn explain(self) -> Explain<'a> {
            let Self { collection, filter, deferred, mut options, session, .. } = self;
            limit_to_one(&mut options);
            explain(collection, session, filter, deferred, options)
        }
    }

    async fn run(&mut self) -> Result<Option<T>> {
        self.deferred.take_result()?;
        self.options.deferred.take_result()?;
        check_read_concern(self.session, self.options.read_concern.as_deref())?;
        limit_to_one(&mut self.options);
        let inner = self.collection;
        let timeout = inner.start_timeout("find", self.options.timeout, self.session)?;
        let mut operation = FindOneOperation {
            find: FindOperation::new(inner, &self.filter, &self.options),
            document: PhantomData,
        };
        inner
            .executor()
            .run_in(self.session, timeout, &mut operation)
            .await
    }
}

awaitable!(in place ['a, T: Send + Sync + 'a] Find<'a, T> => Cursor<T>);
awaitable!(in place ['a, T: DeserializeOwned + Send + Sync + 'static] FindOne<'a, T> => Option<T>);

/// The options of a query of one document: `limit: 1` and `singleBatch: true`.
fn limit_to_one(options: &mut FindOptions) {
    options.limit = Some(-1);
    options.batch_size = None;
    options.no_cursor_timeout = None;
    options.cursor_type = None;
}

fn explain<'a>(
    collection: &'a CollectionInner,
    session: InSession<'a>,
    filter: RawDocumentBuf,
    deferred: Deferred,
    mut options: FindOptions,
) -> Explain<'a> {
    let (max_time, timeout) = (options.max_time, options.timeout);
    let requires = options.requires.take();
    let errors = [deferred, std::mem::take(&mut options.deferred)];
    let explained = Explained::Read(options.read_concern.take(), options.read_preference.take());
    Explain::new(
        Cow::Borrowed(collection),
        session,
        errors,
        explained,
        move |collection, command, server| {
            FindOperation::new(collection, &filter, &options).build(command, server)
        },
    )
    .requiring(requires)
    .with_limits(max_time, timeout)
}

/// The `find` command, returning a cursor.
struct FindOperation<'a> {
    scope: ReadScope<'a>,
    filter: &'a RawDocumentBuf,
    options: &'a FindOptions,
    has_max_time: bool,
}

impl<'a> FindOperation<'a> {
    fn new(collection: &'a CollectionInner, filter: &'a RawDocumentBuf, options: &'a FindOptions) -> Self {
        Self {
            scope: collection.read_scope(
                options.read_concern.as_deref(),
                options.read_preference.as_deref(),
            ),
            filter,
            options,
            has_max_time: true,
        }
    }
}

impl Operation for FindOperation<'_> {
    type Output = CursorReply;

    fn properties(&self) -> Properties<'_> {
        self.scope.properties("find")
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.scope.namespace.collection)
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn requirement(&self) -> Option<&ServerRequirement> {
        self.options.requirement()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        command.str("find", &self.scope.namespace.collection);
        command.document("filter", self.filter);
        self.options.write(command, server);
        command.read_concern(self.scope.read_concern);
        Ok(())
    }

    fn max_time(&self) -> MaxTime {
        MaxTime::of_operation(self.has_max_time)
    }

    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<CursorReply> {
        cursor::parse(reply, context)
    }

    fn cursor(output: &mut CursorReply) -> Option<&mut CursorReply> {
        Some(output)
    }
}

/// The `find` command for at most one document, which is deserialized from the reply.
struct FindOneOperation<'a, T> {
    find: FindOperation<'a>,
    document: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + 'static> Operation for FindOneOperation<'_, T> {
    type Output = Option<T>;

    fn properties(&self) -> Properties<'_> {
        self.find.properties()
    }

    fn collection(&self) -> Option<&str> {
        self.find.collection()
    }

    fn overrides(&self) -> OperationOverrides {
        self.find.overrides()
    }

    fn requirement(&self) -> Option<&ServerRequirement> {
        self.find.requirement()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        self.find.build(command, server)
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<Option<T>> {
        match cursor::first_document(reply)? {
            Some(bytes) => decode_owned(bytes).map(Some),
            None => Ok(None),
        }
    }
}

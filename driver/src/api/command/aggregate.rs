//! `aggregate`: [`Collection::aggregate`] and [`Database::aggregate`] ([CRUD specification]).
//!
//! [CRUD specification]: https://github.com/mongodb/specifications/blob/master/source/crud/crud.md

use std::{borrow::Cow, marker::PhantomData};

use super::shown::debug_without_values;
use super::{
    Deferred, InSession, awaitable, check_read_concern,
    declare::{define_options, option_setters},
    explain::{Explain, Explained, ExplainedCursor, explain_method},
    session_setter,
    wire::WriteOptions,
};
use crate::{
    Collection, Cursor, Database, Error, Result,
    api::{collection::CollectionInner, cursor::CursorTimeoutOptions},
    bson::{Document, IntoDocument, RawDocumentBuf},
    operation::{
        Operation, OperationOverrides, Properties, ReadScope, ReplyContext, Retry,
        cursor::{self, CursorReply},
        write_result,
    },
    options::FindOptions,
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        retry::Intent,
        server_selection::Criteria,
        timeout::MaxTime,
    },
    types::{concern::WriteConcern, server_requirement::ServerRequirement, timeout_mode::TimeoutMode},
};

/// The options of `aggregate`. See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __aggregate_options {
    ($then:path { $($arguments:tt)* }) => {
        $crate::__query_options! { $then { $($arguments)* }
            /// How the timeout applies to the cursor. An error without a timeout. Default:
            /// `CursorLifetime`; `Iteration` is an error with `$out` and `$merge`.
            timeout_mode: plain $crate::options::TimeoutMode;
            /// The number of documents per batch. 0 requests an empty first batch, and is not sent
            /// with `$out` and `$merge`. Default: the server's, 101 documents in the first batch
            /// and 16 MiB in each later batch.
            batch_size: plain u32;
            /// Allow stages to write temporary files if they exceed 100 MB of memory. Default: the
            /// server's, `true` in MongoDB 6.0+.
            allow_disk_use: plain bool = "allowDiskUse";
            /// Skip schema validation of the target collection of `$out` and `$merge`. Default:
            /// `false`.
            bypass_document_validation: plain bool = "bypassDocumentValidation";
            /// `maxTimeMS` of getMore: how long the server waits for documents of a tailable
            /// cursor, sent in whole milliseconds (at least 1). Default: the server's, 1 second.
            [driver] max_await_time: plain std::time::Duration;
            /// Variables for the pipeline, e.g. `doc! { "least": 5 }`, used as `$$least` (MongoDB
            /// 5.0+). Default: none.
            let_vars: boxed_document = "let" [needs (5, 0)];
            /// The write concern of a pipeline with `$out` or `$merge`. Default: that of the
            /// collection or database.
            write_concern: write_concern;
        }
    };
}

crate::__aggregate_options! { define_options {
    /// Options of [`Collection::aggregate`] and [`Database::aggregate`].
    pub struct AggregateOptions;
} }

/// The options of a query that an aggregation of its documents has, too.
impl From<&FindOptions> for AggregateOptions {
    fn from(options: &FindOptions) -> Self {
        Self {
            hint: options.hint.clone(),
            collation: options.collation.clone(),
            comment: options.comment.clone(),
            max_time: options.max_time,
            timeout: options.timeout,
            let_vars: options.let_vars.clone(),
            allow_disk_use: options.allow_disk_use,
            raw_data: options.raw_data,
            read_concern: options.read_concern.clone(),
            read_preference: options.read_preference.clone(),
            requires: options.requires.clone(),
            deferred: options.deferred.clone(),
            ..Self::default()
        }
    }
}

impl<T> Collection<T> {
    /// Runs an aggregation pipeline on the collection. Awaiting the action returns a [`Cursor`] of
    /// documents, or of `U` after [`with_type::<U>()`](Aggregate::with_type).
    ///
    /// A pipeline that ends with `$out` or `$merge` writes: it has a write concern, it is [not
    /// retryable](crate::action#retries), and its cursor is empty. It runs on the primary, unless
    /// the read preference allows secondaries and all servers are MongoDB 5.0+.
    ///
    /// ```no_run
    /// # async fn run(orders: marula_driver::Collection<marula_driver::bson::Document>) -> marula_driver::Result<()> {
    /// use marula_driver::bson::doc;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Total {
    ///     #[serde(rename = "_id")]
    ///     sku: String,
    ///     quantity: i64,
    /// }
    ///
    /// let pipeline = [
    ///     doc! { "$match": { "state": "open" } },
    ///     doc! { "$group": { "_id": "$sku", "quantity": { "$sum": "$quantity" } } },
    /// ];
    /// let mut totals = orders.aggregate(pipeline).with_type::<Total>().await?;
    /// while let Some(total) = totals.try_next().await? {
    ///     println!("{}: {}", total.sku, total.quantity);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn aggregate<D: IntoDocument>(&self, pipeline: impl IntoIterator<Item = D>) -> Aggregate<'_> {
        Aggregate::of_collection(self.inner(), pipeline)
    }
}

impl Database {
    /// Runs an aggregation pipeline on the database, for stages that do not read a collection, such
    /// as `$documents` (MongoDB 5.1+), or `$currentOp` on the database `admin`. As
    /// [`Collection::aggregate`] otherwise.
    pub fn aggregate<D: IntoDocument>(&self, pipeline: impl IntoIterator<Item = D>) -> Aggregate<'_> {
        Aggregate::new(Cow::Owned(CollectionInner::of_database(self)), true, pipeline)
            .in_session(self.session())
    }
}

/// Runs an aggregation pipeline. Await it for a [`Cursor`]; see [`Collection::aggregate`] and
/// [`Database::aggregate`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Aggregate<'a, T = Document> {
    collection: Cow<'a, CollectionInner>,
    whole_database: bool,
    pipeline: Vec<RawDocumentBuf>,
    deferred: Deferred,
    options: AggregateOptions,
    lists_search_indexes: bool,
    session: InSession<'a>,
    output: PhantomData<fn() -> T>,
}

debug_without_values! {
    [T] Aggregate<'_, T>, "Aggregate", |it|
    namespace: it.collection.namespace(), stages: it.pipeline.len(), options: it.options
}

impl<'a> Aggregate<'a> {
    pub(super) fn new<D: IntoDocument>(
        collection: Cow<'a, CollectionInner>,
        whole_database: bool,
        pipeline: impl IntoIterator<Item = D>,
    ) -> Self {
        let mut deferred = Deferred::default();
        let session = match &collection {
            Cow::Borrowed(collection) => collection.session(),
            Cow::Owned(_) => None,
        };
        Self {
            collection,
            whole_database,
            pipeline: deferred.documents("pipeline", pipeline),
            deferred,
            options: AggregateOptions::default(),
            lists_search_indexes: false,
            session,
            output: PhantomData,
        }
    }

    /// The pipeline is that of [`Collection::list_search_indexes`], whose command has no read concern.
    pub(super) fn listing_search_indexes(mut self) -> Self {
        self.lists_search_indexes = true;
        self
    }

    pub(super) fn of_collection<D: IntoDocument>(
        collection: &'a CollectionInner,
        pipeline: impl IntoIterator<Item = D>,
    ) -> Self {
        Self::new(Cow::Borrowed(collection), false, pipeline)
    }
}

impl<'a, T> Aggregate<'a, T> {
    crate::__aggregate_options! { option_setters { AggregateOptions } }

    session_setter!();

    explain_method! {
        pub fn explain(self) -> Explain<'a> {
            let Self {
                collection, whole_database, pipeline, deferred, mut options, lists_search_indexes, session, ..
            } = self;
            let (max_time, timeout) = (options.max_time, options.timeout);
            let requires = options.requires.take();
            let errors = [deferred, std::mem::take(&mut options.deferred)];
            let writes = writes(&pipeline);
            let (concern, preference) = (options.read_concern.take(), options.read_preference.take());
            let explained = if writes {
                Explained::AggregateWithWrite(concern, preference)
            } else {
                Explained::Read(concern, preference)
            };
            let cursor = ExplainedCursor {
                timeout_mode: options.timeout_mode,
                max_await_time: options.max_await_time,
                ..ExplainedCursor::default()
            };
            let mut invalid = Deferred::default();
            invalid.check(check_mode(writes, options.timeout_mode));
            Explain::new(collection, session, errors, explained, move |collection, command, server| {
                let mut operation = AggregateOperation {
                    scope: collection.read_scope(None, None),
                    whole_database,
                    pipeline: &pipeline,
                    writes,
                    lists_search_indexes,
                    has_max_time: true,
                    options: &options,
                    write_concern: collection.write_concern(),
                };
                operation.build(command, server)
            })
            .of_database(whole_database)
            .with_error(invalid)
            .with_cursor(cursor)
            .requiring(requires)
            .with_limits(max_time, timeout)
        }
    }

    pub(super) fn in_session(mut self, session: InSession<'a>) -> Self {
        self.session = session;
        self
    }

    /// Deserializes the results as `U`. Default: [`Document`].
    pub fn with_type<U>(self) -> Aggregate<'a, U> {
        Aggregate {
            collection: self.collection,
            whole_database: self.whole_database,
            pipeline: self.pipeline,
            deferred: self.deferred,
            options: self.options,
            lists_search_indexes: self.lists_search_indexes,
            session: self.session,
            output: PhantomData,
        }
    }

    async fn run(&mut self) -> Result<Cursor<T>> {
        self.deferred.take_result()?;
        let options = &mut self.options;
        options.deferred.take_result()?;
        let writes = writes(&self.pipeline);
        check_mode(writes, options.timeout_mode)?;
        if writes && self.session.is_some_and(|session| session.bound_to().is_some()) {
            // The error of the server would abort the transaction.
            return Err(Error::invalid_argument(
                "a pipeline with $out or $merge cannot be part of a transaction; use the handle that was bound, or write the \
                 results of the pipeline with the bound one",
            ));
        }
        let timeout = CursorTimeoutOptions {
            mode: options.timeout_mode,
            max_await_time: options.max_await_time,
            ..self
                .collection
                .cursor_timeout("aggregate", self.session, options.timeout)?
        }
        .start(self.session)?;
        check_read_concern(self.session, options.read_concern.as_deref())?;
        let mut operation = AggregateOperation {
            scope: self.collection.read_scope(
                options.read_concern.as_deref(),
                options.read_preference.as_deref(),
            ),
            whole_database: self.whole_database,
            pipeline: &self.pipeline,
            writes,
            lists_search_indexes: self.lists_search_indexes,
            has_max_time: timeout.has_max_time(),
            options,
            write_concern: options
                .write_concern
                .as_deref()
                .unwrap_or(self.collection.write_concern()),
        };
        let executor = self.collection.executor();
        let reply = executor
            .run_in(self.session, timeout.of_operation(), &mut operation)
            .await?;
        let comment = options.comment.take().map(|comment| *comment);
        let mut cursor = Cursor::new(self.collection.client(), reply, options.batch_size, comment)
            .in_session(self.session)
            .with_time_limit(timeout);
        cursor.max_await_time(options.max_await_time);
        Ok(cursor)
    }
}

awaitable!(in place ['a, T: 'a] Aggregate<'a, T> => Cursor<T>);

/// Whether the last stage is `$out` or `$merge`.
fn writes(pipeline: &[RawDocumentBuf]) -> bool {
    let last = pipeline.last().and_then(|stage| stage.iter().next());
    matches!(last, Some(Ok((key, _))) if key.as_str() == "$out" || key.as_str() == "$merge")
}

fn check_mode(writes: bool, mode: Option<TimeoutMode>) -> Result<()> {
    if writes && mode == Some(TimeoutMode::Iteration) {
        return Err(Error::invalid_argument(
            "the timeout mode of a pipeline with $out or $merge cannot be Iteration: its cursor is empty",
        ));
    }
    Ok(())
}

/// `aggregate` on a collection or a database.
struct AggregateOperation<'a> {
    scope: ReadScope<'a>,
    whole_database: bool,
    pipeline: &'a [RawDocumentBuf],
    writes: bool,
    lists_search_indexes: bool,
    has_max_time: bool,
    options: &'a AggregateOptions,
    write_concern: &'a WriteConcern,
}

impl Operation for AggregateOperation<'_> {
    type Output = CursorReply;

    fn properties(&self) -> Properties<'_> {
        let read = self.scope.properties("aggregate");
        if self.writes {
            Properties {
                criteria: Criteria::AggregateWithWrite(self.scope.read_preference),
                retry: Retry::No,
                intent: Intent::Write,
                write_concern: Some(self.write_concern),
                ..read
            }
        } else if self.lists_search_indexes {
            // Atlas returns an error if there is a read concern (Index Management).
            read.without_causal_consistency()
        } else {
            read
        }
    }

    fn collection(&self) -> Option<&str> {
        (!self.whole_database).then_some(&self.scope.namespace.collection)
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn requirement(&self) -> Option<&ServerRequirement> {
        self.options.requirement()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        if self.whole_database {
            command.i32("aggregate", 1);
        } else {
            command.str("aggregate", &self.scope.namespace.collection);
        }
        command.documents("pipeline", self.pipeline.iter().map(|stage| &**stage));
        // If a pipeline writes, `batchSize: 0` must not be sent (CRUD,
        // `AggregateOptions.batchSize`).
        let batch_size = self.options.batch_size.filter(|size| *size > 0 || !self.writes);
        cursor::write_cursor(command, batch_size);
        self.options.write(command, server);
        command.read_concern(self.scope.read_concern);
        if self.writes {
            command.write_concern(self.write_concern);
        }
        Ok(())
    }

    fn max_time(&self) -> MaxTime {
        MaxTime::of_operation(self.has_max_time)
    }

    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<CursorReply> {
        write_result::check_single(reply)?;
        cursor::parse(reply, context)
    }

    fn cursor(output: &mut CursorReply) -> Option<&mut CursorReply> {
        Some(output)
    }
}

//! `aggregate` with `$changeStream`: [`Collection::watch`], [`Database::watch`] and
//! [`Client::watch`] ([Change Streams]).
//!
//! [Change Streams]:
//! https://github.com/mongodb/specifications/blob/master/source/change-streams/change-streams.md

use std::{borrow::Cow, iter::once, marker::PhantomData};

use super::shown::debug_without_values;
use super::{
    Deferred, InSession, awaitable, check_read_concern,
    declare::{define_options, option_setters},
    session_setter,
    wire::WriteOptions,
};
use crate::{
    ChangeStream, ChangeStreamEvent, Client, Collection, Database, Error, Result,
    api::{collection::CollectionInner, cursor::CursorTimeoutOptions},
    bson::{Document, IntoDocument, RawDocumentBuf, cstr},
    operation::{
        CommandState, ImplicitSession, Operation, OperationOverrides, Properties, ReadScope, ReplyContext,
        SessionUse,
        cursor::{self, CursorReply},
    },
    proto::{
        change_stream::Start,
        command::{CommandBuilder, Reply},
        description::HelloReply,
        session::ServerSession,
    },
    types::{
        change_stream::{FullDocument, FullDocumentBeforeChange},
        cursor_type::CursorType,
        server_requirement::ServerRequirement,
    },
};

/// The options of `watch`. See `api/command/declare.rs`. Those without a wire name are fields of
/// the stage `$changeStream`.
#[doc(hidden)]
#[macro_export]
macro_rules! __change_stream_options {
    ($then:path { $($arguments:tt)* }) => {
        $then! { { $($arguments)* }
            /// Whether update events contain the document after the change. Default: not sent, the
            /// events contain the changed fields only.
            full_document: into $crate::options::FullDocument [needs (
                6, 0, if $crate::options::FullDocument::is_post_image, "the value of `full_document`"
            )];
            /// Whether update, replace and delete events contain the document before the change
            /// (MongoDB 6.0+; the collection must store pre-images). Default: not sent, they do
            /// not.
            full_document_before_change: into $crate::options::FullDocumentBeforeChange [needs (6, 0)];
            /// Begin after the event with this token. The token of an `invalidate` event is
            /// rejected; use [`start_after`](Self::start_after) for it. Default: begin now.
            resume_after: boxed $crate::ResumeToken;
            /// Begin after the event with this token, also if it is that of an `invalidate` event.
            /// Default: begin now.
            start_after: boxed $crate::ResumeToken;
            /// Begin with the changes at or after this cluster time, e.g. the `operation_time` of a
            /// session. The server rejects it together with a token. Default: begin now.
            start_at_operation_time: plain $crate::bson::Timestamp;
            /// `maxTimeMS` of getMore: how long the server waits for events before it returns an
            /// empty batch, sent in whole milliseconds (at least 1). Default: the server's, 1
            /// second.
            max_await_time: plain std::time::Duration;
            /// The number of events per batch. Default: the server's, 101 events in the first batch
            /// and 16 MiB in each later batch.
            batch_size: plain u32;
            /// Also return the events that create and change collections and indexes
            /// (`createIndexes`, `modify`, `shardCollection` …), and more fields of the others
            /// (MongoDB 6.0+). Default: not sent, `false`.
            show_expanded_events: plain bool [needs (6, 0)];
            /// The collation of string comparisons in the pipeline. Default: simple binary
            /// comparison.
            collation: boxed $crate::options::Collation = "collation";
            /// A comment that appears in the server's log, in the profiler and in `currentOp`. Any
            /// BSON type (MongoDB 4.4+, where it is sent with getMore too; MongoDB 4.2 accepts only
            /// a string). Default: none.
            comment: boxed $crate::bson::Bson = "comment" [needs (
                4, 4, if $crate::api::command::wire::is_not_a_string, "a `comment` that is not a string"
            )];
            /// `timeoutMS`: the time limit for opening the stream, and for each call that waits for an
            /// event, including its resumes. It must be longer than `max_await_time`. A call that
            /// times out leaves the stream open, and the next call resumes it. If no event has been
            /// received before, a longer timeout may be needed: the server has to read the oplog from
            /// the position of the stream. Zero means no limit. Default: that of the collection,
            /// database or client.
            timeout: plain std::time::Duration;
            /// The read concern. The server accepts `majority`, or none, which is equivalent.
            /// Default: that of the collection, database or client.
            read_concern: read_concern;
            /// The read preference, for resumes too. Default: that of the collection, database or
            /// client.
            read_preference: read_preference;
            /// A feature of the stream that older servers do not have: on such a server the stream is
            /// not opened, and nothing is sent. Of several, the latest version applies. Default: none.
            [driver] requires: requirement;
        }
    };
}

crate::__change_stream_options! { define_options {
    /// Options of [`Collection::watch`], [`Database::watch`] and [`Client::watch`].
    pub struct ChangeStreamOptions;
} }

impl ChangeStreamOptions {
    /// Where the stream begins.
    pub(in crate::api) fn start(&self) -> Start {
        Start {
            resume_after: self.resume_after.as_deref().cloned(),
            start_after: self.start_after.as_deref().cloned(),
            start_at_operation_time: self.start_at_operation_time,
        }
    }
}

impl<T> Collection<T> {
    /// Watches the changes of the documents in the collection. Awaiting the action returns a
    /// [`ChangeStream`], which resumes by itself after network errors and elections. An
    /// [`aggregate`](Self::aggregate) with the stage `$changeStream` does not.
    ///
    /// Requires a replica set or a sharded cluster. The stream ends after the collection was dropped
    /// or renamed.
    ///
    /// # Errors
    /// When the action is awaited: [`Command`](crate::ErrorKind::Command) if the server rejects the pipeline or
    /// the position, or does not support change streams, as a standalone server; the errors of the connection and
    /// of server selection. [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if an option is invalid, if a
    /// transaction is in progress in the session, or if `max_await_time` is not shorter than the timeout.
    /// [`Timeout`](crate::ErrorKind::Timeout) if the time limit expires, and
    /// [`Shutdown`](crate::ErrorKind::Shutdown) if the client was shut down or its runtime has ended.
    ///
    /// # Cancel safety
    /// If the future is dropped after the command was sent, the cursor in the late reply is closed.
    ///
    /// ```no_run
    /// # async fn run(orders: marula_driver::Collection<marula_driver::bson::Document>) -> marula_driver::Result<()> {
    /// use marula_driver::{ChangeOperation, bson::doc};
    ///
    /// let mut changes = orders
    ///     .watch()
    ///     .pipeline([doc! { "$match": { "operationType": { "$in": ["insert", "delete"] } } }])
    ///     .await?;
    /// while let Some(change) = changes.try_next().await? {
    ///     match change.operation {
    ///         ChangeOperation::Insert => println!("new: {:?}", change.full_document),
    ///         _ => println!("deleted: {:?}", change.document_key),
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    pub fn watch(&self) -> Watch<'_, ChangeStreamEvent<T>> {
        Watch::new(Cow::Borrowed(self.inner()), Target::Collection)
    }
}

impl Database {
    /// Watches the changes of all collections in the database, except system collections. Awaiting
    /// the action returns a [`ChangeStream`]. As [`Collection::watch`] otherwise; the stream ends
    /// after the database was dropped.
    ///
    /// # Errors
    /// As [`Collection::watch`].
    ///
    /// ```no_run
    /// # async fn run(shop: marula_driver::Database) -> marula_driver::Result<()> {
    /// let mut changes = shop.watch().await?;
    /// while let Some(change) = changes.try_next().await? {
    ///     println!("{:?}", change.operation);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn watch(&self) -> Watch<'_, ChangeStreamEvent<Document>> {
        Watch::new(Cow::Owned(CollectionInner::of_database(self)), Target::Database)
    }
}

impl Client {
    /// Watches the changes of all collections in all databases, except system collections and the
    /// databases `admin`, `config` and `local`. Awaiting the action returns a [`ChangeStream`]. As
    /// [`Collection::watch`] otherwise; the stream does not end.
    ///
    /// # Errors
    /// As [`Collection::watch`].
    ///
    /// ```no_run
    /// # async fn run(client: marula_driver::Client) -> marula_driver::Result<()> {
    /// let mut changes = client.watch().await?;
    /// while let Some(change) = changes.try_next().await? {
    ///     println!("{:?}", change.operation);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn watch(&self) -> Watch<'_, ChangeStreamEvent<Document>> {
        let admin = self.database("admin");
        Watch::new(Cow::Owned(CollectionInner::of_database(&admin)), Target::Cluster)
    }
}

/// What a change stream watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::api) enum Target {
    Collection,
    Database,
    Cluster,
}

/// Watches changes. Await it for a [`ChangeStream`]; see [`Collection::watch`],
/// [`Database::watch`] and [`Client::watch`], also for its errors and for what dropping the future does.
#[must_use = "nothing is sent before the action is awaited"]
pub struct Watch<'a, E> {
    collection: Cow<'a, CollectionInner>,
    target: Target,
    pipeline: Vec<RawDocumentBuf>,
    deferred: Deferred,
    options: ChangeStreamOptions,
    session: InSession<'a>,
    event: PhantomData<fn() -> E>,
}

debug_without_values! {
    [E] Watch<'_, E>, "Watch", |it|
    namespace: it.collection.namespace(), target: it.target, stages: it.pipeline.len(), options: it.options
}

impl<'a, E> Watch<'a, E> {
    /// Sets `full_document` unless the options have it. The ODM calls it.
    #[doc(hidden)]
    pub fn __default_full_document(mut self, value: crate::options::FullDocument) -> Self {
        self.options.full_document.get_or_insert(value);
        self
    }

    fn new(collection: Cow<'a, CollectionInner>, target: Target) -> Self {
        Self {
            collection,
            target,
            pipeline: Vec::new(),
            deferred: Deferred::default(),
            options: ChangeStreamOptions::default(),
            session: None,
            event: PhantomData,
        }
    }

    crate::__change_stream_options! { option_setters { ChangeStreamOptions } }

    session_setter!();

    /// The stages after `$changeStream`, e.g. `$match` and `$project`. The events must keep their
    /// `_id`, which is the resume token. Default: none.
    pub fn pipeline<D: IntoDocument>(mut self, stages: impl IntoIterator<Item = D>) -> Self {
        self.pipeline = self.deferred.documents("pipeline", stages);
        self
    }

    /// Deserializes the events as `U`, e.g. as [`Document`], or as a type of the application if the
    /// pipeline changes their form. Default: [`ChangeStreamEvent`].
    pub fn with_type<U>(self) -> Watch<'a, U> {
        Watch {
            collection: self.collection,
            target: self.target,
            pipeline: self.pipeline,
            deferred: self.deferred,
            options: self.options,
            session: self.session,
            event: PhantomData,
        }
    }

    async fn run(&mut self) -> Result<ChangeStream<E>> {
        self.deferred.take_result()?;
        self.options.deferred.take_result()?;
        check_read_concern(self.session, self.options.read_concern.as_deref())?;
        let timeout = CursorTimeoutOptions {
            cursor_type: CursorType::TailableAwait,
            max_await_time: self.options.max_await_time,
            ..self
                .collection
                .cursor_timeout("watch", self.session, self.options.timeout)?
        }
        .start(self.session)?;
        ChangeStream::open(
            self.collection.as_ref().clone(),
            self.target,
            std::mem::take(&mut self.pipeline),
            std::mem::take(&mut self.options),
            self.session.cloned(),
            timeout,
        )
        .await
    }
}

awaitable!(in place ['a, E: 'a] Watch<'a, E> => ChangeStream<E>);

/// `aggregate` with `$changeStream` as its first stage.
pub(in crate::api) struct ChangeStreamAggregate<'a> {
    pub(in crate::api) scope: ReadScope<'a>,
    pub(in crate::api) target: Target,
    pub(in crate::api) pipeline: &'a [RawDocumentBuf],
    pub(in crate::api) options: &'a ChangeStreamOptions,
    pub(in crate::api) start: &'a Start,
    /// The implicit session of the stream, for a resume.
    pub(in crate::api) session: Option<&'a ServerSession>,
    pub(in crate::api) session_use: &'a mut SessionUse,
    pub(in crate::api) is_resume: bool,
    /// If the server replied with an error: `maxWireVersion` of the connection.
    pub(in crate::api) refused_by: Option<i32>,
    pub(in crate::api) wire_version: i32,
}

/// The cursor of a change stream, and the `operationTime` of the reply.
pub(in crate::api) struct OpenedStream {
    pub(in crate::api) cursor: CursorReply,
    pub(in crate::api) operation_time: Option<crate::bson::Timestamp>,
}

impl ChangeStreamAggregate<'_> {
    /// The stage `$changeStream`.
    fn stage(&self) -> RawDocumentBuf {
        let options = self.options;
        let mut fields = RawDocumentBuf::new();
        if self.target == Target::Cluster {
            fields.append(cstr!("allChangesForCluster"), true);
        }
        if let Some(value) = options.full_document.as_ref().map(FullDocument::as_str) {
            fields.append(cstr!("fullDocument"), value);
        }
        let before = options.full_document_before_change.as_ref();
        if let Some(value) = before.map(FullDocumentBeforeChange::as_str) {
            fields.append(cstr!("fullDocumentBeforeChange"), value);
        }
        if let Some(token) = &self.start.resume_after {
            fields.append(cstr!("resumeAfter"), token.as_document().to_owned());
        }
        if let Some(token) = &self.start.start_after {
            fields.append(cstr!("startAfter"), token.as_document().to_owned());
        }
        if let Some(time) = self.start.start_at_operation_time {
            fields.append(cstr!("startAtOperationTime"), time);
        }
        if let Some(value) = options.show_expanded_events {
            fields.append(cstr!("showExpandedEvents"), value);
        }
        let mut stage = RawDocumentBuf::new();
        stage.append(cstr!("$changeStream"), fields);
        stage
    }
}

impl Operation for ChangeStreamAggregate<'_> {
    type Output = OpenedStream;

    fn properties(&self) -> Properties<'_> {
        let read = self.scope.properties("aggregate");
        match self.session {
            Some(session) => Properties {
                implicit_session: ImplicitSession::OfCursor(Some(session)),
                ..read
            },
            None => read,
        }
    }

    fn collection(&self) -> Option<&str> {
        (self.target == Target::Collection).then_some(&self.scope.namespace.collection)
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn requirement(&self) -> Option<&ServerRequirement> {
        self.options.requirement()
    }

    /// A resume continues a stream that was opened outside of transactions: the server does not
    /// permit change streams in them.
    fn cursor_transaction(&self) -> Option<Option<i64>> {
        self.is_resume.then_some(None)
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        self.wire_version = server.max_wire_version;
        self.refused_by = None;
        if self.target == Target::Collection {
            command.str("aggregate", &self.scope.namespace.collection);
        } else {
            command.i32("aggregate", 1);
        }
        let stage = self.stage();
        let stages = once(&*stage).chain(self.pipeline.iter().map(|stage| &**stage));
        command.documents("pipeline", stages);
        cursor::write_cursor(command, self.options.batch_size);
        self.options.write(command, server);
        command.read_concern(self.scope.read_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<OpenedStream> {
        Ok(OpenedStream {
            cursor: cursor::parse(reply, context)?,
            operation_time: reply.operation_time(),
        })
    }

    fn reply_lost(&mut self) {
        self.session_use.is_reply_lost = true;
    }

    fn command_state(&mut self, state: CommandState) {
        self.session_use.command = state;
    }

    fn refused(&mut self, _error: &Error) {
        self.refused_by = Some(self.wire_version);
    }

    fn cursor(output: &mut OpenedStream) -> Option<&mut CursorReply> {
        Some(&mut output.cursor)
    }
}

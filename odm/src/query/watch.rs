//! [`Collection::watch`]: change events with typed documents.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::{FusedStream, Stream};

use crate::{
    ast::{
        document_item::{DocumentItem, raw_part},
        filter::Keys,
    },
    base::{
        bson::{Bson, DecodeError, Document, RawDocumentBuf, codec::Value, doc},
        error::{Error, Result},
    },
    document::decode::{Found, ReadAs},
    driver::{
        self, ChangeOperation, ChangeStreamEvent, Namespace, ResumeToken, action,
        options::{ChangeStreamOptions, FullDocument},
    },
    models::model::{Fields, Model},
    query::{
        handle::{
            Collection,
            action::{awaitable, forward_options},
            filter_of,
        },
        observe::Call,
    },
    term::filter::Filter,
};

/// An event whose documents the ODM decodes.
type DriverEvent = ChangeStreamEvent<RawDocumentBuf>;

impl<D: Model> Collection<D> {
    /// Watches the changes of the documents in the collection. Requires a replica set or a sharded
    /// cluster.
    ///
    /// Awaiting the action returns a [`ChangeStream`], which resumes by itself after network errors
    /// and elections. It ends after the collection was dropped or renamed. All documents are watched,
    /// also soft-deleted ones: a soft deletion is an update event. A client with automatic encryption must have
    /// `bypass_auto_encryption(true)`: change streams cannot be analyzed for encryption. Its events are decrypted.
    ///
    /// For a [scoped](Collection::scoped) handle and a model of one [kind](derive@crate::Document#kinds), only events whose full
    /// document is one of the handle are returned: inserts, replacements and updates, for which `full_document` is
    /// `UpdateLookup` by default, but no deletes.
    ///
    /// ```no_run
    /// # use marula::{Document, prelude::*};
    /// # #[derive(Debug, Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, age: i32 }
    /// # async fn run(people: marula::Collection<Person>) -> marula::Result<()> {
    /// use marula::driver::options::FullDocument;
    ///
    /// let mut adults = people
    ///     .watch()
    ///     .full_document(FullDocument::UpdateLookup)
    ///     .filter(|p| p.age().gte(18))
    ///     .await?;
    /// while let Some(event) = adults.try_next().await? {
    ///     println!("{}: {:?}", event.operation.as_str(), event.full_document);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn watch(&self) -> Watch<'_, D> {
        let pipeline = self.gate().map(|gate| gate.event_stages());
        Watch {
            collection: self,
            needs_document: pipeline.as_ref().is_ok_and(|stages| !stages.is_empty()),
            pipeline,
            action: Ok(self.inner.watch().with_type()),
        }
    }
}

/// Watches changes. Output: a [`ChangeStream`]. See [`Collection::watch`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Watch<'a, D> {
    collection: &'a Collection<D>,
    /// Whether the handle has a condition on the full document.
    needs_document: bool,
    pipeline: Result<Vec<Document>>,
    action: Result<action::Watch<'a, DriverEvent>>,
}

impl<'a, D: Model> Watch<'a, D> {
    driver::__change_stream_options! { forward_options { action: ChangeStreamOptions } }

    /// Only events whose full document matches. Several filters must all match, and the scope of a
    /// [scoped](Collection::scoped) handle.
    ///
    /// Events without a full document do not match: deletes, updates unless
    /// [`full_document`](Watch::full_document) is set, and changes of the collection itself. The
    /// server evaluates the filter. Awaiting the action fails with [`Error::InvalidFilter`] for a
    /// filter with [`Filter::expr`], `$text`, `$where`, `$jsonSchema` or a geospatial sort, which
    /// cannot be applied to a part of an event.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let mut large = orders.watch().filter(|o| o.total().gt(500)).await?;
    /// orders.insert_many([order(4), order(9)]).await?;
    /// let event = large.try_next().await?.expect("an event");
    /// assert_eq!(event.full_document.map(|o| o.id), Some(9));
    /// # Ok(()) });
    /// ```
    pub fn filter(mut self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Self {
        self.pipeline = self.pipeline.and_then(|mut stages| {
            let mut conditions = vec![doc! { "fullDocument": { "$type": "object" } }];
            let filter = self.collection.gate()?.events(filter_of(filter))?;
            if let Some(operator) = filter.operator_beside_fields() {
                return Err(Error::filter(
                    "",
                    format!(
                        "`{operator}` cannot be applied to the documents of change events; filter by fields, or use \
                         `raw_pipeline`"
                    ),
                ));
            }
            if !filter.is_empty() {
                conditions.push(filter.to_document_of(Keys::Under("fullDocument")));
            }
            stages.push(doc! { "$match": { "$and": conditions } });
            Ok(stages)
        });
        self
    }

    /// Only events of these operations.
    ///
    /// ```no_run
    /// # use marula::{Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, age: i32 }
    /// # async fn run(people: marula::Collection<Person>) -> marula::Result<()> {
    /// use marula::driver::ChangeOperation;
    ///
    /// let mut deletes = people.watch().operations([ChangeOperation::Delete]).await?;
    /// while let Some(event) = deletes.try_next().await? {
    ///     println!("deleted {:?}", event.document_key);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn operations(self, operations: impl IntoIterator<Item = ChangeOperation>) -> Self {
        let names: Vec<Bson> = operations.into_iter().map(|o| o.as_str().into()).collect();
        self.stage(doc! { "$match": { "operationType": { "$in": names } } })
    }

    /// Adds stages after those of [`filter`](Watch::filter) and [`operations`](Watch::operations)
    /// that were set before. The events must keep their form, and their `_id`, which is the resume
    /// token.
    ///
    /// For a model with [encrypted fields](crate::encryption) each stage is an
    /// [`Unchecked`](crate::encryption::Unchecked) document; otherwise the action fails with
    /// [`Error::InvalidPipeline`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let stages = [doc! { "$match": { "fullDocument.total": { "$gt": 500 } } }];
    /// let events = orders.watch().raw_pipeline(stages).await?;
    /// # drop(events);
    /// # Ok(()) });
    /// ```
    pub fn raw_pipeline(mut self, stages: impl IntoIterator<Item: DocumentItem>) -> Self {
        for stage in stages {
            let stage = raw_part(stage);
            let checked = self.collection.gate().and_then(|gate| gate.raw_stage(stage));
            match checked {
                Ok(stage) => self = self.stage(stage),
                Err(error) => self.pipeline = self.pipeline.and(Err(error)),
            }
        }
        self
    }

    fn stage(mut self, stage: Document) -> Self {
        if let Ok(stages) = &mut self.pipeline {
            stages.push(stage);
        }
        self
    }

    fn call(&self) -> Call {
        Call::new::<D>(self.collection.namespace(), "watch").stages(&self.pipeline)
    }

    fn run(self) -> impl Future<Output = Result<ChangeStream<D>>> + Send + use<'a, D> {
        let namespace = self.collection.namespace().clone();
        let opening = self.pipeline.and_then(|stages| {
            let mut action = self.action?;
            if self.needs_document {
                action = action.__default_full_document(FullDocument::UpdateLookup);
            }
            Ok(action.pipeline(stages).into_future())
        });
        async move {
            Ok(ChangeStream {
                inner: opening?.await?,
                namespace,
                document: std::marker::PhantomData,
            })
        }
    }
}

awaitable!(['a, D: Model] Watch<'a, D> => ChangeStream<D>);

/// Change events with typed documents: a [`Stream`], also readable by
/// [`try_next`](ChangeStream::try_next) and [`next_if_any`](ChangeStream::next_if_any). Created by
/// [`Collection::watch`].
///
/// An event with a document that cannot be decoded as `D` is an [`Error::Decode`], which names the
/// `_id` of the document. The next read returns the event after it.
#[must_use = "events are received as they are read"]
pub struct ChangeStream<D> {
    inner: driver::ChangeStream<DriverEvent>,
    namespace: Namespace,
    document: std::marker::PhantomData<fn() -> D>,
}

/// Why an event cannot be decoded.
enum Unread {
    Event(DecodeError),
    /// The error of a document in it, as that of a query.
    Document(Error),
}

impl From<DecodeError> for Unread {
    fn from(error: DecodeError) -> Self {
        Unread::Event(error)
    }
}

impl<D> ChangeStream<D> {
    /// The position after the event that was returned last: the token to store, and to pass to
    /// [`resume_after`](Watch::resume_after) or [`start_after`](Watch::start_after). See
    /// [`driver::ChangeStream::resume_token`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let mut events = orders.watch().await?;
    /// orders.insert_one(&order(4)).await?;
    /// events.try_next().await?;
    /// let token = events.resume_token().expect("the position after the event");
    /// let later = orders.watch().resume_after(token).await?;
    /// # drop(later);
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn resume_token(&self) -> Option<ResumeToken> {
        self.inner.resume_token()
    }

    /// Whether events can follow. See [`driver::ChangeStream::is_alive`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert!(orders.watch().await?.is_alive());
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.inner.is_alive()
    }

    /// Closes the cursor on the server and waits for the reply. Dropping the stream does the same in
    /// the background. See [`driver::ChangeStream::close`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let events = orders.watch().await?;
    /// events.close().await;
    /// # Ok(()) });
    /// ```
    pub async fn close(self) {
        self.inner.close().await;
    }

    /// The driver's stream, whose events contain raw documents.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let events = orders.watch().await?.into_driver(); // with raw documents
    /// assert!(events.is_alive());
    /// # Ok(()) });
    /// ```
    pub fn into_driver(self) -> driver::ChangeStream<ChangeStreamEvent<RawDocumentBuf>> {
        self.inner
    }
}

impl<D: Model> ChangeStream<D> {
    /// Decodes the current event. The result is that of a poll, so that the event, which is large, is not moved.
    fn current(&self) -> Poll<Result<Option<ChangeStreamEvent<D>>>> {
        let read = |document: &Value<'_>, place: &mut Option<D>| {
            let found = Found::of(document).into_place(place, &self.namespace, ReadAs::model());
            found.map_err(Unread::Document)
        };
        self.inner.read_current(read, |event| {
            Poll::Ready(match event {
                Ok(event) => Ok(Some(event)),
                Err(Unread::Event(error)) => Err(self.inner.undecoded(error).into()),
                Err(Unread::Document(error)) => Err(error),
            })
        })
    }

    /// Decodes the event that the stream advances to.
    #[inline]
    fn poll_event(
        &mut self,
        advance: impl FnOnce(&mut driver::ChangeStream<DriverEvent>) -> Poll<driver::Result<bool>>,
    ) -> Poll<Result<Option<ChangeStreamEvent<D>>>> {
        match ready!(advance(&mut self.inner)) {
            Ok(true) => self.current(),
            Ok(false) => Poll::Ready(Ok(None)),
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }

    /// The next event. Waits for it; returns `None` only after the stream has ended.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let mut events = orders.watch().await?;
    /// orders.insert_one(&order(4)).await?;
    /// let event = events.try_next().await?.expect("an event");
    /// assert_eq!(event.full_document, Some(order(4)));
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::Decode`] for a document that cannot be decoded: the next call returns the event after
    /// it. [`Error::Driver`] for errors of the driver; see [`driver::ChangeStream::try_next`].
    pub fn try_next(&mut self) -> impl Future<Output = Result<Option<ChangeStreamEvent<D>>>> + Send {
        let mut call = driver::ChangeStream::<DriverEvent>::call();
        poll_fn(move |context| self.poll_event(|events| events.poll_call(context, &mut call)))
    }

    /// The next event if there is one: in the current batch, or in that of at most one `getMore`, for
    /// which the server waits up to [`max_await_time`](Watch::max_await_time). After `None`, events
    /// can follow as long as the stream is [alive](ChangeStream::is_alive).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// use std::time::Duration;
    /// let mut events = orders.watch().max_await_time(Duration::from_millis(1)).await?;
    /// assert!(events.next_if_any().await?.is_none());
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// Those of [`try_next`](ChangeStream::try_next).
    pub fn next_if_any(&mut self) -> impl Future<Output = Result<Option<ChangeStreamEvent<D>>>> + Send {
        let mut call = driver::ChangeStream::<DriverEvent>::call_if_any();
        poll_fn(move |context| self.poll_event(|events| events.poll_call(context, &mut call)))
    }
}

impl<D: Model> Stream for ChangeStream<D> {
    type Item = Result<ChangeStreamEvent<D>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_event(|events| events.poll_advance(context))
            .map(Result::transpose)
    }
}

impl<D: Model> FusedStream for ChangeStream<D> {
    fn is_terminated(&self) -> bool {
        self.inner.is_terminated()
    }
}

impl<D> fmt::Debug for ChangeStream<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChangeStream").field(&self.inner).finish()
    }
}

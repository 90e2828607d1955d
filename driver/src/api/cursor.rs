//! [`Cursor`].

mod backoff;
mod kill;
mod raw_batch;
pub(super) mod state;
mod stream;
mod time_limit;

use std::{fmt, marker::PhantomData, time::Duration};

use serde::{Deserialize, de::DeserializeOwned};

use super::Client;
use crate::{
    Error, Namespace, Result,
    bson::{Bson, RawDocument},
    execution::SessionHandle,
    operation::{
        cursor::{Batch, CursorReply},
        decode, decode_owned,
    },
    telemetry::OperationScope,
};
pub use raw_batch::RawBatch;
use state::State;
use stream::Fetching;
pub(super) use time_limit::{CursorTimeout, CursorTimeoutOptions};

/// The results of a query, fetched from the server in batches and deserialized one by one.
///
/// A cursor can be read in three ways: with [`try_next`](Self::try_next), as a [`Stream`](futures_core::Stream) of `T`
/// (with the methods of a crate such as `futures-util`), or without copies with
/// [`advance`](Self::advance) and [`current`](Self::current) or
/// [`deserialize_current`](Self::deserialize_current), whose results may borrow from the batch.
///
/// Further batches are fetched with getMore from the server that has the cursor. getMore is [not
/// retryable](crate::action#retries). Dropping a cursor that is not exhausted sends `killCursors`
/// in the background, on the runtime of the client.
///
/// If the cursor is read as a stream, getMore runs in a task on the runtime of the client. It
/// completes also if the stream is not polled for some time, e.g. in `tokio::select!`, and then
/// holds neither a connection nor the session.
///
/// A cursor that was opened in a transaction ends with it: reading it afterwards is an error.
/// Dropping it sends nothing, because the server closes it at the end of the transaction.
///
/// ```no_run
/// # async fn run(books: marula_driver::Collection<marula_driver::bson::Document>) -> marula_driver::Result<()> {
/// use marula_driver::bson::doc;
/// #[derive(serde::Deserialize)]
/// struct Title<'a> {
///     title: &'a str,
/// }
/// let mut cursor = books.find(doc! {}).await?;
/// while cursor.advance().await? {
///     let book: Title<'_> = cursor.deserialize_current()?;
///     println!("{}", book.title);
/// }
/// # Ok(()) }
/// ```
///
/// # Timeouts
///
/// With `timeoutMS`, one time limit includes the operation that returns the cursor and all getMore
/// commands, unless [`timeout_mode`](crate::action::Find::timeout_mode) is
/// [`Iteration`](crate::options::TimeoutMode::Iteration) or the cursor is tailable. Documents that
/// have been received are returned also after the time limit has expired.
///
/// # Tailable cursors
///
/// A tailable cursor stays open at the end of its capped collection, and the server then returns
/// empty batches. All three ways wait for the next document, and do not end unless the cursor
/// fails. [`next_if_any`](Self::next_if_any) and [`advance_if_any`](Self::advance_if_any) return
/// after an empty batch instead.
///
/// Without `awaitData`, the server replies at once. Therefore two getMore commands of which the
/// first returned nothing are sent at least 10 ms apart, whichever method sends them. The delay
/// doubles with each further empty batch, up to 500 ms, and starts again at 10 ms after a document.
/// A cursor with a `max_await_time` has no delays: the server waits.
pub struct Cursor<T> {
    state: Option<Box<State>>,
    /// A running getMore, if the cursor is read as a stream. It owns the state.
    fetching: Option<Fetching>,
    document: PhantomData<fn() -> T>,
}

impl<T> Cursor<T> {
    pub(crate) fn new(
        client: &Client,
        reply: CursorReply,
        batch_size: Option<u32>,
        comment: Option<Bson>,
    ) -> Self {
        Self {
            state: Some(Box::new(State::new(client, reply, batch_size, comment))),
            fetching: None,
            document: PhantomData,
        }
    }

    /// The cursor of a query on a collection or database that does not exist.
    pub(crate) fn empty(client: &Client, namespace: Namespace) -> Self {
        let reply = CursorReply {
            id: 0,
            namespace,
            batch: Batch::default(),
            post_batch_resume_token: None,
            address: crate::ServerAddress::tcp("", 0),
            session: None,
            scope: OperationScope::default(),
            pin: None,
            held: None,
        };
        Self::new(client, reply, None, None)
    }

    /// Sets the session that the cursor was opened in, for its further commands.
    pub(crate) fn in_session(mut self, session: Option<&SessionHandle>) -> Self {
        if let Some(state) = &mut self.state {
            state.session = session.cloned();
            state.transaction = session.and_then(|session| session.lock().open_transaction());
        }
        self
    }

    /// Sets the time limits of the operation that returned the cursor.
    pub(super) fn with_time_limit(mut self, timeout: CursorTimeout) -> Self {
        if let Some(state) = &mut self.state {
            state.timeout = timeout;
            if timeout.is_endless() {
                state.reply.held = None;
            }
        }
        self
    }

    pub(crate) fn max_await_time(&mut self, time: Option<Duration>) {
        if let Some(state) = &mut self.state {
            state.max_await_time = time;
        }
    }

    /// Requires killCursors after every error of a getMore, as the results cursor of a client bulk
    /// write (Bulk Write specification, "Top-Level Errors").
    pub(crate) fn kill_after_error(&mut self) {
        if let Some(state) = &mut self.state {
            state.kill_after_error = true;
        }
    }

    /// Sets the limit of the query. The server enforces it; the count here keeps the batch size of
    /// the last getMore from exceeding it.
    pub(crate) fn limit_total(&mut self, limit: Option<i64>) {
        if let (Some(state), Some(limit)) = (&mut self.state, limit.filter(|limit| *limit != 0)) {
            state.remaining = Some(limit.unsigned_abs());
        }
    }

    /// Converts to a cursor that deserializes documents as `U`. The position does not change.
    #[must_use]
    pub fn with_type<U>(mut self) -> Cursor<U> {
        Cursor {
            state: self.state.take(),
            fetching: self.fetching.take(),
            document: PhantomData,
        }
    }

    /// The namespace of the cursor. For aggregations it can be a namespace internal to the server.
    /// `None` while a getMore of the stream is running.
    #[must_use]
    pub fn namespace(&self) -> Option<&Namespace> {
        self.state.as_ref().map(|state| &state.reply.namespace)
    }

    /// Whether no more documents can be read: all have been read and the server has closed the
    /// cursor, or the cursor has failed.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.fetching.is_none() && self.state.as_ref().is_none_or(|state| state.is_exhausted())
    }

    /// Moves to the next document and fetches the next batch if necessary. Returns `false` at the
    /// end. On a tailable cursor it waits for a document; [`advance_if_any`](Self::advance_if_any)
    /// does not.
    ///
    /// # Cancel safety
    /// If the future is dropped after a getMore was sent, the cursor ends: the batch is lost, and
    /// the next call returns an error. At any other time no document is lost, also not while the getMore waits for a
    /// connection. To cancel a read without losing the cursor, read it as a [`Stream`](futures_core::Stream).
    ///
    /// # Errors
    /// The server or the connection failed, or a dropped future ended the cursor. The cursor ends
    /// with the error, unless each call has a time limit of its own and it expired
    /// ([`Timeout`](crate::ErrorKind::Timeout) without a cause) while nothing was sent: then the
    /// cursor can be read on.
    pub async fn advance(&mut self) -> Result<bool> {
        self.finish_fetching().await?;
        let Some(state) = &mut self.state else {
            return Ok(false);
        };
        let mut has_fetched = false;
        loop {
            if state.advance_in_batch()? {
                return Ok(true);
            }
            if state.is_exhausted() {
                return Ok(false);
            }
            if !std::mem::replace(&mut has_fetched, true) {
                state.begin_call();
            }
            // Boxed to keep the futures that read from a cursor small. It happens once per batch.
            Box::pin(state.fetch()).await?;
        }
    }

    /// Moves to the next document if there is one: in the current batch, or in the batch of at most
    /// one getMore. Returns `false` if there is none. After empty batches, the getMore is preceded
    /// by the [delay](Self#tailable-cursors) of at most 500 ms, so that calls in a loop do not load
    /// the processor or the server. A tailable cursor may return documents later, until
    /// [`is_exhausted`](Self::is_exhausted) returns `true`.
    ///
    /// # Cancel safety
    /// As [`advance`](Self::advance).
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    pub async fn advance_if_any(&mut self) -> Result<bool> {
        let mut asked = self.finish_fetching().await?;
        let Some(state) = &mut self.state else {
            return Ok(false);
        };
        loop {
            if state.advance_in_batch()? {
                return Ok(true);
            }
            if asked || state.is_exhausted() {
                // The next call may be one of `Stream`, which does not begin a call itself.
                state.begin_call();
                return Ok(false);
            }
            asked = true;
            state.begin_call();
            Box::pin(state.fetch()).await?;
        }
    }

    /// The remaining documents of the current batch, or else the next batch, as the server sent it,
    /// without copies. `None` at the end. The batch of a tailable cursor is empty if there are no
    /// documents yet; the [delays](Self#tailable-cursors) apply.
    ///
    /// # Cancel safety
    /// As [`advance`](Self::advance).
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    ///
    /// ```no_run
    /// # async fn run(books: marula_driver::Collection<marula_driver::bson::Document>) -> marula_driver::Result<()> {
    /// use marula_driver::bson::doc;
    /// let mut cursor = books.find(doc! {}).batch_size(1_000).await?;
    /// while let Some(batch) = cursor.next_batch().await? {
    ///     for book in batch.documents() {
    ///         println!("{} bytes", book?.as_bytes().len());
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn next_batch(&mut self) -> Result<Option<RawBatch>> {
        self.finish_fetching().await?;
        let Some(state) = &mut self.state else {
            return Ok(None);
        };
        if let Some(batch) = state.take_batch()? {
            return Ok(Some(RawBatch(batch)));
        }
        if state.is_exhausted() {
            return Ok(None);
        }
        state.begin_call();
        Box::pin(state.fetch()).await?;
        match state.take_batch()? {
            Some(batch) => Ok(Some(RawBatch(batch))),
            None if state.is_exhausted() => Ok(None),
            None => Ok(Some(RawBatch(Batch::default()))),
        }
    }

    /// The current document, without a copy.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there is no current document:
    /// [`advance`](Self::advance) has not been called or returned `false`.
    /// [`InvalidReply`](crate::ErrorKind::InvalidReply) if the document is not valid BSON.
    pub fn current(&self) -> Result<&RawDocument> {
        self.state_with_document()?.reply.batch.current_document()
    }

    /// Deserializes the current document. `D` may borrow strings and bytes from the cursor. A
    /// [`Document`](crate::bson::Document) is read by crate bson, which takes keys of Extended JSON for
    /// values of other types (see [`bson::exact`](crate::bson::exact)):
    /// [`decode_document`](crate::bson::decode_document) reads the bytes of [`current`](Self::current)
    /// as they are.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there is no current document;
    /// [`Decode`](crate::ErrorKind::Decode), which names the field, if it cannot be deserialized as
    /// `D`.
    pub fn deserialize_current<'a, D: Deserialize<'a>>(&'a self) -> Result<D> {
        decode(self.current_bytes()?)
    }

    /// Closes the cursor on the server with `killCursors` and waits for the reply. Dropping the
    /// cursor does the same in the background. The command runs in the session of the cursor,
    /// unless that session has ended. Nothing is sent if the cursor is exhausted. If the server is not
    /// available, `killCursors` is sent in the background. Errors are ignored: the server closes idle
    /// cursors after 10 minutes. A running getMore of the stream is cancelled.
    ///
    /// With `timeoutMS`, `killCursors` has the full time limit again, also after the time limit of
    /// the cursor has expired. [`close_within`](Self::close_within) sets another.
    ///
    /// # Cancel safety
    /// If the future is dropped, the cursor is closed in the background.
    pub async fn close(mut self) {
        let _ending = self.cancel_fetching().await;
        if let Some(mut state) = self.state.take() {
            let _ = state.free().await;
        }
    }

    /// Closes the cursor like [`close`](Self::close), with this time limit (`timeoutMS`) for
    /// `killCursors`. Zero means no limit.
    ///
    /// # Cancel safety
    /// If the future is dropped, the cursor is closed in the background.
    pub async fn close_within(mut self, timeout: Duration) {
        let _ending = self.cancel_fetching().await;
        if let Some(state) = &mut self.state {
            state.timeout.set_close(timeout);
        }
        self.close().await;
    }

    /// The bytes of the current document.
    pub(crate) fn current_bytes(&self) -> Result<&[u8]> {
        Ok(self.state_with_document()?.reply.batch.current())
    }

    fn state_with_document(&self) -> Result<&State> {
        self.state
            .as_deref()
            .filter(|state| state.reply.batch.has_current())
            .ok_or_else(|| Error::invalid_argument("the cursor has no current document; call advance first"))
    }
}

impl<T: DeserializeOwned + 'static> Cursor<T> {
    /// The next document, or `None` at the end. On a tailable cursor it waits for a document.
    ///
    /// # Cancel safety
    /// As [`advance`](Self::advance).
    ///
    /// # Errors
    /// As [`advance`](Self::advance). Also if a document cannot be deserialized as `T`; the next
    /// call then returns the next document.
    pub async fn try_next(&mut self) -> Result<Option<T>> {
        if self.advance().await? {
            decode_owned(self.current_bytes()?).map(Some)
        } else {
            Ok(None)
        }
    }

    /// The next document if there is one: in the current batch, or in the batch of at most one
    /// getMore, with the delay of [`advance_if_any`](Self::advance_if_any). After `None`, a
    /// tailable cursor may return documents later, until [`is_exhausted`](Self::is_exhausted)
    /// returns `true`.
    ///
    /// # Cancel safety
    /// As [`advance`](Self::advance).
    ///
    /// # Errors
    /// As [`try_next`](Self::try_next).
    ///
    /// ```no_run
    /// # async fn run(log: marula_driver::Database) -> marula_driver::Result<()> {
    /// use marula_driver::{bson::{Document, doc}, options::CursorType};
    /// let events = log.collection::<Document>("events");
    /// let mut events = events.find(doc! {}).cursor_type(CursorType::TailableAwait).await?;
    /// while !events.is_exhausted() {
    ///     match events.next_if_any().await? {
    ///         Some(event) => println!("{event}"),
    ///         None => println!("no event within the last second"),
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn next_if_any(&mut self) -> Result<Option<T>> {
        if self.advance_if_any().await? {
            decode_owned(self.current_bytes()?).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Reads all remaining documents into memory. Does not complete on a tailable cursor.
    ///
    /// # Errors
    /// The first error of the server, the connection or the deserialization. The documents read
    /// before it are lost.
    ///
    /// # Cancel safety
    /// If the future is dropped, the cursor is closed in the background, and the documents read before are lost.
    ///
    /// ```no_run
    /// # use marula_driver::{Collection, Result, bson::{Document, doc}};
    /// # async fn run(books: Collection<Document>) -> Result<()> {
    /// let books: Vec<Document> = books.find(doc! { "author": "Shelley" }).await?.try_collect().await?;
    /// # Ok(()) }
    /// ```
    pub async fn try_collect(mut self) -> Result<Vec<T>> {
        let mut documents = Vec::new();
        while self.advance().await? {
            documents.push(decode_owned(self.current_bytes()?)?);
        }
        Ok(documents)
    }
}

// A cursor has no references into itself, so it can be moved while it is read.
impl<T> Unpin for Cursor<T> {}

impl<T> fmt::Debug for Cursor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.as_deref();
        f.debug_struct("Cursor")
            .field("id", &state.map(|state| state.reply.id))
            .field("namespace", &state.map(|state| &state.reply.namespace))
            .finish_non_exhaustive()
    }
}

//! A cursor over the results of a query.

mod pace;
mod state;

use std::{
    fmt,
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::{FusedStream, Stream};
use serde::{Deserialize, de::DeserializeOwned};

use super::Client;
use crate::{
    Error, Namespace, Result,
    bson::{Bson, RawDocument},
    execution::ExplicitSession,
    operation::{
        cursor::{Batch, CursorReply},
        decode, decode_owned,
    },
};
use state::State;

/// The results of a query, fetched from the server batch by batch and decoded one by one.
///
/// Three ways to read it: as a [`Stream`] of `T`, with [`try_next`](Self::try_next), or without copies with
/// [`advance`](Self::advance) and [`current`](Self::current) or [`deserialize_current`](Self::deserialize_current), whose
/// results may borrow from the batch.
///
/// # Tailable cursors
///
/// A tailable cursor stays open at the end of its capped collection, and the server then answers with empty batches. All
/// three ways wait for the next document, and so never come to an end by themselves.
/// [`next_if_any`](Self::next_if_any) and [`advance_if_any`](Self::advance_if_any) return after an empty batch instead.
///
/// A server answers at once when the cursor does not await data (`awaitData`). Therefore two getMore commands of which the
/// first returned nothing are sent at least 10 ms apart, whichever method sends them; this time doubles with each further
/// empty batch, up to 500 ms, and begins again with the next document. A cursor with a `max_await_time` has no such pauses:
/// its server waits.
///
/// Dropping a cursor that is not exhausted frees it on the server, in the background.
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
pub struct Cursor<T> {
    state: Option<Box<State>>,
    /// A getMore under way, when the cursor is read as a stream; it owns the state.
    fetching: Option<Fetching>,
    document: PhantomData<fn() -> T>,
}

type Fetching = Pin<Box<dyn Future<Output = (Box<State>, Result<()>)> + Send>>;

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

    /// The cursor of a query on something that does not exist.
    pub(crate) fn empty(client: &Client, namespace: Namespace) -> Self {
        let reply = CursorReply {
            id: 0,
            namespace,
            batch: Batch::default(),
            address: crate::ServerAddress::tcp("", 0),
            session: None,
            operation_id: 0,
            pin: None,
        };
        Self::new(client, reply, None, None)
    }

    /// Goes on in the session that the cursor was opened in.
    pub(crate) fn in_session(mut self, session: Option<&Arc<ExplicitSession>>) -> Self {
        if let Some(state) = &mut self.state {
            state.session = session.cloned();
        }
        self
    }

    pub(crate) fn max_await_time(&mut self, time: Option<Duration>) {
        if let Some(state) = &mut self.state {
            state.max_await_time = time;
        }
    }

    /// The server enforces the limit; the count only keeps the batch size of the last getMore below what is left.
    pub(crate) fn limit_total(&mut self, limit: Option<i64>) {
        if let (Some(state), Some(limit)) = (&mut self.state, limit.filter(|limit| *limit != 0)) {
            state.remaining = Some(limit.unsigned_abs());
        }
    }

    /// The same cursor, decoding as `U`.
    #[must_use]
    pub fn with_type<U>(mut self) -> Cursor<U> {
        Cursor {
            state: self.state.take(),
            fetching: self.fetching.take(),
            document: PhantomData,
        }
    }

    /// The collection the results come from; for aggregations it can be a name of the server's own.
    #[must_use]
    pub fn namespace(&self) -> Option<&Namespace> {
        self.state.as_ref().map(|state| &state.reply.namespace)
    }

    /// Whether the server has nothing more and all documents of the last batch were visited.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.fetching.is_none() && self.state.as_ref().is_none_or(|state| state.is_exhausted())
    }

    /// Moves to the next document, fetching batches when needed. False at the end. Waits for a document where the cursor is
    /// tailable; [`advance_if_any`](Self::advance_if_any) does not.
    ///
    /// Dropping the future loses no document unless a getMore was under way, which ends the cursor: what the server sent
    /// is lost, and the next call says so. Read the cursor as a [`Stream`] to go on after a dropped future.
    ///
    /// # Errors
    /// What the server or the network reports, or that a dropped future ended the cursor. The cursor has then ended.
    pub async fn advance(&mut self) -> Result<bool> {
        self.finish_fetching().await?;
        let Some(state) = &mut self.state else {
            return Ok(false);
        };
        loop {
            if state.advance_in_batch()? {
                return Ok(true);
            }
            if state.is_exhausted() {
                return Ok(false);
            }
            // Boxed, since it is once for a batch, and futures that read from a cursor are small without it.
            Box::pin(state.fetch()).await?;
        }
    }

    /// Moves to the next document if there is one now: from the batch at hand, or by one getMore at most. False when that
    /// brought none. Where earlier batches were empty, the getMore is sent after the [pause](Self#tailable-cursors) of at
    /// most 500 ms between two of them, so a loop of such calls keeps neither the processor nor the server busy. The cursor of a query on a capped collection can have more later; it is at its end when
    /// [`is_exhausted`](Self::is_exhausted) says so.
    ///
    /// Dropping the future is as with [`advance`](Self::advance).
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
                return Ok(false);
            }
            asked = true;
            Box::pin(state.fetch()).await?;
        }
    }

    /// Waits for the getMore that was begun when the cursor was read as a stream. False if there was none.
    async fn finish_fetching(&mut self) -> Result<bool> {
        let Some(fetching) = &mut self.fetching else {
            return Ok(false);
        };
        let (state, result) = fetching.await;
        self.fetching = None;
        self.state = Some(state);
        result.map(|()| true)
    }

    /// The document that [`advance`](Self::advance) moved to, without copying it.
    ///
    /// # Errors
    /// When there is none: before the first `advance`, or after one that returned false.
    pub fn current(&self) -> Result<&RawDocument> {
        self.state_with_document()?.reply.batch.current_document()
    }

    /// Decodes the document that [`advance`](Self::advance) moved to. `D` may borrow strings and bytes from the cursor.
    ///
    /// # Errors
    /// When there is none, or when it does not fit `D`; the error names the field.
    pub fn deserialize_current<'a, D: Deserialize<'a>>(&'a self) -> Result<D> {
        decode(self.current_bytes()?)
    }

    /// Frees the cursor on the server and waits until that is done, where dropping the cursor does it in the background. The
    /// command is part of the session that the cursor was opened in, unless that has ended. Does nothing on the server when the cursor is exhausted. A failure is ignored: the server frees forgotten cursors
    /// by itself.
    ///
    /// Dropping the future frees the cursor as dropping the cursor does.
    pub async fn close(mut self) {
        if let Some(fetching) = self.fetching.take() {
            // What it fetches is not wanted any more, but its cursor is the one to free.
            self.state = Some(fetching.await.0);
        }
        if let Some(mut state) = self.state.take() {
            state.free().await;
        }
    }

    fn current_bytes(&self) -> Result<&[u8]> {
        Ok(self.state_with_document()?.reply.batch.current())
    }

    fn state_with_document(&self) -> Result<&State> {
        self.state
            .as_deref()
            .filter(|state| state.reply.batch.has_current())
            .ok_or_else(|| Error::invalid_argument("the cursor is on no document; call advance first"))
    }
}

impl<T: DeserializeOwned + 'static> Cursor<T> {
    /// The next document, or `None` at the end. Waits for a document where the cursor is tailable. Dropping the future is as
    /// with [`advance`](Self::advance).
    ///
    /// # Errors
    /// As [`advance`](Self::advance); and a document that does not fit `T`, after which the next one can be read.
    pub async fn try_next(&mut self) -> Result<Option<T>> {
        if self.advance().await? {
            decode_owned(self.current_bytes()?).map(Some)
        } else {
            Ok(None)
        }
    }

    /// The next document if there is one now: from the batch at hand, or by one getMore at most, with the pause of
    /// [`advance_if_any`](Self::advance_if_any) before it. After `None` a tailable cursor can have more later, until
    /// [`is_exhausted`](Self::is_exhausted).
    ///
    /// ```no_run
    /// # async fn run(log: marula_driver::Database) -> marula_driver::Result<()> {
    /// use marula_driver::bson::doc;
    /// let command = doc! { "find": "events", "tailable": true, "awaitData": true };
    /// let mut events = log.run_cursor_command(command).await?;
    /// while !events.is_exhausted() {
    ///     match events.next_if_any().await? {
    ///         Some(event) => println!("{event}"),
    ///         None => println!("nothing happened within the last second"),
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`try_next`](Self::try_next).
    pub async fn next_if_any(&mut self) -> Result<Option<T>> {
        if self.advance_if_any().await? {
            decode_owned(self.current_bytes()?).map(Some)
        } else {
            Ok(None)
        }
    }

    /// All remaining documents. Does not return where the cursor is tailable.
    ///
    /// # Errors
    /// The first error, from the server or from decoding.
    pub async fn try_collect(mut self) -> Result<Vec<T>> {
        let mut documents = Vec::new();
        while self.advance().await? {
            documents.push(decode_owned(self.current_bytes()?)?);
        }
        Ok(documents)
    }
}

impl<T: DeserializeOwned + 'static> Stream for Cursor<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(fetching) = &mut self.fetching {
                let (state, result) = std::task::ready!(fetching.as_mut().poll(cx));
                self.fetching = None;
                self.state = Some(state);
                if let Err(error) = result {
                    return Poll::Ready(Some(Err(error)));
                }
            }
            let Some(state) = &mut self.state else {
                return Poll::Ready(None);
            };
            match state.advance_in_batch() {
                Ok(true) => return Poll::Ready(Some(decode_owned(state.reply.batch.current()))),
                Err(error) => return Poll::Ready(Some(Err(error))),
                Ok(false) if state.is_exhausted() => return Poll::Ready(None),
                Ok(false) => {}
            }
            if let Some(mut state) = self.state.take() {
                self.fetching = Some(Box::pin(async move {
                    let result = state.fetch().await;
                    (state, result)
                }));
            }
        }
    }
}

impl<T: DeserializeOwned + 'static> FusedStream for Cursor<T> {
    fn is_terminated(&self) -> bool {
        self.is_exhausted()
    }
}

// A cursor holds no reference into itself, so it can be moved while it is read.
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

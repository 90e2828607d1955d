//! A cursor over the results of a query.

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
    Error, Namespace, RETRYABLE_ERROR, Result,
    bson::{Bson, RawDocument},
    execution::ExplicitSession,
    operation::{
        Pinned,
        cursor::{Batch, CursorReply},
        decode, decode_owned,
        get_more::GetMore,
        kill_cursors::KillCursors,
    },
    proto::session::ServerSession,
};

/// The results of a query, fetched from the server batch by batch and decoded one by one.
///
/// Three ways to read it: as a [`Stream`] of `T`, with [`try_next`](Self::try_next), or without copies with
/// [`advance`](Self::advance) and [`current`](Self::current) or [`deserialize_current`](Self::deserialize_current), whose
/// results may borrow from the batch.
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

/// What a cursor owns.
struct State {
    client: Client,
    reply: CursorReply,
    /// The session of the application that the cursor was opened in.
    session: Option<Arc<ExplicitSession>>,
    batch_size: Option<u32>,
    max_await_time: Option<Duration>,
    comment: Option<Bson>,
    /// Documents that may still be fetched, when the query had a limit.
    remaining: Option<u64>,
    /// A getMore failed: the cursor has ended.
    failed: bool,
    /// A getMore is under way, or was dropped while it was, which the application is yet to be told.
    interrupted: bool,
}

impl<T> Cursor<T> {
    pub(crate) fn new(
        client: &Client,
        reply: CursorReply,
        batch_size: Option<u32>,
        comment: Option<Bson>,
    ) -> Self {
        Self {
            state: Some(Box::new(State {
                client: client.clone(),
                reply,
                session: None,
                batch_size,
                max_await_time: None,
                comment,
                remaining: None,
                failed: false,
                interrupted: false,
            })),
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

    /// Moves to the next document, fetching a batch when needed. False at the end.
    ///
    /// Dropping the future loses no document unless a getMore was under way, which ends the cursor: what the server sent
    /// is lost, and the next call says so. Read the cursor as a [`Stream`] to go on after a dropped future.
    ///
    /// # Errors
    /// What the server or the network reports, or that a dropped future ended the cursor. The cursor has then ended.
    pub async fn advance(&mut self) -> Result<bool> {
        if let Some(fetching) = &mut self.fetching {
            let (state, result) = fetching.await;
            self.fetching = None;
            self.state = Some(state);
            result?;
        }
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

    /// Frees the cursor on the server and waits until that is done, where dropping the cursor does it in the background.
    /// Does nothing on the server when the cursor is exhausted. A failure is ignored: the server frees forgotten cursors
    /// by itself.
    ///
    /// Dropping the future frees the cursor as dropping the cursor does.
    pub async fn close(mut self) {
        if let Some(fetching) = self.fetching.take() {
            // What it fetches is not wanted any more, but its cursor is the one to free.
            self.state = Some(fetching.await.0);
        }
        let Some(mut state) = self.state.take() else {
            return;
        };
        if state.reply.id != 0 {
            state.remains().free().await;
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
    /// The next document, or `None` at the end. Dropping the future is as with [`advance`](Self::advance).
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

    /// All remaining documents.
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

impl State {
    fn advance_in_batch(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.interrupted) {
            // To end quietly would pass off a part of the results as all of them.
            return Err(Error::invalid_argument(
                "the cursor has ended: a future that fetched its next batch was dropped",
            ));
        }
        if self.failed {
            return Ok(false);
        }
        let advanced = self.reply.batch.advance();
        match &advanced {
            Ok(true) => {
                if let Some(remaining) = &mut self.remaining {
                    *remaining = remaining.saturating_sub(1);
                }
            }
            Ok(false) => {}
            Err(_) => self.failed = true,
        }
        advanced
    }

    fn is_exhausted(&self) -> bool {
        !self.interrupted && (self.failed || (self.reply.id == 0 && self.reply.batch.is_empty()))
    }

    /// Replaces the empty batch by the next one.
    async fn fetch(&mut self) -> Result<()> {
        // Until the reply is there the cursor counts as failed, so that a dropped future leaves no half-read batch.
        self.failed = true;
        self.interrupted = true;
        let batch_size = match (self.batch_size, self.remaining) {
            (Some(size), Some(remaining)) if remaining > 0 => {
                Some(size.min(u32::try_from(remaining).unwrap_or(u32::MAX)))
            }
            (size, _) => size,
        };
        let mut operation = GetMore {
            id: self.reply.id,
            namespace: &self.reply.namespace,
            address: &self.reply.address,
            session: self.reply.session.as_ref(),
            pin: &mut self.reply.pin,
            batch_size,
            max_await_time: self.max_await_time,
            comment: self.comment.as_ref(),
        };
        let next = self
            .client
            .executor()
            .run_in(self.session.as_ref(), &mut operation)
            .await;
        self.interrupted = false;
        let next = match next {
            Ok(next) => next,
            Err(error) => {
                let answered = error.code().is_some();
                if answered && error.contains_label(RETRYABLE_ERROR) {
                    // The server did nothing of the command, so it still has the cursor. Boxed, since it is rare.
                    Box::pin(self.remains().free()).await;
                } else if answered != self.reply.pin.is_some() {
                    // The server knows the cursor no more after an error reply, unless it is a load balancer's; and what
                    // is behind one is lost with the socket. Other cursors are freed on drop.
                    self.reply.id = 0;
                }
                if let Some(session) = self.reply.session.as_mut().filter(|_| error.is_network()) {
                    session.mark_dirty();
                }
                return Err(error);
            }
        };
        self.reply.id = next.id;
        self.reply.batch = next.batch;
        self.failed = false;
        if self.reply.id == 0 {
            self.reply.pin = None;
            self.client.executor().give_back(self.reply.session.take());
        }
        Ok(())
    }
}

impl State {
    /// Takes everything that freeing the server's cursor needs. The state has no cursor any more.
    fn remains(&mut self) -> Remains {
        Remains {
            client: self.client.clone(),
            id: std::mem::take(&mut self.reply.id),
            namespace: self.reply.namespace.clone(),
            address: self.reply.address.clone(),
            session: self.reply.session.take(),
            explicit: self.session.take(),
            pin: self.reply.pin.take(),
        }
    }
}

impl Drop for State {
    /// Frees an open cursor in the background. The client's runtime does it, since a cursor can be dropped on any thread.
    fn drop(&mut self) {
        if self.reply.id == 0 {
            self.client.executor().give_back(self.reply.session.take());
            return;
        }
        let runtime = self.client.executor().topology().runtime().clone();
        runtime.spawn(self.remains().free());
    }
}

/// What is left of a cursor that nobody reads any more.
struct Remains {
    client: Client,
    id: i64,
    namespace: Namespace,
    address: crate::ServerAddress,
    session: Option<ServerSession>,
    explicit: Option<Arc<ExplicitSession>>,
    pin: Option<Pinned>,
}

impl Remains {
    /// Frees the cursor on the server, then gives back what it held.
    async fn free(mut self) {
        let mut operation = KillCursors {
            id: self.id,
            namespace: &self.namespace,
            address: &self.address,
            session: self.session.as_ref(),
            pin: &mut self.pin,
        };
        let explicit = self.explicit.as_ref().filter(|session| !session.has_ended());
        // The server frees forgotten cursors by itself after ten minutes, so an error changes nothing.
        let _ = self.client.executor().run_in(explicit, &mut operation).await;
        drop(self.pin.take());
        self.client.executor().give_back(self.session.take());
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

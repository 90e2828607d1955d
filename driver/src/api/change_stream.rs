//! [`ChangeStream`].

mod event;
mod state;

use std::{
    fmt,
    future::poll_fn,
    marker::PhantomData,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::{FusedStream, Stream};
use serde::de::DeserializeOwned;

use super::{
    collection::CollectionInner,
    command::{Target, options::ChangeStreamOptions},
    command_task::{CommandTask, Ending},
    cursor::CursorTimeout,
};
use crate::{
    Error, Result, ResumeToken,
    bson::{DecodeError, RawDocumentBuf, codec::Value},
    execution::SessionHandle,
    operation::{decode_owned, undecoded},
    proto::change_stream::{Action, ChangeStream as Machine, Failure, Reply},
    types::timeout::Timeout,
};
pub use event::{
    ChangeNamespace, ChangeOperation, ChangeStreamEvent, SplitEvent, TruncatedArray, UpdateDescription,
};
use state::{Failed, State};

/// The changes of a collection, a database or a deployment, in the order in which they happened.
/// Created by [`Collection::watch`](crate::Collection::watch),
/// [`Database::watch`](crate::Database::watch) and [`Client::watch`](crate::Client::watch).
///
/// Read it with [`try_next`](Self::try_next), which waits for the next event, with
/// [`next_if_any`](Self::next_if_any), which also returns if there is none, or as a [`Stream`].
/// Dropping it closes its cursor in the background, on the runtime of the client.
///
/// ```no_run
/// # async fn run(orders: marula_driver::Collection<marula_driver::bson::Document>) -> marula_driver::Result<()> {
/// let mut changes = orders.watch().await?;
/// while let Some(change) = changes.try_next().await? {
///     println!("{} {:?}", change.operation.as_str(), change.document_key);
/// }
/// # Ok(()) }
/// ```
///
/// # Resuming
///
/// After a network error, an election, or the loss of its cursor, the stream opens a new cursor at
/// its position, on a server that its read preference allows and in the same session. No event is
/// lost or returned twice. This happens within the call that encounters the error; only if the new
/// cursor cannot be opened, the call returns that error. The stream is then still
/// [alive](Self::is_alive) if a later call may succeed, and that call resumes.
///
/// The stream resumes after the errors that the specification names: those without a reply of the
/// server, replies that cannot be decoded (five in a row end the stream), `CursorNotFound`, and error
/// replies that the server has labeled as resumable (before MongoDB 4.4: a list of codes). After any
/// other error reply to a getMore, the stream has ended.
///
/// # Timeouts
///
/// With `timeoutMS`, each call has that time limit again, for all commands that it needs. A call that
/// times out does not end the stream: call it again, and it resumes the stream first, or close the
/// stream and open another. If a call times out before any event was received, open the stream with a
/// longer [`timeout`](crate::action::Watch::timeout): the server may need more time to read the oplog
/// from the position of the stream.
///
/// # Sessions
///
/// A stream in an explicit [`session`](crate::action::Watch::session) is not part of transactions,
/// which the server does not permit: it is opened before or after them. A `watch` in a session with a
/// transaction in progress fails with an error of the server, which aborts the transaction. While the session has a transaction in progress, reads that need a
/// command return [`InvalidArgument`](crate::ErrorKind::InvalidArgument), nothing is sent, and the
/// stream continues after the transaction.
///
/// # Storing the position
///
/// An application that continues after a restart stores [`resume_token`](Self::resume_token), and
/// passes it to [`start_after`](crate::action::Watch::start_after). The token also advances while
/// there are no events for the stream. To receive every token, read with
/// [`next_if_any`](Self::next_if_any), and store the token after each call:
///
/// ```no_run
/// # use marula_driver::{Collection, Result, ResumeToken, bson::Document};
/// # async fn store(token: Option<ResumeToken>) -> Result<()> { Ok(()) }
/// # fn process(document: Option<Document>) {}
/// # async fn run(orders: Collection<Document>) -> Result<()> {
/// let mut changes = orders.watch().await?;
/// while changes.is_alive() {
///     let change = changes.next_if_any().await?;
///     if let Some(change) = change {
///         process(change.full_document);
///     }
///     store(changes.resume_token()).await?;
/// }
/// # Ok(()) }
/// ```
///
/// # Cancel safety
///
/// The futures of `try_next` and `next_if_any` can be dropped at any time, e.g. in
/// `tokio::select!`. No event is lost. A command that is running stays with the stream, in a task on
/// the runtime of the client: the next call waits for its result. Its reply is received also if the
/// stream is not read for some time, so the stream then holds no connection.
///
/// # Large events
///
/// If an event is larger than 16 MiB, e.g. because it contains a document before and after a change,
/// the server closes the stream with an error. MongoDB 7.0+ splits such events if the last stage of
/// the [`pipeline`](crate::action::Watch::pipeline) is `{ "$changeStreamSplitLargeEvent": {} }`. The
/// fragments have a field [`split_event`](ChangeStreamEvent::split_event), and each contains some of
/// the fields of the event; read them as [`Document`](crate::bson::Document) and join their fields:
///
/// ```no_run
/// # async fn run(orders: marula_driver::Collection<marula_driver::bson::Document>) -> marula_driver::Result<()> {
/// use marula_driver::{ChangeStreamEvent, bson::{Document, doc, from_document}};
/// let split = [doc! { "$changeStreamSplitLargeEvent": {} }];
/// let mut fragments = orders.watch().pipeline(split).with_type::<Document>().await?;
/// let mut whole = Document::new();
/// while let Some(fragment) = fragments.try_next().await? {
///     whole.extend(fragment);
///     let is_complete = match whole.get_document("splitEvent") {
///         Ok(position) => position.get_i32("fragment").ok() == position.get_i32("of").ok(),
///         Err(_) => true,
///     };
///     if is_complete {
///         let event: ChangeStreamEvent<Document> = from_document(&std::mem::take(&mut whole))?;
///         println!("{:?}", event.full_document_before_change);
///     }
/// }
/// # Ok(()) }
/// ```
pub struct ChangeStream<E> {
    machine: Machine,
    /// `None` while a command is running, and after the stream has ended.
    state: Option<Box<State>>,
    running: Option<Running>,
    timeout: CursorTimeout,
    /// The time limit of the running call. `None` until it sends its first command.
    call: Option<Timeout>,
    event: PhantomData<fn() -> E>,
}

/// A running command. It owns the state, so that the future of a read can be dropped.
struct Running {
    is_get_more: bool,
    /// Whether it has the time limit of an earlier call, whose future was dropped.
    is_of_earlier_call: bool,
    task: CommandTask<Completed>,
}

/// The state, and the result of the command unless it was cancelled.
type Completed = (Box<State>, Option<Result<Reply, Failed>>);

/// How long a read waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// For an event.
    Event,
    /// For one batch. `true` after it was received.
    Batch(bool),
}

/// A call that reads the next event.
#[doc(hidden)]
#[derive(Debug)]
pub struct Call {
    wait: Wait,
    has_begun: bool,
}

impl Call {
    fn new(wait: Wait) -> Self {
        Self {
            wait,
            has_begun: false,
        }
    }
}

impl<E> ChangeStream<E> {
    pub(super) async fn open(
        collection: CollectionInner,
        target: Target,
        pipeline: Vec<RawDocumentBuf>,
        options: ChangeStreamOptions,
        session: Option<SessionHandle>,
        timeout: CursorTimeout,
    ) -> Result<Self> {
        let mut machine = Machine::new(options.start());
        let mut state = Box::new(State::new(
            collection, target, pipeline, options, session, timeout,
        ));
        if let Action::Aggregate { start, .. } = machine.next_action() {
            let aggregate = state.aggregate(&start, None, false, timeout.of_operation());
            match Box::pin(aggregate).await {
                Ok(reply) => machine.replied(reply),
                Err(failed) => return Err(failed.error),
            }
        }
        Ok(Self {
            machine,
            state: Some(state),
            running: None,
            timeout,
            call: None,
            event: PhantomData,
        })
    }

    /// Converts to a stream that deserializes events as `U`. The position does not change.
    #[must_use]
    pub fn with_type<U>(self) -> ChangeStream<U> {
        ChangeStream {
            machine: self.machine,
            state: self.state,
            running: self.running,
            timeout: self.timeout,
            call: self.call,
            event: PhantomData,
        }
    }

    /// The position after the event that was returned last, or after the empty batch that was
    /// received last: where the stream resumes, and the token to store. `None` before the first
    /// event or batch, unless the stream was started with a token, and with MongoDB 4.0.6 or older.
    #[must_use]
    pub fn resume_token(&self) -> Option<ResumeToken> {
        self.machine.resume_token()
    }

    /// Whether events can follow. `false` after an `invalidate` event and after an error that ends
    /// the stream, such as a position that the oplog does not contain anymore.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.running.is_some() || self.machine.is_alive() || self.has_documents()
    }

    fn has_documents(&self) -> bool {
        let cursor = self.state.as_ref().and_then(|state| state.cursor.as_ref());
        cursor.is_some_and(|cursor| !cursor.reply.batch.is_empty())
    }

    /// Closes the cursor on the server with `killCursors` and waits for the reply. Dropping the
    /// stream does the same in the background, and so does this method if the server is not available.
    /// A running getMore is cancelled. Errors are ignored: the server closes idle cursors after 10
    /// minutes.
    ///
    /// # Cancel safety
    /// If the future is dropped, the cursor is closed in the background.
    pub async fn close(mut self) {
        let _ending = self.cancel_running().await;
        if let Some(mut state) = self.state.take() {
            state.close().await;
        }
    }

    /// As [`close`](Self::close), with this time limit (`timeoutMS`) for `killCursors`. Zero means no
    /// limit. Default: the full time limit of the stream.
    ///
    /// # Cancel safety
    /// As [`close`](Self::close).
    pub async fn close_within(mut self, timeout: Duration) {
        let _ending = self.cancel_running().await;
        if let Some(cursor) = self.state.as_mut().and_then(|state| state.cursor.as_mut()) {
            cursor.timeout.set_close(timeout);
        }
        self.close().await;
    }

    /// Cancels the running command. The returned value must be dropped after the cursor is closed.
    async fn cancel_running(&mut self) -> Option<Ending> {
        let running = self.running.take()?;
        let ((state, _), ending) = running.task.cancel().await.ok()?;
        self.state = Some(state);
        ending
    }

    /// Begins a call, which has a time limit of its own.
    fn begin_call(&mut self) {
        self.call = None;
        if let Some(running) = &mut self.running {
            running.is_of_earlier_call = true;
            self.call = Some(self.timeout.of_call());
        }
    }

    /// A call that waits for an event, as [`try_next`](Self::try_next) does.
    #[doc(hidden)]
    #[must_use]
    pub fn call() -> Call {
        Call::new(Wait::Event)
    }

    /// A call that returns if there is no event, as [`next_if_any`](Self::next_if_any) does.
    #[doc(hidden)]
    #[must_use]
    pub fn call_if_any() -> Call {
        Call::new(Wait::Batch(false))
    }

    /// Moves to the next event. `false`: the stream has ended, or the call has not found an event.
    #[doc(hidden)]
    #[inline]
    pub fn poll_call(&mut self, cx: &mut Context<'_>, call: &mut Call) -> Poll<Result<bool>> {
        if !call.has_begun {
            call.has_begun = true;
            self.begin_call();
        }
        self.poll_event(cx, &mut call.wait)
    }

    /// Moves to the next event, as [`Stream::poll_next`] does. `false`: the stream has ended.
    #[doc(hidden)]
    pub fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool>> {
        self.poll_event(cx, &mut Wait::Event)
    }

    /// The bytes of the current event. Empty if there is none.
    fn current(&self) -> &[u8] {
        let cursor = self.state.as_ref().and_then(|state| state.cursor.as_ref());
        cursor.map_or(&[], |cursor| cursor.reply.batch.current())
    }

    /// Moves to the next event. `false`: the stream has ended, or `wait` is over.
    fn poll_event(&mut self, cx: &mut Context<'_>, wait: &mut Wait) -> Poll<Result<bool>> {
        let event = ready!(self.poll_commands(cx, wait));
        self.call = None;
        if !self.machine.is_alive() && !matches!(event, Ok(true)) && !self.has_documents() {
            // Returns the session to its pool.
            self.state = None;
        }
        Poll::Ready(event)
    }

    fn poll_commands(&mut self, cx: &mut Context<'_>, wait: &mut Wait) -> Poll<Result<bool>> {
        loop {
            if self.running.is_some() {
                ready!(self.poll_running(cx, wait))?;
            }
            if self.advance_in_batch()? {
                return Poll::Ready(Ok(true));
            }
            if *wait == Wait::Batch(true) {
                return Poll::Ready(Ok(false));
            }
            let action = self.machine.next_action();
            let Some(mut state) = self.state.take_if(|_| action != Action::End) else {
                return Poll::Ready(Ok(false));
            };
            let timeout = *self.call.get_or_insert_with(|| self.timeout.of_call());
            let client = state.client().clone();
            self.running = Some(Running {
                is_get_more: action == Action::GetMore,
                is_of_earlier_call: false,
                task: CommandTask::spawn(&client, |cancelled| async move {
                    let (result, ending) = cancelled.or(pin!(state.run(action, timeout))).await;
                    ((state, result), ending)
                }),
            });
        }
    }

    /// Waits for the running command.
    fn poll_running(&mut self, cx: &mut Context<'_>, wait: &mut Wait) -> Poll<Result<()>> {
        let Some(running) = &mut self.running else {
            return Poll::Ready(Ok(()));
        };
        let completed = ready!(running.task.poll(cx));
        let (is_get_more, is_of_earlier_call) = (running.is_get_more, running.is_of_earlier_call);
        self.running = None;
        let (state, result) = completed.inspect_err(|_| self.machine.end())?;
        self.state = Some(state);
        match result {
            Some(Ok(reply)) => {
                self.machine.replied(reply);
                if is_get_more && *wait != Wait::Event {
                    *wait = Wait::Batch(true);
                }
                Poll::Ready(Ok(()))
            }
            Some(Err(failed)) => {
                // The time limit that expired was not that of this call.
                let resumes = is_of_earlier_call && failed.failure == Failure::Timeout;
                Poll::Ready(self.handle(failed, resumes))
            }
            None => Poll::Ready(Ok(())),
        }
    }

    /// Handles the failure of a command, or of a batch. `resumes`: whether the error is not reported in
    /// any case.
    fn handle(&mut self, Failed { error, failure }: Failed, resumes: bool) -> Result<()> {
        let decided = self.machine.failed(&failure);
        if let Some(state) = &mut self.state {
            state.after_failure(decided.cursor);
        }
        if decided.resumes || resumes {
            Ok(())
        } else {
            Err(error)
        }
    }

    /// Moves to the next event of the batch. `false`: there is none.
    fn advance_in_batch(&mut self) -> Result<bool> {
        let Some(state) = &mut self.state else {
            return Ok(false);
        };
        let Some(cursor) = &mut state.cursor else {
            return Ok(false);
        };
        match cursor.advance_in_batch() {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => {
                let failed = state.failed(error, None);
                return self.handle(failed, false).map(|()| false);
            }
        }
        let (id, is_last) = state.current_id();
        if self.machine.deliver(id, is_last).is_err() {
            // Dropping the state closes the cursor in the background.
            self.state = None;
            return Err(Error::invalid_reply(
                "a change event has no document \"_id\": cannot provide resume functionality when the resume token is missing; \
                 keep \"_id\" in the pipeline",
            ));
        }
        Ok(true)
    }
}

impl<E: DeserializeOwned + 'static> ChangeStream<E> {
    /// The next event. Waits for it; returns `None` only after the stream has ended, see
    /// [`is_alive`](Self::is_alive).
    ///
    /// # Errors
    /// The stream could not resume, or the server returned an error that is not resumable. Also if
    /// an event cannot be deserialized as `E`; the next call then returns the event after it.
    /// [`InvalidReply`](crate::ErrorKind::InvalidReply) if an event has no `_id`, because the
    /// pipeline has removed it; the stream has then ended.
    ///
    /// [`Timeout`](crate::ErrorKind::Timeout) if the time limit of the call expires,
    /// [`Encryption`](crate::ErrorKind::Encryption) if the keys of an event cannot be read repeatedly, and [`InvalidArgument`](crate::ErrorKind::InvalidArgument) while a transaction is in progress in the
    /// session of the stream: the next call continues at the same event.
    /// [`Shutdown`](crate::ErrorKind::Shutdown) if the client was shut down or its runtime has ended.
    ///
    /// # Cancel safety
    /// If the future is dropped, no event is lost. The command that is running stays with the stream.
    ///
    /// ```no_run
    /// # use marula_driver::{Collection, Result, bson::Document};
    /// # async fn run(orders: Collection<Document>) -> Result<()> {
    /// let mut changes = orders.watch().await?;
    /// while let Some(change) = changes.try_next().await? {
    ///     println!("{:?}", change.operation);
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn try_next(&mut self) -> Result<Option<E>> {
        self.next_within(Self::call()).await
    }

    /// The next event if there is one: in the current batch, or in the batch of at most one getMore,
    /// for which the server waits up to
    /// [`max_await_time`](crate::action::Watch::max_await_time). A getMore that fails is followed by
    /// the resume and another getMore, as in [`try_next`](Self::try_next). Returns `None` if there is none, so
    /// that the application can store the [`resume_token`](Self::resume_token) or do other work.
    /// After `None`, events can follow as long as the stream is [alive](Self::is_alive).
    ///
    /// # Errors
    /// As [`try_next`](Self::try_next).
    ///
    /// # Cancel safety
    /// As [`try_next`](Self::try_next).
    pub async fn next_if_any(&mut self) -> Result<Option<E>> {
        self.next_within(Self::call_if_any()).await
    }

    async fn next_within(&mut self, mut call: Call) -> Result<Option<E>> {
        if poll_fn(|cx| self.poll_call(cx, &mut call)).await? {
            decode_owned(self.current()).map(Some)
        } else {
            Ok(None)
        }
    }
}

impl<T> ChangeStream<ChangeStreamEvent<T>> {
    /// Reads the current event. Its documents are read by the function `read` to the places that it is given. `done` makes
    /// the result.
    #[doc(hidden)]
    #[inline]
    pub fn read_current<U, E: From<DecodeError>, R>(
        &self,
        read: impl FnMut(&Value<'_>, &mut Option<U>) -> std::result::Result<(), E>,
        done: impl Fn(std::result::Result<ChangeStreamEvent<U>, E>) -> R,
    ) -> R {
        event::event(&Value::of_document(self.current()), read, done)
    }

    /// The error of an event that cannot be read.
    #[doc(hidden)]
    #[must_use]
    pub fn undecoded(&self, error: DecodeError) -> Error {
        let bytes = self.current();
        undecoded(Value::of_document(bytes).locate(error), bytes)
    }
}

/// The events as [`ChangeStream::try_next`] returns them, with its errors. An error is an item: the stream ends only
/// if it is not [alive](ChangeStream::is_alive). Dropping a future of the next item loses no event.
impl<E: DeserializeOwned + 'static> Stream for ChangeStream<E> {
    type Item = Result<E>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(match ready!(self.poll_event(cx, &mut Wait::Event)) {
            Ok(true) => Some(decode_owned(self.current())),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        })
    }
}

impl<E: DeserializeOwned + 'static> FusedStream for ChangeStream<E> {
    fn is_terminated(&self) -> bool {
        !self.is_alive()
    }
}

// A change stream has no references into itself, so it can be moved while it is read.
impl<E> Unpin for ChangeStream<E> {}

impl<E> fmt::Debug for ChangeStream<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeStream")
            .field("resume_token", &self.machine.resume_token())
            .field("is_alive", &self.is_alive())
            .finish_non_exhaustive()
    }
}

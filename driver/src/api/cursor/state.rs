//! The state of a [`Cursor`](crate::Cursor): the current batch, the session, and the cursor on the
//! server.

use std::time::{Duration, Instant};

use super::{
    super::{Client, command::GetMore},
    backoff::Backoff,
    kill::KillOnDrop,
    time_limit::CursorTimeout,
};
use crate::{
    Error, ErrorKind, RETRYABLE_ERROR, Result,
    bson::Bson,
    connection::Condition,
    execution::SessionHandle,
    operation::{
        CommandState, SessionUse,
        cursor::{Batch, CursorReply},
    },
    pool::PooledConnection,
    proto::session::ServerSession,
    types::timeout::Timeout,
};

/// The state of a cursor. Dropping it closes the cursor on the server.
pub(in crate::api) struct State {
    client: Client,
    pub(in crate::api) reply: CursorReply,
    /// The explicit session that the cursor was opened in. An implicit session is in `reply`.
    pub(in crate::api) session: Option<SessionHandle>,
    /// The transaction of that session which the cursor was opened in, by its number.
    pub(super) transaction: Option<i64>,
    batch_size: Option<u32>,
    pub(in crate::api) max_await_time: Option<Duration>,
    comment: Option<Bson>,
    /// Number of documents that the cursor can still return, if the query has a limit.
    pub(super) remaining: Option<u64>,
    /// A getMore failed, so the cursor has ended.
    failed: bool,
    /// A getMore is running, or its future was dropped and no call has returned the error yet.
    interrupted: bool,
    /// How that getMore uses the session.
    session_use: SessionUse,
    /// The error of a failed getMore whose future was dropped before it returned the error.
    unreported: Option<Error>,
    /// Whether the commands of the cursor must use one connection. The connection may have failed.
    is_pinned: bool,
    /// Whether the cursor is that of a change stream, which resumes in the same session after an
    /// error. [`give_up`](Self::give_up) then decides whether the cursor is killed.
    is_change_stream: bool,
    /// If the server replied to the last getMore with an error: `maxWireVersion` of the connection.
    pub(in crate::api) refused_by: Option<i32>,
    backoff: Backoff,
    pub(in crate::api) timeout: CursorTimeout,
    /// The time limit of the running call, which may send several getMore commands on a tailable
    /// cursor. `None` until it sends the first.
    pub(in crate::api) call: Option<Timeout>,
    /// Whether killCursors is sent even after an error reply to a getMore, after which the server has
    /// usually closed the cursor.
    pub(super) kill_after_error: bool,
}

impl State {
    pub(in crate::api) fn new(
        client: &Client,
        reply: CursorReply,
        batch_size: Option<u32>,
        comment: Option<Bson>,
    ) -> Self {
        Self {
            client: client.clone(),
            is_pinned: reply.pin.is_some(),
            reply,
            session: None,
            transaction: None,
            batch_size,
            max_await_time: None,
            comment,
            remaining: None,
            failed: false,
            interrupted: false,
            session_use: SessionUse::default(),
            unreported: None,
            is_change_stream: false,
            refused_by: None,
            backoff: Backoff::default(),
            timeout: CursorTimeout::default(),
            call: None,
            kill_after_error: false,
        }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// The state of a change stream's cursor.
    pub(in crate::api) fn of_change_stream(mut self) -> Self {
        self.is_change_stream = true;
        self.reply.held = None;
        self
    }

    /// Gives up the cursor of a change stream whose getMore failed, and returns its implicit session
    /// for the resume ("the resume attempt MUST use the same session"). Without the session, the
    /// cursor is killed in the background: its server may not be available. Its pinned connection
    /// returns to the pool.
    pub(in crate::api) fn give_up(mut self, kills_cursor: bool) -> Option<ServerSession> {
        if !kills_cursor {
            self.reply.id = 0;
        }
        self.reply.session.take()
    }

    /// Keeps the cursor of a change stream whose getMore was not sent.
    pub(in crate::api) fn keep(&mut self) {
        self.failed = false;
    }

    /// Returns an error once if the last getMore was interrupted after it was sent.
    fn take_error(&mut self) -> Result<()> {
        if self.end_interrupted() {
            // Without an error, the caller could not know that documents are missing.
            return Err(Error::new(ErrorKind::CursorInterrupted));
        }
        self.unreported.take().map_or(Ok(()), Err)
    }

    /// The rest of the batch, unless it is empty or the cursor has failed. Fails as
    /// [`advance_in_batch`](Self::advance_in_batch).
    pub(super) fn take_batch(&mut self) -> Result<Option<Batch>> {
        self.take_error()?;
        if self.failed || self.reply.batch.is_empty() {
            return Ok(None);
        }
        let batch = std::mem::take(&mut self.reply.batch);
        if let Some(remaining) = &mut self.remaining {
            *remaining = remaining.saturating_sub(batch.documents().count() as u64);
        }
        Ok(Some(batch))
    }

    /// Moves to the next document of the batch. Returns `false` at the end of the batch and after
    /// the cursor has failed. Returns an error once if the last getMore was interrupted.
    pub(in crate::api) fn advance_in_batch(&mut self) -> Result<bool> {
        self.take_error()?;
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

    /// Whether there are no further documents and no error to return.
    pub(in crate::api) fn is_exhausted(&self) -> bool {
        !self.interrupted
            && self.unreported.is_none()
            && (self.failed || (self.reply.id == 0 && self.reply.batch.is_empty()))
    }

    /// Begins a call, whose time limit starts with its first getMore.
    pub(super) fn begin_call(&mut self) {
        self.call = None;
    }

    /// Fetches the next batch, after a delay if the preceding batches were empty. Dropping the
    /// future during the delay has no effect.
    pub(in crate::api) async fn fetch(&mut self) -> Result<()> {
        if self.timeout.is_endless() && self.client.executor().is_closing() {
            self.failed = true;
            return Err(Error::new(ErrorKind::Shutdown));
        }
        let timeout = *self.call.get_or_insert_with(|| self.timeout.of_call());
        // With `max_await_time` the server waits for data, so the driver does not.
        if self.max_await_time.is_none()
            && let Some(delay) = self.backoff.delay(Instant::now())
        {
            let left = timeout.remaining().unwrap_or(delay);
            tokio::time::sleep(delay.min(left)).await;
            if left < delay {
                self.call = None;
                return Err(Error::timed_out_by(
                    timeout.source(),
                    "while a tailable cursor had no documents",
                ));
            }
        }
        let fetched = self.fetch_at_once(timeout).await;
        if fetched.is_err() {
            self.call = None;
        }
        fetched
    }

    /// Fetches the next batch without a delay.
    async fn fetch_at_once(&mut self, timeout: Timeout) -> Result<()> {
        // Reset when the reply arrives. If the future is dropped before, the batch is lost, unless the command
        // was not sent.
        (self.failed, self.interrupted) = (true, true);
        self.session_use = SessionUse::default();
        // Frees the memory of the last batch before the next is read.
        self.reply.batch = Batch::default();
        let now = Instant::now();
        self.backoff.sent(now);
        if let Some(session) = &mut self.reply.session {
            session.touch(now);
        }
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
            session_use: &mut self.session_use,
            pin: &mut self.reply.pin,
            batch_size,
            max_await_time: self.max_await_time,
            comment: self.comment.as_ref(),
            transaction: self.transaction,
            is_freed: None,
            wire_version: 0,
            resumes_elsewhere: self.is_change_stream,
        };
        let next = self
            .client
            .executor()
            .run_in_scope(&self.reply.scope, self.session.as_ref(), timeout, &mut operation)
            .await;
        let is_freed = operation.is_freed;
        self.refused_by = is_freed.map(|_| operation.wire_version);
        self.interrupted = false;
        let next = match next {
            Ok(next) => next,
            Err(error) => {
                if self.is_change_stream {
                    self.keep_for_resume(&error);
                    return Err(error);
                }
                if let ErrorKind::Timeout(timeout) = error.kind()
                    && timeout.cause().is_none()
                    && self.timeout.is_per_iteration()
                {
                    // Nothing was sent, and the next call has the whole time limit again.
                    self.failed = false;
                    return Err(error);
                }
                if self.session_use.is_reply_lost {
                    // The server may still be running the command.
                    self.abandon_session();
                }
                if self.is_lost_after(&error, is_freed) {
                    (self.reply.id, self.reply.held) = (0, None);
                } else if is_freed == Some(false) && error.contains_label(RETRYABLE_ERROR) {
                    // The server still has the cursor. If this future is dropped while the cursor
                    // is closed, the next call returns the error. Boxed, because it is rare.
                    self.unreported = Some(error.clone());
                    // The error that ended the cursor is reported.
                    let _ = Box::pin(self.free()).await;
                    self.unreported = None;
                }
                return Err(error);
            }
        };
        self.reply.id = next.id;
        self.reply.namespace = next.namespace;
        self.reply.batch = next.batch;
        if !self.reply.batch.is_empty() {
            self.call = None;
        }
        self.reply.post_batch_resume_token = next.post_batch_resume_token;
        self.backoff.received(self.reply.batch.is_empty());
        self.failed = false;
        if self.reply.id == 0 {
            (self.reply.pin, self.reply.held) = (None, None);
            self.client.executor().give_back(self.reply.session.take());
        }
        Ok(())
    }

    /// Whether killCursors is not sent after this error of a getMore.
    ///
    /// A server that replies with an error closes the cursor, as `is_freed` states. An error of the
    /// check-out is not a reply to the getMore, even if it has an error code.
    ///
    /// In load-balanced mode, only the pinned connection leads to the server of the cursor. It is
    /// lost after a network error, an invalid message or a reply that cannot be decoded, but not after
    /// a timeout: the reply is still awaited. After an error reply, killCursors is sent on it ("if
    /// necessary": Load Balancer Support, "Behaviour With Cursors").
    fn is_lost_after(&self, error: &Error, is_freed: Option<bool>) -> bool {
        if !self.is_pinned {
            return is_freed == Some(true) && !self.kill_after_error;
        }
        let is_usable = |pin: &PooledConnection| pin.condition() != Condition::Broken;
        match error.reported().kind() {
            ErrorKind::Network(_) => !self.reply.pin.as_deref().is_some_and(is_usable),
            kind => matches!(kind, ErrorKind::Protocol(_) | ErrorKind::Decode(_)),
        }
    }

    /// After a failed getMore of a change stream. The session is used by the resume. After a reply that was
    /// not read it is dirty, so that it does not return to the session pool. After a timeout the server
    /// may still run the getMore, so the resume has another session.
    #[cold]
    fn keep_for_resume(&mut self, error: &Error) {
        let session = self.session_use.end(self.reply.session.take());
        let may_run = self.session_use.is_reply_lost && matches!(error.kind(), ErrorKind::Timeout(_));
        self.reply.session = session.filter(|_| !may_run);
        if self.is_pinned && self.is_lost_after(error, None) {
            self.reply.id = 0;
        }
    }

    /// Closes the cursor on the server if it is open. Returns the error of killCursors.
    pub(in crate::api) async fn free(&mut self) -> Result<()> {
        self.end_interrupted();
        self.forget_with_transaction(false);
        let freed = if self.reply.id == 0 {
            Ok(())
        } else {
            self.kill_on_drop(false).free().await
        };
        self.reply.held = None;
        freed
    }

    /// Forgets the cursor if the server closes it, or has closed it, with the transaction that it
    /// was opened in. `is_dropped`: also if the transaction is in progress, because a command in the
    /// background would run beside those of the application.
    fn forget_with_transaction(&mut self, is_dropped: bool) {
        let Some(number) = self.transaction else { return };
        let is_open = |session: &SessionHandle| session.lock().open_transaction() == Some(number);
        if is_dropped || !self.session.as_ref().is_some_and(is_open) {
            self.reply.id = 0;
        }
    }

    /// Ends a getMore whose future was dropped. Returns whether its batch is lost: not if the command was not
    /// sent, or refused and to be sent again. The cursor then continues, and its session is in use by no command.
    ///
    /// In load-balanced mode, a cursor whose connection was closed or returned to its pool with the future has ended.
    fn end_interrupted(&mut self) -> bool {
        if !std::mem::take(&mut self.interrupted) {
            return false;
        }
        let state = self.session_use.command;
        if state == CommandState::Running {
            self.abandon_session();
            return true;
        }
        self.reply.session = self.session_use.end(self.reply.session.take());
        let has_lost_connection = self.is_pinned && self.reply.pin.is_none();
        if has_lost_connection {
            (self.reply.id, self.reply.held) = (0, None);
        }
        self.failed = has_lost_connection || state == CommandState::Answered;
        self.failed
    }

    /// Called if the future of a getMore was dropped or its connection failed: the server may still
    /// be running the command. "A session ID MUST NOT be used simultaneously by more than one
    /// operation" (Driver Sessions), so the implicit session of the cursor is neither returned to
    /// the pool nor used by killCursors. The execution of the getMore has marked an explicit
    /// session as dirty, and killCursors does not use it either.
    ///
    /// In load-balanced mode the connection was returned with the getMore; the pool kills the cursor
    /// on it if the reply arrives. Another connection may lead to another server, so "drivers MUST
    /// NOT execute a killCursors command" (Load Balancer Support, "Behaviour With Cursors").
    fn abandon_session(&mut self) {
        self.reply.session = None;
        self.session = None;
        if self.is_pinned && self.reply.pin.is_none() {
            (self.reply.id, self.reply.held) = (0, None);
        }
    }

    /// Moves the fields that killCursors needs out of the state, which has no cursor afterwards.
    /// `in_background`: see [`KillOnDrop`].
    fn kill_on_drop(&mut self, in_background: bool) -> KillOnDrop {
        KillOnDrop {
            client: self.client.clone(),
            id: std::mem::take(&mut self.reply.id),
            namespace: self.reply.namespace.clone(),
            address: self.reply.address.clone(),
            session: self.reply.session.take(),
            session_use: SessionUse::default(),
            explicit: self.session.take().filter(|session| {
                // The cursor cannot be closed within a transaction that it is not part of.
                !in_background && session.lock().open_transaction() == self.transaction
            }),
            transaction: self.transaction,
            scope: if in_background {
                self.reply.scope.untraced()
            } else {
                self.reply.scope.of_close()
            },
            timeout: self.timeout.of_close(),
            is_pinned: self.is_pinned,
            pin: self.reply.pin.take(),
            in_background,
        }
    }
}

impl Drop for State {
    /// Closes an open cursor in the background, on the runtime of the client: the cursor can be
    /// dropped on any thread.
    fn drop(&mut self) {
        self.forget_with_transaction(true);
        self.end_interrupted();
        if self.reply.id == 0 {
            self.client.executor().give_back(self.reply.session.take());
            return;
        }
        let kill = self.kill_on_drop(true);
        self.client.executor().spawn(kill.free_in_background());
    }
}

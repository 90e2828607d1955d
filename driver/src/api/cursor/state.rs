//! What a cursor owns: its batch, its session, and its counterpart on the server, which is freed with it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    super::{
        Client,
        command::{GetMore, KillCursors},
    },
    pace::Pace,
};
use crate::{
    Error, ErrorKind, Namespace, RETRYABLE_ERROR, Result, ServerAddress, bson::Bson,
    execution::ExplicitSession, operation::cursor::CursorReply, pool::PooledConnection,
    proto::session::ServerSession,
};

/// What a cursor owns.
pub(super) struct State {
    client: Client,
    pub(super) reply: CursorReply,
    /// The session of the application that the cursor was opened in.
    pub(super) session: Option<Arc<ExplicitSession>>,
    batch_size: Option<u32>,
    pub(super) max_await_time: Option<Duration>,
    comment: Option<Bson>,
    /// Documents that may still be fetched, when the query had a limit.
    pub(super) remaining: Option<u64>,
    /// A getMore failed: the cursor has ended.
    failed: bool,
    /// A getMore is under way, or was dropped while it was and the application does not know yet.
    interrupted: bool,
    /// The error of a getMore, until a call has returned it.
    unreported: Option<Error>,
    /// Whether the cursor's commands must use one connection. It may have been lost.
    is_pinned: bool,
    pace: Pace,
}

impl State {
    pub(super) fn new(
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
            batch_size,
            max_await_time: None,
            comment,
            remaining: None,
            failed: false,
            interrupted: false,
            unreported: None,
            pace: Pace::default(),
        }
    }

    pub(super) fn advance_in_batch(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.interrupted) {
            self.abandon_session();
            // An end without an error would pass off a part of the results as all of them.
            return Err(Error::invalid_argument(
                "the cursor has ended: a future that fetched its next batch was dropped",
            ));
        }
        if let Some(error) = self.unreported.take() {
            return Err(error);
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

    pub(super) fn is_exhausted(&self) -> bool {
        !self.interrupted
            && self.unreported.is_none()
            && (self.failed || (self.reply.id == 0 && self.reply.batch.is_empty()))
    }

    /// Replaces the empty batch by the next one, after a pause where the server keeps answering with empty batches. A future
    /// dropped within the pause changes nothing.
    pub(super) async fn fetch(&mut self) -> Result<()> {
        // With a time to await data for, it is the server that waits.
        if self.max_await_time.is_none()
            && let Some(pause) = self.pace.pause(Instant::now())
        {
            tokio::time::sleep(pause).await;
        }
        self.fetch_at_once().await
    }

    async fn fetch_at_once(&mut self) -> Result<()> {
        // Until the reply is there the cursor counts as failed, so that a dropped future leaves no half-read batch.
        self.failed = true;
        self.interrupted = true;
        let now = Instant::now();
        self.pace.sent(now);
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
            pin: &mut self.reply.pin,
            batch_size,
            max_await_time: self.max_await_time,
            comment: self.comment.as_ref(),
            is_freed: None,
        };
        let next = self
            .client
            .executor()
            .run_with_id(self.reply.operation_id, self.session.as_ref(), &mut operation)
            .await;
        let is_freed = operation.is_freed;
        self.interrupted = false;
        let next = match next {
            Ok(next) => next,
            Err(error) => {
                if error.is_network() {
                    // The server may still run the command.
                    self.abandon_session();
                }
                if self.is_lost_after(&error, is_freed) {
                    self.reply.id = 0;
                } else if is_freed == Some(false) && error.contains_label(RETRYABLE_ERROR) {
                    // The server still has the cursor. If the future is dropped now, the next call returns the error: an end
                    // without one would pass off a part of the results as all of them. Boxed, since it is rare.
                    self.unreported = Some(error.clone());
                    Box::pin(self.free()).await;
                    self.unreported = None;
                }
                return Err(error);
            }
        };
        self.reply.id = next.id;
        self.reply.namespace = next.namespace;
        self.reply.batch = next.batch;
        self.pace.received(self.reply.batch.is_empty());
        self.failed = false;
        if self.reply.id == 0 {
            self.reply.pin = None;
            self.client.executor().give_back(self.reply.session.take());
        }
        Ok(())
    }

    /// Whether the cursor cannot be freed after this failure of a getMore: the server has freed it with its error reply, or,
    /// behind a load balancer, it can be reached through the lost connection only. There it outlives an error reply. An error
    /// of the check-out, also one with a code of the server, is not a reply to the getMore.
    fn is_lost_after(&self, error: &Error, is_freed: Option<bool>) -> bool {
        if !self.is_pinned {
            return is_freed == Some(true);
        }
        matches!(
            error.kind(),
            ErrorKind::Network(_) | ErrorKind::Protocol(_) | ErrorKind::Decode(_)
        )
    }

    /// Frees the server's cursor if there is one.
    pub(super) async fn free(&mut self) {
        if std::mem::take(&mut self.interrupted) {
            self.abandon_session();
        }
        if self.reply.id != 0 {
            self.remains(false).free().await;
        }
    }

    /// A getMore was dropped or lost its connection, and the server may still run it. "A session ID MUST NOT be used simultaneously by more than one
    /// operation" (Driver Sessions specification), so the cursor's own session is neither given back nor named by killCursors;
    /// the application's is marked by the getMore itself, and not named by killCursors either.
    ///
    /// Behind a load balancer the connection was closed with the getMore: no other one leads to the cursor for certain, and
    /// "drivers MUST NOT execute a killCursors command" then (Load Balancer specification, "Behaviour With Cursors").
    fn abandon_session(&mut self) {
        self.reply.session = None;
        self.session = None;
        if self.is_pinned && self.reply.pin.is_none() {
            self.reply.id = 0;
        }
    }

    /// Takes everything that freeing the server's cursor needs. The state has no cursor any more.
    fn remains(&mut self, in_background: bool) -> Remains {
        Remains {
            client: self.client.clone(),
            id: std::mem::take(&mut self.reply.id),
            namespace: self.reply.namespace.clone(),
            address: self.reply.address.clone(),
            session: self.reply.session.take(),
            explicit: self.session.take().filter(|_| !in_background),
            operation_id: self.reply.operation_id,
            is_pinned: self.is_pinned,
            pin: self.reply.pin.take(),
            in_background,
        }
    }
}

impl Drop for State {
    /// Frees an open cursor in the background. The client's runtime does it, since a cursor can be dropped on any thread.
    fn drop(&mut self) {
        if std::mem::take(&mut self.interrupted) {
            self.abandon_session();
        }
        if self.reply.id == 0 {
            self.client.executor().give_back(self.reply.session.take());
            return;
        }
        let runtime = self.client.executor().topology().runtime().clone();
        runtime.spawn(self.remains(true).free());
    }
}

/// What is left of a cursor that is not read any more.
struct Remains {
    client: Client,
    id: i64,
    namespace: Namespace,
    address: ServerAddress,
    session: Option<ServerSession>,
    /// Not in the background: there the application may use its session at the same time.
    explicit: Option<Arc<ExplicitSession>>,
    operation_id: i64,
    is_pinned: bool,
    pin: Option<Box<PooledConnection>>,
    in_background: bool,
}

impl Remains {
    /// Frees the cursor on the server, then gives back what it held.
    async fn free(mut self) {
        if let Some(session) = &mut self.session {
            session.touch(Instant::now());
        }
        let mut operation = KillCursors {
            id: self.id,
            namespace: &self.namespace,
            address: &self.address,
            session: self.session.as_ref(),
            pin: &mut self.pin,
        };
        let (executor, explicit) = (self.client.executor(), self.explicit.as_ref());
        // The server frees forgotten cursors by itself after ten minutes, so an error changes nothing.
        let freed = executor
            .run_with_id(self.operation_id, explicit, &mut operation)
            .await;
        self.id = 0;
        drop(self.pin.take());
        if freed.is_err_and(|error| error.is_network())
            && let Some(session) = &mut self.session
        {
            session.mark_dirty();
        }
        self.client.executor().give_back(self.session.take());
    }
}

impl Drop for Remains {
    /// A future of the application was dropped that was to free the cursor: it is freed in the background, without a session,
    /// since the command may have been sent already.
    fn drop(&mut self) {
        if self.id == 0 || self.in_background || (self.is_pinned && self.pin.is_none()) {
            return;
        }
        let remains = Self {
            client: self.client.clone(),
            id: std::mem::take(&mut self.id),
            namespace: self.namespace.clone(),
            address: self.address.clone(),
            session: None,
            explicit: None,
            operation_id: self.operation_id,
            is_pinned: self.is_pinned,
            pin: self.pin.take(),
            in_background: true,
        };
        let runtime = self.client.executor().topology().runtime().clone();
        runtime.spawn(remains.free());
    }
}

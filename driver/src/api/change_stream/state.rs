//! The commands of a [`ChangeStream`](crate::ChangeStream): its cursor, its session and its options.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::super::{
    collection::CollectionInner,
    command::{ChangeStreamAggregate, Target, options::ChangeStreamOptions},
    cursor::{CursorTimeout, state::State as Cursor},
};
use crate::{
    Error, ErrorKind, RETRYABLE_ERROR,
    bson::{RawDocument, RawDocumentBuf, Timestamp, find_element},
    error::RESUMABLE_CHANGE_STREAM_ERROR,
    execution::ExplicitSession,
    proto::{
        change_stream::{Failure, Reply, Start},
        session::ServerSession,
    },
    types::timeout::Timeout,
};

/// What the commands of a change stream need. Dropping it closes the cursor on the server.
pub(super) struct State {
    collection: CollectionInner,
    target: Target,
    pipeline: Vec<RawDocumentBuf>,
    options: ChangeStreamOptions,
    /// The explicit session.
    session: Option<Arc<ExplicitSession>>,
    /// The implicit session, while there is no cursor that has it.
    implicit: Option<ServerSession>,
    pub(super) cursor: Option<Cursor>,
    timeout: CursorTimeout,
    /// The time limit of the running call. `None` until it sends its first command.
    call: Option<Timeout>,
}

/// The error of a command, and what it means for the stream.
pub(super) struct Failed {
    pub(super) error: Error,
    pub(super) failure: Failure,
}

impl State {
    pub(super) fn new(
        collection: CollectionInner,
        target: Target,
        pipeline: Vec<RawDocumentBuf>,
        options: ChangeStreamOptions,
        session: Option<Arc<ExplicitSession>>,
        timeout: CursorTimeout,
    ) -> Self {
        Self {
            collection,
            target,
            pipeline,
            options,
            session,
            implicit: None,
            cursor: None,
            timeout,
            // That of the operation, which opens the stream.
            call: Some(timeout.of_operation()),
        }
    }

    /// Ends a call, so that the next has a time limit of its own.
    pub(super) fn end_call(&mut self) {
        self.call = None;
    }

    /// The time limit of the running call.
    fn call(&mut self) -> Timeout {
        *self.call.get_or_insert_with(|| self.timeout.of_call())
    }

    /// As [`aggregate`](Self::aggregate), for a stream that was open. Fails if the client shuts
    /// down.
    pub(super) async fn resume(&mut self, start: &Start, pause: Option<Duration>) -> Result<Reply, Failed> {
        if self.collection.executor().is_closing() {
            return Err(Failed::new(Error::new(ErrorKind::Shutdown), None));
        }
        self.aggregate(start, pause).await
    }

    /// Opens a cursor with `aggregate`, after the pause. An implicit session is not used again if
    /// the future is dropped.
    pub(super) async fn aggregate(
        &mut self,
        start: &Start,
        pause: Option<Duration>,
    ) -> Result<Reply, Failed> {
        let timeout = self.call();
        if let Some(pause) = pause {
            if !timeout.allows(pause) {
                let error = Error::timed_out("before the pause that precedes the next resume");
                return Err(Failed::new(error, None));
            }
            tokio::time::sleep(pause).await;
        }
        let mut session = self.implicit.take();
        if let Some(session) = &mut session {
            session.touch(Instant::now());
        }
        let options = &self.options;
        let mut operation = ChangeStreamAggregate {
            scope: self.collection.read_scope(
                options.read_concern.as_deref(),
                options.read_preference.as_deref(),
            ),
            target: self.target,
            pipeline: &self.pipeline,
            options,
            start,
            session: session.as_ref(),
            refused_by: None,
            wire_version: 0,
        };
        let executor = self.collection.executor();
        let opened = executor
            .run_in(self.session.as_ref(), timeout, &mut operation)
            .await;
        let refused_by = operation.refused_by;
        let mut opened = match opened {
            Ok(opened) => opened,
            Err(error) => {
                if error.is_network()
                    && let Some(session) = &mut session
                {
                    session.mark_dirty();
                }
                self.implicit = session;
                return Err(Failed::new(error, refused_by));
            }
        };
        if opened.cursor.id == 0 {
            self.implicit = session;
        } else if session.is_some() {
            opened.cursor.session = session;
        }
        let comment = options.comment.as_deref().cloned();
        let mut cursor = Cursor::new(
            self.collection.client(),
            opened.cursor,
            options.batch_size,
            comment,
        )
        .of_change_stream();
        cursor.session.clone_from(&self.session);
        cursor.max_await_time = options.max_await_time;
        cursor.timeout = self.timeout;
        let reply = reply(&mut cursor, opened.operation_time);
        self.cursor = Some(cursor);
        Ok(reply)
    }

    /// Fetches the next batch of the cursor.
    pub(super) async fn get_more(&mut self) -> Result<Reply, Failed> {
        let timeout = self.call();
        let Some(cursor) = &mut self.cursor else {
            return Ok(Reply::default());
        };
        cursor.call = Some(timeout);
        match cursor.fetch().await {
            Ok(()) => Ok(reply(cursor, None)),
            Err(error) => Err(Failed::new(error, cursor.refused_by)),
        }
    }

    /// Gives up the cursor, and keeps its session.
    pub(super) fn give_up_cursor(&mut self, kills_cursor: bool) {
        if let Some(cursor) = self.cursor.take() {
            self.implicit = cursor.give_up(kills_cursor);
        }
    }

    /// The `_id` of the current document, and whether it is the last of the batch.
    pub(super) fn current_id(&self) -> (Option<&RawDocument>, bool) {
        let Some(cursor) = &self.cursor else {
            return (None, true);
        };
        let batch = &cursor.reply.batch;
        let id = find_element(batch.current(), "_id").ok().flatten();
        (id.and_then(|id| id.value.document().ok()), batch.is_empty())
    }

    /// Closes the cursor on the server.
    pub(super) async fn close(&mut self) {
        if let Some(cursor) = &mut self.cursor {
            cursor.free().await;
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.collection.executor().give_back(self.implicit.take());
    }
}

/// What the machine needs of the reply that the cursor holds.
fn reply(cursor: &mut Cursor, operation_time: Option<Timestamp>) -> Reply {
    let reply = &mut cursor.reply;
    Reply {
        is_open: reply.id != 0,
        is_empty: reply.batch.is_empty(),
        post_batch_resume_token: reply.post_batch_resume_token.take().map(|token| *token),
        operation_time,
    }
}

impl Failed {
    /// `refused_by`: `maxWireVersion` of the connection, if the server replied with an error. An
    /// error of the check-out is not a reply, even if it contains one.
    fn new(error: Error, refused_by: Option<i32>) -> Self {
        let failure = match (error.kind(), refused_by) {
            (ErrorKind::Command(refusal), Some(wire_version)) => Failure::Server {
                code: refusal.code,
                is_labeled: error.contains_label(RESUMABLE_CHANGE_STREAM_ERROR),
                is_unstarted: error.contains_label(RETRYABLE_ERROR),
                wire_version,
            },
            (ErrorKind::Timeout(_), _) => Failure::Timeout,
            (
                ErrorKind::Network(_)
                | ErrorKind::Pool(_)
                | ErrorKind::ServerSelection(_)
                | ErrorKind::Protocol(_)
                | ErrorKind::Authentication(_)
                | ErrorKind::Command(_),
                _,
            ) => Failure::NoReply,
            _ => Failure::Rejected,
        };
        Self { error, failure }
    }
}

//! The commands of a [`ChangeStream`](crate::ChangeStream): its cursor, its session and its options.

use std::time::{Duration, Instant};

use super::super::{
    Client,
    collection::CollectionInner,
    command::{ChangeStreamAggregate, Target, options::ChangeStreamOptions},
    cursor::{CursorTimeout, state::State as Cursor},
};
use crate::{
    EncryptionError, Error, ErrorKind, RETRYABLE_ERROR,
    bson::{RawDocument, RawDocumentBuf, Timestamp, find_value},
    error::RESUMABLE_CHANGE_STREAM_ERROR,
    execution::SessionHandle,
    operation::SessionUse,
    proto::{
        change_stream::{Action, CursorAfterFailure, Failure, Reply, Start},
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
    session: Option<SessionHandle>,
    /// The implicit session, while there is no cursor that has it.
    implicit: Option<ServerSession>,
    /// How the last `aggregate` uses it, also if its future was dropped.
    session_use: SessionUse,
    pub(super) cursor: Option<Cursor>,
    timeout: CursorTimeout,
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
        session: Option<SessionHandle>,
        timeout: CursorTimeout,
    ) -> Self {
        Self {
            collection,
            target,
            pipeline,
            options,
            session,
            implicit: None,
            session_use: SessionUse::default(),
            cursor: None,
            timeout,
        }
    }

    pub(super) fn client(&self) -> &Client {
        self.collection.client()
    }

    /// Runs the command of an action within the time limit.
    pub(super) async fn run(&mut self, action: Action, timeout: Timeout) -> Result<Reply, Failed> {
        match action {
            Action::Aggregate { start, pause } => self.aggregate(&start, pause, true, timeout).await,
            Action::GetMore | Action::End => self.get_more(timeout).await,
        }
    }

    /// Opens a cursor with `aggregate`, after the pause. An implicit session is not used again if
    /// the future is dropped while the server may run the command. A resume fails if the client shuts down.
    pub(super) async fn aggregate(
        &mut self,
        start: &Start,
        pause: Option<Duration>,
        is_resume: bool,
        timeout: Timeout,
    ) -> Result<Reply, Failed> {
        if is_resume && self.collection.executor().is_closing() {
            return Err(self.failed(Error::new(ErrorKind::Shutdown), None));
        }
        if let Some(pause) = pause {
            // Most of the time limit is left for the command, however short it is: after a timeout, each
            // call resumes (Client Side Operations Timeout, "Change Streams").
            let longest = timeout.remaining().map(|left| left / 4);
            tokio::time::sleep(longest.map_or(pause, |longest| pause.min(longest))).await;
        }
        let last_use = std::mem::take(&mut self.session_use);
        self.implicit = last_use.end(self.implicit.take());
        if let Some(session) = &mut self.implicit {
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
            session: self.implicit.as_ref(),
            session_use: &mut self.session_use,
            is_resume,
            refused_by: None,
            wire_version: 0,
        };
        let executor = self.collection.executor();
        let opened = executor
            .run_in(self.session.as_ref(), timeout, &mut operation)
            .await;
        let refused_by = operation.refused_by;
        let session = self.session_use.end(self.implicit.take());
        let mut opened = match opened {
            Ok(opened) => opened,
            Err(error) => {
                // After a timeout the server may still run the command, so the next resume has another
                // session.
                let is_running =
                    self.session_use.is_reply_lost && matches!(error.kind(), ErrorKind::Timeout(_));
                self.implicit = session.filter(|_| !is_running);
                return Err(self.failed(error, refused_by));
            }
        };
        if opened.cursor.id == 0 {
            executor.give_back(session);
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
    async fn get_more(&mut self, timeout: Timeout) -> Result<Reply, Failed> {
        let Some(cursor) = &mut self.cursor else {
            return Ok(Reply::default());
        };
        cursor.call = Some(timeout);
        match cursor.fetch().await {
            Ok(()) => Ok(reply(cursor, None)),
            Err(error) => {
                let refused_by = cursor.refused_by;
                Err(self.failed(error, refused_by))
            }
        }
    }

    /// Does with the cursor of a failed getMore what the machine decided. Its session is kept.
    pub(super) fn after_failure(&mut self, decided: CursorAfterFailure) {
        if decided == CursorAfterFailure::Keep {
            if let Some(cursor) = &mut self.cursor {
                cursor.keep();
            }
        } else if let Some(cursor) = self.cursor.take() {
            self.implicit = cursor.give_up(decided == CursorAfterFailure::Kill);
        }
    }

    /// The `_id` of the current document, and whether it is the last of the batch.
    pub(super) fn current_id(&self) -> (Option<&RawDocument>, bool) {
        let Some(cursor) = &self.cursor else {
            return (None, true);
        };
        let batch = &cursor.reply.batch;
        let id = find_value(batch.current(), "_id").ok().flatten();
        (id.and_then(|id| id.document().ok()), batch.is_empty())
    }

    /// What an error means. `refused_by`: `maxWireVersion` of the connection, if the server replied with
    /// an error. An error of the check-out is not a reply, even if it contains one.
    pub(super) fn failed(&self, error: Error, refused_by: Option<i32>) -> Failed {
        let failure = match (error.kind(), refused_by) {
            (ErrorKind::Command(refusal), Some(wire_version)) => Failure::Server {
                code: refusal.code,
                is_labeled: error.contains_label(RESUMABLE_CHANGE_STREAM_ERROR),
                is_unstarted: error.contains_label(RETRYABLE_ERROR),
                wire_version,
            },
            (ErrorKind::Timeout(_), _) => Failure::Timeout,
            (ErrorKind::Protocol(_) | ErrorKind::Decode(_) | ErrorKind::InvalidReply(_), _) => {
                Failure::InvalidReply
            }
            (
                ErrorKind::Network(_)
                | ErrorKind::Pool(_)
                | ErrorKind::ServerSelection(_)
                | ErrorKind::Authentication(_)
                | ErrorKind::Command(_),
                _,
            ) => Failure::NoReply,
            // The keys of an event could not be read: the event is requested again.
            (ErrorKind::Encryption(failed @ EncryptionError::Reply(_)), _) if is_unreachable(failed) => {
                Failure::KeysUnavailable
            }
            // The aggregate was not sent.
            (ErrorKind::Encryption(failed), _) if is_unreachable(failed) => Failure::NoReply,
            // The session has a transaction in progress.
            (ErrorKind::InvalidArgument(_), _) if self.has_live_session() => Failure::NotPermitted,
            _ => Failure::Rejected,
        };
        Failed { error, failure }
    }

    /// Whether the stream has an explicit session that has not ended.
    fn has_live_session(&self) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.lock().server.is_some())
    }

    /// Closes the cursor on the server.
    pub(super) async fn close(&mut self) {
        if let Some(cursor) = &mut self.cursor {
            // The server closes idle cursors after 10 minutes.
            let _ = cursor.free().await;
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let session = self.session_use.end(self.implicit.take());
        self.collection.executor().give_back(session);
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

/// Whether encryption failed because a server or a service could not be reached.
fn is_unreachable(failed: &EncryptionError) -> bool {
    failed.cause().is_some_and(|cause| match cause.kind() {
        // The error of the key vault or of a service, in that of the reply.
        ErrorKind::Encryption(inner) => is_unreachable(inner),
        kind => matches!(
            kind,
            ErrorKind::Network(_) | ErrorKind::Pool(_) | ErrorKind::ServerSelection(_)
        ),
    })
}

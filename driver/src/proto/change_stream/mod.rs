//! Change streams: which command is next, where the stream resumes, and after which errors
//! ([Change Streams]).
//!
//! The machine holds the position of the stream; the caller holds the batch, the cursor and the
//! session. If the batch has a document, [`ChangeStream::deliver`] is called for it. Otherwise
//! [`ChangeStream::next_action`] returns the command to run, and [`ChangeStream::replied`] or
//! [`ChangeStream::failed`] receives its result.
//!
//! [Change Streams]:
//! https://github.com/mongodb/specifications/blob/master/source/change-streams/change-streams.md

mod failure;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::{
    bson::{RawDocument, Timestamp},
    types::resume_token::ResumeToken,
};
pub use failure::{CursorAfterFailure, Failure};

/// The pause before the second of several resumes in a row. It doubles with each of them.
const MIN_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_millis(500);
/// The number of invalid replies in a row after which the stream ends: the next would be invalid,
/// too. Also that of replies whose keys could not be read after which the error is reported.
const MAX_INVALID_REPLIES: u32 = 5;

/// Where a change stream begins: the options `resumeAfter`, `startAfter` and
/// `startAtOperationTime`. If several are set, the server rejects the aggregate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// `resumeAfter`.
    pub resume_after: Option<ResumeToken>,
    /// `startAfter`.
    pub start_after: Option<ResumeToken>,
    /// `startAtOperationTime`.
    pub start_at_operation_time: Option<Timestamp>,
}

/// The reply to an aggregate or a getMore.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// Whether the cursor is open.
    pub is_open: bool,
    /// Whether the batch has no documents.
    pub is_empty: bool,
    /// `postBatchResumeToken`.
    pub post_batch_resume_token: Option<ResumeToken>,
    /// `operationTime`. Used for an aggregate only.
    pub operation_time: Option<Timestamp>,
}

/// What the caller must do after the last document of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open a cursor at this position, after the pause.
    Aggregate {
        /// The position.
        start: Start,
        /// The pause, if the stream has resumed several times without a batch in between.
        pause: Option<Duration>,
    },
    /// Fetch the next batch of the cursor.
    GetMore,
    /// The stream has ended.
    End,
}

/// What the caller must do after a failed command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Whether the stream resumes now. Otherwise the error is reported.
    pub resumes: bool,
    /// What becomes of the cursor.
    pub cursor: CursorAfterFailure,
}

/// A document has no `_id`, or one that is not a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingToken;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No command has been sent.
    Unopened,
    /// The stream has a cursor; `false` if the server has closed it.
    Open(bool),
    /// A getMore is running.
    AwaitingBatch,
    /// The cursor is lost. The next command resumes.
    Lost,
    /// An aggregate is running.
    Opening,
    Ended,
}

/// The position and the state of a change stream.
#[derive(Debug)]
pub struct ChangeStream {
    state: State,
    given: Start,
    /// The bytes of the cached resume token. Their memory is used for the token of the next event. Empty if there is none.
    token: Vec<u8>,
    post_batch_resume_token: Option<ResumeToken>,
    operation_time: Option<Timestamp>,
    has_delivered: bool,
    /// Number of resumes since the last reply to a getMore.
    resumes: u32,
    /// Number of invalid replies since the last event or empty batch.
    invalid_replies: u32,
    /// Number of replies since the last event or empty batch whose keys could not be read.
    missing_keys: u32,
}

impl ChangeStream {
    /// A stream that begins at this position.
    pub fn new(given: Start) -> Self {
        Self {
            state: State::Unopened,
            token: given
                .start_after
                .as_ref()
                .or(given.resume_after.as_ref())
                .map_or_else(Vec::new, |token| token.as_document().as_bytes().to_vec()),
            operation_time: given.start_at_operation_time,
            given,
            post_batch_resume_token: None,
            has_delivered: false,
            resumes: 0,
            invalid_replies: 0,
            missing_keys: 0,
        }
    }

    /// The cached resume token.
    pub fn resume_token(&self) -> Option<ResumeToken> {
        RawDocument::from_bytes(&self.token).ok().map(ResumeToken::from)
    }

    /// Whether more events can follow after the current batch.
    pub fn is_alive(&self) -> bool {
        !matches!(self.state, State::Ended | State::Open(false))
    }

    /// Ends the stream.
    pub fn end(&mut self) {
        self.state = State::Ended;
    }

    /// What to do if the batch has no further documents.
    pub fn next_action(&mut self) -> Action {
        match self.state {
            State::Unopened => {
                self.state = State::Opening;
                Action::Aggregate {
                    start: self.given.clone(),
                    pause: None,
                }
            }
            State::Open(true) => {
                self.state = State::AwaitingBatch;
                Action::GetMore
            }
            State::Open(false) | State::Ended => {
                self.state = State::Ended;
                Action::End
            }
            // In the states of running commands, the future that waited for the reply was dropped.
            State::AwaitingBatch | State::Lost | State::Opening => {
                self.state = State::Opening;
                self.resumes = self.resumes.saturating_add(1);
                Action::Aggregate {
                    start: self.resume_point(),
                    pause: pause(self.resumes),
                }
            }
        }
    }

    /// Where the stream resumes ("Resume Process").
    pub fn resume_point(&self) -> Start {
        match (self.resume_token(), self.operation_time) {
            (Some(token), _) if self.given.start_after.is_some() && !self.has_delivered => Start {
                start_after: Some(token),
                ..Start::default()
            },
            (Some(token), _) => Start {
                resume_after: Some(token),
                ..Start::default()
            },
            (None, Some(time)) => Start {
                start_at_operation_time: Some(time),
                ..Start::default()
            },
            (None, None) => self.given.clone(),
        }
    }

    /// A document of the batch is returned to the application ("Updating the Cached Resume Token").
    /// `id` is its `_id`. After an error, the stream has ended.
    pub fn deliver(&mut self, id: Option<&RawDocument>, is_last: bool) -> Result<(), MissingToken> {
        let Some(id) = id else {
            self.end();
            return Err(MissingToken);
        };
        if is_last && let Some(newest) = self.post_batch_resume_token.take() {
            self.cache(newest.as_document());
        } else {
            self.cache(id);
        }
        self.has_delivered = true;
        (self.invalid_replies, self.missing_keys) = (0, 0);
        Ok(())
    }

    #[inline]
    fn cache(&mut self, token: &RawDocument) {
        self.token.clear();
        self.token.extend_from_slice(token.as_bytes());
    }

    /// The reply to the command that [`next_action`](Self::next_action) returned.
    pub fn replied(&mut self, reply: Reply) {
        // "startAtOperationTime": none of the three options was given, no documents, and no
        // `postBatchResumeToken`.
        if self.state == State::Opening
            && self.token.is_empty()
            && self.operation_time.is_none()
            && reply.is_empty
            && reply.post_batch_resume_token.is_none()
        {
            self.operation_time = reply.operation_time;
        }
        if self.state == State::AwaitingBatch {
            self.resumes = 0;
            if reply.is_empty {
                (self.invalid_replies, self.missing_keys) = (0, 0);
            }
        }
        self.state = State::Open(reply.is_open);
        self.post_batch_resume_token = reply.post_batch_resume_token;
        if let Some(newest) = self.post_batch_resume_token.take_if(|_| reply.is_empty) {
            self.cache(newest.as_document());
        }
    }

    /// The command that [`next_action`](Self::next_action) returned has failed, or a document of the
    /// batch is malformed.
    pub fn failed(&mut self, failure: &Failure) -> Failed {
        match failure {
            Failure::InvalidReply => self.invalid_replies = self.invalid_replies.saturating_add(1),
            Failure::KeysUnavailable => self.missing_keys = self.missing_keys.saturating_add(1),
            _ => {}
        }
        let (state, resumes) = match self.state {
            State::AwaitingBatch | State::Open(_) => match failure {
                // The deadline has passed, so the next call resumes (Client Side Operations Timeout,
                // "Change Streams").
                Failure::Timeout => (State::Lost, false),
                Failure::NotPermitted => (State::Open(true), false),
                Failure::InvalidReply if self.invalid_replies > MAX_INVALID_REPLIES => (State::Ended, false),
                Failure::KeysUnavailable => (State::Lost, !self.gives_up_keys()),
                _ if failure.is_resumable() => (State::Lost, true),
                _ => (State::Ended, false),
            },
            // The aggregate of a resume has succeeded, and its first batch could not be decrypted, as that of a
            // getMore.
            State::Opening if self.resumes > 0 && *failure == Failure::KeysUnavailable => {
                (State::Lost, !self.gives_up_keys())
            }
            // "An error on an aggregate command is not a resumable error." It is reported; if it may
            // not occur again and the application continues, the stream resumes.
            State::Opening if failure.is_transient() => (State::Lost, false),
            _ => (State::Ended, false),
        };
        match (self.state, failure) {
            // Nothing was sent, or the call has waited for its whole time limit: no longer pause is
            // needed before the next resume.
            (State::Opening, Failure::NotPermitted | Failure::Timeout) => {
                self.resumes = self.resumes.saturating_sub(1);
            }
            // Also the resume before it has succeeded.
            (State::AwaitingBatch, Failure::Timeout) => self.resumes = 0,
            _ => {}
        }
        self.state = state;
        Failed {
            resumes,
            cursor: failure.cursor(),
        }
    }
}

impl ChangeStream {
    /// Whether the error is reported that the keys of a reply could not be read. Resuming helps when they can be
    /// read again, which the application can wait for.
    fn gives_up_keys(&mut self) -> bool {
        let gives_up = self.missing_keys > MAX_INVALID_REPLIES;
        if gives_up {
            self.missing_keys = 0;
        }
        gives_up
    }
}

/// The pause before a resume: none before the first, which usually succeeds.
fn pause(resumes: u32) -> Option<Duration> {
    let doublings = resumes.checked_sub(2)?;
    let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
    Some(MIN_PAUSE.saturating_mul(factor).min(MAX_PAUSE))
}

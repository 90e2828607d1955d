//! The time limits of a cursor ([Client Side Operations Timeout], "Cursors").
//!
//! [Client Side Operations Timeout]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-operations-timeout/client-side-operations-timeout.md

use std::time::Duration;

use super::super::command::InSession;
use crate::{
    Error, Result,
    execution::{admit, start_timeout},
    types::{
        cursor_type::CursorType,
        timeout::{TimeLimit, Timeout, TimeoutSource},
        timeout_mode::TimeoutMode,
    },
};

/// The options that determine the time limits of a cursor.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::api) struct CursorTimeoutOptions {
    /// `timeoutMS` of the operation.
    pub(in crate::api) own: Option<Duration>,
    /// `timeoutMS` of the collection, the database or the client.
    pub(in crate::api) inherited: Option<TimeLimit>,
    pub(in crate::api) mode: Option<TimeoutMode>,
    pub(in crate::api) cursor_type: CursorType,
    pub(in crate::api) max_await_time: Option<Duration>,
    /// The client shuts down.
    pub(in crate::api) is_closing: bool,
    /// The operation is part of a call of GridFS, and has what is left of its time limit.
    pub(in crate::api) is_part: bool,
}

/// The time limits of a cursor, which begin with the operation that returns it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CursorTimeout {
    /// `timeoutMS` of the operation or of its transaction, for the calls that have the full time limit
    /// again.
    limit: Option<Duration>,
    /// The time limit of the operation, and of the cursor unless the mode is `ITERATION`.
    operation: Timeout,
    is_per_iteration: bool,
    has_max_time: bool,
    is_endless: bool,
}

impl CursorTimeoutOptions {
    /// Validates the options and starts the time limit of the operation.
    ///
    /// # Errors
    /// A timeout mode without a timeout, the lifetime mode for a tailable cursor, a maximum await
    /// time that is not shorter than the timeout, or a timeout of the operation within a transaction
    /// that has one. The client shuts down, and the operation is not part of a transaction.
    pub(in crate::api) fn start(self, session: InSession<'_>) -> Result<CursorTimeout> {
        admit(self.is_closing, session)?;
        let mut operation = start_timeout(self.own, session, self.inherited)?;
        if self.is_part && self.own.is_some() {
            operation = operation.with_source(TimeoutSource::GridFs);
        }
        // The time limit of a transaction includes all its commands.
        let of_transaction = session.and_then(|session| session.lock().run_limit());
        let inherited = self.inherited.map(|inherited| inherited.limit);
        let limit = of_transaction
            .map(|of_transaction| of_transaction.limit)
            .or(self.own)
            .or(inherited);
        if self.mode.is_some() && !operation.is_set() {
            return Err(Error::invalid_argument(
                "a timeout mode requires a timeout (timeoutMS) of the operation, the collection, the database or the \
                 client",
            ));
        }
        let is_tailable = self.cursor_type != CursorType::NonTailable;
        if is_tailable && self.mode == Some(TimeoutMode::CursorLifetime) {
            return Err(Error::invalid_argument(
                "the timeout mode of a tailable cursor must be Iteration: the cursor has no end",
            ));
        }
        if let (Some(wait), Some(limit)) = (self.max_await_time, limit)
            && !limit.is_zero()
            && wait >= limit
        {
            return Err(Error::invalid_argument(format!(
                "max_await_time ({wait:?}) must be shorter than the timeout ({limit:?}): a getMore without documents \
                 would always time out"
            )));
        }
        let is_per_iteration = is_tailable || self.mode == Some(TimeoutMode::Iteration);
        Ok(CursorTimeout {
            limit,
            operation,
            is_per_iteration: is_per_iteration && of_transaction.is_none(),
            has_max_time: !is_per_iteration || self.cursor_type == CursorType::TailableAwait,
            is_endless: is_tailable,
        })
    }
}

impl Default for CursorTimeout {
    /// No time limit.
    fn default() -> Self {
        Self {
            limit: None,
            operation: Timeout::UNSET,
            is_per_iteration: false,
            has_max_time: true,
            is_endless: false,
        }
    }
}

impl CursorTimeout {
    /// The time limit of the operation that returns the cursor.
    pub(in crate::api) fn of_operation(&self) -> Timeout {
        self.operation
    }

    /// Whether the operation sends `maxTimeMS`. Not if the server would apply it to the whole
    /// cursor.
    pub(in crate::api) fn has_max_time(&self) -> bool {
        self.has_max_time
    }

    /// Whether each call has the whole time limit.
    pub(super) fn is_per_iteration(&self) -> bool {
        self.is_per_iteration
    }

    /// Whether the cursor has no end: it is tailable. A shutdown does not wait until it is closed.
    pub(in crate::api) fn is_endless(&self) -> bool {
        self.is_endless
    }

    /// The time limit of a call that fetches documents, which begins now.
    pub(in crate::api) fn of_call(&self) -> Timeout {
        if self.is_per_iteration {
            let timeout = Timeout::start(self.limit);
            match self.operation.source() {
                Some(source) => timeout.with_source(source),
                None => timeout,
            }
        } else {
            self.operation
        }
    }

    /// The time limit of `killCursors`, which starts when it is sent: the cursor is closed also after
    /// its time limit has expired.
    pub(super) fn of_close(&self) -> Option<Duration> {
        self.limit
    }

    /// Replaces the time limit of `killCursors`.
    pub(in crate::api) fn set_close(&mut self, limit: Duration) {
        self.limit = Some(limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn refused(options: CursorTimeoutOptions) -> String {
        options.start(None).unwrap_err().to_string()
    }

    #[test]
    fn contradictory_options_are_rejected() {
        let options = CursorTimeoutOptions {
            mode: Some(TimeoutMode::CursorLifetime),
            ..CursorTimeoutOptions::default()
        };
        assert!(refused(options).contains("requires a timeout"));
        let options = CursorTimeoutOptions {
            inherited: Some(TimeLimit::of(SECOND, TimeoutSource::Client)),
            cursor_type: CursorType::Tailable,
            ..options
        };
        assert!(refused(options).contains("must be Iteration"));
        for wait in [SECOND, Duration::MAX] {
            let options = CursorTimeoutOptions {
                own: Some(SECOND),
                max_await_time: Some(wait),
                ..CursorTimeoutOptions::default()
            };
            assert!(refused(options).contains("must be shorter"));
        }
    }

    #[test]
    fn a_wait_without_a_time_limit_is_accepted() {
        for own in [None, Some(Duration::ZERO)] {
            let options = CursorTimeoutOptions {
                own,
                cursor_type: CursorType::TailableAwait,
                max_await_time: Some(SECOND),
                ..CursorTimeoutOptions::default()
            };
            let timeout = options.start(None).unwrap();
            assert_eq!(timeout.of_call(), Timeout::start(own));
        }
    }

    #[test]
    fn the_mode_determines_whether_calls_share_the_time_limit() {
        let options = CursorTimeoutOptions {
            own: Some(SECOND),
            ..CursorTimeoutOptions::default()
        };
        let lifetime = options.start(None).unwrap();
        assert_eq!(lifetime.of_call(), lifetime.of_operation());
        assert!(lifetime.has_max_time());
        let options = CursorTimeoutOptions {
            mode: Some(TimeoutMode::Iteration),
            ..options
        };
        let iteration = options.start(None).unwrap();
        assert!(!iteration.has_max_time());
        for timeout in [lifetime, iteration] {
            assert!(timeout.of_close().is_some());
        }
    }
}

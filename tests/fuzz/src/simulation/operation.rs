//! The state of a simulated operation in the executor.

use std::time::Duration;

use marula_driver::{
    ServerAddress,
    internals::retry::{Intent, RetryOptions, RetryPolicy},
};

/// Timeout of server selection.
pub(crate) const SELECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// The state of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Selecting,
    /// In the wait queue of a pool, on a connection, or waiting for a retry.
    Busy,
    Succeeded,
    Failed,
}

#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) number: u64,
    pub(crate) write: bool,
    pub(crate) retry_policy: RetryPolicy,
    pub(crate) avoid: Vec<ServerAddress>,
    pub(crate) state: State,
    /// Start of the server selection, on the virtual clock.
    pub(crate) selecting_since: Duration,
}

impl Operation {
    pub(crate) fn new(number: u64, write: bool, now: Duration) -> Self {
        let options = RetryOptions {
            reads: true,
            writes: true,
            max_adaptive_retries: 2,
        };
        let intent = if write { Intent::Write } else { Intent::Read };
        Self {
            number,
            write,
            retry_policy: RetryPolicy::new(options, intent, true),
            avoid: Vec::new(),
            state: State::Selecting,
            selecting_since: now,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, State::Succeeded | State::Failed)
    }
}

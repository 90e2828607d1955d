//! One operation of the application, as the executor sees it.

use std::time::Duration;

use marula_driver::{
    ServerAddress,
    internals::retry::{Intent, RetryOptions, RetryPolicy},
};

/// An operation that waits for a server this long gives up.
pub(crate) const SELECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Selecting,
    /// In a pool's queue, on a connection, or pausing.
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
    /// Since when it looks for a server, on the virtual clock.
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

//! The time limit of a call of several operations.

use std::time::{Duration, Instant};

/// The time limit of a call of several operations, from its begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLimit {
    began: Instant,
    /// `None`: each operation has the time limit of the collection. Zero: no limit.
    limit: Option<Duration>,
}

impl TimeLimit {
    /// The limit of a call that begins now.
    pub(crate) fn begin(limit: Option<Duration>) -> Self {
        TimeLimit {
            began: Instant::now(),
            limit,
        }
    }

    /// The time limit of the next operation, if the call has one.
    pub(crate) fn left(&self) -> Option<Duration> {
        let limit = self.limit?;
        if limit.is_zero() {
            return Some(limit);
        }
        // Zero would be no limit. With one nanosecond the operation fails before it is sent.
        let left = limit.saturating_sub(self.began.elapsed());
        Some(left.max(Duration::from_nanos(1)))
    }

    /// Options or an action with the time limit of the next operation.
    pub(crate) fn of<O>(&self, options: O, set: impl FnOnce(O, Duration) -> O) -> O {
        match self.left() {
            Some(left) => set(options, left),
            None => options,
        }
    }
}

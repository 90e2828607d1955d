//! A point in time after which waiting is pointless.

use std::{future::Future, time::Duration};
use tokio::time::Instant;

/// The moment at which an operation must have ended, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(Option<Instant>);

/// The deadline passed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed;

impl Deadline {
    /// No limit.
    pub const NEVER: Self = Self(None);

    /// `None` and zero mean "no limit", as the specifications' timeout options do.
    pub fn after(timeout: Option<Duration>) -> Self {
        Self(
            timeout
                .filter(|t| !t.is_zero())
                .and_then(|t| Instant::now().checked_add(t)),
        )
    }

    /// The time that is left; `None` without limit.
    pub fn remaining(self) -> Option<Duration> {
        self.0.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// The earlier of the two.
    pub fn min(self, other: Self) -> Self {
        match (self.0, other.0) {
            (Some(a), Some(b)) => Self(Some(a.min(b))),
            (a, b) => Self(a.or(b)),
        }
    }

    /// Runs `future` until the deadline. No timer is armed when there is none.
    pub async fn run<F: Future>(self, future: F) -> Result<F::Output, Elapsed> {
        match self.0 {
            None => Ok(future.await),
            Some(at) => tokio::time::timeout_at(at, future).await.map_err(|_| Elapsed),
        }
    }
}

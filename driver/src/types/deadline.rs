//! A point in time after which waiting is pointless.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    task::coop::unconstrained,
    time::{Instant, sleep_until},
};

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

    /// Runs `future` until the deadline. No timer is armed when there is none, or when the future is ready at once.
    pub async fn run<F: Future>(self, future: F) -> Result<F::Output, Elapsed> {
        let mut future = pin!(future);
        self.run_polled(|cx| future.as_mut().poll(cx)).await
    }

    /// As [`run`](Self::run), for what is polled by a function: a future would lie in this one's future twice, as the
    /// argument and as what is awaited.
    pub fn run_polled<T>(
        self,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> impl Future<Output = Result<T, Elapsed>> {
        // Boxed: the many futures that never see a deadline carry a pointer instead of a timer.
        let mut timer: Option<Pin<Box<_>>> = None;
        poll_fn(move |cx| {
            if let Poll::Ready(output) = poll(cx) {
                return Poll::Ready(Ok(output));
            }
            let Some(at) = self.0 else {
                return Poll::Pending;
            };
            // What spends all that tokio lets a task do at a time must not keep the timer from being looked at.
            let timer = timer.get_or_insert_with(|| Box::pin(unconstrained(sleep_until(at))));
            timer.as_mut().poll(cx).map(|()| Err(Elapsed))
        })
    }
}

//! Deadlines of operations, on the clock of tokio.

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

/// The point in time at which an operation must have ended, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(Option<Instant>);

/// The deadline expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed;

impl Deadline {
    /// No limit.
    pub const NEVER: Self = Self(None);

    /// The deadline at this time.
    pub fn at(at: Instant) -> Self {
        Self(Some(at))
    }

    /// The deadline at the end of `timeout`, which starts now. `None` and zero mean no limit, as in
    /// the timeout options of the specifications, and so does a timeout too long for an `Instant`.
    pub fn after(timeout: Option<Duration>) -> Self {
        Self(
            timeout
                .filter(|t| !t.is_zero())
                .and_then(|t| Instant::now().checked_add(t)),
        )
    }

    /// The time left: zero after the deadline, `None` without a limit.
    pub fn remaining(self) -> Option<Duration> {
        self.0.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// The earlier of two deadlines.
    pub fn min(self, other: Self) -> Self {
        match (self.0, other.0) {
            (Some(a), Some(b)) => Self(Some(a.min(b))),
            (a, b) => Self(a.or(b)),
        }
    }

    /// The deadline moved by this time. `NEVER` if it is too late for an `Instant`.
    #[must_use]
    pub fn later(self, by: Duration) -> Self {
        Self(self.0.and_then(|at| at.checked_add(by)))
    }

    /// Runs `future` until the deadline, then drops it. The future is polled at least once, also
    /// after the deadline. No timer is created without a deadline, or if the future is ready at its
    /// first poll.
    pub async fn run<F: Future>(self, future: F) -> Result<F::Output, Elapsed> {
        let mut future = pin!(future);
        self.run_polled(|cx| future.as_mut().poll(cx)).await
    }

    /// As [`run`](Self::run) for a poll function. This keeps the future of the caller small: a
    /// future passed as an argument is stored twice, as the argument and as the awaited value.
    pub fn run_polled<T>(
        self,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> impl Future<Output = Result<T, Elapsed>> {
        // Boxed, so that the futures without a deadline hold a pointer and not a timer.
        let mut timer: Option<Pin<Box<_>>> = None;
        poll_fn(move |cx| {
            if let Poll::Ready(output) = poll(cx) {
                return Poll::Ready(Ok(output));
            }
            let Some(at) = self.0 else {
                return Poll::Pending;
            };
            // The timer must be polled even if the polled function used up tokio's cooperative
            // budget.
            let timer = timer.get_or_insert_with(|| Box::pin(unconstrained(sleep_until(at))));
            timer.as_mut().poll(cx).map(|()| Err(Elapsed))
        })
    }
}

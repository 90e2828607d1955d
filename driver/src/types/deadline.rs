//! Deadlines of operations, on the clock of tokio.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    task::coop::unconstrained,
    time::{Instant, Sleep, sleep_until},
};

/// The point in time at which an operation must have ended, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(Option<Instant>);

/// A timer that fires later than this was not watched meanwhile: the process was stopped, or the machine was suspended.
const LATE: Duration = Duration::from_secs(1);

/// What follows then, so that data which has arrived meanwhile is received: the runtime handles timers first.
const GRACE: Duration = Duration::from_millis(250);

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
        match timeout {
            // The clock is read only for a limit.
            Some(limit) if !limit.is_zero() => Self(Instant::now().checked_add(limit)),
            _ => Self::NEVER,
        }
    }

    /// The end of a timeout that started at `since`. Zero and `None` mean no limit.
    pub fn since(since: Instant, timeout: Option<Duration>) -> Self {
        Self(
            timeout
                .filter(|limit| !limit.is_zero())
                .and_then(|limit| since.checked_add(limit)),
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
    /// first poll. After a stop of the process, which ended later than the deadline, the future has 250 ms.
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
        let mut timer: Option<Pin<Box<Sleep>>> = None;
        // The timer was pending, and was not reset: a deadline that had passed before is not extended.
        let mut may_be_reset = false;
        let mut was_reset = false;
        poll_fn(move |cx| {
            if let Poll::Ready(output) = poll(cx) {
                return Poll::Ready(Ok(output));
            }
            let Some(at) = self.0 else {
                return Poll::Pending;
            };
            // The timer must be polled even if the polled function used up tokio's cooperative
            // budget.
            let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
            if pin!(unconstrained(timer.as_mut())).poll(cx).is_pending() {
                may_be_reset = !was_reset;
                return Poll::Pending;
            }
            let now = Instant::now();
            if !may_be_reset || now.saturating_duration_since(at) < LATE {
                return Poll::Ready(Err(Elapsed));
            }
            (may_be_reset, was_reset) = (false, true);
            timer.as_mut().reset(now + GRACE);
            pin!(unconstrained(timer.as_mut()))
                .poll(cx)
                .map(|()| Err(Elapsed))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ready at the second poll after the deadline, as a socket whose data the runtime sees after it has handled timers.
    async fn ready_in_the_next_turn(after: Duration) -> &'static str {
        let begun = Instant::now();
        let mut polls = 0;
        poll_fn(move |cx| {
            polls += u32::from(begun.elapsed() >= after);
            cx.waker().wake_by_ref();
            if polls > 1 {
                Poll::Ready("read")
            } else {
                Poll::Pending
            }
        })
        .await
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_arrived_while_the_process_was_stopped_is_received() {
        let limit = Duration::from_secs(1);
        let work = tokio::spawn(Deadline::after(Some(limit)).run(ready_in_the_next_turn(limit)));
        tokio::task::yield_now().await;
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(work.await.expect("no panic"), Ok("read"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_that_has_passed_long_ago_is_not_extended() {
        let deadline = Deadline::after(Some(Duration::from_secs(1)));
        tokio::time::advance(Duration::from_secs(60)).await;
        let began = Instant::now();
        assert_eq!(deadline.run(std::future::pending::<()>()).await, Err(Elapsed));
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn an_extended_deadline_expires() {
        let work =
            tokio::spawn(Deadline::after(Some(Duration::from_secs(1))).run(std::future::pending::<()>()));
        tokio::task::yield_now().await;
        tokio::time::advance(Duration::from_secs(60)).await;
        let resumed = Instant::now();
        assert_eq!(work.await.expect("no panic"), Err(Elapsed));
        assert_eq!(resumed.elapsed(), GRACE);
    }
}

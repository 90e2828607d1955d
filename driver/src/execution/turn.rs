//! The turn of a command of a transaction: the server runs one at a time.

use std::{
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
};

use tokio::sync::Notify;

/// Whether a command has the turn, and who waits for it.
///
/// A waiter takes the turn when it is polled. A fair semaphore would give it to the oldest waiter, also to one that is not polled, e.g. in a
/// stream of calls whose items are not being awaited: the calls that are polled would then wait without end.
#[derive(Debug, Default)]
pub(super) struct Turn {
    is_taken: AtomicBool,
    ended: Notify,
}

impl Turn {
    /// Waits until no other command has the turn, and takes it. [`end`](Self::end) must be called after the command. A dropped future has not
    /// taken it.
    pub(super) async fn begin(&self) {
        self.when(|| !self.is_taken.swap(true, Ordering::Acquire)).await;
    }

    /// Waits until no command has the turn.
    pub(super) async fn idle(&self) {
        self.when(|| !self.is_taken.load(Ordering::Acquire)).await;
    }

    pub(super) fn end(&self) {
        self.is_taken.store(false, Ordering::Release);
        self.ended.notify_waiters();
    }

    async fn when(&self, is_met: impl Fn() -> bool) {
        loop {
            let mut ended = pin!(self.ended.notified());
            // Before the condition is read, so that no end is missed.
            ended.as_mut().enable();
            if is_met() {
                return;
            }
            ended.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::Pin,
        task::{Context, Waker},
    };

    use super::*;

    fn is_ready(future: Pin<&mut impl Future<Output = ()>>) -> bool {
        future.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_waiter_that_is_not_polled_does_not_hold_the_turn() {
        let turn = Turn::default();
        assert!(is_ready(pin!(turn.begin())));
        let (mut first, mut second) = (pin!(turn.begin()), pin!(turn.begin()));
        assert!(!is_ready(first.as_mut()) && !is_ready(second.as_mut()));
        turn.end();
        assert!(is_ready(second.as_mut()));
        assert!(!is_ready(first.as_mut()) && !is_ready(pin!(turn.idle())));
        turn.end();
        assert!(is_ready(pin!(turn.idle())) && is_ready(first.as_mut()));
    }
}

//! The turn of a command of a transaction: the server runs one at a time.

use std::{
    pin::pin,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::{sync::Notify, task::yield_now};

/// Whether a command has the turn, and who waits for it.
///
/// A waiter takes the turn when it is polled. A fair semaphore would give it to the oldest waiter, also to one that is not polled, e.g. in a
/// stream of calls whose items are not being awaited: the calls that are polled would then wait without end. A command that begins while
/// others wait lets those that are polled go first, so that calls in a loop do not keep the turn.
#[derive(Debug, Default)]
pub(super) struct Turn {
    is_taken: AtomicBool,
    /// The number of waiters.
    waiting: AtomicUsize,
    ended: Notify,
}

impl Turn {
    /// Waits until no other command has the turn, and takes it. [`end`](Self::end) must be called after the command. A dropped future has not
    /// taken it.
    pub(super) async fn begin(&self) {
        // Twice, because `join!` does not poll its futures in the same order each time: this one can be first again.
        for _ in 0..2 {
            if self.waiting.load(Ordering::Relaxed) != 0 {
                yield_now().await;
            }
        }
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
        if is_met() {
            return;
        }
        let _waiting = Waiting::new(&self.waiting);
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

/// One of the waiters, until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(number: &'a AtomicUsize) -> Self {
        number.fetch_add(1, Ordering::Relaxed);
        Self(number)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::in_flight::tests::is_ready;

    #[test]
    fn a_waiter_that_is_not_polled_does_not_hold_the_turn() {
        let turn = Turn::default();
        assert!(is_ready(pin!(turn.begin())));
        let (mut first, mut second) = (pin!(turn.begin()), pin!(turn.begin()));
        assert!(!is_ready(first.as_mut()));
        // The second lets the first go first.
        for _ in 0..3 {
            assert!(!is_ready(second.as_mut()));
        }
        turn.end();
        assert!(is_ready(second.as_mut()));
        assert!(!is_ready(first.as_mut()) && !is_ready(pin!(turn.idle())));
        turn.end();
        assert!(is_ready(pin!(turn.idle())) && is_ready(first.as_mut()));
    }

    #[tokio::test]
    async fn commands_in_a_loop_let_a_waiter_go_first() {
        let turn = Turn::default();
        let commands = std::cell::Cell::new(0);
        let in_a_loop = async {
            for _ in 0..10 {
                turn.begin().await;
                yield_now().await;
                commands.set(commands.get() + 1);
                turn.end();
            }
        };
        let one = async {
            turn.begin().await;
            let before = commands.get();
            turn.end();
            before
        };
        let ((), before) = tokio::join!(in_a_loop, one);
        assert!(before <= 2, "{before} commands were first");
        assert_eq!(turn.waiting.load(Ordering::Relaxed), 0);
    }
}

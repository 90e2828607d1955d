//! The replies to commands of a session's transactions that their operations have given up: the future of the
//! operation was dropped, or its time limit expired.
//!
//! The server may still run such a command, so the next command of a transaction of the session waits for its
//! reply. Replies to commands outside of transactions are not counted.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use tokio::sync::Notify;

/// The outstanding replies of a session's transactions.
#[derive(Debug, Default)]
pub(crate) struct LateReplies {
    counts: Mutex<Counts>,
    settled: Notify,
}

#[derive(Debug, Default)]
struct Counts {
    /// The number of all commands, which is also that of the last one.
    commands: u64,
    /// The number of outstanding replies that are still awaited.
    awaited: usize,
    /// The last command whose reply is no longer awaited.
    given_up: u64,
    /// When the first wait for outstanding replies began.
    began: Option<Instant>,
}

impl LateReplies {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A command is about to be sent. The connection keeps the result until it has read the reply, or is broken.
    pub(crate) fn expect(self: &Arc<Self>) -> OutstandingReply {
        let mut counts = self.lock();
        counts.commands += 1;
        counts.awaited += 1;
        OutstandingReply {
            command: counts.commands,
            replies: Arc::clone(self),
        }
    }

    /// Whether no reply is awaited, which is the case unless an operation was given up.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().awaited == 0
    }

    /// When the first wait for the outstanding replies began, also if its future was dropped, or it ended without them:
    /// now, if this is the first.
    pub(crate) fn awaited_since(&self) -> Instant {
        *self.lock().began.get_or_insert_with(Instant::now)
    }

    /// The outstanding replies are not awaited any longer: they were awaited for as long as is permitted.
    pub(crate) fn give_up(&self) {
        let mut counts = self.lock();
        counts.awaited = 0;
        counts.given_up = counts.commands;
        counts.began = None;
    }

    /// Completes when all that are awaited were read, or their connections were closed.
    pub(crate) async fn settled(&self) {
        loop {
            // Registered before the check, so that no reply is missed.
            let settled = self.settled.notified();
            if self.is_empty() {
                return;
            }
            settled.await;
        }
    }
}

/// A reply that a connection has not read.
#[derive(Debug)]
pub(crate) struct OutstandingReply {
    command: u64,
    replies: Arc<LateReplies>,
}

impl Drop for OutstandingReply {
    fn drop(&mut self) {
        let mut counts = self.replies.lock();
        if self.command <= counts.given_up {
            return;
        }
        counts.awaited -= 1;
        let is_settled = counts.awaited == 0;
        if is_settled {
            counts.began = None;
        }
        drop(counts);
        if is_settled {
            self.replies.settled.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_replies_are_awaited() {
        let replies = Arc::new(LateReplies::default());
        replies.settled().await;
        let (first, second) = (replies.expect(), replies.expect());
        drop(first);
        let waiting = replies.settled();
        tokio::pin!(waiting);
        tokio::select! {
            biased;
            () = &mut waiting => panic!("a reply is outstanding"),
            () = std::future::ready(()) => {}
        }
        drop(second);
        waiting.await;
        assert!(replies.is_empty());
    }

    #[test]
    fn a_wait_that_was_dropped_counts_until_all_replies_were_read() {
        let replies = Arc::new(LateReplies::default());
        let first = replies.expect();
        let since = replies.awaited_since();
        while since.elapsed().is_zero() {}
        let second = replies.expect();
        assert_eq!(replies.awaited_since(), since);
        drop((first, second));
        let _third = replies.expect();
        assert!(replies.awaited_since() > since);
    }

    #[test]
    fn replies_that_were_given_up_are_not_awaited_again() {
        let replies = Arc::new(LateReplies::default());
        let first = replies.expect();
        replies.give_up();
        assert!(replies.is_empty());
        let second = replies.expect();
        assert!(!replies.is_empty());
        drop(first);
        assert!(!replies.is_empty(), "the second is awaited");
        drop(second);
        assert!(replies.is_empty());
    }
}

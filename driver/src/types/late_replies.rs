//! The replies to commands of a session's transactions that their operations have given up: the future of the
//! operation was dropped, or its time limit expired.
//!
//! The server may still run such a command, so the next command of a transaction of the session waits for its
//! reply. Replies to commands outside of transactions are not counted.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use tokio::sync::Notify;

/// What [`LateReplies::counts`] grows by with each command.
const COMMAND: u64 = 1 << 32;

/// The outstanding replies of a session's transactions.
#[derive(Debug, Default)]
pub(crate) struct LateReplies {
    /// The number of outstanding replies in the lower half, and in the upper half that of all commands.
    counts: AtomicU64,
    /// When the first wait began, with the number of commands at that time.
    awaited: Mutex<Option<(u64, Instant)>>,
    settled: Notify,
}

impl LateReplies {
    /// A command is about to be sent. The connection keeps the result until it has read the reply, or is broken.
    pub(crate) fn expect(self: &Arc<Self>) -> OutstandingReply {
        self.counts.fetch_add(COMMAND + 1, Ordering::SeqCst);
        OutstandingReply(Arc::clone(self))
    }

    /// Whether there is none, which is the case unless an operation was given up.
    pub(crate) fn is_empty(&self) -> bool {
        self.counts.load(Ordering::SeqCst).is_multiple_of(COMMAND)
    }

    /// When the first wait for the outstanding replies began, also if it was given up: now, if this is the
    /// first since the last command.
    pub(crate) fn awaited_since(&self) -> Instant {
        let commands = self.counts.load(Ordering::SeqCst) / COMMAND;
        let mut awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        match *awaited {
            Some((known, since)) if known == commands => since,
            _ => {
                let since = Instant::now();
                *awaited = Some((commands, since));
                since
            }
        }
    }

    /// Completes when all were read, or their connections were closed.
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
pub(crate) struct OutstandingReply(Arc<LateReplies>);

impl Drop for OutstandingReply {
    fn drop(&mut self) {
        if self.0.counts.fetch_sub(1, Ordering::SeqCst) % COMMAND == 1 {
            self.0.settled.notify_waiters();
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
    fn a_wait_that_was_given_up_counts_until_the_next_command() {
        let replies = Arc::new(LateReplies::default());
        let first = replies.expect();
        let since = replies.awaited_since();
        while since.elapsed().is_zero() {}
        assert_eq!(replies.awaited_since(), since);
        let _second = replies.expect();
        drop(first);
        assert!(replies.awaited_since() > since);
    }
}

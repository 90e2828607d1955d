//! The replies that operations of a session have given up: the operation's future was dropped, or its time limit expired.
//!
//! The server may still run their commands, so a command that ends their transaction must not reach the server before them, and
//! another transaction must not use the id of their session ("MUST NOT be used simultaneously by more than one operation",
//! Driver Sessions).

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::sync::Notify;

/// The outstanding replies of a session's transactions.
#[derive(Debug, Default)]
pub(crate) struct LateReplies {
    outstanding: AtomicUsize,
    /// A connection was closed before the reply to a command that an operation had given up.
    is_lost: AtomicBool,
    settled: Notify,
}

impl LateReplies {
    /// A command is about to be sent. The connection keeps the result until its reply was read.
    pub(crate) fn expect(self: &Arc<Self>) -> OutstandingReply {
        self.outstanding.fetch_add(1, Ordering::SeqCst);
        OutstandingReply {
            replies: Arc::clone(self),
            is_settled: false,
        }
    }

    /// Whether there is none, which is the case unless an operation was given up.
    pub(crate) fn is_empty(&self) -> bool {
        self.outstanding.load(Ordering::SeqCst) == 0
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

    /// The session goes on without them.
    pub(crate) fn give_up(&self) {
        self.is_lost.store(true, Ordering::SeqCst);
    }

    /// Whether the server may still run a command whose reply will not be read. `false` in the following calls.
    pub(crate) fn take_lost(&self) -> bool {
        self.is_lost.swap(false, Ordering::SeqCst)
    }
}

/// A reply that a connection has not read.
#[derive(Debug)]
pub(crate) struct OutstandingReply {
    replies: Arc<LateReplies>,
    is_settled: bool,
}

impl OutstandingReply {
    /// The reply was read, the command was not sent, or the operation has reported that the connection failed.
    pub(crate) fn settle(mut self) {
        self.is_settled = true;
    }
}

impl Drop for OutstandingReply {
    fn drop(&mut self) {
        if !self.is_settled {
            self.replies.give_up();
        }
        if self.replies.outstanding.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.replies.settled.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reply_is_settled_or_lost() {
        let replies = Arc::new(LateReplies::default());
        replies.settled().await;
        let (first, second) = (replies.expect(), replies.expect());
        first.settle();
        assert!(!replies.is_empty() && !replies.take_lost());
        let waiting = replies.settled();
        tokio::pin!(waiting);
        tokio::select! {
            biased;
            () = &mut waiting => panic!("a reply is outstanding"),
            () = std::future::ready(()) => {}
        }
        drop(second);
        waiting.await;
        assert!(replies.is_empty() && replies.take_lost() && !replies.take_lost());
    }
}

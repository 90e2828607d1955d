//! The replies that operations of a session have given up: the operation's future was dropped, or its time limit expired.
//!
//! The server may still run their commands, so what follows them in the session waits for their replies.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

/// The outstanding replies of a session's transactions.
#[derive(Debug, Default)]
pub(crate) struct LateReplies {
    outstanding: AtomicUsize,
    settled: Notify,
}

impl LateReplies {
    /// A command is about to be sent. The connection keeps the result until it has read the reply, or is broken.
    pub(crate) fn expect(self: &Arc<Self>) -> OutstandingReply {
        self.outstanding.fetch_add(1, Ordering::SeqCst);
        OutstandingReply(Arc::clone(self))
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
}

/// A reply that a connection has not read.
#[derive(Debug)]
pub(crate) struct OutstandingReply(Arc<LateReplies>);

impl Drop for OutstandingReply {
    fn drop(&mut self) {
        if self.0.outstanding.fetch_sub(1, Ordering::SeqCst) == 1 {
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
}

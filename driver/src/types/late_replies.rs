//! The replies to commands of a session's transactions that their operations have given up: the future of the
//! operation was dropped, or its time limit expired.
//!
//! The server may still run such a command, so the next command of a transaction of the session waits for its
//! reply, and takes what the replies say about the session. Replies to commands outside of transactions are not
//! counted.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use tokio::sync::Notify;

use crate::bson::{RawDocumentBuf, Timestamp};

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
    /// What the session has not taken of replies that were read.
    unread: Vec<LateReply>,
}

/// What a late reply says about the session.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LateReply {
    /// `txnNumber` of the command.
    pub(crate) transaction: i64,
    /// `recoveryToken`.
    pub(crate) recovery_token: Option<RawDocumentBuf>,
    /// `$clusterTime`.
    pub(crate) cluster_time: Option<RawDocumentBuf>,
    /// `operationTime`.
    pub(crate) operation_time: Option<Timestamp>,
}

impl LateReplies {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A command of the transaction with this number is about to be sent. The connection keeps the result until it
    /// has read the reply, or is broken.
    pub(crate) fn expect(self: &Arc<Self>, transaction: i64) -> OutstandingReply {
        let mut counts = self.lock();
        counts.commands += 1;
        counts.awaited += 1;
        OutstandingReply {
            command: counts.commands,
            transaction,
            replies: Arc::clone(self),
        }
    }

    /// Whether no reply is awaited, and none was read that the session has not taken: the case unless an
    /// operation was given up.
    pub(crate) fn is_empty(&self) -> bool {
        let counts = self.lock();
        counts.awaited == 0 && counts.unread.is_empty()
    }

    /// Whether a reply is awaited.
    pub(crate) fn is_awaited(&self) -> bool {
        self.lock().awaited > 0
    }

    /// What was read since the last call, in the order of the replies.
    pub(crate) fn take(&self) -> Vec<LateReply> {
        std::mem::take(&mut self.lock().unread)
    }

    /// When the first wait for the outstanding replies began, also if its future was dropped, or it ended without them:
    /// now, if this is the first.
    pub(crate) fn awaited_since(&self) -> Instant {
        *self.lock().began.get_or_insert_with(Instant::now)
    }

    /// A newer `recoveryToken` was received.
    pub(crate) fn forget_recovery_tokens(&self) {
        for reply in &mut self.lock().unread {
            reply.recovery_token = None;
        }
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
            if !self.is_awaited() {
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
    transaction: i64,
    replies: Arc<LateReplies>,
}

impl OutstandingReply {
    /// The reply was read after its operation had ended. The session takes this with its next command in a
    /// transaction.
    pub(crate) fn arrived(self, reply: LateReply) {
        if reply == LateReply::default() {
            return;
        }
        let reply = LateReply {
            transaction: self.transaction,
            ..reply
        };
        self.replies.lock().unread.push(reply);
    }
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
        let (first, second) = (replies.expect(1), replies.expect(1));
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
        let first = replies.expect(1);
        let since = replies.awaited_since();
        while since.elapsed().is_zero() {}
        let second = replies.expect(1);
        assert_eq!(replies.awaited_since(), since);
        drop((first, second));
        let _third = replies.expect(1);
        assert!(replies.awaited_since() > since);
    }

    #[test]
    fn replies_that_were_given_up_are_not_awaited_again() {
        let replies = Arc::new(LateReplies::default());
        let first = replies.expect(1);
        replies.give_up();
        assert!(replies.is_empty());
        let second = replies.expect(1);
        assert!(!replies.is_empty());
        drop(first);
        assert!(!replies.is_empty(), "the second is awaited");
        drop(second);
        assert!(replies.is_empty());
    }

    #[test]
    fn what_late_replies_say_is_taken_once_and_in_their_order() {
        let replies = Arc::new(LateReplies::default());
        let (first, second) = (replies.expect(1), replies.expect(2));
        let at = |time| LateReply {
            operation_time: Some(Timestamp { time, increment: 1 }),
            ..LateReply::default()
        };
        replies.give_up();
        second.arrived(at(8));
        first.arrived(at(7));
        assert!(!replies.is_awaited() && !replies.is_empty());
        let taken = replies.take();
        let of = |transaction, time| LateReply {
            transaction,
            ..at(time)
        };
        assert_eq!(taken, [of(2, 8), of(1, 7)]);
        assert!(replies.is_empty() && replies.take().is_empty());
    }
}

//! The replies to commands of a session that their operations have given up: the future of the operation was dropped,
//! or its time limit expired.
//!
//! The next command of the session takes what the replies say about it. The server may still run such a command, so the
//! next command of a transaction of the session waits for the replies to those of transactions. Replies to other
//! commands are not awaited.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use tokio::sync::Notify;

use crate::{
    bson::{RawDocumentBuf, Timestamp},
    types::lock::{Inner, InnerGuard},
};

/// The outstanding replies of a session.
#[derive(Debug, Default)]
pub(crate) struct LateReplies {
    counts: Inner<Counts>,
    settled: Notify,
    /// Whether there are unread replies. Set and cleared under the lock.
    has_unread: AtomicBool,
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
    /// `txnNumber` of the command, if it is part of a transaction.
    pub(crate) transaction: Option<i64>,
    /// `recoveryToken`.
    pub(crate) recovery_token: Option<RawDocumentBuf>,
    /// `$clusterTime`.
    pub(crate) cluster_time: Option<RawDocumentBuf>,
    /// `operationTime`.
    pub(crate) operation_time: Option<Timestamp>,
}

impl LateReplies {
    fn lock(&self) -> InnerGuard<'_, Counts> {
        self.counts.lock()
    }

    /// A command of the transaction with this number is about to be sent. The connection keeps the result until it
    /// has read the reply, or is broken.
    pub(crate) fn expect(self: &Arc<Self>, transaction: i64) -> OutstandingReply {
        let mut counts = self.lock();
        counts.commands += 1;
        counts.awaited += 1;
        OutstandingReply {
            command: Some(counts.commands),
            transaction: Some(transaction),
            replies: Arc::clone(self),
        }
    }

    /// A command outside of transactions is about to be sent. Its reply is not awaited.
    pub(crate) fn expect_unawaited(self: &Arc<Self>) -> OutstandingReply {
        OutstandingReply {
            command: None,
            transaction: None,
            replies: Arc::clone(self),
        }
    }

    /// Whether a reply was read that the session has not taken.
    #[inline]
    pub(crate) fn has_unread(&self) -> bool {
        self.has_unread.load(Ordering::Acquire)
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
        let mut counts = self.lock();
        self.has_unread.store(false, Ordering::Release);
        std::mem::take(&mut counts.unread)
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
    /// The number of the command, if its reply is awaited.
    command: Option<u64>,
    transaction: Option<i64>,
    replies: Arc<LateReplies>,
}

impl OutstandingReply {
    /// The reply was read after its operation had ended. The session takes this with its next command.
    pub(crate) fn arrived(self, reply: LateReply) {
        if reply == LateReply::default() {
            return;
        }
        let reply = LateReply {
            transaction: self.transaction,
            ..reply
        };
        let mut counts = self.replies.lock();
        counts.unread.push(reply);
        self.replies.has_unread.store(true, Ordering::Release);
    }
}

impl Drop for OutstandingReply {
    fn drop(&mut self) {
        let Some(command) = self.command else { return };
        let mut counts = self.replies.lock();
        if command <= counts.given_up {
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
            transaction: Some(transaction),
            ..at(time)
        };
        assert_eq!(taken, [of(2, 8), of(1, 7)]);
        assert!(replies.is_empty() && replies.take().is_empty());
    }

    #[test]
    fn replies_outside_of_transactions_are_taken_but_not_awaited() {
        let replies = Arc::new(LateReplies::default());
        let reply = replies.expect_unawaited();
        assert!(replies.is_empty() && !replies.has_unread());
        let late = LateReply {
            operation_time: Some(Timestamp {
                time: 7,
                increment: 1,
            }),
            ..LateReply::default()
        };
        reply.arrived(late.clone());
        assert!(replies.has_unread() && !replies.is_awaited());
        assert_eq!(replies.take(), [late]);
        assert!(!replies.has_unread());
        drop(replies.expect_unawaited());
        assert!(replies.is_empty());
    }
}

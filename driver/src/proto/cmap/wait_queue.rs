//! The requests that wait for a connection, first come, first served.

use std::collections::VecDeque;

/// Names a waiting request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaiterId(u64);

/// The WaitQueue of the specification. Numbers grow from front to back, so a request is found by binary search.
#[derive(Debug)]
pub(super) struct WaitQueue<W> {
    waiters: VecDeque<(WaiterId, W)>,
    next: u64,
}

impl<W> Default for WaitQueue<W> {
    fn default() -> Self {
        Self {
            waiters: VecDeque::new(),
            next: 0,
        }
    }
}

impl<W> WaitQueue<W> {
    pub(super) fn len(&self) -> usize {
        self.waiters.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    pub(super) fn push(&mut self, waiter: W) -> WaiterId {
        let id = WaiterId(self.next);
        self.next += 1;
        self.waiters.push_back((id, waiter));
        id
    }

    pub(super) fn pop(&mut self) -> Option<W> {
        self.waiters.pop_front().map(|(_, waiter)| waiter)
    }

    /// How many requests are before this one; `None` when it is not in the queue.
    pub(super) fn position(&self, id: WaiterId) -> Option<usize> {
        self.waiters.binary_search_by_key(&id, |(id, _)| *id).ok()
    }

    pub(super) fn remove(&mut self, id: WaiterId) -> Option<W> {
        let index = self.position(id)?;
        self.waiters.remove(index).map(|(_, waiter)| waiter)
    }
}

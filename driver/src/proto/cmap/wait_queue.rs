//! The WaitQueue: requests that wait for a connection, in order of arrival.

use std::{collections::VecDeque, time::Instant};

/// Identifies a waiting request. Ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaiterId(u64);

/// The queue is sorted by id, so a request is found by binary search.
#[derive(Debug)]
pub(super) struct WaitQueue<W> {
    waiters: VecDeque<Entry<W>>,
    next: u64,
}

#[derive(Debug)]
struct Entry<W> {
    id: WaiterId,
    waiting: Waiting<W>,
}

/// A request and the time of its check-out.
#[derive(Debug)]
pub(super) struct Waiting<W> {
    pub(super) waiter: W,
    pub(super) since: Instant,
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

    pub(super) fn push(&mut self, waiter: W, since: Instant) -> WaiterId {
        let id = WaiterId(self.next);
        self.next += 1;
        let waiting = Waiting { waiter, since };
        self.waiters.push_back(Entry { id, waiting });
        id
    }

    pub(super) fn pop(&mut self) -> Option<Waiting<W>> {
        self.waiters.pop_front().map(|entry| entry.waiting)
    }

    /// The number of requests before this one. `None` if it is not in the queue.
    pub(super) fn position(&self, id: WaiterId) -> Option<usize> {
        self.waiters.binary_search_by_key(&id, |entry| entry.id).ok()
    }

    pub(super) fn remove(&mut self, id: WaiterId) -> Option<Waiting<W>> {
        let index = self.position(id)?;
        self.waiters.remove(index).map(|entry| entry.waiting)
    }
}

//! Keeps book of a pool's events.

use std::collections::BTreeSet;

use marula_driver::internals::cmap::{Counts, Event};

/// What the events of one pool say, and whether they make sense.
#[derive(Debug, Default)]
pub struct Ledger {
    ready: bool,
    closed: bool,
    last_id: u32,
    alive: BTreeSet<u32>,
    established: BTreeSet<u32>,
    in_use: BTreeSet<u32>,
    asking: usize,
}

impl Ledger {
    /// Enters an event.
    ///
    /// # Panics
    /// When it contradicts those before it.
    pub fn enter<E: std::fmt::Debug>(&mut self, event: &Event<E>) {
        match event {
            Event::PoolReady => {
                assert!(!self.ready && !self.closed, "ready twice, or after the end");
                self.ready = true;
            }
            Event::PoolCleared { service_id: None, .. } => {
                assert!(self.ready && !self.closed, "cleared twice, or after the end");
                self.ready = false;
            }
            Event::PoolCleared { .. } => assert!(!self.closed, "cleared after the end"),
            Event::PoolClosed => {
                assert!(!self.closed, "closed twice");
                // One whose failure is being dealt with may outlive the pool.
                assert_eq!(
                    self.established, self.in_use,
                    "the pool was closed before its connections"
                );
                (self.closed, self.ready) = (true, false);
            }
            Event::ConnectionCreated { id } => {
                assert!(self.ready, "a paused pool creates nothing");
                assert_eq!(*id, self.last_id + 1, "ids grow by one");
                self.last_id = *id;
                self.alive.insert(*id);
            }
            Event::ConnectionReady { id, .. } => {
                assert!(
                    self.alive.contains(id) && self.established.insert(*id),
                    "{event:?}"
                );
            }
            Event::ConnectionClosed { id, .. } => {
                assert!(self.alive.remove(id) && !self.in_use.contains(id), "{event:?}");
                self.established.remove(id);
            }
            Event::CheckOutStarted => self.asking += 1,
            Event::CheckOutFailed { .. } => self.answer(event),
            Event::CheckedOut { id, .. } => {
                self.answer(event);
                assert!(self.ready, "a paused pool gives nothing");
                assert!(
                    self.established.contains(id) && self.in_use.insert(*id),
                    "{event:?}"
                );
            }
            Event::CheckedIn { id } => assert!(self.in_use.remove(id), "{event:?}"),
        }
    }

    fn answer<E: std::fmt::Debug>(&mut self, event: &Event<E>) {
        assert!(self.asking > 0, "nobody asked: {event:?}");
        self.asking -= 1;
    }

    /// Compares with the machine, whose actions have all been taken. `failing` requests are about to get the error of an establishment.
    ///
    /// # Panics
    /// When they differ.
    pub fn agrees_with(&self, counts: Counts, failing: usize) {
        assert_eq!(
            (self.alive.len(), self.asking),
            (counts.total, counts.waiting + failing)
        );
        let idle = self.established.difference(&self.in_use).count();
        assert_eq!(idle, counts.available, "idle connections");
    }

    /// Connections in use now.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.in_use.len()
    }
}

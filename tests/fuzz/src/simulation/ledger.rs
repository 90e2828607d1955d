//! Checks the sequence of a pool's events.

use std::collections::BTreeSet;

use marula_driver::internals::cmap::{Counts, Event};

/// The state of a pool according to its events.
#[derive(Debug, Default)]
pub struct Ledger {
    ready: bool,
    closed: bool,
    last_id: u32,
    alive: BTreeSet<u32>,
    established: BTreeSet<u32>,
    in_use: BTreeSet<u32>,
    checking_out: usize,
}

impl Ledger {
    /// Applies an event.
    ///
    /// # Panics
    /// If the event is not valid after the preceding ones.
    pub fn enter<E: std::fmt::Debug>(&mut self, event: &Event<E>) {
        match event {
            Event::PoolReady => {
                assert!(
                    !self.ready && !self.closed,
                    "PoolReady twice, or after PoolClosed"
                );
                self.ready = true;
            }
            Event::PoolCleared { service_id: None, .. } => {
                assert!(
                    self.ready && !self.closed,
                    "PoolCleared twice, or after PoolClosed"
                );
                self.ready = false;
            }
            Event::PoolCleared { .. } => assert!(!self.closed, "PoolCleared after PoolClosed"),
            Event::PoolClosed => {
                assert!(!self.closed, "PoolClosed twice");
                // A connection whose establishment failed may be closed after the pool.
                assert_eq!(
                    self.established, self.in_use,
                    "PoolClosed before ConnectionClosed"
                );
                (self.closed, self.ready) = (true, false);
            }
            Event::ConnectionCreated { id } => {
                assert!(self.ready, "ConnectionCreated in a paused pool");
                assert_eq!(*id, self.last_id + 1, "connection ids are not consecutive");
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
            Event::CheckOutStarted => self.checking_out += 1,
            Event::CheckOutFailed { .. } => self.check_out_ended(event),
            Event::CheckedOut { id, .. } => {
                self.check_out_ended(event);
                assert!(self.ready, "CheckedOut in a paused pool");
                assert!(
                    self.established.contains(id) && self.in_use.insert(*id),
                    "{event:?}"
                );
            }
            Event::CheckedIn { id } => assert!(self.in_use.remove(id), "{event:?}"),
        }
    }

    fn check_out_ended<E: std::fmt::Debug>(&mut self, event: &Event<E>) {
        assert!(self.checking_out > 0, "no check-out was started: {event:?}");
        self.checking_out -= 1;
    }

    /// Compares the ledger with the counts of the pool, all of whose actions have been executed.
    /// `failing` is the number of requests whose failure has not been reported yet.
    ///
    /// # Panics
    /// If they differ.
    pub fn agrees_with(&self, counts: Counts, failing: usize) {
        assert_eq!(
            (self.alive.len(), self.checking_out),
            (counts.total, counts.waiting + failing)
        );
        let idle = self.established.difference(&self.in_use).count();
        assert_eq!(
            idle,
            counts.available + counts.draining,
            "number of connections not in use"
        );
    }

    /// Number of connections in use.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.in_use.len()
    }
}

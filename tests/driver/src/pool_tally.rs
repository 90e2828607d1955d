//! A pool listener that counts the events of a client's connections.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use marula_driver::{
    ServerAddress,
    event::{EventListener, PoolEvent},
    options::ClientOptions,
};
use tokio::sync::watch;

/// The numbers of pool events of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// `ConnectionCreatedEvent`.
    pub created: usize,
    /// `ConnectionReadyEvent`.
    pub ready: usize,
    /// `ConnectionClosedEvent`.
    pub closed: usize,
    /// `ConnectionCheckOutStartedEvent`.
    pub check_outs: usize,
    /// `ConnectionCheckOutFailedEvent`.
    pub check_outs_failed: usize,
    /// `ConnectionCheckedOutEvent`.
    pub checked_out: usize,
    /// `ConnectionCheckedInEvent`.
    pub checked_in: usize,
    /// `PoolClearedEvent`.
    pub cleared: usize,
    /// The highest number of pending connections of one pool at one time.
    pub max_pending: usize,
    /// The highest number of connections of one pool at one time.
    pub max_open: usize,
}

impl Counts {
    /// Whether every check-out has ended, and every connection has been checked in.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.check_outs == self.checked_out + self.check_outs_failed && self.checked_out == self.checked_in
    }
}

/// A pool listener that counts events. Tests can wait for counts.
#[derive(Clone, Debug)]
pub struct PoolTally(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    open: Mutex<Open>,
    counts: watch::Sender<Counts>,
}

/// The connections that exist.
#[derive(Debug, Default)]
struct Open {
    /// Sequences of events that must not occur. They are checked later, because the driver catches
    /// panics of listeners.
    problems: Vec<String>,
    pending: BTreeSet<(ServerAddress, u32)>,
    all: BTreeSet<(ServerAddress, u32)>,
}

impl Default for PoolTally {
    fn default() -> Self {
        Self(Arc::new(Shared {
            open: Mutex::default(),
            counts: watch::Sender::new(Counts::default()),
        }))
    }
}

impl PoolTally {
    /// Registers this listener in the options.
    pub fn listen(&self, options: &mut ClientOptions) {
        let own = self.clone();
        options.pool_listener = Some(EventListener::new(move |event: &PoolEvent| own.count(event)));
    }

    /// The current counts.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.0.counts.borrow().clone()
    }

    /// Waits until `fits` returns true for the counts.
    pub async fn wait_until(&self, mut fits: impl FnMut(&Counts) -> bool) {
        let mut counts = self.0.counts.subscribe();
        counts
            .wait_for(|counts| fits(counts))
            .await
            .expect("the sender is in the tally");
    }

    /// Checks that every check-out has ended, and that every connection has been checked in and
    /// closed exactly once.
    ///
    /// # Panics
    /// If that is not the case.
    pub fn assert_nothing_left(&self) {
        let counts = self.counts();
        assert!(
            counts.is_at_rest(),
            "a check-out has not ended, or a connection has not been checked in: {counts:?}"
        );
        assert_eq!(
            counts.created, counts.closed,
            "a connection has not been closed: {counts:?}"
        );
        let open = self.lock();
        assert!(open.problems.is_empty(), "{:?}", open.problems);
        assert!(open.all.is_empty() && open.pending.is_empty(), "{open:?}");
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, event: &PoolEvent) {
        let mut open = self.lock();
        let of_pool = |set: &BTreeSet<(ServerAddress, u32)>| {
            set.iter()
                .filter(|(address, _)| address == event.address())
                .count()
        };
        let key = |id: u32| (event.address().clone(), id);
        match event {
            PoolEvent::ConnectionCreated { connection_id, .. } => {
                let is_new = open.all.insert(key(*connection_id));
                if !is_new {
                    open.problems.push(format!("connection created twice: {event:?}"));
                }
                open.pending.insert(key(*connection_id));
            }
            PoolEvent::ConnectionReady { connection_id, .. } => {
                let was_pending = open.pending.remove(&key(*connection_id));
                if !was_pending {
                    open.problems
                        .push(format!("connection ready that was not pending: {event:?}"));
                }
            }
            PoolEvent::ConnectionClosed { connection_id, .. } => {
                open.pending.remove(&key(*connection_id));
                let was_open = open.all.remove(&key(*connection_id));
                if !was_open {
                    open.problems.push(format!("connection closed twice: {event:?}"));
                }
            }
            _ => {}
        }
        let (pending, all) = (of_pool(&open.pending), of_pool(&open.all));
        self.0.counts.send_modify(|counts| {
            counts.max_pending = counts.max_pending.max(pending);
            counts.max_open = counts.max_open.max(all);
            match event {
                PoolEvent::ConnectionCreated { .. } => counts.created += 1,
                PoolEvent::ConnectionReady { .. } => counts.ready += 1,
                PoolEvent::ConnectionClosed { .. } => counts.closed += 1,
                PoolEvent::ConnectionCheckOutStarted { .. } => counts.check_outs += 1,
                PoolEvent::ConnectionCheckOutFailed { .. } => counts.check_outs_failed += 1,
                PoolEvent::ConnectionCheckedOut { .. } => counts.checked_out += 1,
                PoolEvent::ConnectionCheckedIn { .. } => counts.checked_in += 1,
                PoolEvent::PoolCleared { .. } => counts.cleared += 1,
                _ => {}
            }
        });
    }
}

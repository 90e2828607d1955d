//! A listener that counts what happens to the connections of a client.

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

/// What the events of a client's pools add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Connections that count.
    pub created: usize,
    /// Connections that were established.
    pub ready: usize,
    /// Connections that count no more.
    pub closed: usize,
    /// Requests for a connection.
    pub check_outs: usize,
    /// Requests that got none.
    pub check_outs_failed: usize,
    /// Requests that got one.
    pub checked_out: usize,
    /// Connections given back.
    pub checked_in: usize,
    /// How often a pool was cleared.
    pub cleared: usize,
    /// The most connections of one pool that were being established at the same time.
    pub most_pending: usize,
    /// The most connections of one pool.
    pub most_open: usize,
}

impl Counts {
    /// Whether every request was answered, and every connection in use was given back.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.check_outs == self.checked_out + self.check_outs_failed && self.checked_out == self.checked_in
    }
}

/// Counts, and lets tests wait for counts.
#[derive(Clone, Debug)]
pub struct PoolTally(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    open: Mutex<Open>,
    counts: watch::Sender<Counts>,
}

/// The connections there are.
#[derive(Debug, Default)]
struct Open {
    /// What must not happen. The driver catches a panic of a listener, so this is looked at afterwards.
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
    /// Makes this the listener of clients with these options.
    pub fn listen(&self, options: &mut ClientOptions) {
        let own = self.clone();
        options.pool_listener = Some(EventListener::new(move |event: &PoolEvent| own.count(event)));
    }

    /// The current counts.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.0.counts.borrow().clone()
    }

    /// Waits until the counts are as they should be.
    ///
    /// # Panics
    /// Never: the sender outlives its borrow.
    pub async fn until(&self, mut fits: impl FnMut(&Counts) -> bool) {
        let mut counts = self.0.counts.subscribe();
        counts
            .wait_for(|counts| fits(counts))
            .await
            .expect("the sender is here");
    }

    /// Every request was answered, every connection in use was given back, and every connection was closed, once.
    ///
    /// # Panics
    /// When that is not so.
    pub fn assert_nothing_left(&self) {
        let counts = self.counts();
        assert!(
            counts.is_at_rest(),
            "a request was not answered, or a connection not given back: {counts:?}"
        );
        assert_eq!(
            counts.created, counts.closed,
            "a connection was not closed: {counts:?}"
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
                    open.problems.push(format!("created twice: {event:?}"));
                }
                open.pending.insert(key(*connection_id));
            }
            PoolEvent::ConnectionReady { connection_id, .. } => {
                let was_pending = open.pending.remove(&key(*connection_id));
                if !was_pending {
                    open.problems.push(format!("ready and not pending: {event:?}"));
                }
            }
            PoolEvent::ConnectionClosed { connection_id, .. } => {
                open.pending.remove(&key(*connection_id));
                let was_open = open.all.remove(&key(*connection_id));
                if !was_open {
                    open.problems.push(format!("closed twice: {event:?}"));
                }
            }
            _ => {}
        }
        let (pending, all) = (of_pool(&open.pending), of_pool(&open.all));
        self.0.counts.send_modify(|counts| {
            counts.most_pending = counts.most_pending.max(pending);
            counts.most_open = counts.most_open.max(all);
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

//! Background work of a pool: closing perished connections and keeping `minPoolSize`.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use super::Pool;
use crate::proto::cmap::PoolState;

/// Available connections are looked at this often, or as often as `maxIdleTimeMS` if that is less.
const LONGEST_INTERVAL: Duration = Duration::from_secs(10);
/// But not more often than this; a check-out looks at `maxIdleTimeMS` anyway.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(500);

/// Starts the task. It holds the pool weakly and ends with it.
pub(super) fn start(pool: &Arc<Pool>) {
    let interval = pool
        .settings
        .limits()
        .max_idle_time
        .unwrap_or(LONGEST_INTERVAL)
        .clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL);
    pool.runtime
        .spawn(run(Arc::downgrade(pool), Arc::clone(&pool.maintenance), interval));
}

async fn run(pool: Weak<Pool>, wake: Arc<Notify>, interval: Duration) {
    loop {
        // Woken or not, there is one round.
        let _ = tokio::time::timeout(interval, wake.notified()).await;
        let Some(pool) = pool.upgrade() else {
            return;
        };
        if !pool.maintain() {
            return;
        }
    }
}

impl Pool {
    /// One round. Returns whether there can be another.
    fn maintain(self: &Arc<Self>) -> bool {
        let mut state = self.lock();
        if state.machine.state() == PoolState::Closed {
            return false;
        }
        // Asking costs no system call unless the socket has news.
        state
            .machine
            .maintain(Instant::now(), |connection| connection.has_perished());
        self.perform(state);
        true
    }
}

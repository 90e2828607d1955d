//! Background work of a pool: closing perished connections and keeping `minPoolSize`.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use super::{Pool, check_out::has_perished};
use crate::proto::cmap::PoolState;

/// The minimum time between two checks of available connections for `maxIdleTimeMS`. A check-out
/// also checks its connection.
const SHORTEST_IDLE_CHECK: Duration = Duration::from_millis(500);

/// Starts the task. It holds the pool weakly and ends with it.
pub(super) fn start(pool: &Arc<Pool>) {
    let Some(interval) = pool.settings.maintenance_interval else {
        return;
    };
    let idle = pool.settings.limits().max_idle_time;
    let interval = idle.map_or(interval, |idle| interval.min(idle.max(SHORTEST_IDLE_CHECK)));
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
        let mut state = self.lock_for_change();
        if state.machine.state() == PoolState::Closed {
            return false;
        }
        // The check makes no system call unless the socket is readable.
        state.machine.maintain(Instant::now(), has_perished);
        self.perform(state);
        true
    }
}

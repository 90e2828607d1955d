//! The newest `$clusterTime` seen by a client. Replies that bring nothing newer cost a comparison and no allocation.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use crate::proto::session::ClusterTime;

#[derive(Debug, Default)]
pub(super) struct ClusterClock {
    newest: ArcSwapOption<ClusterTime>,
}

impl ClusterClock {
    pub(super) fn read(&self) -> arc_swap::Guard<Option<Arc<ClusterTime>>> {
        self.newest.load()
    }

    /// Takes the `$clusterTime` document of a reply if it is newer.
    pub(super) fn advance(&self, bytes: &[u8]) {
        let Some(seen) = ClusterTime::if_newer(bytes, self.newest.load().as_deref()) else {
            return;
        };
        let seen = Arc::new(seen);
        self.newest.rcu(|current| match current {
            Some(current) if !seen.is_newer_than(current) => Some(Arc::clone(current)),
            _ => Some(Arc::clone(&seen)),
        });
    }
}

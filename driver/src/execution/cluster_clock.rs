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
        let mut current = self.newest.load();
        let Some(seen) = ClusterTime::if_newer(bytes, current.as_deref()) else {
            return;
        };
        let seen = Arc::new(seen);
        loop {
            let found = self.newest.compare_and_swap(&*current, Some(Arc::clone(&seen)));
            let swapped = found.as_ref().map(Arc::as_ptr) == current.as_ref().map(Arc::as_ptr);
            if swapped || found.as_ref().is_some_and(|found| !seen.is_newer_than(found)) {
                return;
            }
            // Another reply was faster, and is older.
            current = found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::{Timestamp, rawdoc};

    #[test]
    fn the_newest_of_all_threads_times_stays() {
        let clock = ClusterClock::default();
        std::thread::scope(|scope| {
            for first in 0..4 {
                let clock = &clock;
                scope.spawn(move || {
                    for time in (first..4_000).step_by(4) {
                        let seen = Timestamp {
                            time: 1,
                            increment: time,
                        };
                        clock.advance(rawdoc! { "clusterTime": seen }.as_bytes());
                        let newest = clock.read();
                        let newest = newest.as_deref().expect("a time was taken");
                        let own = rawdoc! { "clusterTime": seen };
                        assert!(ClusterTime::if_newer(own.as_bytes(), Some(newest)).is_none());
                    }
                });
            }
        });
        let last = rawdoc! { "clusterTime": Timestamp { time: 1, increment: 3_999 } };
        assert_eq!(clock.read().as_deref().map(ClusterTime::document), Some(&*last));
    }
}

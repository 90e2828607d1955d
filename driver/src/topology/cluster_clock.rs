//! The newest `$clusterTime` that a client has received, also in late replies. A reply costs a comparison, and a short
//! lock if its time is newer. Neither allocates.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{
    proto::session::ClusterTime,
    types::lock::{Inner, InnerGuard},
};

#[derive(Debug, Default)]
pub(crate) struct ClusterClock {
    /// The time of `newest` as one number: replies without a newer time are recognized without the
    /// lock. Zero: no time.
    time: AtomicU64,
    newest: Inner<Option<ClusterTime>>,
}

impl ClusterClock {
    /// The newest time as one number, as [`ClusterTime::number`]. Zero: no time.
    pub(crate) fn time(&self) -> u64 {
        self.time.load(Ordering::Relaxed)
    }

    /// To be held for no longer than it takes to copy the document.
    pub(crate) fn newest(&self) -> InnerGuard<'_, Option<ClusterTime>> {
        self.newest.lock()
    }

    /// Takes the `$clusterTime` document of a reply if it is newer.
    pub(crate) fn advance(&self, bytes: &[u8]) {
        let Some(seen) = ClusterTime::number_of(bytes) else {
            return;
        };
        let known = self.time();
        if known != 0 && seen <= known {
            return;
        }
        let mut newest = self.newest();
        ClusterTime::advance(&mut newest, bytes);
        if let Some(newest) = &*newest {
            self.time.store(newest.number(), Ordering::Relaxed);
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
                        let newest = clock.newest();
                        let newest = newest.as_ref().expect("a time was taken");
                        let own = rawdoc! { "clusterTime": seen };
                        assert!(ClusterTime::if_newer(own.as_bytes(), Some(newest)).is_none());
                    }
                });
            }
        });
        let last = rawdoc! { "clusterTime": Timestamp { time: 1, increment: 3_999 } };
        assert_eq!(clock.newest().as_ref().map(ClusterTime::document), Some(&*last));
    }
}

//! `timeoutMS` of one operation ([Client Side Operations Timeout]).
//!
//! [Client Side Operations Timeout]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-operations-timeout/client-side-operations-timeout.md

use std::time::Duration;

use tokio::time::Instant;

use super::deadline::Deadline;

/// The time limit of one operation. As large as a [`Deadline`], and copied to whatever needs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timeout {
    /// `timeoutMS` is not set. The older options apply (`socketTimeoutMS`, `waitQueueTimeoutMS`,
    /// `wTimeoutMS`, `maxTimeMS`), retryable operations are retried once, and errors keep their
    /// kinds.
    #[default]
    Unset,
    /// `timeoutMS=0`. The older options are ignored, the number of retries is not limited, and only
    /// server selection and the establishment of connections have time limits.
    Infinite,
    /// The operation must have ended at this time.
    At(Instant),
}

const _: () = assert!(size_of::<Timeout>() == size_of::<Deadline>());

impl Timeout {
    /// The time limit of an operation that begins now. Zero means no limit, and so does a time too
    /// long for an `Instant`. Reads the clock only if there is a limit.
    pub fn start(option: Option<Duration>) -> Self {
        match option {
            None => Self::Unset,
            Some(Duration::ZERO) => Self::Infinite,
            Some(limit) => Instant::now().checked_add(limit).map_or(Self::Infinite, Self::At),
        }
    }

    /// Whether `timeoutMS` is set, so that the older options are ignored.
    #[inline]
    pub fn is_set(self) -> bool {
        self != Self::Unset
    }

    /// The deadline of one step. `older`: the option that limits the step if `timeoutMS` is not
    /// set.
    #[inline]
    pub fn deadline(self, older: Option<Duration>) -> Deadline {
        match self {
            Self::Unset => Deadline::after(older),
            Self::Infinite => Deadline::NEVER,
            Self::At(at) => Deadline::at(at),
        }
    }

    /// The deadline of server selection, and of the check-out that follows it if `timeoutMS` is set
    /// (`computedServerSelectionTimeout`).
    pub fn selection(self, server_selection_timeout: Duration) -> Deadline {
        Deadline::after(Some(server_selection_timeout)).min(self.deadline(None))
    }

    /// The time left: zero after the end, `None` without a limit.
    pub fn remaining(self) -> Option<Duration> {
        self.deadline(None).remaining()
    }

    /// Whether the time limit has expired.
    pub fn has_expired(self) -> bool {
        !self.allows(Duration::ZERO)
    }

    /// Whether a pause that begins now ends in time.
    pub fn allows(self, pause: Duration) -> bool {
        self.remaining().is_none_or(|left| pause < left)
    }

    /// The maximum number of retries before an overload error sets another (Client Backpressure).
    pub fn retries(self) -> u32 {
        if self.is_set() { u32::MAX } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_and_very_long_timeouts_are_no_limit() {
        assert_eq!(Timeout::start(None), Timeout::Unset);
        for unlimited in [Duration::ZERO, Duration::MAX] {
            let timeout = Timeout::start(Some(unlimited));
            assert_eq!(timeout, Timeout::Infinite);
            assert!(timeout.is_set() && timeout.allows(Duration::MAX) && !timeout.has_expired());
            assert_eq!(timeout.remaining(), None);
            assert_eq!(timeout.deadline(Some(Duration::from_secs(1))), Deadline::NEVER);
        }
    }

    #[test]
    fn a_time_limit_expires() {
        let soon = Timeout::start(Some(Duration::from_nanos(1)));
        while !soon.has_expired() {
            std::hint::spin_loop();
        }
        assert_eq!(soon.remaining(), Some(Duration::ZERO));
        assert!(!soon.allows(Duration::ZERO));
        let later = Timeout::start(Some(Duration::from_secs(60)));
        assert!(later.allows(Duration::from_secs(1)) && !later.allows(Duration::from_secs(60)));
    }

    #[test]
    fn the_older_option_applies_only_without_timeout_ms() {
        let older = Some(Duration::from_secs(1));
        assert!(Timeout::Unset.deadline(older).remaining() <= older);
        assert_eq!(Timeout::Unset.deadline(None), Deadline::NEVER);
        let now = Instant::now();
        assert_eq!(Timeout::At(now).deadline(older), Deadline::at(now));
    }

    #[test]
    fn retries_are_not_counted_with_timeout_ms() {
        assert_eq!(Timeout::Unset.retries(), 1);
        assert_eq!(Timeout::Infinite.retries(), u32::MAX);
    }
}

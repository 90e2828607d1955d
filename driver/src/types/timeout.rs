//! `timeoutMS` of one operation ([Client Side Operations Timeout]).
//!
//! [Client Side Operations Timeout]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-operations-timeout/client-side-operations-timeout.md

use std::{
    fmt,
    sync::LazyLock,
    time::{Duration, Instant as StdInstant},
};

use tokio::time::Instant;

use super::deadline::Deadline;

/// Which setting of `timeoutMS` limits an operation. The innermost applies ([Client Side Operations
/// Timeout], "timeoutMS").
///
/// [Client Side Operations Timeout]:
/// https://github.com/mongodb/specifications/blob/master/source/client-side-operations-timeout/client-side-operations-timeout.md
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimeoutSource {
    /// The option `timeout` of the operation.
    Operation,
    /// [`default_timeout`](crate::action::StartSession::default_timeout) of the session.
    Session,
    /// The option `timeout` of a transaction of the [convenient API](crate::Client::transaction).
    Transaction,
    /// [`Collection::with_timeout`](crate::Collection::with_timeout).
    Collection,
    /// [`Database::with_timeout`](crate::Database::with_timeout).
    Database,
    /// [`ClientOptions::timeout`](crate::options::ClientOptions::timeout), or `timeoutMS` of the
    /// connection string.
    Client,
    /// The option `timeout` of a call or a stream of GridFS, or else the timeout of its bucket. A bucket
    /// inherits that of its database.
    GridFs,
}

impl TimeoutSource {
    const ALL: [Self; 7] = [
        Self::Operation,
        Self::Session,
        Self::Transaction,
        Self::Collection,
        Self::Database,
        Self::Client,
        Self::GridFs,
    ];
}

impl fmt::Display for TimeoutSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Operation => "the timeout of the operation",
            Self::Session => "default_timeout of the session",
            Self::Transaction => "the timeout of the transaction",
            Self::Collection => "the timeout of the collection",
            Self::Database => "the timeout of the database",
            Self::Client => "timeoutMS of the client",
            Self::GridFs => "the timeout of the GridFS call or bucket",
        })
    }
}

/// `timeoutMS` of a session, a handle or a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimit {
    /// Zero means no limit.
    pub limit: Duration,
    /// Where it is set.
    pub source: TimeoutSource,
}

impl TimeLimit {
    /// The time limit of an option.
    pub fn of(limit: Duration, source: TimeoutSource) -> Self {
        Self { limit, source }
    }
}

/// The time limit of one operation, in 8 bytes: it is part of the future of every operation. The last
/// bits of the nanoseconds are the [source](TimeoutSource).
///
/// The default is [`UNSET`](Self::UNSET).
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Timeout(u64);

/// The bits of [`Timeout`] that are the source.
const SOURCE: u64 = 7;

const _: () = assert!(size_of::<Timeout>() <= size_of::<Deadline>());

/// The origin of the times in [`Timeout`]. A day before its first use: a clock that tokio has paused
/// is behind.
static ORIGIN: LazyLock<Instant> = LazyLock::new(|| {
    let now = StdInstant::now();
    Instant::from_std(now.checked_sub(Duration::from_secs(86_400)).unwrap_or(now))
});

impl Timeout {
    /// `timeoutMS` is not set. The older options apply (`socketTimeoutMS`, `waitQueueTimeoutMS`,
    /// `wTimeoutMS`, `maxTimeMS`), retryable operations are retried once, and errors keep their
    /// kinds.
    pub const UNSET: Self = Self(0);
    /// `timeoutMS=0`. The older options are ignored, the number of retries is not limited, and only
    /// server selection and the establishment of connections have time limits.
    pub const INFINITE: Self = Self(u64::MAX);

    /// The operation must have ended at this time. No limit if it is centuries away.
    pub fn at(at: Instant) -> Self {
        let nanos = at.saturating_duration_since(*ORIGIN).as_nanos();
        u64::try_from(nanos).map_or(Self::INFINITE, |nanos| Self(nanos.max(SOURCE + 1) & !SOURCE))
    }

    /// The time limit of an operation that begins now, by its own option or else an inherited one.
    pub fn start_with(own: Option<Duration>, inherited: Option<TimeLimit>) -> Self {
        match (own, inherited) {
            (None, Some(TimeLimit { limit, source })) => Self::start(Some(limit)).with_source(source),
            (own, _) => Self::start(own),
        }
    }

    /// The same time limit, with the setting that it comes from.
    #[must_use]
    pub fn with_source(self, source: TimeoutSource) -> Self {
        match self {
            Self::UNSET | Self::INFINITE => self,
            Self(nanos) => Self((nanos & !SOURCE) | source as u64),
        }
    }

    /// The setting that the time limit comes from. `None` without a limit.
    pub fn source(self) -> Option<TimeoutSource> {
        match self {
            Self::UNSET | Self::INFINITE => None,
            Self(nanos) => TimeoutSource::ALL
                .into_iter()
                .find(|source| *source as u64 == nanos & SOURCE),
        }
    }

    /// The time limit of an operation that begins now. Zero means no limit, and so does a time too
    /// long for an `Instant`. Reads the clock only if there is a limit.
    pub fn start(option: Option<Duration>) -> Self {
        match option {
            None => Self::UNSET,
            Some(Duration::ZERO) => Self::INFINITE,
            Some(limit) => Instant::now().checked_add(limit).map_or(Self::INFINITE, Self::at),
        }
    }

    /// Whether `timeoutMS` is set, so that the older options are ignored.
    #[inline]
    pub fn is_set(self) -> bool {
        self != Self::UNSET
    }

    /// The deadline of one step. `older`: the option that limits the step if `timeoutMS` is not
    /// set.
    #[inline]
    pub fn deadline(self, older: Option<Duration>) -> Deadline {
        match self {
            Self::UNSET => Deadline::after(older),
            Self::INFINITE => Deadline::NEVER,
            Self(nanos) => Deadline::at(*ORIGIN + Duration::from_nanos(nanos & !SOURCE)),
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

impl fmt::Debug for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::UNSET => f.write_str("Timeout(unset)"),
            Self::INFINITE => f.write_str("Timeout(no limit)"),
            limited => write!(f, "Timeout({:?} left)", limited.remaining().unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_and_very_long_timeouts_are_no_limit() {
        assert_eq!(Timeout::start(None), Timeout::UNSET);
        for unlimited in [Duration::ZERO, Duration::MAX] {
            let timeout = Timeout::start(Some(unlimited));
            assert_eq!(timeout, Timeout::INFINITE);
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
        assert!(Timeout::UNSET.deadline(older).remaining() <= older);
        assert_eq!(Timeout::UNSET.deadline(None), Deadline::NEVER);
        let later = Timeout::at(Instant::now() + Duration::from_secs(60));
        assert!(later.deadline(older).remaining() > older);
    }

    #[test]
    fn a_time_limit_knows_the_setting_that_it_comes_from() {
        let minute = Duration::from_secs(60);
        let own = Timeout::start(Some(minute));
        assert_eq!(own.source(), Some(TimeoutSource::Operation));
        for source in TimeoutSource::ALL {
            let limit = TimeLimit::of(minute, source);
            let inherited = Timeout::start_with(None, Some(limit));
            assert_eq!(inherited.source(), Some(source));
            assert!(inherited.remaining() > Some(minute / 2) && inherited.remaining() <= Some(minute));
            let replaced = Timeout::start_with(Some(minute), Some(limit));
            assert_eq!(replaced.source(), Some(TimeoutSource::Operation));
            for unlimited in [Timeout::UNSET, Timeout::INFINITE] {
                assert_eq!(unlimited.with_source(source), unlimited);
                assert_eq!(unlimited.source(), None);
            }
        }
    }

    #[test]
    fn retries_are_not_counted_with_timeout_ms() {
        assert_eq!(Timeout::UNSET.retries(), 1);
        assert_eq!(Timeout::INFINITE.retries(), u32::MAX);
    }
}

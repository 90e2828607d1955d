//! Read concern and write concern ([Read and Write Concern]).
//!
//! [Read and Write Concern]:
//! https://github.com/mongodb/specifications/blob/master/source/read-write-concern/read-write-concern.md

use std::{fmt, time::Duration};

/// The consistency and isolation of the data that a read returns ([Read Concern]). The default is
/// not sent, and the server's default applies: `local`, unless the cluster has another
/// (`setDefaultRWConcern`).
///
/// [Read Concern]: https://www.mongodb.com/docs/manual/reference/read-concern/
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadConcern {
    /// The level. `None` is not sent, and the server's default applies.
    pub level: Option<ReadConcernLevel>,
}

/// The level of a [`ReadConcern`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadConcernLevel {
    /// The most recent data of the server, which may be rolled back.
    Local,
    /// As `Local`, but on a sharded cluster may include orphaned documents.
    Available,
    /// Data acknowledged by a majority of the members. It is not rolled back.
    Majority,
    /// Majority-acknowledged data that reflects all writes acknowledged before the read began. Only
    /// with read preference `primary`, and for queries that match one document. Set `max_time` as
    /// well: the read waits while a majority is unavailable.
    Linearizable,
    /// Majority-acknowledged data as of one point in time (MongoDB 5.0+), for `find`, `aggregate`
    /// and `distinct`.
    Snapshot,
    /// A level without a variant of its own, sent as it is.
    Custom(String),
}

impl ReadConcernLevel {
    /// The level as it is sent to the server.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Local => "local",
            Self::Available => "available",
            Self::Majority => "majority",
            Self::Linearizable => "linearizable",
            Self::Snapshot => "snapshot",
            Self::Custom(name) => name,
        }
    }
}

impl From<&str> for ReadConcernLevel {
    fn from(name: &str) -> Self {
        match name {
            "local" => Self::Local,
            "available" => Self::Available,
            "majority" => Self::Majority,
            "linearizable" => Self::Linearizable,
            "snapshot" => Self::Snapshot,
            other => Self::Custom(other.to_owned()),
        }
    }
}

impl ReadConcern {
    /// A read concern with this level.
    #[must_use]
    pub fn new(level: ReadConcernLevel) -> Self {
        Self { level: Some(level) }
    }

    /// Read concern `local`.
    #[must_use]
    pub fn local() -> Self {
        Self::new(ReadConcernLevel::Local)
    }

    /// Read concern `majority`.
    #[must_use]
    pub fn majority() -> Self {
        Self::new(ReadConcernLevel::Majority)
    }
}

/// The acknowledgment of a write that the server waits for before it replies ([Write Concern]). The
/// default is not sent, and the server's default applies: usually `w: "majority"` since MongoDB 5.0
/// and `w: 1` before, unless the cluster has another (`setDefaultRWConcern`).
///
/// An invalid write concern is an [`InvalidArgument`](crate::ErrorKind::InvalidArgument) error when
/// the client is created or the action is awaited.
///
/// ```
/// use marula_driver::options::WriteConcern;
/// let concern = WriteConcern::majority();
/// assert!(concern.is_acknowledged());
/// ```
///
/// [Write Concern]: https://www.mongodb.com/docs/manual/reference/write-concern/
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteConcern {
    /// How many members must acknowledge the write. `None` is not sent, and the server's default
    /// applies.
    pub w: Option<Acknowledgment>,
    /// `j`: whether the members must have written the operation to their on-disk journals. `true`
    /// cannot be used with `w: 0`. Default: the server's.
    pub journal: Option<bool>,
    /// `wtimeout`: how long the server waits for the acknowledgment before it reports a write
    /// concern error, sent in whole milliseconds. The write is not undone. Deprecated by the
    /// specifications: not sent if a `timeout` (`timeoutMS`) applies to the operation. Default: no
    /// limit.
    pub w_timeout: Option<Duration>,
}

/// The `w` of a [`WriteConcern`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Acknowledgment {
    /// This number of members. With 0 the write is unacknowledged: the server does not reply, so
    /// that errors of the server are not reported and the counts in results are 0.
    Nodes(u32),
    /// A majority of the data-bearing voting members.
    Majority,
    /// A custom write concern that the configuration of the replica set defines.
    Custom(String),
}

/// Why a write concern is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InvalidWriteConcern {
    JournaledUnacknowledged,
    TimeoutTooLarge,
}

impl fmt::Display for InvalidWriteConcern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::JournaledUnacknowledged => {
                f.write_str("write concern w: 0 cannot be combined with journal: true")
            }
            Self::TimeoutTooLarge => f.write_str("wTimeoutMS must be at most 9223372036854775807"),
        }
    }
}

impl WriteConcern {
    /// `w: <nodes>`.
    #[must_use]
    pub fn nodes(nodes: u32) -> Self {
        Self {
            w: Some(Acknowledgment::Nodes(nodes)),
            ..Self::default()
        }
    }

    /// `w: "majority"`.
    #[must_use]
    pub fn majority() -> Self {
        Self {
            w: Some(Acknowledgment::Majority),
            ..Self::default()
        }
    }

    /// Whether the server acknowledges the write: `false` only for `w: 0` without `journal: true`.
    #[must_use]
    pub fn is_acknowledged(&self) -> bool {
        self.w != Some(Acknowledgment::Nodes(0)) || self.journal == Some(true)
    }

    pub(crate) fn is_server_default(&self) -> bool {
        *self == Self::default()
    }

    /// Rejects `w: 0` with `j: true`.
    pub(crate) fn validate(&self) -> Result<(), InvalidWriteConcern> {
        if self.w == Some(Acknowledgment::Nodes(0)) && self.journal == Some(true) {
            return Err(InvalidWriteConcern::JournaledUnacknowledged);
        }
        if self
            .w_timeout
            .is_some_and(|t| i64::try_from(t.as_millis()).is_err())
        {
            return Err(InvalidWriteConcern::TimeoutTooLarge);
        }
        Ok(())
    }
}

//! Read and write concern, as the Read and Write Concern specification defines them.

use std::{fmt, time::Duration};

/// How settled the data must be that a read returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadConcern {
    /// The level; `None` leaves it to the server's default.
    pub level: Option<ReadConcernLevel>,
}

/// The levels of a [`ReadConcern`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadConcernLevel {
    /// Whatever the member has, even if it may be rolled back.
    Local,
    /// As `Local`; on a shard also documents that are being moved away.
    Available,
    /// Only data that a majority of the members has acknowledged.
    Majority,
    /// Majority data that reflects all writes acknowledged before the read began.
    Linearizable,
    /// Majority data as of one point in time.
    Snapshot,
    /// A level that this version of the driver does not know.
    Custom(String),
}

impl ReadConcernLevel {
    /// The level as the server spells it.
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
    /// Read concern with this level.
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

/// What must have happened before a write is acknowledged.
///
/// ```
/// use marula_driver::options::WriteConcern;
/// let concern = WriteConcern::majority();
/// assert!(concern.is_acknowledged());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteConcern {
    /// How many members must have the write; `None` leaves it to the server's default.
    pub w: Option<Acknowledgment>,
    /// Whether the write must be in the journal.
    pub journal: Option<bool>,
    /// How long the server waits for the members before it reports a write concern error.
    pub w_timeout: Option<Duration>,
}

/// The `w` of a [`WriteConcern`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Acknowledgment {
    /// This many members; 0 asks for no acknowledgment at all.
    Nodes(u32),
    /// A majority of the members that hold data.
    Majority,
    /// A named write concern of the replica set's configuration.
    Custom(String),
}

/// Why a write concern cannot be used.
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
            Self::TimeoutTooLarge => f.write_str("wTimeoutMS is too large"),
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

    /// Whether the server answers at all: false only for `w: 0` without journal.
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

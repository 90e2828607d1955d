//! The options of a client session ([Driver Sessions], "SessionOptions").
//!
//! [Driver Sessions]:
//! https://github.com/mongodb/specifications/blob/master/source/sessions/driver-sessions.md

use std::fmt;

use crate::{bson::Timestamp, types::timeout::TimeLimit};

/// `SessionOptions`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionOptions {
    /// `causalConsistency`. Default: true, but false in a snapshot session.
    pub causal_consistency: Option<bool>,
    /// `snapshot`: all reads are at the same `atClusterTime`.
    pub snapshot: bool,
    /// `snapshotTime`: the `atClusterTime`. Default: that of the first read.
    pub snapshot_time: Option<Timestamp>,
    /// `defaultTimeoutMS`: the time limit of `commitTransaction`, `abortTransaction`,
    /// `withTransaction` and the end of the session. Default: that of the client.
    pub default_timeout: Option<TimeLimit>,
}

impl SessionOptions {
    /// Rejects options that contradict each other.
    pub fn validate(&self) -> Result<(), InvalidSessionOptions> {
        if self.snapshot && self.causal_consistency == Some(true) {
            return Err(InvalidSessionOptions::CausalSnapshot);
        }
        if self.snapshot_time.is_some() && !self.snapshot {
            return Err(InvalidSessionOptions::SnapshotTimeAlone);
        }
        Ok(())
    }

    pub(super) fn is_causal(&self) -> bool {
        self.causal_consistency.unwrap_or(!self.snapshot)
    }
}

/// Options of a session that contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidSessionOptions {
    /// `causalConsistency` with `snapshot`.
    CausalSnapshot,
    /// `snapshotTime` without `snapshot`.
    SnapshotTimeAlone,
}

impl fmt::Display for InvalidSessionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CausalSnapshot => {
                f.write_str("a session cannot be causally consistent and read from a snapshot")
            }
            Self::SnapshotTimeAlone => {
                f.write_str("snapshot_time needs a snapshot session; set snapshot(true) as well")
            }
        }
    }
}

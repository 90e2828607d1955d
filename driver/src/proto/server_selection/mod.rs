//! Server selection: which servers are suitable for an operation ([Server Selection], [Max
//! Staleness]).
//!
//! [Server Selection]:
//! https://github.com/mongodb/specifications/blob/master/source/server-selection/server-selection.md
//! [Max Staleness]:
//! https://github.com/mongodb/specifications/blob/master/source/max-staleness/max-staleness.md

mod round_trip;
mod staleness;
mod suitable;

pub use round_trip::RoundTripTime;
use staleness::validate_max_staleness;
pub use suitable::{choose, in_latency_window, requires_primary, suitable_servers};

use std::{fmt, time::Duration};

use crate::{
    ServerAddress,
    proto::description::{TopologyDescription, TopologyType},
    types::read_preference::{InvalidReadPreference, ReadPreference},
};

/// The servers on which an operation may run.
#[derive(Clone, Copy, Debug)]
pub enum Criteria<'a> {
    /// A writable server.
    Writable,
    /// A server that matches the read preference.
    Read(&'a ReadPreference),
    /// An aggregate with `$out` or `$merge` and a read preference. Secondaries accept it from
    /// server 5.0 on; if a member is older, the primary is used (CRUD specification, "Read
    /// Preferences and Server Selection").
    AggregateWithWrite(&'a ReadPreference),
    /// The server with this address, of any type: for getMore and killCursors.
    Address(&'a ServerAddress),
}

/// How long a selection waits until a server is suitable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// It does not wait.
    None,
    /// Until the required server fails once more, at most until the deadline: for a command that only
    /// frees resources of that server.
    UntilFailedCheck,
    /// Until the deadline.
    UntilDeadline,
}

impl Criteria<'_> {
    /// Whether only the primary of a replica set is suitable.
    pub fn needs_primary(&self) -> bool {
        match self {
            Self::Writable => true,
            Self::Read(preference) | Self::AggregateWithWrite(preference) => preference.is_primary(),
            Self::Address(_) => false,
        }
    }
}

/// Rejects criteria that no server can ever match. The minimum of `maxStalenessSeconds` applies to
/// replica sets only; other topology types ignore the option.
pub fn validate(
    topology: &TopologyDescription,
    criteria: Criteria<'_>,
    heartbeat_frequency: Duration,
) -> Result<(), InvalidCriteria> {
    let (Criteria::Read(preference) | Criteria::AggregateWithWrite(preference)) = criteria else {
        return Ok(());
    };
    preference.validate().map_err(InvalidCriteria::ReadPreference)?;
    match (topology.kind, preference.max_staleness) {
        (TopologyType::ReplicaSetNoPrimary | TopologyType::ReplicaSetWithPrimary, Some(bound)) => {
            validate_max_staleness(bound, heartbeat_frequency)
        }
        _ => Ok(()),
    }
}

/// Why no server can ever be suitable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidCriteria {
    /// The read preference contradicts itself.
    ReadPreference(InvalidReadPreference),
    /// `maxStalenessSeconds` is too small (Max Staleness, "Minimum maxStalenessSeconds value").
    MaxStaleness {
        /// `maxStalenessSeconds`.
        given: Duration,
        /// The least value.
        smallest: Duration,
    },
}

impl fmt::Display for InvalidCriteria {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadPreference(error) => error.fmt(f),
            Self::MaxStaleness { given, smallest } => write!(
                f,
                "maxStalenessSeconds must be at least {} (the larger of 90 s and heartbeatFrequencyMS + 10 s), found {}",
                smallest.as_secs(),
                given.as_secs()
            ),
        }
    }
}

impl fmt::Display for Criteria<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Writable => f.write_str("a write"),
            Self::Address(address) => write!(f, "an operation bound to {address}"),
            Self::Read(preference) | Self::AggregateWithWrite(preference) => {
                write!(f, "a read with preference {}", preference.mode.as_str())?;
                if !preference.tag_sets.is_empty() {
                    write!(f, ", tag sets {:?}", preference.tag_sets)?;
                }
                if let Some(bound) = preference.max_staleness {
                    write!(f, ", maxStalenessSeconds {}", bound.as_secs())?;
                }
                Ok(())
            }
        }
    }
}

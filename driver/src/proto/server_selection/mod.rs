//! Which servers may run an operation (Server Selection and Max Staleness specifications).

mod round_trip;
mod staleness;
mod suitable;

pub use round_trip::RoundTripTime;
use staleness::validate_max_staleness;
pub use suitable::{choose, in_latency_window, suitable_servers};

use std::{fmt, time::Duration};

use crate::{
    ServerAddress,
    proto::description::{TopologyDescription, TopologyType},
    types::read_preference::ReadPreference,
};

/// Where an operation may run.
#[derive(Clone, Copy, Debug)]
pub enum Criteria<'a> {
    /// A server that takes writes.
    Writable,
    /// A server that this preference allows.
    Read(&'a ReadPreference),
    /// A server that this preference allows, for a read that writes its results into a collection: a secondary can pass
    /// the writes on from server 5.0 on, so while an older one is there it must be the primary.
    AggregateWithWrite(&'a ReadPreference),
    /// This server, whatever it is.
    Address(&'a ServerAddress),
}

impl Criteria<'_> {
    /// Whether only the primary of a replica set will do.
    pub fn needs_primary(&self) -> bool {
        match self {
            Self::Writable => true,
            Self::Read(preference) | Self::AggregateWithWrite(preference) => preference.is_primary(),
            Self::Address(_) => false,
        }
    }
}

/// Refuses criteria that no server of the deployment can ever meet. How small a bound on staleness may be concerns
/// replica sets only; elsewhere the bound has no effect.
pub fn validate(
    topology: &TopologyDescription,
    criteria: Criteria<'_>,
    heartbeat_frequency: Duration,
) -> Result<(), String> {
    let (Criteria::Read(preference) | Criteria::AggregateWithWrite(preference)) = criteria else {
        return Ok(());
    };
    preference.validate()?;
    match (topology.kind, preference.max_staleness) {
        (TopologyType::ReplicaSetNoPrimary | TopologyType::ReplicaSetWithPrimary, Some(bound)) => {
            validate_max_staleness(bound, heartbeat_frequency)
        }
        _ => Ok(()),
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

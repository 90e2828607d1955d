//! Which servers may run an operation (Server Selection and Max Staleness specifications).

mod round_trip;
mod staleness;
mod suitable;

pub use round_trip::RoundTripTime;
pub use staleness::validate_max_staleness;
pub use suitable::{choose, in_latency_window, suitable_servers};

use std::fmt;

use crate::{ServerAddress, types::read_preference::ReadPreference};

/// Where an operation may run.
#[derive(Clone, Copy, Debug)]
pub enum Criteria<'a> {
    /// A server that takes writes.
    Writable,
    /// A server that this preference allows.
    Read(&'a ReadPreference),
    /// This server, whatever it is.
    Address(&'a ServerAddress),
}

impl Criteria<'_> {
    /// Whether only the primary of a replica set will do.
    pub fn needs_primary(&self) -> bool {
        match self {
            Self::Writable => true,
            Self::Read(preference) => preference.is_primary(),
            Self::Address(_) => false,
        }
    }
}

impl fmt::Display for Criteria<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Writable => f.write_str("a write"),
            Self::Address(address) => write!(f, "an operation bound to {address}"),
            Self::Read(preference) => {
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

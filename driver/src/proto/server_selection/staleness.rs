//! The staleness of a secondary ([Max Staleness]).
//!
//! [Max Staleness]:
//! https://github.com/mongodb/specifications/blob/master/source/max-staleness/max-staleness.md

use std::time::Duration;

use super::InvalidCriteria;
use crate::proto::description::{ServerDescription, ServerType, TopologyDescription};

/// `idleWritePeriodMS`: an idle primary writes a no-op this often.
const IDLE_WRITE_PERIOD: Duration = Duration::from_secs(10);
/// The least `maxStalenessSeconds`.
const SMALLEST: Duration = Duration::from_secs(90);

/// Rejects a `maxStalenessSeconds` below the minimum of the specification.
pub(super) fn validate_max_staleness(
    bound: Duration,
    heartbeat_frequency: Duration,
) -> Result<(), InvalidCriteria> {
    let smallest = SMALLEST.max(heartbeat_frequency + IDLE_WRITE_PERIOD);
    if bound >= smallest {
        return Ok(());
    }
    Err(InvalidCriteria::MaxStaleness {
        given: bound,
        smallest,
    })
}

/// Whether the estimated staleness of the member is at most `bound`. True for members other than
/// secondaries; false if the last write date is unknown.
pub(super) fn is_fresh(
    server: &ServerDescription,
    topology: &TopologyDescription,
    bound: Duration,
    heartbeat_frequency: Duration,
) -> bool {
    if server.kind != ServerType::RsSecondary {
        return true;
    }
    estimate(server, topology, heartbeat_frequency)
        .is_some_and(|millis| millis <= i128::try_from(bound.as_millis()).unwrap_or(i128::MAX))
}

/// The staleness by the formulas of the specification, in milliseconds ("Estimating staleness").
fn estimate(
    server: &ServerDescription,
    topology: &TopologyDescription,
    heartbeat_frequency: Duration,
) -> Option<i128> {
    let heartbeat = i128::try_from(heartbeat_frequency.as_millis()).ok()?;
    let written = i128::from(server.last_write_date()?.timestamp_millis());
    if let Some(primary) = topology.primary() {
        let ahead = i128::from(primary.last_write_date()?.timestamp_millis()) - written;
        return Some(ahead + millis_between(server, primary)? + heartbeat);
    }
    let newest = topology
        .servers
        .values()
        .filter(|other| other.kind == ServerType::RsSecondary)
        .filter_map(ServerDescription::last_write_date)
        .max()?;
    Some(i128::from(newest.timestamp_millis()) - written + heartbeat)
}

/// The difference of the times of the last updates.
fn millis_between(server: &ServerDescription, other: &ServerDescription) -> Option<i128> {
    let (a, b) = (server.last_update?, other.last_update?);
    let millis = |duration: Duration| i128::try_from(duration.as_millis()).ok();
    if a >= b {
        millis(a.duration_since(b))
    } else {
        millis(b.duration_since(a)).map(|later| -later)
    }
}

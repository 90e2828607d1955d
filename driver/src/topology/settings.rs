//! What discovery and selection need of the client's options.

use std::time::Duration;

use crate::{
    Error, Result, ServerAddress,
    connection::ConnectionSettings,
    options::ClientOptions,
    pool::PoolSettings,
    proto::{
        description::TopologyDescription,
        server_selection::{Criteria, validate_max_staleness},
    },
};

/// Checks of one server are at least this far apart (minHeartbeatFrequencyMS).
pub(super) const MIN_HEARTBEAT_FREQUENCY: Duration = Duration::from_millis(500);

/// The part of the options that this layer uses.
#[derive(Clone, Debug)]
pub(crate) struct TopologySettings {
    pub(super) seeds: Vec<ServerAddress>,
    pub(super) direct: bool,
    pub(super) replica_set: Option<String>,
    pub(super) server_selection_timeout: Duration,
    pub(super) local_threshold: Duration,
    pub(super) heartbeat_frequency: Duration,
    pub(super) connection: ConnectionSettings,
    pub(super) pool: PoolSettings,
}

impl TopologySettings {
    pub(crate) fn new(options: &ClientOptions, connection: ConnectionSettings) -> Self {
        Self {
            seeds: options.hosts.clone(),
            direct: options.direct_connection.unwrap_or(false),
            replica_set: options.replica_set.clone(),
            server_selection_timeout: options.server_selection_timeout,
            local_threshold: options.local_threshold,
            heartbeat_frequency: options.heartbeat_frequency.max(MIN_HEARTBEAT_FREQUENCY),
            connection,
            pool: PoolSettings::from(options),
        }
    }

    pub(super) fn initial_description(&self) -> TopologyDescription {
        TopologyDescription::initial(self.seeds.iter().cloned(), self.direct, self.replica_set.clone())
    }

    /// Refuses criteria that no server can ever meet.
    pub(super) fn validate(&self, criteria: Criteria<'_>) -> Result<()> {
        let Criteria::Read(preference) = criteria else {
            return Ok(());
        };
        preference.validate().map_err(Error::invalid_argument)?;
        match preference.max_staleness {
            Some(bound) => {
                validate_max_staleness(bound, self.heartbeat_frequency).map_err(Error::invalid_argument)
            }
            None => Ok(()),
        }
    }
}

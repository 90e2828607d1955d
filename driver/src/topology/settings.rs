//! The options of discovery, monitoring and server selection.

use std::time::Duration;

use super::SrvPollerSettings;
use crate::{
    Error, Result, ServerAddress,
    connection::ConnectionSettings,
    pool::PoolSettings,
    proto::{
        description::TopologyDescription,
        event::{EventListener, SdamEvent},
        monitoring::MonitorSettings,
        server_selection::{Criteria, validate},
    },
};

/// The part of the options that this layer uses.
#[derive(Clone, Debug)]
pub(crate) struct TopologySettings {
    /// The seed list.
    pub(crate) seeds: Vec<ServerAddress>,
    /// `directConnection=true`.
    pub(crate) direct: bool,
    pub(crate) replica_set: Option<String>,
    pub(crate) server_selection_timeout: Duration,
    pub(crate) local_threshold: Duration,
    pub(crate) heartbeat_frequency: Duration,
    /// Whether monitors use the streaming protocol (`serverMonitoringMode`).
    pub(crate) streaming: bool,
    pub(crate) connection: ConnectionSettings,
    pub(crate) pool: PoolSettings,
    /// The listener for discovery and monitoring events.
    pub(crate) listener: Option<EventListener<SdamEvent>>,
    /// SRV polling, if the seeds come from SRV records.
    pub(crate) srv: Option<SrvPollerSettings>,
}

impl TopologySettings {
    pub(super) fn initial_description(&self) -> TopologyDescription {
        if self.connection.load_balanced
            && let [address] = self.seeds.as_slice()
        {
            return TopologyDescription::load_balanced(address.clone());
        }
        TopologyDescription::initial(self.seeds.iter().cloned(), self.direct, self.replica_set.clone())
    }

    /// The options of the monitors.
    pub(super) fn monitor(&self) -> MonitorSettings {
        MonitorSettings {
            streaming: self.streaming,
            heartbeat_frequency: self.heartbeat_frequency,
            connect_timeout: self.connection.connect_timeout,
        }
    }

    /// Rejects criteria that no server can ever match.
    pub(super) fn validate(&self, topology: &TopologyDescription, criteria: Criteria<'_>) -> Result<()> {
        validate(topology, criteria, self.heartbeat_frequency).map_err(Error::invalid_argument)
    }
}

//! What discovery and selection need of the client's options.

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
    /// The servers to begin with.
    pub(crate) seeds: Vec<ServerAddress>,
    /// Use the one seed, whatever it is.
    pub(crate) direct: bool,
    pub(crate) replica_set: Option<String>,
    pub(crate) server_selection_timeout: Duration,
    pub(crate) local_threshold: Duration,
    pub(crate) heartbeat_frequency: Duration,
    /// Whether servers that can tell of changes by themselves are let do so.
    pub(crate) streaming: bool,
    pub(crate) connection: ConnectionSettings,
    pub(crate) pool: PoolSettings,
    /// Who is told what discovery learns.
    pub(crate) listener: Option<EventListener<SdamEvent>>,
    /// Where the seeds come from SRV records that may change.
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

    /// What monitors go by.
    pub(super) fn monitor(&self) -> MonitorSettings {
        MonitorSettings {
            streaming: self.streaming,
            heartbeat_frequency: self.heartbeat_frequency,
            connect_timeout: self.connection.connect_timeout,
        }
    }

    /// Refuses criteria that no server of the deployment can ever meet.
    pub(super) fn validate(&self, topology: &TopologyDescription, criteria: Criteria<'_>) -> Result<()> {
        validate(topology, criteria, self.heartbeat_frequency).map_err(Error::invalid_argument)
    }
}

//! Hosts that join and leave by name alone (Polling SRV Records for mongos Discovery specification).

use std::collections::BTreeSet;

use super::update::summarise;
use crate::{
    ServerAddress,
    proto::description::{ServerDescription, TopologyDescription},
};

/// Makes the deployment consist of these hosts. Those that stay keep their descriptions, new ones are unknown.
pub fn set_hosts(topology: &mut TopologyDescription, hosts: &BTreeSet<ServerAddress>) {
    topology.servers.retain(|address, _| hosts.contains(address));
    for address in hosts {
        topology
            .servers
            .entry(address.clone())
            .or_insert_with(|| ServerDescription::unknown(address.clone()));
    }
    summarise(topology);
}

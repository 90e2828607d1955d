//! Hosts that are added and removed by SRV polling ([Polling SRV Records for mongos Discovery]).
//!
//! [Polling SRV Records for mongos Discovery]:
//! https://github.com/mongodb/specifications/blob/master/source/polling-srv-records-for-mongos-discovery/polling-srv-records-for-mongos-discovery.md

use std::collections::BTreeSet;

use super::update::update_derived_fields;
use crate::{
    ServerAddress,
    proto::description::{ServerDescription, TopologyDescription},
};

/// Replaces the hosts of the deployment. Hosts that stay keep their descriptions, new ones are
/// Unknown.
pub fn set_hosts(topology: &mut TopologyDescription, hosts: &BTreeSet<ServerAddress>) {
    topology.servers.retain(|address, _| hosts.contains(address));
    for address in hosts {
        topology
            .servers
            .entry(address.clone())
            .or_insert_with(|| ServerDescription::unknown(address.clone()));
    }
    update_derived_fields(topology);
}

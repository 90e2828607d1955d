//! What tests ask of the descriptions of servers and deployments.

use marula_driver::{
    ServerAddress,
    event::{ServerDescription, TopologyDescription},
};

/// The format's name of a server's type.
pub(crate) fn server_type(server: &ServerDescription) -> String {
    server.server_type().to_string()
}

/// The format's name of a deployment's type.
pub(crate) fn topology_type(topology: &TopologyDescription) -> String {
    topology.topology_type().to_string()
}

/// The primary's address.
pub(crate) fn primary(topology: &TopologyDescription) -> Option<ServerAddress> {
    topology.primary().map(|server| server.address().clone())
}

/// The servers that hold data.
pub(crate) fn data_bearing(topology: &TopologyDescription) -> Vec<ServerAddress> {
    topology
        .servers()
        .filter(|server| server.server_type().is_data_bearing())
        .map(|server| server.address().clone())
        .collect()
}

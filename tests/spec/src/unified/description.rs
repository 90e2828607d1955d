//! Properties of server and topology descriptions that tests use.

use marula_driver::{
    ServerAddress,
    event::{ServerDescription, TopologyDescription},
};

/// The server type in the test format.
pub(crate) fn server_type(server: &ServerDescription) -> String {
    server.server_type().to_string()
}

/// The topology type in the test format.
pub(crate) fn topology_type(topology: &TopologyDescription) -> String {
    topology.topology_type().to_string()
}

pub(crate) fn primary(topology: &TopologyDescription) -> Option<ServerAddress> {
    topology.primary().map(|server| server.address().clone())
}

pub(crate) fn data_bearing(topology: &TopologyDescription) -> Vec<ServerAddress> {
    topology
        .servers()
        .filter(|server| server.server_type().is_data_bearing())
        .map(|server| server.address().clone())
        .collect()
}

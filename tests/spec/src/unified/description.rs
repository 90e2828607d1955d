//! What tests ask of the descriptions of servers and deployments.

use marula_driver::{
    ServerAddress,
    event::{ServerDescription, ServerType, TopologyDescription},
};

/// The format's name of a server's type.
pub(crate) fn server_type(server: &ServerDescription) -> &'static str {
    match server.kind {
        ServerType::Unknown => "Unknown",
        ServerType::Standalone => "Standalone",
        ServerType::Mongos => "Mongos",
        ServerType::PossiblePrimary => "PossiblePrimary",
        ServerType::RsPrimary => "RSPrimary",
        ServerType::RsSecondary => "RSSecondary",
        ServerType::RsArbiter => "RSArbiter",
        ServerType::RsOther => "RSOther",
        ServerType::RsGhost => "RSGhost",
    }
}

/// The format's name of a deployment's type.
pub(crate) fn topology_type(topology: &TopologyDescription) -> String {
    topology.kind.to_string()
}

/// The primary's address.
pub(crate) fn primary(topology: &TopologyDescription) -> Option<ServerAddress> {
    topology
        .servers
        .values()
        .find(|server| server_type(server) == "RSPrimary")
        .map(|server| server.address.clone())
}

/// The servers that hold data.
pub(crate) fn data_bearing(topology: &TopologyDescription) -> Vec<ServerAddress> {
    topology
        .servers
        .values()
        .filter(|server| {
            matches!(
                server_type(server),
                "Standalone" | "Mongos" | "RSPrimary" | "RSSecondary" | "LoadBalancer"
            )
        })
        .map(|server| server.address.clone())
        .collect()
}

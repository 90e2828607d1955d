//! Descriptions as tests state them, not as servers' replies make them.

use std::time::{Duration, Instant};

use crate::{
    ServerAddress,
    proto::description::{HelloReply, ServerDescription, ServerType, TopologyDescription, TopologyType},
};

/// A server of this type, whatever the reply says of its type.
pub fn server(
    address: ServerAddress,
    kind: ServerType,
    hello: HelloReply,
    round_trip_time: Option<Duration>,
    last_update: Option<Instant>,
) -> ServerDescription {
    let mut server = ServerDescription::from_hello(
        address,
        hello,
        Duration::ZERO,
        last_update.unwrap_or_else(Instant::now),
    );
    server.kind = kind;
    server.round_trip_time = round_trip_time;
    server.last_update = last_update;
    server
}

/// A deployment of this type, with these servers.
pub fn topology(
    kind: TopologyType,
    servers: impl IntoIterator<Item = ServerDescription>,
) -> TopologyDescription {
    let servers: Vec<_> = servers.into_iter().collect();
    let seeds: Vec<_> = servers.iter().map(|server| server.address.clone()).collect();
    let mut topology = TopologyDescription::initial(seeds, false, None);
    topology.kind = kind;
    for server in servers {
        topology.servers.insert(server.address.clone(), server);
    }
    topology
}

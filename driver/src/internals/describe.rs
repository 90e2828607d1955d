//! Server and topology descriptions built from the values of a test instead of from replies.

use std::time::{Duration, Instant};

use crate::{
    ServerAddress,
    proto::description::{HelloReply, ServerDescription, ServerType, TopologyDescription, TopologyType},
};

/// A server description with this type, which overrides the type in the reply.
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

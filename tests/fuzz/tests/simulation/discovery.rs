//! Server discovery with random replies, failures and elections: invariants of the topology
//! description.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use marula_driver::{
    NetworkPhase, ServerAddress,
    bson::ObjectId,
    internals::{
        description::{HelloReply, ServerDescription, ServerType, TopologyDescription, TopologyType},
        event::SdamEvent,
        network_error, sdam,
    },
};
use marula_fuzz_tests::simulation::{Random, for_each_seed};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

fn address(name: &str) -> ServerAddress {
    ServerAddress::tcp(name, 27017)
}

fn id(number: u64) -> ObjectId {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    ObjectId::from_bytes(bytes)
}

fn outcome(random: &mut Random, now: Instant) -> ServerDescription {
    let own = address(NAMES[random.index(NAMES.len())]);
    if random.percent(15) {
        let error = network_error(
            NetworkPhase::Connect,
            std::io::ErrorKind::ConnectionRefused.into(),
        );
        return ServerDescription::failed(own, &error, None, now);
    }
    let primary = random.percent(40);
    let mut hosts: Vec<String> = NAMES.iter().map(|name| format!("{name}:27017")).collect();
    hosts.retain(|_| random.percent(75));
    let mut hello = HelloReply {
        set_name: Some(if random.percent(95) { "rs" } else { "other" }.to_owned()),
        is_writable_primary: primary,
        secondary: !primary,
        hosts,
        max_wire_version: 25,
        ..HelloReply::default()
    };
    hello.set_version = random.percent(90).then(|| random.below(3) as i64);
    hello.election_id = (primary && random.percent(90)).then(|| id(random.below(5)));
    match random.below(30) {
        0 => hello.me = Some("z:27017".to_owned()),
        1 => hello.isreplicaset = true,
        2 => (hello.msg, hello.set_name) = (Some("isdbgrid".to_owned()), None),
        3 => hello.set_name = None,
        _ => {}
    }
    ServerDescription::from_hello(own, hello, Duration::from_millis(1), now)
}

fn is_legal(from: TopologyType, to: TopologyType) -> bool {
    use TopologyType as T;
    match from {
        T::Unknown => true,
        T::Single => to == T::Single,
        T::Sharded => to == T::Sharded,
        T::LoadBalanced => to == T::LoadBalanced,
        _ => matches!(to, T::ReplicaSetNoPrimary | T::ReplicaSetWithPrimary),
    }
}

fn check(before: &TopologyDescription, after: &TopologyDescription, outcome: &ServerDescription) {
    let primaries: Vec<_> = after
        .servers()
        .filter(|server| server.server_type() == ServerType::RsPrimary)
        .collect();
    assert!(primaries.len() <= 1, "two primaries");
    // In a single topology the server can have any type.
    if after.topology_type() != TopologyType::Single {
        let with_primary = after.topology_type() == TopologyType::ReplicaSetWithPrimary;
        assert_eq!(with_primary, !primaries.is_empty());
    }
    assert!(
        is_legal(before.topology_type(), after.topology_type()),
        "{} -> {}",
        before.topology_type(),
        after.topology_type()
    );
    let newest = |topology: &TopologyDescription| (topology.max_election_id(), topology.max_set_version());
    assert!(
        newest(after) >= newest(before),
        "(electionId, setVersion) decreased"
    );
    for server in after.servers() {
        let expected = match after.topology_type() {
            TopologyType::Sharded => {
                server.server_type() == ServerType::Mongos || server.set_name().is_none()
            }
            TopologyType::Unknown | TopologyType::Single => true,
            // An RSGhost can have the name of a replica set of which it is not a member yet.
            _ if server.server_type() == ServerType::RsGhost => true,
            _ => {
                server.server_type() != ServerType::Mongos
                    && server
                        .set_name()
                        .is_none_or(|name| Some(name) == after.set_name())
            }
        };
        assert!(expected, "{server} does not belong to {after}");
    }
    // Only a member can add servers. A removed server is added again if a member lists it.
    let known: BTreeSet<_> = before.servers().map(ServerDescription::address).collect();
    for server in after.servers().filter(|server| !known.contains(server.address())) {
        assert!(known.contains(outcome.address()) && outcome.hosts().contains(server.address()));
        assert!(matches!(
            server.server_type(),
            ServerType::Unknown | ServerType::PossiblePrimary
        ));
    }
    if !known.contains(outcome.address()) {
        assert_eq!(
            before, after,
            "a reply of an unknown server changed the description"
        );
    }
    if let Some(primary) = primaries.first()
        && after.topology_type() == TopologyType::ReplicaSetWithPrimary
        && primary.address() == outcome.address()
    {
        let members: BTreeSet<_> = primary.hosts().iter().collect();
        assert!(after.servers().all(|server| members.contains(server.address())));
    }
}

/// Checks that the events describe the change from one description to the other.
fn check_events(before: &Arc<TopologyDescription>, after: &Arc<TopologyDescription>, events: &[SdamEvent]) {
    let mut present: BTreeSet<_> = before.servers().map(|server| server.address().clone()).collect();
    for (index, event) in events.iter().enumerate() {
        match event {
            SdamEvent::ServerDescriptionChanged {
                address,
                previous,
                new,
                ..
            } => {
                assert!(present.contains(address));
                assert_ne!(previous, new);
                assert_eq!(before.server(address), Some(&**previous));
            }
            SdamEvent::ServerClosed { address, .. } => assert!(present.remove(address)),
            SdamEvent::ServerOpening { address, .. } => assert!(present.insert(address.clone())),
            SdamEvent::TopologyDescriptionChanged { .. } => {
                assert_eq!(
                    index + 1,
                    events.len(),
                    "TopologyDescriptionChanged must be the last event"
                );
            }
            other => panic!("unexpected {other:?}"),
        }
    }
    assert!(present.iter().eq(after.servers().map(ServerDescription::address)));
    assert_eq!(events.is_empty(), before == after);
}

#[test]
fn invariants_hold_for_random_replies() {
    for_each_seed(500, |seed| {
        let mut random = Random::new(seed);
        let name = random.percent(30).then(|| "rs".to_owned());
        let seeds = NAMES[..1 + random.index(3)].iter().map(|name| address(name));
        let mut topology = Arc::new(TopologyDescription::initial(seeds, false, name));
        for _ in 0..80 {
            let outcome = outcome(&mut random, Instant::now());
            let mut next = (*topology).clone();
            sdam::apply(&mut next, outcome.clone());
            let next = Arc::new(next);
            check(&topology, &next, &outcome);
            let events = sdam::events::change(id(0), &topology, &next, Some(&outcome));
            check_events(&topology, &next, &events);
            topology = next;
        }
    });
}

//! The table of the specification, by scenarios and by random sequences.

use super::*;
use crate::{bson::ObjectId, proto::description::HelloReply};
use proptest::prelude::*;
use std::time::Instant;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn address(name: &str) -> ServerAddress {
    ServerAddress::tcp(name, 27017)
}

fn election(number: u8) -> ObjectId {
    ObjectId::from_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number])
}

fn member(primary: bool, hosts: &[&str]) -> HelloReply {
    HelloReply {
        set_name: Some("rs".into()),
        is_writable_primary: primary,
        secondary: !primary,
        hosts: hosts.iter().map(|host| format!("{host}:27017")).collect(),
        max_wire_version: 25,
        logical_session_timeout_minutes: Some(30),
        ..HelloReply::default()
    }
}

fn primary(number: u8, hosts: &[&str]) -> HelloReply {
    HelloReply {
        election_id: Some(election(number)),
        set_version: Some(1),
        ..member(true, hosts)
    }
}

fn check(topology: &mut TopologyDescription, name: &str, hello: HelloReply) -> Vec<ServerAddress> {
    let server =
        ServerDescription::from_hello(address(name), hello, Duration::from_millis(1), Instant::now());
    apply(topology, server)
}

fn seeds(names: &[&str]) -> TopologyDescription {
    TopologyDescription::initial(names.iter().map(|name| address(name)), false, None)
}

fn known(topology: &TopologyDescription) -> Vec<String> {
    topology
        .servers
        .keys()
        .map(|address| address.host().into_owned())
        .collect()
}

#[test]
fn one_standalone_seed_is_a_single_server() {
    let standalone = || HelloReply {
        max_wire_version: 25,
        ..HelloReply::default()
    };
    let mut topology = seeds(&["a"]);
    check(&mut topology, "a", standalone());
    assert_eq!(topology.kind, TopologyType::Single);
    let mut topology = seeds(&["a", "b"]);
    check(&mut topology, "a", standalone());
    assert_eq!(
        (topology.kind, known(&topology)),
        (TopologyType::Unknown, vec!["b".to_owned()])
    );
}

#[test]
fn a_secondary_leads_to_the_primary_and_the_primary_rules_the_list() {
    let mut topology = seeds(&["a", "x"]);
    check(&mut topology, "a", member(false, &["a", "b"]));
    assert_eq!(topology.kind, TopologyType::ReplicaSetNoPrimary);
    assert_eq!(known(&topology), ["a", "b", "x"]);
    check(&mut topology, "b", primary(1, &["a", "b", "c"]));
    assert_eq!(topology.kind, TopologyType::ReplicaSetWithPrimary);
    assert_eq!(known(&topology), ["a", "b", "c"]);
    assert_eq!(topology.session_timeout, Some(Duration::from_secs(1800)));
}

#[test]
fn a_new_primary_retires_the_old_one_and_has_it_checked() {
    let mut topology = seeds(&["a", "b"]);
    check(&mut topology, "a", primary(1, &["a", "b"]));
    let check_now = check(&mut topology, "b", primary(2, &["a", "b"]));
    assert_eq!(check_now, [address("a")]);
    assert_eq!(topology.primary().unwrap().address, address("b"));
    // The old primary still reports that it is primary.
    check(&mut topology, "a", primary(1, &["a", "b"]));
    assert_eq!(topology.primary().unwrap().address, address("b"));
    let stale = topology.servers[&address("a")].error.clone().unwrap();
    assert!(
        stale.starts_with("primary marked stale due to electionId/setVersion mismatch"),
        "{stale}"
    );
}

#[test]
fn before_6_0_the_set_version_comes_first() {
    let old = |version, number| HelloReply {
        set_version: Some(version),
        max_wire_version: 16,
        ..primary(number, &["a", "b"])
    };
    let mut topology = seeds(&["a", "b"]);
    check(&mut topology, "a", old(2, 1));
    check(&mut topology, "b", old(1, 9));
    assert_eq!(topology.primary().unwrap().address, address("a"));
}

#[test]
fn members_of_other_sets_and_aliases_are_removed() {
    let mut topology = TopologyDescription::initial(["a", "b"].map(address), false, Some("rs".into()));
    check(
        &mut topology,
        "a",
        HelloReply {
            set_name: Some("other".into()),
            ..member(false, &["a"])
        },
    );
    assert_eq!(known(&topology), ["b"]);
    check(
        &mut topology,
        "b",
        HelloReply {
            me: Some("c:27017".into()),
            ..member(false, &["c"])
        },
    );
    assert_eq!(known(&topology), ["c"]);
}

#[test]
fn news_of_a_past_state_or_of_a_stranger_is_ignored() {
    let version = |counter| {
        Some(crate::proto::description::TopologyVersion {
            process_id: election(0),
            counter,
        })
    };
    let mut topology = seeds(&["a"]);
    check(
        &mut topology,
        "a",
        HelloReply {
            topology_version: version(5),
            ..primary(1, &["a"])
        },
    );
    check(
        &mut topology,
        "a",
        HelloReply {
            topology_version: version(4),
            ..member(false, &["a"])
        },
    );
    assert!(topology.primary().is_some());
    check(&mut topology, "z", primary(9, &["z"]));
    assert_eq!(known(&topology), ["a"]);
}

#[test]
fn servers_out_of_reach_of_the_driver_are_named() {
    let mut topology = seeds(&["a"]);
    check(
        &mut topology,
        "a",
        HelloReply {
            max_wire_version: 7,
            ..HelloReply::default()
        },
    );
    assert!(
        topology
            .compatibility_error
            .as_ref()
            .unwrap()
            .contains("requires at least 8 (MongoDB 4.2)")
    );
    let mut topology = seeds(&["a"]);
    check(
        &mut topology,
        "a",
        HelloReply {
            min_wire_version: 900,
            max_wire_version: 901,
            ..HelloReply::default()
        },
    );
    assert!(topology.compatibility_error.is_some());
}

#[test]
fn a_direct_connection_to_another_set_is_refused() {
    let mut topology = TopologyDescription::initial([address("a")], true, Some("mine".into()));
    check(&mut topology, "a", primary(1, &["a", "b"]));
    assert_eq!(topology.servers[&address("a")].kind, ServerType::Unknown);
    assert_eq!(known(&topology), ["a"]);
}

fn any_hello() -> impl Strategy<Value = Option<HelloReply>> {
    let hosts = prop::sample::subsequence(NAMES.to_vec(), 1..=NAMES.len());
    let member = (
        any::<bool>(),
        0..4_u8,
        0..3_i64,
        hosts,
        prop::sample::select(vec![16, 17, 25]),
    )
        .prop_map(|(is_primary, number, version, hosts, wire)| HelloReply {
            election_id: is_primary.then(|| election(number)),
            set_version: Some(version),
            max_wire_version: wire,
            ..member(is_primary, &hosts)
        });
    prop_oneof![
        1 => Just(None),
        6 => member.prop_map(Some),
        1 => Just(Some(HelloReply { max_wire_version: 25, ..HelloReply::default() })),
        1 => Just(Some(HelloReply { msg: Some("isdbgrid".into()), max_wire_version: 25, ..HelloReply::default() })),
        1 => Just(Some(HelloReply { isreplicaset: true, max_wire_version: 25, ..HelloReply::default() })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any hello replies in any order: at most one primary, no member outside the primary's
    /// list, and (electionId, setVersion) does not decrease among servers from 6.0 on.
    #[test]
    fn the_invariants_hold(outcomes in prop::collection::vec((0..NAMES.len(), any_hello()), 1..60)) {
        let mut topology = seeds(&["a", "b"]);
        for (server, hello) in outcomes {
            let before = (topology.max_election_id, topology.max_set_version);
            let modern = hello.as_ref().is_some_and(|hello| hello.max_wire_version >= 17);
            let name = NAMES[server];
            match hello {
                Some(hello) => { check(&mut topology, name, hello); }
                None => {
                    let error = crate::Error::protocol("lost");
                    apply(&mut topology, ServerDescription::failed(address(name), &error, None, Instant::now()));
                }
            }
            let primaries: Vec<_> =
                topology.servers.values().filter(|server| server.kind == ServerType::RsPrimary).collect();
            prop_assert!(primaries.len() <= 1);
            if modern {
                prop_assert!((topology.max_election_id, topology.max_set_version) >= before);
            }
            let with_primary = topology.kind == TopologyType::ReplicaSetWithPrimary;
            prop_assert_eq!(with_primary, primaries.len() == 1 && topology.kind != TopologyType::Single);
            if let Some(primary) = primaries.first() {
                prop_assert!(primary.members().any(|member| *member == primary.address));
            }
        }
    }
}

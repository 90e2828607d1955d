//! The table of the specification: topology type by server type.

use std::{collections::BTreeSet, time::Duration};

use super::compare_topology_versions;
use crate::{
    ServerAddress,
    proto::{
        description::{ServerDescription, ServerType, TopologyDescription, TopologyType},
        handshake::{MAX_WIRE_VERSION, MIN_WIRE_VERSION},
    },
};

/// Takes the outcome of a check into the description. Returns the servers to check at once.
///
/// Outcomes about servers that are not (or no longer) part of the deployment, and outcomes older than what is known, change
/// nothing.
pub(crate) fn apply(topology: &mut TopologyDescription, server: ServerDescription) -> Vec<ServerAddress> {
    let Some(known) = topology.servers.get(&server.address) else {
        return Vec::new();
    };
    if compare_topology_versions(known.topology_version, server.topology_version)
        .is_some_and(std::cmp::Ordering::is_gt)
    {
        return Vec::new();
    }
    let mut update = Update {
        topology,
        check_now: Vec::new(),
    };
    update.run(server);
    let check_now = update.check_now;
    summarise(topology);
    check_now
}

struct Update<'a> {
    topology: &'a mut TopologyDescription,
    check_now: Vec<ServerAddress>,
}

impl Update<'_> {
    fn run(&mut self, mut server: ServerDescription) {
        if self.topology.kind == TopologyType::Single {
            if !server.kind.is_unknown() && self.has_wrong_set_name(&server) {
                server = renounced(&server, self.topology.set_name.as_deref());
            }
            self.replace(server);
            return;
        }
        self.replace(server.clone());
        match (self.topology.kind, server.kind) {
            (_, ServerType::PossiblePrimary) | (TopologyType::Single, _) => {}
            (TopologyType::Unknown, kind) => self.from_unknown(kind, &server),
            (TopologyType::Sharded, ServerType::Unknown | ServerType::Mongos) => {}
            (TopologyType::Sharded, _) => self.remove(&server.address),
            (_, ServerType::Unknown | ServerType::RsGhost) => self.check_if_has_primary(),
            (_, ServerType::Standalone | ServerType::Mongos) => {
                self.remove(&server.address);
                self.check_if_has_primary();
            }
            (_, ServerType::RsPrimary) => self.from_primary(&server),
            (TopologyType::ReplicaSetNoPrimary, _) => self.without_primary(&server),
            (TopologyType::ReplicaSetWithPrimary, _) => self.with_primary_from_member(&server),
        }
    }

    fn from_unknown(&mut self, kind: ServerType, server: &ServerDescription) {
        match kind {
            ServerType::Unknown | ServerType::PossiblePrimary | ServerType::RsGhost => {}
            ServerType::Standalone if self.topology.seeds == 1 => self.topology.kind = TopologyType::Single,
            ServerType::Standalone => self.remove(&server.address),
            ServerType::Mongos => self.topology.kind = TopologyType::Sharded,
            ServerType::RsPrimary => self.from_primary(server),
            ServerType::RsSecondary | ServerType::RsArbiter | ServerType::RsOther => {
                self.topology.kind = TopologyType::ReplicaSetNoPrimary;
                self.without_primary(server);
            }
        }
    }

    /// updateRSWithoutPrimary
    fn without_primary(&mut self, server: &ServerDescription) {
        if self.topology.set_name.is_none() {
            self.topology.set_name = server.set_name().map(str::to_owned);
        } else if self.has_wrong_set_name(server) {
            self.remove(&server.address);
            return;
        }
        self.add_members(server);
        self.note_possible_primary(server);
        if self.is_known_by_another_name(server) {
            self.remove(&server.address);
        }
    }

    /// updateRSWithPrimaryFromMember
    fn with_primary_from_member(&mut self, server: &ServerDescription) {
        if self.has_wrong_set_name(server) || self.is_known_by_another_name(server) {
            self.remove(&server.address);
            self.check_if_has_primary();
            return;
        }
        if self.topology.primary().is_none() {
            self.topology.kind = TopologyType::ReplicaSetNoPrimary;
            self.note_possible_primary(server);
        }
    }

    /// updateRSFromPrimary
    fn from_primary(&mut self, server: &ServerDescription) {
        if self.topology.set_name.is_none() {
            self.topology.set_name = server.set_name().map(str::to_owned);
        } else if self.has_wrong_set_name(server) {
            self.remove(&server.address);
            self.check_if_has_primary();
            return;
        }
        if let Err(why) = self.accept_election(server) {
            self.replace(stale(server, why));
            self.check_if_has_primary();
            return;
        }
        self.retire_other_primaries(&server.address);
        self.add_members(server);
        let members: BTreeSet<&ServerAddress> = server.members.iter().collect();
        self.topology
            .servers
            .retain(|address, _| members.contains(address));
        self.check_if_has_primary();
    }

    /// Takes over the primary's election id and set version, unless they are older than what was seen.
    fn accept_election(&mut self, server: &ServerDescription) -> Result<(), String> {
        let topology = &mut *self.topology;
        let (election, version) = (server.election_id(), server.set_version());
        let refuse = |topology: &TopologyDescription| {
            Err(format!(
                "primary marked stale due to electionId/setVersion mismatch, ({election:?}, {version:?}) is stale compared \
                 to ({:?}, {:?})",
                topology.max_election_id, topology.max_set_version
            ))
        };
        if *server.wire_versions().end() >= 17 {
            // `None` is less than every value, as the specification wants.
            if (election, version) < (topology.max_election_id, topology.max_set_version) {
                return refuse(topology);
            }
            topology.max_election_id = election;
            topology.max_set_version = version;
            return Ok(());
        }
        // Before 6.0 the set version came first.
        if let (Some(election), Some(version)) = (election, version) {
            let newest = topology.max_set_version.zip(topology.max_election_id);
            if newest.is_some_and(|newest| newest > (version, election)) {
                return refuse(topology);
            }
            topology.max_election_id = Some(election);
        }
        topology.max_set_version = topology.max_set_version.max(version);
        Ok(())
    }

    fn retire_other_primaries(&mut self, address: &ServerAddress) {
        for other in self.topology.servers.values_mut() {
            if other.address != *address && other.kind == ServerType::RsPrimary {
                let why = "primary marked stale due to discovery of newer primary";
                *other = stale(other, why.to_owned());
                self.check_now.push(other.address.clone());
            }
        }
    }

    fn add_members(&mut self, server: &ServerDescription) {
        for address in &server.members {
            self.topology
                .servers
                .entry(address.clone())
                .or_insert_with(|| ServerDescription::unknown(address.clone()));
        }
    }

    fn note_possible_primary(&mut self, server: &ServerDescription) {
        let primary = server
            .primary
            .as_ref()
            .and_then(|address| self.topology.servers.get_mut(address));
        if let Some(primary) = primary.filter(|primary| primary.kind == ServerType::Unknown) {
            primary.kind = ServerType::PossiblePrimary;
        }
    }

    fn check_if_has_primary(&mut self) {
        self.topology.kind = match self.topology.primary() {
            Some(_) => TopologyType::ReplicaSetWithPrimary,
            None => TopologyType::ReplicaSetNoPrimary,
        };
    }

    fn has_wrong_set_name(&self, server: &ServerDescription) -> bool {
        self.topology.set_name.is_some() && self.topology.set_name.as_deref() != server.set_name()
    }

    fn is_known_by_another_name(&self, server: &ServerDescription) -> bool {
        server.me.as_ref().is_some_and(|me| *me != server.address)
    }

    fn replace(&mut self, server: ServerDescription) {
        self.topology.servers.insert(server.address.clone(), server);
    }

    fn remove(&mut self, address: &ServerAddress) {
        self.topology.servers.remove(address);
    }
}

/// A primary that is none any more. Its state is unknown until it is checked again.
fn stale(server: &ServerDescription, why: String) -> ServerDescription {
    let mut unknown = ServerDescription::unknown(server.address.clone());
    unknown.error = Some(why);
    unknown.last_update = server.last_update;
    unknown
}

/// A direct connection to a server of another replica set than the one asked for.
fn renounced(server: &ServerDescription, wanted: Option<&str>) -> ServerDescription {
    let found = server.set_name().map_or("no replica set".to_owned(), |name| {
        format!("replica set \"{name}\"")
    });
    let wanted = wanted.unwrap_or_default();
    stale(
        server,
        format!("the server belongs to {found}, but replicaSet={wanted} was asked for"),
    )
}

/// What follows from all servers together.
fn summarise(topology: &mut TopologyDescription) {
    topology.compatibility_error = topology.servers.values().find_map(incompatibility);
    let timeouts: Option<Vec<Duration>> = topology
        .servers
        .values()
        .filter(|server| server.kind.is_data_bearing())
        .map(ServerDescription::session_timeout)
        .collect();
    topology.session_timeout = timeouts.and_then(|timeouts| timeouts.into_iter().min());
}

fn incompatibility(server: &ServerDescription) -> Option<String> {
    if server.kind.is_unknown() {
        return None;
    }
    let versions = server.wire_versions();
    if *versions.start() > MAX_WIRE_VERSION {
        return Some(format!(
            "Server at {} requires wire version {}, but this version of marula-driver only supports up to \
             {MAX_WIRE_VERSION}.",
            server.address,
            versions.start()
        ));
    }
    (*versions.end() < MIN_WIRE_VERSION).then(|| {
        format!(
            "Server at {} reports wire version {}, but this version of marula-driver requires at least \
             {MIN_WIRE_VERSION} (MongoDB 4.2).",
            server.address,
            versions.end()
        )
    })
}

#[cfg(test)]
mod tests {
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
        // The old one still believes it is the primary.
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

        /// Whatever servers say, in whatever order: at most one primary, no member outside the primary's list, and no
        /// step back in (electionId, setVersion) among servers from 6.0 on.
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
                    prop_assert!(primary.members.contains(&primary.address));
                }
            }
        }
    }
}

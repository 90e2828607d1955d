//! Suitable servers, the latency window, and the choice within it.

use std::time::Duration;

use super::{Criteria, staleness::is_fresh};
use crate::{
    ServerAddress,
    proto::description::{ServerDescription, ServerType, TopologyDescription, TopologyType},
    types::read_preference::{ReadPreference, ReadPreferenceMode, TagSet},
};

/// `maxWireVersion` of server 5.0.
const FIRST_WRITING_SECONDARIES: i32 = 13;

/// The suitable servers. Those in `avoid` (deprioritized) are left out while others are suitable.
/// Only their addresses count, not their present state.
pub fn suitable_servers<'t>(
    topology: &'t TopologyDescription,
    criteria: Criteria<'_>,
    avoid: &[ServerAddress],
    heartbeat_frequency: Duration,
) -> Vec<&'t ServerDescription> {
    let find = |avoid: &[ServerAddress]| {
        let candidates: Vec<&ServerDescription> = topology
            .servers
            .values()
            .filter(|server| !avoid.contains(&server.address))
            .collect();
        filter(topology, candidates, criteria, heartbeat_frequency)
    };
    let found = find(avoid);
    if found.is_empty() && !avoid.is_empty() {
        find(&[])
    } else {
        found
    }
}

fn filter<'t>(
    topology: &TopologyDescription,
    mut candidates: Vec<&'t ServerDescription>,
    criteria: Criteria<'_>,
    heartbeat_frequency: Duration,
) -> Vec<&'t ServerDescription> {
    let criteria = match criteria {
        Criteria::AggregateWithWrite(_) if requires_primary(topology, criteria) => Criteria::Writable,
        Criteria::AggregateWithWrite(preference) => Criteria::Read(preference),
        other => other,
    };
    match (topology.kind, criteria) {
        (TopologyType::Unknown, _) => candidates.clear(),
        (TopologyType::LoadBalanced, _) => {
            candidates.retain(|server| server.kind == ServerType::LoadBalancer);
        }
        // Topology type Single: the one server, of any type.
        (TopologyType::Single, _) => candidates.retain(|server| !server.kind.is_unknown()),
        (_, Criteria::Address(address)) => {
            candidates.retain(|server| server.address == *address && server.kind.is_data_bearing());
        }
        (TopologyType::Sharded, _) => candidates.retain(|server| server.kind == ServerType::Mongos),
        (_, Criteria::Writable) => candidates.retain(|server| server.kind == ServerType::RsPrimary),
        (_, Criteria::Read(preference) | Criteria::AggregateWithWrite(preference)) => {
            return by_preference(topology, &candidates, preference, heartbeat_frequency);
        }
    }
    candidates
}

/// Whether a primary read preference is used instead of that of an aggregate with `$out` or `$merge`: a server is older
/// than 5.0, whose secondaries reject these stages. The servers behind a load balancer are not older.
pub fn requires_primary(topology: &TopologyDescription, criteria: Criteria<'_>) -> bool {
    let is_old = |server: &ServerDescription| {
        server.kind.is_data_bearing() && server.max_wire_version() < Some(FIRST_WRITING_SECONDARIES)
    };
    matches!(criteria, Criteria::AggregateWithWrite(_))
        && topology.kind != TopologyType::LoadBalanced
        && topology.servers.values().any(is_old)
}

fn by_preference<'t>(
    topology: &TopologyDescription,
    candidates: &[&'t ServerDescription],
    preference: &ReadPreference,
    heartbeat_frequency: Duration,
) -> Vec<&'t ServerDescription> {
    let of_kind = |kinds: &[ServerType]| -> Vec<&'t ServerDescription> {
        candidates
            .iter()
            .copied()
            .filter(|server| kinds.contains(&server.kind))
            .collect()
    };
    let eligible = |kinds: &[ServerType]| {
        let mut servers = of_kind(kinds);
        if let Some(bound) = preference.max_staleness {
            servers.retain(|server| is_fresh(server, topology, bound, heartbeat_frequency));
        }
        with_tags(servers, &preference.tag_sets)
    };
    let primary = || of_kind(&[ServerType::RsPrimary]);
    let or_else = |first: Vec<&'t ServerDescription>, second: &dyn Fn() -> Vec<&'t ServerDescription>| {
        if first.is_empty() { second() } else { first }
    };
    match preference.mode {
        ReadPreferenceMode::Primary => primary(),
        ReadPreferenceMode::Secondary => eligible(&[ServerType::RsSecondary]),
        ReadPreferenceMode::PrimaryPreferred => or_else(primary(), &|| eligible(&[ServerType::RsSecondary])),
        ReadPreferenceMode::SecondaryPreferred => or_else(eligible(&[ServerType::RsSecondary]), &primary),
        ReadPreferenceMode::Nearest => eligible(&[ServerType::RsPrimary, ServerType::RsSecondary]),
    }
}

/// The servers that match the first tag set that any server matches.
fn with_tags<'t>(servers: Vec<&'t ServerDescription>, tag_sets: &[TagSet]) -> Vec<&'t ServerDescription> {
    if tag_sets.is_empty() {
        return servers;
    }
    let matches = |server: &ServerDescription, set: &TagSet| {
        set.iter()
            .all(|(name, value)| server.tags().get(name) == Some(value))
    };
    tag_sets
        .iter()
        .map(|set| {
            servers
                .iter()
                .copied()
                .filter(|server| matches(server, set))
                .collect::<Vec<_>>()
        })
        .find(|matching| !matching.is_empty())
        .unwrap_or_default()
}

impl TopologyDescription {
    /// Whether a server is suitable for a read with this preference now. `heartbeat_frequency` is
    /// that of the client, for `maxStalenessSeconds`.
    pub fn has_readable_server(&self, preference: &ReadPreference, heartbeat_frequency: Duration) -> bool {
        !suitable_servers(self, Criteria::Read(preference), &[], heartbeat_frequency).is_empty()
    }
}

/// Keeps the servers in the latency window: an average round trip time of at most `threshold`
/// (`localThresholdMS`) above the shortest.
pub fn in_latency_window(servers: &mut Vec<&ServerDescription>, threshold: Duration) {
    let Some(shortest) = servers.iter().filter_map(|server| server.round_trip_time).min() else {
        return;
    };
    let longest = shortest.saturating_add(threshold);
    servers.retain(|server| server.round_trip_time.is_none_or(|time| time <= longest));
}

/// The index of the server with fewer operations in progress, of two servers picked at random
/// ("operationCount-based selection within the latency window").
pub fn choose(count: usize, random: u64, running: impl Fn(usize) -> usize) -> Option<usize> {
    match count {
        0 => None,
        1 => Some(0),
        _ => {
            let count = count as u64;
            let first = random % count;
            // Any other, with equal probability.
            let second = (first + 1 + (random / count) % (count - 1)) % count;
            let (first, second) = (first as usize, second as usize);
            Some(if running(second) < running(first) {
                second
            } else {
                first
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::description::HelloReply;
    use std::{collections::BTreeMap, time::Instant};

    const BEAT: Duration = Duration::from_secs(10);

    fn member(name: &str, primary: bool, tag: &str, rtt: u64) -> ServerDescription {
        let hello = HelloReply {
            set_name: Some("rs".into()),
            is_writable_primary: primary,
            secondary: !primary,
            tags: BTreeMap::from([("dc".to_owned(), tag.to_owned())]),
            max_wire_version: 25,
            ..HelloReply::default()
        };
        ServerDescription::from_hello(
            ServerAddress::tcp(name, 1),
            hello,
            Duration::from_millis(rtt),
            Instant::now(),
        )
    }

    fn set(servers: Vec<ServerDescription>) -> TopologyDescription {
        let mut topology = TopologyDescription::initial([], false, Some("rs".into()));
        topology.kind = TopologyType::ReplicaSetWithPrimary;
        topology.servers = servers.into_iter().map(|s| (s.address.clone(), s)).collect();
        topology
    }

    fn names(servers: &[&ServerDescription]) -> Vec<String> {
        servers.iter().map(|s| s.address.host().into_owned()).collect()
    }

    fn read(
        topology: &TopologyDescription,
        preference: &ReadPreference,
        avoid: &[ServerAddress],
    ) -> Vec<String> {
        names(&suitable_servers(
            topology,
            Criteria::Read(preference),
            avoid,
            BEAT,
        ))
    }

    #[test]
    fn modes_pick_their_members() {
        use ReadPreferenceMode as Mode;
        let topology = set(vec![member("p", true, "x", 1), member("s", false, "y", 1)]);
        let by_mode = |mode| read(&topology, &ReadPreference::new(mode), &[]);
        assert_eq!(by_mode(Mode::Primary), ["p"]);
        assert_eq!(by_mode(Mode::PrimaryPreferred), ["p"]);
        assert_eq!(by_mode(Mode::Secondary), ["s"]);
        assert_eq!(by_mode(Mode::SecondaryPreferred), ["s"]);
        assert_eq!(by_mode(Mode::Nearest), ["p", "s"]);
        assert_eq!(
            names(&suitable_servers(&topology, Criteria::Writable, &[], BEAT)),
            ["p"]
        );
    }

    #[test]
    fn a_cursor_over_a_direct_connection_goes_on_whatever_the_server_is() {
        let mut topology = set(vec![member("h", false, "x", 1)]);
        topology.kind = TopologyType::Single;
        for server in topology.servers.values_mut() {
            server.kind = ServerType::RsOther;
        }
        let address = ServerAddress::tcp("h", 1);
        let found = suitable_servers(&topology, Criteria::Address(&address), &[], BEAT);
        assert_eq!(names(&found), ["h"], "as for the query that opened it");
    }

    #[test]
    fn a_read_that_writes_goes_to_a_secondary_of_new_servers_only() {
        let preference = ReadPreference::new(ReadPreferenceMode::Secondary);
        let mut topology = set(vec![member("p", true, "x", 1), member("s", false, "y", 1)]);
        let found = |topology: &TopologyDescription| {
            let criteria = Criteria::AggregateWithWrite(&preference);
            names(&suitable_servers(topology, criteria, &[], BEAT))
        };
        assert_eq!(found(&topology), ["s"]);
        let old = HelloReply {
            set_name: Some("rs".into()),
            secondary: true,
            max_wire_version: 9,
            ..HelloReply::default()
        };
        let address = ServerAddress::tcp("old", 1);
        let old = ServerDescription::from_hello(address.clone(), old, Duration::ZERO, Instant::now());
        topology.servers.insert(address, old);
        assert_eq!(found(&topology), ["p"]);
    }

    #[test]
    fn tag_sets_are_tried_in_order() {
        let topology = set(vec![member("a", false, "x", 1), member("b", false, "y", 1)]);
        let tags = |values: &[&str]| {
            let sets = values
                .iter()
                .map(|v| TagSet::from([("dc".to_owned(), (*v).to_owned())]))
                .collect();
            ReadPreference::new(ReadPreferenceMode::Secondary).with_tag_sets(sets)
        };
        assert_eq!(read(&topology, &tags(&["z", "y"]), &[]), ["b"]);
        assert!(read(&topology, &tags(&["z"]), &[]).is_empty());
    }

    #[test]
    fn servers_to_avoid_are_used_when_there_is_no_other() {
        let topology = set(vec![member("p", true, "x", 1), member("s", false, "y", 1)]);
        let avoid = [ServerAddress::tcp("s", 1)];
        let preference = ReadPreference::new(ReadPreferenceMode::SecondaryPreferred);
        assert_eq!(read(&topology, &preference, &avoid), ["p"]);
        let primary = [ServerAddress::tcp("p", 1)];
        assert_eq!(
            names(&suitable_servers(&topology, Criteria::Writable, &primary, BEAT)),
            ["p"]
        );
    }

    #[test]
    fn the_load_balancer_serves_everything() {
        let address = ServerAddress::tcp("lb", 1);
        let mut topology = TopologyDescription::load_balanced(address.clone());
        let nearest = ReadPreference::new(ReadPreferenceMode::Nearest);
        assert!(!topology.has_readable_server(&nearest, BEAT) && !topology.has_writable_server());
        let server = ServerDescription::load_balancer(address.clone());
        topology.servers.insert(address.clone(), server);
        for criteria in [
            Criteria::Writable,
            Criteria::Read(&nearest),
            Criteria::Address(&address),
        ] {
            assert_eq!(names(&suitable_servers(&topology, criteria, &[], BEAT)), ["lb"]);
        }
        assert!(topology.has_readable_server(&nearest, BEAT) && topology.has_writable_server());
    }

    #[test]
    fn a_preference_falls_back_to_what_is_left_before_it_takes_what_failed() {
        let topology = set(vec![member("p", true, "x", 1), member("s", false, "y", 1)]);
        let primary = [ServerAddress::tcp("p", 1)];
        let preferred = ReadPreference::new(ReadPreferenceMode::PrimaryPreferred);
        assert_eq!(read(&topology, &preferred, &primary), ["s"]);
        let both = [ServerAddress::tcp("p", 1), ServerAddress::tcp("s", 1)];
        assert_eq!(read(&topology, &preferred, &both), ["p"]);
    }

    #[test]
    fn the_latency_window_starts_at_the_nearest() {
        let (near, middle, far) = (
            member("a", false, "", 5),
            member("b", false, "", 20),
            member("c", false, "", 21),
        );
        let mut servers = vec![&near, &middle, &far];
        in_latency_window(&mut servers, Duration::from_millis(15));
        assert_eq!(names(&servers), ["a", "b"]);
    }

    #[test]
    fn the_less_busy_of_two_is_chosen() {
        assert_eq!(choose(0, 7, |_| 0), None);
        assert_eq!(choose(1, 7, |_| 0), Some(0));
        for random in 0..50 {
            let chosen = choose(3, random, |index| index).unwrap();
            assert_ne!(chosen, 2, "the busiest is never chosen");
        }
    }
}

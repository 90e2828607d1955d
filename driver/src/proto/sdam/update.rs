//! The table of the specification: topology type by server type.

use std::{collections::BTreeSet, fmt, time::Duration};

use super::compare_topology_versions;
use crate::{
    ServerAddress,
    bson::ObjectId,
    proto::{
        description::{ServerDescription, ServerType, TopologyDescription, TopologyType},
        handshake::{MAX_WIRE_VERSION, MIN_WIRE_VERSION},
    },
};

/// Takes the outcome of a check into the description. Returns the servers to check at once.
///
/// Outcomes about servers that are not (or no longer) part of the deployment, and outcomes older than what is known, change
/// nothing.
pub fn apply(topology: &mut TopologyDescription, server: ServerDescription) -> Vec<ServerAddress> {
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
        if self.topology.kind == TopologyType::LoadBalanced {
            // Whatever happens behind it, the load balancer stays what it is.
            if server.kind == ServerType::LoadBalancer {
                self.replace(server);
            }
            return;
        }
        self.replace(server.clone());
        match (self.topology.kind, server.kind) {
            (_, ServerType::PossiblePrimary | ServerType::LoadBalancer)
            | (TopologyType::Single | TopologyType::LoadBalanced, _) => {}
            (TopologyType::Unknown, kind) => self.take_first_news(kind, &server),
            (TopologyType::Sharded, ServerType::Unknown | ServerType::Mongos) => {}
            (TopologyType::Sharded, _) => self.remove(&server.address),
            (_, ServerType::Unknown | ServerType::RsGhost) => self.check_if_has_primary(),
            (_, ServerType::Standalone | ServerType::Mongos) => {
                self.remove(&server.address);
                self.check_if_has_primary();
            }
            (_, ServerType::RsPrimary) => self.take_primary(&server),
            (TopologyType::ReplicaSetNoPrimary, _) => self.take_member_without_primary(&server),
            (TopologyType::ReplicaSetWithPrimary, _) => self.take_member_with_primary(&server),
        }
    }

    fn take_first_news(&mut self, kind: ServerType, server: &ServerDescription) {
        match kind {
            ServerType::Unknown
            | ServerType::PossiblePrimary
            | ServerType::RsGhost
            | ServerType::LoadBalancer => {}
            ServerType::Standalone if self.topology.seeds == 1 => self.topology.kind = TopologyType::Single,
            ServerType::Standalone => self.remove(&server.address),
            ServerType::Mongos => self.topology.kind = TopologyType::Sharded,
            ServerType::RsPrimary => self.take_primary(server),
            ServerType::RsSecondary | ServerType::RsArbiter | ServerType::RsOther => {
                self.topology.kind = TopologyType::ReplicaSetNoPrimary;
                self.take_member_without_primary(server);
            }
        }
    }

    /// updateRSWithoutPrimary
    fn take_member_without_primary(&mut self, server: &ServerDescription) {
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
    fn take_member_with_primary(&mut self, server: &ServerDescription) {
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
    fn take_primary(&mut self, server: &ServerDescription) {
        if self.topology.set_name.is_none() {
            self.topology.set_name = server.set_name().map(str::to_owned);
        } else if self.has_wrong_set_name(server) {
            self.remove(&server.address);
            self.check_if_has_primary();
            return;
        }
        if let Err(why) = self.accept_election(server) {
            self.replace(stale(server, why.to_string()));
            self.check_if_has_primary();
            return;
        }
        self.retire_other_primaries(&server.address);
        self.add_members(server);
        let members: BTreeSet<&ServerAddress> = server.members().collect();
        self.topology
            .servers
            .retain(|address, _| members.contains(address));
        self.check_if_has_primary();
    }

    /// Takes over the primary's election id and set version, unless they are older than what was seen.
    fn accept_election(&mut self, server: &ServerDescription) -> Result<(), StalePrimary> {
        let topology = &mut *self.topology;
        let (election, version) = (server.election_id(), server.set_version());
        let refuse = |topology: &TopologyDescription| {
            Err(StalePrimary {
                found: (election, version),
                newest: (topology.max_election_id, topology.max_set_version),
            })
        };
        if server.max_wire_version() >= Some(17) {
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
        for address in server.members() {
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

/// The `(electionId, setVersion)` of a primary is older than the newest one seen.
#[derive(Debug)]
struct StalePrimary {
    found: (Option<ObjectId>, Option<i64>),
    newest: (Option<ObjectId>, Option<i64>),
}

impl fmt::Display for StalePrimary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "primary marked stale due to electionId/setVersion mismatch, {:?} is stale compared to {:?}",
            self.found, self.newest
        )
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
pub(super) fn summarise(topology: &mut TopologyDescription) {
    topology.compatibility_error = topology.servers.values().find_map(incompatibility);
    let timeouts: Option<Vec<Duration>> = topology
        .servers
        .values()
        .filter(|server| server.kind.is_data_bearing())
        .map(ServerDescription::logical_session_timeout)
        .collect();
    topology.session_timeout = timeouts.and_then(|timeouts| timeouts.into_iter().min());
}

fn incompatibility(server: &ServerDescription) -> Option<String> {
    let (oldest, newest) = (server.min_wire_version()?, server.max_wire_version()?);
    if oldest > MAX_WIRE_VERSION {
        return Some(format!(
            "Server at {} requires wire version {oldest}, but this version of marula-driver only supports up to \
             {MAX_WIRE_VERSION}.",
            server.address,
        ));
    }
    (newest < MIN_WIRE_VERSION).then(|| {
        format!(
            "Server at {} reports wire version {newest}, but this version of marula-driver requires at least \
             {MIN_WIRE_VERSION} (MongoDB 4.2).",
            server.address,
        )
    })
}

#[cfg(test)]
mod tests;

//! How the result of a check changes the topology description: the table by topology type and
//! server type ([SDAM, "TopologyType table"]).
//!
//! [SDAM, "TopologyType table"]:
//! https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-discovery-and-monitoring.md#topologytype-table

use std::{collections::BTreeSet, fmt, time::Duration};

use super::compare_topology_versions;
use crate::{
    ServerAddress,
    bson::ObjectId,
    proto::{
        description::{MAX_MEMBERS, ServerDescription, ServerType, TopologyDescription, TopologyType},
        handshake::{MAX_WIRE_VERSION, MIN_WIRE_VERSION},
    },
};

/// Updates the topology with the result of a check. Returns the servers to be checked immediately.
///
/// Results for servers that are not part of the deployment are ignored, as are those with an older
/// `topologyVersion` than the known one ("updateTopologyDescription").
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
    update_derived_fields(topology);
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
                server = outside_set(&server, self.topology.set_name.as_deref());
            }
            self.replace(server);
            return;
        }
        if self.topology.kind == TopologyType::LoadBalanced {
            // The type of a load balancer does not change (Load Balancer specification, "Topology
            // Type").
            if server.kind == ServerType::LoadBalancer {
                self.replace(server);
            }
            return;
        }
        self.replace(server.clone());
        // The rows of the "TopologyType table": (topology type, server type).
        match (self.topology.kind, server.kind) {
            // Set by the client only, never by a check.
            (_, ServerType::PossiblePrimary | ServerType::LoadBalancer) => {}
            // Handled above.
            (TopologyType::Single | TopologyType::LoadBalanced, _) => {}
            // Unknown, any
            (TopologyType::Unknown, kind) => self.update_unknown(kind, &server),
            // Sharded, Unknown or Mongos: no-op
            (TopologyType::Sharded, ServerType::Unknown | ServerType::Mongos) => {}
            // Sharded, Standalone or RS*: remove the server
            (TopologyType::Sharded, _) => self.remove(&server.address),
            // ReplicaSetNoPrimary, Unknown or RSGhost: no-op, as checkIfHasPrimary is without a
            // primary.
            // ReplicaSetWithPrimary, Unknown or RSGhost: checkIfHasPrimary
            (_, ServerType::Unknown | ServerType::RsGhost) => self.check_if_has_primary(),
            // ReplicaSetNoPrimary, Standalone or Mongos: remove the server.
            // ReplicaSetWithPrimary, Standalone or Mongos: remove the server, checkIfHasPrimary
            (_, ServerType::Standalone | ServerType::Mongos) => {
                self.remove(&server.address);
                self.check_if_has_primary();
            }
            // ReplicaSet*, RSPrimary: updateRSFromPrimary
            (_, ServerType::RsPrimary) => self.update_rs_from_primary(&server),
            // ReplicaSetNoPrimary, RSSecondary, RSArbiter or RSOther: updateRSWithoutPrimary
            (TopologyType::ReplicaSetNoPrimary, _) => self.update_rs_without_primary(&server),
            // ReplicaSetWithPrimary, RSSecondary, RSArbiter or RSOther:
            // updateRSWithPrimaryFromMember
            (TopologyType::ReplicaSetWithPrimary, _) => self.update_rs_with_primary_from_member(&server),
        }
    }

    /// The rows with topology type Unknown.
    fn update_unknown(&mut self, kind: ServerType, server: &ServerDescription) {
        match kind {
            // Unknown, Unknown or RSGhost: keep
            ServerType::Unknown | ServerType::RsGhost => {}
            // Set by the client only, never by a check.
            ServerType::PossiblePrimary | ServerType::LoadBalancer => {}
            // Unknown, Standalone: updateUnknownWithStandalone
            ServerType::Standalone if self.topology.seeds == 1 => self.topology.kind = TopologyType::Single,
            ServerType::Standalone => self.remove(&server.address),
            // Unknown, Mongos: set topology type to Sharded
            ServerType::Mongos => self.topology.kind = TopologyType::Sharded,
            // Unknown, RSPrimary: updateRSFromPrimary, which sets the topology type
            ServerType::RsPrimary => self.update_rs_from_primary(server),
            // Unknown, RSSecondary, RSArbiter or RSOther: set topology type to ReplicaSetNoPrimary,
            // then updateRSWithoutPrimary
            ServerType::RsSecondary | ServerType::RsArbiter | ServerType::RsOther => {
                self.topology.kind = TopologyType::ReplicaSetNoPrimary;
                self.update_rs_without_primary(server);
            }
        }
    }

    /// updateRSWithoutPrimary
    fn update_rs_without_primary(&mut self, server: &ServerDescription) {
        if self.has_wrong_set_name(server) {
            self.remove_of_other_set(server);
            return;
        }
        if let Some(why) = self.exceeds_max_members(server) {
            self.replace(stale(server, why));
            return;
        }
        if self.topology.set_name.is_none() {
            self.topology.set_name = server.set_name().map(str::to_owned);
        }
        self.add_members(server);
        self.mark_possible_primary(server);
        if self.has_other_address_in_config(server) {
            self.remove(&server.address);
        }
    }

    /// updateRSWithPrimaryFromMember
    fn update_rs_with_primary_from_member(&mut self, server: &ServerDescription) {
        let is_of_other_set = self.has_wrong_set_name(server);
        if is_of_other_set || self.has_other_address_in_config(server) {
            if is_of_other_set {
                self.remove_of_other_set(server);
            } else {
                self.remove(&server.address);
            }
            self.check_if_has_primary();
            return;
        }
        if self.topology.primary().is_none() {
            self.topology.kind = TopologyType::ReplicaSetNoPrimary;
            self.mark_possible_primary(server);
        }
    }

    /// updateRSFromPrimary
    fn update_rs_from_primary(&mut self, server: &ServerDescription) {
        if self.topology.set_name.is_none() {
            self.topology.set_name = server.set_name().map(str::to_owned);
        } else if self.has_wrong_set_name(server) {
            self.remove_of_other_set(server);
            self.check_if_has_primary();
            return;
        }
        if let Err(why) = self.accept_election(server) {
            self.replace(stale(server, why.to_string()));
            self.check_if_has_primary();
            return;
        }
        self.mark_other_primaries_stale(&server.address);
        let members: BTreeSet<&ServerAddress> = server.members().collect();
        self.topology
            .servers
            .retain(|address, _| members.contains(address));
        self.add_members(server);
        self.check_if_has_primary();
    }

    /// Updates `maxElectionId` and `maxSetVersion`. Fails if the primary's `electionId` and
    /// `setVersion` are older ("updateRSFromPrimary").
    fn accept_election(&mut self, server: &ServerDescription) -> Result<(), StalePrimary> {
        let topology = &mut *self.topology;
        let (election, version) = (server.election_id(), server.set_version());
        let rejected = |topology: &TopologyDescription| {
            Err(StalePrimary {
                found: (election, version),
                newest: (topology.max_election_id, topology.max_set_version),
            })
        };
        if server.max_wire_version() >= Some(17) {
            // MongoDB 6.0+: compare `(electionId, setVersion)`. `None` is less than every value.
            if (election, version) < (topology.max_election_id, topology.max_set_version) {
                return rejected(topology);
            }
            topology.max_election_id = election;
            topology.max_set_version = version;
            return Ok(());
        }
        // Before MongoDB 6.0: compare `(setVersion, electionId)` if both are present.
        if let (Some(election), Some(version)) = (election, version) {
            let newest = topology.max_set_version.zip(topology.max_election_id);
            if newest.is_some_and(|newest| newest > (version, election)) {
                return rejected(topology);
            }
            topology.max_election_id = Some(election);
        }
        topology.max_set_version = topology.max_set_version.max(version);
        Ok(())
    }

    /// Marks every other primary Unknown, and requests an immediate check of it.
    fn mark_other_primaries_stale(&mut self, address: &ServerAddress) {
        for other in self.topology.servers.values_mut() {
            if other.address != *address && other.kind == ServerType::RsPrimary {
                let why = "primary marked stale due to discovery of newer primary";
                *other = stale(other, why.to_owned());
                self.check_now.push(other.address.clone());
            }
        }
    }

    /// The reason not to add the members that the server lists, if there would be too many: servers that each list
    /// others must not grow the topology without a limit.
    fn exceeds_max_members(&self, server: &ServerDescription) -> Option<String> {
        let known = &self.topology.servers;
        let new = server
            .members()
            .filter(|address| !known.contains_key(*address))
            .count();
        (new > 0 && known.len() + new > MAX_MEMBERS).then(|| {
            format!(
                "lists {new} members beside {} others, and {MAX_MEMBERS} are permitted",
                known.len()
            )
        })
    }

    /// Adds the members that the server lists and the topology does not have, as Unknown.
    fn add_members(&mut self, server: &ServerDescription) {
        for address in server.members() {
            self.topology
                .servers
                .entry(address.clone())
                .or_insert_with(|| ServerDescription::unknown(address.clone()));
        }
    }

    /// Marks the server in the `primary` field of the reply as PossiblePrimary if it is Unknown.
    fn mark_possible_primary(&mut self, server: &ServerDescription) {
        let primary = server
            .primary
            .as_ref()
            .and_then(|address| self.topology.servers.get_mut(address));
        if let Some(primary) = primary.filter(|primary| primary.kind == ServerType::Unknown) {
            primary.kind = ServerType::PossiblePrimary;
        }
    }

    /// checkIfHasPrimary
    fn check_if_has_primary(&mut self) {
        self.topology.kind = match self.topology.primary() {
            Some(_) => TopologyType::ReplicaSetWithPrimary,
            None => TopologyType::ReplicaSetNoPrimary,
        };
    }

    /// Removes a server whose set name is wrong, and keeps the name for the text of errors.
    fn remove_of_other_set(&mut self, server: &ServerDescription) {
        self.remove(&server.address);
        self.topology.other_set_name = server.set_name().map(str::to_owned);
    }

    fn has_wrong_set_name(&self, server: &ServerDescription) -> bool {
        self.topology.set_name.is_some() && self.topology.set_name.as_deref() != server.set_name()
    }

    /// Whether `me`, the server's address in the replica set configuration, is not the address that
    /// the client uses.
    fn has_other_address_in_config(&self, server: &ServerDescription) -> bool {
        server.me.as_ref().is_some_and(|me| *me != server.address)
    }

    fn replace(&mut self, server: ServerDescription) {
        self.topology.servers.insert(server.address.clone(), server);
    }

    fn remove(&mut self, address: &ServerAddress) {
        self.topology.servers.remove(address);
    }
}

/// The `(electionId, setVersion)` of a primary is older than the maximum of the topology.
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

/// An Unknown description in place of `server`, with the reason as its error.
fn stale(server: &ServerDescription, why: String) -> ServerDescription {
    let mut unknown = ServerDescription::unknown(server.address.clone());
    unknown.error = Some(why);
    unknown.last_update = server.last_update;
    unknown
}

/// The description of a server whose set name is not `replicaSet` (topology type Single).
fn outside_set(server: &ServerDescription, wanted: Option<&str>) -> ServerDescription {
    let found = server.set_name().map_or("no replica set".to_owned(), |name| {
        format!("replica set \"{name}\"")
    });
    let wanted = wanted.unwrap_or_default();
    stale(
        server,
        format!("`replicaSet={wanted}` requires a member of that set, but the server belongs to {found}"),
    )
}

/// Updates the fields that derive from all servers: the compatibility (SDAM, "Checking wire
/// protocol compatibility") and the session timeout (SDAM, "logicalSessionTimeoutMinutes").
pub(super) fn update_derived_fields(topology: &mut TopologyDescription) {
    topology.compatibility_error = topology.servers.values().find_map(incompatibility);
    let timeouts: Option<Vec<Duration>> = topology
        .servers
        .values()
        .filter(|server| server.kind.is_data_bearing())
        .map(ServerDescription::logical_session_timeout)
        .collect();
    topology.session_timeout = timeouts.and_then(|timeouts| timeouts.into_iter().min());
}

/// The error message for a server whose wire versions the driver does not support.
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

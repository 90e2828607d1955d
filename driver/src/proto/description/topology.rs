//! The topology description ([SDAM, "TopologyDescription"]).
//!
//! [SDAM, "TopologyDescription"]:
//! https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-discovery-and-monitoring.md#topologydescription

use std::{collections::BTreeMap, fmt, time::Duration};

use super::server::{ServerDescription, ServerType};
use crate::{ServerAddress, bson::ObjectId};

/// The type of a topology (SDAM, "TopologyType").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TopologyType {
    /// No server has been checked successfully.
    #[default]
    Unknown,
    /// A single server: a standalone, or the server of `directConnection=true`, which can be of any
    /// type.
    Single,
    /// The mongoses of a sharded cluster.
    Sharded,
    /// A replica set without a known primary.
    ReplicaSetNoPrimary,
    /// A replica set with a known primary.
    ReplicaSetWithPrimary,
    /// A load balancer in front of the deployment (`loadBalanced=true`).
    LoadBalanced,
}

impl fmt::Display for TopologyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "Unknown",
            Self::Single => "Single",
            Self::Sharded => "Sharded",
            Self::ReplicaSetNoPrimary => "ReplicaSetNoPrimary",
            Self::ReplicaSetWithPrimary => "ReplicaSetWithPrimary",
            Self::LoadBalanced => "LoadBalanced",
        })
    }
}

/// The state of all servers of a deployment ([SDAM, "TopologyDescription"]).
///
/// [SDAM, "TopologyDescription"]:
/// https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-discovery-and-monitoring.md#topologydescription
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopologyDescription {
    pub(crate) kind: TopologyType,
    /// Number of servers in the seed list.
    pub(crate) seeds: usize,
    pub(crate) set_name: Option<String>,
    /// The set name of the last server that was removed because it belongs to another replica set.
    pub(crate) other_set_name: Option<String>,
    pub(crate) max_election_id: Option<ObjectId>,
    pub(crate) max_set_version: Option<i64>,
    pub(crate) servers: BTreeMap<ServerAddress, ServerDescription>,
    pub(crate) compatibility_error: Option<String>,
    pub(crate) session_timeout: Option<Duration>,
}

impl TopologyDescription {
    /// A copy in which the text of each [cause](ServerDescription::cause) is replaced by its
    /// [outline](crate::Error::outline), for a message whose source is the first cause.
    pub(crate) fn with_outlines_of_causes(&self) -> Self {
        let mut copy = self.clone();
        for server in copy.servers.values_mut() {
            if let Some(cause) = &server.cause {
                server.error = Some(cause.outline().to_owned());
            }
        }
        copy
    }

    /// The description before the first check. `direct`: `directConnection=true`. `set_name`:
    /// `replicaSet`.
    pub fn initial(
        seeds: impl IntoIterator<Item = ServerAddress>,
        direct: bool,
        set_name: Option<String>,
    ) -> Self {
        let servers: BTreeMap<_, _> = seeds
            .into_iter()
            .map(|address| (address.clone(), ServerDescription::unknown(address)))
            .collect();
        Self {
            kind: if direct {
                TopologyType::Single
            } else if set_name.is_some() {
                TopologyType::ReplicaSetNoPrimary
            } else {
                TopologyType::Unknown
            },
            seeds: servers.len(),
            set_name,
            servers,
            ..Self::default()
        }
    }

    /// The description with `loadBalanced=true`. The server has the type `Unknown` until the
    /// topology starts.
    pub fn load_balanced(address: ServerAddress) -> Self {
        Self {
            kind: TopologyType::LoadBalanced,
            ..Self::initial([address], false, None)
        }
    }

    /// The type of the topology.
    pub fn topology_type(&self) -> TopologyType {
        self.kind
    }

    /// `setName`: the name of the replica set, from the option `replicaSet` or from a member.
    /// `None` for other topologies.
    pub fn set_name(&self) -> Option<&str> {
        self.set_name.as_deref()
    }

    /// `maxElectionId`: the highest `electionId` that a primary reported.
    pub fn max_election_id(&self) -> Option<ObjectId> {
        self.max_election_id
    }

    /// `maxSetVersion`: the `setVersion` reported with [`max_election_id`](Self::max_election_id);
    /// for servers before MongoDB 6.0, the highest `setVersion` that a primary reported.
    pub fn max_set_version(&self) -> Option<i64> {
        self.max_set_version
    }

    /// The servers, ordered by address.
    pub fn servers(&self) -> impl ExactSizeIterator<Item = &ServerDescription> {
        self.servers.values()
    }

    /// The server with this address. `None` if it is not part of the deployment.
    pub fn server(&self, address: &ServerAddress) -> Option<&ServerDescription> {
        self.servers.get(address)
    }

    /// The primary of the replica set. `None` if none is known.
    pub fn primary(&self) -> Option<&ServerDescription> {
        self.servers
            .values()
            .find(|server| server.kind == ServerType::RsPrimary)
    }

    /// Whether the driver supports a wire version of every server.
    pub fn is_compatible(&self) -> bool {
        self.compatibility_error.is_none()
    }

    /// The text of the error that operations fail with because a server's wire versions are not
    /// supported. `None` if all are.
    pub fn compatibility_error(&self) -> Option<&str> {
        self.compatibility_error.as_deref()
    }

    /// `logicalSessionTimeoutMinutes`: the minimum of the data-bearing servers. `None` if one of
    /// them does not support sessions, or none is known.
    pub fn logical_session_timeout(&self) -> Option<Duration> {
        self.session_timeout
    }

    /// Whether a server for writes is known: a primary, a mongos, a load balancer, or the known
    /// server of the type `Single`.
    pub fn has_writable_server(&self) -> bool {
        self.servers.values().any(|server| match self.kind {
            TopologyType::Unknown => false,
            TopologyType::Single => !server.kind.is_unknown(),
            _ => matches!(
                server.kind,
                ServerType::RsPrimary | ServerType::Mongos | ServerType::LoadBalancer
            ),
        })
    }
}

impl fmt::Display for TopologyDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if let Some(name) = &self.set_name {
            write!(f, " \"{name}\"")?;
        }
        f.write_str(" with ")?;
        if self.servers.is_empty() {
            f.write_str("no servers, since none of those named belongs to it")?;
            if let Some(found) = &self.other_set_name {
                write!(f, " (a server belongs to the replica set {found:?})")?;
            }
            f.write_str("; check the hosts and replicaSet")?;
        }
        for (index, server) in self.servers.values().enumerate() {
            write!(f, "{}{server}", if index > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

//! The topology description ([SDAM, "TopologyDescription"]).
//!
//! [SDAM, "TopologyDescription"]:
//! https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-discovery-and-monitoring.md#topologydescription

use std::{collections::BTreeMap, fmt, time::Duration};

use super::server::{ServerDescription, ServerType};
use crate::{ServerAddress, bson::ObjectId};

/// The type of a deployment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TopologyType {
    /// Not known yet.
    #[default]
    Unknown,
    /// One server, used whatever it is.
    Single,
    /// The routers of a sharded cluster.
    Sharded,
    /// A replica set none of whose members is known to be the primary.
    ReplicaSetNoPrimary,
    /// A replica set whose primary is known.
    ReplicaSetWithPrimary,
    /// Servers behind a load balancer.
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

/// The client's view of the whole deployment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopologyDescription {
    pub(crate) kind: TopologyType,
    /// How many servers the connection string named.
    pub(crate) seeds: usize,
    pub(crate) set_name: Option<String>,
    pub(crate) max_election_id: Option<ObjectId>,
    pub(crate) max_set_version: Option<i64>,
    pub(crate) servers: BTreeMap<ServerAddress, ServerDescription>,
    pub(crate) compatibility_error: Option<String>,
    pub(crate) session_timeout: Option<Duration>,
}

impl TopologyDescription {
    /// The same with no more than the [outline](crate::Error::outline) of each
    /// [cause](ServerDescription::cause), for a message whose source is the first of them.
    pub(crate) fn with_outlines_of_causes(&self) -> Self {
        let mut copy = self.clone();
        for server in copy.servers.values_mut() {
            if let Some(cause) = &server.cause {
                server.error = Some(cause.outline().to_owned());
            }
        }
        copy
    }

    /// The description before any server was checked.
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

    /// The description of a load-balanced deployment before the load balancer is added as a server.
    pub fn load_balanced(address: ServerAddress) -> Self {
        Self {
            kind: TopologyType::LoadBalanced,
            ..Self::initial([address], false, None)
        }
    }

    /// What kind of deployment it is.
    pub fn topology_type(&self) -> TopologyType {
        self.kind
    }

    /// The name of the replica set, if it is one and the name was given or found.
    pub fn set_name(&self) -> Option<&str> {
        self.set_name.as_deref()
    }

    /// `maxElectionId`: the highest `electionId` that a primary reported.
    pub fn max_election_id(&self) -> Option<ObjectId> {
        self.max_election_id
    }

    /// `maxSetVersion`: the `setVersion` reported with it.
    pub fn max_set_version(&self) -> Option<i64> {
        self.max_set_version
    }

    /// The servers, in the order of their addresses.
    pub fn servers(&self) -> impl ExactSizeIterator<Item = &ServerDescription> {
        self.servers.values()
    }

    /// The server at this address, if it is part of the deployment.
    pub fn server(&self, address: &ServerAddress) -> Option<&ServerDescription> {
        self.servers.get(address)
    }

    /// The primary of the replica set, if it is known.
    pub fn primary(&self) -> Option<&ServerDescription> {
        self.servers
            .values()
            .find(|server| server.kind == ServerType::RsPrimary)
    }

    /// Whether the driver can speak with all servers.
    pub fn is_compatible(&self) -> bool {
        self.compatibility_error.is_none()
    }

    /// Why the driver cannot speak with some server.
    pub fn compatibility_error(&self) -> Option<&str> {
        self.compatibility_error.as_deref()
    }

    /// `logicalSessionTimeoutMinutes`: the minimum of those of the data-bearing servers. `None` if
    /// one of them does not support sessions, or if none is known.
    pub fn logical_session_timeout(&self) -> Option<Duration> {
        self.session_timeout
    }

    /// Whether a write could be sent now.
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
            f.write_str(
                "no servers, since none of those named belongs to it; check the hosts and replicaSet",
            )?;
        }
        for (index, server) in self.servers.values().enumerate() {
            write!(f, "{}{server}", if index > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

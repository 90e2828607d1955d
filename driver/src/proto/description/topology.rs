//! The client's view of the whole deployment.

use std::{collections::BTreeMap, fmt, time::Duration};

use super::server::{ServerDescription, ServerType};
use crate::{ServerAddress, bson::ObjectId};

/// What kind of deployment it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TopologyType {
    /// Not known yet.
    #[default]
    Unknown,
    /// One server, used whatever it is.
    Single,
    Sharded,
    ReplicaSetNoPrimary,
    ReplicaSetWithPrimary,
}

impl fmt::Display for TopologyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "Unknown",
            Self::Single => "Single",
            Self::Sharded => "Sharded",
            Self::ReplicaSetNoPrimary => "ReplicaSetNoPrimary",
            Self::ReplicaSetWithPrimary => "ReplicaSetWithPrimary",
        })
    }
}

/// Everything known of the deployment.
#[derive(Clone, Debug, Default)]
pub struct TopologyDescription {
    pub kind: TopologyType,
    /// How many servers the connection string named.
    pub seeds: usize,
    pub set_name: Option<String>,
    pub max_election_id: Option<ObjectId>,
    pub max_set_version: Option<i64>,
    pub servers: BTreeMap<ServerAddress, ServerDescription>,
    /// Why the driver cannot speak with some server.
    pub compatibility_error: Option<String>,
    /// The shortest of the servers' session timeouts; `None` when one has no sessions, or none is known.
    pub session_timeout: Option<Duration>,
}

impl TopologyDescription {
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

    pub fn primary(&self) -> Option<&ServerDescription> {
        self.servers
            .values()
            .find(|server| server.kind == ServerType::RsPrimary)
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

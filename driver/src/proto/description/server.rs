//! The client's view of one server.

use std::{
    collections::BTreeMap,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use super::hello::{HelloReply, TopologyVersion};
use crate::{Error, ServerAddress, bson::ObjectId};

/// What a server is, as its hello shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerType {
    /// Not reached yet, or not reached any more.
    #[default]
    Unknown,
    Standalone,
    Mongos,
    /// Unknown, but another member takes it for the primary.
    PossiblePrimary,
    RsPrimary,
    RsSecondary,
    RsArbiter,
    /// A member that cannot be read: hidden, starting up or recovering.
    RsOther,
    /// A member without a replica set's configuration.
    RsGhost,
}

impl ServerType {
    /// Whether operations can run there.
    pub fn is_data_bearing(self) -> bool {
        matches!(
            self,
            Self::Standalone | Self::Mongos | Self::RsPrimary | Self::RsSecondary
        )
    }

    /// Whether nothing is known of it.
    pub fn is_unknown(self) -> bool {
        matches!(self, Self::Unknown | Self::PossiblePrimary)
    }

    fn of(hello: &HelloReply) -> Self {
        if hello.isreplicaset {
            return Self::RsGhost;
        }
        if hello.is_mongos() {
            return Self::Mongos;
        }
        if hello.set_name.is_none() {
            return Self::Standalone;
        }
        if hello.hidden {
            Self::RsOther
        } else if hello.is_writable_primary || hello.ismaster {
            Self::RsPrimary
        } else if hello.secondary {
            Self::RsSecondary
        } else if hello.arbiter_only {
            Self::RsArbiter
        } else {
            Self::RsOther
        }
    }
}

impl fmt::Display for ServerType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "Unknown",
            Self::Standalone => "Standalone",
            Self::Mongos => "Mongos",
            Self::PossiblePrimary => "PossiblePrimary",
            Self::RsPrimary => "RSPrimary",
            Self::RsSecondary => "RSSecondary",
            Self::RsArbiter => "RSArbiter",
            Self::RsOther => "RSOther",
            Self::RsGhost => "RSGhost",
        })
    }
}

/// The result of the last check of one server.
#[derive(Clone, Debug)]
pub struct ServerDescription {
    pub address: ServerAddress,
    pub kind: ServerType,
    /// Why the server is unknown.
    pub error: Option<String>,
    /// The average of the last checks.
    pub round_trip_time: Option<Duration>,
    pub last_update: Option<Instant>,
    pub topology_version: Option<TopologyVersion>,
    /// All members this server knows: hosts, passives and arbiters.
    pub members: Vec<ServerAddress>,
    pub me: Option<ServerAddress>,
    pub primary: Option<ServerAddress>,
    hello: Arc<HelloReply>,
}

impl ServerDescription {
    /// A server that has not been checked.
    pub fn unknown(address: ServerAddress) -> Self {
        Self {
            address,
            kind: ServerType::Unknown,
            error: None,
            round_trip_time: None,
            last_update: None,
            topology_version: None,
            members: Vec::new(),
            me: None,
            primary: None,
            hello: Arc::default(),
        }
    }

    /// A server whose check, or whose use by an operation, failed.
    pub fn failed(
        address: ServerAddress,
        error: &Error,
        topology_version: Option<TopologyVersion>,
        now: Instant,
    ) -> Self {
        Self {
            // The address stands before it, and labels are for programs.
            error: Some(error.kind().to_string()),
            last_update: Some(now),
            topology_version,
            ..Self::unknown(address)
        }
    }

    /// A server that answered. Member names that are no addresses are left out: the server cannot be reached by them.
    pub fn from_hello(
        address: ServerAddress,
        hello: HelloReply,
        round_trip_time: Duration,
        now: Instant,
    ) -> Self {
        let parse = |name: &String| ServerAddress::parse(name).ok();
        let members = [&hello.hosts, &hello.passives, &hello.arbiters];
        Self {
            kind: ServerType::of(&hello),
            error: None,
            round_trip_time: Some(round_trip_time),
            last_update: Some(now),
            topology_version: hello.topology_version,
            members: members.into_iter().flatten().filter_map(parse).collect(),
            me: hello.me.as_ref().and_then(parse),
            primary: hello.primary.as_ref().and_then(parse),
            hello: Arc::new(hello),
            address,
        }
    }

    pub fn set_name(&self) -> Option<&str> {
        self.hello.set_name.as_deref()
    }

    pub fn set_version(&self) -> Option<i64> {
        self.hello.set_version
    }

    pub fn election_id(&self) -> Option<ObjectId> {
        self.hello.election_id
    }

    pub fn tags(&self) -> &BTreeMap<String, String> {
        &self.hello.tags
    }

    /// When the member last applied a write, in milliseconds since the epoch.
    pub fn last_write_date(&self) -> Option<i64> {
        let date = self.hello.last_write.as_ref()?.last_write_date?;
        Some(date.timestamp_millis())
    }

    pub fn wire_versions(&self) -> std::ops::RangeInclusive<i32> {
        self.hello.min_wire_version..=self.hello.max_wire_version
    }

    pub fn session_timeout(&self) -> Option<Duration> {
        self.hello.session_timeout()
    }
}

impl fmt::Display for ServerDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.address, self.kind)?;
        if let Some(error) = &self.error {
            write!(f, ": {error}")?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(hello: HelloReply) -> ServerType {
        let address = ServerAddress::tcp("a", 1);
        ServerDescription::from_hello(address, hello, Duration::ZERO, Instant::now()).kind
    }

    #[test]
    fn the_type_follows_the_hello() {
        let member = || HelloReply {
            set_name: Some("rs".into()),
            ..HelloReply::default()
        };
        assert_eq!(kind(HelloReply::default()), ServerType::Standalone);
        assert_eq!(
            kind(HelloReply {
                msg: Some("isdbgrid".into()),
                ..HelloReply::default()
            }),
            ServerType::Mongos
        );
        assert_eq!(
            kind(HelloReply {
                isreplicaset: true,
                ..HelloReply::default()
            }),
            ServerType::RsGhost
        );
        assert_eq!(
            kind(HelloReply {
                ismaster: true,
                ..member()
            }),
            ServerType::RsPrimary
        );
        assert_eq!(
            kind(HelloReply {
                is_writable_primary: true,
                ..member()
            }),
            ServerType::RsPrimary
        );
        assert_eq!(
            kind(HelloReply {
                secondary: true,
                ..member()
            }),
            ServerType::RsSecondary
        );
        assert_eq!(
            kind(HelloReply {
                secondary: true,
                hidden: true,
                ..member()
            }),
            ServerType::RsOther
        );
        assert_eq!(
            kind(HelloReply {
                arbiter_only: true,
                ..member()
            }),
            ServerType::RsArbiter
        );
        assert_eq!(kind(member()), ServerType::RsOther);
    }
}

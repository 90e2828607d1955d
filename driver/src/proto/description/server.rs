//! The server description ([SDAM, "ServerDescription"]).
//!
//! [SDAM, "ServerDescription"]:
//! https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-discovery-and-monitoring.md#serverdescription

use std::{
    collections::BTreeMap,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use super::hello::{HelloReply, TopologyVersion};
use crate::{
    Error, ServerAddress,
    bson::{DateTime, ObjectId},
};

/// The type of a server, determined from its reply to `hello` (SDAM, "ServerType").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerType {
    /// The server has not been checked, or the last check or an operation failed.
    #[default]
    Unknown,
    /// A server that is not a member of a replica set.
    Standalone,
    /// A mongos of a sharded cluster.
    Mongos,
    /// As `Unknown`, but another member reports this server as the primary.
    PossiblePrimary,
    /// The primary of a replica set.
    RsPrimary,
    /// A secondary of a replica set.
    RsSecondary,
    /// An arbiter: a member that votes and stores no data.
    RsArbiter,
    /// A member that is hidden, starting up or recovering. It does not serve reads.
    RsOther,
    /// A member without a replica set configuration.
    RsGhost,
    /// A load balancer. It is not monitored.
    LoadBalancer,
}

impl ServerType {
    /// Whether the server can run operations (SDAM, "Data-bearing server type").
    pub fn is_data_bearing(self) -> bool {
        matches!(
            self,
            Self::Standalone | Self::Mongos | Self::RsPrimary | Self::RsSecondary | Self::LoadBalancer
        )
    }

    /// Whether the type is `Unknown` or `PossiblePrimary`.
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
            Self::LoadBalancer => "LoadBalancer",
        })
    }
}

/// The state of a server, by its last check or by the last failure of an operation on it ([SDAM,
/// "ServerDescription"]).
///
/// Two descriptions are equal if the fields that the specification compares are equal: all fields
/// but the times and the round-trip times. `PossiblePrimary` is equal to `Unknown`.
///
/// [SDAM, "ServerDescription"]:
/// https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-discovery-and-monitoring.md#serverdescription
#[derive(Clone, Debug)]
pub struct ServerDescription {
    pub(crate) address: ServerAddress,
    pub(crate) kind: ServerType,
    pub(crate) error: Option<String>,
    /// The error whose text is `error`.
    pub(crate) cause: Option<Error>,
    pub(crate) round_trip_time: Option<Duration>,
    pub(crate) minimum_round_trip_time: Option<Duration>,
    pub(crate) last_update: Option<Instant>,
    pub(crate) topology_version: Option<TopologyVersion>,
    pub(crate) hosts: Vec<ServerAddress>,
    pub(crate) passives: Vec<ServerAddress>,
    pub(crate) arbiters: Vec<ServerAddress>,
    pub(crate) me: Option<ServerAddress>,
    pub(crate) primary: Option<ServerAddress>,
    hello: Arc<HelloReply>,
}

impl ServerDescription {
    /// The description of a server before its first check.
    pub fn unknown(address: ServerAddress) -> Self {
        Self {
            address,
            kind: ServerType::Unknown,
            error: None,
            cause: None,
            round_trip_time: None,
            minimum_round_trip_time: None,
            last_update: None,
            topology_version: None,
            hosts: Vec::new(),
            passives: Vec::new(),
            arbiters: Vec::new(),
            me: None,
            primary: None,
            hello: Arc::default(),
        }
    }

    /// The description of a load balancer.
    pub fn load_balancer(address: ServerAddress) -> Self {
        Self {
            kind: ServerType::LoadBalancer,
            ..Self::unknown(address)
        }
    }

    /// The description of a server after a failed check, or after an operation on it failed.
    pub fn failed(
        address: ServerAddress,
        error: &Error,
        topology_version: Option<TopologyVersion>,
        now: Instant,
    ) -> Self {
        Self {
            // Without the address, which precedes the error in the text, and without labels.
            error: Some(error.kind().to_string()),
            cause: Some(error.clone().with_address(&address)),
            last_update: Some(now),
            topology_version,
            ..Self::unknown(address)
        }
    }

    /// The description of a server after a successful check. Names of members that are not valid
    /// TCP addresses are omitted.
    pub fn from_hello(
        address: ServerAddress,
        hello: HelloReply,
        round_trip_time: Duration,
        now: Instant,
    ) -> Self {
        // A member of a deployment has no Unix domain socket for its clients.
        let parse = |name: &String| {
            let address = ServerAddress::parse(name).ok()?;
            matches!(address, ServerAddress::Tcp { .. }).then_some(address)
        };
        let list = |names: &[String]| names.iter().filter_map(parse).collect();
        Self {
            kind: ServerType::of(&hello),
            error: None,
            cause: None,
            round_trip_time: Some(round_trip_time),
            minimum_round_trip_time: None,
            last_update: Some(now),
            topology_version: hello.topology_version,
            hosts: list(&hello.hosts),
            passives: list(&hello.passives),
            arbiters: list(&hello.arbiters),
            me: hello.me.as_ref().and_then(parse),
            primary: hello.primary.as_ref().and_then(parse),
            hello: Arc::new(hello),
            address,
        }
    }

    /// Sets [`minimum_round_trip_time`](Self::minimum_round_trip_time).
    #[must_use]
    pub fn with_minimum_round_trip_time(mut self, minimum: Duration) -> Self {
        self.minimum_round_trip_time = Some(minimum);
        self
    }

    /// The address that the client connects to.
    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// The type of the server.
    pub fn server_type(&self) -> ServerType {
        self.kind
    }

    /// The text of the error because of which the type is `Unknown`. `None` if no check and no
    /// operation failed.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// The error because of which the type is `Unknown`, with the address of the server. `None` if
    /// no check and no operation failed.
    pub fn cause(&self) -> Option<&Error> {
        self.cause.as_ref()
    }

    /// The exponentially weighted moving average of the round-trip times of the checks. `None`
    /// while the type is `Unknown`.
    pub fn round_trip_time(&self) -> Option<Duration> {
        self.round_trip_time
    }

    /// The minimum of the last ten round-trip times; zero if fewer than two were measured. `None`
    /// while the type is `Unknown`.
    pub fn minimum_round_trip_time(&self) -> Option<Duration> {
        self.minimum_round_trip_time
    }

    /// The time of the last check, or of the last failure of an operation. `None` before the first
    /// check.
    pub fn last_update(&self) -> Option<Instant> {
        self.last_update
    }

    /// `topologyVersion` (MongoDB 4.4+).
    pub fn topology_version(&self) -> Option<TopologyVersion> {
        self.topology_version
    }

    /// `hosts`: the data-bearing members that can become primary, as this server reports them.
    pub fn hosts(&self) -> &[ServerAddress] {
        &self.hosts
    }

    /// `passives`: the data-bearing members with priority 0, as this server reports them.
    pub fn passives(&self) -> &[ServerAddress] {
        &self.passives
    }

    /// `arbiters`, as this server reports them.
    pub fn arbiters(&self) -> &[ServerAddress] {
        &self.arbiters
    }

    /// All members that this server reports: hosts, passives and arbiters.
    pub(crate) fn members(&self) -> impl Iterator<Item = &ServerAddress> {
        self.hosts.iter().chain(&self.passives).chain(&self.arbiters)
    }

    /// `me`: the address of this server in the replica set configuration.
    pub fn me(&self) -> Option<&ServerAddress> {
        self.me.as_ref()
    }

    /// `primary`: the member that this server reports as the primary.
    pub fn primary(&self) -> Option<&ServerAddress> {
        self.primary.as_ref()
    }

    /// `setName`: the name of the replica set. `None` for other servers.
    pub fn set_name(&self) -> Option<&str> {
        self.hello.set_name.as_deref()
    }

    /// `setVersion`: the version of the replica set configuration.
    pub fn set_version(&self) -> Option<i64> {
        self.hello.set_version
    }

    /// `electionId`: the election in which this server became the primary.
    pub fn election_id(&self) -> Option<ObjectId> {
        self.hello.election_id
    }

    /// `tags` of the member; see
    /// [`ReadPreference::tag_sets`](crate::options::ReadPreference::tag_sets).
    pub fn tags(&self) -> &BTreeMap<String, String> {
        &self.hello.tags
    }

    /// `lastWriteDate`: the time of the last write that the member applied, by the clock of the
    /// primary.
    pub fn last_write_date(&self) -> Option<DateTime> {
        self.hello.last_write.as_ref()?.last_write_date
    }

    /// `minWireVersion`. `None` while the type is `Unknown`, and for a load balancer.
    pub fn min_wire_version(&self) -> Option<i32> {
        self.is_described().then_some(self.hello.min_wire_version)
    }

    /// `maxWireVersion`. `None` while the type is `Unknown`, and for a load balancer.
    pub fn max_wire_version(&self) -> Option<i32> {
        self.is_described().then_some(self.hello.max_wire_version)
    }

    /// `logicalSessionTimeoutMinutes`: how long the server keeps unused sessions. `None` if the
    /// server does not support sessions or the type is `Unknown`.
    pub fn logical_session_timeout(&self) -> Option<Duration> {
        self.hello.session_timeout()
    }

    /// Whether the description contains a reply to `hello`.
    fn is_described(&self) -> bool {
        !self.kind.is_unknown() && self.kind != ServerType::LoadBalancer
    }
}

impl PartialEq for ServerDescription {
    fn eq(&self, other: &Self) -> bool {
        let kind = |kind: ServerType| match kind {
            ServerType::PossiblePrimary => ServerType::Unknown,
            other => other,
        };
        let (own, theirs) = (&*self.hello, &*other.hello);
        self.address == other.address
            && kind(self.kind) == kind(other.kind)
            && self.error == other.error
            && self.topology_version == other.topology_version
            && same_members(&self.hosts, &other.hosts)
            && same_members(&self.passives, &other.passives)
            && same_members(&self.arbiters, &other.arbiters)
            && self.me == other.me
            && self.primary == other.primary
            && own.min_wire_version == theirs.min_wire_version
            && own.max_wire_version == theirs.max_wire_version
            && own.tags == theirs.tags
            && own.set_name == theirs.set_name
            && own.set_version == theirs.set_version
            && own.election_id == theirs.election_id
            && own.logical_session_timeout_minutes == theirs.logical_session_timeout_minutes
            && own.iscryptd == theirs.iscryptd
    }
}

/// Whether both lists contain the same addresses, in any order.
fn same_members(a: &[ServerAddress], b: &[ServerAddress]) -> bool {
    a == b || (a.iter().all(|address| b.contains(address)) && b.iter().all(|address| a.contains(address)))
}

impl fmt::Display for ServerDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            Some(error) => write!(f, "{} ({}: {error})", self.address, self.kind),
            // The first check has not ended: it waits for a connection, or for its reply.
            None if self.kind == ServerType::Unknown => {
                write!(f, "{} ({}, no answer so far)", self.address, self.kind)
            }
            None => write!(f, "{} ({})", self.address, self.kind),
        }
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

    #[test]
    fn times_and_the_order_of_members_make_no_difference() {
        let described = |hosts: [&str; 2], rtt: u64, tag: &str| {
            let hello = HelloReply {
                set_name: Some("rs".into()),
                hosts: hosts.map(str::to_owned).to_vec(),
                tags: BTreeMap::from([("dc".to_owned(), tag.to_owned())]),
                ..HelloReply::default()
            };
            let rtt = Duration::from_millis(rtt);
            ServerDescription::from_hello(ServerAddress::tcp("a", 1), hello, rtt, Instant::now())
        };
        assert_eq!(described(["a", "b"], 1, "x"), described(["b", "a"], 2, "x"));
        assert_ne!(described(["a", "b"], 1, "x"), described(["a", "c"], 1, "x"));
        assert_ne!(described(["a", "b"], 1, "x"), described(["a", "b"], 1, "y"));
        let mut possible = ServerDescription::unknown(ServerAddress::tcp("a", 1));
        possible.kind = ServerType::PossiblePrimary;
        assert_eq!(possible, ServerDescription::unknown(ServerAddress::tcp("a", 1)));
        assert_eq!(possible.max_wire_version(), None);
    }
}

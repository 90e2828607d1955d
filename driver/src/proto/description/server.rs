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

/// The type of a server, by its hello reply ("ServerType").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerType {
    /// Not reached yet, or not reached any more.
    #[default]
    Unknown,
    /// A server on its own.
    Standalone,
    /// A router of a sharded cluster.
    Mongos,
    /// Unknown, but another member takes it for the primary.
    PossiblePrimary,
    /// The member of a replica set that takes writes.
    RsPrimary,
    /// A member that follows the primary and can be read.
    RsSecondary,
    /// A member that only votes.
    RsArbiter,
    /// A member that cannot be read: hidden, starting up or recovering.
    RsOther,
    /// A member without a replica set's configuration.
    RsGhost,
    /// The load balancer in front of the servers. It is never checked.
    LoadBalancer,
}

impl ServerType {
    /// Whether operations can run there.
    pub fn is_data_bearing(self) -> bool {
        matches!(
            self,
            Self::Standalone | Self::Mongos | Self::RsPrimary | Self::RsSecondary | Self::LoadBalancer
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
            Self::LoadBalancer => "LoadBalancer",
        })
    }
}

/// The client's view of one server: the result of its last check, or of the last failure of an
/// operation there.
///
/// Two descriptions are equal when the fields are that the Server Discovery and Monitoring
/// specification compares: all but times and round trips. A possible primary counts as unknown.
#[derive(Clone, Debug)]
pub struct ServerDescription {
    pub(crate) address: ServerAddress,
    pub(crate) kind: ServerType,
    pub(crate) error: Option<String>,
    /// The error that `error` is the text of, where there is one.
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
    /// A server that has not been checked.
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

    /// The load balancer, of which nothing but the address is known.
    pub fn load_balancer(address: ServerAddress) -> Self {
        Self {
            kind: ServerType::LoadBalancer,
            ..Self::unknown(address)
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
            cause: Some(error.clone().with_address(&address)),
            last_update: Some(now),
            topology_version,
            ..Self::unknown(address)
        }
    }

    /// The description of a server that replied to a hello. Member names that are not valid
    /// addresses are left out.
    pub fn from_hello(
        address: ServerAddress,
        hello: HelloReply,
        round_trip_time: Duration,
        now: Instant,
    ) -> Self {
        let parse = |name: &String| ServerAddress::parse(name).ok();
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

    /// The same with this shortest round trip of the last checks.
    #[must_use]
    pub fn with_minimum_round_trip_time(mut self, minimum: Duration) -> Self {
        self.minimum_round_trip_time = Some(minimum);
        self
    }

    /// The address that the client uses for it.
    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// What it is.
    pub fn server_type(&self) -> ServerType {
        self.kind
    }

    /// Why it is unknown, if there is a reason.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// The error of the check, or of the operation, that made it unknown.
    pub fn cause(&self) -> Option<&Error> {
        self.cause.as_ref()
    }

    /// The weighted average of the round trips of its checks. `None` while it is unknown.
    pub fn round_trip_time(&self) -> Option<Duration> {
        self.round_trip_time
    }

    /// The minimum of the last ten round trip times. Zero if there are fewer than two, `None` if
    /// the monitor has measured none.
    pub fn minimum_round_trip_time(&self) -> Option<Duration> {
        self.minimum_round_trip_time
    }

    /// When it was last checked, or failed; `None` before.
    pub fn last_update(&self) -> Option<Instant> {
        self.last_update
    }

    /// Orders the states of the server, where it reports that (server 4.4 and newer).
    pub fn topology_version(&self) -> Option<TopologyVersion> {
        self.topology_version
    }

    /// The members that hold data and may become primary, as this server sees them.
    pub fn hosts(&self) -> &[ServerAddress] {
        &self.hosts
    }

    /// The members that hold data and cannot become primary, as this server sees them.
    pub fn passives(&self) -> &[ServerAddress] {
        &self.passives
    }

    /// The members that only vote, as this server sees them.
    pub fn arbiters(&self) -> &[ServerAddress] {
        &self.arbiters
    }

    /// All members this server knows: hosts, passives and arbiters.
    pub(crate) fn members(&self) -> impl Iterator<Item = &ServerAddress> {
        self.hosts.iter().chain(&self.passives).chain(&self.arbiters)
    }

    /// The address by which the replica set's configuration names it.
    pub fn me(&self) -> Option<&ServerAddress> {
        self.me.as_ref()
    }

    /// The member it takes for the primary.
    pub fn primary(&self) -> Option<&ServerAddress> {
        self.primary.as_ref()
    }

    /// The name of its replica set.
    pub fn set_name(&self) -> Option<&str> {
        self.hello.set_name.as_deref()
    }

    /// The version of the replica set's configuration.
    pub fn set_version(&self) -> Option<i64> {
        self.hello.set_version
    }

    /// The election that made it primary.
    pub fn election_id(&self) -> Option<ObjectId> {
        self.hello.election_id
    }

    /// Its tags, which read preferences choose by.
    pub fn tags(&self) -> &BTreeMap<String, String> {
        &self.hello.tags
    }

    /// When the member last applied a write.
    pub fn last_write_date(&self) -> Option<DateTime> {
        self.hello.last_write.as_ref()?.last_write_date
    }

    /// The oldest version of the wire protocol that it speaks; `None` while it is unknown.
    pub fn min_wire_version(&self) -> Option<i32> {
        self.is_described().then_some(self.hello.min_wire_version)
    }

    /// The newest version of the wire protocol that it speaks; `None` while it is unknown.
    pub fn max_wire_version(&self) -> Option<i32> {
        self.is_described().then_some(self.hello.max_wire_version)
    }

    /// How long it keeps unused sessions; `None` if it has no sessions, or is unknown.
    pub fn logical_session_timeout(&self) -> Option<Duration> {
        self.hello.session_timeout()
    }

    /// Whether a hello says what it is.
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

/// Whether both name the same, in whatever order.
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

//! Which name servers are queried, and when.
//!
//! Servers are queried one after the other in the order of the configuration, for its number of
//! attempts. If a server does not answer within [`PATIENCE`], the next one is queried in parallel;
//! the first answer counts.

// Addresses alone, without the sockets of `std::net`.
use core::net::SocketAddr;
use std::{fmt, time::Duration};

use super::{Conversation, Kind, Name, ServerFailure, Transport};

/// Time without an answer after which the next server is queried in parallel.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// The name servers and options of resolv.conf(5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameServers {
    /// In the order in which they are queried.
    pub addresses: Vec<SocketAddr>,
    /// Maximum time per server and attempt (`timeout`).
    pub timeout: Duration,
    /// How often all servers are queried (`attempts`). At least once.
    pub attempts: usize,
    /// Whether lookups begin with a random server and not with the first (`rotate`).
    pub rotate: bool,
    /// Whether to query over TCP only (`use-vc`).
    pub tcp_only: bool,
}

/// The next step of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Begin this conversation, in parallel with those in progress.
    Begin(Conversation),
    /// Wait until a conversation ends.
    Wait,
    /// All servers have failed.
    GiveUp(LookupFailure),
}

/// The servers that failed, each with its last failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupFailure(pub Vec<(SocketAddr, ServerFailure)>);

impl fmt::Display for LookupFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut failures = self.0.iter();
        let Some((server, failure)) = failures.next() else {
            return f.write_str("no name server is configured");
        };
        write!(f, "{server}: {failure}")?;
        failures.try_for_each(|(server, failure)| write!(f, "; {server}: {failure}"))
    }
}

/// One query, until a server has answered it or all have failed. The caller runs the conversations;
/// the first answer ends the lookup.
#[derive(Debug)]
pub struct Lookup {
    name: Name,
    kind: Kind,
    servers: NameServers,
    /// The last failure of each server.
    failures: Vec<Option<ServerFailure>>,
    /// Index of the first server.
    first: usize,
    /// Number of conversations begun.
    begun: usize,
    /// The servers of the conversations in progress.
    running: Vec<SocketAddr>,
}

impl Lookup {
    /// Makes a lookup. `random` chooses the first server if [`NameServers::rotate`] is set.
    pub fn new(name: Name, kind: Kind, servers: NameServers, random: u16) -> Self {
        Self {
            name,
            kind,
            failures: vec![None; servers.addresses.len()],
            first: if servers.rotate { usize::from(random) } else { 0 },
            begun: 0,
            running: Vec::new(),
            servers,
        }
    }

    /// The next step: at the beginning, after a conversation has failed, and after [`PATIENCE`].
    pub fn next_step(&mut self) -> Step {
        if let Some(server) = self.next_server() {
            self.begun += 1;
            self.running.push(server);
            return Step::Begin(Conversation {
                server,
                transport: if self.servers.tcp_only {
                    Transport::Tcp
                } else {
                    Transport::Udp
                },
                extended: true,
                name: self.name.clone(),
                kind: self.kind,
                timeout: self.servers.timeout,
            });
        }
        if self.running.is_empty() {
            Step::GiveUp(self.failure())
        } else {
            Step::Wait
        }
    }

    /// Whether another server can be queried after [`PATIENCE`].
    pub fn is_patient(&self) -> bool {
        self.next_server().is_some()
    }

    /// Records that the conversation with this server has failed.
    pub fn failed(&mut self, server: SocketAddr, failure: ServerFailure) {
        self.running.retain(|running| *running != server);
        let known = self.servers.addresses.iter().position(|known| *known == server);
        if let Some(last) = known.and_then(|index| self.failures.get_mut(index)) {
            *last = Some(failure);
        }
    }

    /// The next server. `None` if no attempt is left, or while a conversation with that server is
    /// in progress.
    fn next_server(&self) -> Option<SocketAddr> {
        let count = self.servers.addresses.len();
        let is_left = self.begun < count * self.servers.attempts.max(1);
        let server = self
            .servers
            .addresses
            .get((self.first + self.begun) % count.max(1))
            .filter(|_| is_left)?;
        (!self.running.contains(server)).then_some(*server)
    }

    fn failure(&self) -> LookupFailure {
        let servers = self.servers.addresses.iter().zip(&self.failures);
        LookupFailure(
            servers
                .filter_map(|(server, failure)| Some((*server, failure.clone()?)))
                .collect(),
        )
    }
}

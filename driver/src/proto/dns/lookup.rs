//! Which servers are asked, and when.
//!
//! One after the other, in the order of the configuration, as often as that says. A server that stays silent does not hold up
//! the lookup for all of its time: after a moment the next one is asked as well, and whoever answers first is heard.

// Addresses alone, without the sockets of `std::net`.
use core::net::SocketAddr;
use std::time::Duration;

use super::{Conversation, Kind, Name, Transport};

/// How long a server may be silent before the next one is asked beside it.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// The servers that may be asked, as resolv.conf(5) has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameServers {
    /// In the order in which they are asked.
    pub addresses: Vec<SocketAddr>,
    /// How long one of them may take to answer.
    pub timeout: Duration,
    /// How often all of them are asked; never less than once.
    pub attempts: usize,
    /// Whether to begin with any of them rather than with the first.
    pub rotate: bool,
    /// Whether to ask over TCP alone (`use-vc`).
    pub tcp_only: bool,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Begin this conversation, beside those under way.
    Begin(Conversation),
    /// Wait until a conversation ends.
    Wait,
    /// Give up: what each server failed with.
    GiveUp(String),
}

/// One question, until a server has answered it or all have failed. Conversations under way are the caller's to keep; the first
/// answer ends the lookup.
#[derive(Debug)]
pub struct Lookup {
    name: Name,
    kind: Kind,
    servers: NameServers,
    /// What each server failed with last.
    failures: Vec<Option<String>>,
    /// Which server is asked first.
    first: usize,
    /// How many conversations have begun.
    begun: usize,
    /// The servers in conversation.
    running: Vec<SocketAddr>,
}

impl Lookup {
    /// Nobody is asked yet. `random` chooses the first server where the configuration wants them to take turns.
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

    /// What to do at the beginning, when a conversation has failed, and when [`PATIENCE`] is at its end.
    pub fn next_step(&mut self) -> Step {
        if let Some(server) = self.due() {
            self.begun += 1;
            self.running.push(server);
            return Step::Begin(Conversation {
                server,
                transport: match self.servers.tcp_only {
                    true => Transport::Tcp,
                    false => Transport::Udp,
                },
                extended: true,
                name: self.name.clone(),
                kind: self.kind,
                timeout: self.servers.timeout,
            });
        }
        match self.running.is_empty() {
            true => Step::GiveUp(self.describe_failures()),
            false => Step::Wait,
        }
    }

    /// Whether patience may come to an end: there is one more to ask.
    pub fn is_patient(&self) -> bool {
        self.due().is_some()
    }

    /// A conversation with this server has come to nothing.
    pub fn failed(&mut self, server: SocketAddr, why: String) {
        self.running.retain(|running| *running != server);
        let known = self.servers.addresses.iter().position(|known| *known == server);
        if let Some(failure) = known.and_then(|index| self.failures.get_mut(index)) {
            *failure = Some(why);
        }
    }

    /// Whose turn it is. Nobody's while that server is still in conversation.
    fn due(&self) -> Option<SocketAddr> {
        let count = self.servers.addresses.len();
        let is_left = self.begun < count * self.servers.attempts.max(1);
        let server = self
            .servers
            .addresses
            .get((self.first + self.begun) % count.max(1))
            .filter(|_| is_left)?;
        (!self.running.contains(server)).then_some(*server)
    }

    fn describe_failures(&self) -> String {
        let servers = self.servers.addresses.iter().zip(&self.failures);
        let told = servers.filter_map(|(server, failure)| Some(format!("{server}: {}", failure.as_ref()?)));
        match told.collect::<Vec<_>>().join("; ") {
            told if told.is_empty() => "there is no name server".into(),
            told => told,
        }
    }
}

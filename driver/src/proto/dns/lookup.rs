//! Whom to ask, how, and when to give up.

// Addresses alone, without the sockets of `std::net`.
use core::net::SocketAddr;
use std::time::Duration;

use super::{Kind, Name, Query, Record, Reply};

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

/// How a question travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// As a datagram.
    Udp,
    /// Over a connection of its own.
    Tcp,
}

/// What to ask next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Who alone may answer.
    pub server: SocketAddr,
    /// How.
    pub transport: Transport,
    /// The question.
    pub query: Query,
    /// How long to wait.
    pub timeout: Duration,
}

/// The end of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// At least one record.
    Records(Vec<Record>),
    /// A server says that there are none.
    NoRecords(&'static str),
}

/// One question, until a server has answered it or all have failed.
#[derive(Debug)]
pub struct Lookup {
    name: Name,
    kind: Kind,
    servers: NameServers,
    /// What each server failed with last.
    failures: Vec<Option<String>>,
    /// Which server is asked first.
    first: usize,
    /// How many servers have failed, each as often as it did.
    failed: usize,
    transport: Transport,
    extended: bool,
}

impl Lookup {
    /// Nobody is asked yet. `random` chooses the first server where the configuration wants them to take turns.
    pub fn new(name: Name, kind: Kind, servers: NameServers, random: u16) -> Self {
        Self {
            name,
            kind,
            failures: vec![None; servers.addresses.len()],
            first: if servers.rotate { usize::from(random) } else { 0 },
            failed: 0,
            transport: first_transport(&servers),
            extended: true,
            servers,
        }
    }

    /// Whom to ask now, with `id`, which must be random.
    ///
    /// # Errors
    /// What each server failed with, when all have been asked often enough.
    pub fn next_exchange(&self, id: u16) -> Result<Exchange, String> {
        let turns = self.servers.addresses.len() * self.servers.attempts.max(1);
        match self.servers.addresses.get(self.server()) {
            Some(server) if self.failed < turns => Ok(Exchange {
                server: *server,
                transport: self.transport,
                query: Query {
                    id,
                    name: self.name.clone(),
                    kind: self.kind,
                    extended: self.extended,
                },
                timeout: self.servers.timeout,
            }),
            Some(_) => Err(self.describe_failures()),
            None => Err("there is no name server".into()),
        }
    }

    /// What came of the last exchange: a reply to its query, or why there is none. `None`: the next exchange is due.
    pub fn handle(&mut self, outcome: Result<Reply, String>) -> Option<Answer> {
        match outcome {
            Ok(Reply::Records(records)) => return Some(Answer::Records(records)),
            Ok(Reply::Nothing(why)) => return Some(Answer::NoRecords(why)),
            Ok(Reply::Truncated) if self.transport == Transport::Udp => self.transport = Transport::Tcp,
            Ok(Reply::Truncated) => self.fail("a truncated reply over TCP".into()),
            Ok(Reply::NotUnderstood(_)) if self.extended => self.extended = false,
            Ok(Reply::NotUnderstood(why) | Reply::Failure(why)) => self.fail(why.into()),
            Err(why) => self.fail(why),
        }
        None
    }

    fn server(&self) -> usize {
        (self.first + self.failed) % self.servers.addresses.len().max(1)
    }

    fn fail(&mut self, why: String) {
        let server = self.server();
        if let Some(failure) = self.failures.get_mut(server) {
            *failure = Some(why);
        }
        self.failed += 1;
        self.transport = first_transport(&self.servers);
        self.extended = true;
    }

    fn describe_failures(&self) -> String {
        let servers = self.servers.addresses.iter().zip(&self.failures);
        let told = servers.filter_map(|(server, failure)| Some(format!("{server}: {}", failure.as_ref()?)));
        told.collect::<Vec<_>>().join("; ")
    }
}

fn first_transport(servers: &NameServers) -> Transport {
    match servers.tcp_only {
        true => Transport::Tcp,
        false => Transport::Udp,
    }
}

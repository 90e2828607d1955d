//! How one server is asked, until it has answered or failed.

// Addresses alone, without the sockets of `std::net`.
use core::net::SocketAddr;
use std::time::Duration;

use super::{Kind, Name, Query, Record, Reply};

/// How a question travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// As a datagram.
    Udp,
    /// Over a connection of its own.
    Tcp,
}

/// A question and its reply.
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

/// What a server knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// At least one record.
    Records(Vec<Record>),
    /// There are none, and why.
    NoRecords(&'static str),
}

/// Asks one server: as a datagram, then over TCP if the reply is too long for one; with EDNS(0), then without if the server does
/// not understand it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    pub(super) server: SocketAddr,
    pub(super) transport: Transport,
    pub(super) extended: bool,
    pub(super) name: Name,
    pub(super) kind: Kind,
    pub(super) timeout: Duration,
}

impl Conversation {
    /// The server.
    pub fn server(&self) -> SocketAddr {
        self.server
    }

    /// What to ask now, with `id`, which must be random.
    pub fn exchange(&self, id: u16) -> Exchange {
        Exchange {
            server: self.server,
            transport: self.transport,
            query: Query {
                id,
                name: self.name.clone(),
                kind: self.kind,
                extended: self.extended,
            },
            timeout: self.timeout,
        }
    }

    /// What came of the exchange: a reply to its query, or why there is none. `None`: another exchange is due. An error is the end
    /// of the conversation.
    pub fn handle(&mut self, outcome: Result<Reply, String>) -> Option<Result<Answer, String>> {
        match outcome {
            Ok(Reply::Records(records)) => Some(Ok(Answer::Records(records))),
            Ok(Reply::Nothing(why)) => Some(Ok(Answer::NoRecords(why))),
            Ok(Reply::Truncated) if self.transport == Transport::Udp => {
                self.transport = Transport::Tcp;
                None
            }
            Ok(Reply::NotUnderstood(_)) if self.extended => {
                self.extended = false;
                None
            }
            Ok(Reply::Truncated) => Some(Err("a truncated reply over TCP".into())),
            Ok(Reply::NotUnderstood(why) | Reply::Failure(why)) => Some(Err(why.into())),
            Err(why) => Some(Err(why)),
        }
    }
}

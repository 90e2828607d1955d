//! The exchanges with one name server, until it has answered or failed.

// Addresses alone, without the sockets of `std::net`.
use core::net::SocketAddr;
use std::{fmt, time::Duration};

use super::{Kind, Name, Query, Record, Reply};

/// The transport of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// One datagram.
    Udp,
    /// A connection for this query.
    Tcp,
}

/// One query to send and the conditions of its reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The server. Replies from other addresses are ignored.
    pub server: SocketAddr,
    /// The transport.
    pub transport: Transport,
    /// The query.
    pub query: Query,
    /// Maximum time until the reply.
    pub timeout: Duration,
}

/// The answer of a name server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// At least one record.
    Records(Vec<Record>),
    /// There are no records; the response code.
    NoRecords(&'static str),
}

/// Why a name server gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerFailure {
    /// The reply is an error, or malformed.
    Reply(&'static str),
    /// The reply over TCP is truncated.
    TruncatedOverTcp,
    /// No reply within this time.
    Timeout(Duration),
    /// The socket failed with this error.
    Socket(String),
    /// The system gave no random numbers for the query's id.
    Random(String),
}

impl fmt::Display for ServerFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reply(reason) => f.write_str(reason),
            Self::TruncatedOverTcp => f.write_str("a truncated reply over TCP"),
            Self::Timeout(timeout) => write!(f, "no answer within {timeout:?}"),
            Self::Socket(error) => f.write_str(error),
            Self::Random(error) => write!(f, "the system has no random numbers: {error}"),
        }
    }
}

/// The exchanges with one server: over UDP, then over TCP if the reply is truncated (RFC 1035,
/// section 4.2.1); with EDNS(0), then without it if the server rejects the query (RFC 6891, section
/// 7).
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

    /// The next exchange. `id` must be random.
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

    /// Handles the outcome of the last exchange. `None` if another exchange follows; an error ends
    /// the conversation.
    pub fn handle(&mut self, outcome: Result<Reply, ServerFailure>) -> Option<Result<Answer, ServerFailure>> {
        match outcome {
            Ok(Reply::Records(records)) => Some(Ok(Answer::Records(records))),
            Ok(Reply::Nothing(code)) => Some(Ok(Answer::NoRecords(code))),
            Ok(Reply::Truncated) if self.transport == Transport::Udp => {
                self.transport = Transport::Tcp;
                None
            }
            Ok(Reply::NotUnderstood(_)) if self.extended => {
                self.extended = false;
                None
            }
            Ok(Reply::Truncated) => Some(Err(ServerFailure::TruncatedOverTcp)),
            Ok(Reply::NotUnderstood(reason) | Reply::Failure(reason)) => {
                Some(Err(ServerFailure::Reply(reason)))
            }
            Err(failure) => Some(Err(failure)),
        }
    }
}

//! Pool events (Connection Monitoring and Pooling specification).

use std::{fmt, time::Duration};

use crate::{Error, ServerAddress, bson::ObjectId};

/// Something that happened to a connection pool.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PoolEvent {
    /// A pool was made for a server.
    PoolCreated {
        /// The server.
        address: ServerAddress,
        /// The options that differ from their defaults.
        options: PoolOptions,
    },
    /// The pool serves requests from now on.
    PoolReady {
        /// The server.
        address: ServerAddress,
    },
    /// All connections of the pool were given up.
    PoolCleared {
        /// The server.
        address: ServerAddress,
        /// The service whose connections were given up; `None` without a load balancer.
        service_id: Option<ObjectId>,
        /// Whether connections in use were interrupted too.
        interrupt_in_use_connections: bool,
    },
    /// The pool is closed.
    PoolClosed {
        /// The server.
        address: ServerAddress,
    },
    /// A connection counts from now on; it is not established yet.
    ConnectionCreated {
        /// The server.
        address: ServerAddress,
        /// The driver's number of the connection in its pool.
        connection_id: u32,
    },
    /// A connection was established.
    ConnectionReady {
        /// The server.
        address: ServerAddress,
        /// The driver's number of the connection in its pool.
        connection_id: u32,
        /// How long that took.
        duration: Duration,
    },
    /// A connection was closed.
    ConnectionClosed {
        /// The server.
        address: ServerAddress,
        /// The driver's number of the connection in its pool.
        connection_id: u32,
        /// Why.
        reason: ConnectionClosedReason,
        /// The failure, where there was one.
        error: Option<Error>,
    },
    /// An operation asks for a connection.
    ConnectionCheckOutStarted {
        /// The server.
        address: ServerAddress,
    },
    /// It got none.
    ConnectionCheckOutFailed {
        /// The server.
        address: ServerAddress,
        /// Why.
        reason: CheckOutFailedReason,
        /// The failure, where there was one.
        error: Option<Error>,
        /// Since the request.
        duration: Duration,
    },
    /// It got this one.
    ConnectionCheckedOut {
        /// The server.
        address: ServerAddress,
        /// The driver's number of the connection in its pool.
        connection_id: u32,
        /// Since the request.
        duration: Duration,
    },
    /// A connection was given back.
    ConnectionCheckedIn {
        /// The server.
        address: ServerAddress,
        /// The driver's number of the connection in its pool.
        connection_id: u32,
    },
}

impl PoolEvent {
    /// The server whose pool it is.
    pub fn address(&self) -> &ServerAddress {
        match self {
            Self::PoolCreated { address, .. }
            | Self::PoolReady { address }
            | Self::PoolCleared { address, .. }
            | Self::PoolClosed { address }
            | Self::ConnectionCreated { address, .. }
            | Self::ConnectionReady { address, .. }
            | Self::ConnectionClosed { address, .. }
            | Self::ConnectionCheckOutStarted { address }
            | Self::ConnectionCheckOutFailed { address, .. }
            | Self::ConnectionCheckedOut { address, .. }
            | Self::ConnectionCheckedIn { address, .. } => address,
        }
    }
}

/// The options of a pool that differ from their defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolOptions {
    /// `maxPoolSize`
    pub max_pool_size: Option<u32>,
    /// `minPoolSize`
    pub min_pool_size: Option<u32>,
    /// `maxConnecting`
    pub max_connecting: Option<u32>,
    /// `maxIdleTimeMS`
    pub max_idle_time: Option<Duration>,
    /// `waitQueueTimeoutMS`
    pub wait_queue_timeout: Option<Duration>,
}

/// Why a connection was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionClosedReason {
    /// The pool was cleared after the connection was created.
    Stale,
    /// It was available for longer than `maxIdleTimeMS`.
    Idle,
    /// It could not be established, failed, or was given up with a reply outstanding.
    Error,
    /// The pool was closed.
    PoolClosed,
}

impl fmt::Display for ConnectionClosedReason {
    /// As the specification writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stale => "stale",
            Self::Idle => "idle",
            Self::Error => "error",
            Self::PoolClosed => "poolClosed",
        })
    }
}

/// Why a request got no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckOutFailedReason {
    /// The pool is closed.
    PoolClosed,
    /// `waitQueueTimeoutMS` was over.
    Timeout,
    /// The connection meant for it could not be established, or the pool was cleared.
    ConnectionError,
}

impl fmt::Display for CheckOutFailedReason {
    /// As the specification writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PoolClosed => "poolClosed",
            Self::Timeout => "timeout",
            Self::ConnectionError => "connectionError",
        })
    }
}

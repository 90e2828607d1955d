//! Connection pool events ([Connection Monitoring and Pooling], "Events").
//!
//! [Connection Monitoring and Pooling]:
//! https://github.com/mongodb/specifications/blob/master/source/connection-monitoring-and-pooling/connection-monitoring-and-pooling.md

use std::{fmt, time::Duration};

use crate::{Error, ServerAddress, bson::ObjectId};

/// An event of a connection pool. A client has one pool per server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PoolEvent {
    /// A pool was created. Connections are established after `PoolReady`.
    PoolCreated {
        /// The address of the pool's server.
        address: ServerAddress,
        /// The options of the pool that differ from their defaults.
        options: PoolOptions,
    },
    /// A pool was marked as ready: connections can be checked out and established.
    PoolReady {
        /// The address of the pool's server.
        address: ServerAddress,
    },
    /// A pool was cleared because the server or a connection to it failed: its connections became
    /// stale.
    PoolCleared {
        /// The address of the pool's server.
        address: ServerAddress,
        /// The service whose connections became stale. `None` unless the client is in load-balanced
        /// mode.
        service_id: Option<ObjectId>,
        /// Whether connections in use were interrupted.
        interrupt_in_use_connections: bool,
    },
    /// A pool was closed.
    PoolClosed {
        /// The address of the pool's server.
        address: ServerAddress,
    },
    /// A connection was created. It is not established yet.
    ConnectionCreated {
        /// The address of the pool's server.
        address: ServerAddress,
        /// The driver's ID of the connection.
        connection_id: u32,
    },
    /// A connection was established and is ready for use.
    ConnectionReady {
        /// The address of the pool's server.
        address: ServerAddress,
        /// The driver's ID of the connection.
        connection_id: u32,
        /// The time from the creation of the connection.
        duration: Duration,
    },
    /// A connection was closed.
    ConnectionClosed {
        /// The address of the pool's server.
        address: ServerAddress,
        /// The driver's ID of the connection.
        connection_id: u32,
        /// Why the connection was closed.
        reason: ConnectionClosedReason,
        /// The error, if the reason is an error.
        error: Option<Error>,
    },
    /// A check-out started.
    ConnectionCheckOutStarted {
        /// The address of the pool's server.
        address: ServerAddress,
    },
    /// A check-out failed.
    ConnectionCheckOutFailed {
        /// The address of the pool's server.
        address: ServerAddress,
        /// Why the check-out failed.
        reason: CheckOutFailedReason,
        /// The error, if the reason is a connection error.
        error: Option<Error>,
        /// The time from the start of the check-out.
        duration: Duration,
    },
    /// A connection was checked out.
    ConnectionCheckedOut {
        /// The address of the pool's server.
        address: ServerAddress,
        /// The driver's ID of the connection.
        connection_id: u32,
        /// The time from the start of the check-out.
        duration: Duration,
    },
    /// A connection was checked in.
    ConnectionCheckedIn {
        /// The address of the pool's server.
        address: ServerAddress,
        /// The driver's ID of the connection.
        connection_id: u32,
    },
}

impl PoolEvent {
    /// The server of the pool.
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

/// The options of a pool that differ from their defaults. `None`: the default.
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

/// The reason why a connection was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionClosedReason {
    /// The pool was cleared after the connection was established.
    Stale,
    /// The connection was available for longer than `maxIdleTimeMS`.
    Idle,
    /// Establishing the connection failed, the connection failed while in use, or it was checked in
    /// while a reply was outstanding.
    Error,
    /// The pool was closed.
    PoolClosed,
}

impl fmt::Display for ConnectionClosedReason {
    /// The value of the specification, e.g. `stale`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stale => "stale",
            Self::Idle => "idle",
            Self::Error => "error",
            Self::PoolClosed => "poolClosed",
        })
    }
}

/// The reason why a check-out failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckOutFailedReason {
    /// The pool was closed.
    PoolClosed,
    /// `waitQueueTimeoutMS` expired.
    Timeout,
    /// A connection could not be established, or the pool was cleared.
    ConnectionError,
}

impl fmt::Display for CheckOutFailedReason {
    /// The value of the specification, e.g. `timeout`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PoolClosed => "poolClosed",
            Self::Timeout => "timeout",
            Self::ConnectionError => "connectionError",
        })
    }
}

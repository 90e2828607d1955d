//! A connection that the pool could not give.

use std::{fmt, time::Duration};

use crate::{Error, ServerAddress};

/// Why a connection could not be checked out (Connection Monitoring and Pooling specification).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PoolError {
    /// The pool was cleared since the server failed; it opens again once the server is found healthy.
    Cleared {
        /// The server of the pool.
        address: ServerAddress,
        /// The failure that cleared it.
        cause: Option<Box<Error>>,
    },
    /// The pool was closed.
    Closed {
        /// The server of the pool.
        address: ServerAddress,
    },
    /// No connection was given back in time.
    WaitQueueTimeout {
        /// The server of the pool.
        address: ServerAddress,
        /// `waitQueueTimeoutMS`.
        timeout: Duration,
        /// Connections in the pool when the wait ended, in use or idle.
        connections: usize,
        /// `maxPoolSize`; 0 means no limit.
        max_pool_size: u32,
        /// What the connections were in use for; `None` unless the client is in load-balanced mode, where cursors and transactions
        /// hold on to connections.
        in_use: Option<ConnectionsInUse>,
    },
}

/// What the connections of a pool are in use for (Load Balancer specification).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionsInUse {
    /// Held by open cursors.
    pub cursors: usize,
    /// Held by transactions.
    pub transactions: usize,
    /// In use by other operations.
    pub other: usize,
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cleared { address, .. } => write!(
                f,
                "the connection pool of {address} was cleared because the server failed"
            ),
            Self::Closed { address } => write!(f, "the connection pool of {address} is closed"),
            Self::WaitQueueTimeout {
                address,
                timeout,
                connections,
                max_pool_size,
                in_use: None,
            } => write!(
                f,
                "no connection to {address} became free within {timeout:?} ({connections} of at most \
                 {max_pool_size} exist); raise maxPoolSize or waitQueueTimeoutMS"
            ),
            Self::WaitQueueTimeout {
                address,
                timeout,
                max_pool_size,
                in_use: Some(in_use),
                ..
            } => write!(
                f,
                "Timeout waiting for connection from the connection pool. maxPoolSize: {max_pool_size}, connections in use by \
                 cursors: {}, connections in use by transactions: {}, connections in use by other operations: {} (no connection to \
                 {address} became free within {timeout:?}; close cursors that are not needed, or raise maxPoolSize)",
                in_use.cursors, in_use.transactions, in_use.other
            ),
        }
    }
}

impl std::error::Error for PoolError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Cleared { cause, .. } => cause.as_deref().map(|cause| cause as _),
            _ => None,
        }
    }
}

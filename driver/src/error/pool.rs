//! Errors of connection pools.

use std::{fmt, time::Duration};

use crate::{Error, ServerAddress};

/// Checking out a connection failed ([Connection Monitoring and Pooling]).
///
/// [Connection Monitoring and Pooling]:
/// https://github.com/mongodb/specifications/blob/master/source/connection-monitoring-and-pooling/connection-monitoring-and-pooling.md
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PoolError {
    /// The pool was cleared because the server or a connection to it failed. It becomes usable when
    /// a check of the server succeeds.
    Cleared {
        /// The server of the pool.
        address: ServerAddress,
        /// The error that caused the clear.
        cause: Option<Box<Error>>,
    },
    /// The pool was closed, because the server left the deployment. After the shutdown of the client, the error is
    /// [`ErrorKind::Shutdown`](crate::ErrorKind::Shutdown).
    Closed {
        /// The server of the pool.
        address: ServerAddress,
    },
    /// No connection became available within `waitQueueTimeoutMS`.
    WaitQueueTimeout {
        /// The server of the pool.
        address: ServerAddress,
        /// `waitQueueTimeoutMS`.
        timeout: Duration,
        /// Number of connections in the pool when the wait ended, in use or idle.
        connections: usize,
        /// Number of those that were still being established, e.g. because a server or a callback of the login did not answer.
        pending: usize,
        /// What logins on connections of the client waited for, besides replies of servers: an access token, AWS credentials or
        /// Kerberos. The text names mechanism, user and `authSource`.
        awaited: Option<String>,
        /// `maxPoolSize`; 0 means no limit.
        max_pool_size: u32,
        /// What the connections were in use for. `None` unless the client is in load-balanced mode,
        /// where cursors and transactions pin connections.
        in_use: Option<ConnectionsInUse>,
    },
}

/// What the connections of a pool are in use for ([Load Balancer Support]).
///
/// [Load Balancer Support]:
/// https://github.com/mongodb/specifications/blob/master/source/load-balancers/load-balancers.md
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionsInUse {
    /// Number of connections pinned by open cursors.
    pub cursors: usize,
    /// Number of connections pinned by transactions.
    pub transactions: usize,
    /// Number of connections in use by other operations.
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
                pending,
                awaited,
                max_pool_size,
                in_use: None,
            } => {
                write!(
                    f,
                    "no connection to {address} became free within {timeout:?} ({connections} "
                )?;
                match max_pool_size {
                    0 => f.write_str("exist, without a limit")?,
                    max => write!(f, "of at most {max} exist")?,
                }
                if *pending > 0 {
                    write!(f, ", {pending} of them being opened and logged in")?;
                }
                if let Some(awaited) = awaited {
                    write!(f, ": {awaited}")?;
                }
                let is_full = *max_pool_size > 0 && *connections >= *max_pool_size as usize;
                f.write_str(match (is_full, *pending > 0) {
                    (true, _) => "); raise maxPoolSize or the time limit (timeoutMS or waitQueueTimeoutMS)",
                    (false, false) => "); raise the time limit (timeoutMS or waitQueueTimeoutMS)",
                    (false, true) => "); raise the time limit if opening a connection may take longer",
                })
            }
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
                 {address} became free within {timeout:?}; {hint})",
                in_use.cursors,
                in_use.transactions,
                in_use.other,
                hint = match max_pool_size {
                    0 => "raise the time limit (timeoutMS or waitQueueTimeoutMS)",
                    _ => "close cursors that are not needed, or raise maxPoolSize",
                }
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

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
    /// The pool was closed for good.
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
    },
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cleared { address, cause } => {
                write!(
                    f,
                    "the connection pool of {address} was cleared because the server failed"
                )?;
                cause.as_ref().map_or(Ok(()), |cause| write!(f, ": {cause}"))
            }
            Self::Closed { address } => write!(f, "the connection pool of {address} is closed"),
            Self::WaitQueueTimeout {
                address,
                timeout,
                connections,
                max_pool_size,
            } => write!(
                f,
                "no connection to {address} became free within {timeout:?} ({connections} of at most \
                 {max_pool_size} exist); raise maxPoolSize or waitQueueTimeoutMS"
            ),
        }
    }
}

impl std::error::Error for PoolError {}

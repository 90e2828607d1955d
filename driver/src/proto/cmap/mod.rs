//! The connection pool: a state machine without I/O and clock ([Connection Monitoring and
//! Pooling]).
//!
//! Methods report what happened and when; [`ConnectionPool::poll_action`] then returns what is to
//! be done. The machine is generic over the established connection `C`, the waiting request `W` and
//! the error `E`: it stores and returns them and never inspects them, so no lookup by number is
//! needed, and tests use plain numbers for all three.
//!
//! The events of the specification are actions in the same queue, so the machine decides their
//! order relative to each other and to the actions. A pool without a listener emits none.
//!
//! Behind a load balancer each service has its own generation. The service of a connection is
//! known after the handshake ([`ConnectionPool::identify`]), so its key is complete only after that (Load
//! Balancer specification, "Connection Pooling").
//!
//! [Connection Monitoring and Pooling]:
//! https://github.com/mongodb/specifications/blob/master/source/connection-monitoring-and-pooling/connection-monitoring-and-pooling.md

mod action;
mod drain;
mod lifecycle;
mod pool;
mod services;
#[cfg(test)]
mod tests;
mod wait_queue;

use std::time::Duration;

use crate::bson::ObjectId;
pub use crate::proto::event::ConnectionClosedReason;
pub use action::{Action, CheckOut, Event, Refusal};
pub use lifecycle::Clear;
pub use pool::ConnectionPool;
#[cfg(feature = "internals")]
pub use pool::FailedEstablishment;
pub use wait_queue::WaiterId;

/// The limits of one pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolLimits {
    /// `maxPoolSize`: the most connections, in use, available and pending together. 0: no limit.
    pub max_pool_size: u32,
    /// `minPoolSize`: the number of connections that are kept in the background.
    pub min_pool_size: u32,
    /// `maxConnecting`: the most connections that are established at the same time. 0 counts as 1.
    pub max_connecting: u32,
    /// `maxIdleTimeMS`: a connection available for longer is closed. `None`: no limit.
    pub max_idle_time: Option<Duration>,
}

/// Identifies a connection within its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionKey {
    /// 1 for the first connection of the pool, then ascending.
    pub id: u32,
    /// The generation of the pool, or of the service, when the connection was created. A connection
    /// of an older generation is stale.
    pub generation: u64,
    /// `serviceId` behind a load balancer, once the handshake has returned it.
    pub service_id: Option<ObjectId>,
}

/// The state of the pool (CMAP, "Connection Pool").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolState {
    /// Check-outs fail and no connection is established. The initial state, and the state after a
    /// clear.
    Paused,
    /// Check-outs are served.
    Ready,
    /// Final.
    Closed,
}

/// The number of connections and of waiting requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// In use, available, pending, draining, and those whose failure is not yet reported by
    /// [`ConnectionPool::establish_failed`].
    pub total: usize,
    /// Not in use.
    pub available: usize,
    /// Being established.
    pub pending: usize,
    /// Awaiting a reply to an operation that has ended.
    pub draining: usize,
    /// Requests in the WaitQueue.
    pub waiting: usize,
}

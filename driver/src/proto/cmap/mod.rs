//! The connection pool as a machine (Connection Monitoring and Pooling specification).
//!
//! The machine decides; it opens no socket and reads no clock. A call tells it what happened and when, and what is to be
//! done about it is then fetched with [`ConnectionPool::poll_action`]. It is generic over the established connection `C`,
//! over the waiting request `W` and over the failure `E`, which it stores and hands out but never looks into. So nothing
//! needs to be looked up by number, and a test can use plain numbers for all of them.
//!
//! The events of the specification are actions in the same queue, so that their order among themselves, and before or after
//! the deed, is the machine's. A pool that nobody listens to makes none.
//!
//! Behind a load balancer each service has generations of its own. A connection learns its service from the handshake
//! ([`ConnectionPool::identify`]), so its key is complete only then.

mod action;
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
pub use pool::{ConnectionPool, FailedEstablishment};
pub use wait_queue::WaiterId;

/// The limits of one pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolLimits {
    /// `maxPoolSize`: connections in use, idle and being established together; 0 means no limit.
    pub max_pool_size: u32,
    /// `minPoolSize`: this many are kept, in the background.
    pub min_pool_size: u32,
    /// `maxConnecting`: this many are established at a time; 0 counts as 1.
    pub max_connecting: u32,
    /// `maxIdleTimeMS`: a connection idle for longer is closed; `None` means never.
    pub max_idle_time: Option<Duration>,
}

/// Names a connection within its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionKey {
    /// 1 for the first connection of the pool, then always one more.
    pub id: u32,
    /// The generation, of the pool or of the service, when the connection was created. One of an older generation is stale.
    pub generation: u64,
    /// The service behind the load balancer that it leads to, once that is known.
    pub service_id: Option<ObjectId>,
}

/// Whether the pool gives connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolState {
    /// The server is not known to be healthy: requests are refused, nothing is established.
    Paused,
    /// Requests are served.
    Ready,
    /// For good.
    Closed,
}

/// How many connections and waiting requests there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// In use, available, pending, and failed ones whose failure is being dealt with.
    pub total: usize,
    /// Idle.
    pub available: usize,
    /// Being established.
    pub pending: usize,
    /// Requests in the wait queue.
    pub waiting: usize,
}

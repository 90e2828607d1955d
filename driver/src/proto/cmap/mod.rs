//! The connection pool as a machine (Connection Monitoring and Pooling specification).
//!
//! The machine decides; it opens no socket and reads no clock. A call tells it what happened and when, and what is to be
//! done about it is then fetched with [`ConnectionPool::poll_action`]. It is generic over the established connection `C`
//! and over the waiting request `W`, which it stores and hands out but never looks into. So nothing needs to be looked up
//! by number, and a test can use plain numbers for both.
//!
//! The events of the specification fit in here: each belongs to a place where the machine changes a counter or its state,
//! and an `Emit` action in the same queue would keep their order.

mod action;
mod pool;
#[cfg(test)]
mod tests;
mod wait_queue;

use std::time::Duration;

pub use action::{Action, CheckOut, CloseReason, Refusal};
pub use pool::ConnectionPool;
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
    /// The pool's generation when the connection was created. A connection of an older one is stale.
    pub generation: u64,
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
    /// In use, available and pending together.
    pub total: usize,
    /// Idle.
    pub available: usize,
    /// Being established.
    pub pending: usize,
    /// Requests in the wait queue.
    pub waiting: usize,
}

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
mod wait_queue;

use std::time::Duration;

pub(crate) use action::{Action, CheckOut, CloseReason, Refusal};
pub(crate) use pool::ConnectionPool;
pub(crate) use wait_queue::WaiterId;

/// The limits of one pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolLimits {
    /// `maxPoolSize`: connections in use, idle and being established together; 0 means no limit.
    pub(crate) max_pool_size: u32,
    /// `minPoolSize`: this many are kept, in the background.
    pub(crate) min_pool_size: u32,
    /// `maxConnecting`: this many are established at a time; 0 counts as 1.
    pub(crate) max_connecting: u32,
    /// `maxIdleTimeMS`: a connection idle for longer is closed; `None` means never.
    pub(crate) max_idle_time: Option<Duration>,
}

/// Names a connection within its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionKey {
    /// 1 for the first connection of the pool, then always one more.
    pub(crate) id: u32,
    /// The pool's generation when the connection was created. A connection of an older one is stale.
    pub(crate) generation: u64,
}

/// Whether the pool gives connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolState {
    /// The server is not known to be healthy: requests are refused, nothing is established.
    Paused,
    /// Requests are served.
    Ready,
    /// For good.
    Closed,
}

/// How many connections and waiting requests there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    /// In use, available and pending together.
    pub(crate) total: usize,
    /// Idle.
    pub(crate) available: usize,
    /// Being established.
    pub(crate) pending: usize,
    /// Requests in the wait queue.
    pub(crate) waiting: usize,
}

//! The options of a pool.

use std::time::Duration;

use crate::proto::cmap::PoolLimits;

/// The part of the client's options that pools use.
#[derive(Clone, Debug)]
pub struct PoolSettings {
    /// `maxPoolSize`; 0 means no limit.
    pub max_pool_size: u32,
    /// `minPoolSize`.
    pub min_pool_size: u32,
    /// `maxConnecting`.
    pub max_connecting: u32,
    /// `maxIdleTimeMS`; `None` and zero mean no limit.
    pub max_idle_time: Option<Duration>,
    /// `waitQueueTimeoutMS`; `None` and zero mean no limit.
    pub wait_queue_timeout: Option<Duration>,
}

impl PoolSettings {
    pub(super) fn limits(&self) -> PoolLimits {
        PoolLimits {
            max_pool_size: self.max_pool_size,
            min_pool_size: self.min_pool_size,
            max_connecting: self.max_connecting,
            max_idle_time: self.max_idle_time.filter(|limit| !limit.is_zero()),
        }
    }
}

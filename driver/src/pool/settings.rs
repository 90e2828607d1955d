//! The options of a pool.

use std::{sync::Arc, time::Duration};

use crate::{
    proto::{
        cmap::PoolLimits,
        event::{EventListener, PoolEvent, PoolOptions},
    },
    types::in_flight::InFlight,
};

/// The options of a pool.
#[derive(Clone, Debug)]
pub struct PoolSettings {
    /// `maxPoolSize`. 0: no limit.
    pub max_pool_size: u32,
    /// `minPoolSize`.
    pub min_pool_size: u32,
    /// `maxConnecting`.
    pub max_connecting: u32,
    /// `maxIdleTimeMS`. `None` and zero: no limit.
    pub max_idle_time: Option<Duration>,
    /// `waitQueueTimeoutMS`. `None` and zero: no limit.
    pub wait_queue_timeout: Option<Duration>,
    /// The interval of the background task. `None`: there is none.
    pub maintenance_interval: Option<Duration>,
    /// The listener for pool events.
    pub listener: Option<EventListener<PoolEvent>>,
    /// Counts the connections whose late replies are awaited.
    pub in_flight: Option<Arc<InFlight>>,
}

impl Default for PoolSettings {
    /// The defaults of the specification.
    fn default() -> Self {
        Self {
            max_pool_size: 100,
            min_pool_size: 0,
            max_connecting: 2,
            max_idle_time: None,
            wait_queue_timeout: None,
            maintenance_interval: Some(Duration::from_secs(10)),
            listener: None,
            in_flight: None,
        }
    }
}

impl PoolSettings {
    /// The options that differ from their defaults, for the event of the pool's creation.
    pub(super) fn options(&self) -> PoolOptions {
        let default = Self::default();
        let size = |own: u32, default: u32| (own != default).then_some(own);
        let time = |own: Option<Duration>| own.filter(|time| !time.is_zero());
        PoolOptions {
            max_pool_size: size(self.max_pool_size, default.max_pool_size),
            min_pool_size: size(self.min_pool_size, default.min_pool_size),
            max_connecting: size(self.max_connecting, default.max_connecting),
            max_idle_time: time(self.max_idle_time),
            wait_queue_timeout: time(self.wait_queue_timeout),
        }
    }

    pub(super) fn limits(&self) -> PoolLimits {
        PoolLimits {
            max_pool_size: self.max_pool_size,
            min_pool_size: self.min_pool_size,
            max_connecting: self.max_connecting,
            max_idle_time: self.max_idle_time.filter(|limit| !limit.is_zero()),
        }
    }
}

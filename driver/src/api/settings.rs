//! A client's options, taken apart for the layers below: each sees only its own.

use crate::{
    Result,
    connection::ConnectionSettings,
    execution::ExecutionSettings,
    options::ClientOptions,
    pool::PoolSettings,
    proto::{handshake::client_metadata, retry::RetryOptions},
    topology::TopologySettings,
};

/// `maxAdaptiveRetries` where the application does not say (Client Backpressure specification).
const DEFAULT_ADAPTIVE_RETRIES: u32 = 2;

pub(super) fn execution(options: &ClientOptions) -> ExecutionSettings {
    ExecutionSettings {
        retry: RetryOptions {
            reads: options.retry_reads,
            writes: options.retry_writes,
            max_adaptive_retries: options.max_adaptive_retries.unwrap_or(DEFAULT_ADAPTIVE_RETRIES),
        },
        overload_retargeting: options.enable_overload_retargeting,
        jitter: options.jitter,
        command_listener: options.command_listener.clone(),
        socket_timeout: options.socket_timeout,
    }
}

pub(super) fn topology(options: &ClientOptions) -> Result<TopologySettings> {
    Ok(TopologySettings {
        seeds: options.hosts.clone(),
        direct: options.direct_connection.unwrap_or(false),
        replica_set: options.replica_set.clone(),
        server_selection_timeout: options.server_selection_timeout,
        local_threshold: options.local_threshold,
        heartbeat_frequency: options.heartbeat_frequency,
        connection: ConnectionSettings {
            connect_timeout: options.connect_timeout,
            metadata: client_metadata(options.app_name.as_deref())?,
            load_balanced: options.load_balanced,
        },
        pool: pool(options),
        listener: options.sdam_listener.clone(),
    })
}

fn pool(options: &ClientOptions) -> PoolSettings {
    PoolSettings {
        max_pool_size: options.max_pool_size,
        min_pool_size: options.min_pool_size,
        max_connecting: options.max_connecting,
        max_idle_time: options.max_idle_time,
        wait_queue_timeout: options.wait_queue_timeout,
        listener: options.pool_listener.clone(),
        ..PoolSettings::default()
    }
}

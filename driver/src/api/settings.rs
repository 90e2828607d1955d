//! Converts the options of a client to the settings of each layer.

use std::sync::Arc;

use super::Environment;
use crate::{
    Result,
    connection::{ConnectionSettings, LoginSettings, SharedMetadata, TlsConfig},
    execution::ExecutionSettings,
    options::{ClientOptions, ServerMonitoringMode},
    pool::PoolSettings,
    proto::{
        handshake::{ClientEnvironment, ClientMetadata},
        retry::RetryOptions,
        srv::SrvPolling,
        wire::CompressionSettings,
    },
    telemetry::{self, Listeners, Tracing},
    topology::{SrvPollerSettings, TopologySettings},
    types::in_flight::InFlight,
};

/// The default of `maxAdaptiveRetries` (Client Backpressure).
const DEFAULT_ADAPTIVE_RETRIES: u32 = 2;

/// The listeners of the application, wrapped by the log messages.
pub(super) fn listeners(options: &ClientOptions, environment: &Environment) -> Listeners {
    let own = Listeners {
        command: options.command_listener.clone(),
        pool: options.pool_listener.clone(),
        sdam: options.sdam_listener.clone(),
        ..Listeners::default()
    };
    telemetry::attach(
        own,
        options.max_log_document_length,
        &|name| environment.variable(name),
        environment.log_tag(options),
    )
}

pub(super) fn execution(
    options: &ClientOptions,
    environment: &Environment,
    listeners: &Listeners,
    in_flight: &Arc<InFlight>,
) -> ExecutionSettings {
    ExecutionSettings {
        retry: RetryOptions {
            reads: options.retry_reads,
            writes: options.retry_writes,
            max_adaptive_retries: options.max_adaptive_retries.unwrap_or(DEFAULT_ADAPTIVE_RETRIES),
        },
        overload_retargeting: options.enable_overload_retargeting,
        jitter: environment.jitter(options),
        server_api: options.server_api,
        command_listener: listeners.command.clone(),
        selection_log: listeners.selection.clone(),
        server_selection_timeout: options.server_selection_timeout,
        tracing: Tracing::new(&options.tracing, &|name| environment.variable(name)),
        socket_timeout: options.socket_timeout,
        in_flight: Arc::clone(in_flight),
        encryption: None,
    }
}

/// The client metadata of the handshakes.
pub(super) fn metadata(options: &ClientOptions, environment: &Environment) -> Result<SharedMetadata> {
    let client_environment =
        ClientEnvironment::detect(&|name| environment.variable(name), environment.is_docker());
    let mut metadata = ClientMetadata::new(options.app_name.as_deref(), client_environment)?;
    if let Some(info) = &options.driver_info {
        metadata.append(info.clone())?;
    }
    Ok(metadata.into())
}

/// The settings of the topology. Reads the files of the `tls…` options.
pub(super) fn topology(
    options: &ClientOptions,
    environment: &Environment,
    metadata: &SharedMetadata,
    listeners: &Listeners,
    in_flight: &Arc<InFlight>,
    login: Option<LoginSettings>,
) -> Result<TopologySettings> {
    let tls = match options.tls.enabled {
        Some(true) => Some(TlsConfig::new(&options.tls)?),
        _ => None,
    };
    Ok(TopologySettings {
        seeds: options.hosts.clone(),
        direct: options.direct_connection.unwrap_or(false),
        replica_set: options.replica_set.clone(),
        server_selection_timeout: options.server_selection_timeout,
        local_threshold: options.local_threshold,
        heartbeat_frequency: options.heartbeat_frequency,
        streaming: match options.server_monitoring_mode {
            ServerMonitoringMode::Stream => true,
            ServerMonitoringMode::Poll => false,
            ServerMonitoringMode::Auto => {
                !ClientEnvironment::detect(&|name| environment.variable(name), false).is_faas()
            }
        },
        connection: ConnectionSettings {
            tls,
            load_balanced: options.load_balanced,
            server_api: options.server_api,
            dialer: environment.dialer(),
            compression: CompressionSettings::new(&options.compressors, options.zlib_compression_level),
            dns: environment.dns(),
            proxy: options.proxy.clone(),
            login,
            command_timeout: options.timeout,
            ..ConnectionSettings::new(options.connect_timeout, metadata.clone())
        },
        pool: PoolSettings {
            listener: listeners.pool.clone(),
            in_flight: Some(Arc::clone(in_flight)),
            ..pool(options)
        },
        listener: listeners.sdam.clone(),
        srv: srv(options, environment, listeners),
    })
}

/// The user. `None` without a credential.
pub(super) fn login(options: &ClientOptions, environment: &Environment) -> Result<Option<LoginSettings>> {
    let (Some(identity), Some(credential)) = (options.identity()?, options.resolved_credential()?) else {
        return Ok(None);
    };
    let settings = LoginSettings::new(identity);
    Ok(Some(settings.with_sources(&credential, environment.login())))
}

/// The settings of SRV polling. `None` in load-balanced mode, where SRV records are not polled.
fn srv(
    options: &ClientOptions,
    environment: &Environment,
    listeners: &Listeners,
) -> Option<SrvPollerSettings> {
    let origin = options.srv_origin.clone().filter(|_| !options.load_balanced)?;
    Some(SrvPollerSettings {
        polling: SrvPolling::new(
            origin.name,
            options.srv_max_hosts,
            options.heartbeat_frequency,
            environment.min_rescan_interval(),
            origin.ttl,
        ),
        dns: environment.dns(),
        lookup_timeout: options.connect_timeout,
        log: listeners.srv_polling.clone(),
    })
}

fn pool(options: &ClientOptions) -> PoolSettings {
    PoolSettings {
        max_pool_size: options.max_pool_size,
        min_pool_size: options.min_pool_size,
        max_connecting: options.max_connecting,
        max_idle_time: options.max_idle_time,
        wait_queue_timeout: options.wait_queue_timeout,
        ..PoolSettings::default()
    }
}

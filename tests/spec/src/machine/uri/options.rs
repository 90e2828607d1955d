//! Client options by their names in connection strings.

use marula_driver::{
    internals,
    options::{
        Acknowledgment, AuthMechanism, ClientOptions, Compressor, ReadConcernLevel, ServerMonitoringMode,
    },
};
use serde_json::{Value, json};
use std::time::Duration;

/// The value of an option in the form of the test files. Null if it is not set.
///
/// # Errors
/// For an option or a value that is not listed here.
pub(super) fn value(options: &ClientOptions, name: &str) -> Result<Value, String> {
    let millis = |duration: Duration| json!(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
    let optional_millis = |duration: Option<Duration>| duration.map_or(Value::Null, millis);
    let secrets = internals::secrets(options);
    let credential = options.credential.as_ref();
    let proxy = options.proxy.as_ref();
    let tls = &options.tls;
    Ok(match name.to_ascii_lowercase().as_str() {
        "appname" => json!(options.app_name),
        "authmechanism" => {
            json!(
                credential
                    .and_then(|c| c.mechanism.as_ref())
                    .map(AuthMechanism::as_str)
            )
        }
        "authmechanismproperties" => json!(credential.map(|c| &c.mechanism_properties)),
        "authsource" => json!(credential.and_then(|c| c.source.as_ref())),
        "compressors" => {
            let names: Vec<&str> = options.compressors.iter().map(compressor).collect();
            json!(names)
        }
        "connecttimeoutms" => millis(options.connect_timeout),
        "directconnection" => json!(options.direct_connection),
        "enableoverloadretargeting" => json!(options.enable_overload_retargeting),
        "heartbeatfrequencyms" => millis(options.heartbeat_frequency),
        "journal" => json!(options.write_concern.journal),
        "loadbalanced" => json!(options.load_balanced),
        "localthresholdms" => millis(options.local_threshold),
        "maxadaptiveretries" => json!(options.max_adaptive_retries),
        "maxconnecting" => json!(options.max_connecting),
        "maxidletimems" => optional_millis(options.max_idle_time),
        "maxpoolsize" => json!(options.max_pool_size),
        "maxstalenessseconds" => json!(options.read_preference.max_staleness.map(|bound| bound.as_secs())),
        "minpoolsize" => json!(options.min_pool_size),
        "proxyhost" => json!(proxy.map(|proxy| &proxy.host)),
        "proxypassword" => json!(secrets.proxy_password),
        "proxyport" => json!(proxy.map(|proxy| proxy.port)),
        "proxyusername" => json!(proxy.map(|proxy| &proxy.username)),
        "readconcernlevel" => json!(options.read_concern.level.as_ref().map(ReadConcernLevel::as_str)),
        "readpreference" => json!(options.read_preference.mode.as_str()),
        "readpreferencetags" => json!(options.read_preference.tag_sets),
        "replicaset" => json!(options.replica_set),
        "retryreads" => json!(options.retry_reads),
        "retrywrites" => json!(options.retry_writes),
        "servermonitoringmode" => match options.server_monitoring_mode {
            ServerMonitoringMode::Auto => json!("auto"),
            ServerMonitoringMode::Stream => json!("stream"),
            ServerMonitoringMode::Poll => json!("poll"),
            other => return Err(format!("unsupported serverMonitoringMode {other:?}")),
        },
        "serverselectiontimeoutms" => millis(options.server_selection_timeout),
        "sockettimeoutms" => optional_millis(options.socket_timeout),
        "srvmaxhosts" => json!(options.srv_max_hosts),
        "srvservicename" => json!(options.srv_service_name),
        "ssl" | "tls" => json!(tls.enabled),
        "timeoutms" => optional_millis(options.timeout),
        "tlsallowinvalidcertificates" => json!(tls.allow_invalid_certificates),
        "tlsallowinvalidhostnames" => json!(tls.allow_invalid_hostnames),
        "tlscafile" => json!(tls.ca_file),
        "tlscertificatekeyfile" => json!(tls.certificate_key_file),
        "tlscertificatekeyfilepassword" => json!(secrets.certificate_key_file_password),
        "tlsdisablecertificaterevocationcheck" => json!(tls.disable_certificate_revocation_check),
        "tlsdisableocspendpointcheck" => json!(tls.disable_ocsp_endpoint_check),
        "tlsinsecure" => json!(tls.insecure),
        "w" => match &options.write_concern.w {
            None => Value::Null,
            Some(Acknowledgment::Nodes(nodes)) => json!(nodes),
            Some(Acknowledgment::Majority) => json!("majority"),
            Some(Acknowledgment::Custom(name)) => json!(name),
            Some(other) => return Err(format!("unsupported w {other:?}")),
        },
        "waitqueuetimeoutms" => optional_millis(options.wait_queue_timeout),
        "wtimeoutms" => optional_millis(options.write_concern.w_timeout),
        "zlibcompressionlevel" => json!(options.zlib_compression_level),
        _ => return Err(format!("unknown connection string option {name}")),
    })
}

fn compressor(compressor: &Compressor) -> &'static str {
    match compressor {
        Compressor::Snappy => "snappy",
        Compressor::Zlib => "zlib",
        Compressor::Zstd => "zstd",
        _ => "(another)",
    }
}

/// Whether a value equals that of a test file. The driver's mechanism properties are strings; the
/// files also contain booleans.
pub(super) fn same(actual: &Value, expected: &Value) -> bool {
    match (actual, expected) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && b.iter()
                    .all(|(key, value)| a.get(key).is_some_and(|actual| same(actual, value)))
        }
        (Value::String(text), Value::Bool(flag)) => *text == flag.to_string(),
        _ => actual == expected,
    }
}

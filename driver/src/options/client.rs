//! The options of a client ([URI Options]).
//!
//! [URI Options]:
//! https://github.com/mongodb/specifications/blob/master/source/uri-options/uri-options.md

use std::{net::IpAddr, time::Duration};

use super::{
    AuthMechanism, Compressor, Credential, DriverInfo, Proxy, ReadConcern, ReadPreference, ServerApi,
    TlsOptions, TracingOptions, WriteConcern, srv::SrvOrigin,
};
use crate::{
    Error, Result, ServerAddress,
    proto::event::{CommandEvent, EventListener, PoolEvent, SdamEvent},
};

/// The default of `srvServiceName`.
const DEFAULT_SRV_SERVICE: &str = "mongodb";

/// How the monitors of a client check servers ([Server Monitoring], "serverMonitoringMode").
///
/// [Server Monitoring]:
/// https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-monitoring.md
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerMonitoringMode {
    /// `Poll` on a Function-as-a-Service platform, `Stream` otherwise. Such a platform suspends the
    /// process between requests, and streamed replies would accumulate. The default.
    #[default]
    Auto,
    /// Use the streaming protocol with servers that support it (MongoDB 4.4+). It needs an
    /// additional connection per server. Older servers are polled.
    Stream,
    /// Send `hello` every `heartbeatFrequencyMS`. Changes of the topology are detected later than
    /// with `Stream`.
    Poll,
}

/// The options of a client, named after those of the [URI Options] specification.
///
/// Start from [`parse`](Self::parse) or from the default, which is that of `mongodb://localhost`,
/// and assign fields. They are validated when a [client is created](crate::Client::with_options).
/// `Debug` prints no passwords or other secrets.
///
/// ```
/// use marula_driver::options::ClientOptions;
/// let mut options = ClientOptions::parse("mongodb://localhost/shop?maxPoolSize=20")?;
/// options.app_name = Some("checkout".into());
/// assert_eq!(options.max_pool_size, 20);
/// assert_eq!(options.default_database.as_deref(), Some("shop"));
/// # Ok::<(), marula_driver::Error>(())
/// ```
///
/// [URI Options]:
/// https://github.com/mongodb/specifications/blob/master/source/uri-options/uri-options.md
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClientOptions {
    /// The seed list. Default: `localhost:27017`.
    pub hosts: Vec<ServerAddress>,
    /// Whether the scheme is `mongodb+srv`. `hosts` then has one host name, for DNS records that
    /// [`resolve`](Self::resolve) replaces with the hosts found. Default: `false`.
    pub srv: bool,
    /// `srvMaxHosts`: the maximum number of hosts taken from the SRV records. Only with
    /// `mongodb+srv`, and not with `replicaSet` or `loadBalanced=true`. Default: 0, no limit.
    pub srv_max_hosts: u32,
    /// `srvServiceName`: the service name in SRV queries. Only with `mongodb+srv`. Default:
    /// `mongodb`.
    pub srv_service_name: String,
    /// The database in the path of the connection string, used by
    /// [`Client::default_database`](crate::Client::default_database). Default: none.
    pub default_database: Option<String>,
    /// `appName`: the name of the application in the server's logs and in `currentOp`, at most 128
    /// bytes. Default: none.
    pub app_name: Option<String>,
    /// The user that connections authenticate as, by one of the mechanisms of [`Credential`]. Default: no
    /// authentication.
    pub credential: Option<Credential>,
    /// The `tls…` options. Default: TLS is disabled; enabled for `mongodb+srv`.
    pub tls: TlsOptions,
    /// `proxyHost`, `proxyPort`, `proxyUsername` and `proxyPassword`: the SOCKS5 proxy that
    /// connections go through. Default: none.
    pub proxy: Option<Proxy>,
    /// `compressors`, in order of preference. Messages are compressed with the first that the
    /// server supports, except those of handshakes and authentication. Default: none. A compressor
    /// whose feature is disabled causes a [warning](Self::warnings) in a connection string, and an
    /// error when a client is created with it here.
    pub compressors: Vec<Compressor>,
    /// `zlibCompressionLevel`: from -1 to 9. 0 stores without compression, 1 is fastest, 9 is
    /// smallest, -1 is zlib's default (6). Default: -1. Applies to messages sent; the server has
    /// its own setting.
    pub zlib_compression_level: Option<i32>,
    /// `replicaSet`: the name of the replica set. Servers of other sets are not used. Default:
    /// none; the topology type is discovered.
    pub replica_set: Option<String>,
    /// `directConnection`: whether to connect only to the given host, whatever its type. Only with
    /// one host, and not with `mongodb+srv`. Default: `false`.
    pub direct_connection: Option<bool>,
    /// `loadBalanced`: whether the host is a load balancer in front of the deployment (MongoDB
    /// 5.0+). Only with one host, and not with `replicaSet`, `directConnection=true` or
    /// `srvMaxHosts`. Default: `false`.
    pub load_balanced: bool,
    /// `connectTimeoutMS`: the time limit for establishing a connection: resolving the host,
    /// opening the socket, the TLS and MongoDB handshakes, and authentication, without the time of a callback
    /// or an environment of `MONGODB-OIDC`. Default: 10 s. Zero means no limit.
    pub connect_timeout: Duration,
    /// `socketTimeoutMS`: the time limit for the exchange of one command, from the first byte sent
    /// to the last byte of the reply. If it expires, the operation fails with a
    /// [`Network`](crate::ErrorKind::Network) error and its connection is closed; the server may
    /// continue to run the command. Default: no limit, as zero. Ignored with `timeoutMS`, in favor of
    /// which the specifications deprecate it.
    pub socket_timeout: Option<Duration>,
    /// `timeoutMS`: the time limit for an operation: server selection, check-out, establishing a
    /// connection, all commands, and retries. Default: not set. Zero means no limit. Databases,
    /// collections and actions can set their own.
    ///
    /// If it is set, also to zero: `socketTimeoutMS`, `waitQueueTimeoutMS`, `wTimeoutMS` and
    /// `maxTimeMS` are ignored, an operation is retried as often as the time allows, and an expired
    /// time limit is an error of the kind [`Timeout`](crate::ErrorKind::Timeout).
    pub timeout: Option<Duration>,
    /// `serverSelectionTimeoutMS`: how long an operation waits for a suitable server. Default: 30
    /// s. Zero means no limit here; in a connection string, the least value is 1.
    pub server_selection_timeout: Duration,
    /// `localThresholdMS`: the size of the latency window. Among the suitable servers, those are
    /// used whose round-trip time exceeds that of the nearest by at most this. Default: 15 ms.
    pub local_threshold: Duration,
    /// `heartbeatFrequencyMS`: the interval between checks of a server. From 500 ms to 2³¹ - 1 ms.
    /// Default: 10 s.
    pub heartbeat_frequency: Duration,
    /// `serverMonitoringMode`: whether monitors use the streaming protocol. Default: `auto`.
    pub server_monitoring_mode: ServerMonitoringMode,
    /// `maxPoolSize`: the maximum number of connections per server. Default: 100. 0 means no limit.
    ///
    /// Operations that find all connections in use wait for one in the order of their arrival, also the commit or the
    /// abort of a transaction, whose locks the server holds meanwhile. Only the abort of a session that is dropped
    /// takes its place in that order at once.
    pub max_pool_size: u32,
    /// `minPoolSize`: the number of connections per server that are kept open. At most
    /// `maxPoolSize`. Default: 0.
    pub min_pool_size: u32,
    /// `maxConnecting`: the maximum number of connections per server that are established at the
    /// same time. Default: 2. At least 1.
    pub max_connecting: u32,
    /// `maxIdleTimeMS`: how long a connection can be idle before it is closed. Default: no limit,
    /// as zero.
    pub max_idle_time: Option<Duration>,
    /// `waitQueueTimeoutMS`: how long an operation waits for a connection of the pool. If it
    /// expires, the operation fails with
    /// [`PoolError::WaitQueueTimeout`](crate::PoolError::WaitQueueTimeout). Default: no limit, as
    /// zero. Ignored with `timeoutMS`, in favor of which the specifications deprecate it.
    pub wait_queue_timeout: Option<Duration>,
    /// `readPreference`, `readPreferenceTags` and `maxStalenessSeconds` of operations that do not
    /// set their own. Default: `primary`.
    pub read_preference: ReadPreference,
    /// `readConcernLevel` of operations that do not set their own. Default: not sent; the server's
    /// default applies.
    pub read_concern: ReadConcern,
    /// `w`, `journal` and `wTimeoutMS` of operations that do not set their own. Default: not sent;
    /// the server's default applies.
    pub write_concern: WriteConcern,
    /// `retryReads`: whether [retryable reads](crate::action#retries) are retried: once, or
    /// with [`timeout`](Self::timeout) until it expires. Default: `true`.
    pub retry_reads: bool,
    /// `retryWrites`: whether [retryable writes](crate::action#retries) are retried (replica sets
    /// and sharded clusters): once, or with [`timeout`](Self::timeout) until it expires. Default:
    /// `true`.
    pub retry_writes: bool,
    /// `maxAdaptiveRetries`: the maximum number of retries of an operation that an overloaded
    /// server rejected, with exponential backoff (Client Backpressure). Reads and writes are
    /// retried only if `retryReads` or `retryWrites` is `true`, `run_command` only if both are.
    /// Default: 2. 0 disables these retries.
    pub max_adaptive_retries: Option<u32>,
    /// `enableOverloadRetargeting`: whether a retry after an overload error prefers a different
    /// server of a replica set. Default: `false`. On a sharded cluster all retries prefer a
    /// different mongos.
    pub enable_overload_retargeting: bool,
    /// The library that wraps the driver. It is sent in the handshake. Default: none.
    /// [`Client::append_metadata`](crate::Client::append_metadata) adds further libraries.
    pub driver_info: Option<DriverInfo>,
    /// The version of the Stable API that the application requires (MongoDB 5.0+). Default: none is
    /// declared.
    pub server_api: Option<ServerApi>,
    /// Receives command monitoring events. Default: none. See [`event`](crate::event).
    pub command_listener: Option<EventListener<CommandEvent>>,
    /// Receives connection pool events. Default: none.
    pub pool_listener: Option<EventListener<PoolEvent>>,
    /// Receives discovery and monitoring events. Default: none.
    pub sdam_listener: Option<EventListener<SdamEvent>>,
    /// The length in bytes after which documents in [log messages](crate::logs) are truncated.
    /// Default: the environment variable `MONGODB_LOG_MAX_DOCUMENT_LENGTH`, or 1000. Without the
    /// feature `tracing`, nothing is logged.
    pub max_log_document_length: Option<usize>,
    /// The spans of operations and commands. Default: those of the environment variables. See
    /// [`traces`](crate::traces).
    pub tracing: TracingOptions,
    /// Values that tests replace.
    #[cfg(feature = "internals")]
    pub(crate) overrides: super::overrides::Overrides,
    pub(crate) warnings: Vec<String>,
    /// `authSource`, also without a credential.
    pub(crate) auth_source: Option<String>,
    /// Whether the connection string contains `loadBalanced`, with either value.
    pub(crate) load_balanced_given: bool,
    /// The connection string has an `authMechanism` that does not exist.
    pub(crate) ignored_mechanism: bool,
    /// The origin of `hosts`. `None` until they have been resolved.
    pub(crate) srv_origin: Option<SrvOrigin>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            hosts: vec![ServerAddress::tcp(
                "localhost",
                crate::types::address::DEFAULT_PORT,
            )],
            srv: false,
            srv_max_hosts: 0,
            srv_service_name: DEFAULT_SRV_SERVICE.into(),
            default_database: None,
            app_name: None,
            credential: None,
            tls: TlsOptions::default(),
            proxy: None,
            compressors: Vec::new(),
            zlib_compression_level: None,
            replica_set: None,
            direct_connection: None,
            load_balanced: false,
            connect_timeout: Duration::from_secs(10),
            socket_timeout: None,
            timeout: None,
            server_selection_timeout: Duration::from_secs(30),
            local_threshold: Duration::from_millis(15),
            heartbeat_frequency: Duration::from_secs(10),
            server_monitoring_mode: ServerMonitoringMode::Auto,
            max_pool_size: 100,
            min_pool_size: 0,
            max_connecting: 2,
            max_idle_time: None,
            wait_queue_timeout: None,
            read_preference: ReadPreference::default(),
            read_concern: ReadConcern::default(),
            write_concern: WriteConcern::default(),
            retry_reads: true,
            retry_writes: true,
            max_adaptive_retries: None,
            enable_overload_retargeting: false,
            driver_info: None,
            server_api: None,
            command_listener: None,
            pool_listener: None,
            sdam_listener: None,
            max_log_document_length: None,
            tracing: TracingOptions::default(),
            #[cfg(feature = "internals")]
            overrides: Default::default(),
            warnings: Vec::new(),
            auth_source: None,
            load_balanced_given: false,
            ignored_mechanism: false,
            srv_origin: None,
        }
    }
}

impl ClientOptions {
    /// The warnings about the connection string, one sentence each: unknown options, invalid values
    /// and deprecated values. See also [`Client::warnings`](crate::Client::warnings).
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// `authSource` of the connection string, or else of the TXT record of a `mongodb+srv` host.
    /// Set whether or not there is a credential. `None` if neither contains it.
    #[must_use]
    pub fn auth_source(&self) -> Option<&str> {
        self.auth_source.as_deref()
    }

    /// Copies `authSource` to the credential, if it has no source.
    pub(crate) fn apply_auth_source(&mut self) {
        if let Some(credential) = &mut self.credential
            && credential.source.is_none()
        {
            credential.source.clone_from(&self.auth_source);
        }
    }

    /// Rejects invalid values and combinations of options that contradict each other.
    pub(crate) fn validate(&self) -> Result<()> {
        let invalid = |why: String| Err(Error::invalid_argument(why));
        if self.hosts.is_empty() {
            return invalid("hosts is empty: at least one host is required".into());
        }
        self.check_characters()?;
        let direct = self.direct_connection == Some(true);
        if direct && self.hosts.len() > 1 {
            return invalid(format!(
                "directConnection=true requires exactly one host, found {}",
                self.hosts.len()
            ));
        }
        if direct && self.srv {
            return invalid("directConnection=true cannot be used with mongodb+srv".into());
        }
        if !self.srv && self.srv_max_hosts > 0 {
            return invalid("srvMaxHosts requires mongodb+srv".into());
        }
        if !self.srv && self.srv_service_name != DEFAULT_SRV_SERVICE {
            return invalid("srvServiceName requires mongodb+srv".into());
        }
        if self.srv_max_hosts > 0 && self.replica_set.is_some() {
            return invalid("srvMaxHosts cannot be used with replicaSet".into());
        }
        if self.load_balanced {
            if self.hosts.len() > 1 {
                return invalid(format!(
                    "loadBalanced=true requires exactly one host, found {}",
                    self.hosts.len()
                ));
            }
            for (given, name) in [
                (self.replica_set.is_some(), "replicaSet"),
                (direct, "directConnection=true"),
                (self.srv_max_hosts > 0, "srvMaxHosts"),
            ] {
                if given {
                    return invalid(format!("loadBalanced=true cannot be used with {name}"));
                }
            }
        }
        if self.max_pool_size > 0 && self.min_pool_size > self.max_pool_size {
            return invalid(format!(
                "minPoolSize ({}) is larger than maxPoolSize ({})",
                self.min_pool_size, self.max_pool_size
            ));
        }
        if self.max_connecting == 0 {
            return invalid("maxConnecting must be at least 1".into());
        }
        if self.heartbeat_frequency < Duration::from_millis(500) {
            return invalid("heartbeatFrequencyMS must be at least 500".into());
        }
        if self.heartbeat_frequency.as_millis() > i32::MAX as u128 {
            return invalid(format!("heartbeatFrequencyMS must be at most {}", i32::MAX));
        }
        if self.app_name.as_ref().is_some_and(|name| name.len() > 128) {
            return invalid("appName must be at most 128 bytes long".into());
        }
        if self
            .zlib_compression_level
            .is_some_and(|level| !(-1..=9).contains(&level))
        {
            return invalid("zlibCompressionLevel must be from -1 to 9".into());
        }
        if let Some(proxy) = &self.proxy {
            proxy.validate().map_err(Error::invalid_argument)?;
        }
        self.tls.validate().map_err(Error::invalid_argument)?;
        self.write_concern.validate().map_err(Error::invalid_argument)?;
        self.read_preference.validate().map_err(Error::invalid_argument)
    }

    /// Rejects names with control characters, such as line breaks, and hosts with blanks.
    fn check_characters(&self) -> Result<()> {
        for host in &self.hosts {
            if let ServerAddress::Tcp { host, .. } = host
                && host.contains(|character: char| character.is_control() || character.is_whitespace())
            {
                let why = format!("the host {host:?} contains a blank or a control character");
                return Err(Error::invalid_argument(why));
            }
        }
        let credential = self.credential.as_ref();
        for (name, text) in [
            ("replicaSet", self.replica_set.as_deref()),
            ("authSource", self.auth_source.as_deref()),
            (
                "the source of the credential",
                credential.and_then(|credential| credential.source.as_deref()),
            ),
            ("the default database", self.default_database.as_deref()),
            ("srvServiceName", Some(self.srv_service_name.as_str())),
            ("proxyHost", self.proxy.as_ref().map(|proxy| proxy.host.as_str())),
        ] {
            if text.is_some_and(|text| text.contains(char::is_control)) {
                let why = format!("{name} contains a control character, such as a line break");
                return Err(Error::invalid_argument(why));
            }
        }
        Ok(())
    }

    /// A warning if `appName`, which servers write to their logs, contains control characters.
    pub(crate) fn unprintable_app_name(&self) -> Option<String> {
        let has_control = self
            .app_name
            .as_ref()
            .is_some_and(|name| name.contains(char::is_control));
        has_control.then(|| {
            "appName contains a control character, such as a line break, which can be misread in the logs of the \
             server"
                .to_owned()
        })
    }

    /// A warning if the credential sends a secret that anyone between the client and a server can read.
    pub(crate) fn unencrypted_secret(&self) -> Option<String> {
        let mechanism = self.credential.as_ref()?.mechanism.as_ref()?;
        let secret = match mechanism {
            AuthMechanism::Plain => "the password",
            AuthMechanism::MongoDbOidc => "access tokens",
            _ => return None,
        };
        let leaves_the_machine = |address: &ServerAddress| match address {
            ServerAddress::Tcp { host, .. } => {
                let ip = host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
                !ip && host != "localhost"
            }
            ServerAddress::Unix { .. } => false,
        };
        let is_unencrypted = self.tls.enabled != Some(true) && self.hosts.iter().any(leaves_the_machine);
        is_unencrypted.then(|| {
            let mechanism = mechanism.as_str();
            format!("authMechanism={mechanism} sends {secret} over connections that are NOT encrypted: write tls=true")
        })
    }

    /// Rejects options that have no implementation in this version or in this build.
    pub(crate) fn check_supported(&self) -> Result<()> {
        self.identity()?;
        if let Some(missing) = self
            .compressors
            .iter()
            .find(|compressor| !compressor.is_available())
        {
            return Err(Error::unsupported(format!(
                "the compressor {0} needs the feature `{0}` of marula-driver",
                missing.as_str()
            )));
        }
        if self.tracing.enabled == Some(true) && !cfg!(feature = "opentelemetry") {
            return Err(Error::unsupported(
                "tracing.enabled needs the feature `opentelemetry` of marula-driver",
            ));
        }
        let over_path = |host: &ServerAddress| matches!(host, ServerAddress::Unix { .. });
        if self.tls.enabled == Some(true) && self.hosts.iter().any(over_path) {
            return Err(Error::unsupported(
                "tls=true cannot be used with a Unix domain socket",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictory_options_are_rejected() {
        let refused = |change: fn(&mut ClientOptions)| {
            let mut options = ClientOptions::default();
            change(&mut options);
            options.validate().unwrap_err().to_string()
        };
        assert!(refused(|o| o.hosts.clear()).contains("host"));
        assert!(refused(|o| o.min_pool_size = 101).contains("minPoolSize"));
        assert!(refused(|o| o.heartbeat_frequency = Duration::MAX).contains("at most 2147483647"));
        assert!(refused(|o| o.max_connecting = 0).contains("maxConnecting"));
        assert!(refused(|o| o.app_name = Some("x".repeat(129))).contains("appName"));
        assert!(refused(|o| o.zlib_compression_level = Some(10)).contains("zlibCompressionLevel"));
        assert!(ClientOptions::default().validate().is_ok());
    }

    #[test]
    fn compressors_require_their_features() {
        for compressor in Compressor::ALL {
            let options = ClientOptions {
                compressors: vec![compressor],
                ..ClientOptions::default()
            };
            assert_eq!(options.check_supported().is_ok(), compressor.is_available());
        }
    }

    #[test]
    fn debug_prints_no_secrets() {
        let mut options = ClientOptions {
            credential: Some(Credential::default().with_password("hunter2")),
            ..ClientOptions::default()
        };
        options.tls.set_certificate_key_file_password("hunter2");
        options.proxy = Some(Proxy {
            password: Some(crate::types::secret::Secret::new("hunter2")),
            ..Proxy::default()
        });
        assert!(!format!("{options:?}").contains("hunter2"));
    }
}

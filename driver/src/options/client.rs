//! The options of a client ([URI Options]).
//!
//! [URI Options]:
//! https://github.com/mongodb/specifications/blob/master/source/uri-options/uri-options.md

use std::time::Duration;

use super::{
    Compressor, Credential, DriverInfo, Proxy, ReadConcern, ReadPreference, ServerApi, TlsOptions,
    WriteConcern, srv::SrvOrigin,
};
use crate::{
    Error, Result, ServerAddress,
    proto::event::{CommandEvent, EventListener, PoolEvent, SdamEvent},
};

const DEFAULT_SRV_SERVICE: &str = "mongodb";

/// How monitors watch their servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerMonitoringMode {
    /// As `Stream`, but on a Function-as-a-Service platform as `Poll`: news pile up while such a platform suspends the
    /// client. The default.
    #[default]
    Auto,
    /// Use the streaming protocol with servers from 4.4 on, over an additional connection per
    /// server. Older servers are polled.
    Stream,
    /// Ask every `heartbeatFrequencyMS`.
    Poll,
}

/// The options of a client, named as the URI Options specification names them.
///
/// Start from [`parse`](Self::parse) or from the defaults, and assign fields. `Debug` shows no secret.
///
/// ```
/// use marula_driver::options::ClientOptions;
/// let mut options = ClientOptions::parse("mongodb://localhost/shop?maxPoolSize=20")?;
/// options.app_name = Some("checkout".into());
/// assert_eq!(options.max_pool_size, 20);
/// assert_eq!(options.default_database.as_deref(), Some("shop"));
/// # Ok::<(), marula_driver::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClientOptions {
    /// The servers to begin with. Default: `localhost:27017`.
    pub hosts: Vec<ServerAddress>,
    /// The scheme was `mongodb+srv`: the one host names DNS records, until [`resolve`](Self::resolve) puts the hosts found
    /// there in its place.
    pub srv: bool,
    /// `srvMaxHosts`: most servers taken from the DNS records; 0 means all.
    pub srv_max_hosts: u32,
    /// `srvServiceName`; default `mongodb`.
    pub srv_service_name: String,
    /// The database named in the connection string.
    pub default_database: Option<String>,
    /// `appName`: shows up in the server's logs; at most 128 bytes.
    pub app_name: Option<String>,
    /// Who the client is. This version logs in by SCRAM, X.509 and PLAIN.
    pub credential: Option<Credential>,
    /// The `tls…` options: whether and how connections are encrypted.
    pub tls: TlsOptions,
    /// `proxyHost` and its companions: a SOCKS5 proxy between the client and its servers. Default: none.
    pub proxy: Option<Proxy>,
    /// `compressors`, in order of preference: messages are compressed by the first that the server has too, all but logins
    /// and handshakes. Default: none. One whose feature is off makes a [warning](Self::warnings) in a connection string,
    /// and is refused here when a client is made. (Wire Compression specification.)
    pub compressors: Vec<Compressor>,
    /// `zlibCompressionLevel`: 0 stores, 1 is fast, 9 is small, -1 is zlib's own default, which is 6. Default: -1. Refused
    /// beyond these when a client is made. The server chooses its own for replies.
    pub zlib_compression_level: Option<i32>,
    /// `replicaSet`: the set the servers must belong to.
    pub replica_set: Option<String>,
    /// `directConnection`: use the one server given, whatever it is. Default: no.
    pub direct_connection: Option<bool>,
    /// `loadBalanced`: the host is a load balancer, with services behind it that support that. Default: no.
    pub load_balanced: bool,
    /// `connectTimeoutMS`: limits opening a connection: finding the addresses of the host, trying all of them, the handshake and
    /// the login. Default 10 s; zero means no limit.
    pub connect_timeout: Duration,
    /// `socketTimeoutMS`: limits the exchange of one command, from the first byte sent to the last byte of the reply. The
    /// operation fails with a [`Network`](crate::ErrorKind::Network) error, and its connection is closed; the server may go
    /// on with the command. Default: no limit. Deprecated by the specifications in favour of `timeoutMS`.
    pub socket_timeout: Option<Duration>,
    /// `timeoutMS`: limits whole operations. Not supported by this version.
    pub timeout: Option<Duration>,
    /// `serverSelectionTimeoutMS`: how long an operation waits for a suitable server. Default 30 s; zero means no limit.
    pub server_selection_timeout: Duration,
    /// `localThresholdMS`: how much farther than the nearest a server may be to be used. Default 15 ms.
    pub local_threshold: Duration,
    /// `heartbeatFrequencyMS`: how often servers are checked. Default 10 s; at least 500 ms, at most 2³¹ - 1 ms.
    pub heartbeat_frequency: Duration,
    /// `serverMonitoringMode`: how changes of the servers are noticed. Default: `auto`.
    pub server_monitoring_mode: ServerMonitoringMode,
    /// `maxPoolSize`: most connections per server. Default 100; 0 means no limit.
    pub max_pool_size: u32,
    /// `minPoolSize`: connections kept open per server. Default 0.
    pub min_pool_size: u32,
    /// `maxConnecting`: most connections being opened at a time, per server. Default 2.
    pub max_connecting: u32,
    /// `maxIdleTimeMS`: connections idle for longer are closed. Default: no limit.
    pub max_idle_time: Option<Duration>,
    /// `waitQueueTimeoutMS`: how long an operation waits for a connection. Default: no limit.
    pub wait_queue_timeout: Option<Duration>,
    /// `readPreference`, `readPreferenceTags` and `maxStalenessSeconds`. Default: primary.
    pub read_preference: ReadPreference,
    /// `readConcernLevel`. Default: the server's.
    pub read_concern: ReadConcern,
    /// `w`, `journal` and `wTimeoutMS`. Default: the server's.
    pub write_concern: WriteConcern,
    /// `retryReads`. Default true.
    pub retry_reads: bool,
    /// `retryWrites`. Default true.
    pub retry_writes: bool,
    /// `maxAdaptiveRetries`: most retries of an operation that an overloaded server refused, each after a
    /// pause that grows (Client Backpressure specification). Default 2; 0 means none.
    pub max_adaptive_retries: Option<u32>,
    /// `enableOverloadRetargeting`: whether such a retry prefers another member. Default: no; on a sharded cluster
    /// retries always do.
    pub enable_overload_retargeting: bool,
    /// The library that wraps the driver, if one does: servers show it beside the driver's name. Default: none. More can be
    /// appended later, see [`Client::append_metadata`](crate::Client::append_metadata).
    pub driver_info: Option<DriverInfo>,
    /// The version of the server's interface that the application is written for. Default: none is declared.
    pub server_api: Option<ServerApi>,
    /// Receives command monitoring events. Default: none. See [`event`](crate::event).
    pub command_listener: Option<EventListener<CommandEvent>>,
    /// Receives connection pool events. Default: none.
    pub pool_listener: Option<EventListener<PoolEvent>>,
    /// Receives discovery and monitoring events. Default: none.
    pub sdam_listener: Option<EventListener<SdamEvent>>,
    /// Documents in log messages are cut after so many bytes. Default: `MONGODB_LOG_MAX_DOCUMENT_LENGTH`, or 1000. Without the
    /// feature `tracing` nothing is logged.
    pub max_log_document_length: Option<usize>,
    /// What tests replace in this client.
    #[cfg(feature = "internals")]
    pub(crate) overrides: super::overrides::Overrides,
    pub(crate) warnings: Vec<String>,
    /// `authSource`, also where no user is named.
    pub(crate) auth_source: Option<String>,
    /// Whether `loadBalanced` was given, also if as false.
    pub(crate) load_balanced_given: bool,
    /// What the hosts were looked up from.
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
            #[cfg(feature = "internals")]
            overrides: Default::default(),
            warnings: Vec::new(),
            auth_source: None,
            load_balanced_given: false,
            srv_origin: None,
        }
    }
}

impl ClientOptions {
    /// What the connection string holds that was ignored or is deprecated, one sentence each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// `authSource`: the database that knows the user, as the connection string or the TXT record of a `mongodb+srv` host
    /// names it, whether or not there is a user.
    #[must_use]
    pub fn auth_source(&self) -> Option<&str> {
        self.auth_source.as_deref()
    }

    /// Gives the credential the source that the option names, if the application gave it none.
    pub(crate) fn settle_auth_source(&mut self) {
        if let Some(credential) = &mut self.credential
            && credential.source.is_none()
        {
            credential.source.clone_from(&self.auth_source);
        }
    }

    /// Options that contradict each other.
    pub(crate) fn validate(&self) -> Result<()> {
        let refuse = |why: String| Err(Error::invalid_argument(why));
        if self.hosts.is_empty() {
            return refuse("hosts is empty: at least one host is required".into());
        }
        let direct = self.direct_connection == Some(true);
        if direct && self.hosts.len() > 1 {
            return refuse(format!(
                "directConnection=true requires exactly one host, found {}",
                self.hosts.len()
            ));
        }
        if direct && self.srv {
            return refuse("directConnection=true cannot be used with mongodb+srv".into());
        }
        if !self.srv && self.srv_max_hosts > 0 {
            return refuse("srvMaxHosts requires mongodb+srv".into());
        }
        if !self.srv && self.srv_service_name != DEFAULT_SRV_SERVICE {
            return refuse("srvServiceName requires mongodb+srv".into());
        }
        if self.srv_max_hosts > 0 && self.replica_set.is_some() {
            return refuse("srvMaxHosts cannot be used with replicaSet".into());
        }
        if self.load_balanced {
            if self.hosts.len() > 1 {
                return refuse(format!(
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
                    return refuse(format!("loadBalanced=true cannot be used with {name}"));
                }
            }
        }
        if self.max_pool_size > 0 && self.min_pool_size > self.max_pool_size {
            return refuse(format!(
                "minPoolSize ({}) is larger than maxPoolSize ({})",
                self.min_pool_size, self.max_pool_size
            ));
        }
        if self.max_connecting == 0 {
            return refuse("maxConnecting must be at least 1".into());
        }
        if self.heartbeat_frequency < Duration::from_millis(500) {
            return refuse("heartbeatFrequencyMS must be at least 500".into());
        }
        if self.heartbeat_frequency.as_millis() > i32::MAX as u128 {
            return refuse(format!("heartbeatFrequencyMS must be at most {}", i32::MAX));
        }
        if self.app_name.as_ref().is_some_and(|name| name.len() > 128) {
            return refuse("appName must be at most 128 bytes long".into());
        }
        if self
            .zlib_compression_level
            .is_some_and(|level| !(-1..=9).contains(&level))
        {
            return refuse("zlibCompressionLevel must be from -1 to 9".into());
        }
        if let Some(proxy) = &self.proxy {
            proxy.validate().map_err(Error::invalid_argument)?;
        }
        self.tls.validate().map_err(Error::invalid_argument)?;
        self.write_concern.validate().map_err(Error::invalid_argument)?;
        self.read_preference.validate().map_err(Error::invalid_argument)
    }

    /// Options whose silent neglect would be wrong, and that this version cannot honour.
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
        let over_path = |host: &ServerAddress| matches!(host, ServerAddress::Unix { .. });
        if self.tls.enabled == Some(true) && self.hosts.iter().any(over_path) {
            return Err(Error::unsupported("tls=true with a Unix domain socket"));
        }
        if self.timeout.is_some_and(|timeout| !timeout.is_zero()) {
            return Err(Error::unsupported(
                "timeoutMS is not available in this version of marula-driver",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_are_refused() {
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
    fn compressors_need_their_features() {
        for compressor in Compressor::ALL {
            let options = ClientOptions {
                compressors: vec![compressor],
                ..ClientOptions::default()
            };
            assert_eq!(options.check_supported().is_ok(), compressor.is_available());
        }
    }

    #[test]
    fn debug_shows_no_secret() {
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

//! Conversion of the options of a connection string to [`ClientOptions`] (URI Options).

use std::{collections::HashSet, time::Duration};

use super::{split::Parts, value::Reader};
use crate::{
    options::{
        Acknowledgment, AuthMechanism, ClientOptions, Compressor, Credential, Proxy, ReadConcern,
        ReadConcernLevel, ReadPreferenceMode, ServerMonitoringMode, TagSet, error::OptionError,
    },
    types::secret::Secret,
};

/// Options that may be given more than once (Connection String, "Repeated Keys").
const REPEATABLE: [&str; 3] = ["readpreferencetags", "tls", "ssl"];

/// An invalid value is ignored with a warning (Connection String, "Defining connection options").
/// If all values of `tls` and `ssl` are invalid, connections are not encrypted.
const NOT_ENCRYPTED: &str =
    "connections are NOT encrypted, since no value of tls or ssl is valid: write tls=true or tls=false";

/// Applies all options. Only the errors that the specifications require are returned; anything else
/// is a warning.
pub(super) fn apply(parts: Parts) -> Result<ClientOptions, OptionError> {
    let mut state = State {
        options: ClientOptions {
            hosts: parts.hosts,
            srv: parts.srv,
            default_database: parts.database,
            ..ClientOptions::default()
        },
        reader: Reader::default(),
        auth: Credential::default(),
        proxy: Proxy::default(),
        service_name: None,
        tls_ignored: false,
    };
    state.auth.username = parts.username;
    if let Some(password) = parts.password {
        state.auth.set_password(password);
    }
    let mut seen = HashSet::new();
    for option in &parts.options {
        let (key, value, name) = (&option.key, &option.value, option.name());
        if key.is_empty() {
            state
                .reader
                .warnings
                .push("an option without a name is ignored: check the '&' and '='".to_owned());
            continue;
        }
        option.spelled.clone_into(&mut state.reader.name);
        if !seen.insert(key.as_str()) && !REPEATABLE.contains(&key.as_str()) {
            if key.starts_with("proxy") {
                return Err(OptionError::Repeated {
                    option: name.to_owned(),
                });
            }
            state
                .reader
                .warnings
                .push(format!("{name} is given more than once; the last value is used"));
        }
        // An empty value is ignored. An empty tag set is valid: it matches every server.
        if value.is_empty() && matches!(key.as_str(), "tls" | "ssl") {
            state.tls_ignored = true;
        }
        if value.is_empty() && !matches!(key.as_str(), "readpreferencetags" | "authsource" | "replicaset") {
            state
                .reader
                .warnings
                .push(format!("{name} has no value and is ignored"));
            continue;
        }
        if value.trim() != value && matches!(key.as_str(), "replicaset" | "authsource" | "appname") {
            let blanks = format!("{name} begins or ends with a blank, which belongs to the name");
            state.reader.warnings.push(blanks);
        }
        if !state.option(key, value)? {
            let unknown = if option.follows_secret {
                format!("{name} is unknown and ignored")
            } else {
                format!("unknown option {name} is ignored")
            };
            state.reader.warnings.push(unknown);
        }
    }
    state.finish()
}

struct State {
    options: ClientOptions,
    reader: Reader,
    auth: Credential,
    proxy: Proxy,
    /// `gssapiServiceName`
    service_name: Option<String>,
    /// A value of `tls` or `ssl` was ignored.
    tls_ignored: bool,
}

impl State {
    /// Applies an option. Returns whether an option with this name exists.
    fn option(&mut self, key: &str, value: &str) -> Result<bool, OptionError> {
        if self.pool(key, value) || self.timing(key, value) || self.reads_and_writes(key, value) {
            return Ok(true);
        }
        if self.topology(key, value) {
            return Ok(true);
        }
        if self.tls(key, value)? || self.auth(key, value)? || self.proxy(key, value)? {
            return Ok(true);
        }
        match key {
            "appname" => self.options.app_name = Some(value.to_owned()),
            "compressors" => self.compressors(value),
            "zlibcompressionlevel" => {
                self.options.zlib_compression_level = self.reader.integer(value, -1, 9);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn pool(&mut self, key: &str, value: &str) -> bool {
        let (options, reader) = (&mut self.options, &mut self.reader);
        match key {
            "maxpoolsize" => set(&mut options.max_pool_size, reader.count(value, 0)),
            "minpoolsize" => set(&mut options.min_pool_size, reader.count(value, 0)),
            "maxconnecting" => set(&mut options.max_connecting, reader.count(value, 1)),
            "maxidletimems" => options.max_idle_time = limit(reader.millis(value, 0)),
            "waitqueuetimeoutms" => options.wait_queue_timeout = limit(reader.millis(value, 0)),
            _ => return false,
        }
        true
    }

    fn timing(&mut self, key: &str, value: &str) -> bool {
        let (options, reader) = (&mut self.options, &mut self.reader);
        match key {
            "connecttimeoutms" => set(&mut options.connect_timeout, reader.millis(value, 0)),
            "sockettimeoutms" => options.socket_timeout = limit(reader.millis(value, 0)),
            "timeoutms" => options.timeout = reader.millis(value, 0),
            "serverselectiontimeoutms" => set(&mut options.server_selection_timeout, reader.millis(value, 1)),
            "localthresholdms" => set(&mut options.local_threshold, reader.millis(value, 0)),
            "heartbeatfrequencyms" => set(&mut options.heartbeat_frequency, reader.millis(value, 500)),
            _ => return false,
        }
        true
    }

    fn reads_and_writes(&mut self, key: &str, value: &str) -> bool {
        let (options, reader) = (&mut self.options, &mut self.reader);
        match key {
            "retryreads" => set(&mut options.retry_reads, reader.boolean(value)),
            "retrywrites" => set(&mut options.retry_writes, reader.boolean(value)),
            "maxadaptiveretries" => options.max_adaptive_retries = reader.count(value, 0),
            "enableoverloadretargeting" => {
                set(&mut options.enable_overload_retargeting, reader.boolean(value));
            }
            "readconcernlevel" => options.read_concern = ReadConcern::new(ReadConcernLevel::from(value)),
            "journal" => options.write_concern.journal = reader.boolean(value),
            "w" => {
                options.write_concern.w = match value.parse::<i64>() {
                    Ok(nodes) => match u32::try_from(nodes) {
                        Ok(nodes) => Some(Acknowledgment::Nodes(nodes)),
                        Err(_) => reader.ignore("a number of at least 0, or a name"),
                    },
                    Err(_) if value == "majority" => Some(Acknowledgment::Majority),
                    Err(_) => Some(Acknowledgment::Custom(value.to_owned())),
                };
            }
            "wtimeoutms" => {
                options.write_concern.w_timeout = match value.parse::<i64>().map(u64::try_from) {
                    Ok(Ok(millis)) => Some(Duration::from_millis(millis)),
                    _ => reader.ignore("a number of at least 0"),
                };
            }
            "readpreference" => match ReadPreferenceMode::parse(value) {
                Some(mode) => options.read_preference.mode = mode,
                None => {
                    reader
                        .warn_ignored("primary, primaryPreferred, secondary, secondaryPreferred or nearest");
                }
            },
            "readpreferencetags" => {
                let tags: Option<TagSet> = reader.pairs(value);
                options.read_preference.tag_sets.extend(tags);
            }
            "maxstalenessseconds" => {
                let seconds = reader.integer(value, -1, i32::MAX);
                // The lower bound is checked during server selection: it depends on the deployment
                // (Max Staleness).
                options.read_preference.max_staleness = seconds
                    .and_then(|seconds| u64::try_from(seconds).ok())
                    .map(Duration::from_secs);
            }
            _ => return false,
        }
        true
    }

    fn topology(&mut self, key: &str, value: &str) -> bool {
        let (options, reader) = (&mut self.options, &mut self.reader);
        match key {
            "replicaset" if value.is_empty() => reader.warn_ignored("the name of a replica set"),
            "replicaset" => options.replica_set = Some(value.to_owned()),
            "directconnection" => options.direct_connection = reader.boolean(value),
            "loadbalanced" => {
                let given = reader.boolean(value);
                options.load_balanced_given |= given.is_some();
                set(&mut options.load_balanced, given);
            }
            "srvmaxhosts" => set(&mut options.srv_max_hosts, reader.count(value, 0)),
            "srvservicename" => value.clone_into(&mut options.srv_service_name),
            "servermonitoringmode" => match value {
                "auto" => options.server_monitoring_mode = ServerMonitoringMode::Auto,
                "stream" => options.server_monitoring_mode = ServerMonitoringMode::Stream,
                "poll" => options.server_monitoring_mode = ServerMonitoringMode::Poll,
                _ => reader.warn_ignored("auto, stream or poll"),
            },
            _ => return false,
        }
        true
    }

    fn tls(&mut self, key: &str, value: &str) -> Result<bool, OptionError> {
        let (tls, reader) = (&mut self.options.tls, &mut self.reader);
        match key {
            "tls" | "ssl" => {
                let enabled = reader.boolean(value);
                if tls.enabled.is_some() && enabled.is_some() && tls.enabled != enabled {
                    return Err(OptionError::TlsAndSsl);
                }
                tls.enabled = enabled.or(tls.enabled);
                self.tls_ignored |= enabled.is_none();
            }
            "tlsinsecure" => tls.insecure = reader.boolean(value),
            "tlsallowinvalidcertificates" => tls.allow_invalid_certificates = reader.boolean(value),
            "tlsallowinvalidhostnames" => tls.allow_invalid_hostnames = reader.boolean(value),
            "tlsdisableocspendpointcheck" => tls.disable_ocsp_endpoint_check = reader.boolean(value),
            "tlsdisablecertificaterevocationcheck" => {
                tls.disable_certificate_revocation_check = reader.boolean(value);
            }
            "tlscafile" => tls.ca_file = Some(value.into()),
            "tlscertificatekeyfile" => tls.certificate_key_file = Some(value.into()),
            "tlscertificatekeyfilepassword" => tls.set_certificate_key_file_password(value),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn auth(&mut self, key: &str, value: &str) -> Result<bool, OptionError> {
        match key {
            "authsource" if value.is_empty() => return Err(OptionError::EmptyAuthSource),
            "authsource" => self.options.auth_source = Some(value.to_owned()),
            "authmechanism" => match AuthMechanism::parse(value) {
                Some(mechanism) => self.auth.mechanism = Some(mechanism),
                None => {
                    self.options.ignored_mechanism = true;
                    self.reader.warn_ignored(AuthMechanism::NAMES);
                }
            },
            "gssapiservicename" => {
                let instead = "gssapiServiceName is deprecated: write authMechanismProperties=SERVICE_NAME:…";
                self.reader.warnings.push(instead.to_owned());
                self.service_name = Some(value.to_owned());
            }
            "authmechanismproperties" => {
                (self.auth.mechanism_properties, self.auth.ignored_properties) =
                    self.reader.properties(value);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn proxy(&mut self, key: &str, value: &str) -> Result<bool, OptionError> {
        match key {
            "proxyhost" => value.clone_into(&mut self.proxy.host),
            "proxyport" => match value.parse::<u16>() {
                Ok(port) => self.proxy.port = Some(port),
                Err(_) => return Err(OptionError::ProxyPort),
            },
            "proxyusername" => self.proxy.username = Some(value.to_owned()),
            "proxypassword" => self.proxy.password = Some(Secret::new(value)),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn compressors(&mut self, value: &str) {
        for name in value.split(',') {
            match Compressor::named(name) {
                Some(compressor) if compressor.is_available() => self.options.compressors.push(compressor),
                Some(_) => self.reader.warnings.push(format!(
                    "compressor {name} is ignored: it needs the feature `{name}` of marula-driver"
                )),
                None => self
                    .reader
                    .warnings
                    .push(format!("unknown compressor \"{name}\" is ignored")),
            }
        }
    }

    fn finish(mut self) -> Result<ClientOptions, OptionError> {
        if self.options.srv && self.options.tls.enabled.is_none() {
            self.options.tls.enabled = Some(true);
        }
        // Validated with the other options.
        if self.proxy != Proxy::default() {
            self.options.proxy = Some(self.proxy);
        }
        if let Some(name) = self.service_name
            && self.auth.mechanism == Some(AuthMechanism::Gssapi)
            && self.auth.ignored_properties.is_none()
        {
            self.auth.set_service_name(name);
        }
        // A database or authSource without user and mechanism does not enable authentication.
        if self.auth.username.is_some() || self.auth.mechanism.is_some() {
            self.options.credential = Some(self.auth);
        } else {
            self.reader.warnings.extend(self.auth.unused_properties());
        }
        self.options.apply_auth_source();
        if self.tls_ignored && self.options.tls.enabled.is_none() {
            self.reader.warnings.push(NOT_ENCRYPTED.to_owned());
        }
        self.options.warnings = self.reader.warnings;
        Ok(self.options)
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// For options where zero means no limit.
fn limit(value: Option<Duration>) -> Option<Duration> {
    value.filter(|value| !value.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> ClientOptions {
        ClientOptions::parse(&format!("mongodb://h/?{query}")).unwrap()
    }

    #[test]
    fn option_names_are_case_insensitive() {
        let options =
            parse("MAXPOOLSIZE=7&connectTimeoutMS=250&w=majority&readPreference=nearest&retryWrites=false");
        assert_eq!(options.max_pool_size, 7);
        assert_eq!(options.connect_timeout, Duration::from_millis(250));
        assert_eq!(options.write_concern.w, Some(Acknowledgment::Majority));
        assert_eq!(options.read_preference.mode, ReadPreferenceMode::Nearest);
        assert!(!options.retry_writes);
        assert!(options.warnings().is_empty());
    }

    #[test]
    fn invalid_values_and_unknown_options_are_warnings() {
        for query in [
            "maxPoolSize=many",
            "retryReads=perhaps",
            "w=-2",
            "nonsense=1",
            "maxStalenessSeconds=-7",
            "journal=",
        ] {
            let options = parse(query);
            assert_eq!(options.warnings().len(), 1, "{query}: {:?}", options.warnings());
            assert_eq!(
                ClientOptions {
                    warnings: Vec::new(),
                    ..options
                },
                parse(""),
                "{query}"
            );
        }
    }

    #[test]
    fn warnings_keep_the_spelling_of_the_connection_string() {
        for (query, warning) in [
            ("maxPoolSise=1", "unknown option maxPoolSise is ignored"),
            ("=5", "an option without a name is ignored: check the '&' and '='"),
            (
                "readPreference=closest",
                "the value of readPreference is ignored: expected primary, primaryPreferred, secondary, secondaryPreferred or nearest",
            ),
            (
                "authMechanism=MD5",
                "the value of authMechanism is ignored: expected SCRAM-SHA-1, SCRAM-SHA-256, MONGODB-X509, PLAIN, GSSAPI, MONGODB-AWS or MONGODB-OIDC",
            ),
            (
                "retryREADS=perhaps",
                "the value of retryREADS is ignored: expected true or false",
            ),
            (
                "retryReads=yes",
                "the value of retryReads is deprecated: write retryReads=true",
            ),
            ("maxPoolSize=", "maxPoolSize has no value and is ignored"),
        ] {
            assert_eq!(parse(query).warnings(), [warning]);
        }
    }

    #[test]
    fn an_invalid_value_of_tls_warns_that_connections_are_not_encrypted() {
        for query in ["tls=treu", "ssl=on", "tls=", "tls=1x&ssl=yess"] {
            assert!(
                parse(query)
                    .warnings()
                    .iter()
                    .any(|warning| warning == NOT_ENCRYPTED),
                "{query}"
            );
        }
        for query in [
            "tls=treu&ssl=true",
            "tls=false&tls=treu",
            "tlsInsecure=treu",
            "tls=yes",
        ] {
            assert!(
                !parse(query)
                    .warnings()
                    .iter()
                    .any(|warning| warning == NOT_ENCRYPTED),
                "{query}"
            );
        }
        let srv = ClientOptions::parse("mongodb+srv://a.b.c/?tls=treu").unwrap();
        assert_eq!((srv.tls.enabled, srv.warnings().len()), (Some(true), 1));
    }

    #[test]
    fn compressors_keep_their_order_and_unavailable_ones_are_warnings() {
        let options = parse("compressors=zstd,snoopy,snappy,zlib&zlibCompressionLevel=3");
        let expected: Vec<Compressor> = [Compressor::Zstd, Compressor::Snappy, Compressor::Zlib]
            .into_iter()
            .filter(|compressor| compressor.is_available())
            .collect();
        assert_eq!(options.compressors, expected);
        assert_eq!(options.warnings().len(), 4 - expected.len());
        assert!(
            options
                .warnings()
                .iter()
                .any(|warning| warning.contains("snoopy"))
        );
        assert_eq!(options.zlib_compression_level, Some(3));
        let options = parse("zlibCompressionLevel=10");
        assert_eq!(
            (options.zlib_compression_level, options.warnings().len()),
            (None, 1)
        );
    }

    #[test]
    fn tag_sets_keep_their_order() {
        let options = parse("readPreference=secondary&readPreferenceTags=dc:ny,rack:1&readPreferenceTags=");
        let sets = options.read_preference.tag_sets;
        assert_eq!(sets.len(), 2);
        assert_eq!(sets[0]["rack"], "1");
        assert!(sets[1].is_empty());
    }

    #[test]
    fn contradictory_options_are_errors() {
        for query in [
            "tls=true&ssl=false",
            "tlsInsecure=true&tlsAllowInvalidHostnames=true",
            "proxyPort=1",
            "w=0&journal=true",
            "readPreferenceTags=a:b",
            "loadBalanced=true&replicaSet=rs",
            "minPoolSize=9&maxPoolSize=3",
        ] {
            assert!(
                ClientOptions::parse(&format!("mongodb://h/?{query}")).is_err(),
                "{query}"
            );
        }
        assert!(ClientOptions::parse("mongodb://a,b/?directConnection=true").is_err());
    }

    #[test]
    fn only_a_user_or_a_mechanism_enables_authentication() {
        assert!(parse("authSource=x").credential.is_none());
        let options = ClientOptions::parse("mongodb://u:p@h/db").unwrap();
        let credential = options.credential.unwrap();
        assert_eq!(credential.source, None, "the mechanism's default");
        assert!(credential.has_password());
    }
}

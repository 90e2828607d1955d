//! Client entities: the deployment's connection string with the options of the test.

use std::{sync::Arc, time::Duration};

use marula_driver::{
    Client,
    bson::{Bson, Document},
    options::{ClientOptions, OidcCallback, OidcCredential, ServerApi, ServerApiVersion},
};
use marula_driver_tests::SpanRecorder;

use super::encryption::{AutomaticEncryption, encrypted_client};
use crate::unified::{
    deployment::{OIDC_TOKEN, Topology},
    event::{EventLog, Filter},
    matcher::show,
    message::Collector,
    missing,
    run::TestRun,
    span,
    stop::{Step, Stop, failed},
};

/// The minimum of `heartbeatFrequencyMS`.
const MIN_HEARTBEAT_FREQUENCY: Duration = Duration::from_millis(500);

/// Why the tests of `MONGODB-OIDC` do not run behind load balancers.
const OIDC_FAIL_POINTS: &str =
    "the file sets fail points on one mongos, and its client uses the load balancer in front of two";

/// A client with its recorded events and log messages.
#[derive(Debug)]
pub(crate) struct ClientEntity {
    pub(crate) client: Client,
    pub(crate) log: Arc<EventLog>,
    /// `None` if the test does not observe log messages.
    pub(crate) messages: Option<Arc<Collector>>,
    /// `None` if the test does not observe spans.
    pub(crate) spans: Option<SpanRecorder>,
    /// `None` without automatic encryption.
    _encryption: Option<AutomaticEncryption>,
}

/// Creates a client from a description that the schema has validated.
pub(super) async fn client(run: &TestRun, entity: &Document) -> Step<ClientEntity> {
    let uri = base_uri(run, entity)?;
    let overrides = entity.get_document("uriOptions").cloned().unwrap_or_default();
    if run.topology == Topology::LoadBalanced && overrides.values().any(is_placeholder) {
        return Err(Stop::Skipped(OIDC_FAIL_POINTS.to_owned()));
    }
    let mut options = parse(&uri, &overrides)?;
    let sets_heartbeat = |name: &String| name.eq_ignore_ascii_case("heartbeatFrequencyMS");
    if run.expects_failures && !overrides.keys().any(sets_heartbeat) {
        // Limits the time to recovery from a state change error of a fail point, after which the
        // monitor waits for the next heartbeat.
        options.heartbeat_frequency = MIN_HEARTBEAT_FREQUENCY;
    }
    if let Ok(api) = entity.get_document("serverApi") {
        options.server_api = Some(server_api(api)?);
    }
    let strings = |key: &str| {
        let names = entity.get_array(key).map(Vec::as_slice).unwrap_or_default();
        names.iter().filter_map(Bson::as_str).map(str::to_owned).collect()
    };
    let log = EventLog::new(Filter {
        observed: strings("observeEvents"),
        ignored_commands: strings("ignoreCommandMonitoringEvents"),
        sensitive_commands: entity.get_bool("observeSensitiveCommands").unwrap_or(false),
    });
    log.listen(&mut options);
    let messages = match entity.get_document("observeLogMessages") {
        Ok(observed) => Some(Collector::new(observed, &mut options)?),
        Err(_) => None,
    };
    let observed = entity.get_document("observeTracingMessages").ok();
    let spans = observed.map(|observed| span::observe(observed, &mut options));
    let least = usize::try_from(options.min_pool_size).unwrap_or(usize::MAX);
    let (client, encryption) = match entity.get_document("autoEncryptOpts") {
        Ok(description) => {
            let (client, encryption) = encrypted_client(options, description).await?;
            (client, Some(encryption))
        }
        Err(_) => (connect(options)?, None),
    };
    if let Some(limit) = milliseconds(entity.get("awaitMinPoolSizeMS"))
        && least > 0
    {
        log.await_pools(least, limit).await?;
        if let Some(messages) = &messages {
            messages.remove_setup_messages();
        }
    }
    Ok(ClientEntity {
        client,
        log,
        messages,
        spans,
        _encryption: encryption,
    })
}

/// Creates a client.
pub(crate) fn connect(options: ClientOptions) -> Step<Client> {
    Client::with_options(options).map_err(|error| Stop::Failed(format!("cannot create a client: {error}")))
}

/// A number of milliseconds; `None` also for a value of another type.
pub(super) fn milliseconds(value: Option<&Bson>) -> Option<Duration> {
    let number = match value? {
        Bson::Int32(number) => i64::from(*number),
        Bson::Int64(number) => *number,
        _ => return None,
    };
    u64::try_from(number).ok().map(Duration::from_millis)
}

fn server_api(api: &Document) -> Step<ServerApi> {
    let version = match api.get_str("version") {
        Ok("1") => ServerApiVersion::V1,
        version => return failed(format!("unknown serverApi.version {version:?}")),
    };
    let mut declared = ServerApi::new(version);
    declared.strict = api.get_bool("strict").ok();
    declared.deprecation_errors = api.get_bool("deprecationErrors").ok();
    Ok(declared)
}

fn base_uri(run: &TestRun, entity: &Document) -> Step<String> {
    let several = entity.get_bool("useMultipleMongoses").ok();
    match Hosts::of(run.topology, several, run.expects_failures) {
        Hosts::Several if run.member_uris.len() < 2 => {
            failed("useMultipleMongoses: true requires several mongos")
        }
        Hosts::Several | Hosts::All => Ok(run.uri.clone()),
        Hosts::One => Ok(run.single_uri.clone()),
    }
}

/// The hosts that a client connects to, or that the load balancer is in front of.
#[derive(Debug, PartialEq, Eq)]
enum Hosts {
    /// Those of the deployment.
    All,
    /// Those of the deployment, which must be several.
    Several,
    /// One of them.
    One,
}

impl Hosts {
    /// By the option `useMultipleMongoses`.
    fn of(topology: Topology, use_multiple_mongoses: Option<bool>, sets_fail_points: bool) -> Self {
        match (topology, use_multiple_mongoses) {
            (Topology::Sharded, Some(true)) => Self::Several,
            (Topology::Sharded | Topology::LoadBalanced, Some(false)) => Self::One,
            // A fail point is set on one mongos, and the operations that follow must use that one. The format advises
            // `false` for these clients.
            (Topology::Sharded, None) if sets_fail_points => Self::One,
            // "MUST NOT enforce any limit on the number of mongos hosts", and the load balancer in front of several.
            _ => Self::All,
        }
    }
}

/// Parses the connection string with `uriOptions`, which override its own options.
fn parse(uri: &str, overrides: &Document) -> Step<ClientOptions> {
    let (mut address, query) = uri.split_once('?').unwrap_or((uri, ""));
    let named = |option: &str, name: &str| {
        option
            .split('=')
            .next()
            .unwrap_or_default()
            .eq_ignore_ascii_case(name)
    };
    let uses_oidc = overrides.values().any(is_placeholder);
    let anonymous;
    if uses_oidc && let Some((scheme, rest)) = address.split_once("://") {
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        anonymous = format!("{scheme}://{host}");
        address = &anonymous;
    }
    let direct = overrides
        .iter()
        .any(|(name, value)| name.eq_ignore_ascii_case("directConnection") && *value == Bson::Boolean(true));
    let mut options: Vec<String> = query
        .split('&')
        .filter(|option| !option.is_empty())
        .filter(|option| !overrides.keys().any(|name| named(option, name)))
        .filter(|option| !(direct && named(option, "replicaSet")))
        .map(str::to_owned)
        .collect();
    let first_host;
    if direct && let Some((first, rest)) = address.split_once(',') {
        let tail = rest
            .find('/')
            .map_or("/", |at| rest.get(at..).unwrap_or_default());
        first_host = format!("{first}{tail}");
        address = &first_host;
    }
    for (name, value) in overrides.iter().filter(|(_, value)| !is_placeholder(value)) {
        if let Bson::Array(elements) = value {
            for element in elements {
                options.push(format!("{name}={}", text(name, element)?));
            }
        } else {
            options.push(format!("{name}={}", text(name, value)?));
        }
    }
    let slash = if address
        .split_once("://")
        .is_some_and(|(_, rest)| rest.contains('/'))
    {
        ""
    } else {
        "/"
    };
    let whole = format!("{address}{slash}?{}", options.join("&"));
    let mut parsed = ClientOptions::parse(&whole).map_err(|e| format!("uriOptions: {e}"))?;
    if uses_oidc {
        let credential = parsed.credential.take().unwrap_or_default();
        parsed.credential = Some(credential.with_oidc_callback(OidcCallback::new(|_| async {
            // The file is that of a deployment outside this process.
            Ok(OidcCredential::new(match std::env::var("OIDC_TOKEN_FILE") {
                Ok(path) => std::fs::read_to_string(path)?,
                Err(_) => OIDC_TOKEN.to_owned(),
            }))
        })));
    }
    for name in overrides.keys() {
        let unknown = format!("unknown option {name} ");
        if parsed
            .warnings()
            .iter()
            .any(|warning| warning.starts_with(&unknown))
        {
            return match missing::omitted_uri_option(&name.to_ascii_lowercase()) {
                Some(reason) => Err(Stop::Skipped(reason.to_owned())),
                None => failed(format!("uriOptions.{name} is not supported by the driver")),
            };
        }
    }
    Ok(parsed)
}

/// Whether the value stands for properties that depend on the environment: those of `MONGODB-OIDC`.
fn is_placeholder(value: &Bson) -> bool {
    matches!(value, Bson::Document(properties) if properties.contains_key("$$placeholder"))
}

fn text(name: &str, value: &Bson) -> Step<String> {
    Ok(match value {
        Bson::String(text) => escaped(text),
        Bson::Boolean(flag) => flag.to_string(),
        Bson::Int32(number) => number.to_string(),
        Bson::Int64(number) => number.to_string(),
        Bson::Double(number) => number.to_string(),
        Bson::Document(properties) => {
            let parts: Step<Vec<String>> = properties
                .iter()
                .map(|(key, value)| Ok(format!("{}:{}", escaped(key), text(name, value)?)))
                .collect();
            parts?.join(",")
        }
        other => return failed(format!("invalid uriOptions.{name}: {}", show(other))),
    })
}

/// Percent-encodes reserved characters.
fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use marula_driver::bson::doc;

    use super::*;

    const SET: &str = "mongodb://a:1,b:2/?replicaSet=rs0&retryWrites=true";

    #[test]
    fn uri_options_override_the_connection_string() {
        let options = parse(
            SET,
            &doc! { "RETRYWRITES": false, "appname": "a b&c", "w": "majority" },
        )
        .expect("options");
        assert!(!options.retry_writes);
        assert_eq!(options.app_name.as_deref(), Some("a b&c"));
        assert_eq!(options.replica_set.as_deref(), Some("rs0"));
        assert_eq!(options.hosts.len(), 2);
    }

    #[test]
    fn only_clients_of_several_mongoses_or_without_the_option_have_several_hosts() {
        for (option, sharded, balanced) in [
            (Some(true), Hosts::Several, Hosts::All),
            (Some(false), Hosts::One, Hosts::One),
            (None, Hosts::All, Hosts::All),
        ] {
            assert_eq!(Hosts::of(Topology::Sharded, option, false), sharded);
            assert_eq!(Hosts::of(Topology::LoadBalanced, option, false), balanced);
            assert_eq!(Hosts::of(Topology::ReplicaSet, option, true), Hosts::All);
        }
        assert_eq!(Hosts::of(Topology::Sharded, None, true), Hosts::One);
        assert_eq!(Hosts::of(Topology::LoadBalanced, None, true), Hosts::All);
    }

    #[test]
    fn a_direct_connection_has_one_host_and_no_replica_set() {
        let options = parse(SET, &doc! { "directConnection": true }).expect("options");
        assert_eq!(options.hosts.len(), 1);
        assert_eq!(options.replica_set, None);
        let options = parse("mongodb://a,b", &doc! { "directConnection": true }).expect("options");
        assert_eq!(options.hosts.len(), 1);
    }

    #[test]
    fn a_client_of_oidc_has_a_callback_and_no_password() {
        let overrides =
            doc! { "authMechanism": "MONGODB-OIDC", "authMechanismProperties": { "$$placeholder": 1 } };
        let options = parse("mongodb://spec:tests@a:1/?retryWrites=true", &overrides).expect("options");
        let credential = options.credential.expect("a credential");
        assert!(!credential.has_password() && credential.username.is_none());
        assert!(credential.mechanism_properties.is_empty());
        assert_eq!(options.hosts.len(), 1);
    }

    #[test]
    fn unknown_options_are_not_ignored() {
        assert!(matches!(parse(SET, &doc! { "fooBar": 1 }), Err(Stop::Failed(_))));
        assert!(matches!(
            parse(SET, &doc! { "waitQueueSize": 1 }),
            Err(Stop::Skipped(_))
        ));
        assert!(matches!(parse(SET, &doc! { "w": null }), Err(Stop::Failed(_))));
    }
}

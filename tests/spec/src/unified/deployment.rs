//! The deployments of tests: in-process servers, which are reused by later tests, or the external
//! deployment at `MONGODB_URI`.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use marula_driver::{
    Client,
    bson::{Bson, Document, doc},
    options::ClientOptions,
};
use marula_test_server::TestServer;

use super::{
    requirement::{Facts, Target},
    stop::{Step, failed},
    version::Version,
};

/// The access token of `MONGODB-OIDC` that deployments with authentication accept.
pub(crate) const OIDC_TOKEN: &str = "token-of-the-specification-tests";

/// The maximum number of idle deployments.
const MAX_IDLE: usize = 12;

/// The topology of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Topology {
    Single,
    ReplicaSet,
    Sharded,
    LoadBalanced,
}

impl Topology {
    /// The name in the test format.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::ReplicaSet => "replicaset",
            Self::Sharded => "sharded",
            Self::LoadBalanced => "load-balanced",
        }
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The key of an idle deployment: topology, version, server parameters in a fixed order, and
/// whether authentication is required.
type Key = (Topology, Version, String, bool);

#[derive(Debug)]
pub(crate) struct Deployment {
    pub(crate) target: Target,
    pub(crate) facts: Facts,
    /// The connection string with one mongos or load balancer only.
    pub(crate) single_uri: String,
    /// The connection string with all hosts.
    pub(crate) uri: String,
    /// One connection string per server.
    pub(crate) member_uris: Vec<String>,
    server: Option<TestServer>,
    parameters: String,
}

static IDLE: Mutex<Option<HashMap<Key, Vec<Deployment>>>> = Mutex::new(None);
static EXTERNAL: Mutex<()> = Mutex::new(());

/// The data is never left inconsistent, so a poisoned lock is ignored.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The connection string of the external deployment, if one is configured.
pub(crate) fn external_uri() -> Option<String> {
    std::env::var("MONGODB_URI").ok().filter(|uri| !uri.is_empty())
}

/// Locks the external deployment for one test at a time.
pub(crate) fn lock_external() -> MutexGuard<'static, ()> {
    lock(&EXTERNAL)
}

/// Adds the compressors of `SPEC_COMPRESSORS` to the connection string of an in-process deployment.
/// `MONGODB_URI` can contain its own compressors.
fn compressed(uri: String) -> String {
    match std::env::var("SPEC_COMPRESSORS") {
        Ok(names) if !names.is_empty() => {
            let joint = if uri.contains('?') { '&' } else { '?' };
            format!("{uri}{joint}compressors={names}")
        }
        _ => uri,
    }
}

impl Deployment {
    /// Takes an idle deployment or starts one. Must run in a tokio runtime.
    pub(crate) async fn acquire(target: Target, parameters: &Document, auth: bool) -> Step<Self> {
        let text = format!("{parameters:?}");
        let idle = lock(&IDLE)
            .get_or_insert_default()
            .get_mut(&(target.topology, target.version, text.clone(), auth))
            .and_then(Vec::pop);
        match idle {
            Some(deployment) => Ok(deployment),
            None => Self::start(target, parameters, text, auth).await,
        }
    }

    async fn start(target: Target, parameters: &Document, text: String, auth: bool) -> Step<Self> {
        let mut builder = TestServer::builder().version(target.version.to_string());
        for (name, value) in parameters {
            builder = builder.parameter(name, value.clone());
        }
        if auth {
            builder = builder.auth("spec", "tests").oidc_token(OIDC_TOKEN, "spec");
        }
        let builder = match target.topology {
            Topology::Single => builder.standalone(),
            Topology::ReplicaSet => builder.replica_set(),
            Topology::Sharded => builder.sharded(),
            Topology::LoadBalanced => builder.load_balanced(),
        };
        let server = match builder.start().await {
            Ok(server) => server,
            Err(error) => return failed(format!("cannot start the test server: {error}")),
        };
        // The server parameters are read from one server directly, so that they do not depend on
        // discovery.
        let member_uris = server.member_uris();
        let facts = match member_uris.first() {
            Some(uri) => facts(uri, auth).await?,
            None => Facts::default(),
        };
        Ok(Self {
            target,
            facts,
            single_uri: compressed(server.single_uri()),
            uri: compressed(server.uri()),
            member_uris: member_uris.into_iter().map(compressed).collect(),
            server: Some(server),
            parameters: text,
        })
    }

    /// Returns an error if the driver has violated the protocol. External deployments do not report
    /// violations.
    pub(crate) fn check_violations(&self) -> Step {
        let violations = match &self.server {
            Some(server) => server.take_violations(),
            None => Vec::new(),
        };
        match violations.first() {
            None => Ok(()),
            Some(first) => failed(format!(
                "{} protocol violation(s) by the driver: {first}",
                violations.len()
            )),
        }
    }

    /// Returns an in-process deployment to the pool of idle deployments.
    pub(crate) fn release(self) {
        if self.server.is_none() {
            return;
        }
        let mut guard = lock(&IDLE);
        let idle = guard.get_or_insert_default();
        let surplus = if idle.values().map(Vec::len).sum::<usize>() >= MAX_IDLE {
            let other = idle
                .iter()
                .find(|(_, list)| !list.is_empty())
                .map(|(key, _)| key.clone());
            other.and_then(|key| idle.get_mut(&key)).and_then(Vec::pop)
        } else {
            None
        };
        let key = (
            self.target.topology,
            self.target.version,
            self.parameters.clone(),
            self.facts.auth,
        );
        idle.entry(key).or_default().push(self);
        drop(guard);
        drop(surplus);
    }

    /// Returns whether this is the deployment at `MONGODB_URI`.
    pub(crate) fn is_external(&self) -> bool {
        self.server.is_none()
    }

    /// Connects to the deployment at `MONGODB_URI`.
    pub(crate) async fn external(uri: &str) -> Step<Self> {
        let options = ClientOptions::parse(uri).map_err(|e| format!("MONGODB_URI: {e}"))?;
        let client = Client::with_options(options.clone()).map_err(|e| format!("MONGODB_URI: {e}"))?;
        let admin = client.database("admin");
        let run = async |command: Document| {
            let reply = admin.run_command(command).await;
            reply.map_err(|e| format!("MONGODB_URI: {e}"))
        };
        let hello = run(doc! { "hello": 1 }).await?;
        let build = run(doc! { "buildInfo": 1 }).await?;
        // A server that cannot list its parameters satisfies no `serverParameters` requirement.
        let parameters = run(doc! { "getParameter": "*" }).await.unwrap_or_default();
        client.shutdown().await;
        let numbers: Vec<u32> = build
            .get_array("versionArray")
            .map(|numbers| numbers.iter().filter_map(as_u32).take(3).collect())
            .unwrap_or_default();
        let topology = if options.load_balanced {
            Topology::LoadBalanced
        } else if matches!(hello.get_str("msg"), Ok("isdbgrid")) {
            Topology::Sharded
        } else if hello.contains_key("setName") {
            Topology::ReplicaSet
        } else {
            Topology::Single
        };
        let members = if topology == Topology::LoadBalanced {
            vec![uri.to_owned()]
        } else {
            options
                .hosts
                .iter()
                .map(|host| with_host(uri, &host.to_string()))
                .collect()
        };
        let single = match topology {
            Topology::Sharded => members.first().cloned().unwrap_or_else(|| uri.to_owned()),
            _ => uri.to_owned(),
        };
        Ok(Self {
            target: Target {
                topology,
                version: Version([
                    numbers.first().copied().unwrap_or_default(),
                    numbers.get(1).copied().unwrap_or_default(),
                    numbers.get(2).copied().unwrap_or_default(),
                ]),
            },
            facts: Facts {
                parameters,
                auth: options.credential.is_some(),
            },
            single_uri: single,
            uri: uri.to_owned(),
            member_uris: members,
            server: None,
            parameters: String::new(),
        })
    }
}

fn as_u32(value: &Bson) -> Option<u32> {
    match value {
        Bson::Int32(number) => u32::try_from(*number).ok(),
        Bson::Int64(number) => u32::try_from(*number).ok(),
        _ => None,
    }
}

/// The same connection string with one host and `directConnection=true`.
fn with_host(uri: &str, host: &str) -> String {
    let (scheme, rest) = uri.split_once("://").unwrap_or(("mongodb", uri));
    let (authority, tail) = match rest.find(['/', '?']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let user = authority
        .rsplit_once('@')
        .map_or_else(String::new, |(user, _)| format!("{user}@"));
    let (path, query) = tail.split_once('?').unwrap_or((tail, ""));
    let path = if path.is_empty() { "/" } else { path };
    let mut options: Vec<&str> = query
        .split('&')
        .filter(|option| !option.is_empty())
        .filter(|option| {
            let name = option.split('=').next().unwrap_or_default();
            !name.eq_ignore_ascii_case("replicaSet") && !name.eq_ignore_ascii_case("directConnection")
        })
        .collect();
    options.push("directConnection=true");
    format!("{scheme}://{user}{host}{path}?{}", options.join("&"))
}

async fn facts(uri: &str, auth: bool) -> Step<Facts> {
    let client = Client::connect(uri)
        .await
        .map_err(|e| format!("cannot create a client: {e}"))?;
    let reply = client
        .database("admin")
        .run_command(doc! { "getParameter": "*" })
        .await;
    client.shutdown().await;
    Ok(Facts {
        parameters: reply.map_err(|e| format!("getParameter: {e}"))?,
        auth,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_strings_of_single_hosts() {
        for (uri, expected) in [
            (
                "mongodb://a:1,b:2/?replicaSet=rs",
                "mongodb://b:2/?directConnection=true",
            ),
            ("mongodb://a,b:2", "mongodb://b:2/?directConnection=true"),
            (
                "mongodb://u:p@a,b:2/db?w=1&directConnection=false",
                "mongodb://u:p@b:2/db?w=1&directConnection=true",
            ),
        ] {
            assert_eq!(with_host(uri, "b:2"), expected);
        }
    }
}

//! The deployments that tests run on: in-process servers, shared by tests that run one after another; or the one that
//! `MONGODB_URI` names.

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
    requirement::{Facts, Place},
    stop::{Step, failed},
    version::Version,
};

/// Idle deployments that are kept for the next test.
const MOST_IDLE: usize = 12;

/// What a deployment looks like from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Topology {
    Single,
    ReplicaSet,
    Sharded,
    LoadBalanced,
}

impl Topology {
    /// The format's name of it.
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

/// Which in-process deployment: topology, version, server parameters in a fixed order, and whether clients must log in.
type Key = (Topology, Version, String, bool);

/// A deployment and what is known of it.
#[derive(Debug)]
pub(crate) struct Deployment {
    pub(crate) place: Place,
    pub(crate) facts: Facts,
    /// One mongos, or the balancer in front of one, where there are several.
    pub(crate) single_uri: String,
    /// All of it.
    pub(crate) uri: String,
    /// Each server by itself.
    pub(crate) member_uris: Vec<String>,
    server: Option<TestServer>,
    parameters: String,
}

static IDLE: Mutex<Option<HashMap<Key, Vec<Deployment>>>> = Mutex::new(None);
static REAL: Mutex<()> = Mutex::new(());

/// Nobody leaves the pool half-changed, so a panic elsewhere says nothing about it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The connection string of the real deployment to use instead.
pub(crate) fn real_uri() -> Option<String> {
    std::env::var("MONGODB_URI").ok().filter(|uri| !uri.is_empty())
}

/// Keeps other tests away from the real deployment as long as it lives.
pub(crate) fn hold_real() -> MutexGuard<'static, ()> {
    lock(&REAL)
}

/// The connection string with the compressors that `SPEC_COMPRESSORS` names, so that every client of a run uses them. A real
/// deployment has its own connection string, which can name some.
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
    /// An idle deployment, or a new one. Must run within a tokio runtime.
    pub(crate) async fn acquire(place: Place, parameters: &Document, auth: bool) -> Step<Self> {
        let text = format!("{parameters:?}");
        let idle = lock(&IDLE)
            .get_or_insert_default()
            .get_mut(&(place.topology, place.version, text.clone(), auth))
            .and_then(Vec::pop);
        match idle {
            Some(deployment) => Ok(deployment),
            None => Self::start(place, parameters, text, auth).await,
        }
    }

    async fn start(place: Place, parameters: &Document, text: String, auth: bool) -> Step<Self> {
        let mut builder = TestServer::builder().version(place.version.to_string());
        for (name, value) in parameters {
            builder = builder.parameter(name, value.clone());
        }
        if auth {
            builder = builder.auth("spec", "tests");
        }
        let builder = match place.topology {
            Topology::Single => builder.standalone(),
            Topology::ReplicaSet => builder.replica_set(),
            Topology::Sharded => builder.sharded(),
            Topology::LoadBalanced => builder.load_balanced(),
        };
        let server = match builder.start().await {
            Ok(server) => server,
            Err(error) => return failed(format!("cannot start the test server: {error}")),
        };
        // What the server is, is asked of one process, so that it does not depend on discovery.
        let member_uris = server.member_uris();
        let facts = match member_uris.first() {
            Some(uri) => facts(uri, auth).await?,
            None => Facts::default(),
        };
        Ok(Self {
            place,
            facts,
            single_uri: compressed(server.single_uri()),
            uri: compressed(server.uri()),
            member_uris: member_uris.into_iter().map(compressed).collect(),
            server: Some(server),
            parameters: text,
        })
    }

    /// Fails if a client broke a rule of the protocol that every driver must keep. Real deployments do not say.
    pub(crate) fn check_violations(&self) -> Step {
        let violations = match &self.server {
            Some(server) => server.take_violations(),
            None => Vec::new(),
        };
        match violations.first() {
            None => Ok(()),
            Some(first) => failed(format!(
                "the driver broke the protocol {} time(s): {first}",
                violations.len()
            )),
        }
    }

    /// Gives an in-process deployment back for the next test.
    pub(crate) fn release(self) {
        if self.server.is_none() {
            return;
        }
        let mut guard = lock(&IDLE);
        let idle = guard.get_or_insert_default();
        let surplus = if idle.values().map(Vec::len).sum::<usize>() >= MOST_IDLE {
            let other = idle
                .iter()
                .find(|(_, list)| !list.is_empty())
                .map(|(key, _)| key.clone());
            other.and_then(|key| idle.get_mut(&key)).and_then(Vec::pop)
        } else {
            None
        };
        let key = (
            self.place.topology,
            self.place.version,
            self.parameters.clone(),
            self.facts.auth,
        );
        idle.entry(key).or_default().push(self);
        drop(guard);
        drop(surplus);
    }

    /// Whether it is the deployment that `MONGODB_URI` names.
    pub(crate) fn is_real(&self) -> bool {
        self.server.is_none()
    }

    /// The deployment that `MONGODB_URI` names.
    pub(crate) async fn real(uri: &str) -> Step<Self> {
        let options = ClientOptions::parse(uri).map_err(|e| format!("MONGODB_URI: {e}"))?;
        let client = Client::with_options(options.clone()).map_err(|e| format!("MONGODB_URI: {e}"))?;
        let admin = client.database("admin");
        let ask = async |command: Document| {
            let reply = admin.run_command(command).await;
            reply.map_err(|e| format!("MONGODB_URI: {e}"))
        };
        let hello = ask(doc! { "hello": 1 }).await?;
        let build = ask(doc! { "buildInfo": 1 }).await?;
        // A server that cannot list its parameters has none that a test could require.
        let parameters = ask(doc! { "getParameter": "*" }).await.unwrap_or_default();
        client.shutdown().await;
        let numbers: Vec<u32> = build
            .get_array("versionArray")
            .map(|numbers| numbers.iter().filter_map(whole).take(3).collect())
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
            place: Place {
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

fn whole(value: &Bson) -> Option<u32> {
    match value {
        Bson::Int32(number) => u32::try_from(*number).ok(),
        Bson::Int64(number) => u32::try_from(*number).ok(),
        _ => None,
    }
}

/// The same connection string with one host, addressed directly.
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
        .map_err(|e| format!("cannot make a client: {e}"))?;
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
    fn one_host_is_taken_out_of_a_connection_string() {
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

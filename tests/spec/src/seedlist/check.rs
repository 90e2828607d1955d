//! The expectations of one file, and their verification.

use std::{collections::BTreeSet, time::Duration};

use marula_driver::{
    Client, Error, ErrorKind,
    bson::doc,
    internals::{hosts, wait_for_hosts},
    options::{ClientOptions, Credential},
};
use serde_json::{Map, Value};

use super::fixture::{Fixture, Kind};
use crate::case::Outcome;

/// A limit for discovery that does not end. No time is measured.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The expectations of a file.
#[derive(Debug, Default)]
pub(super) struct Expected {
    uri: String,
    seeds: Option<BTreeSet<String>>,
    num_seeds: Option<usize>,
    hosts: Option<BTreeSet<String>>,
    num_hosts: Option<usize>,
    error: bool,
    options: Map<String, Value>,
    parsed_options: Map<String, Value>,
    /// Whether to run a ping that must succeed. Default: true.
    ping: bool,
}

impl Expected {
    pub(super) fn read(json: &Value) -> Result<Self, String> {
        let fields = json.as_object().ok_or("expected an object")?;
        let mut expected = Self {
            ping: true,
            ..Self::default()
        };
        for (key, value) in fields {
            let wrong = || format!("{key} has the wrong type: {value}");
            match key.as_str() {
                "uri" => value.as_str().ok_or_else(wrong)?.clone_into(&mut expected.uri),
                "seeds" => expected.seeds = Some(texts(value).ok_or_else(wrong)?),
                "hosts" => expected.hosts = Some(texts(value).ok_or_else(wrong)?),
                "numSeeds" => expected.num_seeds = Some(count(value).ok_or_else(wrong)?),
                "numHosts" => expected.num_hosts = Some(count(value).ok_or_else(wrong)?),
                "error" => expected.error = value.as_bool().ok_or_else(wrong)?,
                "ping" => expected.ping = value.as_bool().ok_or_else(wrong)?,
                "options" => value
                    .as_object()
                    .ok_or_else(wrong)?
                    .clone_into(&mut expected.options),
                "parsed_options" => value
                    .as_object()
                    .ok_or_else(wrong)?
                    .clone_into(&mut expected.parsed_options),
                "comment" => {}
                _ => return Err(format!("unknown key {key}")),
            }
        }
        if expected.uri.is_empty() {
            return Err("missing uri".into());
        }
        Ok(expected)
    }

    pub(super) fn uri(&self) -> &str {
        &self.uri
    }

    fn check_seeds(&self, found: &ClientOptions) -> Result<(), String> {
        let seeds: BTreeSet<String> = found.hosts.iter().map(ToString::to_string).collect();
        match &self.seeds {
            Some(expected) if *expected != seeds => return Err(format!("seeds: {seeds:?}")),
            _ => {}
        }
        match self.num_seeds {
            Some(expected) if expected != seeds.len() => {
                Err(format!("expected {expected} seeds, found {seeds:?}"))
            }
            _ => Ok(()),
        }
    }

    fn check_options(&self, found: &ClientOptions) -> Result<(), String> {
        for (name, expected) in &self.options {
            let value = match name.as_str() {
                "replicaSet" => found.replica_set.as_deref().map(Value::from),
                "authSource" => found.auth_source().map(Value::from),
                "ssl" | "tls" => found.tls.enabled.map(Value::from),
                "loadBalanced" => Some(found.load_balanced.into()),
                "directConnection" => found.direct_connection.map(Value::from),
                "srvMaxHosts" => Some(found.srv_max_hosts.into()),
                "srvServiceName" => Some(found.srv_service_name.as_str().into()),
                _ => return Err(format!("unknown option {name}")),
            };
            if value.as_ref() != Some(expected) {
                return Err(format!("{name} is {value:?}, expected {expected}"));
            }
        }
        let text = |name: &str| self.parsed_options.get(name).and_then(Value::as_str);
        let credential = found.credential.clone().unwrap_or_default();
        for (name, expected) in &self.parsed_options {
            let is_equal = match name.as_str() {
                "user" => credential.username.as_deref() == text(name),
                // A password cannot be read back, only compared.
                "password" => text(name).is_some_and(|password| has_password(&credential, password)),
                "db" | "defaultDatabase" | "auth_database" => found.default_database.as_deref() == text(name),
                _ => return Err(format!("unknown parsed option {name}")),
            };
            if !is_equal {
                return Err(format!("{name} differs from {expected}"));
            }
        }
        Ok(())
    }

    /// Waits until the hosts are the expected ones.
    async fn check_hosts(&self, client: &Client) -> Result<(), String> {
        let suit = |now: &[String]| {
            let as_named = match &self.hosts {
                Some(expected) => now.iter().cloned().collect::<BTreeSet<_>>() == *expected,
                None => true,
            };
            as_named && self.num_hosts.is_none_or(|expected| now.len() == expected)
        };
        match tokio::time::timeout(TIMEOUT, wait_for_hosts(client, suit)).await {
            Ok(now) if suit(&now) => Ok(()),
            _ => Err(format!("hosts: {:?}", hosts(client))),
        }
    }
}

fn texts(value: &Value) -> Option<BTreeSet<String>> {
    let items = value.as_array()?.iter();
    items.map(|item| item.as_str().map(str::to_owned)).collect()
}

fn count(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

fn has_password(credential: &Credential, password: &str) -> bool {
    *credential == credential.clone().with_password(password)
}

pub(super) async fn run(expected: &Expected, fixture: &Fixture, kind: Kind) -> Outcome {
    let found = resolve(expected, fixture).await;
    if expected.error {
        return rejected(
            found.and_then(|options| fixture.environment(kind, &mut options.clone()).client(options)),
        );
    }
    let options = match found {
        Ok(options) => options,
        Err(error) => return Outcome::Failed(error.to_string()),
    };
    if let Err(why) = expected
        .check_seeds(&options)
        .and_then(|()| expected.check_options(&options))
    {
        return Outcome::Failed(why);
    }
    connect(expected, fixture, kind, options).await
}

async fn resolve(expected: &Expected, fixture: &Fixture) -> Result<ClientOptions, Error> {
    let options = ClientOptions::parse(&expected.uri)?;
    fixture.lookup_only().resolve(options).await
}

/// Checks an expected error. It must concern the connection string or the DNS records, not an
/// unsupported feature or the network.
fn rejected(outcome: Result<Client, Error>) -> Outcome {
    match outcome {
        Ok(_) => Outcome::Failed("no error".into()),
        Err(error) => match error.kind() {
            ErrorKind::ConnectionString(_) | ErrorKind::Dns(_) | ErrorKind::InvalidArgument(_) => {
                Outcome::Passed
            }
            _ => Outcome::Failed(format!("unexpected error: {error}")),
        },
    }
}

async fn connect(expected: &Expected, fixture: &Fixture, kind: Kind, mut options: ClientOptions) -> Outcome {
    // Files with credentials disable the ping: the deployments have no users. Hosts are discovered
    // without authentication.
    if !expected.ping {
        options.credential = None;
    }
    let environment = fixture.environment(kind, &mut options);
    let client = match environment.client(options) {
        Ok(client) => client,
        Err(error) => {
            return match error.kind() {
                ErrorKind::Unsupported(what) => Outcome::Pending(what.clone()),
                _ => Outcome::Failed(error.to_string()),
            };
        }
    };
    let checked = expected.check_hosts(&client).await;
    let pinged = if expected.ping {
        client
            .database("admin")
            .run_command(doc! { "ping": 1 })
            .await
            .map(drop)
            .map_err(|error| format!("ping: {error}"))
    } else {
        Ok(())
    };
    client.shutdown().await;
    checked.and(pinged).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expecting(json: &str) -> Expected {
        Expected::read(&serde_json::from_str(json).expect("JSON")).expect("a file")
    }

    fn outcome(json: &str) -> Outcome {
        let fixture = Fixture::get().as_ref().expect("the fixture");
        fixture.block_on(run(&expecting(json), fixture, Kind::ReplicaSet))
    }

    #[test]
    fn wrong_expectations_fail() {
        for (json, part) in [
            (
                r#"{"uri": "mongodb+srv://test3.test.build.10gen.cc/", "seeds": ["localhost.test.build.10gen.cc:1"]}"#,
                "seeds",
            ),
            (
                r#"{"uri": "mongodb+srv://test3.test.build.10gen.cc/", "numSeeds": 2}"#,
                "expected 2 seeds",
            ),
            (
                r#"{"uri": "mongodb+srv://test3.test.build.10gen.cc/", "options": {"ssl": false}}"#,
                "ssl",
            ),
            (
                r#"{"uri": "mongodb+srv://test5.test.build.10gen.cc/", "options": {"authSource": "x"}}"#,
                "authSource",
            ),
            (
                r#"{"uri": "mongodb+srv://test3.test.build.10gen.cc/", "options": {"invented": 1}}"#,
                "unknown",
            ),
            (
                r#"{"uri": "mongodb+srv://u:p@test3.test.build.10gen.cc/", "parsed_options": {"password": "x"}}"#,
                "password",
            ),
            (
                r#"{"uri": "mongodb+srv://test3.test.build.10gen.cc/", "error": true}"#,
                "no error",
            ),
            (
                r#"{"uri": "mongodb+srv://test4.test.build.10gen.cc/", "seeds": []}"#,
                "test4",
            ),
        ] {
            match outcome(json) {
                Outcome::Failed(why) => assert!(why.contains(part), "{json}: {why}"),
                other => panic!("{json}: {other:?}"),
            }
        }
        assert!(Expected::read(&serde_json::json!({ "uri": "x", "invented": 1 })).is_err());
        assert!(Expected::read(&serde_json::json!({ "seeds": [] })).is_err());
    }
}

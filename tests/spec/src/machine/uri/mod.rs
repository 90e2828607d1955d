//! Connection String and URI Options: parses connection strings with [`ClientOptions::parse`].

mod options;

use std::path::Path;

use marula_driver::{ServerAddress, internals, options::ClientOptions};
use serde_json::Value;

use crate::{
    case::{Case, Outcome},
    fields::{Fields, equal},
    files,
    machine::cases_of_list,
};

/// Collects the cases of both suites.
pub fn collect(root: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for suite in ["connection-string", "uri-options"] {
        for file in files::below(root, &format!("{suite}/tests")) {
            let mut found = cases_of_list(root, "connection-string", &file, "tests", check);
            if file.ends_with("/single-threaded-options.json") {
                for case in &mut found {
                    case.run =
                        Box::new(|| Outcome::Skipped("the option is for single-threaded drivers".to_owned()));
                }
            }
            cases.extend(found);
        }
    }
    cases
}

fn check(test: &Value) -> Result<(), String> {
    let test = Fields::new("test", test)?;
    test.need_text("description")?;
    let uri = test.need_text("uri")?;
    let valid = test.flag("valid")?;
    let warning = test.flag("warning")?.unwrap_or_default();
    let hosts = test.list("hosts")?;
    let auth = test.object("auth")?;
    let expected = test.given("options");
    test.finish()?;
    let parsed = ClientOptions::parse(uri);
    let options = match (parsed, valid.unwrap_or(true)) {
        (Ok(options), true) => options,
        (Ok(options), false) => return Err(format!("accepted as {options:?}")),
        (Err(error), true) => return Err(format!("rejected: {error}")),
        (Err(error), false) => {
            return match error.kind() {
                marula_driver::ErrorKind::ConnectionString(_) => Ok(()),
                _ => Err(format!("unexpected error: {error:?}")),
            };
        }
    };
    if warning == options.warnings().is_empty() {
        return Err(format!(
            "expected {}, found {:?}",
            if warning { "a warning" } else { "no warning" },
            options.warnings()
        ));
    }
    if let Some(hosts) = hosts {
        check_hosts(&options.hosts, hosts)?;
    }
    if let Some(auth) = auth {
        check_auth(&options, auth)?;
    }
    match expected {
        Some(expected) => check_options(&options, expected),
        None => Ok(()),
    }
}

fn check_hosts(actual: &[ServerAddress], expected: &[Value]) -> Result<(), String> {
    equal("number of hosts", &actual.len(), &expected.len())?;
    for (address, expected) in actual.iter().zip(expected) {
        let expected = Fields::new("host", expected)?;
        let host = expected.need_text("host")?;
        let port = expected.count("port")?;
        let kind = expected.need_text("type")?;
        expected.finish()?;
        let is = match address {
            ServerAddress::Unix { .. } => "unix",
            ServerAddress::Tcp { host, .. } if host.contains(':') => "ip_literal",
            ServerAddress::Tcp { host, .. } if host.parse::<std::net::Ipv4Addr>().is_ok() => "ipv4",
            ServerAddress::Tcp { .. } => "hostname",
            other => return Err(format!("unexpected address type: {other:?}")),
        };
        equal("host type", &is, &kind)?;
        // Host names are case-insensitive; the driver stores them in lowercase.
        let folded = if is == "unix" {
            host.to_owned()
        } else {
            host.to_ascii_lowercase()
        };
        equal("host", &address.host().into_owned(), &folded)?;
        // A missing port may be replaced with the default port.
        let default = (is != "unix").then_some(27017);
        equal("port", &address.port().map(u64::from), &port.or(default))?;
    }
    Ok(())
}

fn check_auth(options: &ClientOptions, expected: Fields<'_>) -> Result<(), String> {
    let credential = options.credential.as_ref();
    let name = credential.and_then(|credential| credential.username.as_deref());
    equal("username", &name, &expected.text("username")?)?;
    equal(
        "password",
        &internals::secrets(options).password,
        &expected.text("password")?,
    )?;
    equal(
        "database",
        &options.default_database.as_deref(),
        &expected.text("db")?,
    )?;
    expected.finish()
}

fn check_options(options: &ClientOptions, expected: &Value) -> Result<(), String> {
    for (key, expected) in Fields::new("options", expected)?.entries() {
        let actual = options::value(options, key)?;
        if !options::same(&actual, expected) {
            return Err(format!("{key} is {actual}, expected {expected}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fails(change: &str, value: Value) -> String {
        let mut test = json!({
            "description": "d", "uri": "mongodb://u:p@Host:1/db?maxPoolSize=7&readPreference=secondary&readPreferenceTags=a:B",
            "valid": true, "warning": false, "hosts": [{ "type": "hostname", "host": "host", "port": 1 }],
            "auth": { "username": "u", "password": "p", "db": "db" },
            "options": { "maxPoolSize": 7, "readPreferenceTags": [{ "a": "B" }] },
        });
        assert_eq!(check(&test), Ok(()));
        *test.pointer_mut(change).unwrap() = value;
        check(&test).unwrap_err()
    }

    #[test]
    fn every_wrong_expectation_fails() {
        assert!(fails("/valid", json!(false)).contains("accepted"));
        assert!(fails("/uri", json!("mongodb://")).contains("rejected"));
        assert!(fails("/warning", json!(true)).contains("expected a warning"));
        assert!(fails("/hosts", json!([])).contains("number of hosts"));
        assert!(fails("/hosts/0/host", json!("other")).contains("host is"));
        assert!(fails("/hosts/0/port", json!(2)).contains("port is"));
        assert!(fails("/hosts/0/type", json!("ipv4")).contains("host type"));
        assert!(fails("/auth/username", json!("v")).contains("username"));
        assert!(fails("/auth/password", json!("v")).contains("password"));
        assert!(fails("/auth/db", json!(null)).contains("database"));
        assert!(fails("/options/maxPoolSize", json!(8)).contains("maxPoolSize is 7"));
        assert!(fails("/options/readPreferenceTags", json!([{ "a": "b" }])).contains("readPreferenceTags"));
        assert!(fails("/options", json!({ "invented": 1 })).contains("invented"));
    }
}

//! Authentication: the credential of a connection string.

use std::path::Path;

use marula_driver::{
    internals,
    options::{AuthMechanism, ClientOptions},
};
use serde_json::Value;

use crate::{
    case::Case,
    fields::{Fields, equal},
    files,
    machine::cases_of_list,
};

/// Collects the connection string tests of the Authentication specification.
pub fn collect(root: &Path) -> Vec<Case> {
    files::below(root, "auth/tests/legacy")
        .iter()
        .flat_map(|file| cases_of_list(root, "auth-uri", file, "tests", check))
        .collect()
}

fn check(test: &Value) -> Result<(), String> {
    let test = Fields::new("test", test)?;
    test.need_text("description")?;
    let uri = test.need_text("uri")?;
    let valid = test.flag("valid")?.unwrap_or(true);
    let asserted = test.get("credential").is_some();
    let expected = test.object("credential")?;
    test.finish()?;
    let credential = ClientOptions::parse(uri).and_then(|options| internals::resolved_credential(&options));
    let credential = match (credential, valid) {
        (Err(_), false) => return Ok(()),
        (Err(error), true) => return Err(format!("rejected: {error}")),
        (Ok(credential), false) => return Err(format!("accepted as {credential:?}")),
        (Ok(credential), true) => credential,
    };
    let (credential, expected) = match (credential, expected) {
        (Some(credential), Some(expected)) => (credential, expected),
        (Some(credential), None) if asserted => {
            return Err(format!("credential {credential:?}, expected no credential"));
        }
        (None, Some(_)) => return Err("no credential".to_owned()),
        _ => return Ok(()),
    };
    if expected.get("username").is_some() {
        equal(
            "username",
            &credential.username.as_deref(),
            &expected.text("username")?,
        )?;
    }
    if expected.get("password").is_some() {
        equal(
            "password",
            &internals::password(&credential),
            &expected.text("password")?,
        )?;
    }
    if expected.get("source").is_some() {
        equal("source", &credential.source.as_deref(), &expected.text("source")?)?;
    }
    if expected.get("mechanism").is_some() {
        let mechanism = credential.mechanism.as_ref().map(AuthMechanism::as_str);
        equal("mechanism", &mechanism, &expected.text("mechanism")?)?;
    }
    if let Some(properties) = expected.object("mechanism_properties")? {
        for (key, value) in properties.entries() {
            let actual = credential.mechanism_properties.get(key).cloned();
            let value = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            equal(key, &actual, &Some(value))?;
        }
    }
    expected.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_wrong_expectation_fails() {
        let test = json!({
            "description": "d", "uri": "mongodb://u:p@h/?authMechanism=GSSAPI", "valid": true,
            "credential": { "username": "u", "password": "p", "source": "$external", "mechanism": "GSSAPI",
                "mechanism_properties": { "SERVICE_NAME": "mongodb" } },
        });
        assert_eq!(check(&test), Ok(()));
        for (place, value, why) in [
            ("/valid", json!(false), "accepted"),
            ("/credential", json!(null), "expected no credential"),
            ("/credential/username", json!("v"), "username"),
            ("/credential/password", json!(null), "password"),
            ("/credential/source", json!("admin"), "source"),
            ("/credential/mechanism", json!(null), "mechanism"),
            (
                "/credential/mechanism_properties/SERVICE_NAME",
                json!("x"),
                "SERVICE_NAME",
            ),
            ("/uri", json!("mongodb://h"), "no credential"),
            ("/credential", json!({ "invented": 1 }), "unknown key"),
        ] {
            let mut test = test.clone();
            *test.pointer_mut(place).unwrap() = value;
            let error = check(&test).unwrap_err();
            assert!(error.contains(why), "{place}: {error}");
        }
    }
}

//! auth: which credential a client makes of a connection string.

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

/// The cases of the folder of URI tests.
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
    let made = ClientOptions::parse(uri).and_then(|options| internals::resolved_credential(&options));
    let made = match (made, valid) {
        (Err(_), false) => return Ok(()),
        (Err(error), true) => return Err(format!("refused: {error}")),
        (Ok(made), false) => return Err(format!("accepted as {made:?}")),
        (Ok(made), true) => made,
    };
    let (made, expected) = match (made, expected) {
        (Some(made), Some(expected)) => (made, expected),
        (Some(made), None) if asserted => return Err(format!("made {made:?}, expected no credential")),
        (None, Some(_)) => return Err("made no credential".to_owned()),
        _ => return Ok(()),
    };
    if expected.get("username").is_some() {
        equal(
            "the user name",
            &made.username.as_deref(),
            &expected.text("username")?,
        )?;
    }
    if expected.get("password").is_some() {
        equal(
            "the password",
            &internals::password(&made),
            &expected.text("password")?,
        )?;
    }
    if expected.get("source").is_some() {
        equal("the source", &made.source.as_deref(), &expected.text("source")?)?;
    }
    if expected.get("mechanism").is_some() {
        let mechanism = made.mechanism.as_ref().map(AuthMechanism::as_str);
        equal("the mechanism", &mechanism, &expected.text("mechanism")?)?;
    }
    if let Some(properties) = expected.object("mechanism_properties")? {
        for (key, value) in properties.entries() {
            let actual = made.mechanism_properties.get(key).cloned();
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
            ("/credential/username", json!("v"), "the user name"),
            ("/credential/password", json!(null), "the password"),
            ("/credential/source", json!("admin"), "the source"),
            ("/credential/mechanism", json!(null), "the mechanism"),
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

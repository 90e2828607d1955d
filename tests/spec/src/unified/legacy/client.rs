//! `clientOptions`: the options of the client with automatic encryption.

use base64::{Engine, prelude::BASE64_STANDARD};
use marula_driver::bson::{Bson, Document, doc};

use super::keys::Keys;
use crate::unified::matcher::show;

/// The key vault of a client that does not name one.
const KEY_VAULT: &str = "keyvault.datakeys";
/// The ID of an access key of AWS that requires a session token.
const TEMPORARY_ACCESS_KEY_ID: &str = "ASIAEXAMPLE";

/// Converts `clientOptions` to options of a client entity. The unified test format has the same
/// names for the options of encryption, and the connection string for all others.
pub(super) fn options(options: Document) -> Result<Document, String> {
    let mut keys = Keys::new("clientOptions", options);
    let mut converted = Document::new();
    if let Some(encryption) = keys.document("autoEncryptOpts")? {
        converted.insert("autoEncryptOpts", auto_encrypt_opts(encryption)?);
    }
    let uri_options = keys.rest();
    if !uri_options.is_empty() {
        converted.insert("uriOptions", uri_options);
    }
    Ok(converted)
}

fn auto_encrypt_opts(options: Document) -> Result<Document, String> {
    let mut keys = Keys::new("clientOptions.autoEncryptOpts", options);
    let key_vault = keys.text("keyVaultNamespace")?;
    let mut converted = doc! {
        "keyVaultNamespace": key_vault.unwrap_or_else(|| KEY_VAULT.to_owned()),
        "kmsProviders": kms_providers(keys.required("kmsProviders", Keys::document)?)?,
    };
    // The schema of the unified test format rejects unknown options.
    converted.extend(keys.rest());
    Ok(converted)
}

/// The providers; an empty document stands for credentials of the environment.
fn kms_providers(providers: Document) -> Result<Document, String> {
    let mut converted = Document::new();
    for (name, value) in providers {
        let Bson::Document(given) = value else {
            return Err(format!(
                "kmsProviders.{name}: expected a document, found {}",
                show(&value)
            ));
        };
        let (name, filled) = match (name.as_str(), given.is_empty()) {
            ("awsTemporary", true) => ("aws", temporary(true)),
            ("awsTemporaryNoSessionToken", true) => ("aws", temporary(false)),
            ("aws", true) => ("aws", placeholders(&["accessKeyId", "secretAccessKey"])),
            ("azure", true) => ("azure", placeholders(&["tenantId", "clientId", "clientSecret"])),
            ("gcp", true) => ("gcp", placeholders(&["email", "privateKey"])),
            ("kmip", true) => ("kmip", placeholders(&["endpoint"])),
            (name, _) => (name, given.into_iter().map(in_base64).collect()),
        };
        if converted.insert(name, filled).is_some() {
            return Err(format!("kmsProviders: several providers are named \"{name}\""));
        }
    }
    Ok(converted)
}

/// A value that the runner replaces by a credential of the test services.
fn placeholder() -> Bson {
    Bson::Document(doc! { "$$placeholder": 1 })
}

fn placeholders(fields: &[&str]) -> Document {
    fields
        .iter()
        .map(|field| ((*field).to_owned(), placeholder()))
        .collect()
}

/// Temporary credentials of AWS. Without their session token, AWS rejects them.
fn temporary(with_session_token: bool) -> Document {
    let mut credentials = placeholders(&["secretAccessKey"]);
    credentials.insert("accessKeyId", TEMPORARY_ACCESS_KEY_ID);
    if with_session_token {
        credentials.insert("sessionToken", placeholder());
    }
    credentials
}

/// A key as text, as in the unified test format.
fn in_base64((name, value): (String, Bson)) -> (String, Bson) {
    match value {
        Bson::Binary(key) => (name, Bson::String(BASE64_STANDARD.encode(key.bytes))),
        other => (name, other),
    }
}

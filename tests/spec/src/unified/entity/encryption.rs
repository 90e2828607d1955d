//! `clientEncryption` entities: libmongocrypt with the credentials of the test services.

use std::{fmt, time::Duration};

use marula_driver::{
    Client,
    bson::{Bson, Document},
    encryption::{ClientEncryption, ClientEncryptionOptions, KmsProviders},
};
use marula_driver_tests::kms::KmsDouble;

use super::client::milliseconds;
use crate::unified::stop::{Step, failed};

/// The key of the provider `local` in the files of the specification, in base64.
const LOCAL_KEY: &str = "Mng0NCt4ZHVUYUJCa1kxNkVyNUR1QURhZ2h2UzR2d2RrZzh0cFBwM3R6NmdWMDFBMUN3YkQ5aXRRMkhGRGdQV09wOGVNYUMxT2k3NjZKelhaQmRCZGJkTXVyZG9uSjFk";
/// A private key for the provider `gcp`, PKCS #8 in base64.
const GCP_KEY: &str = include_str!("gcp_key.txt");

/// An object for explicit encryption, with its key management services.
pub(crate) struct EncryptionEntity {
    pub(crate) encryption: ClientEncryption,
    _services: KmsDouble,
}

impl fmt::Debug for EncryptionEntity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.encryption.fmt(f)
    }
}

/// Creates an entity from `clientEncryptionOpts`.
pub(super) async fn client_encryption(client: &Client, description: &Document) -> Step<EncryptionEntity> {
    let Ok(namespace) = description.get_str("keyVaultNamespace") else {
        return failed("clientEncryptionOpts requires keyVaultNamespace");
    };
    let Ok(providers) = description.get_document("kmsProviders") else {
        return failed("clientEncryptionOpts requires kmsProviders");
    };
    let services = KmsDouble::start().await;
    let mut options = services.configure(ClientEncryptionOptions::new(namespace, kms_providers(providers)?));
    if let Some(time) = milliseconds(description.get("keyExpirationMS")) {
        options = options.key_expiration(Duration::max(time, Duration::ZERO));
    }
    let encryption = ClientEncryption::new(client, options)
        .map_err(|error| format!("cannot create a clientEncryption: {error}"))?;
    Ok(EncryptionEntity {
        encryption,
        _services: services,
    })
}

/// The providers of a description, with the values of `$$placeholder`.
fn kms_providers(description: &Document) -> Step<KmsProviders> {
    let mut providers = KmsProviders::new();
    for (name, provider) in description {
        let Bson::Document(provider) = provider else {
            return failed(format!("kmsProviders.{name} must be a document"));
        };
        let kind = name.split(':').next().unwrap_or_default();
        let mut filled = Document::new();
        for (field, value) in provider {
            let value = match value {
                Bson::Document(placeholder) if placeholder.contains_key("$$placeholder") => {
                    Bson::from(placeholder_of(kind, field)?)
                }
                value => value.clone(),
            };
            filled.insert(field, value);
        }
        providers = providers.with(name, filled);
    }
    Ok(providers)
}

/// The value of a credential of the test services, which do not check it.
fn placeholder_of(kind: &str, field: &str) -> Step<&'static str> {
    Ok(match (kind, field) {
        ("aws", "accessKeyId") => "AKIAEXAMPLE",
        ("aws", "secretAccessKey") => "secret",
        ("aws", "sessionToken") => "session",
        ("azure", "tenantId") => "tenant",
        ("azure", "clientId") => "client",
        ("azure", "clientSecret") => "secret",
        ("gcp", "email") => "someone@example.com",
        ("gcp", "privateKey") => GCP_KEY.trim_ascii_end(),
        ("azure" | "gcp", "accessToken") => "token",
        ("kmip", "endpoint") => "localhost:5698",
        ("local", "key") => LOCAL_KEY,
        _ => return failed(format!("no value for the placeholder {kind}.{field}")),
    })
}

//! `clientEncryption` entities: libmongocrypt with the credentials of the test services.

use std::{fmt, time::Duration};

use marula_driver::{
    Client,
    bson::{Bson, Document},
    encryption::{AutoEncryptionOptions, ClientEncryption, ClientEncryptionOptions, KmsProviders},
    options::ClientOptions,
};
use marula_driver_tests::{QueryAnalysis, kms::KmsDouble};

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

/// The key management services and the query analysis of a client with automatic encryption.
pub(crate) struct AutomaticEncryption {
    _services: KmsDouble,
    _analysis: QueryAnalysis,
}

impl fmt::Debug for AutomaticEncryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AutomaticEncryption")
    }
}

/// Creates a client from `autoEncryptOpts`.
pub(super) async fn encrypted_client(
    options: ClientOptions,
    description: &Document,
) -> Step<(Client, AutomaticEncryption)> {
    let Ok(namespace) = description.get_str("keyVaultNamespace") else {
        return failed("autoEncryptOpts requires keyVaultNamespace");
    };
    let Ok(providers) = description.get_document("kmsProviders") else {
        return failed("autoEncryptOpts requires kmsProviders");
    };
    let (services, analysis) = (KmsDouble::start().await, QueryAnalysis::start().await);
    let mut encryption = AutoEncryptionOptions::new(namespace, kms_providers(providers)?);
    encryption = services.configure_automatic(encryption);
    let mut extra = Document::new();
    for (name, value) in description {
        encryption = match (name.as_str(), value) {
            ("keyVaultNamespace" | "kmsProviders", _) => encryption,
            ("schemaMap", Bson::Document(map)) => of_map(map, encryption, AutoEncryptionOptions::schema)?,
            ("encryptedFieldsMap", Bson::Document(map)) => {
                of_map(map, encryption, AutoEncryptionOptions::encrypted_fields)?
            }
            ("bypassAutoEncryption", Bson::Boolean(bypass)) => encryption.bypass_auto_encryption(*bypass),
            ("bypassQueryAnalysis", Bson::Boolean(bypass)) => encryption.bypass_query_analysis(*bypass),
            ("extraOptions", Bson::Document(given)) => {
                extra.extend(given.clone());
                encryption
            }
            ("keyExpirationMS", value) => match milliseconds(Some(value)) {
                Some(time) => encryption.key_expiration(time),
                None => return failed("autoEncryptOpts.keyExpirationMS must be a number"),
            },
            _ => return failed(format!("unknown option autoEncryptOpts.{name}")),
        };
    }
    extra.extend(analysis.extra_options());
    if description.get_bool("bypassQueryAnalysis").unwrap_or(false) {
        // libmongocrypt does not load the library.
        extra.remove("cryptSharedLibRequired");
    }
    let client = Client::with_auto_encryption(options, encryption.extra_options(extra))
        .map_err(|error| format!("cannot create a client with automatic encryption: {error}"))?;
    let parts = AutomaticEncryption {
        _services: services,
        _analysis: analysis,
    };
    Ok((client, parts))
}

/// Adds the entries of a map of namespaces.
fn of_map(
    map: &Document,
    options: AutoEncryptionOptions,
    add: fn(AutoEncryptionOptions, String, Document) -> AutoEncryptionOptions,
) -> Step<AutoEncryptionOptions> {
    let mut options = options;
    for (namespace, document) in map {
        let Bson::Document(document) = document else {
            return failed(format!("the entry {namespace} must be a document"));
        };
        options = add(options, namespace.clone(), document.clone());
    }
    Ok(options)
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

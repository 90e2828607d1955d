//! In-use encryption: [`ClientEncryption`] ([Client Side Encryption]).
//!
//! [Client Side Encryption]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md

mod auto;
mod auto_options;
mod create_collection;
mod credentials;
mod data_key;
mod decrypt;
mod encrypt;
mod engine;
mod keys;
mod mongocryptd;
mod required;
mod rewrap;

use std::sync::Arc;

pub use auto_options::AutoEncryptionOptions;
pub use create_collection::CreateEncryptedCollection;
pub use data_key::CreateDataKey;
pub use decrypt::Decrypt;
pub use encrypt::{Encrypt, EncryptExpression};
pub use rewrap::{RewrapManyDataKey, RewrapManyDataKeyResult};

use super::Environment;
use crate::{
    Client, Error, Result,
    bson::{DocumentWriter, RawDocument, RawDocumentBuf},
    connection::MetadataServices,
    options::encryption::ClientEncryptionOptions,
};
use engine::{Engine, SharedEngine};

/// Creates and manages data keys, and encrypts and decrypts single values ([Client Side Encryption], "ClientEncryption").
///
/// Requires libmongocrypt 1.20 or later, which is loaded when a value of this type is created. Clones are cheap and share the
/// cache of decrypted keys.
///
/// The methods return actions: values with a setter for each option, which do their work when they are awaited. A dropped
/// future may or may not have changed the key vault; a request to a key management service is not repeated.
///
/// ```no_run
/// # async fn run(client: marula_driver::Client, master_key: [u8; 96]) -> marula_driver::Result<()> {
/// use marula_driver::encryption::{ClientEncryption, ClientEncryptionOptions, EncryptionAlgorithm, KmsProviders};
///
/// let providers = KmsProviders::new().local(&master_key);
/// let encryption = ClientEncryption::new(&client, ClientEncryptionOptions::new("encryption.keys", providers))?;
/// let key = encryption.create_data_key("local").alt_names(["patients"]).await?;
/// let secret = encryption.encrypt(&"457-55-5462", key, EncryptionAlgorithm::Deterministic).await?;
/// let text = encryption.decrypt(&secret).with_type::<String>().await?;
/// assert_eq!(text, "457-55-5462");
/// # Ok(()) }
/// ```
///
/// [Client Side Encryption]:
/// https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md
#[derive(Clone, Debug)]
pub struct ClientEncryption {
    engine: SharedEngine,
}

impl ClientEncryption {
    /// Loads libmongocrypt and configures it. Keys are read from and written to the deployment of `key_vault_client`, with
    /// read concern and write concern majority. Nothing is sent.
    ///
    /// The key vault should have a unique index on `keyAltNames`, for the documents in which it exists.
    ///
    /// # Errors
    /// [`EncryptionError::Library`](crate::EncryptionError::Library) if libmongocrypt is missing or too old, with how to get it;
    /// [`Rejected`](crate::EncryptionError::Rejected) if it rejects the providers.
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if another option is invalid or a file of TLS options cannot be
    /// read.
    pub fn new(key_vault_client: &Client, options: ClientEncryptionOptions) -> Result<Self> {
        let environment = Environment::default();
        Self::start(
            key_vault_client,
            options,
            &environment,
            MetadataServices::default(),
        )
    }

    /// As [`new`](Self::new), in an environment that tests can replace.
    pub(crate) fn start(
        key_vault_client: &Client,
        options: ClientEncryptionOptions,
        environment: &Environment,
        services: MetadataServices,
    ) -> Result<Self> {
        let ClientEncryptionOptions { settings, timeout } = options;
        let mut engine = Engine::new(key_vault_client, &settings, environment, services, |_| {})?;
        if let Some(timeout) = timeout {
            engine.set_timeout(timeout);
        }
        Ok(Self {
            engine: Arc::new(engine),
        })
    }
}

/// The key that encrypts data keys, in the form of libmongocrypt: `{provider, …master key}`.
fn key_encryption_key(provider: &str, master_key: Option<&RawDocument>) -> Result<Vec<u8>> {
    document(|writer| {
        writer.str("provider", provider);
        if let Some(key) = master_key {
            writer.elements_of(key);
        }
    })
}

/// Encodes one document.
fn document(write: impl FnOnce(&mut DocumentWriter<'_>)) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut writer = DocumentWriter::new(&mut bytes);
    let position = writer.begin();
    write(&mut writer);
    writer.end(position);
    writer.finish()?;
    Ok(bytes)
}

/// A result of libmongocrypt.
fn raw(bytes: Vec<u8>) -> Result<RawDocumentBuf> {
    RawDocumentBuf::from_bytes(bytes).map_err(|error| unexpected(&error.to_string()))
}

/// A result of libmongocrypt does not have the expected form.
fn unexpected(what: &str) -> Error {
    crate::error::EncryptionError::Rejected {
        message: format!("the result of libmongocrypt is malformed: {what}"),
        code: 0,
    }
    .into()
}

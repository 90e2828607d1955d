//! Encryption in an environment that a test controls.

use crate::{
    Client, Result,
    api::Environment,
    connection::MetadataServices,
    encryption::{AutoEncryptionOptions, ClientEncryption, ClientEncryptionOptions},
    options::ClientOptions,
};

/// As [`Client::with_auto_encryption`], in an environment that the test chooses.
///
/// # Errors
/// Those of [`Client::with_auto_encryption`].
pub fn encrypted_client(
    options: ClientOptions,
    encryption: AutoEncryptionOptions,
    environment: &Environment,
) -> Result<Client> {
    Client::start_encrypted(options, encryption, environment, MetadataServices::default())
}

/// As [`ClientEncryption::new`], with environment variables, DNS and addresses of metadata services that the test chooses.
///
/// # Errors
/// Those of [`ClientEncryption::new`].
pub fn client_encryption(
    client: &Client,
    options: &ClientEncryptionOptions,
    environment: &Environment,
    services: MetadataServices,
) -> Result<ClientEncryption> {
    ClientEncryption::start(client, options.clone(), environment, services)
}

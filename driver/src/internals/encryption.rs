//! Encryption in an environment that a test controls.

pub use crate::connection::MetadataServices;
use crate::{
    Client, Result,
    api::Environment,
    encryption::{ClientEncryption, ClientEncryptionOptions},
};

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

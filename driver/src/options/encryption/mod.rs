//! Options of in-use encryption ([Client Side Encryption]).
//!
//! [Client Side Encryption]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md

mod algorithm;
mod connect;
mod providers;
mod settings;

use std::{path::PathBuf, time::Duration};

use crate::types::aws_credentials::AwsCredentialProvider;

pub use algorithm::{
    DataKey, EncryptionAlgorithm, RangeOptions, StringOptions, StringQueryLength, SubstringQueryLength,
};
pub use connect::{KmsConnect, KmsStream};
pub use providers::KmsProviders;
pub(crate) use settings::EncryptionSettings;
pub(crate) use settings::settings_setters;

/// The options of a [`ClientEncryption`](crate::encryption::ClientEncryption).
///
/// ```
/// use marula_driver::encryption::{ClientEncryptionOptions, KmsProviders};
/// use std::time::Duration;
///
/// let key = [0; 96]; // Read it from a safe place.
/// let options = ClientEncryptionOptions::new("encryption.keys", KmsProviders::new().local(&key))
///     .timeout(Duration::from_secs(10));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ClientEncryptionOptions {
    pub(crate) settings: EncryptionSettings,
    pub(crate) timeout: Option<Duration>,
}

impl ClientEncryptionOptions {
    /// Options with the namespace of the key vault, `database.collection`, and the key management services.
    pub fn new(key_vault_namespace: impl Into<String>, kms_providers: KmsProviders) -> Self {
        Self {
            settings: EncryptionSettings::new(key_vault_namespace.into(), kms_providers),
            timeout: None,
        }
    }

    settings_setters!();

    /// `timeoutMS`: the time limit of each operation, with its requests to key management services. Zero means no limit.
    /// In any case, one attempt of such a request takes at most 10 s, and it is repeated up to three times.
    /// Default: that of the client of the key vault.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

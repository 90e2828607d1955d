//! [`ClientEncryption::create_data_key`].

use std::time::Duration;

use marula_mongocrypt::{DataKeyOptions, Zeroizing};

use super::{
    ClientEncryption,
    engine::{Work, time_left},
    key_encryption_key, raw, unexpected,
};
use crate::{
    Error, Result,
    api::command::{Deferred, awaitable, timeout_setter},
    bson::{IntoDocument, RawDocumentBuf, Uuid, spec::BinarySubtype},
};

impl ClientEncryption {
    /// Creates a data key, encrypts it with the master key of a provider, and inserts it into the key vault. Awaiting the
    /// action returns its `_id`.
    ///
    /// `provider` is the name of a provider in the options, e.g. `aws` or `aws:second`. All but `local` require a
    /// [master key](CreateDataKey::master_key).
    ///
    /// # Errors
    /// [`EncryptionError`](crate::EncryptionError) if the master key is missing or invalid, or the key management service
    /// fails. The errors of [`insert_one`](crate::Collection::insert_one), e.g. of a duplicate alternate name.
    pub fn create_data_key(&self, provider: impl Into<String>) -> CreateDataKey<'_> {
        CreateDataKey {
            encryption: self,
            provider: provider.into(),
            master_key: None,
            alt_names: Vec::new(),
            key_material: None,
            deferred: Deferred::default(),
            timeout: None,
        }
    }
}

/// Creates a data key. Await it for its `_id`; see [`ClientEncryption::create_data_key`].
#[must_use = "nothing is done before the action is awaited"]
#[derive(Debug)]
pub struct CreateDataKey<'a> {
    encryption: &'a ClientEncryption,
    provider: String,
    master_key: Option<RawDocumentBuf>,
    alt_names: Vec<String>,
    key_material: Option<KeyMaterial>,
    deferred: Deferred,
    timeout: Option<Duration>,
}

/// Zeroed when it is dropped, and not printed.
struct KeyMaterial(Zeroizing<[u8; 96]>);

impl std::fmt::Debug for KeyMaterial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<redacted>")
    }
}

impl<'a> CreateDataKey<'a> {
    /// The key of the service that encrypts the data key. Required for all providers but `local`.
    ///
    /// | provider | fields |
    /// |---|---|
    /// | `aws` | `region`, `key` (the ARN), optional `endpoint` |
    /// | `azure` | `keyVaultEndpoint`, `keyName`, optional `keyVersion` |
    /// | `gcp` | `projectId`, `location`, `keyRing`, `keyName`, optional `keyVersion` and `endpoint` |
    /// | `kmip` | optional `keyId` (default: a new secret), `endpoint`, and `delegated`: whether the server decrypts |
    ///
    /// An endpoint that is none of the default hosts is stored with the key. Other clients need
    /// [`kms_allowed_hosts`](crate::encryption::ClientEncryptionOptions::kms_allowed_hosts) to use it.
    ///
    /// Default: none.
    pub fn master_key(mut self, key: impl IntoDocument) -> Self {
        self.master_key = Some(self.deferred.document("master_key", key));
        self
    }

    /// Alternate names, by which the key can be found. Default: none.
    pub fn alt_names(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.alt_names = names.into_iter().map(Into::into).collect();
        self
    }

    /// The 96 bytes of the data key. Another length is an error when the action is awaited. Default: random bytes.
    pub fn key_material(mut self, material: impl AsRef<[u8]>) -> Self {
        let material = material.as_ref();
        match material.try_into() {
            Ok(material) => self.key_material = Some(KeyMaterial(Zeroizing::new(material))),
            Err(_) => self.deferred.check(Err(Error::invalid_argument(format!(
                "the key material must have 96 bytes, found {}",
                material.len()
            )))),
        }
        self
    }

    timeout_setter!();

    async fn run(mut self) -> Result<Uuid> {
        self.deferred.take_result()?;
        let engine = &self.encryption.engine;
        engine.check_provider(&self.provider, self.master_key.is_some())?;
        engine.permit(&self.provider, self.master_key.as_deref());
        let timeout = engine.start_timeout(self.timeout)?;
        let context = engine.crypt().create_data_key(&DataKeyOptions {
            key_encryption_key: &key_encryption_key(&self.provider, self.master_key.as_deref())?,
            alt_names: &self.alt_names,
            key_material: self.key_material.as_ref().map(|material| &*material.0),
        })?;
        let key = engine.run(context.into(), timeout, Work::Small).await?;
        let key = raw(key.to_vec())?;
        let id = match key.get_binary("_id") {
            Ok(id) if id.subtype == BinarySubtype::Uuid => id.bytes.try_into().ok().map(Uuid::from_bytes),
            _ => None,
        };
        let id = id.ok_or_else(|| unexpected("the key has no _id"))?;
        let mut insert = engine.key_vault().insert_one(&key);
        if let Some(left) = time_left(timeout, "before the key was inserted into the key vault")? {
            insert = insert.timeout(left);
        }
        insert.await?;
        Ok(id)
    }
}

awaitable!(['a] CreateDataKey<'a> => Uuid);

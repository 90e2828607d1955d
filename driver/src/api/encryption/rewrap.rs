//! [`ClientEncryption::rewrap_many_data_key`].

use std::time::Duration;

use super::{
    ClientEncryption,
    engine::{Work, time_left},
    key_encryption_key, raw, unexpected,
};
use crate::{
    Error, Result, WriteModel,
    api::command::{Deferred, awaitable, timeout_setter},
    bson::{Bson, IntoDocument, RawBsonRef, RawDocument, RawDocumentBuf, doc},
    types::write_result::BulkWriteResult,
};

impl ClientEncryption {
    /// Decrypts all data keys that match a filter, and encrypts them with another master key, or with their own again. The keys
    /// are then updated in one bulk write.
    ///
    /// # Errors
    /// [`EncryptionError`](crate::EncryptionError) if a key cannot be decrypted or encrypted; nothing is then written. The errors
    /// of [`bulk_write`](crate::Collection::bulk_write).
    pub fn rewrap_many_data_key(&self, filter: impl IntoDocument) -> RewrapManyDataKey<'_> {
        let mut deferred = Deferred::default();
        RewrapManyDataKey {
            encryption: self,
            filter: deferred.document("filter", filter),
            provider: None,
            master_key: None,
            deferred,
            timeout: None,
        }
    }
}

/// Encrypts data keys again. Await it; see [`ClientEncryption::rewrap_many_data_key`].
#[must_use = "nothing is done before the action is awaited"]
#[derive(Debug)]
pub struct RewrapManyDataKey<'a> {
    encryption: &'a ClientEncryption,
    filter: RawDocumentBuf,
    provider: Option<String>,
    master_key: Option<RawDocumentBuf>,
    deferred: Deferred,
    timeout: Option<Duration>,
}

/// The result of [`ClientEncryption::rewrap_many_data_key`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RewrapManyDataKeyResult {
    /// The result of the updates. `None` if no key matched the filter.
    pub bulk_write_result: Option<BulkWriteResult>,
}

impl<'a> RewrapManyDataKey<'a> {
    /// The provider that encrypts the keys. Default: the provider and the master key of each key.
    pub fn provider(mut self, provider: impl Into<String>) -> Self {
        self.provider = Some(provider.into());
        self
    }

    /// The master key of the provider; see [`CreateDataKey::master_key`](super::CreateDataKey::master_key). Requires
    /// [`provider`](Self::provider). Default: none.
    pub fn master_key(mut self, key: impl IntoDocument) -> Self {
        self.master_key = Some(self.deferred.document("master_key", key));
        self
    }

    timeout_setter!();

    async fn run(mut self) -> Result<RewrapManyDataKeyResult> {
        self.deferred.take_result()?;
        let engine = &self.encryption.engine;
        let timeout = engine.start_timeout(self.timeout)?;
        let key = match (&self.provider, &self.master_key) {
            (Some(provider), key) => {
                engine.check_provider(provider, key.is_some())?;
                engine.permit(provider, key.as_deref());
                Some(key_encryption_key(provider, key.as_deref())?)
            }
            (None, Some(_)) => {
                return Err(Error::invalid_argument(
                    "rewrap_many_data_key with a master key requires its provider",
                ));
            }
            (None, None) => None,
        };
        let context = engine
            .crypt()
            .rewrap_data_keys(self.filter.as_bytes(), key.as_deref())?;
        let result = engine.run(context.into(), timeout, Work::Small).await?;
        let updates = updates(&raw(result.to_vec())?)?;
        if updates.is_empty() {
            return Ok(RewrapManyDataKeyResult::default());
        }
        let mut write = engine.key_vault().bulk_write(updates);
        if let Some(left) = time_left(timeout, "before the keys were updated")? {
            write = write.timeout(left);
        }
        Ok(RewrapManyDataKeyResult {
            bulk_write_result: Some(write.await?),
        })
    }
}

awaitable!(['a] RewrapManyDataKey<'a> => RewrapManyDataKeyResult);

/// One update for each key of the result.
fn updates(result: &RawDocument) -> Result<Vec<WriteModel>> {
    let malformed = |error: &dyn std::fmt::Display| unexpected(&error.to_string());
    let Some(keys) = result.get("v").map_err(|error| malformed(&error))? else {
        return Ok(Vec::new());
    };
    let keys = keys.as_array().ok_or_else(|| unexpected("v is not an array"))?;
    let mut updates = Vec::new();
    for key in keys {
        let key = key.map_err(|error| malformed(&error))?;
        let field = |name: &str| -> Result<Bson> {
            let value = key
                .as_document()
                .and_then(|key| key.get(name).ok().flatten())
                .ok_or_else(|| unexpected(&format!("a key has no field {name}")))?;
            owned(value).ok_or_else(|| unexpected(&format!("the field {name} of a key is malformed")))
        };
        updates.push(WriteModel::update_one(
            doc! { "_id": field("_id")? },
            doc! {
                "$set": { "masterKey": field("masterKey")?, "keyMaterial": field("keyMaterial")? },
                "$currentDate": { "updateDate": true },
            },
        ));
    }
    Ok(updates)
}

fn owned(value: RawBsonRef<'_>) -> Option<Bson> {
    value.try_into().ok()
}

//! [`ClientEncryption::decrypt`].

use std::{marker::PhantomData, time::Duration};

use serde::de::DeserializeOwned;

use super::{ClientEncryption, document, engine::Work, unexpected};
use crate::{
    Result,
    api::command::{awaitable, timeout_setter},
    bson::{Binary, Bson, decode_document, from_bson_owned},
};

impl ClientEncryption {
    /// Decrypts a value of [`encrypt`](Self::encrypt), or one that was read from a collection. Awaiting the action returns the
    /// value.
    ///
    /// # Errors
    /// [`EncryptionError`](crate::EncryptionError) if the value is not an encrypted one, its key does not exist or cannot be
    /// decrypted, or the value was changed. [`Decode`](crate::ErrorKind::Decode) if it does not have the requested type.
    pub fn decrypt<'a>(&'a self, value: &'a Binary) -> Decrypt<'a> {
        Decrypt {
            encryption: self,
            value,
            timeout: None,
            output: PhantomData,
        }
    }
}

/// Decrypts a value. Await it; see [`ClientEncryption::decrypt`].
#[must_use = "nothing is done before the action is awaited"]
#[derive(Debug)]
pub struct Decrypt<'a, T = Bson> {
    encryption: &'a ClientEncryption,
    value: &'a Binary,
    timeout: Option<Duration>,
    output: PhantomData<fn() -> T>,
}

impl<'a, T: DeserializeOwned + 'static> Decrypt<'a, T> {
    timeout_setter!();

    /// Deserializes the value as `U`. Default: [`Bson`].
    pub fn with_type<U>(self) -> Decrypt<'a, U> {
        Decrypt {
            encryption: self.encryption,
            value: self.value,
            timeout: self.timeout,
            output: PhantomData,
        }
    }

    async fn run(self) -> Result<T> {
        let engine = &self.encryption.engine;
        let timeout = engine.start_timeout(self.timeout)?;
        let Binary { subtype, bytes } = self.value;
        let value = document(|writer| writer.binary("v", *subtype, bytes))?;
        let context = engine.crypt().decrypt_value(&value)?;
        let work = Work::of_size(value.len());
        let result = engine.run(context.into(), timeout, work).await?;
        let mut result = decode_document(&result)?;
        let value = result.remove("v").ok_or_else(|| unexpected("v is missing"))?;
        Ok(from_bson_owned(&value)?)
    }
}

awaitable!(['a, T: DeserializeOwned + 'static] Decrypt<'a, T> => T);

//! [`ClientEncryption::create_encrypted_collection`] ("Create Encrypted Collection Helper").

use std::time::Duration;

use super::{ClientEncryption, engine::time_left};
use crate::{
    Collection, Database, Error, Result,
    api::command::{Deferred, awaitable, options::CreateCollectionOptions, timeout_setter},
    bson::{Bson, Document, IntoDocument, RawDocumentBuf, decode_document},
    error::EncryptionError,
    types::timeout::Timeout,
};

impl ClientEncryption {
    /// Creates a collection for Queryable Encryption (MongoDB 7.0+), and a data key for each field in `encryptedFields` whose
    /// `keyId` is null. Awaiting the action returns the collection and `encryptedFields` with the ids of the keys.
    ///
    /// It does not affect clients with automatic encryption that exist: configure a client with the result.
    ///
    /// # Errors
    /// [`EncryptionError::CreateCollection`](crate::EncryptionError::CreateCollection), with the fields whose keys were created
    /// before the failure. [`Encode`](crate::ErrorKind::Encode) if an argument cannot be serialized.
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if `encrypted_fields` is empty; nothing is then sent.
    ///
    /// ```no_run
    /// # async fn run(encryption: marula_driver::encryption::ClientEncryption, hospital: marula_driver::Database)
    /// # -> marula_driver::Result<()> {
    /// use marula_driver::bson::{Bson, doc};
    /// let fields = doc! { "fields": [
    ///     { "path": "ssn", "bsonType": "string", "keyId": Bson::Null, "queries": { "queryType": "equality" } },
    /// ] };
    /// let (patients, fields) = encryption.create_encrypted_collection(&hospital, "patients", fields, "local").await?;
    /// # Ok(()) }
    /// ```
    pub fn create_encrypted_collection<'a>(
        &'a self,
        database: &'a Database,
        name: &'a str,
        encrypted_fields: impl IntoDocument,
        provider: impl Into<String>,
    ) -> CreateEncryptedCollection<'a> {
        let mut deferred = Deferred::default();
        CreateEncryptedCollection {
            encryption: self,
            database,
            name,
            encrypted_fields: deferred.document("encrypted_fields", encrypted_fields),
            provider: provider.into(),
            master_key: None,
            options: CreateCollectionOptions::default(),
            deferred,
            timeout: None,
        }
    }
}

/// Creates an encrypted collection. Await it; see [`ClientEncryption::create_encrypted_collection`].
#[must_use = "nothing is done before the action is awaited"]
#[derive(Debug)]
pub struct CreateEncryptedCollection<'a> {
    encryption: &'a ClientEncryption,
    database: &'a Database,
    name: &'a str,
    encrypted_fields: RawDocumentBuf,
    provider: String,
    master_key: Option<RawDocumentBuf>,
    options: CreateCollectionOptions,
    deferred: Deferred,
    timeout: Option<Duration>,
}

impl<'a> CreateEncryptedCollection<'a> {
    /// The master key of the provider; see [`CreateDataKey::master_key`](super::CreateDataKey::master_key). Default: none.
    pub fn master_key(mut self, key: impl IntoDocument) -> Self {
        self.master_key = Some(self.deferred.document("master_key", key));
        self
    }

    /// Other options of the collection. Their `encrypted_fields` and `timeout` are replaced. Default: none.
    pub fn options(mut self, options: CreateCollectionOptions) -> Self {
        self.options = options;
        self
    }

    timeout_setter!();

    async fn run(mut self) -> Result<(Collection<Document>, Document)> {
        self.deferred.take_result()?;
        if self.encrypted_fields.is_empty() {
            return Err(Error::invalid_argument(
                "create_encrypted_collection requires `encryptedFields` with an array `fields`, found an empty document",
            ));
        }
        let timeout = self.encryption.engine.start_timeout(self.timeout)?;
        let mut fields = decode_document(self.encrypted_fields.as_bytes())?;
        match self.create(&mut fields, timeout).await {
            Ok(()) => Ok((self.database.collection(self.name), fields)),
            Err(cause) => Err(EncryptionError::CreateCollection {
                encrypted_fields: Box::new(fields),
                cause,
            }
            .into()),
        }
    }

    async fn create(&mut self, encrypted_fields: &mut Document, timeout: Timeout) -> Result<()> {
        if let Ok(fields) = encrypted_fields.get_array_mut("fields") {
            for field in fields {
                let Bson::Document(field) = field else { continue };
                let Some(id @ Bson::Null) = field.get_mut("keyId") else {
                    continue;
                };
                let mut create = self.encryption.create_data_key(self.provider.clone());
                if let Some(key) = &self.master_key {
                    create = create.master_key(key);
                }
                if let Some(left) = time_left(timeout, "before a data key was created")? {
                    create = create.timeout(left);
                }
                *id = create.await?.into();
            }
        }
        let mut options = std::mem::take(&mut self.options).encrypted_fields(&*encrypted_fields);
        if let Some(left) = time_left(timeout, "before the collection was created")? {
            options = options.timeout(left);
        }
        self.database
            .create_collection(self.name)
            .with_options(options)
            .await
    }
}

awaitable!(['a] CreateEncryptedCollection<'a> => (Collection<Document>, Document));

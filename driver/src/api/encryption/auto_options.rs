//! [`AutoEncryptionOptions`].

use std::fmt;

use crate::{
    Client, Error, Namespace, Result,
    api::command::Deferred,
    bson::{Bson, Document, DocumentWriter, IntoDocument, RawDocument, RawDocumentBuf, decode_document},
    options::encryption::{EncryptionSettings, KmsConnect, KmsProviders, settings_setters},
    types::aws_credentials::AwsCredentialProvider,
};

/// The options of automatic encryption; see [`Client::with_auto_encryption`].
///
/// Automatic encryption is an enterprise only feature that only applies to operations on a collection. Automatic
/// encryption is not supported for operations on a database or view, and operations that are not bypassed will result in
/// error (see [libmongocrypt: Auto Encryption Allow-List]). To bypass automatic encryption for all operations, set
/// [`bypass_auto_encryption`](Self::bypass_auto_encryption). Explicit encryption and automatic decryption are not limited
/// to MongoDB Enterprise.
///
/// ```
/// use marula_driver::{bson::doc, encryption::{AutoEncryptionOptions, KmsProviders}};
///
/// let providers = KmsProviders::new().local(&[7; 96]); // Read the key from a safe place.
/// let options = AutoEncryptionOptions::new("encryption.keys", providers)
///     .extra_options(doc! { "mongocryptdURI": "mongodb://localhost:27020" });
/// ```
///
/// [libmongocrypt: Auto Encryption Allow-List]:
/// https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md#libmongocrypt-auto-encryption-allow-list
#[must_use]
pub struct AutoEncryptionOptions {
    pub(super) settings: EncryptionSettings,
    pub(super) key_vault_client: Option<Client>,
    pub(super) schema_map: Map,
    pub(super) encrypted_fields_map: Map,
    pub(super) bypass_auto_encryption: bool,
    pub(super) bypass_query_analysis: bool,
    extra_options: Option<RawDocumentBuf>,
    deferred: Deferred,
}

/// Namespaces with their documents.
pub(super) type Map = Vec<(String, RawDocumentBuf)>;

impl AutoEncryptionOptions {
    /// Options with the namespace of the key vault, `database.collection`, and the key management services.
    pub fn new(key_vault_namespace: impl Into<String>, kms_providers: KmsProviders) -> Self {
        Self {
            settings: EncryptionSettings::new(key_vault_namespace.into(), kms_providers),
            key_vault_client: None,
            schema_map: Map::new(),
            encrypted_fields_map: Map::new(),
            bypass_auto_encryption: false,
            bypass_query_analysis: false,
            extra_options: None,
            deferred: Deferred::default(),
        }
    }

    settings_setters!();

    /// `keyVaultClient`: the client of the deployment with the key vault. Default: the deployment of the client.
    pub fn key_vault_client(mut self, client: Client) -> Self {
        self.key_vault_client = Some(client);
        self
    }

    /// Adds the schema of a collection, `database.collection`, with the keyword `encrypt` (`schemaMap`). Default: the schemas
    /// are those in the validators of the collections.
    ///
    /// Supplying a schema provides more security than relying on JSON Schemas obtained from the server. It protects against a
    /// malicious server advertising a false JSON Schema, which could trick the client into sending unencrypted data that should
    /// be encrypted. Schemas supplied here only apply to configuring automatic encryption for client side encryption. Other
    /// validation rules in the JSON schema will not be enforced by the driver and will result in an error.
    pub fn schema(mut self, namespace: impl Into<String>, schema: impl IntoDocument) -> Self {
        let schema = self.deferred.document("schema", schema);
        self.schema_map.push((namespace.into(), schema));
        self
    }

    /// Adds `encryptedFields` of a collection, `database.collection`, for Queryable Encryption (`encryptedFieldsMap`). Default:
    /// those of the collections.
    ///
    /// Supplying them provides more security than relying on those obtained from the server. It protects against a malicious
    /// server advertising false `encryptedFields`.
    pub fn encrypted_fields(mut self, namespace: impl Into<String>, fields: impl IntoDocument) -> Self {
        let fields = self.deferred.document("encrypted_fields", fields);
        self.encrypted_fields_map.push((namespace.into(), fields));
        self
    }

    /// `bypassAutoEncryption`: whether commands are not encrypted. Replies are decrypted. Default: `false`.
    pub fn bypass_auto_encryption(mut self, bypass: bool) -> Self {
        self.bypass_auto_encryption = bypass;
        self
    }

    /// `bypassQueryAnalysis`: whether commands are not analyzed, so that payloads of explicit encryption can be sent without
    /// mongocryptd and `crypt_shared`. Default: `false`.
    pub fn bypass_query_analysis(mut self, bypass: bool) -> Self {
        self.bypass_query_analysis = bypass;
        self
    }

    /// `extraOptions`: how commands are analyzed. Unknown options are an error. Default: empty.
    ///
    /// | option | meaning | default |
    /// |---|---|---|
    /// | `mongocryptdURI` | the connection string of mongocryptd | `mongodb://localhost:27020` |
    /// | `mongocryptdBypassSpawn` | do not start mongocryptd | `false` |
    /// | `mongocryptdSpawnPath` | the program | `mongocryptd`, found by `PATH` |
    /// | `mongocryptdSpawnArgs` | its arguments | `["--idleShutdownTimeoutSecs=60"]` |
    /// | `cryptSharedLibPath` | the path of `crypt_shared` | where the system's loader looks |
    /// | `cryptSharedLibRequired` | fail without `crypt_shared`, and do not use mongocryptd | `false` |
    ///
    /// `cryptSharedLibPath` is the path of the file, not of its folder; a library that cannot be loaded from it is an error. A
    /// relative path starts at the working directory of the process, one that begins with `$ORIGIN` at the folder of
    /// libmongocrypt. With [`bypass_auto_encryption`](Self::bypass_auto_encryption), `crypt_shared` is not looked for unless
    /// the path is set. With [`bypass_query_analysis`](Self::bypass_query_analysis), libmongocrypt does not load it, so that
    /// `cryptSharedLibRequired` is an error.
    ///
    /// All clients of a process should have the same `cryptSharedLibPath`: it is an error to load more than one library
    /// `crypt_shared` into a process at the same time.
    ///
    /// Without `timeoutMS`, mongocryptd must reply within 30 s, or within `socketTimeoutMS` of `mongocryptdURI`.
    pub fn extra_options(mut self, options: impl IntoDocument) -> Self {
        self.extra_options = Some(self.deferred.document("extra_options", options));
        self
    }

    /// Checks the documents, and reads `extraOptions`.
    pub(super) fn check(&mut self) -> Result<ExtraOptions> {
        self.deferred.take_result()?;
        let namespaces = self.schema_map.iter().chain(&self.encrypted_fields_map);
        for (namespace, _) in namespaces {
            // libmongocrypt looks up namespaces only, so that nothing would be encrypted.
            if Namespace::parse(namespace).is_none() {
                return Err(Error::invalid_argument(format!(
                    "{namespace:?} is not the namespace of a collection to encrypt: database.collection"
                )));
            }
        }
        match &self.extra_options {
            Some(options) => ExtraOptions::read(options),
            None => Ok(ExtraOptions::default()),
        }
    }
}

impl fmt::Debug for AutoEncryptionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AutoEncryptionOptions")
            .field("settings", &self.settings)
            .field("bypass_auto_encryption", &self.bypass_auto_encryption)
            .field("bypass_query_analysis", &self.bypass_query_analysis)
            .finish_non_exhaustive()
    }
}

/// One document of all entries of a map. `None` if it is empty.
pub(super) fn document_of(map: &Map) -> Result<Option<Vec<u8>>> {
    if map.is_empty() {
        return Ok(None);
    }
    super::document(|writer: &mut DocumentWriter<'_>| {
        for (namespace, document) in map {
            writer.document(namespace, document);
        }
    })
    .map(Some)
}

/// `extraOptions`
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct ExtraOptions {
    pub(super) mongocryptd_uri: Option<String>,
    pub(super) bypass_spawn: bool,
    pub(super) spawn_path: Option<String>,
    pub(super) spawn_args: Vec<String>,
    pub(super) crypt_shared_path: Option<String>,
    pub(super) crypt_shared_required: bool,
}

impl fmt::Debug for ExtraOptions {
    /// Without the connection string, which can contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtraOptions")
            .field("bypass_spawn", &self.bypass_spawn)
            .field("spawn_path", &self.spawn_path)
            .field("crypt_shared_path", &self.crypt_shared_path)
            .field("crypt_shared_required", &self.crypt_shared_required)
            .finish_non_exhaustive()
    }
}

impl ExtraOptions {
    fn read(options: &RawDocument) -> Result<Self> {
        let mut read = Self::default();
        let options: Document = decode_document(options.as_bytes())?;
        for (name, value) in options {
            let known = match (name.as_str(), value) {
                ("mongocryptdURI", Bson::String(uri)) => {
                    read.mongocryptd_uri = Some(uri);
                    true
                }
                ("mongocryptdBypassSpawn", Bson::Boolean(bypass)) => {
                    read.bypass_spawn = bypass;
                    true
                }
                ("mongocryptdSpawnPath", Bson::String(path)) => {
                    read.spawn_path = Some(path).filter(|path| !path.is_empty());
                    true
                }
                ("mongocryptdSpawnArgs", Bson::Array(arguments)) => {
                    let texts: Option<Vec<String>> = arguments
                        .iter()
                        .map(|argument| match argument {
                            Bson::String(text) => Some(text.clone()),
                            Bson::Int32(number) => Some(number.to_string()),
                            Bson::Int64(number) => Some(number.to_string()),
                            _ => None,
                        })
                        .collect();
                    read.spawn_args = texts.clone().unwrap_or_default();
                    texts.is_some()
                }
                ("cryptSharedLibPath", Bson::String(path)) => {
                    read.crypt_shared_path = Some(path);
                    true
                }
                ("cryptSharedLibRequired", Bson::Boolean(required)) => {
                    read.crypt_shared_required = required;
                    true
                }
                _ => false,
            };
            if !known {
                return Err(Error::invalid_argument(format!(
                    "the option {name:?} in extraOptions is unknown or has a value of a wrong type"
                )));
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::rawdoc;

    #[test]
    fn extra_options_are_read_and_unknown_ones_rejected() {
        let read = ExtraOptions::read(&rawdoc! {
            "mongocryptdURI": "mongodb://a", "mongocryptdBypassSpawn": true, "mongocryptdSpawnArgs": ["--port=1"],
            "cryptSharedLibPath": "/a", "cryptSharedLibRequired": true, "mongocryptdSpawnPath": "",
        })
        .unwrap();
        let expected = ExtraOptions {
            mongocryptd_uri: Some("mongodb://a".to_owned()),
            bypass_spawn: true,
            spawn_path: None,
            spawn_args: vec!["--port=1".to_owned()],
            crypt_shared_path: Some("/a".to_owned()),
            crypt_shared_required: true,
        };
        assert_eq!(read, expected);
        for options in [
            rawdoc! { "mongocryptdUri": "x" },
            rawdoc! { "mongocryptdURI": 1 },
            rawdoc! { "mongocryptdSpawnArgs": [true] },
        ] {
            assert!(ExtraOptions::read(&options).is_err(), "{options:?}");
        }
    }
}

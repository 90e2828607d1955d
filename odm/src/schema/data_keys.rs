//! The data keys of encrypted collections, and the creation of these collections.

use std::collections::BTreeMap;

#[cfg(feature = "encryption")]
use crate::driver::encryption::{AutoEncryptionOptions, ClientEncryption};
use crate::{
    base::{
        bson::{Bson, Document},
        error::{Result, SchemaError},
    },
    query::handle::protection::is_about,
    schema::{
        Schema, SchemaPlan, Step, declared::DeclaredCollection, encryption::ENCRYPTED_FIELDS, target::Target,
    },
};

/// How data keys are created for encrypted collections; see [`Schema::encryption`].
#[cfg(feature = "encryption")]
#[derive(Clone)]
#[must_use]
pub struct DataKeys {
    encryption: ClientEncryption,
    provider: String,
    master_key: Option<Document>,
}

#[cfg(feature = "encryption")]
impl DataKeys {
    /// Keys that are stored in the key vault of `encryption`, and encrypted by the key management
    /// service `provider`, such as `local` or `aws`.
    ///
    /// A key has the alternate name `marula:database.collection:path`. One that exists with this
    /// name is used again, e.g. after a creation that failed, or after the collection was dropped.
    /// Deployments that have equal names of databases and one key vault therefore share keys: give
    /// each its own key vault.
    pub fn new(encryption: &ClientEncryption, provider: impl Into<String>) -> Self {
        DataKeys {
            encryption: encryption.clone(),
            provider: provider.into(),
            master_key: None,
        }
    }

    /// The master key of the provider. Required for all providers but `local`. A data key that
    /// exists must have been encrypted by it, or the schema fails. See
    /// [`CreateDataKey::master_key`](crate::driver::encryption::CreateDataKey::master_key).
    pub fn master_key(mut self, key: Document) -> Self {
        self.master_key = Some(key);
        self
    }

    async fn create(&self, target: &Target<'_>, declared: &Document, model: &'static str) -> Result<()> {
        let mut fields = declared
            .get_document(ENCRYPTED_FIELDS)
            .cloned()
            .unwrap_or_default();
        for field in fields.get_array_mut("fields").into_iter().flatten() {
            if let Bson::Document(field) = field {
                let path = field.get_str("path").unwrap_or_default();
                let id = self.key_of(target, path, model).await?;
                field.insert("keyId", id);
            }
        }
        let (database, collection) = (target.database, &target.plan.collection);
        self.encryption
            .create_encrypted_collection(database, collection, fields, self.provider.as_str())
            .options(create_options(declared)?)
            .await?;
        Ok(())
    }

    /// The data key of a field: the one with its name in the key vault, which remains of a creation
    /// that failed, or a new one.
    async fn key_of(&self, target: &Target<'_>, path: &str, model: &'static str) -> Result<Bson> {
        let name = format!("marula:{}:{path}", target.plan.namespace);
        if let Some(key) = self.encryption.get_key_by_alt_name(&name).await? {
            return self.existing(&key, path, model);
        }
        let mut create = self
            .encryption
            .create_data_key(self.provider.clone())
            .alt_names([&name]);
        if let Some(key) = &self.master_key {
            create = create.master_key(key);
        }
        match create.await {
            Ok(id) => Ok(id.into()),
            // Another client has created it since.
            Err(error) if error.is_duplicate_key() => {
                match self.encryption.get_key_by_alt_name(&name).await? {
                    Some(key) => self.existing(&key, path, model),
                    None => Err(error.into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The id of a key that exists, which must be encrypted by the provider of the schema.
    fn existing(&self, key: &Document, path: &str, model: &'static str) -> Result<Bson> {
        let found = key
            .get_document("masterKey")
            .and_then(|key| key.get_str("provider"));
        let found = found.unwrap_or_default();
        let master_key = key.get_document("masterKey").ok();
        let is_other = |field: &str, value: &Bson| {
            let found = master_key.and_then(|key| key.get(field));
            found.is_some_and(|found| found != value)
        };
        let mut given = self.master_key.iter().flatten();
        let of_other = given.find(|(field, value)| is_other(field, value));
        if let Some((field, _)) = of_other.filter(|_| found == self.provider) {
            return Err(SchemaError::InvalidEncryption {
                model,
                path: path.to_owned(),
                reason: format!(
                    "its data key in the key vault is encrypted by a master key with another `{field}` than that of the schema; rewrap \
                     the key (`ClientEncryption::rewrap_many_data_key`), or delete it if no value is encrypted by it"
                ),
            }
            .into());
        }
        if found != self.provider {
            let names = key.get_array("keyAltNames").into_iter().flatten();
            let names: Vec<&str> = names.filter_map(Bson::as_str).collect();
            return Err(SchemaError::InvalidEncryption {
                model,
                path: path.to_owned(),
                reason: format!(
                    "its data key `{}` in the key vault is encrypted by the provider {found:?} and not by {:?}, that of the schema; \
                     rewrap the key (`ClientEncryption::rewrap_many_data_key`), or delete it if no value is encrypted by it",
                    names.join("`, `"),
                    self.provider
                ),
            }
            .into());
        }
        Ok(key.get("_id").cloned().unwrap_or(Bson::Null))
    }
}

#[cfg(feature = "encryption")]
impl std::fmt::Debug for DataKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DataKeys")
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}

/// The options that an encrypted collection can have.
const PERMITTED: [&str; 7] = [
    "validator",
    "validationLevel",
    "validationAction",
    "collation",
    "changeStreamPreAndPostImages",
    "clusteredIndex",
    "expireAfterSeconds",
];

/// The options of the driver's action, of those in [`PERMITTED`].
#[cfg(feature = "encryption")]
fn create_options(declared: &Document) -> Result<crate::driver::options::CreateCollectionOptions> {
    use crate::{
        base::bson::from_document,
        driver::{Error, options::Collation},
    };

    let mut options = crate::driver::options::CreateCollectionOptions::default();
    for (name, value) in declared {
        options = match (name.as_str(), value) {
            ("validator", Bson::Document(value)) => options.validator(value),
            ("validationLevel", Bson::String(value)) => options.validation_level(value),
            ("validationAction", Bson::String(value)) => options.validation_action(value),
            ("collation", Bson::Document(value)) => {
                options.collation(from_document::<Collation>(value).map_err(Error::from)?)
            }
            ("changeStreamPreAndPostImages", Bson::Document(value)) => {
                options.change_stream_pre_and_post_images(value)
            }
            ("clusteredIndex", Bson::Document(value)) => options.clustered_index(value),
            ("expireAfterSeconds", value) => {
                match value.as_i64().and_then(|seconds| u64::try_from(seconds).ok()) {
                    Some(seconds) => options.expire_after_seconds(std::time::Duration::from_secs(seconds)),
                    None => options,
                }
            }
            _ => options,
        };
    }
    Ok(options)
}

/// Rejects the options that the server does not permit for an encrypted collection.
fn check_options(model: &'static str, declared: &DeclaredCollection) -> Result<(), SchemaError> {
    for (option, value) in declared.options().into_iter().flatten() {
        let reason = match (option.as_str(), value.as_str()) {
            ("validationLevel", Some(level)) if level != "strict" => {
                format!(
                    "an encrypted collection must have the option `validationLevel` \"strict\", found {level:?}"
                )
            }
            ("validationAction", Some("warn")) => {
                "an encrypted collection cannot have the option `validationAction` \"warn\"; use \"error\""
                    .to_owned()
            }
            (known, _) if PERMITTED.contains(&known) => continue,
            _ => format!("a collection with the option `{option}` cannot be encrypted"),
        };
        return Err(SchemaError::InvalidEncryption {
            model,
            path: String::new(),
            reason,
        });
    }
    Ok(())
}

/// Rejects the indexes that the server does not permit in an encrypted collection: on encrypted
/// fields, or on documents that contain them, and TTL indexes, because the server cannot delete
/// from the state collections without the client's keys.
fn check_indexes(model: &'static str, declared: &DeclaredCollection) -> Result<(), SchemaError> {
    let fields = declared.encrypted_fields();
    let fields = fields.and_then(|fields| fields.get_array("fields").ok());
    let paths = fields.into_iter().flatten().filter_map(Bson::as_document);
    let paths: Vec<&str> = paths.filter_map(|field| field.get_str("path").ok()).collect();
    for index in &declared.indexes {
        let invalid = |path: &str, reason: String| {
            Err(SchemaError::InvalidEncryption {
                model,
                path: path.to_owned(),
                reason,
            })
        };
        if index.specification.contains_key("expireAfterSeconds") {
            return invalid(
                "",
                format!(
                    "a collection with the TTL index `{}` cannot be encrypted",
                    index.name
                ),
            );
        }
        let keys = || index.normal.keys.iter().map(|(key, _)| key.as_str());
        if let Some(path) = paths.iter().find(|path| keys().any(|key| is_about(key, path))) {
            return invalid(
                path,
                format!(
                    "the index `{}` is on it, or on the document that contains it; the server has no index on encrypted values",
                    index.name
                ),
            );
        }
    }
    Ok(())
}

impl Step {
    /// Whether the step creates an encrypted collection, and a data key for each of its fields.
    pub(super) fn creates_data_keys(&self) -> bool {
        matches!(self, Step::CreateCollection { options } if options.contains_key(ENCRYPTED_FIELDS))
    }
}

impl Schema {
    /// Creates the data keys of [encrypted fields](crate::encryption) in this way, when a plan is
    /// applied that creates their collections. Required if a registered model has encrypted fields.
    /// With it, collections of models without encrypted fields are also compared.
    ///
    /// The client of the database needs no automatic encryption. Each key has the alternate name
    /// `marula:database.collection:path`. If a creation fails, keys and state collections that were
    /// created before remain, and the next plan that is applied uses them. So does a plan that
    /// creates the collection again after it was dropped: delete the keys with these names before,
    /// if its fields are to have new keys.
    ///
    /// ```no_run
    /// # use marula::{Document, Model};
    /// # #[derive(Document)]
    /// # #[document(collection = "patients")]
    /// # struct Patient { _id: i64, #[document(encrypted(equality))] ssn: String }
    /// # async fn run(client: marula::Client, master_key: [u8; 96]) -> marula::Result<()> {
    /// use marula::driver::encryption::{ClientEncryption, ClientEncryptionOptions, KmsProviders};
    /// use marula::schema::{DataKeys, SyncMode};
    ///
    /// let providers = KmsProviders::new().local(&master_key);
    /// let options = ClientEncryptionOptions::new("encryption.keys", providers);
    /// let encryption = ClientEncryption::new(client.driver(), options)?;
    /// let db = client.database("hospital");
    /// let schema = db.schema().register::<Patient>().encryption(DataKeys::new(&encryption, "local"));
    /// schema.sync(SyncMode::Additive).await?;
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "encryption")]
    pub fn encryption(mut self, keys: DataKeys) -> Self {
        self.data_keys = Some(keys);
        self
    }

    /// Adds `encryptedFields` of the encrypted collections to the options of a client, with the ids
    /// of their data keys, which one `listCollections` reads. The client then does not ask the
    /// server which fields are encrypted, so that a malicious server cannot make it send plain
    /// values.
    ///
    /// ```no_run
    /// # use marula::{Document, Model, schema::Schema};
    /// # async fn run(schema: Schema, master_key: [u8; 96]) -> marula::Result<()> {
    /// use marula::driver::encryption::{AutoEncryptionOptions, KmsProviders};
    /// use marula::driver::options::ClientOptions;
    ///
    /// let providers = KmsProviders::new().local(&master_key);
    /// let options = AutoEncryptionOptions::new("encryption.keys", providers);
    /// let options = schema.encrypted_fields_map(options).await?;
    /// let client = ClientOptions::parse("mongodb://localhost")?.resolve().await?;
    /// let client = marula::Client::with_auto_encryption(client, options)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Schema`](crate::Error::Schema) with
    /// [`NotEncryptedYet`](SchemaError::NotEncryptedYet) for a collection that does not exist, and
    /// [`EncryptedFieldsConflict`](SchemaError::EncryptedFieldsConflict) for one with other
    /// encrypted fields than those of its model; [`Error::Driver`](crate::Error::Driver) for errors
    /// of the driver.
    #[cfg(feature = "encryption")]
    pub async fn encrypted_fields_map(self, options: AutoEncryptionOptions) -> Result<AutoEncryptionOptions> {
        use crate::schema::encryption::{differences, encrypted_fields};

        let declarations = self.declarations.collections()?;
        let encrypted = declarations
            .iter()
            .filter_map(|(collection, declared)| Some((collection, declared.encrypted_fields()?)));
        let encrypted: BTreeMap<&String, &Document> = encrypted.collect();
        let names: Vec<&String> = encrypted.keys().copied().collect();
        let listed = super::list_collections(&self.database, &names).await?;
        let mut options = options;
        for (collection, declared) in encrypted {
            let namespace = format!("{}.{collection}", self.database.name());
            let Some(listed) = listed.get(collection) else {
                return Err(SchemaError::NotEncryptedYet { namespace }.into());
            };
            let existing = encrypted_fields(listed);
            let differences = differences(declared, existing);
            let existing = existing.cloned().unwrap_or_default();
            if !differences.is_empty() {
                return Err(SchemaError::EncryptedFieldsConflict {
                    namespace,
                    differences,
                    existing: Box::new(existing),
                    declared: Box::new(declared.clone()),
                }
                .into());
            }
            options = options.encrypted_fields(namespace, &existing);
        }
        Ok(options)
    }

    #[cfg(feature = "encryption")]
    pub(super) fn has_data_keys(&self) -> bool {
        self.data_keys.is_some()
    }

    #[cfg(not(feature = "encryption"))]
    #[expect(clippy::unused_self, reason = "the schema has data keys with the feature")]
    pub(super) fn has_data_keys(&self) -> bool {
        false
    }

    /// Checks that encrypted collections can be created.
    pub(super) fn check_encryption(
        &self,
        declarations: &BTreeMap<String, DeclaredCollection>,
    ) -> Result<(), SchemaError> {
        for (collection, declared) in declarations {
            let Some(model) = declared.encrypted_by() else {
                continue;
            };
            check_options(model, declared)?;
            check_indexes(model, declared)?;
            if !self.has_data_keys() {
                let namespace = format!("{}.{collection}", self.database.name());
                return Err(SchemaError::EncryptionNotConfigured { namespace, model });
            }
        }
        Ok(())
    }
}

impl SchemaPlan {
    /// Creates a collection, and a data key for each encrypted field.
    pub(super) async fn create_collection(&self, target: &Target<'_>, declared: &Document) -> Result<()> {
        #[cfg(feature = "encryption")]
        if let (Some(keys), true) = (&self.schema.data_keys, declared.contains_key(ENCRYPTED_FIELDS)) {
            // Boxed, because it is rare.
            let declarations = self.schema.declarations.collections()?;
            let of = declarations.get(&target.plan.collection);
            let model = of.and_then(DeclaredCollection::encrypted_by).unwrap_or_default();
            return Box::pin(keys.create(target, declared, model)).await;
        }
        target.create_collection(declared).await
    }
}

//! Automatic encryption of commands and decryption of replies ([`Client::with_auto_encryption`]).

use marula_mongocrypt::{CryptOptions, CryptShared, Zeroizing};

use super::{
    auto_options::{AutoEncryptionOptions, ExtraOptions, Map, document_of},
    engine::{Engine, Work, compute, perform_work, time_left},
    mongocryptd::Mongocryptd,
    required::{CHECKED, RequiredFields},
    unexpected,
};
use crate::{
    Client, Error, ErrorKind, Namespace, Result,
    api::Environment,
    bson::{RawBsonRef, RawDocument, RawDocumentBuf},
    connection::MetadataServices,
    error::EncryptionError,
    execution::{CommandEncryption, Computing, Decrypting, Executor},
    options::ClientOptions,
    proto::encryption::{EncryptionMachine, Step, of_reply},
    types::timeout::Timeout,
};

/// The length of an empty document.
const EMPTY_DOCUMENT: usize = 5;

/// What the error of an expired time limit says.
const ANALYSIS: &str = "while the command was analyzed for encryption";

/// The encryption of a client.
#[derive(Debug)]
pub(crate) struct AutoEncryption {
    engine: Engine,
    /// Reads the schemas of collections. `None` if commands are not encrypted.
    metadata: Option<Client>,
    /// `None` if commands are not analyzed, or analyzed by `crypt_shared`.
    mongocryptd: Option<Mongocryptd>,
    is_analyzed: bool,
    schema_map: Map,
    encrypted_fields_map: Map,
    required: RequiredFields,
    /// The clients that belong to this one.
    internal: Option<Client>,
}

impl Client {
    /// Creates a client that encrypts commands and decrypts replies automatically, with libmongocrypt.
    ///
    /// Which values are encrypted is determined by schemas: those in the options, or those of the collections. Automatic
    /// encryption requires the authenticated user to have the [listCollections privilege action]. The commands are analyzed by
    /// mongocryptd or the library `crypt_shared`, which are parts of MongoDB Enterprise.
    ///
    /// mongocryptd rejects what cannot be analyzed, also on collections without encryption: above all the stage
    /// `$changeStream`, so that [`watch`](crate::Collection::watch) needs another client, with
    /// [`bypass_auto_encryption`](AutoEncryptionOptions::bypass_auto_encryption), which decrypts events; and sorts by
    /// encrypted fields and pipelines that update them.
    ///
    /// If a client with a limited connection pool size (i.e. a non-zero `maxPoolSize`) is configured, a separate internal
    /// client is created if any of the following are true:
    ///
    /// - [`key_vault_client`](AutoEncryptionOptions::key_vault_client) is not passed.
    /// - [`bypass_auto_encryption`](AutoEncryptionOptions::bypass_auto_encryption) is `false`.
    ///
    /// If an internal client is created, it is configured with the same options as the parent client except `minPoolSize` is
    /// set to `0` and the options of encryption are omitted.
    ///
    /// If automatic encryption fails on an operation, use a client with
    /// [`bypass_auto_encryption`](AutoEncryptionOptions::bypass_auto_encryption), and encrypt its values by
    /// [`ClientEncryption::encrypt`](crate::encryption::ClientEncryption::encrypt).
    ///
    /// Enabling client side encryption reduces the maximum write batch size (to 2 MiB) and may have a negative performance
    /// impact. Command events contain the encrypted commands and replies. Must be called within a tokio runtime, as
    /// [`with_options`](Self::with_options).
    ///
    /// # Errors
    /// Those of [`with_options`](Self::with_options), and
    /// [`EncryptionError::Library`](crate::EncryptionError::Library) if libmongocrypt is missing or too old, with how to get it.
    ///
    /// ```no_run
    /// # async fn run(master_key: [u8; 96]) -> marula_driver::Result<()> {
    /// use marula_driver::{Client, bson::doc, encryption::{AutoEncryptionOptions, KmsProviders}, options::ClientOptions};
    ///
    /// let options = ClientOptions::parse("mongodb://localhost")?.resolve().await?;
    /// let encryption = AutoEncryptionOptions::new("encryption.keys", KmsProviders::new().local(&master_key))
    ///     .schema("hospital.patients", doc! {
    ///         "bsonType": "object",
    ///         "properties": { "ssn": { "encrypt": {
    ///             "keyId": "/key", "bsonType": "string", "algorithm": "AEAD_AES_256_CBC_HMAC_SHA_512-Random",
    ///         } } },
    ///     });
    /// let client = Client::with_auto_encryption(options, encryption)?;
    /// # Ok(()) }
    /// ```
    ///
    /// [listCollections privilege action]:
    /// https://www.mongodb.com/docs/manual/reference/command/listCollections/#dbcmd.listCollections
    pub fn with_auto_encryption(options: ClientOptions, encryption: AutoEncryptionOptions) -> Result<Self> {
        let environment = Environment::default();
        Self::start_encrypted(options, encryption, &environment, MetadataServices::default())
    }

    /// Whether the client encrypts the values of commands: it has automatic encryption, with neither
    /// [`bypass_auto_encryption`](AutoEncryptionOptions::bypass_auto_encryption) nor
    /// [`bypass_query_analysis`](AutoEncryptionOptions::bypass_query_analysis).
    ///
    /// ```no_run
    /// # async fn run() -> marula_driver::Result<()> {
    /// let client = marula_driver::Client::connect("mongodb://localhost").await?;
    /// assert!(!client.encrypts_commands());
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn encrypts_commands(&self) -> bool {
        self.executor()
            .encryption()
            .is_some_and(CommandEncryption::encrypts_values)
    }

    /// Requires that the client encrypts these fields of a collection. Later commands on the collection, also those of clones
    /// of the client, fail with [`EncryptionError::NotEncrypted`](crate::EncryptionError::NotEncrypted) before anything is
    /// sent, unless `encryptedFields` of the options or of the collection contain the fields. Without this call, values are
    /// sent as they are to a collection that is not known to be encrypted, such as one that does not exist.
    ///
    /// `required_by` is part of the error, e.g. "model `Patient`". The call sends nothing, adds to the fields of earlier calls,
    /// which no call removes, and has no effect for fields that a [schema](AutoEncryptionOptions::schema) in the options encrypts, or if
    /// [`encrypts_commands`](Self::encrypts_commands) is `false`. Commands are checked with values of documents: inserts,
    /// updates, deletes and queries, but not `create` or `collMod`; for an aggregation also the collections of its `$lookup`,
    /// `$graphLookup` and `$unionWith`.
    ///
    /// ```no_run
    /// # async fn run(encrypting: marula_driver::Client) {
    /// use marula_driver::Namespace;
    ///
    /// let patients = Namespace::new("hospital", "patients");
    /// encrypting.require_encrypted_fields(&patients, &["ssn".to_owned()], "the list of patients");
    /// # }
    /// ```
    pub fn require_encrypted_fields(&self, namespace: &Namespace, paths: &[String], required_by: &str) {
        if let Some(encryption) = self.executor().encryption().filter(|e| e.encrypts_values()) {
            encryption.require_fields(namespace, paths, required_by);
        }
    }

    /// As [`with_auto_encryption`](Self::with_auto_encryption), in an environment that tests can replace.
    pub(crate) fn start_encrypted(
        options: ClientOptions,
        mut encryption: AutoEncryptionOptions,
        environment: &Environment,
        services: MetadataServices,
    ) -> Result<Self> {
        let extra = encryption.check()?;
        // Shares connections with the encrypted client, and does not encrypt.
        let plain = Self::start(options.clone(), environment)?;
        let has_no_reads = encryption.bypass_auto_encryption && encryption.key_vault_client.is_some();
        let internal = if options.max_pool_size == 0 || has_no_reads {
            // Its reads are parts of operations that a shutdown waits for.
            plain.uncounted()
        } else {
            let mut internal = options;
            internal.min_pool_size = 0;
            Self::start_part(internal, environment, Some(plain.shared_by_parts()))?
        };
        let encryption = AutoEncryption::new(internal, encryption, &extra, environment, services)?;
        Ok(plain.encrypted(encryption))
    }
}

impl AutoEncryption {
    fn new(
        internal: Client,
        options: AutoEncryptionOptions,
        extra: &ExtraOptions,
        environment: &Environment,
        services: MetadataServices,
    ) -> Result<Self> {
        let encrypts = !options.bypass_auto_encryption;
        let is_analyzed = encrypts && !options.bypass_query_analysis;
        let schema_map = document_of(&options.schema_map)?;
        let encrypted_fields_map = document_of(&options.encrypted_fields_map)?;
        let key_vault = options.key_vault_client.as_ref().unwrap_or(&internal);
        let complete = |crypt: &mut CryptOptions| {
            crypt.schema_map = schema_map;
            crypt.encrypted_fields_map = encrypted_fields_map;
            crypt.bypass_query_analysis = options.bypass_query_analysis;
            crypt.crypt_shared = match &extra.crypt_shared_path {
                Some(path) => CryptShared::Path(path.into()),
                None if encrypts => CryptShared::System,
                None => CryptShared::Off,
            };
        };
        let engine = Engine::new(key_vault, &options.settings, environment, services, complete)?;
        let has_crypt_shared = engine.crypt().crypt_shared_version().is_some();
        if extra.crypt_shared_required && !has_crypt_shared {
            return Err(Error::invalid_argument(if is_analyzed {
                "cryptSharedLibRequired is set, but the library crypt_shared was not found; set cryptSharedLibPath"
            } else {
                "cryptSharedLibRequired is set, but the library crypt_shared is not loaded, because commands are not \
                 analyzed; remove cryptSharedLibRequired, or bypass_query_analysis and bypass_auto_encryption"
            }));
        }
        let mongocryptd = if is_analyzed && !has_crypt_shared {
            Some(Mongocryptd::new(extra)?)
        } else {
            None
        };
        Ok(Self {
            engine,
            metadata: encrypts.then(|| internal.clone()),
            mongocryptd,
            is_analyzed,
            schema_map: options.schema_map,
            required: RequiredFields::new(&options.encrypted_fields_map),
            encrypted_fields_map: options.encrypted_fields_map,
            internal: Some(internal),
        })
    }

    async fn encrypt_command(
        &self,
        database: &str,
        command: &RawDocument,
        timeout: Timeout,
    ) -> Result<Vec<u8>> {
        let size = Work::of_size(command.as_bytes().len());
        // `crypt_shared` analyzes the command as soon as it knows the schema.
        let analysis = if self.is_analyzed && self.mongocryptd.is_none() {
            size
        } else {
            Work::Small
        };
        let crypt = self.engine.crypt();
        let context = if analysis == Work::Large {
            let (crypt, database) = (crypt.clone(), database.to_owned());
            let command = Zeroizing::new(command.as_bytes().to_vec());
            let begin = move || Ok(crypt.encrypt(&database, &command)?);
            perform_work(analysis, timeout, ANALYSIS, begin).await?
        } else {
            crypt.encrypt(database, command.as_bytes())?
        };
        let mut machine = EncryptionMachine::from(context);
        // `crypt_shared` does not report whether there are values to encrypt.
        let mut work = if self.mongocryptd.is_none() {
            Work::Large
        } else {
            size
        };
        loop {
            match machine.step()? {
                Step::CollectionInfo {
                    database: other,
                    filter,
                } => {
                    let other = other.as_deref().unwrap_or(database);
                    let infos = self.collection_infos(other, &filter, timeout).await;
                    let infos = infos.map_err(EncryptionError::CollectionInfo)?;
                    // First, because libmongocrypt keeps what it is fed, also if this command fails.
                    self.required.note(other, &filter, &infos);
                    for info in &infos {
                        machine.feed(info, EncryptionError::CollectionInfo)?;
                    }
                    let analyze = move || {
                        machine.fed()?;
                        Ok(machine)
                    };
                    machine = perform_work(analysis, timeout, ANALYSIS, analyze).await?;
                }
                Step::Markings(marked) => {
                    let reply = self.mongocryptd()?.mark(database, &marked, timeout).await?;
                    if reply.get_bool("hasEncryptionPlaceholders").unwrap_or(false) {
                        work = Work::Large;
                    }
                    let size = Work::of_size(reply.as_bytes().len());
                    let mark = move || {
                        machine.feed(&reply, |cause| EncryptionError::QueryAnalysis {
                            message: format!("mongocryptd: {cause}"),
                            cause: Some(cause),
                        })?;
                        machine.fed()?;
                        Ok(machine)
                    };
                    machine = perform_work(size, timeout, ANALYSIS, mark).await?;
                }
                Step::Result => {
                    let mut result = compute(machine, timeout, work).await?;
                    self.required.check(database, document_in(&result)?)?;
                    return Ok(std::mem::take(&mut *result));
                }
                // Never sent without the library's result.
                Step::End => {
                    return Err(EncryptionError::Rejected {
                        message: "libmongocrypt returned no command".to_owned(),
                        code: 0,
                    }
                    .into());
                }
                step => self.engine.perform(&mut machine, step, timeout).await?,
            }
        }
    }

    fn mongocryptd(&self) -> Result<&Mongocryptd> {
        self.mongocryptd.as_ref().ok_or_else(|| {
            EncryptionError::QueryAnalysis {
                message: "libmongocrypt asks for an analysis that was bypassed".to_owned(),
                cause: None,
            }
            .into()
        })
    }

    async fn collection_infos(
        &self,
        database: &str,
        filter: &RawDocumentBuf,
        timeout: Timeout,
    ) -> Result<Vec<RawDocumentBuf>> {
        let Some(client) = &self.metadata else {
            return Ok(Vec::new());
        };
        let database = client.database(database);
        let mut list = database.list_collections().filter(filter);
        if let Some(left) = time_left(timeout, "before the schema of the collection was read")? {
            list = list.timeout(left);
        }
        list.await?.with_type::<RawDocumentBuf>().try_collect().await
    }
}

/// Names the command in an error of libmongocrypt, e.g. that of a value outside of the range of its field.
fn with_command(error: Error, database: &str, command: &RawDocument) -> Error {
    let ErrorKind::Encryption(EncryptionError::Rejected { message, code }) = error.kind() else {
        return error;
    };
    // The value of another command may be no collection.
    let Some(Ok((name, RawBsonRef::String(collection)))) = command.iter().next() else {
        return error;
    };
    let name = name.as_str();
    if !CHECKED.contains(&name) {
        return error;
    }
    let message = format!("{message} (`{name}` on {database}.{collection})");
    EncryptionError::Rejected { message, code: *code }.into()
}

/// The command that libmongocrypt returned.
fn document_in(command: &[u8]) -> Result<&RawDocument> {
    RawDocument::from_bytes(command).map_err(|error| unexpected(&error.to_string()))
}

impl CommandEncryption for AutoEncryption {
    fn encrypts(&self) -> bool {
        self.metadata.is_some()
    }

    fn encrypts_values(&self) -> bool {
        self.metadata.is_some() && self.is_analyzed
    }

    fn require_fields(&self, namespace: &Namespace, paths: &[String], required_by: &str) {
        self.required.add(namespace, paths, required_by, &self.schema_map);
    }

    fn encrypt<'a>(&'a self, database: &'a str, command: &'a RawDocument, timeout: Timeout) -> Computing<'a> {
        Box::pin(async move {
            let encrypted = self.encrypt_command(database, command, timeout).await;
            encrypted.map_err(|error| with_command(error, database, command))
        })
    }

    fn decrypt<'a>(&'a self, reply: &[u8], timeout: Timeout) -> Decrypting<'a> {
        let work = Work::of_size(reply.len());
        // libmongocrypt copies the reply.
        let begun = (work == Work::Small).then(|| self.engine.crypt().decrypt(reply));
        let reply = if begun.is_some() {
            Vec::new()
        } else {
            reply.to_vec()
        };
        Box::pin(async move {
            let context = match begun {
                Some(context) => context.map_err(of_reply)?,
                // The time is quadratic in the number of the data keys.
                None => {
                    let crypt = self.engine.crypt().clone();
                    let begin = move || crypt.decrypt(&reply).map_err(of_reply);
                    perform_work(work, timeout, "while the reply was decrypted", begin).await?
                }
            };
            let mut result = self.engine.run(context.into(), timeout, work).await?;
            // There is no result if the reply has no value that can be decrypted.
            Ok((result.len() > EMPTY_DOCUMENT).then(|| std::mem::take(&mut *result)))
        })
    }

    fn encrypted_fields(&self, namespace: &Namespace) -> Option<&RawDocument> {
        let name = namespace.to_string();
        let found = self.encrypted_fields_map.iter().find(|(other, _)| *other == name);
        found.map(|(_, fields)| &**fields)
    }

    fn internal(&self) -> Option<&Executor> {
        self.internal.as_ref().map(Client::executor)
    }

    fn close(&self) {
        let mongocryptd = self.mongocryptd.as_ref().map(Mongocryptd::client);
        for client in [self.internal.as_ref(), mongocryptd].into_iter().flatten() {
            client.executor().topology().close();
        }
    }
}

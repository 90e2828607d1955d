//! Encrypted fields: declarations, data keys, clients, changes of a model.
//!
//! With Queryable Encryption (MongoDB 7.0+, feature `encryption`) the client encrypts some fields of a model. The server
//! stores them, and answers queries on them, without the keys. [`marula::encryption`](crate::encryption) lists the
//! attributes, the operators and the types.
//!
//! The example needs [libmongocrypt](crate::driver#features) 1.20 or later, and mongocryptd or the library
//! `crypt_shared`, which analyze commands; both are parts of MongoDB Enterprise and Atlas. The documentation of the items below is
//! built with the feature: `cargo doc --open -p marula --features encryption`.
//!
//! # The model
//!
//! ```
//! # #[cfg(feature = "encryption")]
//! # mod example {
//! use marula::{Document, Embedded, bson::ObjectId};
//!
//! #[derive(Embedded)]
//! struct Address {
//!     city: String,
//!     #[document(encrypted)]
//!     street: String,
//! }
//!
//! #[derive(Document)]
//! #[document(collection = "patients", index(name))]
//! struct Patient {
//!     _id: ObjectId,
//!     name: String,
//!     #[document(encrypted(equality))]
//!     ssn: String,
//!     #[document(encrypted(range(min = 0, max = 200)))]
//!     age: i32,
//!     #[document(encrypted, skip_none)]
//!     notes: Option<String>,
//!     address: Address,
//! }
//! # }
//! ```
//!
//! A mistake is a compile error at its place: queries that the type of the field does not have, an index on an encrypted
//! field, an encrypted field inside an array, a filter that the field is not indexed for, a sort by the field.
//!
//! # The start of an application
//!
//! 1. `marula::driver::encryption::ClientEncryption` has the key vault, the collection with the data
//!    keys, and the key management service that encrypts them.
//! 2. The schema creates the collection, and a data key for each encrypted field. A plan does not: it only reads.
//! 3. A second client encrypts and decrypts. It has `encryptedFields` of all models with the ids of the keys, so that the
//!    server does not decide what is encrypted.
//!
//! ```no_run
//! # #[cfg(feature = "encryption")]
//! # mod example {
//! # #[derive(marula::Document)]
//! # #[document(collection = "patients")]
//! # struct Patient { _id: i64, #[document(encrypted(equality))] ssn: String,
//! # #[document(encrypted(range(min = 0, max = 200)))] age: i32 }
//! use marula::bson::doc;
//! use marula::driver::encryption::{
//!     AutoEncryptionOptions, ClientEncryption, ClientEncryptionOptions, KmsProviders,
//! };
//! use marula::driver::options::ClientOptions;
//! use marula::schema::{DataKeys, SyncMode};
//! use marula::{Client, Result};
//!
//! async fn connect(uri: &str) -> Result<Client> {
//!     let aws = doc! {}; // Credentials of the environment.
//!     let providers = KmsProviders::new().with("aws", aws);
//!
//!     let plain = Client::connect(uri).await?;
//!     let options = ClientEncryptionOptions::new("encryption.keys", providers.clone());
//!     let encryption = ClientEncryption::new(plain.driver(), options)?;
//!     let master_key = doc! { "region": "eu-central-1", "key": "arn:aws:kms:…" };
//!     let keys = DataKeys::new(&encryption, "aws").master_key(master_key);
//!     let schema = plain.database("hospital").schema().register::<Patient>().encryption(keys);
//!     schema.clone().sync(SyncMode::Additive).await?;
//!
//!     let options = AutoEncryptionOptions::new("encryption.keys", providers);
//!     let options = schema.encrypted_fields_map(options).await?;
//!     let client = ClientOptions::parse(uri)?.resolve().await?;
//!     Client::with_auto_encryption(client, options)
//! }
//!
//! async fn adults(client: &Client) -> Result<Vec<Patient>> {
//!     let patients = client.database("hospital").collection::<Patient>();
//!     patients.update_one(|p| p.ssn().eq("457-55-5462"), |p| p.age().set(44)).await?;
//!     patients.find(|p| p.age().gte(18)).await
//! }
//! # }
//! ```
//!
//! Apply the schema before anything is written: the server then rejects plain values in encrypted fields. In a collection
//! that an insert has created nothing is encrypted. Typed inserts, replacements, saves and upserts, and filters and updates of
//! encrypted fields are errors before they are sent through a client without automatic encryption; so are filters of pipelines.
//! In a pipeline, conditions on encrypted fields come before the stages that change the documents. What the application writes in
//! BSON needs [`Unchecked`](crate::encryption::Unchecked). Errors are also all typed calls through an encrypting client that does not know the
//! collection as encrypted ([`EncryptionError::NotEncrypted`](crate::driver::EncryptionError::NotEncrypted)): another database or
//! name, such as that of a new tenant, must be in its `encrypted_fields_map`, or have been created by the schema, before the first
//! call. The same holds for the collections that typed lookups, graph lookups and unions read. What the client has read of a
//! collection, also that it does not exist, it reads again after at most one minute. Not checked are calls of the
//! [driver's collection](crate::Collection::driver) before the first typed one.
//!
//! A type with encrypted fields has them only where its paths are known: in an `opaque` field, also behind an `Arc` or in a map with
//! other keys than strings, it is a compile error or an error of the plan. State the stored type of a pointer by
//! `#[document(as = Type)]`. The values of expressions in pipelines have no encrypted fields. What is checked, and what cannot be
//! found, is listed in [`marula::encryption`](crate::encryption#what-is-found).
//!
//! The commands are analyzed by `mongocryptd` or the library `crypt_shared` of MongoDB, which `AutoEncryptionOptions::extra_options`
//! locates (`cryptSharedLibPath`, `mongocryptdURI`, `mongocryptdSpawnPath`). In development, the provider `local` with a key of 96
//! bytes replaces a key management service.
//!
//! Several instances can start at the same time: one of them creates the collection and the keys, and holds the
//! [lease](super::schema#at-the-start) meanwhile. The [command line](super::schema#the-command-line) takes the same schema,
//! with its data keys.
//!
//! # What the server does not do
//!
//! | limit | instead |
//! |---|---|
//! | sorts, groups, expressions and `distinct` of encrypted fields | load the documents, and sort them in the application |
//! | `update_many` and `delete_many`, also of plain fields (an error before anything is sent) | single writes by `_id` |
//! | `delete_permanently` and `restore` of soft deletion (an error before anything is sent) | [`delete_permanently_by_id`](crate::Collection::delete_permanently_by_id), [`restore_by_id`](crate::Collection::restore_by_id) |
//! | upserts by an encrypted field (an error before anything is sent) | an upsert by another field |
//! | more than one update, replacement or delete in a command | [`Collection::bulk`](crate::Collection::bulk) sends each as a command of its own; [`Client::bulk`](crate::Client::bulk) is an error before anything is sent |
//! | find-and-modify that returns the new document or a projection (an error before anything is sent) | an update, then `find_by_id` |
//! | comparisons of a document that contains an encrypted field, and its `$rename` (an error before anything is sent) | compare its plain fields; `set` and `unset` of the document are encrypted |
//! | `watch` through a client that analyzes commands, which mongocryptd and `crypt_shared` reject (error 31011) | `watch` through a client with `AutoEncryptionOptions::bypass_auto_encryption(true)`, which decrypts the documents of the events |
//! | filters of change events by encrypted fields (an error before anything is sent) | compare the fields in the events |
//! | values outside of `min` and `max` of a field with ranges, also in filters (an error before anything is sent) | a wider range, which needs a new collection |
//! | `out` and `merge_into` for a model with encrypted fields (an error before anything is sent) | read the documents, and insert them |
//! | lookups of encrypted collections before MongoDB 8.1, also of mongocryptd or `crypt_shared` (an error of libmongocrypt that says `Upgrade`); joins by an encrypted field; unions and facets, which mongocryptd rejects | two queries |
//! | `$inc`, `$min`, `$max`, `$rename` of encrypted fields | `set` of a value that was read |
//! | migrations, and saves of bulk writes with `created_at` | read the documents, and save each of them |
//! | indexes, also unique ones, on encrypted fields | the index of the queries is created with the collection |
//! | TTL indexes, capped collections, time series, views, `validationLevel` other than "strict", `validationAction` "warn" (an error of the plan) | |
//! | null | an `Option` that is not stored if it is `None` |
//!
//! Raw filters, updates and pipelines are not checked by the compiler; the analysis of commands rejects them before they
//! are sent.
//!
//! A model that reads unknown fields into a flattened map finds the field `__safeContent__` of the server there. It is not written
//! back: the server computes it again.
//!
//! # Compaction
//!
//! Each insert and update of a field with queries adds documents to the state collections `enxcol_.…`. Compact them when they
//! exceed 1 GB: the command keeps what queries need, and runs beside reads and writes. `cleanupStructuredEncryptionData`
//! (MongoDB 7.0+) also removes what compactions have left. Both are run by the encrypting client, which adds the tokens of the fields
//! (`compactionTokens`, `cleanupTokens`):
//!
//! ```no_run
//! # #[cfg(feature = "encryption")]
//! # mod example {
//! use marula::bson::doc;
//! use marula::{Client, Result};
//!
//! async fn compact(encrypting: &Client) -> Result<()> {
//!     let hospital = encrypting.database("hospital");
//!     let compact = doc! { "compactStructuredEncryptionData": "patients" };
//!     println!("{}", hospital.driver().run_command(compact).await?);
//!     let clean = doc! { "cleanupStructuredEncryptionData": "patients" };
//!     hospital.driver().run_command(clean).await?;
//!     Ok(())
//! }
//! # }
//! ```
//!
//! # Rotation of keys
//!
//! The data keys of a collection stay as they are: a value can be encrypted by another key only if it is written to another
//! collection. What is rotated is the master key of the key management service, which encrypts the data keys in the key vault:
//!
//! ```no_run
//! # #[cfg(feature = "encryption")]
//! # mod example {
//! use marula::bson::doc;
//! use marula::Result;
//! use marula::driver::encryption::ClientEncryption;
//!
//! /// Encrypts the data keys of one collection with a new master key.
//! async fn rotate(encryption: &ClientEncryption) -> Result<()> {
//!     let keys = doc! { "keyAltNames": { "$regex": "^marula:hospital\\.patients:" } };
//!     let master_key = doc! { "region": "eu-central-1", "key": "arn:aws:kms:…" };
//!     let rotated = encryption.rewrap_many_data_key(keys).provider("aws").master_key(master_key).await?;
//!     if let Some(result) = rotated.bulk_write_result {
//!         println!("{} keys", result.modified_count);
//!     }
//!     Ok(())
//! }
//! # }
//! ```
//!
//! Without `provider`, each key is encrypted again by its own master key, which a key management service may have rotated. Running
//! clients keep decrypted data keys for a minute (`key_expiration`) and need no restart. The schema creates each data key with the
//! alternate name `marula:database.collection:path`, uses the key of this name if it exists, and rejects one that another provider
//! encrypts.
//!
//! # Changes of a model
//!
//! Encrypted fields cannot be changed: neither a new one, nor another type, nor other queries. A plan then contains a
//! conflict that names each difference. [`SyncMode::Verify`](crate::schema::SyncMode::Verify) fails with
//! [`NotInSync`](crate::SchemaError::NotInSync), and every [`Apply`](crate::schema::Apply), also one that allows conflicts, with
//! [`EncryptedFieldsConflict`](crate::SchemaError::EncryptedFieldsConflict):
//!
//! ```text
//! hospital.patients
//!   ! conflict encrypted fields: `phone` is not encrypted in the collection (only a new collection can have others; kept)
//! ```
//!
//! To change them, register the model for a new collection
//! ([`register_named`](crate::schema::Schema::register_named)), copy the documents through a client with automatic
//! encryption, and use the new name in the application ([`Collection::named`](crate::Collection::named)). Nothing is
//! dropped: the old collection, its state collections `enxcol_.…` and its data keys remain until you drop them.
//!
//! Options that are not declared are not compared, except for `contention` and `sparsity`, whose defaults are known.
//!
//! # A collection that is created again
//!
//! A dropped collection that the schema creates again has the same keys, because they are found by their alternate names, so that
//! running clients remain right. If it has other keys, because those in the key vault were deleted or something else created the
//! collection, create the clients again: one with `encrypted_fields_map` keeps the ids of the old keys, and another one reads the
//! fields of the collection again only after at most one minute. What they write until then can be read while the old keys exist,
//! but queries of other clients do not find it, and neither the server nor the client reports this. No plain value is sent in any
//! of these cases: a client goes on encrypting what it knows as encrypted.

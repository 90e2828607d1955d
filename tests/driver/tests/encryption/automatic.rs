//! Automatic encryption.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use marula_driver::{
    Client, Collection, WriteModel,
    bson::{Binary, BinarySubtype, Bson, Document, Uuid, doc},
    encryption::{AutoEncryptionOptions, KmsProviders},
    event::CommandEvent,
    options::{ClientOptions, Credential, OidcCallback, OidcCredential},
};
use marula_driver_tests::{Deployment, QueryAnalysis, replica_set};
use marula_test_server::TestServer;

use super::support::{LOCAL_KEY, NAMESPACE, Setup};

/// A server with a data key, a client with automatic encryption, and its events.
pub(crate) struct Automatic {
    pub(crate) setup: Setup,
    pub(crate) analysis: QueryAnalysis,
    pub(crate) key: Uuid,
}

/// The names of the commands that a client has sent, with the commands.
pub(crate) type Sent = Arc<Mutex<Vec<(String, Document)>>>;

pub(crate) fn local() -> KmsProviders {
    KmsProviders::new().local(&LOCAL_KEY)
}

impl Automatic {
    pub(crate) async fn new() -> Self {
        Self::on(Setup::new().await).await
    }

    pub(crate) async fn on(setup: Setup) -> Self {
        let key = setup.encryption().create_data_key("local").await.expect("a key");
        Self {
            setup,
            analysis: QueryAnalysis::start().await,
            key,
        }
    }

    /// A schema with an encrypted field that can be queried, and one that cannot.
    pub(crate) fn schema(&self) -> Document {
        let field = |algorithm: &str| {
            let algorithm = format!("AEAD_AES_256_CBC_HMAC_SHA_512-{algorithm}");
            doc! { "encrypt": { "keyId": [self.key], "bsonType": "string", "algorithm": algorithm } }
        };
        doc! { "bsonType": "object", "properties": { "ssn": field("Deterministic"), "note": field("Random") } }
    }

    pub(crate) fn encryption(&self) -> AutoEncryptionOptions {
        self.encryption_by_server()
            .schema("hospital.patients", self.schema())
    }

    /// The same without a schema, so that schemas are those of the collections.
    pub(crate) fn encryption_by_server(&self) -> AutoEncryptionOptions {
        AutoEncryptionOptions::new(NAMESPACE, local()).extra_options(self.analysis.extra_options())
    }

    pub(crate) fn options(&self, options: &str) -> ClientOptions {
        let uri = self.setup.deployment.server.uri();
        let separator = if uri.contains('?') { '&' } else { '?' };
        ClientOptions::parse(&format!("{uri}{separator}{options}")).expect("a connection string")
    }

    pub(crate) fn client(&self, options: &str) -> (Client, Sent) {
        self.client_with(options, self.encryption())
    }

    pub(crate) fn client_with(&self, options: &str, encryption: AutoEncryptionOptions) -> (Client, Sent) {
        recorded(self.options(options), encryption)
    }

    /// The collection as the server stores it.
    pub(crate) fn stored(&self) -> Collection<Document> {
        self.setup.client().database("hospital").collection("patients")
    }
}

/// A client with automatic encryption, and the commands that it sends.
pub(crate) fn recorded(options: ClientOptions, encryption: AutoEncryptionOptions) -> (Client, Sent) {
    let (options, sent) = listening(options);
    let client = Client::with_auto_encryption(options, encryption).expect("a client");
    (client, sent)
}

/// Options with a listener that records commands.
pub(crate) fn listening(mut options: ClientOptions) -> (ClientOptions, Sent) {
    let sent = Sent::default();
    let recorded = Arc::clone(&sent);
    options.command_listener = Some(marula_driver::event::EventListener::new(
        move |event: &CommandEvent| {
            if let CommandEvent::Started(event) = event {
                let command =
                    marula_driver::bson::decode_document(event.command.as_bytes()).expect("a command");
                let mut sent = recorded.lock().unwrap_or_else(PoisonError::into_inner);
                sent.push((event.command_name.clone(), command));
            }
        },
    ));
    (options, sent)
}

pub(crate) fn patients(client: &Client) -> Collection<Document> {
    client.database("hospital").collection("patients")
}

fn is_encrypted(value: Option<&Bson>) -> bool {
    matches!(
        value,
        Some(Bson::Binary(Binary {
            subtype: BinarySubtype::Encrypted,
            ..
        }))
    )
}

pub(crate) fn take(sent: &Sent) -> Vec<(String, Document)> {
    std::mem::take(&mut sent.lock().unwrap_or_else(PoisonError::into_inner))
}

pub(crate) async fn values_are_encrypted_on_the_server_and_decrypted_by_the_client() {
    let automatic = Automatic::new().await;
    let (client, sent) = automatic.client("");
    let document = doc! { "_id": 1, "ssn": "457-55-5462", "note": "a secret note", "name": "Ada" };
    patients(&client).insert_one(&document).await.expect("an insert");
    let stored = automatic
        .stored()
        .find_one(doc! {})
        .await
        .expect("a find")
        .expect("a document");
    assert!(
        is_encrypted(stored.get("ssn")) && is_encrypted(stored.get("note")),
        "{stored}"
    );
    assert_eq!(stored.get_str("name").expect("a name"), "Ada");
    let found = patients(&client)
        .find_one(doc! { "ssn": "457-55-5462" })
        .await
        .expect("a find");
    assert_eq!(found, Some(document));
    // Neither commands nor replies in events have values that are not encrypted.
    let sent = take(&sent);
    assert!(sent.iter().any(|(name, _)| name == "insert"), "{sent:?}");
    assert!(!format!("{sent:?}").contains("457-55") && !format!("{sent:?}").contains("a secret note"));
    client.shutdown().await;
    assert!(patients(&client).find_one(doc! {}).await.is_err());
}

pub(crate) async fn all_commands_with_documents_are_encrypted_and_decrypted() {
    let automatic = Automatic::new().await;
    let (client, _sent) = automatic.client("");
    let patients = patients(&client);
    let documents: Vec<Document> = (0..7)
        .map(|n| doc! { "_id": n, "ssn": format!("number {n}") })
        .collect();
    patients.insert_many(&documents).await.expect("inserts");
    let found = patients
        .find(doc! {})
        .batch_size(2)
        .sort(doc! { "_id": 1 })
        .await
        .expect("a cursor");
    assert_eq!(found.try_collect().await.expect("all batches"), documents);
    let pipeline = [doc! { "$match": { "ssn": { "$in": ["number 1", "number 2"] } } }];
    let found = patients.aggregate(pipeline).await.expect("a cursor");
    assert_eq!(found.try_collect().await.expect("documents").len(), 2);
    assert_eq!(
        patients
            .count_documents(doc! { "ssn": "number 3" })
            .await
            .expect("a count"),
        1
    );
    let update = doc! { "$set": { "ssn": "changed" } };
    let before = patients
        .find_one_and_update(doc! { "ssn": "number 1" }, update)
        .await
        .expect("an update");
    assert_eq!(before, Some(documents[1].clone()));
    let models = [
        WriteModel::insert_one(&doc! { "_id": 10, "ssn": "ten" }),
        WriteModel::update_one(doc! { "ssn": "ten" }, doc! { "$set": { "note": "new" } }),
        WriteModel::replace_one(doc! { "ssn": "number 2" }, &doc! { "ssn": "replaced" }),
        WriteModel::delete_one(doc! { "ssn": "number 3" }),
    ];
    let result = patients.bulk_write(models).await.expect("a bulk write");
    assert_eq!(
        (result.inserted_count, result.modified_count, result.deleted_count),
        (1, 2, 1)
    );
    let values: Vec<Bson> = patients.distinct("ssn", doc! {}).await.expect("values");
    assert!(
        values.contains(&Bson::from("ten")) && values.contains(&Bson::from("replaced")),
        "{values:?}"
    );
    let mut stored = automatic.stored().find(doc! {}).await.expect("a cursor");
    while let Some(document) = stored.try_next().await.expect("a document") {
        assert!(is_encrypted(document.get("ssn")), "{document}");
    }
}

/// Prose test 4: commands are split at 2 MiB before the encryption; a larger document is sent alone.
pub(crate) async fn client_side_encryption_prose_4_batches_are_split_at_2_mib() {
    let automatic = Automatic::new().await;
    let (client, sent) = automatic.client("");
    let patients = patients(&client);
    patients
        .insert_one(&doc! { "ssn": "warm up" })
        .await
        .expect("an insert");
    for (sizes, commands) in [
        (vec![900_000, 900_000], 1),
        (vec![1_500_000, 1_500_000], 2),
        (vec![3_000_000], 1),
    ] {
        take(&sent);
        let documents: Vec<Document> = sizes
            .iter()
            .map(|size| doc! { "text": "a".repeat(*size), "ssn": "x" })
            .collect();
        patients.insert_many(&documents).await.expect("inserts");
        let inserts = take(&sent).iter().filter(|(name, _)| name == "insert").count();
        assert_eq!(inserts, commands, "{sizes:?}");
    }
}

/// Prose test 3, and `bypassAutoEncryption`: commands are sent as they are, replies are decrypted.
pub(crate) async fn client_side_encryption_prose_3_values_are_decrypted_without_automatic_encryption() {
    let automatic = Automatic::new().await;
    let (client, _sent) = automatic.client("");
    patients(&client)
        .insert_one(&doc! { "_id": 1, "ssn": "x" })
        .await
        .expect("an insert");
    // The key vault is that of another client.
    let other = Client::connect(automatic.setup.deployment.server.uri())
        .await
        .expect("a client");
    let encryption = automatic
        .encryption()
        .bypass_auto_encryption(true)
        .key_vault_client(other);
    let (bypassing, sent) = automatic.client_with("", encryption);
    patients(&bypassing)
        .insert_one(&doc! { "_id": 2, "ssn": "plain" })
        .await
        .expect("an insert");
    let found = patients(&bypassing)
        .find_one(doc! { "_id": 1 })
        .await
        .expect("a find")
        .expect("a document");
    assert_eq!(found.get_str("ssn").expect("a text"), "x");
    let stored = automatic
        .stored()
        .find_one(doc! { "_id": 2 })
        .await
        .expect("a find")
        .expect("a document");
    assert_eq!(stored.get_str("ssn").expect("a text"), "plain");
    let names: Vec<String> = take(&sent).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["insert", "find"], "the keys are read by the other client");
}

pub(crate) async fn transactions_are_encrypted() {
    let setup = Setup::on(replica_set().await).await;
    let automatic = Automatic::on(setup).await;
    let (client, _sent) = automatic.client("");
    let patients = patients(&client);
    patients
        .insert_one(&doc! { "_id": 0, "ssn": "zero" })
        .await
        .expect("an insert");
    let mut session = client.start_session().await.expect("a session");
    session.start_transaction().await.expect("a transaction");
    let error = patients
        .find_one(doc! { "note": "x" })
        .session(&mut session)
        .await;
    assert!(error.is_err(), "before the transaction has begun on the server");
    patients
        .insert_one(&doc! { "_id": 1, "ssn": "one" })
        .session(&mut session)
        .await
        .expect("an insert");
    let found = patients
        .find_one(doc! { "ssn": "one" })
        .session(&mut session)
        .await
        .expect("a find");
    assert!(found.is_some());
    session.commit_transaction().await.expect("a commit");
    let stored = automatic
        .stored()
        .find_one(doc! { "_id": 1 })
        .await
        .expect("a find")
        .expect("a document");
    assert!(is_encrypted(stored.get("ssn")), "{stored}");
}

pub(crate) async fn encrypted_collections_are_created() {
    let setup = Setup::on(replica_set().await).await;
    let encryption = setup.encryption();
    let database = setup.client().database("hospital");
    let fields = doc! { "fields": [
        { "path": "ssn", "bsonType": "string", "keyId": Bson::Null, "queries": { "queryType": "equality" } },
        { "path": "name", "bsonType": "string", "keyId": Bson::Null },
    ] };
    let (collection, fields) = encryption
        .create_encrypted_collection(&database, "patients", fields, "local")
        .await
        .expect("a collection");
    let ids: Vec<&Bson> = fields
        .get_array("fields")
        .expect("fields")
        .iter()
        .filter_map(|field| field.as_document()?.get("keyId"))
        .collect();
    assert!(
        ids.iter()
            .all(|id| matches!(id, Bson::Binary(id) if id.subtype == BinarySubtype::Uuid)),
        "{ids:?}"
    );
    assert_eq!(
        encryption
            .get_keys()
            .await
            .expect("keys")
            .try_collect()
            .await
            .expect("keys")
            .len(),
        2
    );
    let mut names = database.list_collection_names().await.expect("names");
    names.sort();
    assert_eq!(
        names,
        ["enxcol_.patients.ecoc", "enxcol_.patients.esc", "patients"]
    );
    assert!(
        collection
            .list_index_names()
            .await
            .expect("names")
            .contains(&"__safeContent___1".to_owned())
    );
    collection.drop().encrypted_fields(&fields).await.expect("a drop");
    assert!(database.list_collection_names().await.expect("names").is_empty());
}

/// The internal client, which reads schemas and keys, uses the tokens of the client.
pub(crate) async fn a_callback_of_oidc_is_called_once_for_both_clients() {
    let builder = TestServer::builder()
        .auth("root", "hunter2")
        .parameter("scramIterationCount", 4096)
        .parameter("scramSHA256IterationCount", 4096)
        .oidc_token("token", "ada");
    let server = builder.start().await.expect("a server");
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let callback = OidcCallback::new(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        async { Ok(OidcCredential::new("token")) }
    });
    let uri = server.uri();
    let hosts = uri.split_once('@').expect("a user").1.to_owned();
    let automatic = Automatic::on(Setup::on(Deployment::of(server, "").await).await).await;
    let mut options = ClientOptions::parse(&format!("mongodb://{hosts}")).expect("a connection string");
    options.credential = Some(Credential::default().with_oidc_callback(callback));
    let (client, _sent) = recorded(options, automatic.encryption());
    let patients = patients(&client);
    let documents = [1, 2, 3].map(|id| doc! { "_id": id, "ssn": "457-55-5462" });
    let inserts = documents
        .iter()
        .map(|document| patients.insert_one(document).into_future());
    for inserted in futures_util::future::join_all(inserts).await {
        inserted.expect("an insert");
    }
    let others = client.database("hospital").collection::<Document>("others");
    others
        .insert_one(&doc! {})
        .await
        .expect("an insert after a schema was read");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

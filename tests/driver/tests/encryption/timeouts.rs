//! `timeoutMS` and in-use encryption (Client Side Operations Timeout). The times are longer than in the specification, so that
//! only the delayed command can exceed the limit.

use std::time::Duration;

use marula_driver::{
    Client, Error, ErrorKind,
    bson::{Binary, BinarySubtype, Document, Uuid, doc},
    encryption::{
        AutoEncryptionOptions, AwsCredentialProvider, ClientEncryption, ClientEncryptionOptions,
        EncryptionAlgorithm, KmsConnect, KmsProviders,
    },
};
use marula_driver_tests::{Answer, RecordedClient, ScriptedServer, recorded, standalone, timeouts};
use tokio::io::DuplexStream;

use super::{
    automatic::local,
    support::{NAMESPACE, Setup, master_key, providers},
};

/// `timeoutMS` of the client of the key vault.
const TIMEOUT: &str = "timeoutMS=1500";
/// The time limit of single operations.
const LIMIT: Duration = Duration::from_millis(1_500);
/// How long the server delays a command that must time out.
const BLOCKED: Duration = Duration::from_secs(20);

/// A client of a key vault, whose commands are recorded.
async fn key_vault() -> RecordedClient {
    let tested = recorded(standalone().await, TIMEOUT);
    // Connects.
    let admin = tested.client.database("admin");
    admin.run_command(doc! { "ping": 1 }).await.expect("a connection");
    tested
}

fn encryption_of(client: &Client) -> ClientEncryption {
    let options = ClientEncryptionOptions::new("keyvault.datakeys", local());
    ClientEncryption::new(client, options).expect("options")
}

async fn block(client: &Client, command: &str) {
    let millis = i32::try_from(BLOCKED.as_millis()).expect("an int32");
    timeouts::block(client, &[command], 1, millis, "").await;
}

/// Runs an operation that must end by its time limit, before what delays it.
async fn times_out<T>(running: impl Future<Output = Result<T, Error>>) -> Error {
    timeouts::times_out(running, BLOCKED).await
}

/// The last command is on the collection of the data keys.
fn last_is(tested: &RecordedClient, name: &str) -> bool {
    let commands = tested.commands.commands();
    let last = commands.last().expect("a command");
    [(name, "datakeys"), ("$db", "keyvault")]
        .iter()
        .all(|(key, value)| last.get_str(key).is_ok_and(|found| found == *value))
}

async fn encrypt(encryption: &ClientEncryption, key: Uuid) -> Result<Binary, Error> {
    encryption
        .encrypt("hello", key, EncryptionAlgorithm::Deterministic)
        .await
}

pub(crate) async fn client_side_operations_timeout_prose_3a() {
    let tested = key_vault().await;
    block(&tested.deployment.client, "insert").await;
    times_out(
        encryption_of(&tested.client)
            .create_data_key("local")
            .into_future(),
    )
    .await;
    assert!(last_is(&tested, "insert"));
}

pub(crate) async fn client_side_operations_timeout_prose_3b() {
    let tested = key_vault().await;
    let encryption = encryption_of(&tested.client);
    let key = encryption.create_data_key("local").await.expect("a key");
    block(&tested.deployment.client, "find").await;
    times_out(encrypt(&encryption, key)).await;
    assert!(last_is(&tested, "find"));
}

pub(crate) async fn client_side_operations_timeout_prose_3c() {
    let tested = key_vault().await;
    let encryption = encryption_of(&tested.client);
    let key = encryption.create_data_key("local").await.expect("a key");
    let secret = encrypt(&encryption, key).await.expect("a ciphertext");
    assert_eq!(secret.subtype, BinarySubtype::Encrypted);
    // The cache of the other one has no keys.
    let encryption = encryption_of(&tested.client);
    block(&tested.deployment.client, "find").await;
    times_out(encryption.decrypt(&secret).into_future()).await;
    assert!(last_is(&tested, "find"));
}

/// A key management service that accepts connections and does not answer.
fn silent_service() -> KmsConnect {
    KmsConnect::new(|_, _, _| async {
        let (stream, other): (DuplexStream, DuplexStream) = tokio::io::duplex(1 << 16);
        // Kept open.
        std::mem::forget(other);
        Ok(stream)
    })
}

/// A client that encrypts `ssn` with the key, with `mongocryptd` at that address.
fn encrypting(setup: &Setup, key: Uuid, mongocryptd: String) -> Client {
    let algorithm = "AEAD_AES_256_CBC_HMAC_SHA_512-Random";
    let field = doc! { "encrypt": { "keyId": [key], "bsonType": "string", "algorithm": algorithm } };
    let schema = doc! { "bsonType": "object", "properties": { "ssn": field } };
    let options = AutoEncryptionOptions::new(NAMESPACE, providers())
        .schema("hospital.patients", schema)
        .kms_tls("aws", setup.kms.tls())
        .kms_connect(silent_service())
        .extra_options(doc! { "mongocryptdURI": mongocryptd, "mongocryptdBypassSpawn": true });
    let client = marula_driver::options::ClientOptions::parse(&setup.deployment.server.uri()).expect("a URI");
    Client::with_auto_encryption(client, options).expect("a client")
}

async fn insert(client: &Client) -> Error {
    // Connects.
    let admin = client.database("admin");
    admin.run_command(doc! { "ping": 1 }).await.expect("a reply");
    let patients = client.database("hospital").collection::<Document>("patients");
    let patient = doc! { "ssn": "457-55-5462" };
    let error = times_out(patients.insert_one(&patient).timeout(LIMIT).into_future()).await;
    assert!(!format!("{error:#} {error:?}").contains("457-55"), "{error:?}");
    error
}

/// The time limit of an operation limits its requests to key management services.
pub(crate) async fn client_side_operations_timeout_prose_unit_6() {
    let setup = Setup::new().await;
    let analysis = marula_driver_tests::QueryAnalysis::start().await;
    let create = setup.encryption();
    let master_key = master_key("aws").expect("a master key");
    let key = create.create_data_key("aws").master_key(master_key).await;
    let client = encrypting(&setup, key.expect("a key"), analysis.uri());
    let error = insert(&client).await;
    assert!(
        format!("{error:#}").contains("kms.us-east-1.amazonaws.com"),
        "{error:#}"
    );
    let stored = setup
        .client()
        .database("hospital")
        .collection::<Document>("patients");
    assert_eq!(stored.count_documents(doc! {}).await.expect("a count"), 0);
}

/// The time limit of an operation limits the commands that are sent to `mongocryptd`.
pub(crate) async fn client_side_operations_timeout_prose_unit_7() {
    let setup = Setup::new().await;
    let key = setup.encryption().create_data_key("local").await.expect("a key");
    let mongocryptd = ScriptedServer::start(doc! { "iscryptd": true }, |request| match request.name() {
        "insert" => Answer::Silence,
        _ => Answer::Success,
    })
    .await;
    let client = encrypting(&setup, key, mongocryptd.uri(""));
    insert(&client).await;
    // The limit is not sent to mongocryptd, which may be older than `maxTimeMS` on all commands.
    let sent = mongocryptd.wait_for("insert", 1).await;
    assert!(!sent[0].command.contains_key("maxTimeMS"), "{:?}", sent[0]);
}

/// The time limit of an operation limits the source of its credentials.
pub(crate) async fn a_source_of_credentials_is_limited_by_the_time_limit() {
    let setup = Setup::new().await;
    let analysis = marula_driver_tests::QueryAnalysis::start().await;
    let master_key = master_key("aws").expect("a master key");
    let create = setup.encryption();
    let key = create.create_data_key("aws").master_key(master_key).await;
    let field = doc! { "encrypt": {
        "keyId": [key.expect("a key")], "bsonType": "string", "algorithm": "AEAD_AES_256_CBC_HMAC_SHA_512-Random",
    } };
    let schema = doc! { "bsonType": "object", "properties": { "ssn": field } };
    let extra = doc! { "mongocryptdURI": analysis.uri(), "mongocryptdBypassSpawn": true };
    let options = AutoEncryptionOptions::new(NAMESPACE, KmsProviders::new().with("aws", doc! {}))
        .schema("hospital.patients", schema)
        .aws_credentials(AwsCredentialProvider::new(std::future::pending))
        .extra_options(extra);
    let uri = setup.deployment.server.uri();
    let client = marula_driver::options::ClientOptions::parse(&uri).expect("a URI");
    let client = Client::with_auto_encryption(client, options).expect("a client");
    let error = insert(&client).await;
    assert!(matches!(error.kind(), ErrorKind::Timeout(_)), "{error:?}");
    assert!(
        format!("{error:#}").contains("provider of the application"),
        "{error:#}"
    );
}

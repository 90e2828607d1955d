//! No value that is to be encrypted is sent to the server, logged, or part of an event, a span or an error.

use std::{net::SocketAddr, time::Duration};

use marula_driver::{
    Client, Collection, Error, IndexModel, Result, WriteModel,
    bson::{Binary, Bson, Document, Uuid, doc},
    encryption::{
        AutoEncryptionOptions, ClientEncryption, ClientEncryptionOptions, EncryptionAlgorithm, RangeOptions,
    },
    options::ClientOptions,
};
use marula_driver_tests::{
    ByteRecorder, CommandRecorder, Deployment, Messages, QueryAnalysis, SpanRecorder, crypt_shared,
};
use marula_test_server::TestServer;
use tracing::Level;

use super::{
    automatic::local,
    marks::{Mark, check, found_in},
    support::{NAMESPACE, Setup},
};

const SSN: &str = "zq-ssn-457-55-5462-WMQ";
const NOTE: &str = "zq-note-allergic-to-nuts-WMQ";
const NAME: &str = "zq-name-Ada-Lovelace-WMQ";
const ACCOUNT: i64 = 7_182_818_284_590_452;
const BALANCE: i64 = 3_141_592_653_589_793;
/// The largest balance.
const MOST: i64 = 10_000_000_000_000_000;

/// What a session leaves behind: the texts of its errors and of the values that it has used.
#[derive(Default)]
struct Texts(Vec<String>);

impl Texts {
    /// The error must occur.
    fn expect_error<T>(&mut self, what: &str, result: Result<T>) -> Error {
        let Err(error) = result else {
            panic!("{what} succeeded");
        };
        self.0.extend([
            format!("{what}: {error}"),
            format!("{what}: {error:#}"),
            format!("{what}: {error:?}"),
            format!("{what}: {error:#?}"),
        ]);
        error
    }
}

fn field(key: Uuid, bson_type: &str, algorithm: &str) -> Document {
    let algorithm = format!("AEAD_AES_256_CBC_HMAC_SHA_512-{algorithm}");
    doc! { "encrypt": { "keyId": [key], "bsonType": bson_type, "algorithm": algorithm } }
}

fn schema(key: Uuid) -> Document {
    doc! { "bsonType": "object", "properties": {
        "ssn": field(key, "string", "Deterministic"),
        "account": field(key, "long", "Deterministic"),
        "note": field(key, "string", "Random"),
    } }
}

fn encrypted_fields(key: Uuid) -> Document {
    let range = doc! {
        "queryType": "range", "contention": 0_i64, "trimFactor": 6, "sparsity": 2_i64, "min": 0_i64, "max": MOST,
    };
    doc! { "fields": [
        { "path": "name", "bsonType": "string", "keyId": key, "queries": { "queryType": "equality", "contention": 0_i64 } },
        { "path": "balance", "bsonType": "long", "keyId": key, "queries": range },
    ] }
}

fn patient(id: i32) -> Document {
    doc! { "_id": id, "ssn": SSN, "account": ACCOUNT, "note": NOTE, "city": "London" }
}

pub(crate) async fn no_value_leaves_the_client_unencrypted() {
    check();
    let server = TestServer::builder().replica_set().version("8.2.0").start();
    let deployment = Deployment::of(server.await.expect("the set starts"), "").await;
    let primary = deployment.server.primary().expect("a primary");
    let setup = Setup::on(deployment).await;
    let key = setup.encryption().create_data_key("local").await.expect("a key");
    let database = setup.client().database("db");
    database
        .create_collection("accounts")
        .encrypted_fields(encrypted_fields(key))
        .await
        .expect("a collection");
    let unique = database.collection::<Document>("unique");
    let index = IndexModel::new(doc! { "ssn": 1 }).unique(true);
    unique.create_index(index).await.expect("an index");

    let (messages, _guard) = Messages::listen(Level::TRACE);
    let wire = ByteRecorder::start(primary).await;
    let analysis = QueryAnalysis::start().await;
    let analyzed = analysis.uri().trim_start_matches("mongodb://").parse();
    let analysis_wire = ByteRecorder::start(analyzed.expect("an address")).await;
    let (events, spans) = (CommandRecorder::default(), SpanRecorder::default());
    let mut options = options_at(wire.address());
    events.listen(&mut options);
    spans.observe(&mut options);
    options.tracing.query_text_max_length = Some(1 << 20);
    options.max_log_document_length = Some(1 << 20);
    let extra_options = if crypt_shared::is_used() {
        crypt_shared::extra_options()
    } else {
        let mongocryptd = format!("mongodb://{}", analysis_wire.address());
        doc! { "mongocryptdURI": mongocryptd, "mongocryptdBypassSpawn": true }
    };
    let encryption = AutoEncryptionOptions::new(NAMESPACE, local())
        .schema("db.patients", schema(key))
        .schema("db.unique", schema(key))
        .encrypted_fields("db.accounts", encrypted_fields(key))
        .extra_options(extra_options);
    let mut texts = Texts(vec![format!("{encryption:?}")]);
    let client = Client::with_auto_encryption(options, encryption).expect("a client");
    texts.0.push(format!("{client:?}"));

    let patients = client.database("db").collection::<Document>("patients");
    let accounts = client.database("db").collection::<Document>("accounts");
    fields(&patients).await;
    queryable(&accounts).await;
    bulk_writes(&client, &patients, &accounts).await;
    transaction(&client, &patients).await;
    errors(&client, setup.client(), &mut texts).await;
    let malformed = explicit(&client, key, &mut texts).await;
    let stored = database.collection::<Document>("patients");
    let document = doc! { "_id": 99, "ssn": malformed, "note": 1 };
    stored.insert_one(&document).await.expect("an insert");
    let result = patients.find_one(doc! { "_id": 99 }).await;
    texts.expect_error("a malformed value", result);
    // Reads everything back, and shows the cursor.
    let mut all = patients
        .find(doc! { "_id": { "$lt": 99 } })
        .await
        .expect("a cursor");
    let first = all.try_next().await.expect("a document").expect("a document");
    assert_eq!(first.get_str("ssn").expect("a text"), SSN);
    texts.0.push(format!("{all:?} {patients:?}"));
    drop(all);
    client.clone().shutdown().await;
    texts.expect_error("after the shutdown", patients.insert_one(&patient(100)).await);

    let marks = [
        Mark::text(SSN),
        Mark::text(NOTE),
        Mark::text(NAME),
        Mark::number(ACCOUNT),
        Mark::number(BALANCE),
    ];
    // mongocryptd receives all of them: the marks can be found. The library has no connection.
    let analyzed = analysis_wire.recorded().concat();
    for mark in &marks {
        assert!(
            found_in(std::slice::from_ref(mark), mark.raw()).len() == 1,
            "{mark:?}"
        );
    }
    if crypt_shared::is_used() {
        assert!(analyzed.is_empty());
    } else {
        assert_eq!(found_in(&marks, &analyzed).len(), marks.len());
    }
    let none = |what: &str, bytes: &[u8]| {
        let found = found_in(&marks, bytes);
        assert!(
            found.is_empty(),
            "{found:?} in {what}: {}",
            String::from_utf8_lossy(bytes)
        );
    };
    let bytes = wire.recorded();
    assert!(bytes.iter().map(Vec::len).sum::<usize>() > 10_000);
    for direction in bytes {
        none("bytes of the server", &direction);
    }
    let events = events.take();
    assert!(events.len() > 50, "{}", events.len());
    for event in &events {
        none("an event", format!("{event:?}").as_bytes());
    }
    for bytes in events.iter().filter_map(document_of) {
        none("the document of an event", bytes);
    }
    let spans = spans.spans();
    assert!(spans.len() > 20, "{}", spans.len());
    for span in spans {
        none("a span", format!("{span:?}").as_bytes());
    }
    let messages = messages.take();
    assert!(
        messages
            .iter()
            .any(|message| message.target == "marula_driver::command")
    );
    for message in messages {
        none("a log message", format!("{message:?}").as_bytes());
    }
    for text in texts.0 {
        none("a text", text.as_bytes());
    }
}

fn options_at(address: SocketAddr) -> ClientOptions {
    let uri = format!("mongodb://{address}/?directConnection=true&serverMonitoringMode=poll");
    ClientOptions::parse(&uri).expect("a connection string")
}

/// The bytes of the command or the reply.
fn document_of(event: &marula_driver::event::CommandEvent) -> Option<&[u8]> {
    match event {
        marula_driver::event::CommandEvent::Started(event) => Some(event.command.as_bytes()),
        marula_driver::event::CommandEvent::Succeeded(event) => Some(event.reply.as_bytes()),
        marula_driver::event::CommandEvent::Failed(event) => event
            .failure
            .server_response()
            .map(marula_driver::bson::RawDocument::as_bytes),
        _ => None,
    }
}

/// Client-side field level encryption.
async fn fields(patients: &Collection<Document>) {
    patients.insert_one(&patient(1)).await.expect("an insert");
    patients
        .insert_many(&[patient(2), patient(3)])
        .await
        .expect("inserts");
    let found = patients
        .find_one(doc! { "ssn": SSN, "_id": 1 })
        .await
        .expect("a find");
    assert_eq!(found, Some(patient(1)));
    let found = patients
        .find(doc! { "account": { "$in": [ACCOUNT] } })
        .batch_size(1)
        .await;
    let found = found.expect("a cursor").try_collect().await.expect("documents");
    assert_eq!(found.len(), 3);
    let update = doc! { "$set": { "note": NOTE, "account": ACCOUNT } };
    patients
        .update_one(doc! { "ssn": SSN }, update.clone())
        .await
        .expect("an update");
    patients
        .update_many(doc! { "ssn": SSN }, update.clone())
        .await
        .expect("an update");
    let before = patients.find_one_and_update(doc! { "_id": 1 }, update).await;
    assert_eq!(before.expect("an update"), Some(patient(1)));
    patients
        .replace_one(doc! { "_id": 2 }, &patient(2))
        .await
        .expect("a replacement");
    let pipeline = [doc! { "$match": { "ssn": SSN } }];
    let found = patients.aggregate(pipeline).await.expect("a cursor");
    assert_eq!(found.try_collect().await.expect("documents").len(), 3);
    assert_eq!(
        patients
            .count_documents(doc! { "ssn": SSN })
            .await
            .expect("a count"),
        3
    );
    let values: Vec<Bson> = patients.distinct("ssn", doc! {}).await.expect("values");
    assert_eq!(values, [Bson::from(SSN)]);
    patients
        .delete_one(doc! { "ssn": SSN, "_id": 3 })
        .await
        .expect("a delete");
}

/// Queryable Encryption.
async fn queryable(accounts: &Collection<Document>) {
    for id in 1..=3 {
        let document = doc! { "_id": id, "name": NAME, "balance": BALANCE };
        accounts.insert_one(&document).await.expect("an insert");
    }
    let filter = || doc! { "name": NAME, "_id": 1 };
    let found = accounts
        .find_one(filter())
        .await
        .expect("a find")
        .expect("a document");
    assert_eq!(found.get_str("name").expect("a name"), NAME);
    assert_eq!(found.get_i64("balance").expect("a balance"), BALANCE);
    let range = doc! { "balance": { "$gte": BALANCE, "$lte": BALANCE } };
    let found = accounts.find(range).await.expect("a cursor");
    assert_eq!(found.try_collect().await.expect("documents").len(), 3);
    let update = doc! { "$set": { "balance": BALANCE } };
    accounts.update_one(filter(), update).await.expect("an update");
    let pipeline = [doc! { "$match": { "name": NAME } }];
    let found = accounts.aggregate(pipeline).await.expect("a cursor");
    assert_eq!(found.try_collect().await.expect("documents").len(), 3);
    accounts
        .delete_one(doc! { "name": NAME, "_id": 3 })
        .await
        .expect("a delete");
}

async fn bulk_writes(client: &Client, patients: &Collection<Document>, accounts: &Collection<Document>) {
    let models = [
        WriteModel::insert_one(&patient(10)),
        WriteModel::update_one(doc! { "ssn": SSN, "_id": 10 }, doc! { "$set": { "note": NOTE } }),
        WriteModel::replace_one(doc! { "_id": 10 }, &patient(10)),
        WriteModel::delete_one(doc! { "ssn": SSN, "_id": 10 }),
    ];
    patients.bulk_write(models).await.expect("a bulk write");
    let documents = [10, 11].map(|id| doc! { "_id": id, "name": NAME, "balance": BALANCE });
    let models = documents
        .iter()
        .map(|document| accounts.insert_one_model(document));
    client.bulk_write(models).await.expect("a bulk write");
}

async fn transaction(client: &Client, patients: &Collection<Document>) {
    let mut session = client.start_session().await.expect("a session");
    session.start_transaction().await.expect("a transaction");
    let document = patient(20);
    patients
        .insert_one(&document)
        .session(&mut session)
        .await
        .expect("an insert");
    let found = patients
        .find_one(doc! { "ssn": SSN, "_id": 20 })
        .session(&mut session)
        .await;
    assert_eq!(found.expect("a find"), Some(patient(20)));
    session.commit_transaction().await.expect("a commit");
}

/// Provokes errors of the application, the analysis, libmongocrypt, the driver and the server.
async fn errors(client: &Client, plain: &Client, texts: &mut Texts) {
    let database = client.database("db");
    let patients = database.collection::<Document>("patients");
    let accounts = database.collection::<Document>("accounts");
    let unique = database.collection::<Document>("unique");
    let result = patients.find_one(doc! { "note": NOTE }).await;
    texts.expect_error("a query of a randomized field", result);
    let result = patients
        .update_one(doc! { "_id": 1 }, doc! { "$inc": { "account": ACCOUNT } })
        .await;
    texts.expect_error("an update operator", result);
    let result = patients.insert_one(&doc! { "ssn": [SSN, NOTE] }).await;
    texts.expect_error("an array", result);
    for document in [
        doc! { "ssn": ACCOUNT },
        doc! { "account": SSN },
        doc! { "note": ACCOUNT },
    ] {
        texts.expect_error("a wrong type", patients.insert_one(&document).await);
    }
    let filter = doc! { "balance": { "$gt": NAME } };
    texts.expect_error("a wrong type", accounts.find_one(filter).await);
    let document = doc! { "balance": MOST + BALANCE };
    texts.expect_error("a value that is too large", accounts.insert_one(&document).await);
    let command = doc! { "logRotate": SSN, "comment": NOTE };
    texts.expect_error("an unsupported command", database.run_command(command).await);
    unique.insert_one(&patient(1)).await.expect("an insert");
    texts.expect_error("a duplicate", unique.insert_one(&patient(2)).await);
    texts.expect_error(
        "duplicates",
        unique.insert_many(&[patient(3), patient(4)]).ordered(false).await,
    );
    let model = [WriteModel::insert_one(&patient(5))];
    texts.expect_error("a duplicate", unique.bulk_write(model).await);
    let update = doc! { "$set": { "ssn": SSN } };
    let other = doc! { "_id": 6, "ssn": "other" };
    unique.insert_one(&other).await.expect("an insert");
    let result = unique.find_one_and_update(doc! { "_id": 6 }, update).await;
    texts.expect_error("a duplicate", result);
    #[derive(serde::Deserialize)]
    struct Numbers {
        #[serde(rename = "ssn")]
        _ssn: i32,
    }
    let typed = patients.clone_with_type::<Numbers>();
    texts.expect_error("another type", typed.find_one(doc! { "_id": 1 }).await.map(drop));
    let found = typed.find(doc! {}).await.expect("a cursor");
    texts.expect_error("another type", found.try_collect().await.map(drop));
    let late = Duration::from_nanos(1);
    let document = patient(30);
    texts.expect_error("a time limit", patients.insert_one(&document).timeout(late).await);
    // The driver retries after a network error.
    for (times, data) in [
        (1, doc! { "failCommands": ["insert"], "errorCode": 2 }),
        (2, doc! { "failCommands": ["insert"], "closeConnection": true }),
        (
            1,
            doc! { "failCommands": ["insert"], "writeConcernError": { "code": 64, "errmsg": "waiting" } },
        ),
    ] {
        let point = doc! { "configureFailPoint": "failCommand", "mode": { "times": times }, "data": data };
        let admin = plain.database("admin");
        admin.run_command(point).await.expect("a fail point");
        texts.expect_error("a fail point", patients.insert_one(&document).await);
    }
}

/// Explicit encryption through a client without automatic encryption. Returns a value that cannot be decrypted.
async fn explicit(client: &Client, key: Uuid, texts: &mut Texts) -> Binary {
    let options = ClientEncryptionOptions::new(NAMESPACE, local());
    let encryption = ClientEncryption::new(client, options).expect("options");
    let encrypting = encryption.encrypt(SSN, key, EncryptionAlgorithm::Deterministic);
    texts.0.push(format!("{encrypting:?}"));
    let mut value = encrypting.await.expect("a value");
    assert_eq!(
        encryption.decrypt(&value).await.expect("a value"),
        Bson::from(SSN)
    );
    let result = encryption
        .encrypt(SSN, "no key", EncryptionAlgorithm::Random)
        .await;
    texts.expect_error("no key", result);
    let document = doc! { "name": NAME };
    let result = encryption
        .encrypt(&document, key, EncryptionAlgorithm::Deterministic)
        .await;
    texts.expect_error("a document", result);
    let range = || RangeOptions::new(0_i64, MOST).trim_factor(6).sparsity(2);
    let expression = doc! { "$and": [{ "balance": { "$gt": BALANCE } }, { "balance": { "$lt": MOST } }] };
    let encrypting = encryption.encrypt_expression(expression, key, range());
    texts.0.push(format!("{encrypting:?}"));
    encrypting.contention_factor(0).await.expect("an expression");
    let algorithm = EncryptionAlgorithm::Range(RangeOptions::new(ACCOUNT, BALANCE));
    texts.0.push(format!("{algorithm:?}"));
    // The bounds are part of `encryptedFields`, which the server stores as they are.
    let algorithm = EncryptionAlgorithm::Range(RangeOptions::new(MOST, 0_i64));
    let result = encryption
        .encrypt(&BALANCE, key, algorithm)
        .contention_factor(0)
        .await;
    texts.expect_error("bounds", result);
    let small = RangeOptions::new(0_i64, 10_i64).trim_factor(1).sparsity(2);
    let result = encryption.encrypt(&BALANCE, key, EncryptionAlgorithm::Range(small));
    texts.expect_error("a value that is too large", result.contention_factor(0).await);
    for (what, operators) in [
        ("an empty range", doc! { "$gt": BALANCE, "$lt": BALANCE - 1 }),
        ("a bound that is too large", doc! { "$gt": MOST + BALANCE }),
        ("two lower bounds", doc! { "$gt": BALANCE, "$gte": BALANCE }),
        ("an unknown operator", doc! { "$mod": BALANCE }),
    ] {
        let operands: Vec<Document> = operators
            .into_iter()
            .map(|(operator, value)| doc! { "balance": { operator: value } })
            .collect();
        let result = encryption.encrypt_expression(doc! { "$and": operands }, key, range());
        texts.expect_error(what, result.contention_factor(0).await);
    }
    let operands = vec![doc! { "$gt": ["$balance", BALANCE, BALANCE] }];
    let result = encryption.encrypt_expression(doc! { "$and": operands }, key, range());
    texts.expect_error("three operands", result.contention_factor(0).await);
    let operands = vec![
        doc! { "balance": { "$gt": BALANCE } },
        doc! { "other": { "$lt": BALANCE } },
    ];
    let result = encryption.encrypt_expression(doc! { "$and": operands }, key, range());
    texts.expect_error("two fields", result.contention_factor(0).await);
    #[derive(Debug)]
    struct Failing;
    impl serde::Serialize for Failing {
        fn serialize<S: serde::Serializer>(&self, _: S) -> std::result::Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("the value cannot be serialized"))
        }
    }
    let result = encryption
        .encrypt(&Failing, key, EncryptionAlgorithm::Random)
        .await;
    texts.expect_error("a value that cannot be serialized", result);
    *value.bytes.last_mut().expect("bytes") ^= 1;
    texts.expect_error("a malformed value", encryption.decrypt(&value).await);
    value
}

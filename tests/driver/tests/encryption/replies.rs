//! Replies that cannot be decrypted: the command was performed, and what else the reply says is not lost.

use std::{sync::Arc, time::Duration};

use marula_driver::{
    Client, Collection, EncryptionError, Error, ErrorKind, IndexModel,
    bson::{Binary, Bson, Document, doc},
    encryption::{AutoEncryptionOptions, EncryptionAlgorithm, KmsConnect},
    options::ClientOptions,
};
use marula_driver_tests::{Deployment, Proxy, proxy::Action, replica_set};
use marula_test_server::TestServer;
use tokio::{io::DuplexStream, sync::Notify};

use super::{
    automatic::{Automatic, local, patients, take},
    support::{NAMESPACE, Setup, master_key, providers},
};

/// A value whose authentication fails.
async fn malformed(automatic: &Automatic) -> Binary {
    let encryption = automatic.setup.encryption();
    let mut value = encryption
        .encrypt("hello", automatic.key, EncryptionAlgorithm::Deterministic)
        .await
        .expect("a value");
    *value.bytes.last_mut().expect("bytes") ^= 1;
    value
}

/// Stores documents with a value that cannot be decrypted, with the identifiers 0, 1, ….
async fn store(automatic: &Automatic, count: i32) {
    let value = malformed(automatic).await;
    let documents: Vec<Document> = (0..count)
        .map(|id| doc! { "_id": id, "ssn": value.clone() })
        .collect();
    let stored = automatic.stored();
    stored.insert_many(&documents).await.expect("inserts");
}

/// The cause of the error of a command that was performed.
fn cause_of(error: &Error) -> &Error {
    let ErrorKind::Encryption(EncryptionError::Reply(cause)) = error.kind() else {
        panic!("{error:?}");
    };
    assert!(error.to_string().contains("performed the command"), "{error}");
    cause
}

pub(crate) async fn a_reply_that_cannot_be_decrypted_has_times() {
    let automatic = Automatic::on(Setup::on(replica_set().await).await).await;
    store(&automatic, 1).await;
    let (client, _sent) = automatic.client("");
    let mut session = client.start_session().await.expect("a session");
    let patients = patients(&client);
    let found = patients.find_one(doc! { "_id": 0 }).session(&mut session);
    let error = found.await.expect_err("a malformed value");
    assert!(cause_of(&error).to_string().contains("HMAC"), "{error:#}");
    assert!(error.address().is_some(), "{error}");
    assert!(session.operation_time().is_some() && session.cluster_time().is_some());
}

pub(crate) async fn a_reply_that_cannot_be_decrypted_has_a_recovery_token() {
    let server = TestServer::builder().sharded().start().await.expect("a cluster");
    let automatic = Automatic::on(Setup::on(Deployment::of(server, "").await).await).await;
    store(&automatic, 1).await;
    let (client, sent) = automatic.client("");
    let mut session = client.start_session().await.expect("a session");
    session.start_transaction().await.expect("a transaction");
    let patients = patients(&client);
    let found = patients.find_one(doc! { "_id": 0 }).session(&mut session);
    let error = found.await.expect_err("a malformed value");
    assert!(error.labels().is_empty(), "{error}");
    session.abort_transaction().await.expect("an abort");
    let sent = take(&sent);
    let (name, abort) = sent.last().expect("commands");
    assert_eq!(name, "abortTransaction");
    assert!(abort.contains_key("recoveryToken"), "{abort}");
}

/// Waits until the server has closed all cursors of the only connection of the client.
async fn no_cursor_is_open(automatic: &Automatic, client: &Client) {
    let server = &automatic.setup.deployment.server;
    server.wait_for_command("killCursors", 1).await;
    // The connection is in use until the reply to killCursors.
    let admin = client.database("admin");
    admin.run_command(doc! { "ping": 1 }).await.expect("a ping");
    assert_eq!(server.open_cursors(), Vec::<i64>::new());
}

pub(crate) async fn the_cursor_of_a_reply_that_cannot_be_decrypted_is_closed() {
    for builder in [
        TestServer::builder().standalone(),
        TestServer::builder().load_balanced(),
    ] {
        let deployment = Deployment::of(builder.start().await.expect("a server"), "").await;
        let automatic = Automatic::on(Setup::on(deployment).await).await;
        store(&automatic, 3).await;
        let (client, _sent) = automatic.client("maxPoolSize=1");
        let found = patients(&client).find(doc! {}).batch_size(1).await;
        cause_of(&found.expect_err("a malformed value"));
        no_cursor_is_open(&automatic, &client).await;
    }
}

pub(crate) async fn the_cursor_of_a_batch_that_cannot_be_decrypted_is_closed() {
    let automatic = Automatic::new().await;
    let (client, _sent) = automatic.client("maxPoolSize=1");
    let document = doc! { "_id": -1, "ssn": "valid" };
    patients(&client).insert_one(&document).await.expect("an insert");
    store(&automatic, 3).await;
    let mut found = patients(&client)
        .find(doc! {})
        .sort(doc! { "_id": 1 })
        .batch_size(1)
        .await
        .expect("a cursor");
    assert_eq!(found.try_next().await.expect("the first batch"), Some(document));
    cause_of(&found.try_next().await.expect_err("a malformed value"));
    assert_eq!(found.try_next().await.expect("the end"), None);
    drop(found);
    no_cursor_is_open(&automatic, &client).await;
}

/// A service that accepts connections and does not answer, and what is notified of each connection.
fn silent_service() -> (KmsConnect, Arc<Notify>) {
    let connected = Arc::new(Notify::new());
    let notified = Arc::clone(&connected);
    let connect = KmsConnect::new(move |_, _, _| {
        let (stream, other): (DuplexStream, DuplexStream) = tokio::io::duplex(1 << 16);
        // Kept open.
        std::mem::forget(other);
        notified.notify_one();
        async { Ok(stream) }
    });
    (connect, connected)
}

pub(crate) async fn the_cursor_of_a_dropped_decryption_is_closed() {
    let automatic = Automatic::new().await;
    let encryption = automatic.setup.encryption();
    let create = encryption.create_data_key("aws");
    let key = create.master_key(master_key("aws").expect("a master key")).await;
    let value = encryption
        .encrypt("hello", key.expect("a key"), EncryptionAlgorithm::Random)
        .await
        .expect("a value");
    let documents = [1, 2, 3].map(|id| doc! { "_id": id, "ssn": value.clone() });
    automatic.stored().insert_many(&documents).await.expect("inserts");
    let (connect, connected) = silent_service();
    let options = AutoEncryptionOptions::new(NAMESPACE, providers())
        .bypass_auto_encryption(true)
        .kms_tls("aws", automatic.setup.kms.tls())
        .kms_connect(connect);
    let (client, sent) = automatic.client_with("maxPoolSize=1", options);
    let patients = patients(&client);
    tokio::select! {
        biased;
        found = patients.find(doc! {}).batch_size(1).into_future() => panic!("{:?}", found.map(drop)),
        () = connected.notified() => {}
    }
    no_cursor_is_open(&automatic, &client).await;
    // The server does not use the session any longer: it returns to the session pool.
    let sent = take(&sent);
    let lsid = |command: &str| {
        let (_, sent) = sent.iter().find(|(name, _)| name == command).expect("a command");
        sent.get_document("lsid").expect("a session")
    };
    assert_eq!(lsid("find"), lsid("ping"));
}

/// Options for a client that only decrypts, and cannot reach the key vault.
fn decrypting_without_vault() -> AutoEncryptionOptions {
    let nowhere = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=50";
    let vault = Client::with_options(ClientOptions::parse(nowhere).expect("a connection string"));
    AutoEncryptionOptions::new(NAMESPACE, local())
        .bypass_auto_encryption(true)
        .key_vault_client(vault.expect("a client"))
}

/// The key vault cannot be reached: that is temporary, but the command was performed.
pub(crate) async fn a_command_that_was_performed_is_not_unavailable() {
    let automatic = Automatic::new().await;
    let (client, _sent) = automatic.client("");
    let document = doc! { "_id": 1, "ssn": "457-55-5462", "visits": 0 };
    patients(&client).insert_one(&document).await.expect("an insert");
    let (client, _sent) = automatic.client_with("", decrypting_without_vault());
    let patients: Collection<Document> = patients(&client);
    let visit = || patients.find_one_and_update(doc! { "_id": 1 }, doc! { "$inc": { "visits": 1 } });
    let error = visit().await.expect_err("no key vault");
    let cause = cause_of(&error);
    assert!(cause.is_unavailable(), "{cause:?}");
    assert!(
        !error.is_unavailable() && !error.is_network() && error.labels().is_empty(),
        "{error:?}"
    );
    let error = visit()
        .timeout(Duration::from_secs(20))
        .await
        .expect_err("no key vault");
    assert!(error.is_timeout() && !error.is_unavailable(), "{error:?}");
    assert!(
        format!("{error:#}").contains("performed the command"),
        "{error:#}"
    );
    let stored = automatic.stored().find_one(doc! {}).await.expect("a find");
    assert_eq!(stored.expect("a document").get("visits"), Some(&Bson::Int32(2)));
}

/// The key vault closes the connection at both attempts to read the key of the first event: for the first batch
/// that contains it, and for the first batch of the resume.
pub(crate) async fn a_change_stream_resumes_if_the_key_of_an_event_cannot_be_read() {
    for failures in [1, 2] {
        let automatic = Automatic::on(Setup::on(replica_set().await).await).await;
        let target = automatic.setup.deployment.server.primary().expect("a primary");
        let proxy = Proxy::start(target).await;
        let uri = proxy.uri("serverMonitoringMode=poll");
        let vault = Client::connect(uri).await.expect("a client");
        let mut refusals = 2 * failures;
        proxy.set_rule(move |exchange| {
            if exchange.command == "find" && refusals > 0 {
                refusals -= 1;
                return Action::DropRequest;
            }
            Action::Pass
        });
        let encryption = AutoEncryptionOptions::new(NAMESPACE, local())
            .bypass_auto_encryption(true)
            .key_vault_client(vault);
        let (client, sent) = automatic.client_with("", encryption);
        let mut stream = patients(&client).watch().await.expect("a change stream");
        let (writer, _sent) = automatic.client("");
        for id in 1..=2 {
            let document = doc! { "_id": id, "ssn": "457-55-5462" };
            patients(&writer).insert_one(&document).await.expect("an insert");
        }
        for id in 1..=2 {
            let event = stream.try_next().await.expect("an event").expect("an event");
            let document = event.full_document.expect("a document");
            assert_eq!(document, doc! { "_id": id, "ssn": "457-55-5462" });
        }
        let sent = take(&sent);
        let aggregates: Vec<_> = sent.iter().filter(|(name, _)| name == "aggregate").collect();
        assert_eq!(aggregates.len(), 1 + failures, "{sent:?}");
        assert_eq!(
            proxy.requests("find"),
            2 * failures + 1,
            "all but one were refused"
        );
    }
}

/// Resuming does not help until the key vault is available, which the application can wait for.
pub(crate) async fn a_change_stream_reports_that_its_keys_cannot_be_read() {
    let automatic = Automatic::on(Setup::on(replica_set().await).await).await;
    let (client, sent) = automatic.client_with("", decrypting_without_vault());
    let mut stream = patients(&client).watch().await.expect("a change stream");
    let (writer, _sent) = automatic.client("");
    let document = doc! { "_id": 1, "ssn": "457-55-5462" };
    patients(&writer).insert_one(&document).await.expect("an insert");
    for round in 0..2 {
        take(&sent);
        let error = stream.try_next().await.expect_err("no key vault");
        assert!(cause_of(&error).is_unavailable(), "{error:?}");
        assert!(stream.is_alive(), "the stream can resume");
        let sent = take(&sent);
        let count = |command: &str| sent.iter().filter(|(name, _)| name == command).count();
        // A resume returns the event in its first batch.
        let get_mores = usize::from(round == 0);
        assert_eq!(
            (count("getMore"), count("aggregate")),
            (get_mores, 6 - get_mores),
            "{sent:?}"
        );
    }
}

/// A unique index on an encrypted field, and three documents of which the last is a duplicate.
async fn duplicates(automatic: &Automatic) -> Vec<Document> {
    let index = IndexModel::new(doc! { "ssn": 1 }).unique(true);
    let stored = automatic.stored();
    stored.create_index(index).await.expect("an index");
    let encryption = automatic.setup.encryption();
    let mut documents = Vec::new();
    for text in ["first", "second", "first"] {
        let value = encryption.encrypt(text, automatic.key, EncryptionAlgorithm::Deterministic);
        documents.push(doc! { "ssn": value.await.expect("a value") });
    }
    documents
}

/// The values of a duplicate key remain encrypted.
pub(crate) async fn the_result_of_a_write_is_not_lost_if_its_reply_cannot_be_decrypted() {
    let automatic = Automatic::new().await;
    let documents = duplicates(&automatic).await;
    let (client, _sent) = automatic.client_with("", decrypting_without_vault());
    let inserted = patients(&client).insert_many(&documents).await;
    let error = inserted.expect_err("a duplicate key");
    assert!(error.is_duplicate_key(), "{error:?}");
    let ErrorKind::BulkWrite(failure) = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!(failure.inserted_ids.len(), 2, "{failure:?}");
    assert_eq!(failure.write_errors[0].index, 2);
}

/// The errors are in the first batch of the results cursor.
pub(crate) async fn the_result_of_a_client_bulk_write_is_not_lost_if_its_reply_cannot_be_decrypted() {
    let automatic = Automatic::new().await;
    let documents = duplicates(&automatic).await;
    let (client, _sent) = automatic.client_with("maxPoolSize=1", decrypting_without_vault());
    let patients = patients(&client);
    let models = documents
        .iter()
        .map(|document| patients.insert_one_model(document));
    let error = client.bulk_write(models).await.expect_err("a duplicate key");
    assert!(error.is_duplicate_key(), "{error:?}");
    let ErrorKind::ClientBulkWrite(failure) = error.kind() else {
        panic!("{error:?}");
    };
    assert!(failure.error.is_none(), "{failure:?}");
    let partial = failure.partial_result.as_ref().expect("a result");
    assert_eq!(partial.inserted_count, 2, "{failure:?}");
    assert_eq!(failure.write_errors[0].index, 2);
    assert_eq!(
        failure.write_errors[0]
            .key_value
            .as_ref()
            .and_then(|key| key.get("ssn")),
        documents[0].get("ssn"),
        "the value remains encrypted"
    );
    assert_eq!(
        automatic.setup.deployment.server.open_cursors(),
        Vec::<i64>::new()
    );
}

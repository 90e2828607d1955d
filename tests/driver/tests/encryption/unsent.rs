//! Commands that were not sent, because their encryption failed or did not end.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use marula_driver::{
    Client, EncryptionError, ErrorKind, WriteModel,
    bson::{Document, doc},
    encryption::AutoEncryptionOptions,
    internals::sessions::pin,
    options::ClientOptions,
};
use marula_driver_tests::{Answer, Counts, Deployment, PoolTally, Request, ScriptedServer, replica_set};
use marula_test_server::TestServer;

use super::{
    automatic::{Automatic, listening, local, patients, recorded, take},
    support::{NAMESPACE, Setup},
};

/// What mongocryptd answers for collections without encrypted fields.
pub(crate) fn unencrypted(request: &Request) -> Answer {
    if request.is_hello() {
        return Answer::Success;
    }
    Answer::Reply(doc! {
        "ok": 1, "hasEncryptionPlaceholders": false, "schemaRequiresEncryption": false,
        "result": request.command.clone(),
    })
}

/// mongocryptd for collections without encrypted fields, which does not answer while it is mute.
async fn mongocryptd() -> (ScriptedServer, Arc<AtomicBool>) {
    let mute = Arc::new(AtomicBool::new(false));
    let is_mute = Arc::clone(&mute);
    let server = ScriptedServer::start(doc! { "iscryptd": true }, move |request: &Request| {
        if !request.is_hello() && is_mute.load(Ordering::SeqCst) {
            return Answer::Silence;
        }
        unencrypted(request)
    })
    .await;
    (server, mute)
}

/// The key vault cannot be reached.
fn without_vault(encryption: AutoEncryptionOptions) -> AutoEncryptionOptions {
    let nowhere = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=50";
    let vault = Client::with_options(ClientOptions::parse(nowhere).expect("a connection string"));
    encryption.key_vault_client(vault.expect("a client"))
}

pub(crate) fn with(mongocryptd: &ScriptedServer, options: &str) -> AutoEncryptionOptions {
    AutoEncryptionOptions::new(NAMESPACE, local())
        .extra_options(doc! { "mongocryptdURI": mongocryptd.uri(options), "mongocryptdBypassSpawn": true })
}

/// A server that is not mongocryptd would receive the plain values, and execute the command.
pub(crate) async fn nothing_is_sent_to_a_server_that_is_not_mongocryptd() {
    let automatic = Automatic::new().await;
    let other = TestServer::builder()
        .replica_set()
        .start()
        .await
        .expect("a server");
    let observer = Client::connect(other.uri()).await.expect("a client");
    let encryption = automatic.encryption().extra_options(doc! {
        "mongocryptdURI": other.uri(), "mongocryptdBypassSpawn": true,
    });
    let (client, _sent) = automatic.client_with("", encryption);
    let patients = patients(&client);
    let document = doc! { "ssn": "x" };
    let mut inserts =
        futures_util::future::join_all((0..5).map(|_| patients.insert_one(&document).into_future())).await;
    inserts.push(patients.insert_one(&document).await);
    for inserted in inserts {
        let error = inserted.expect_err("not mongocryptd");
        let ErrorKind::Encryption(EncryptionError::QueryAnalysis { message, .. }) = error.kind() else {
            panic!("{error:?}");
        };
        assert!(message.contains("is not mongocryptd"), "{message}");
        assert!(message.contains("mongocryptdURI"), "{message}");
    }
    let collections = observer
        .database("hospital")
        .list_collection_names()
        .await
        .expect("names");
    assert!(collections.is_empty(), "{collections:?}");
}

/// The command is not sent before it is encrypted, so the transaction is as before.
pub(crate) async fn a_dropped_encryption_leaves_the_transaction_in_progress() {
    let automatic = Automatic::on(Setup::on(replica_set().await).await).await;
    let (mongocryptd, mute) = mongocryptd().await;
    let (client, sent) = automatic.client_with("", with(&mongocryptd, ""));
    let patients = patients(&client);
    patients.insert_one(&doc! { "_id": 0 }).await.expect("an insert");
    let mut session = client.start_session().await.expect("a session");
    let id = session.id();
    session.start_transaction().await.expect("a transaction");
    let (first, second, third) = (doc! { "_id": 1 }, doc! { "_id": 2 }, doc! { "_id": 3 });
    let insert = patients.insert_one(&first).session(&mut session);
    insert.await.expect("an insert");
    mute.store(true, Ordering::SeqCst);
    tokio::select! {
        biased;
        inserted = patients.insert_one(&second).session(&mut session).into_future() => panic!("{inserted:?}"),
        _ = mongocryptd.wait_for("insert", 3) => {}
    }
    mute.store(false, Ordering::SeqCst);
    let insert = patients.insert_one(&third).session(&mut session);
    insert.await.expect("the transaction is not lost");
    session.commit_transaction().await.expect("a commit");
    let stored = automatic.stored().find(doc! {}).sort(doc! { "_id": 1 }).await;
    let stored = stored.expect("a cursor").try_collect().await.expect("documents");
    assert_eq!(stored, [doc! { "_id": 0 }, first, third]);
    // The session is not marked as dirty: it is used again.
    drop(session);
    take(&sent);
    patients.insert_one(&doc! { "_id": 4 }).await.expect("an insert");
    let sent = take(&sent);
    let (_, insert) = sent.last().expect("commands");
    assert_eq!(insert.get_document("lsid").ok(), id.as_ref(), "{insert}");
}

/// No command was sent in the implicit session, so that it is used again and ended.
pub(crate) async fn a_dropped_encryption_returns_the_implicit_session() {
    let automatic = Automatic::on(Setup::on(replica_set().await).await).await;
    let (mongocryptd, mute) = mongocryptd().await;
    let (client, sent) = automatic.client_with("", with(&mongocryptd, ""));
    let patients = patients(&client);
    patients.insert_one(&doc! { "_id": 0 }).await.expect("an insert");
    let lsid_of_last = || {
        let sent = take(&sent);
        let (_, insert) = sent.last().expect("commands");
        insert.get_document("lsid").expect("a session").clone()
    };
    let id = lsid_of_last();
    for dropped in 1..=2 {
        mute.store(true, Ordering::SeqCst);
        let document = doc! { "_id": -dropped };
        let inserts = mongocryptd.requests_named("insert").len();
        tokio::select! {
            biased;
            inserted = patients.insert_one(&document).into_future() => panic!("{inserted:?}"),
            _ = mongocryptd.wait_for("insert", inserts + 1) => {}
        }
        mute.store(false, Ordering::SeqCst);
        let document = doc! { "_id": dropped };
        patients.insert_one(&document).await.expect("an insert");
        assert_eq!(lsid_of_last(), id);
    }
    client.shutdown().await;
    let sent = take(&sent);
    let (name, end) = sent.last().expect("commands");
    assert_eq!(name, "endSessions");
    assert_eq!(end.get_array("endSessions").expect("sessions").len(), 1, "{end}");
}

/// Behind a load balancer, the connection that the transaction is pinned to returns to the session with the dropped future.
pub(crate) async fn a_dropped_encryption_keeps_the_pinned_connection() {
    let server = TestServer::builder().load_balanced().start();
    let deployment = Deployment::of(server.await.expect("a server"), "").await;
    let automatic = Automatic::on(Setup::on(deployment).await).await;
    let (mongocryptd, mute) = mongocryptd().await;
    let (client, _sent) = automatic.client_with("", with(&mongocryptd, ""));
    let patients = patients(&client);
    let mut session = client.start_session().await.expect("a session");
    session.start_transaction().await.expect("a transaction");
    let [first, second, third] = [1, 2, 3].map(|id| doc! { "_id": id });
    let insert = patients.insert_one(&first).session(&mut session);
    insert.await.expect("an insert");
    mute.store(true, Ordering::SeqCst);
    tokio::select! {
        biased;
        inserted = patients.insert_one(&second).session(&mut session).into_future() => panic!("{inserted:?}"),
        _ = mongocryptd.wait_for("insert", 2) => {}
    }
    mute.store(false, Ordering::SeqCst);
    let insert = patients.insert_one(&third).session(&mut session);
    insert.await.expect("an insert on the same connection");
    session.commit_transaction().await.expect("a commit");
    let count = automatic.stored().count_documents(doc! {}).await;
    assert_eq!(count.expect("a count"), 2);
}

pub(crate) async fn a_silent_mongocryptd_is_an_error() {
    let automatic = Automatic::new().await;
    let (mongocryptd, mute) = mongocryptd().await;
    mute.store(true, Ordering::SeqCst);
    for options in ["", "timeoutMS=0"] {
        let encryption = with(&mongocryptd, "socketTimeoutMS=100");
        let (client, sent) = automatic.client_with(options, encryption);
        let document = doc! { "_id": 1 };
        let error = patients(&client)
            .insert_one(&document)
            .await
            .expect_err("no answer");
        assert!(error.is_timeout(), "{error:?}");
        assert!(
            format!("{error:#}").contains("could not be analyzed"),
            "{error:#}"
        );
        let sent = take(&sent);
        assert!(sent.iter().all(|(name, _)| name != "insert"), "{sent:?}");
    }
}

/// The schema of a collection is read by a retryable operation.
pub(crate) async fn reads_of_schemas_are_retried() {
    let automatic = Automatic::on(Setup::on(replica_set().await).await).await;
    let encryption =
        AutoEncryptionOptions::new(NAMESPACE, local()).extra_options(automatic.analysis.extra_options());
    let (options, sent) = listening(automatic.options(""));
    let client = marula_driver::Client::with_auto_encryption(options, encryption).expect("a client");
    let fail = async |times: i32| {
        let data = doc! { "failCommands": ["listCollections"], "errorCode": 91 };
        let point = doc! { "configureFailPoint": "failCommand", "mode": { "times": times }, "data": data };
        let admin = automatic.setup.client().database("admin");
        admin.run_command(point).await.expect("a fail point");
    };
    fail(1).await;
    patients(&client)
        .insert_one(&doc! { "_id": 1 })
        .await
        .expect("an insert");
    let names: Vec<String> = take(&sent).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["listCollections", "listCollections", "insert"]);
    fail(2).await;
    let other = client.database("hospital").collection::<Document>("doctors");
    let error = other
        .insert_one(&doc! { "_id": 1 })
        .await
        .expect_err("two failures");
    let ErrorKind::Encryption(EncryptionError::CollectionInfo(cause)) = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!((cause.code(), error.code()), (Some(91), Some(91)));
}

/// The caller can see that the command was not sent.
pub(crate) async fn a_bulk_write_whose_encryption_failed_says_so() {
    let automatic = Automatic::new().await;
    let (client, sent) = automatic.client_with("", without_vault(automatic.encryption()));
    let patients = patients(&client);
    let encrypted = doc! { "_id": 2, "ssn": "457-55-5462" };
    let inserted = patients.insert_many(std::slice::from_ref(&encrypted)).await;
    let error = inserted.expect_err("no key vault");
    assert!(matches!(error.kind(), ErrorKind::Encryption(_)), "{error:?}");
    let writes = [WriteModel::insert_one(&encrypted)];
    let error = patients.bulk_write(writes).await.expect_err("no key vault");
    assert!(matches!(error.kind(), ErrorKind::Encryption(_)), "{error:?}");
    assert!(take(&sent).iter().all(|(name, _)| name != "insert"));
    // The first command is sent.
    let writes = [
        WriteModel::insert_one(&doc! { "_id": 1 }),
        WriteModel::delete_one(doc! { "_id": 7 }),
        WriteModel::insert_one(&encrypted),
    ];
    let error = patients.bulk_write(writes).await.expect_err("no key vault");
    let ErrorKind::BulkWrite(failure) = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!(failure.inserted_ids.len(), 1, "{failure:?}");
    let interrupted_by = failure.interrupted_by.as_ref().expect("an error");
    assert!(
        matches!(
            interrupted_by.kind(),
            ErrorKind::Encryption(EncryptionError::KeyVault(_))
        ),
        "{interrupted_by:?}"
    );
    let count = automatic.stored().count_documents(doc! {}).await;
    assert_eq!(count.expect("a count"), 1);
}

/// The transaction is pinned to a connection, although its first command was not sent.
pub(crate) async fn a_commit_after_a_shutdown_releases_the_pinned_connection() {
    let server = TestServer::builder().load_balanced().start();
    let deployment = Deployment::of(server.await.expect("a server"), "").await;
    let automatic = Automatic::on(Setup::on(deployment).await).await;
    let (mongocryptd, mute) = mongocryptd().await;
    let tally = PoolTally::default();
    let mut options = automatic.options("");
    tally.listen(&mut options);
    let (client, _sent) = recorded(options, with(&mongocryptd, ""));
    let patients = patients(&client);
    patients.insert_one(&doc! { "_id": 0 }).await.expect("an insert");
    let mut session = client.start_session().await.expect("a session");
    session.start_transaction().await.expect("a transaction");
    mute.store(true, Ordering::SeqCst);
    let document = doc! { "_id": 1 };
    tokio::select! {
        biased;
        inserted = patients.insert_one(&document).session(&mut session).into_future() => panic!("{inserted:?}"),
        _ = mongocryptd.wait_for("insert", 2) => {}
    }
    assert!(pin(&session).is_some());
    client.shutdown().await;
    let error = session
        .commit_transaction()
        .await
        .expect_err("the client is shut down");
    assert!(matches!(error.kind(), ErrorKind::Shutdown), "{error:?}");
    assert_eq!(pin(&session), None);
    tally.wait_until(Counts::is_at_rest).await;
}

//! Fields that a client must encrypt, `Debug` of actions, and the shutdown of a client with automatic encryption.

use std::{
    pin::Pin,
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    task::Poll,
    thread,
    time::Duration,
};

use marula_driver::{
    Client, EncryptionError, Error, ErrorKind, Namespace, WriteModel,
    bson::{Document, Uuid, doc},
    encryption::AutoEncryptionOptions,
    event::{CommandEvent, EventListener},
};
use marula_driver_tests::Deployment;
use marula_test_server::TestServer;

use super::{
    automatic::{Automatic, patients, recorded, take},
    support::Setup,
};

pub(crate) async fn automatic() -> Automatic {
    let server = TestServer::builder().replica_set().version("8.2.0").start();
    let deployment = Deployment::of(server.await.expect("the set starts"), "").await;
    Automatic::on(Setup::on(deployment).await).await
}

pub(crate) fn encrypted_fields(key: Uuid) -> Document {
    doc! { "fields": [
        { "path": "name", "bsonType": "string", "keyId": key, "queries": { "queryType": "equality" } },
    ] }
}

fn missing(error: &Error) -> Vec<String> {
    missing_by(error, "the test")
}

/// The fields that this requires and the client does not encrypt.
fn missing_by(error: &Error, requiring: &str) -> Vec<String> {
    match error.kind() {
        ErrorKind::Encryption(EncryptionError::NotEncrypted {
            namespace,
            fields,
            required_by,
        }) => {
            assert_eq!(
                (namespace.as_str(), required_by.as_str()),
                ("db.accounts", requiring)
            );
            let text = error.to_string();
            assert!(
                text.starts_with(&format!("{requiring} requires that the client encrypts `")),
                "{text}"
            );
            fields.clone()
        }
        _ => panic!("{error:?}"),
    }
}

pub(crate) async fn fields_are_required_to_be_encrypted() {
    let automatic = automatic().await;
    let options = || automatic.options("");
    let accounts = Namespace::new("db", "accounts");
    let required = ["name".to_owned(), "iban".to_owned()];
    let only_name = &required[..1];
    let (client, sent) = recorded(options(), automatic.encryption());
    client.require_encrypted_fields(&accounts, only_name, "the test");
    let collection = client.database("db").collection::<Document>("accounts");
    let document = doc! { "name": "Ada" };
    let models = [collection.insert_one_model(&document)];
    for error in [
        collection.insert_one(&document).await.expect_err("an insert"),
        collection
            .insert_many(std::slice::from_ref(&document))
            .await
            .expect_err("inserts"),
        collection.find(doc! {}).await.expect_err("a find"),
        collection
            .find(doc! {})
            .explain()
            .await
            .expect_err("an explanation"),
        collection
            .update_one(doc! {}, doc! { "$set": &document })
            .await
            .expect_err("an update"),
        collection
            .delete_one(doc! { "name": "Ada" })
            .await
            .expect_err("a delete"),
        collection.distinct("_id", doc! {}).await.expect_err("values"),
        collection.count_documents(doc! {}).await.expect_err("a count"),
        collection
            .find_one_and_update(doc! {}, doc! { "$set": &document })
            .await
            .expect_err("an update"),
    ] {
        let error = match error.kind() {
            ErrorKind::BulkWrite(bulk) => bulk.interrupted_by.clone().expect("a cause"),
            _ => error,
        };
        assert_eq!(missing(&error), only_name);
    }
    assert!(client.bulk_write(models).await.is_err());
    let names: Vec<String> = take(&sent).into_iter().map(|(name, _)| name).collect();
    assert!(names.iter().all(|name| name == "listCollections"), "{names:?}");
    // Other collections, and one that a schema of the options encrypts.
    let others = client.database("db").collection::<Document>("others");
    others.insert_one(&document).await.expect("an insert");
    let ssn = ["ssn".to_owned()];
    client.require_encrypted_fields(&Namespace::new("hospital", "patients"), &ssn, "the test");
    patients(&client)
        .insert_one(&doc! { "ssn": "457" })
        .await
        .expect("an insert");

    let database = automatic.setup.client().database("db");
    database
        .create_collection("accounts")
        .encrypted_fields(encrypted_fields(automatic.key))
        .await
        .expect("a collection");
    // With the fields of the collection, and with those of the options.
    let map = automatic
        .encryption()
        .encrypted_fields("db.accounts", encrypted_fields(automatic.key));
    for encryption in [automatic.encryption(), map] {
        let (client, _sent) = recorded(options(), encryption);
        client.require_encrypted_fields(&accounts, only_name, "the test");
        let collection = client.database("db").collection::<Document>("accounts");
        // Without values to encrypt, before and after libmongocrypt has read the collection.
        let without = doc! { "city": "Bern" };
        collection.insert_one(&without).await.expect("an insert");
        collection.insert_one(&document).await.expect("an insert");
        collection.insert_one(&without).await.expect("an insert");
        assert!(collection.find_one(doc! {}).await.expect("a find").is_some());
        assert!(collection.count_documents(doc! {}).await.expect("a count") > 0);
        let update = doc! { "$set": { "city": "Bern" } };
        collection
            .update_one(doc! {}, update.clone())
            .await
            .expect("an update");
        collection
            .find_one_and_update(doc! {}, update)
            .await
            .expect("an update");
        collection.delete_one(doc! { "_id": 0 }).await.expect("a delete");
        collection
            .find(doc! { "name": "Ada" })
            .explain()
            .await
            .expect("an explanation");
        collection.find(doc! {}).explain().await.expect("an explanation");
        client
            .bulk_write([collection.insert_one_model(&document)])
            .await
            .expect("a bulk write");
        client.require_encrypted_fields(&accounts, &required, "another");
        let error = collection.insert_one(&document).await.expect_err("an insert");
        assert_eq!(missing_by(&error, "another"), ["iban"]);
    }
    // Without encryption the call has no effect.
    let plain: &Client = automatic.setup.client();
    plain.require_encrypted_fields(&accounts, &required, "the test");
    let collection = plain.database("db").collection::<Document>("accounts");
    assert!(collection.find_one(doc! {}).await.expect("a find").is_some());
    let bypass = AutoEncryptionOptions::bypass_query_analysis;
    let (client, _sent) = recorded(options(), bypass(automatic.encryption(), true));
    client.require_encrypted_fields(&accounts, &required, "the test");
    let collection = client.database("db").collection::<Document>("accounts");
    collection
        .insert_one(&doc! { "city": "Bern" })
        .await
        .expect("an insert");
}

pub(crate) async fn debug_output_of_actions_has_no_values() {
    const SECRET: &str = "zq-secret";
    let automatic = automatic().await;
    let client = automatic.setup.client();
    let database = client.database("db");
    let collection = database.collection::<Document>("c");
    let document = doc! { "_id": SECRET, "owner": SECRET };
    let both = [document.clone(), document.clone()];
    let filter = || doc! { "owner": SECRET };
    let update = || doc! { "$set": { "owner": SECRET } };
    let options = marula_driver::options::FindOptions::default()
        .projection(doc! { "a": SECRET })
        .let_vars(doc! { "v": SECRET })
        .comment(SECRET)
        .limit(7);
    let pipeline = [doc! { "$match": filter() }];
    let models = [
        WriteModel::insert_one(&document),
        WriteModel::update_one(filter(), update()),
        WriteModel::replace_one(filter(), &document),
        WriteModel::delete_one(filter()),
    ];
    let client_models = [collection.insert_one_model(&document)];
    let texts = [
        format!("{:#?}", collection.insert_one(&document)),
        format!("{:?}", collection.insert_many(&both)),
        format!("{:?}", collection.find(filter()).with_options(options)),
        format!("{:?}", collection.find_one(filter())),
        format!("{:?}", collection.count_documents(filter())),
        format!("{:?}", collection.distinct("owner", filter())),
        format!("{:?}", collection.aggregate(pipeline.clone())),
        format!("{:?}", collection.watch().pipeline(pipeline)),
        format!("{:?}", collection.update_one(filter(), update())),
        format!("{:?}", collection.update_many(filter(), vec![update()])),
        format!("{:?}", collection.replace_one(filter(), &document)),
        format!("{:?}", collection.delete_many(filter())),
        format!("{:?}", collection.find_one_and_update(filter(), update())),
        format!("{:?}", collection.find_one_and_replace(filter(), &document)),
        format!("{:?}", collection.find_one_and_delete(filter())),
        format!(
            "{:?}",
            collection
                .update_one(filter(), update())
                .array_filters([filter()])
        ),
        format!("{models:?}"),
        format!("{:?}", collection.bulk_write(models)),
        format!("{client_models:?}"),
        format!("{:?}", client.bulk_write(client_models)),
        format!(
            "{:?}",
            database.run_command(doc! { "insert": "c", "documents": [&document] })
        ),
        format!(
            "{:?}",
            database.run_cursor_command(doc! { "find": "c", "filter": filter() })
        ),
        format!("{:?}", database.create_collection("c").validator(filter())),
    ];
    let hidden = SECRET
        .bytes()
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>();
    for text in &texts {
        assert!(!text.contains(SECRET) && !text.contains(&hidden), "{text}");
    }
    let shown = |index: usize, part: &str| assert!(texts[index].contains(part), "{part} in {}", texts[index]);
    shown(1, "documents: 2");
    shown(2, r#"filter: {"owner"}"#);
    shown(2, "limit: 7");
    shown(2, "let_vars: …");
    shown(8, r#"Operators({"$set"})"#);
    shown(9, "stages: 1");
    shown(20, r#"command: {"insert", "documents"}"#);
}

pub(crate) async fn a_shutdown_waits_for_the_reads_of_an_encryption() {
    let automatic = automatic().await;
    automatic
        .setup
        .client()
        .database("db")
        .create_collection("accounts")
        .encrypted_fields(encrypted_fields(automatic.key))
        .await
        .expect("a collection");
    let mut options = automatic.options("maxPoolSize=0");
    // The shutdown begins when the schema of the collection is read: the keys are read after it.
    let (begin, begins): (Sender<()>, Receiver<()>) = channel();
    let (begun, has_begun): (Sender<()>, Receiver<()>) = channel();
    let has_begun = Mutex::new(has_begun);
    options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
        if let CommandEvent::Started(event) = event
            && event.command_name == "listCollections"
        {
            let _ = begin.send(());
            let has_begun = has_begun.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = has_begun.recv_timeout(Duration::from_secs(20));
        }
    }));
    let client = Client::with_auto_encryption(options, automatic.encryption()).expect("a client");
    let (closing, runtime) = (client.clone(), tokio::runtime::Handle::current());
    let closer = thread::spawn(move || {
        begins.recv().expect("a read");
        runtime.block_on(async {
            let shutdown = closing.shutdown().deadline(Duration::from_secs(20));
            let mut shutdown: Pin<Box<_>> = shutdown.into_future();
            let mut first = true;
            std::future::poll_fn(|context| {
                let polled = shutdown.as_mut().poll(context);
                if std::mem::take(&mut first) {
                    let _ = begun.send(());
                }
                match polled {
                    Poll::Ready(unfinished) => Poll::Ready(unfinished),
                    Poll::Pending => Poll::Pending,
                }
            })
            .await
        })
    });
    let accounts = client.database("db").collection::<Document>("accounts");
    let document = doc! { "name": "Ada" };
    let inserted = accounts.insert_one(&document).await;
    inserted.expect("the insert that the shutdown waits for");
    let unfinished = tokio::task::spawn_blocking(move || closer.join().expect("no panic"));
    assert!(unfinished.await.expect("a shutdown").is_empty());
    let error = accounts
        .insert_one(&document)
        .await
        .expect_err("after the shutdown");
    assert!(matches!(error.kind(), ErrorKind::Shutdown), "{error:?}");
}

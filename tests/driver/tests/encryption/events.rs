//! Command events of clients with automatic encryption.

use std::sync::{Arc, Mutex, PoisonError};

use marula_driver::{
    Client, Collection, ErrorKind,
    bson::{BinarySubtype, Document, doc},
    encryption::EncryptionAlgorithm,
    event::{CommandEvent, EventListener},
};

use super::automatic::Automatic;

/// The events of `aggregate`: the reply, or that it failed.
type Events = Arc<Mutex<Vec<Option<Document>>>>;

fn observed(automatic: &Automatic) -> (Client, Events) {
    let events = Events::default();
    let recorded = Arc::clone(&events);
    let mut options = automatic.options("retryReads=false");
    options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
        let event = match event {
            CommandEvent::Succeeded(event) if event.command_name == "aggregate" => {
                Some(marula_driver::bson::decode_document(event.reply.as_bytes()).expect("a reply"))
            }
            CommandEvent::Failed(event) if event.command_name == "aggregate" => None,
            _ => return,
        };
        recorded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(event);
    }));
    let client = Client::with_auto_encryption(options, automatic.encryption()).expect("a client");
    (client, events)
}

async fn aggregate(collection: &Collection<Document>) -> marula_driver::Result<Vec<Document>> {
    collection
        .aggregate(Vec::<Document>::new())
        .await?
        .try_collect()
        .await
}

pub(crate) async fn client_side_encryption_prose_14_events_have_encrypted_replies() {
    let automatic = Automatic::new().await;
    let (client, events) = observed(&automatic);
    let collection = client.database("db").collection::<Document>("decryption_events");
    let plain = automatic
        .setup
        .client()
        .database("db")
        .collection::<Document>("decryption_events");
    let taken = || std::mem::take(&mut *events.lock().unwrap_or_else(PoisonError::into_inner));
    // Cases 1 and 2.
    for closes in [false, true] {
        let data = doc! { "failCommands": ["aggregate"], "errorCode": 123, "closeConnection": closes };
        let point = doc! { "configureFailPoint": "failCommand", "mode": { "times": 1 }, "data": data };
        automatic
            .setup
            .client()
            .database("admin")
            .run_command(point)
            .await
            .expect("a fail point");
        let error = aggregate(&collection).await.expect_err("the fail point");
        assert_eq!(
            (error.is_network(), error.code().is_some()),
            (closes, !closes),
            "{error:?}"
        );
        assert_eq!(taken(), [None]);
    }
    let encryption = automatic.setup.encryption();
    let key = encryption.create_data_key("local").await.expect("a key");
    let ciphertext = encryption
        .encrypt("hello", key, EncryptionAlgorithm::Deterministic)
        .await
        .expect("a value");
    let mut malformed = ciphertext.clone();
    *malformed.bytes.last_mut().expect("bytes") ^= 1;
    // Cases 3 and 4.
    for (value, is_valid) in [(malformed, false), (ciphertext, true)] {
        plain.delete_many(doc! {}).await.expect("a delete");
        plain
            .insert_one(&doc! { "encrypted": value })
            .await
            .expect("an insert");
        match aggregate(&collection).await {
            Ok(documents) => {
                assert!(is_valid);
                assert_eq!(documents[0].get_str("encrypted").expect("a text"), "hello");
            }
            Err(error) => {
                assert!(!is_valid, "{error:?}");
                assert!(matches!(error.kind(), ErrorKind::Encryption(_)), "{error:?}");
            }
        }
        let [Some(reply)] = &taken()[..] else {
            panic!("one event of success");
        };
        let batch = reply
            .get_document("cursor")
            .and_then(|cursor| cursor.get_array("firstBatch"));
        let encrypted = batch.expect("a batch")[0]
            .as_document()
            .and_then(|document| document.get("encrypted"));
        let subtype = match encrypted {
            Some(marula_driver::bson::Bson::Binary(binary)) => binary.subtype,
            other => panic!("{other:?}"),
        };
        assert_eq!(subtype, BinarySubtype::Encrypted);
    }
}

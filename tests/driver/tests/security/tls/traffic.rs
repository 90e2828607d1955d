//! Operations over TLS connections.

use std::time::Duration;

use marula_driver::{
    Client,
    bson::{Document, doc},
    internals::{Connection, ConnectionSettings, TlsConfig, handshake::client_metadata},
    options::ClientOptions,
};

use super::Encrypted;

#[tokio::test]
async fn large_messages_are_transferred_over_tls() {
    let encrypted = Encrypted::valid().await;
    let client = Client::connect(encrypted.trusting("")).await.expect("a client");
    let things = client.database("d").collection::<Document>("things");
    // Much larger than a TLS record and than the socket buffers.
    let documents: Vec<Document> = (0..40)
        .map(|n| doc! { "_id": n, "filler": "x".repeat(500_000 + n as usize) })
        .collect();
    things.insert_many(&documents).await.expect("20 MB written");
    let mut cursor = things
        .find(doc! {})
        .sort(doc! { "_id": 1 })
        .batch_size(7)
        .await
        .expect("a cursor");
    let mut found: Vec<Document> = Vec::new();
    while cursor.advance().await.expect("a batch") {
        found.push(cursor.deserialize_current().expect("a document"));
    }
    assert!(found == documents, "the documents differ");
    for n in 0..200 {
        let one = things
            .find_one(doc! { "_id": n % 40 })
            .projection(doc! { "_id": 1 })
            .await;
        assert_eq!(one.expect("a reply"), Some(doc! { "_id": n % 40 }));
    }
}

#[tokio::test]
async fn many_tasks_share_tls_connections() {
    let encrypted = Encrypted::valid().await;
    let client = Client::connect(encrypted.trusting("maxPoolSize=4"))
        .await
        .expect("a client");
    let tasks: Vec<_> = (0..32)
        .map(|n| {
            let things = client.database("d").collection::<Document>("things");
            tokio::spawn(async move {
                for m in 0..10 {
                    things
                        .insert_one(&doc! { "n": n, "m": m })
                        .await
                        .expect("a write");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
    let things = client.database("d").collection::<Document>("things");
    assert_eq!(things.count_documents(doc! {}).await.expect("a count"), 320);
    // Four connections of the pool, two of the monitor.
    assert!(
        encrypted.terminator.counts().encrypted <= 6,
        "{:?}",
        encrypted.terminator.counts()
    );
    drop(encrypted.server);
}

#[tokio::test]
async fn an_idle_tls_connection_is_closed_only_if_the_peer_closed_it() {
    let encrypted = Encrypted::valid().await;
    let options = ClientOptions::parse(&encrypted.trusting("")).expect("options");
    let settings = ConnectionSettings {
        tls: Some(TlsConfig::new(&options.tls).expect("files")),
        ..ConnectionSettings::new(Duration::ZERO, client_metadata(None).expect("metadata"))
    };
    let mut connection = Connection::establish(&options.hosts[0], &settings)
        .await
        .expect("a connection");
    // Session tickets, which servers send after the handshake, are not unexpected data.
    for _ in 0..100 {
        assert!(!connection.has_perished());
        tokio::task::yield_now().await;
    }
    encrypted.terminator.close_all();
    while !connection.has_perished() {
        tokio::task::yield_now().await;
    }
}

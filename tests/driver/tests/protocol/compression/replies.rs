//! A server may compress any reply to a client that offered compression, including the hello reply,
//! with any of the offered compressors.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use marula_driver::{
    ServerAddress,
    bson::{Document, doc},
    internals::{
        Connection, ConnectionSettings, Deadline, handshake::client_metadata, wire::CompressionSettings,
    },
    options::Compressor,
};
use marula_driver_tests::tap::{WireTap, compressed};
use marula_test_server::TestServer;
use tokio::sync::mpsc;

use crate::compression::{Tap, server, tapped};

/// Compresses all replies to clients that offered compression, with each compressor in turn,
/// including noop (0).
fn compress_everything(tap: &WireTap) -> Arc<Mutex<Vec<String>>> {
    let compressed_replies = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&compressed_replies);
    let mut turn = 0;
    tap.set_replies(move |passing| {
        if !passing.compressible {
            return passing.bytes.to_vec();
        }
        log.lock().expect("no panic").push(passing.command.to_owned());
        turn = (turn + 1) % 4;
        compressed(passing.message, turn)
    });
    compressed_replies
}

#[tokio::test]
async fn replies_may_be_compressed_with_any_offered_compressor() {
    let Tap { tap, client, _server } = tapped(server(), "compressors=zstd,snappy,zlib").await;
    let log = compress_everything(&tap);
    let things = client.database("d").collection::<Document>("c");
    let many: Vec<Document> = (0..100)
        .map(|n| doc! { "_id": n, "text": "x".repeat(n as usize) })
        .collect();
    things.insert_many(&many).await.unwrap();
    let found: Vec<Document> = things
        .find(doc! {})
        .sort(doc! { "_id": 1 })
        .batch_size(9)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(found, many);
    let log = log.lock().unwrap();
    assert!(log.iter().any(|command| command == "isMaster"), "{log:?}");
    assert!(log.len() > 12);
}

#[tokio::test]
async fn replies_may_be_uncompressed() {
    let Tap { tap, client, _server } = tapped(server(), "compressors=zstd").await;
    tap.set_replies(|passing| passing.message.to_vec());
    let things = client.database("d").collection::<Document>("c");
    things.insert_one(&doc! { "_id": 1 }).await.unwrap();
    assert_eq!(things.find_one(doc! {}).await.unwrap(), Some(doc! { "_id": 1 }));
    assert!(
        tap.take_commands()
            .iter()
            .all(|command| command.compressor == Some(3))
    );
}

#[tokio::test]
async fn authentication_replies_may_be_compressed() {
    let server = server()
        .auth("root", "hunter2")
        .parameter("scramSHA256IterationCount", 4096)
        .start()
        .await
        .expect("the server starts");
    let tap = WireTap::start(server.addresses()[0]).await;
    let log = compress_everything(&tap);
    let uri = tap.uri("compressors=snappy,zlib,zstd");
    let uri = uri.replacen("mongodb://", "mongodb://root:hunter2@", 1);
    let client = marula_driver::Client::connect(uri).await.unwrap();
    client
        .database("d")
        .run_command(doc! { "listCollections": 1 })
        .await
        .unwrap();
    assert!(
        log.lock()
            .unwrap()
            .iter()
            .any(|command| command == "saslContinue")
    );
}

#[tokio::test]
async fn streamed_replies_may_be_compressed() {
    let server = TestServer::builder()
        .replica_set()
        .start()
        .await
        .expect("the set starts");
    let tap = WireTap::start(server.addresses()[0]).await;
    let log = compress_everything(&tap);
    let settings = ConnectionSettings {
        compression: CompressionSettings::new(
            &[Compressor::Zlib, Compressor::Snappy, Compressor::Zstd],
            None,
        ),
        ..ConnectionSettings::new(Duration::ZERO, client_metadata(None).expect("metadata"))
    };
    let address: ServerAddress = tap.address().to_string().parse().expect("an address");
    let mut connection = Connection::establish(&address, &settings)
        .await
        .expect("a connection");
    let known = connection.hello().topology_version.expect("a version");
    let limit = Duration::from_secs(60);
    server.step_down();
    let first = connection
        .await_hello(known, limit, Deadline::NEVER)
        .await
        .unwrap();
    assert!(connection.is_streaming());
    server.step_down();
    let second = connection.next_hello(Deadline::NEVER).await.unwrap();
    let counter = |hello: &marula_driver::internals::description::HelloReply| {
        hello.topology_version.expect("a version").counter
    };
    assert!(counter(&second) > counter(&first));
    assert_eq!(
        connection.hello_reply()[..4],
        (connection.hello_reply().len() as i32).to_le_bytes()
    );
    assert!(log.lock().unwrap().len() >= 3);
    assert!(
        tap.take_requests()
            .iter()
            .all(|request| request.compressor.is_none())
    );
}

#[tokio::test]
async fn a_connection_with_a_partly_read_compressed_reply_is_closed() {
    let Tap { tap, client, _server } = tapped(server(), "compressors=zlib&maxPoolSize=1").await;
    let admin = client.database("admin");
    admin.run_command(doc! { "ping": 1 }).await.unwrap();
    for kept in [0, 16, 25, 30] {
        let (held, mut is_held) = mpsc::unbounded_channel();
        tap.set_replies(move |passing| {
            if passing.command != "ping" {
                return passing.bytes.to_vec();
            }
            let _ = held.send(());
            passing.bytes[..kept].to_vec()
        });
        let pinged = admin.run_command(doc! { "ping": 1 });
        tokio::select! {
            reply = pinged.into_future() => panic!("{reply:?}"),
            _ = is_held.recv() => {}
        }
        tap.pass_replies();
        let _ = tap.take_requests();
        // On another connection, because a reply is outstanding on the first.
        let reply = admin.run_command(doc! { "buildInfo": 1 }).await.unwrap();
        assert!(reply.contains_key("version"));
        let requests = tap.take_requests();
        assert!(
            requests.iter().any(|request| request.body.contains_key("client")),
            "a handshake"
        );
    }
}

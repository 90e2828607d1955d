//! Load balancer mode: the handshake, and the checks of `loadBalanced`.

use std::time::Duration;

use marula_driver::{
    Client, Error, ErrorKind, PoolError, ServerAddress,
    bson::{Document, doc},
    internals::{Connection, ConnectionSettings, describe, handshake::client_metadata},
};
use marula_driver_tests::MockMongos;
use marula_test_server::TestServer;

async fn establish(address: &ServerAddress, load_balanced: bool) -> Result<Connection, Error> {
    let metadata = client_metadata(None).expect("metadata");
    let settings = ConnectionSettings {
        load_balanced,
        ..ConnectionSettings::new(Duration::ZERO, metadata)
    };
    Connection::establish(address, &settings).await
}

#[tokio::test]
async fn the_handshake_behind_a_load_balancer_has_a_service_id() {
    let server = TestServer::builder()
        .load_balanced()
        .start()
        .await
        .expect("the server starts");
    let uri = server.uri();
    let host = uri.trim_start_matches("mongodb://").split('/').next();
    let address = host.and_then(|host| host.parse().ok()).expect("an address");
    let mut services = Vec::new();
    for _ in 0..2 {
        let connection = establish(&address, true).await.expect("a connection");
        services.push(connection.hello().service_id.expect("a service"));
    }
    assert_ne!(services[0], services[1], "the load balancer alternates");
    let plain = establish(&address, false)
        .await
        .expect_err("loadBalanced is not set");
    assert_eq!(plain.code_name(), Some("LoadBalancerSupportMismatch"));
}

#[tokio::test]
async fn operations_run_through_the_load_balancer() {
    let server = TestServer::builder()
        .load_balanced()
        .start()
        .await
        .expect("the server starts");
    let client = Client::connect(server.uri()).await.expect("a client");
    let things = client.database("d").collection::<Document>("things");
    let written: Vec<Document> = (0..20).map(|n| doc! { "_id": n }).collect();
    things.insert_many(&written).await.expect("a write");
    let found = things.find_one(doc! { "_id": 7 }).await.expect("a read");
    assert_eq!(found, Some(doc! { "_id": 7 }));
    assert_eq!(things.count_documents(doc! {}).await.expect("a count"), 20);
    let text = describe(&client);
    assert!(
        text.starts_with("LoadBalanced") && text.contains("LoadBalancer"),
        "{text}"
    );
    assert_eq!(server.connections_created(), 1, "the server is not monitored");
}

#[tokio::test]
async fn a_server_without_load_balancer_support_is_rejected() {
    let mongos = MockMongos::start().await;
    let address: ServerAddress = mongos.address.to_string().parse().expect("an address");
    let error = establish(&address, true).await.expect_err("no service");
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");
    let message =
        "Driver attempted to initialize in load balancing mode, but the server does not support this mode.";
    assert!(error.to_string().contains(message), "{error}");
}

/// Cursors pin connections, and the error of the wait queue timeout has their number.
#[tokio::test]
async fn a_wait_queue_timeout_reports_pinned_connections() {
    let server = TestServer::builder()
        .load_balanced()
        .start()
        .await
        .expect("the server starts");
    let uri = format!("{}&maxPoolSize=3&waitQueueTimeoutMS=50", server.uri());
    let client = Client::connect(uri).await.expect("a client");
    let things = client.database("d").collection::<Document>("things");
    let written: Vec<Document> = (0..5).map(|n| doc! { "_id": n }).collect();
    // Establishing a connection may take longer than waitQueueTimeoutMS.
    while things
        .insert_many(&written)
        .await
        .is_err_and(|error| is_timeout(&error))
    {}
    let mut cursors = Vec::new();
    while cursors.len() < 2 {
        match things.find(doc! {}).batch_size(2).await {
            Ok(cursor) => cursors.push(cursor),
            Err(error) => assert!(is_timeout(&error), "{error}"),
        }
    }
    let admin = client.database("admin");
    let slow = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": 1 },
        "data": { "failCommands": ["ping"], "blockConnection": true, "blockTimeMS": 600_000 },
    };
    // The load balancer may select either mongos.
    for uri in server.member_uris() {
        let direct = Client::connect(uri).await.expect("a client");
        direct
            .database("admin")
            .run_command(slow.clone())
            .await
            .expect("a fail point");
    }
    let occupant = tokio::spawn({
        let admin = admin.clone();
        async move { admin.run_command(doc! { "ping": 1 }).await }
    });
    server.wait_for_command("ping", 1).await;
    let error = admin
        .run_command(doc! { "buildInfo": 1 })
        .await
        .expect_err("all connections are in use");
    let ErrorKind::Pool(PoolError::WaitQueueTimeout {
        in_use: Some(in_use), ..
    }) = error.kind()
    else {
        panic!("{error:?}");
    };
    assert_eq!((in_use.cursors, in_use.transactions, in_use.other), (2, 0, 1));
    let message = "Timeout waiting for connection from the connection pool. maxPoolSize: 3, connections in use by cursors: 2, \
                connections in use by transactions: 0, connections in use by other operations: 1";
    assert!(error.to_string().contains(message), "{error}");
    occupant.abort();
    // A cursor unpins its connection when it is exhausted or dropped.
    let all = cursors.remove(0).try_collect().await.expect("the other batches");
    assert_eq!(all.len(), 5);
    drop(cursors);
    admin.run_command(doc! { "ping": 1 }).await.expect("a connection");
}

/// Without a load balancer no connection is pinned, and the error has no counts.
#[tokio::test]
async fn a_wait_queue_timeout_without_load_balancer_reports_no_pinned_connections() {
    let server = TestServer::builder().start().await.expect("the server starts");
    let uri = format!("{}?maxPoolSize=1&waitQueueTimeoutMS=50", server.uri());
    let client = Client::connect(uri).await.expect("a client");
    let admin = client.database("admin");
    let setter = Client::connect(server.uri()).await.expect("a client");
    let slow = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": 1 },
        "data": { "failCommands": ["ping"], "blockConnection": true, "blockTimeMS": 600_000 },
    };
    setter
        .database("admin")
        .run_command(slow)
        .await
        .expect("a fail point");
    let occupant = tokio::spawn({
        let admin = admin.clone();
        async move { admin.run_command(doc! { "ping": 1 }).await }
    });
    server.wait_for_command("ping", 1).await;
    let error = admin
        .run_command(doc! { "buildInfo": 1 })
        .await
        .expect_err("the only connection is in use");
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Pool(PoolError::WaitQueueTimeout { in_use: None, .. })
        ),
        "{error:?}"
    );
    occupant.abort();
}

fn is_timeout(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Pool(PoolError::WaitQueueTimeout { .. }))
}

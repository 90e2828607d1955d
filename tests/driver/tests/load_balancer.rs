//! What a connection to a load balancer is told, and what it asks for.

use std::time::Duration;

use marula_driver::{
    Client, Error, ErrorKind, ServerAddress,
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
async fn a_service_behind_a_load_balancer_says_which_it_is() {
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
    assert_ne!(services[0], services[1], "the balancer takes turns");
    let plain = establish(&address, false)
        .await
        .expect_err("the mode is not asked for");
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
    assert_eq!(server.connections_created(), 1, "nothing is monitored");
}

#[tokio::test]
async fn a_server_behind_none_is_refused() {
    let mongos = MockMongos::start().await;
    let address: ServerAddress = mongos.address.to_string().parse().expect("an address");
    let error = establish(&address, true).await.expect_err("no service");
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");
    let told =
        "Driver attempted to initialize in load balancing mode, but the server does not support this mode.";
    assert!(error.to_string().contains(told), "{error}");
}

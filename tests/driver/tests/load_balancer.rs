//! What a connection to a load balancer is told, and what it asks for.

use std::time::Duration;

use marula_driver::{
    Error, ErrorKind, ServerAddress,
    internals::{Connection, ConnectionSettings, handshake::client_metadata},
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
async fn a_server_behind_none_is_refused() {
    let mongos = MockMongos::start().await;
    let address: ServerAddress = mongos.address.to_string().parse().expect("an address");
    let error = establish(&address, true).await.expect_err("no service");
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");
    let told =
        "Driver attempted to initialize in load balancing mode, but the server does not support this mode.";
    assert!(error.to_string().contains(told), "{error}");
}

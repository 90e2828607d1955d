//! Server selection, and the connections that are established within its time limit.

use std::time::{Duration, Instant};

use marula_driver::{Client, bson::doc, internals::wait_for_description};
use marula_driver_tests::{Deployment, Proxy, proxy::Action, standalone};
use marula_test_server::TestServer;

use super::{BLOCKED_MS, block, times_out};

/// Checks that a ping fails within 30 s. The options have one time limit that is shorter than this,
/// and one that is longer.
async fn selection_fails_early(options: &str) {
    let client = Client::connect(format!("mongodb://invalid/?{options}")).await;
    let admin = client.expect("it succeeds").database("admin");
    let began = Instant::now();
    let error = admin
        .run_command(doc! { "ping": 1 })
        .await
        .expect_err("it has failed");
    assert!(error.is_timeout(), "{error}");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[tokio::test]
async fn client_side_operations_timeout_prose_8a() {
    selection_fails_early("serverSelectionTimeoutMS=10").await;
}

#[tokio::test]
async fn client_side_operations_timeout_prose_8b() {
    selection_fails_early("timeoutMS=10&serverSelectionTimeoutMS=60000").await;
}

#[tokio::test]
async fn client_side_operations_timeout_prose_8c() {
    selection_fails_early("timeoutMS=60000&serverSelectionTimeoutMS=10").await;
}

#[tokio::test]
async fn client_side_operations_timeout_prose_8d() {
    selection_fails_early("timeoutMS=0&serverSelectionTimeoutMS=10").await;
}

/// Checks that an insert times out while its connection is authenticated.
async fn login_times_out(options: &str) {
    let server = TestServer::builder().auth("user", "secret").start().await;
    let deployment = Deployment::of(server.expect("a server"), "").await;
    block(&deployment.client, &["saslContinue"], 1, BLOCKED_MS, "tested").await;
    let client = deployment.client_with(&format!("appName=tested&{options}")).await;
    let things = client.database("d").collection("things");
    times_out(things.insert_one(&doc! { "x": 1 }).into_future()).await;
}

#[tokio::test]
async fn client_side_operations_timeout_prose_8e() {
    login_times_out("timeoutMS=100&serverSelectionTimeoutMS=60000").await;
}

#[tokio::test]
async fn client_side_operations_timeout_prose_8f() {
    login_times_out("timeoutMS=60000&serverSelectionTimeoutMS=100").await;
}

/// The socket of an operation is opened within the rest of the time limit of server selection, and
/// within `connectTimeoutMS`.
#[tokio::test]
async fn client_side_operations_timeout_prose_unit_4() {
    for options in [
        "timeoutMS=300&connectTimeoutMS=60000",
        "timeoutMS=60000&serverSelectionTimeoutMS=300&connectTimeoutMS=60000",
        "timeoutMS=60000&connectTimeoutMS=300",
    ] {
        let deployment = standalone().await;
        let proxy = Proxy::start(deployment.server.addresses()[0]).await;
        let client = Client::connect(proxy.uri(options)).await.unwrap();
        wait_for_description(&client, |text| text.contains("Standalone")).await;
        // Further connections are for operations.
        proxy.set_rule(|exchange| {
            if exchange.is_hello() {
                Action::Hang
            } else {
                Action::Pass
            }
        });
        let admin = client.database("admin");
        let began = Instant::now();
        // This command is not retried.
        let error = admin.run_command(doc! { "ping": 1 }).await.unwrap_err();
        assert!(error.is_timeout(), "{options}: {error}");
        assert!(began.elapsed() < Duration::from_secs(30), "{options}");
        proxy.end_waits();
    }
}

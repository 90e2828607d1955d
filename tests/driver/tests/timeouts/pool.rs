//! The connection pool.

use std::time::{Duration, Instant};

use marula_driver::{
    Client, ErrorKind, PoolError,
    bson::doc,
    event::{EventListener, PoolEvent},
    options::ClientOptions,
};
use marula_driver_tests::{Proxy, proxy::Action, standalone};
use tokio::sync::mpsc;

use super::TIME_LIMIT;

#[tokio::test]
async fn client_side_operations_timeout_prose_unit_3() {
    let deployment = standalone().await;
    let proxy = Proxy::start(deployment.server.addresses()[0]).await;
    proxy.set_rule(|exchange| match exchange.command {
        "ping" => Action::Hang,
        _ => Action::Pass,
    });
    let client = Client::connect(proxy.uri("maxPoolSize=1&waitQueueTimeoutMS=50"))
        .await
        .unwrap();
    let admin = client.database("admin");
    let occupant = tokio::spawn({
        let admin = admin.clone();
        async move { admin.run_command(doc! { "ping": 1 }).await }
    });
    // Until the ping has checked out the only connection, this command may get it.
    let refused = tokio::time::timeout(TIME_LIMIT, async {
        loop {
            if let Err(error) = admin.run_command(doc! { "buildInfo": 1 }).await {
                return error;
            }
            tokio::task::yield_now().await;
        }
    });
    let error = refused.await.expect("no hang");
    assert!(
        matches!(error.kind(), ErrorKind::Pool(PoolError::WaitQueueTimeout { .. })),
        "{error}"
    );
    proxy.end_waits();
    occupant.await.unwrap().unwrap_err();
}

#[tokio::test]
async fn client_side_operations_timeout_prose_unit_8() {
    let deployment = standalone().await;
    let proxy = Proxy::start(deployment.server.addresses()[0]).await;
    // Connection 0 is that of the monitor; the following ones are for minPoolSize.
    proxy.set_rule(|exchange| {
        if exchange.connection > 0 && exchange.is_hello() {
            Action::Hang
        } else {
            Action::Pass
        }
    });
    let mut options = ClientOptions::parse(&proxy.uri("minPoolSize=1&connectTimeoutMS=100")).unwrap();
    let (sink, mut failures) = mpsc::unbounded_channel();
    options.pool_listener = Some(EventListener::new(move |event: &PoolEvent| {
        if let PoolEvent::ConnectionClosed {
            error: Some(error), ..
        } = event
        {
            let _ = sink.send(error.clone());
        }
    }));
    let _client = Client::with_options(options).unwrap();
    let failure = tokio::time::timeout(TIME_LIMIT, failures.recv())
        .await
        .expect("no hang")
        .unwrap();
    assert!(failure.to_string().contains("connectTimeoutMS"), "{failure}");
    proxy.end_waits();
}

/// Runs a command while another one keeps the only connection, with `timeoutMS=500`, and returns how
/// long it waited.
async fn waits_for_a_connection(options: &str) -> Duration {
    let deployment = standalone().await;
    let proxy = Proxy::start(deployment.server.addresses()[0]).await;
    proxy.set_rule(|exchange| match exchange.command {
        "ping" => Action::Hang,
        _ => Action::Pass,
    });
    let client = Client::connect(proxy.uri(&format!("maxPoolSize=1&timeoutMS=500{options}")))
        .await
        .expect("it succeeds");
    let admin = client.database("admin");
    let occupant = tokio::spawn({
        let admin = admin.clone();
        async move { admin.run_command(doc! { "ping": 1 }).timeout(TIME_LIMIT).await }
    });
    // Until the ping has checked out the only connection, this command may get it.
    let waited = tokio::time::timeout(TIME_LIMIT, async {
        loop {
            let began = Instant::now();
            if let Err(error) = admin.run_command(doc! { "buildInfo": 1 }).await {
                assert!(matches!(error.kind(), ErrorKind::Timeout(_)), "{error}");
                return began.elapsed();
            }
            tokio::task::yield_now().await;
        }
    });
    let waited = waited.await.expect("no hang");
    proxy.end_waits();
    occupant.await.expect("it succeeds").expect_err("it has failed");
    waited
}

#[tokio::test]
async fn client_side_operations_timeout_prose_unit_1() {
    let waited = waits_for_a_connection("&waitQueueTimeoutMS=1").await;
    assert!(waited >= Duration::from_millis(490), "{waited:?}");
}

#[tokio::test]
async fn client_side_operations_timeout_prose_unit_2() {
    let waited = waits_for_a_connection("").await;
    assert!(waited >= Duration::from_millis(490), "{waited:?}");
    assert!(waited < TIME_LIMIT, "{waited:?}");
}

//! The connection pool.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use marula_driver::{
    Client, ErrorKind, PoolError,
    bson::doc,
    event::{EventListener, PoolEvent},
    options::ClientOptions,
};
use marula_driver_tests::{Proxy, proxy::Action, standalone};
use tokio::{sync::mpsc, task::JoinHandle};

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
    let occupant = occupy(&client, &proxy).await;
    let refused = tokio::time::timeout(
        TIME_LIMIT,
        admin.run_command(doc! { "buildInfo": 1 }).into_future(),
    );
    let error = refused.await.expect("no hang").unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Pool(PoolError::WaitQueueTimeout { .. })),
        "{error}"
    );
    proxy.end_waits();
    occupant.await.unwrap();
}

/// Keeps the only connection until [`Proxy::end_waits`]. The ping has a time limit of its own, so that
/// `waitQueueTimeoutMS` does not apply to the connection that is established for it.
async fn occupy(client: &Client, proxy: &Proxy) -> JoinHandle<()> {
    let admin = client.database("admin");
    let occupant = tokio::spawn(async move {
        let ping = admin.run_command(doc! { "ping": 1 }).timeout(TIME_LIMIT);
        ping.await.expect_err("the connection is closed");
    });
    proxy.wait_for_requests("ping", 1).await;
    occupant
}

#[tokio::test]
async fn client_side_operations_timeout_prose_unit_8() {
    let deployment = standalone().await;
    let proxy = Proxy::start(deployment.server.addresses()[0]).await;
    // The monitor checks the server until the pool is ready, then the connection for minPoolSize hangs.
    let is_ready = Arc::new(AtomicBool::new(false));
    let hangs = Arc::clone(&is_ready);
    proxy.set_rule(move |exchange| {
        if hangs.load(Ordering::SeqCst) && exchange.is_hello() {
            Action::Hang
        } else {
            Action::Pass
        }
    });
    let mut options = ClientOptions::parse(&proxy.uri("minPoolSize=1&connectTimeoutMS=1000")).unwrap();
    let (sink, mut failures) = mpsc::unbounded_channel();
    options.pool_listener = Some(EventListener::new(move |event: &PoolEvent| match event {
        PoolEvent::PoolReady { .. } => is_ready.store(true, Ordering::SeqCst),
        PoolEvent::ConnectionClosed {
            error: Some(error), ..
        } => {
            let _ = sink.send(error.clone());
        }
        _ => {}
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
/// long it waited: a lower bound does not depend on the load of the machine.
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
    let occupant = occupy(&client, &proxy).await;
    let admin = client.database("admin");
    let began = Instant::now();
    let waiting = tokio::time::timeout(
        TIME_LIMIT,
        admin.run_command(doc! { "buildInfo": 1 }).into_future(),
    );
    let error = waiting.await.expect("no hang").expect_err("no connection");
    let waited = began.elapsed();
    assert!(matches!(error.kind(), ErrorKind::Timeout(_)), "{error}");
    assert_eq!(proxy.requests("buildInfo"), 0, "it waited for the connection");
    proxy.end_waits();
    occupant.await.expect("no panic");
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
}

//! Prose tests of the Connection Monitoring and Pooling specification, under their numbers.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use marula_driver::{
    Client,
    bson::{Document, doc},
    event::{CheckOutFailedReason, EventListener, PoolEvent, PoolOptions},
    options::ClientOptions,
};
use marula_driver_tests::{Proxy, proxy::Action, replica_set, standalone};
use marula_test_server::TestServer;
use tokio::sync::Notify;

const QUERY: &str = "maxPoolSize=7&minPoolSize=2&maxIdleTimeMS=60000&maxConnecting=3&waitQueueTimeoutMS=5000";

/// The events that a listener has received.
#[derive(Default)]
struct ReceivedEvents {
    events: Mutex<Vec<PoolEvent>>,
    /// Notified after each event.
    more: Notify,
}

impl ReceivedEvents {
    fn listener(self: &Arc<Self>) -> EventListener<PoolEvent> {
        let received = Arc::clone(self);
        EventListener::new(move |event: &PoolEvent| {
            received.lock().push(event.clone());
            received.more.notify_waiters();
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PoolEvent>> {
        self.events.lock().expect("the lock is not poisoned")
    }

    /// The names of the variants of [`PoolEvent`] that were received.
    fn names(&self) -> BTreeSet<String> {
        let name = |event: &PoolEvent| {
            let text = format!("{event:?}");
            let name = text.split([' ', '{']).next();
            name.expect("the name of a variant").to_owned()
        };
        self.lock().iter().map(name).collect()
    }

    async fn wait_until(&self, condition: impl Fn(&Self) -> bool) {
        loop {
            let more = self.more.notified();
            tokio::pin!(more);
            more.as_mut().enable();
            if condition(self) {
                return;
            }
            more.await;
        }
    }

    /// The options in the `PoolCreated` events.
    fn created(&self) -> Vec<PoolOptions> {
        self.lock()
            .iter()
            .filter_map(|event| match event {
                PoolEvent::PoolCreated { options, .. } => Some(*options),
                _ => None,
            })
            .collect()
    }
}

/// Checks the options that [`QUERY`] sets.
fn check(options: &PoolOptions) {
    assert_eq!(options.max_pool_size, Some(7));
    assert_eq!(options.min_pool_size, Some(2));
    assert_eq!(options.max_connecting, Some(3));
    assert_eq!(options.max_idle_time, Some(Duration::from_secs(60)));
    assert_eq!(options.wait_queue_timeout, Some(Duration::from_secs(5)));
}

/// Options of the client: all pools of the client have them. Databases and collections have no pool
/// options.
#[tokio::test]
async fn connection_monitoring_and_pooling_prose_1() {
    let received = Arc::<ReceivedEvents>::default();
    let mut options = ClientOptions::parse("mongodb://localhost").unwrap();
    options.max_pool_size = 7;
    options.min_pool_size = 2;
    options.max_connecting = 3;
    options.max_idle_time = Some(Duration::from_secs(60));
    options.wait_queue_timeout = Some(Duration::from_secs(5));
    options.pool_listener = Some(received.listener());
    let _client = Client::with_options(options).unwrap();
    let created = received.created();
    assert_eq!(created.len(), 1);
    check(&created[0]);
}

/// All pools of a deployment have the same options.
#[tokio::test]
async fn connection_monitoring_and_pooling_prose_2() {
    let deployment = replica_set().await;
    let received = Arc::<ReceivedEvents>::default();
    let uri = deployment.server.uri();
    let mut options = ClientOptions::parse(&format!("{uri}&{QUERY}")).unwrap();
    options.pool_listener = Some(received.listener());
    let _client = Client::with_options(options).unwrap();
    received
        .wait_until(|received| received.created().len() == 3)
        .await;
    received.created().iter().for_each(check);
}

/// Every pool option can be set in the connection string.
#[test]
fn connection_monitoring_and_pooling_prose_3() {
    let options = ClientOptions::parse(&format!("mongodb://h/?{QUERY}")).unwrap();
    assert_eq!(options.max_pool_size, 7);
    assert_eq!(options.min_pool_size, 2);
    assert_eq!(options.max_connecting, 3);
    assert_eq!(options.max_idle_time, Some(Duration::from_secs(60)));
    assert_eq!(options.wait_queue_timeout, Some(Duration::from_secs(5)));
    assert!(options.warnings().is_empty());
}

/// Listeners receive all events.
#[tokio::test]
async fn connection_monitoring_and_pooling_prose_4() {
    let deployment = standalone().await;
    let received = Arc::<ReceivedEvents>::default();
    let proxy = Proxy::start(deployment.server.addresses()[0]).await;
    let uri = proxy.uri("retryReads=false&waitQueueTimeoutMS=20&maxPoolSize=1");
    let mut options = ClientOptions::parse(&uri).unwrap();
    options.pool_listener = Some(received.listener());
    let client = Client::with_options(options).unwrap();
    let things = client.database("d").collection::<Document>("c");
    let fail = |data: Document| {
        let command = doc! { "configureFailPoint": "failCommand", "mode": { "times": 1 }, "data": data };
        let admin = deployment.client.database("admin");
        async move { admin.run_command(command).await.unwrap() }
    };
    // Establishing the first connection may take longer than waitQueueTimeoutMS.
    while things.find_one(doc! {}).await.is_err() {}
    // The second check-out waits for the only connection, which is in use, and times out.
    let seen = proxy.requests("find");
    proxy.set_rule(|exchange| match exchange.command {
        "find" => Action::Delay,
        _ => Action::Pass,
    });
    let (first, second) = tokio::join!(things.find_one(doc! {}), async {
        proxy.wait_for_requests("find", seen + 1).await;
        let second = things.find_one(doc! {}).await;
        proxy.end_waits();
        second
    });
    assert_eq!(first.unwrap(), None);
    second.unwrap_err();
    proxy.pass_everything();
    // A network error clears the pool.
    fail(doc! { "failCommands": ["find"], "closeConnection": true }).await;
    things.find_one(doc! {}).await.unwrap_err();
    drop((things, client));
    let all = [
        "PoolCreated",
        "PoolReady",
        "PoolCleared",
        "PoolClosed",
        "ConnectionCreated",
        "ConnectionReady",
        "ConnectionClosed",
        "ConnectionCheckOutStarted",
        "ConnectionCheckOutFailed",
        "ConnectionCheckedOut",
        "ConnectionCheckedIn",
    ];
    let all: BTreeSet<String> = all.map(str::to_owned).into();
    received.wait_until(|received| received.names() == all).await;
}

/// A connection that cannot be established fails the check-out, and the event contains the error.
#[tokio::test]
async fn connection_monitoring_and_pooling_prose_5() {
    let server = TestServer::builder()
        .auth("root", "hunter2")
        .start()
        .await
        .unwrap();
    for commands in [&["saslContinue"][..], &["hello", "isMaster", "ismaster"]] {
        let admin_client = Client::connect(server.uri()).await.unwrap();
        let fail_point = doc! {
            "configureFailPoint": "failCommand", "mode": { "times": 1 },
            "data": { "failCommands": commands, "closeConnection": true, "appName": "failing" },
        };
        let received = Arc::<ReceivedEvents>::default();
        // The pool is ready after the first check of the monitor. The fail point is set then, so
        // that the handshake of the pool's connection fails, and not that of the monitor's.
        let uri = format!(
            "{}?retryReads=false&appName=failing&serverMonitoringMode=poll",
            server.uri()
        );
        let mut options = ClientOptions::parse(&uri).unwrap();
        options.pool_listener = Some(received.listener());
        let client = Client::with_options(options).unwrap();
        received
            .wait_until(|received| received.names().contains("PoolReady"))
            .await;
        admin_client
            .database("admin")
            .run_command(fail_point)
            .await
            .unwrap();
        client.list_database_names().await.unwrap_err();
        let failed: Vec<_> = received
            .lock()
            .iter()
            .filter_map(|event| match event {
                PoolEvent::ConnectionCheckOutFailed { reason, error, .. } => Some((*reason, error.is_some())),
                _ => None,
            })
            .collect();
        assert_eq!(
            failed,
            [(CheckOutFailedReason::ConnectionError, true)],
            "{commands:?}"
        );
    }
}

mod timed {
    use std::time::Instant;

    use super::*;

    /// In a full pool, a request does not wait until the reply to another operation, which has timed out, is
    /// given up: 3 s after its last byte.
    #[tokio::test]
    async fn a_request_takes_the_place_of_a_connection_whose_late_reply_is_slow() {
        let deployment = standalone().await;
        let proxy = Proxy::start(deployment.server.addresses().remove(0)).await;
        let client = Client::connect(proxy.uri("maxPoolSize=1")).await.unwrap();
        let things = client.database("d").collection::<Document>("things");
        things.insert_one(&doc! {}).await.unwrap();
        proxy.set_rule(|exchange| match exchange.command {
            "find" => Action::Silence,
            _ => Action::Pass,
        });
        let found = things.find_one(doc! {}).timeout(Duration::from_millis(100)).await;
        assert!(found.unwrap_err().is_timeout());
        let began = Instant::now();
        things.count_documents(doc! {}).await.unwrap();
        let waited = began.elapsed();
        assert!(waited < Duration::from_secs(2), "{waited:?}");
    }
}

//! Prose tests of the Connection Monitoring and Pooling specification.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use marula_driver::{
    Client,
    bson::{Document, doc},
    event::{CheckOutFailedReason, EventListener, PoolEvent, PoolOptions},
    options::ClientOptions,
};
use marula_driver_tests::{replica_set, standalone};
use marula_test_server::TestServer;
use tokio::sync::Notify;

const QUERY: &str = "maxPoolSize=7&minPoolSize=2&maxIdleTimeMS=60000&maxConnecting=3&waitQueueTimeoutMS=5000";

/// The events received by a listener. Notifies waiting tests of each event.
#[derive(Default)]
struct ReceivedEvents {
    events: Mutex<Vec<PoolEvent>>,
    more: Notify,
}

impl ReceivedEvents {
    fn listener(self: &Arc<Self>) -> EventListener<PoolEvent> {
        let own = Arc::clone(self);
        EventListener::new(move |event: &PoolEvent| {
            own.events
                .lock()
                .expect("no other test panics")
                .push(event.clone());
            own.more.notify_waiters();
        })
    }

    fn names(&self) -> BTreeSet<String> {
        let name = |event: &PoolEvent| {
            let text = format!("{event:?}");
            text.split([' ', '{']).next().expect("well-formed").to_owned()
        };
        self.events
            .lock()
            .expect("no other test panics")
            .iter()
            .map(name)
            .collect()
    }

    async fn wait_until(&self, fits: impl Fn(&Self) -> bool) {
        loop {
            let more = self.more.notified();
            tokio::pin!(more);
            more.as_mut().enable();
            if fits(self) {
                return;
            }
            more.await;
        }
    }

    fn created(&self) -> Vec<PoolOptions> {
        let events = self.events.lock().expect("no other test panics");
        events
            .iter()
            .filter_map(|event| match event {
                PoolEvent::PoolCreated { options, .. } => Some(*options),
                _ => None,
            })
            .collect()
    }
}

fn check(options: &PoolOptions) {
    assert_eq!(options.max_pool_size, Some(7));
    assert_eq!(options.min_pool_size, Some(2));
    assert_eq!(options.max_connecting, Some(3));
    assert_eq!(options.max_idle_time, Some(Duration::from_secs(60)));
    assert_eq!(options.wait_queue_timeout, Some(Duration::from_secs(5)));
}

/// Databases and collections do not have pool options, so they cannot differ from the client.
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

#[tokio::test]
async fn connection_monitoring_and_pooling_prose_4() {
    let deployment = standalone().await;
    let received = Arc::<ReceivedEvents>::default();
    let uri = deployment.server.uri();
    let mut options = ClientOptions::parse(&format!(
        "{uri}?retryReads=false&waitQueueTimeoutMS=20&maxPoolSize=1"
    ))
    .unwrap();
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
    let seen = deployment.server.commands_seen("find");
    fail(doc! { "failCommands": ["find"], "blockConnection": true, "blockTimeMS": 200 }).await;
    let (first, second) = tokio::join!(things.find_one(doc! {}), async {
        deployment.server.wait_for_command("find", seen + 1).await;
        things.find_one(doc! {}).await
    });
    assert_eq!(first.unwrap(), None);
    second.unwrap_err();
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

#[tokio::test]
async fn connection_monitoring_and_pooling_prose_5() {
    let server = TestServer::builder()
        .auth("root", "hunter2")
        .start()
        .await
        .unwrap();
    for commands in [&["saslContinue"][..], &["hello", "isMaster", "ismaster"]] {
        let setter = Client::connect(server.uri()).await.unwrap();
        let point = doc! {
            "configureFailPoint": "failCommand", "mode": { "times": 1 },
            "data": { "failCommands": commands, "closeConnection": true, "appName": "failing" },
        };
        let received = Arc::<ReceivedEvents>::default();
        // A monitor would observe the failure of the handshake first, so it has checked the server
        // before.
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
        setter.database("admin").run_command(point).await.unwrap();
        client.list_database_names().await.unwrap_err();
        let events = received.events.lock().unwrap();
        let failed: Vec<_> = events
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

//! Event listeners that panic or drop the client do not affect the driver.

use std::{
    any::Any,
    collections::BTreeSet,
    fmt::Debug,
    panic,
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError, mpsc},
    thread,
    time::Duration,
};

use marula_driver::{
    Client, Error,
    bson::{Document, doc},
    event::EventListener,
    options::ClientOptions,
};
use marula_test_server::TestServer;
use tokio::sync::watch;

/// The time limit, which is reached only if a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(60);
const PANIC: &str = "this panic is part of the test";
/// With one connection, a connection leaked by a panic makes the next operation fail.
const OPTIONS: &str = "maxPoolSize=1&maxConnecting=1&heartbeatFrequencyMS=500&serverSelectionTimeoutMS=20000";

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Suppresses the output of the panics of the test.
fn hide_expected_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let is_ours =
                |payload: &dyn Any| payload.downcast_ref::<String>().is_some_and(|text| text == PANIC);
            if !is_ours(info.payload()) {
                print(info);
            }
        }));
    });
}

/// The name of the variant of an event.
fn kind(event: &impl Debug) -> String {
    let text = format!("{event:?}");
    let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    text[..end].to_owned()
}

type OnEvent = Arc<dyn Fn(&str) + Send + Sync>;

/// Registers listeners for all kinds of events that call this function.
fn listen(options: &mut ClientOptions, on_event: &OnEvent) {
    fn listener<E: Debug>(on_event: &OnEvent) -> Option<EventListener<E>> {
        let on_event = Arc::clone(on_event);
        Some(EventListener::new(move |event: &E| on_event(&kind(event))))
    }
    options.command_listener = listener(on_event);
    options.pool_listener = listener(on_event);
    options.sdam_listener = listener(on_event);
}

/// The kinds of events received.
#[derive(Clone)]
struct Kinds(watch::Sender<BTreeSet<String>>);

impl Kinds {
    fn new() -> Self {
        Self(watch::Sender::default())
    }

    fn add(&self, kind: &str) {
        self.0.send_if_modified(|kinds| kinds.insert(kind.to_owned()));
    }

    async fn wait_until(&self, kind: &str) {
        let mut kinds = self.0.subscribe();
        let seen = kinds.wait_for(|kinds| kinds.contains(kind));
        seen.await.expect("the sender exists");
    }
}

async fn ping(client: &Client) -> Result<(), Error> {
    let admin = client.database("admin");
    admin.run_command(doc! { "ping": 1 }).await.map(drop)
}

/// Runs commands that succeed and fail, restarts the server, and shuts the client down.
async fn work(on_event: &OnEvent, kinds: &Kinds) {
    let server = TestServer::builder().start().await.expect("a server");
    let separator = if server.uri().contains('?') { '&' } else { '?' };
    let mut options =
        ClientOptions::parse(&format!("{}{separator}{OPTIONS}", server.uri())).expect("options");
    listen(&mut options, on_event);
    let client = Client::with_options(options).expect("a client");
    let things = client.database("d").collection::<Document>("things");
    things.insert_one(&doc! { "_id": 1 }).await.expect("an answer");
    let unknown = client
        .database("d")
        .run_command(doc! { "noSuchCommand": 1 })
        .await;
    assert!(unknown.expect_err("unknown command").code().is_some());
    let waiting: Vec<_> = (0..5)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { ping(&client).await })
        })
        .collect();
    for ping in waiting {
        ping.await.expect("no panic").expect("an answer");
    }
    server.stop_member(0).await;
    kinds.wait_until("ServerHeartbeatFailed").await;
    // The event precedes the update of the topology, which clears the pool.
    kinds.wait_until("PoolCleared").await;
    server.restart_member(0).await.expect("the member restarts");
    while let Err(error) = ping(&client).await {
        assert!(error.is_unavailable(), "{error:?}");
    }
    let found = things.find_one(doc! { "_id": 1 }).await;
    found.expect("an answer");
    client.shutdown().await;
    assert!(ping(&client).await.is_err());
    kinds.wait_until("TopologyClosed").await;
    kinds.wait_until("PoolClosed").await;
}

/// Returns the kinds of events emitted by `work`, with listeners that panic at events of one kind,
/// or of all.
async fn kinds_of_work(panics: Option<&str>) -> BTreeSet<String> {
    let kinds = Kinds::new();
    let (seen, target) = (kinds.clone(), panics.map(str::to_owned));
    let on_event: OnEvent = Arc::new(move |kind| {
        seen.add(kind);
        if target
            .as_deref()
            .is_some_and(|target| target == kind || target == "all")
        {
            panic!("{PANIC}");
        }
    });
    tokio::time::timeout(TIME_LIMIT, work(&on_event, &kinds))
        .await
        .unwrap_or_else(|_| panic!("a listener that panics at {panics:?} stops the driver"));
    kinds.0.borrow().clone()
}

const KINDS: [&str; 21] = [
    "Started",
    "Succeeded",
    "Failed",
    "ConnectionCheckOutStarted",
    "ConnectionCheckedIn",
    "ConnectionCheckedOut",
    "ConnectionClosed",
    "ConnectionCreated",
    "ConnectionReady",
    "PoolCleared",
    "PoolClosed",
    "PoolCreated",
    "PoolReady",
    "ServerClosed",
    "ServerDescriptionChanged",
    "ServerHeartbeatFailed",
    "ServerHeartbeatStarted",
    "ServerHeartbeatSucceeded",
    "TopologyClosed",
    "TopologyDescriptionChanged",
    "TopologyOpening",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_of_a_listener_does_not_affect_the_driver() {
    hide_expected_panics();
    let without = kinds_of_work(None).await;
    println!("{without:?}");
    for kind in KINDS {
        assert!(without.contains(kind), "no event {kind}: {without:?}");
    }
    for kind in without.iter().map(String::as_str).chain(["all"]) {
        let with = kinds_of_work(Some(kind)).await;
        // Other kinds, such as failed check-outs, depend on when the server stops.
        assert!(!KINDS.contains(&kind) || with.contains(kind), "{kind}: {with:?}");
        assert!(
            with.contains("PoolClosed") && with.contains("TopologyClosed"),
            "{kind}: {with:?}"
        );
    }
}

/// A listener that holds the last handle of the client drops it at the first event of this kind.
fn drop_client_at(target: &'static str) {
    let (ended, end) = mpsc::channel();
    // If the thread hangs, it is not joined.
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let server = TestServer::builder().start().await.expect("a server");
            let separator = if server.uri().contains('?') { '&' } else { '?' };
            let uri = format!(
                "{}{separator}minPoolSize=1&heartbeatFrequencyMS=500",
                server.uri()
            );
            let mut options = ClientOptions::parse(&uri).expect("options");
            let kinds = Kinds::new();
            let last = Arc::<Mutex<Option<Client>>>::default();
            let (seen, handle) = (kinds.clone(), Arc::clone(&last));
            let on_event: OnEvent = Arc::new(move |kind| {
                seen.add(kind);
                if kind == target
                    && let Some(client) = lock(&handle).take()
                {
                    drop(client);
                    seen.add("(dropped)");
                }
            });
            listen(&mut options, &on_event);
            // No other task of this thread runs before the first await.
            *lock(&last) = Some(Client::with_options(options).expect("a client"));
            if matches!(
                target,
                "ServerHeartbeatFailed" | "PoolCleared" | "ConnectionClosed"
            ) {
                kinds.wait_until("ConnectionReady").await;
                server.stop_member(0).await;
            }
            kinds.wait_until("(dropped)").await;
            for kind in ["ServerClosed", "TopologyClosed", "PoolClosed"] {
                kinds.wait_until(kind).await;
            }
            server.wait_for_open_connections(0).await;
        });
        let _ = ended.send(());
    });
    let outcome = end.recv_timeout(TIME_LIMIT);
    assert!(
        outcome.is_ok(),
        "a client that is dropped at {target} does not shut down: {outcome:?}"
    );
}

#[test]
fn a_listener_may_drop_the_last_client_at_any_event() {
    for kind in [
        "ConnectionClosed",
        "ConnectionCreated",
        "ConnectionReady",
        "PoolCleared",
        "PoolReady",
        "ServerDescriptionChanged",
        "ServerHeartbeatFailed",
        "ServerHeartbeatStarted",
        "ServerHeartbeatSucceeded",
        "TopologyDescriptionChanged",
    ] {
        drop_client_at(kind);
    }
}

//! Overloaded servers (Client Backpressure specification).

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use marula_driver::{
    Client, Collection, Error, RETRYABLE_ERROR, SYSTEM_OVERLOADED_ERROR,
    bson::{Document, doc},
    event::{CommandEvent, EventListener},
    internals::fix_jitter,
    options::ClientOptions,
};
use marula_driver_tests::{Deployment, standalone};
use marula_test_server::TestServer;

const LABELS: [&str; 2] = [SYSTEM_OVERLOADED_ERROR, RETRYABLE_ERROR];

struct Overloaded {
    deployment: Deployment,
    client: Client,
    started: Arc<AtomicUsize>,
}

impl Overloaded {
    /// A server with a fail point for `command`, and a client that counts its commands of this
    /// name.
    async fn new(
        command: &'static str,
        code: i32,
        mode: Document,
        change: impl FnOnce(&mut ClientOptions),
    ) -> Self {
        Self::of(standalone().await, command, code, mode, change).await
    }

    async fn of(
        deployment: Deployment,
        command: &'static str,
        code: i32,
        mode: Document,
        change: impl FnOnce(&mut ClientOptions),
    ) -> Self {
        let started = Arc::new(AtomicUsize::new(0));
        let mut options = ClientOptions::parse(&deployment.server.uri()).expect("a URI");
        let counter = Arc::clone(&started);
        options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
            if matches!(event, CommandEvent::Started(started) if started.command_name == command) {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        }));
        fix_jitter(&mut options, 0.0);
        change(&mut options);
        let client = Client::with_options(options).expect("a client");
        let overload = doc! {
            "configureFailPoint": "failCommand", "mode": mode,
            "data": { "failCommands": [command], "errorCode": code, "errorLabels": LABELS.to_vec() },
        };
        deployment
            .client
            .database("admin")
            .run_command(overload)
            .await
            .expect("a fail point");
        Self {
            deployment,
            client,
            started,
        }
    }

    async fn always(command: &'static str, change: impl FnOnce(&mut ClientOptions)) -> Self {
        let deployment = Self::new(command, 462, doc! { "times": i32::MAX }, change);
        deployment.await
    }

    fn things(&self) -> Collection<Document> {
        self.client.database("overload").collection("things")
    }

    fn started(&self) -> usize {
        self.started.load(Ordering::SeqCst)
    }
}

fn assert_labelled(error: &Error) {
    for label in LABELS {
        assert!(error.contains_label(label), "{error:?}");
    }
}

#[tokio::test]
async fn any_command_is_retried_if_the_server_is_overloaded() {
    let twice = || doc! { "times": 2 };
    let server = Overloaded::new("update", 462, twice(), |_| {}).await;
    server
        .things()
        .update_many(doc! {}, doc! { "$set": { "a": 1 } })
        .await
        .unwrap();
    assert_eq!(server.started(), 3);
    let server = Overloaded::new("ping", 462, twice(), |_| {}).await;
    server
        .client
        .database("admin")
        .run_command(doc! { "ping": 1 })
        .await
        .unwrap();
    assert_eq!(server.started(), 3);
    let server = Overloaded::new("getMore", 462, twice(), |_| {}).await;
    let documents: Vec<Document> = (0..5).map(|n| doc! { "n": n }).collect();
    server.things().insert_many(&documents).await.unwrap();
    let cursor = server.things().find(doc! {}).batch_size(3).await.unwrap();
    assert_eq!(cursor.try_collect().await.unwrap().len(), 5);
    assert_eq!(server.started(), 3);
}

#[tokio::test]
async fn overload_errors_are_not_retried_without_retryable_error_label() {
    let server = Overloaded::always("find", |options| options.retry_reads = false).await;
    server.things().find(doc! {}).await.unwrap_err();
    assert_eq!(server.started(), 1);
    let server = Overloaded::always("insert", |options| options.retry_writes = false).await;
    server.things().insert_one(&doc! {}).await.unwrap_err();
    assert_eq!(server.started(), 1);
    for change in [
        (|options| options.retry_reads = false) as fn(&mut ClientOptions),
        |options| options.retry_writes = false,
    ] {
        let server = Overloaded::always("ping", change).await;
        server
            .client
            .database("admin")
            .run_command(doc! { "ping": 1 })
            .await
            .unwrap_err();
        assert_eq!(server.started(), 1);
    }
}

#[tokio::test]
async fn client_backpressure_prose_1() {
    let mut durations = Vec::new();
    for jitter in [0.0, 0.999_999] {
        let server = Overloaded::new("insert", 2, doc! { "times": i32::MAX }, |options| {
            fix_jitter(options, jitter);
        })
        .await;
        let begun = Instant::now();
        server.things().insert_one(&doc! { "a": 1 }).await.unwrap_err();
        durations.push(begun.elapsed());
        drop(server.deployment);
    }
    // The specification compares both durations. Only a lower bound does not depend on the load of the
    // machine; the pauses with the highest jitter are 600 ms together.
    assert!(durations[1] >= Duration::from_millis(590), "{durations:?}");
}

#[tokio::test]
async fn client_backpressure_prose_3() {
    let server = Overloaded::always("find", |_| {}).await;
    assert_labelled(&server.things().find(doc! {}).await.unwrap_err());
    assert_eq!(server.started(), 3);
}

#[tokio::test]
async fn client_backpressure_prose_4() {
    let server = Overloaded::always("find", |options| options.max_adaptive_retries = Some(1)).await;
    assert_labelled(&server.things().find(doc! {}).await.unwrap_err());
    assert_eq!(server.started(), 2);
}

/// The backoff is four times that of the specification, so that a slow machine does not affect the
/// result.
#[tokio::test]
async fn client_backpressure_prose_5() {
    let server = TestServer::builder().version("9.0.0").start().await.unwrap();
    let deployment = Deployment::of(server, "").await;
    let forever = doc! { "times": i32::MAX };
    let server = Overloaded::of(deployment, "insert", 462, forever, |options| {
        fix_jitter(options, 4.0);
    })
    .await;
    let begun = Instant::now();
    let error = server.things().insert_one(&doc! { "a": 1 }).await.unwrap_err();
    assert!(
        begun.elapsed() >= Duration::from_millis(2400),
        "{:?}",
        begun.elapsed()
    );
    assert!(
        error
            .server_response()
            .unwrap()
            .get("baseBackoffMS")
            .unwrap()
            .is_none()
    );
    let admin = server.deployment.client.database("admin");
    let set = doc! { "setParameter": 1, "externalClientBaseBackoffMS": 50 };
    admin.run_command(set).await.unwrap();
    let begun = Instant::now();
    let error = server.things().insert_one(&doc! { "a": 1 }).await.unwrap_err();
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(1200), "{took:?}");
    assert!(took < Duration::from_millis(2400), "{took:?}");
    assert_eq!(
        error.server_response().unwrap().get_i32("baseBackoffMS").ok(),
        Some(50)
    );
    assert_labelled(&error);
}

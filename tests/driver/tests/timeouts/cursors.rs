//! Cursors.

use std::time::Duration;

use futures_util::StreamExt;
use marula_driver::{bson::doc, options::CursorType};
use marula_driver_tests::{Deployment, RecordedClient, recorded, replica_set, standalone};
use marula_test_server::TestServer;

use super::{BLOCKED_MS, block, names, times_out};

/// A capped collection with one document.
async fn capped(options: &str) -> RecordedClient {
    let tested = recorded(standalone().await, options);
    let things = tested.things();
    let database = tested.deployment.client.database(things.database().name());
    let created = database.create_collection("things").capped(true).size(1 << 20);
    created.await.expect("a collection");
    things.insert_one(&doc! { "x": 1 }).await.expect("stored");
    let _ = tested.commands.take();
    tested
}

/// With longer times than in the specification. On a loaded machine, the second getMore may not be sent within 400 ms of
/// the first reply: then the test is repeated.
#[tokio::test]
async fn client_side_operations_timeout_prose_5a() {
    let tested = capped("timeoutMS=1000").await;
    let things = tested.things();
    block(&tested.deployment.client, &["getMore"], 0, 600, "").await;
    let unlimited = things.with_timeout(Duration::ZERO);
    repeated(async || {
        let _ = tested.commands.take();
        let find = unlimited.find(doc! {}).cursor_type(CursorType::Tailable);
        let mut cursor = find.timeout(Duration::from_secs(1)).await.ok()?;
        assert!(cursor.advance().await.unwrap());
        times_out(cursor.advance()).await;
        (sent(&tested) == "find getMore getMore").then_some(())
    })
    .await;
}

/// The names of the commands, without the `killCursors` of the attempt before, which is sent in the background.
fn sent(tested: &RecordedClient) -> String {
    let commands = tested.commands.commands();
    let mut names = names(&commands);
    names.retain(|name| *name != "killCursors");
    names.join(" ")
}

/// Runs a test until it was not disturbed by the load of the machine.
async fn repeated(test: impl AsyncFn() -> Option<()>) {
    let undisturbed = async { while test().await.is_none() {} };
    tokio::time::timeout(super::TIME_LIMIT, undisturbed)
        .await
        .expect("the expected commands are sent");
}

/// With longer times than in the specification, as [`client_side_operations_timeout_prose_5a`].
#[tokio::test]
async fn client_side_operations_timeout_prose_5b() {
    let deployment = replica_set().await;
    let tested = recorded(deployment, "timeoutMS=1000");
    let things = tested.things();
    let database = tested.deployment.client.database(things.database().name());
    database.create_collection("things").await.unwrap();
    block(&tested.deployment.client, &["getMore"], 0, 600, "").await;
    repeated(async || {
        let _ = tested.commands.take();
        // Otherwise the server would wait for longer than the time limit.
        let watch = things.watch().max_await_time(Duration::from_millis(1));
        let mut changes = watch.await.ok()?;
        assert!(changes.is_alive());
        times_out(changes.try_next()).await;
        assert!(changes.is_alive(), "the next call resumes");
        sent(&tested)
            .starts_with("aggregate getMore getMore")
            .then_some(())
    })
    .await;
}

/// Each call has the whole time limit, however many calls have returned no document.
#[tokio::test]
async fn each_call_of_a_tailable_cursor_has_the_whole_time_limit() {
    let tested = capped("timeoutMS=4000").await;
    let things = tested.things();
    let find = things.find(doc! {}).cursor_type(CursorType::Tailable);
    let mut cursor = find.await.unwrap();
    assert!(cursor.next_batch().await.unwrap().is_some());
    block(&tested.deployment.client, &["getMore"], 2, 2_100, "").await;
    // The two calls take longer than the time limit.
    for _ in 0..2 {
        let batch = cursor.next_batch().await.unwrap().expect("the cursor is open");
        assert_eq!(batch.documents().count(), 0);
    }

    let find = things.find(doc! {}).cursor_type(CursorType::Tailable);
    let mut cursor = find.await.unwrap();
    assert!(cursor.next_if_any().await.unwrap().is_some());
    block(&tested.deployment.client, &["getMore"], 1, 2_100, "").await;
    assert!(cursor.next_if_any().await.unwrap().is_none());
    block(&tested.deployment.client, &["getMore"], 1, 2_100, "").await;
    let second = doc! { "x": 2 };
    let (next, stored) = tokio::join!(cursor.next(), things.insert_one(&second).into_future());
    stored.unwrap();
    assert_eq!(next.unwrap().unwrap().get_i32("x").unwrap(), 2);
}

/// `killCursors` in the background has a time limit that starts when it is sent.
#[tokio::test]
async fn a_dropped_close_leaves_no_cursor() {
    let tested = recorded(standalone().await, "timeoutMS=2000&maxPoolSize=1");
    let things = tested.things();
    let documents: Vec<_> = (0..4).map(|n| doc! { "_id": n }).collect();
    things.insert_many(&documents).await.unwrap();
    let cursor = things.find(doc! {}).batch_size(2).await.unwrap();
    block(&tested.deployment.client, &["ping"], 1, 2_500, "").await;
    let database = things.database();
    let occupant = database
        .run_command(doc! { "ping": 1 })
        .timeout(Duration::from_millis(BLOCKED_MS.unsigned_abs().into()));
    let close = async {
        // The only connection is in use until the time limit of this call has expired.
        let closed = tokio::time::timeout(Duration::from_millis(1_000), cursor.close());
        let _ = closed.await;
    };
    let (occupied, ()) = tokio::join!(occupant.into_future(), close);
    occupied.unwrap();
    let server = tested
        .deployment
        .in_process("killed cursors")
        .expect("a test server");
    let killed = server.wait_for_command("killCursors", 1);
    tokio::time::timeout(super::TIME_LIMIT, killed).await.unwrap();
}

/// Behind a load balancer, only the pinned connection leads to the server of the cursor. The late
/// reply to the getMore is awaited on it.
#[tokio::test]
async fn a_pinned_cursor_is_closed_after_a_timeout() {
    let server = TestServer::builder().load_balanced().start().await.unwrap();
    let tested = recorded(Deployment::of(server, "").await, "timeoutMS=3000&maxPoolSize=1");
    let things = tested.things();
    let all = [doc! { "x": 1 }, doc! { "x": 2 }, doc! { "x": 3 }];
    things.insert_many(&all).await.unwrap();
    // On the connection of the cursor, and so on its server.
    block(&tested.client, &["getMore"], 1, 4_500, "").await;
    let mut cursor = things.find(doc! {}).batch_size(2).await.unwrap();
    let _ = tested.commands.take();
    times_out(async {
        while cursor.advance().await? {}
        Ok(())
    })
    .await;
    cursor.close().await;
    assert_eq!(names(&tested.commands.commands()), ["getMore", "killCursors"]);
}

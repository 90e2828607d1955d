//! Cursors whose server is gone: nothing waits for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use marula_driver::{
    Client,
    bson::{Document, doc},
};
use marula_driver_tests::{Answer, Request, ScriptedServer};

use super::replies::{CURSOR, documents, first_batch};

/// The time limit, which is reached only if a test fails. Server selection waits longer.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// A server that closes the connection of this command, and afterwards every connection.
async fn dying(
    command: &'static str,
    mut answer: impl FnMut(&Request) -> Answer + Send + 'static,
) -> (ScriptedServer, Client) {
    let is_dead = Arc::new(AtomicBool::new(false));
    let server = ScriptedServer::start(doc! {}, move |request| {
        if request.name() == command {
            is_dead.store(true, Ordering::SeqCst);
        }
        if is_dead.load(Ordering::SeqCst) {
            Answer::Close
        } else {
            answer(request)
        }
    })
    .await;
    let options = "serverSelectionTimeoutMS=600000&retryReads=false&serverMonitoringMode=poll";
    let client = Client::connect(server.uri(options)).await.expect("a client");
    (server, client)
}

#[tokio::test]
async fn a_client_bulk_write_does_not_wait_to_kill_its_results_cursor() {
    let (server, client) = dying("getMore", |request| match request.name() {
        "bulkWrite" => Answer::Reply(doc! {
            "ok": 1, "nErrors": 0, "nInserted": 2, "nMatched": 0, "nModified": 0, "nUpserted": 0, "nDeleted": 0,
            "cursor": { "id": CURSOR, "ns": "admin.$cmd.bulkWrite", "firstBatch": [{ "ok": 1, "idx": 0, "n": 1 }] },
        }),
        _ => Answer::Success,
    })
    .await;
    let things = client.database("d").collection::<Document>("c");
    let models = [1, 2].map(|id| things.insert_one_model(&doc! { "_id": id }));
    let write = client.bulk_write(models).verbose_results(true).into_future();
    let written = tokio::time::timeout(TIME_LIMIT, write).await;
    let error = written
        .expect("does not wait for the server")
        .expect_err("no results");
    assert!(error.is_unavailable(), "{error:?}");
    assert_eq!(server.requests_named("getMore").len(), 1);
}

#[tokio::test]
async fn closing_a_cursor_does_not_wait_for_its_server() {
    let (_server, client) = dying("ping", |request| match request.name() {
        "find" => first_batch(CURSOR, documents(2)),
        _ => Answer::Success,
    })
    .await;
    let database = client.database("d");
    let things = database.collection::<Document>("c");
    let cursor = things.find(doc! {}).await.expect("a cursor");
    let stream = things.find(doc! {}).await.expect("a cursor");
    let error = database.run_command(doc! { "ping": 1 }).await.expect_err("gone");
    assert!(error.is_network(), "{error:?}");
    tokio::time::timeout(TIME_LIMIT, cursor.close())
        .await
        .expect("does not wait");
    tokio::time::timeout(TIME_LIMIT, stream.close_within(Duration::ZERO))
        .await
        .expect("does not wait");
}

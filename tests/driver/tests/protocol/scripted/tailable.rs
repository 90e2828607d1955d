//! Tailable cursors: empty batches that do not end the cursor.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::{FutureExt, StreamExt};
use marula_driver::{
    Client, Cursor,
    bson::{Document, doc},
    options::CursorType,
};
use marula_driver_tests::{Answer, ScriptedServer, standalone};

use super::replies::{CURSOR, documents, first_batch, next_batch};

/// A server that replies to each getMore immediately, with an empty batch until `has_document` is
/// set.
async fn with_empty_batches() -> (ScriptedServer, Arc<AtomicBool>) {
    let has_document = Arc::new(AtomicBool::new(false));
    let given = Arc::clone(&has_document);
    let server = ScriptedServer::start(doc! {}, move |request| match request.name() {
        "find" => first_batch(CURSOR, documents(1)),
        "getMore" => next_batch(CURSOR, documents(i32::from(given.swap(false, Ordering::SeqCst)))),
        _ => Answer::Success,
    })
    .await;
    (server, has_document)
}

/// A tailable cursor whose first batch has been read.
async fn tail(server: &ScriptedServer, wait: Option<Duration>) -> Cursor<Document> {
    let client = Client::connect(server.uri("")).await.expect("a client");
    let database = client.database("d");
    let mut open = database.run_cursor_command(doc! { "find": "c", "tailable": true });
    if let Some(wait) = wait {
        open = open.max_await_time(wait);
    }
    let mut cursor = open.await.expect("a cursor");
    assert!(cursor.advance().await.expect("a document"));
    cursor
}

#[tokio::test]
async fn next_if_any_returns_none_for_an_empty_batch() {
    let (server, has_document) = with_empty_batches().await;
    let mut cursor = tail(&server, None).await;
    for round in 0..4 {
        let asked = server.requests_named("getMore").len();
        assert_eq!(
            cursor.next_if_any().await.expect("an empty batch"),
            None,
            "{round}"
        );
        assert!(!cursor.is_exhausted());
        has_document.store(true, Ordering::SeqCst);
        assert!(cursor.advance_if_any().await.expect("a document"));
        assert!(cursor.current().is_ok());
        assert_eq!(server.requests_named("getMore").len(), asked + 2, "one each");
    }
}

/// The times are lower bounds, so the test does not depend on the speed of the machine.
#[tokio::test]
async fn next_pauses_between_get_mores_with_empty_batches() {
    let (server, has_document) = with_empty_batches().await;
    let mut cursor = tail(&server, None).await;
    let begun = Instant::now();
    {
        let mut next = Box::pin(cursor.try_next());
        tokio::select! {
            next = &mut next => panic!("{next:?}"),
            _ = server.wait_for("getMore", 5) => {}
        }
    }
    assert!(begun.elapsed() >= Duration::from_millis(10 + 20 + 40 + 80));
    drop(cursor);
    // The same as a stream.
    let mut cursor = tail(&server, None).await;
    let asked = server.requests_named("getMore").len();
    let begun = Instant::now();
    tokio::select! {
        next = cursor.next() => panic!("{next:?}"),
        _ = server.wait_for("getMore", asked + 5) => {}
    }
    assert!(begun.elapsed() >= Duration::from_millis(10 + 20 + 40 + 80));
    // A call of next that was dropped during a pause has lost no document.
    has_document.store(true, Ordering::SeqCst);
    assert!(cursor.next().await.expect("a document").is_ok());
}

/// The loop in the documentation of `next_if_any`.
#[tokio::test]
async fn next_if_any_pauses_between_get_mores_with_empty_batches() {
    let (server, _) = with_empty_batches().await;
    let mut cursor = tail(&server, None).await;
    let begun = Instant::now();
    while !cursor.is_exhausted() && server.requests_named("getMore").len() < 5 {
        assert_eq!(cursor.next_if_any().await.expect("nothing"), None);
    }
    assert_eq!(server.requests_named("getMore").len(), 5);
    assert!(begun.elapsed() >= Duration::from_millis(10 + 20 + 40 + 80));
}

#[tokio::test]
async fn dropping_advance_during_a_pause_keeps_the_cursor() {
    let (server, has_document) = with_empty_batches().await;
    loop {
        let mut cursor = tail(&server, None).await;
        // Each of them makes the pause before the next getMore longer.
        for _ in 0..4 {
            assert!(!cursor.advance_if_any().await.expect("nothing"));
        }
        let begun = Instant::now();
        assert!(!cursor.advance_if_any().await.expect("nothing"));
        // The pause begins when the getMore is sent, at most 80 ms (its own pause) after `begun`.
        assert!(cursor.advance().now_or_never().is_none());
        assert!(cursor.advance_if_any().now_or_never().is_none());
        if begun.elapsed() < Duration::from_millis(160) {
            // Both futures were dropped during the pause.
            has_document.store(true, Ordering::SeqCst);
            assert!(cursor.advance().await.expect("not ended"));
            return;
        }
    }
}

/// The bound is far above the duration of the exchange, and far below that of pauses.
#[tokio::test]
async fn await_data_cursors_do_not_pause() {
    let (server, _) = with_empty_batches().await;
    let mut cursor = tail(&server, Some(Duration::from_millis(1))).await;
    let begun = Instant::now();
    let mut next = Box::pin(cursor.try_next());
    tokio::select! {
        next = &mut next => panic!("{next:?}"),
        _ = server.wait_for("getMore", 60) => {}
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_tailable_cursor_follows_a_capped_collection() {
    let deployment = standalone().await;
    let database = deployment.database();
    database
        .run_command(doc! { "create": "log", "capped": true, "size": 4096 })
        .await
        .expect("created");
    let log = database.collection::<Document>("log");
    log.insert_one(&doc! { "_id": 1 }).await.expect("stored");
    let mut cursor = database
        .run_cursor_command(doc! { "find": "log", "tailable": true })
        .await
        .expect("a cursor");
    assert_eq!(
        cursor.next_if_any().await.expect("the first"),
        Some(doc! { "_id": 1 })
    );
    assert_eq!(cursor.next_if_any().await.expect("nothing"), None);
    log.insert_one(&doc! { "_id": 2 }).await.expect("stored");
    assert_eq!(
        cursor.next_if_any().await.expect("the second"),
        Some(doc! { "_id": 2 })
    );
    let (next, stored) = tokio::join!(cursor.try_next(), async {
        deployment.server.wait_for_command("getMore", 4).await;
        log.insert_one(&doc! { "_id": 3 }).await
    });
    stored.expect("stored");
    assert_eq!(next.expect("a document"), Some(doc! { "_id": 3 }));
}

#[tokio::test]
async fn an_exhausted_cursor_returns_no_later_documents() {
    let deployment = standalone().await;
    let things = deployment.collection::<Document>();
    things
        .insert_many(&[doc! { "_id": 1 }, doc! { "_id": 2 }])
        .await
        .expect("stored");
    let mut cursor = things.find(doc! {}).batch_size(1).await.expect("a cursor");
    let mut read = 0;
    while !cursor.is_exhausted() {
        read += usize::from(cursor.next_if_any().await.expect("no error").is_some());
    }
    assert_eq!(read, 2);
    assert_eq!(cursor.next_if_any().await.expect("the end"), None);
}

#[tokio::test]
async fn the_batch_of_a_tailable_cursor_can_be_empty() {
    let (server, has_document) = with_empty_batches().await;
    let client = Client::connect(server.uri("")).await.expect("a client");
    let things = client.database("d").collection::<Document>("c");
    let mut cursor = things
        .find(doc! {})
        .cursor_type(CursorType::TailableAwait)
        .max_await_time(Duration::from_millis(5))
        .await
        .expect("a cursor");
    let batch = cursor.next_batch().await.expect("a batch").expect("the first");
    assert_eq!(batch.documents().count(), 1);
    let batch = cursor
        .next_batch()
        .await
        .expect("a batch")
        .expect("an empty batch");
    assert!(batch.is_empty() && batch.documents().next().is_none());
    has_document.store(true, Ordering::SeqCst);
    let batch = cursor.next_batch().await.expect("a batch").expect("a batch");
    assert_eq!(batch.documents().count(), 1);
    let find = server.requests_named("find").pop().expect("a find");
    assert!(find.command.get_bool("tailable").expect("a flag"));
    assert!(find.command.get_bool("awaitData").expect("a flag"));
    assert!(!find.command.contains_key("maxTimeMS"));
    let asked = server.requests_named("getMore").pop().expect("a getMore");
    assert_eq!(asked.command.get_i64("maxTimeMS").expect("a limit"), 5);
}

#[tokio::test]
async fn max_await_time_is_sent_for_cursors_that_await_data_only() {
    let (server, has_document) = with_empty_batches().await;
    has_document.store(true, Ordering::SeqCst);
    let client = Client::connect(server.uri("")).await.expect("a client");
    let things = client.database("d").collection::<Document>("c");
    let find = things.find(doc! {}).cursor_type(CursorType::Tailable);
    let mut cursor = find
        .max_await_time(Duration::from_millis(5))
        .await
        .expect("a cursor");
    assert!(cursor.advance().await.expect("a document"));
    assert!(cursor.advance().await.expect("a document"));
    let find = server.requests_named("find").pop().expect("a find");
    assert!(find.command.get_bool("tailable").expect("a flag"));
    assert!(!find.command.contains_key("awaitData"));
    let asked = server.requests_named("getMore").pop().expect("a getMore");
    assert!(!asked.command.contains_key("maxTimeMS"));
}

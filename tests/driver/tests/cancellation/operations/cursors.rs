//! Dropping cursors and the futures that read from them.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::{FutureExt, StreamExt};
use marula_driver::{
    Client, ErrorKind,
    bson::{Document, doc},
};
use marula_driver_tests::{
    polling::{Held, poll_times, run_for_pieces},
    proxy::Action,
};

use super::harness::{self, Case, Harness};

/// The number of open cursors on the server.
async fn open_cursors(harness: &Harness) -> i64 {
    let admin = harness.direct.database("admin");
    let status = admin
        .run_command(doc! { "serverStatus": 1 })
        .await
        .expect("a status");
    let cursors = status
        .get_document("metrics")
        .and_then(|metrics| metrics.get_document("cursor"));
    let open = cursors.and_then(|cursor| cursor.get_document("open"));
    open.and_then(|open| open.get_i64("total")).expect("a number")
}

/// When a reader is dropped.
enum Dropped {
    AtEveryPoll,
    /// The getMore runs in a task, which is not polled by the reader.
    AtEveryPiece,
}

/// Drops a reader of a cursor of three batches while getMore is in flight, and expects every cursor
/// to be killed.
async fn cursors_are_killed(
    dropped: Dropped,
    read: fn(harness::Round, Arc<AtomicUsize>) -> harness::Running,
) {
    let harness = Harness::start().await;
    let (opened, finished) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counter, done) = (Arc::clone(&opened), Arc::clone(&finished));
    let started = Arc::new(AtomicUsize::new(0));
    let begun = Arc::clone(&started);
    let case = Case::new("getMore", move |round| {
        let (running, done) = (read(round, Arc::clone(&counter)), Arc::clone(&done));
        let begun = Arc::clone(&begun);
        async move {
            begun.fetch_add(1, Ordering::SeqCst);
            running.await?;
            done.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    });
    match dropped {
        Dropped::AtEveryPoll => harness.drop_at_every_poll(case).await,
        Dropped::AtEveryPiece => {
            // Not after the last: whether the cursor ended before it was dropped is then unknown.
            harness.drop_at_every_piece(case, 2 * harness::PIECES).await;
        }
    }
    let started = started.load(Ordering::SeqCst);
    assert_eq!(
        started - opened.load(Ordering::SeqCst),
        1,
        "one find was dropped: the cursor in its late reply is killed, too"
    );
    let killed = started - finished.load(Ordering::SeqCst);
    assert!(killed > 6, "the getMore was dropped at several polls");
    harness.server.wait_for_command("killCursors", killed).await;
    // There is one connection, so this reply arrives after that of the last killCursors.
    harness.probe().await;
    assert_eq!(
        harness.server.commands_seen("killCursors"),
        killed,
        "no cursor is killed twice"
    );
    assert_eq!(open_cursors(&harness).await, 0);
}

#[tokio::test]
async fn a_cursor_dropped_during_advance_is_killed() {
    cursors_are_killed(Dropped::AtEveryPoll, |round, opened| {
        Box::pin(async move {
            let mut cursor = round.things.find(doc! {}).batch_size(2).await?;
            opened.fetch_add(1, Ordering::SeqCst);
            while cursor.advance().await? {}
            Ok(())
        })
    })
    .await;
}

#[tokio::test]
async fn a_cursor_dropped_during_try_next_is_killed() {
    cursors_are_killed(Dropped::AtEveryPoll, |round, opened| {
        Box::pin(async move {
            let mut cursor = round.things.find(doc! {}).batch_size(2).await?;
            opened.fetch_add(1, Ordering::SeqCst);
            while cursor.try_next().await?.is_some() {}
            Ok(())
        })
    })
    .await;
}

#[tokio::test]
async fn a_cursor_dropped_as_a_stream_is_killed() {
    cursors_are_killed(Dropped::AtEveryPiece, |round, opened| {
        Box::pin(async move {
            let mut cursor = round
                .things
                .aggregate([doc! { "$sort": { "_id": 1 } }])
                .batch_size(2)
                .await?;
            opened.fetch_add(1, Ordering::SeqCst);
            while let Some(document) = cursor.next().await {
                document?;
            }
            Ok(())
        })
    })
    .await;
}

#[tokio::test]
async fn the_results_cursor_of_a_dropped_client_bulk_write_is_killed() {
    let harness = Harness::start().await;
    harness
        .drop_at_every_poll(
            Case::new("getMore", |round| async move {
                // The results do not fit into one batch.
                let models = ["a", "b"].map(|letter| {
                    let filter = doc! { "_id": letter.repeat(8 << 20) };
                    round
                        .things
                        .update_one_model(filter, doc! { "$set": { "x": 1 } })
                        .upsert(true)
                });
                let client = round.database.client();
                let done = client.bulk_write(models).verbose_results(true).await?;
                let results = done.verbose_results.expect("requested");
                assert_eq!(results.update_results.len(), 2);
                Ok(())
            })
            .with_large_request(),
        )
        .await;
    harness
        .server
        .wait_for_command("killCursors", harness::PIECES)
        .await;
}

#[tokio::test]
async fn dropping_next_of_a_stream_loses_no_document() {
    let harness = Harness::start().await;
    for pieces in 0..=2 * harness::PIECES {
        let round = harness.next_round().await;
        harness.hold("getMore");
        let mut cursor = round
            .things
            .find(doc! {})
            .sort(doc! { "_id": 1 })
            .batch_size(2)
            .await
            .expect("a cursor");
        let mut ids = Vec::new();
        let mut left = pieces;
        loop {
            // The future is dropped after each piece.
            let next = run_for_pieces(Box::pin(cursor.next()), left.min(1), &harness.proxy).await;
            let document = match next {
                Some(document) => document,
                None if left > 0 => {
                    left -= 1;
                    continue;
                }
                None => {
                    harness.pass_everything();
                    cursor.next().await
                }
            };
            match document {
                Some(document) => ids.push(document.expect("a document").get_i32("_id").expect("an id")),
                None => break,
            }
        }
        assert_eq!(ids, [1, 2, 3, 4, 5], "dropped after {pieces} pieces");
        harness.settle().await;
    }
}

/// While the stream is not polled, its getMore completes, and gives its connection back.
#[tokio::test]
async fn a_stream_that_is_not_polled_holds_no_connection() {
    let harness = Harness::start().await;
    let round = harness.next_round().await;
    let mut cursor = round.things.find(doc! {}).batch_size(2).await.expect("a cursor");
    for _ in 0..2 {
        cursor.next().await.expect("an item").expect("a document");
    }
    assert!(cursor.next().now_or_never().is_none(), "a getMore is running");
    // There is one connection.
    harness.probe().await;
    let rest: Vec<_> = cursor
        .map(|document| document.expect("a document"))
        .collect()
        .await;
    assert_eq!(rest.len(), 3);
    harness.settle().await;
}

/// The reply to the running getMore is not awaited, and killCursors is.
#[tokio::test]
async fn closing_a_stream_cancels_its_get_more() {
    let harness = Harness::start().await;
    let round = harness.next_round().await;
    let mut cursor = round.things.find(doc! {}).batch_size(2).await.expect("a cursor");
    for _ in 0..2 {
        cursor.next().await.expect("an item").expect("a document");
    }
    harness.proxy.set_rule(|exchange| {
        if exchange.command == "getMore" {
            Action::Hang
        } else {
            Action::Pass
        }
    });
    assert!(cursor.next().now_or_never().is_none(), "a getMore is running");
    harness.server.wait_for_command("getMore", 1).await;
    tokio::time::timeout(harness::TIME_LIMIT, cursor.close())
        .await
        .expect("nothing is awaited but killCursors");
    assert_eq!(harness.server.commands_seen("killCursors"), 1);
    assert_eq!(open_cursors(&harness).await, 0);
}

#[tokio::test]
async fn dropping_advance_ends_the_cursor_with_an_error() {
    let harness = Harness::start().await;
    let round = harness.next_round().await;
    harness.hold("getMore");
    let mut cursor = round.things.find(doc! {}).batch_size(2).await.expect("a cursor");
    assert!(cursor.advance().await.expect("a document") && cursor.advance().await.expect("a document"));
    let dropped = poll_times(Box::pin(cursor.advance()), 2, &harness.proxy, Held::OfTheFuture).await;
    assert!(dropped.is_none());
    harness.pass_everything();
    let error = cursor.advance().await.expect_err("three documents are missing");
    assert!(matches!(error.kind(), ErrorKind::CursorInterrupted), "{error}");
    assert!(
        !cursor.advance().await.expect("the end"),
        "the error is returned once"
    );
    drop(cursor);
    harness.server.wait_for_command("killCursors", 1).await;
    harness.settle().await;
}

#[tokio::test]
async fn a_cursor_dropped_on_a_thread_without_a_runtime_is_killed() {
    let harness = Harness::start().await;
    let round = harness.next_round().await;
    let cursor = round.things.find(doc! {}).batch_size(2).await.expect("a cursor");
    std::thread::spawn(move || drop(cursor)).join().expect("no panic");
    let killed = harness.server.wait_for_command("killCursors", 1);
    tokio::time::timeout(harness::TIME_LIMIT, killed)
        .await
        .expect("the cursor is killed");
    harness.settle().await;
}

/// The getMore of a stream runs on the runtime of the client, which was shut down.
#[tokio::test]
async fn a_stream_ends_with_an_error_after_the_runtime_of_its_client() {
    let harness = Harness::start().await;
    let round = harness.next_round().await;
    let (uri, namespace) = (harness.server.uri(), round.things.namespace().clone());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let opened = runtime.spawn(async move {
        let client = Client::connect(uri).await?;
        let things = client
            .database(&namespace.database)
            .collection::<Document>(&namespace.collection);
        things.find(doc! {}).batch_size(2).await
    });
    let mut cursor = opened.await.expect("no panic").expect("a cursor");
    runtime.shutdown_background();
    for _ in 0..2 {
        cursor.next().await.expect("an item").expect("a document");
    }
    let error = cursor.next().await.expect("an item").expect_err("no runtime");
    assert!(matches!(error.kind(), ErrorKind::Shutdown), "{error:?}");
    assert!(cursor.next().await.is_none());
    cursor.close().await;
}

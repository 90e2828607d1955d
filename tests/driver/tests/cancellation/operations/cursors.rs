//! Dropping cursors and the futures that read from them.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::StreamExt;
use marula_driver::{ErrorKind, bson::doc};
use marula_driver_tests::polling::{Held, poll_times};

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

/// Drops a reader of a cursor of three batches while getMore is in flight, and expects every cursor
/// to be killed.
async fn cursors_are_killed(read: fn(harness::Round, Arc<AtomicUsize>) -> harness::Running) {
    let harness = Harness::start().await;
    let (opened, finished) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counter, done) = (Arc::clone(&opened), Arc::clone(&finished));
    let started = Arc::new(AtomicUsize::new(0));
    let begun = Arc::clone(&started);
    harness
        .drop_at_every_poll(Case::new("getMore", move |round| {
            let (running, done) = (read(round, Arc::clone(&counter)), Arc::clone(&done));
            let begun = Arc::clone(&begun);
            async move {
                begun.fetch_add(1, Ordering::SeqCst);
                running.await?;
                done.fetch_add(1, Ordering::SeqCst);
                Ok(())
            }
        }))
        .await;
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
    cursors_are_killed(|round, opened| {
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
    cursors_are_killed(|round, opened| {
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
    cursors_are_killed(|round, opened| {
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
    for polls in 0.. {
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
        let mut dropped = false;
        loop {
            let next = poll_times(Box::pin(cursor.next()), polls, &harness.proxy, Held::OfTheFuture).await;
            let document = match next {
                Some(document) => document,
                None => {
                    dropped = true;
                    harness.proxy.pass_everything();
                    let mut next = pin!(cursor.next());
                    loop {
                        tokio::select! {
                            document = &mut next => break document,
                            () = harness.proxy.release() => {}
                        }
                    }
                }
            };
            match document {
                Some(document) => ids.push(document.expect("a document").get_i32("_id").expect("an id")),
                None => break,
            }
        }
        assert_eq!(ids, [1, 2, 3, 4, 5], "dropped after {polls} polls");
        harness.settle().await;
        if !dropped {
            assert!(polls > harness::PIECES, "{polls}");
            return;
        }
    }
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
    assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error}");
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

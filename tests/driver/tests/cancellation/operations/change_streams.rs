//! Dropping the futures that read from a change stream.

use std::time::Duration;

use futures_util::FutureExt;
use marula_driver::{
    Client,
    bson::{Document, doc},
    internals::wait_until_idle,
};
use marula_driver_tests::{Proxy, polling::run_for_pieces, proxy::Action, replica_set};

use super::harness::{ENDS, PIECES, TIME_LIMIT};

/// The next event continues with the getMore whose future was dropped.
#[tokio::test]
async fn dropping_next_of_a_change_stream_at_every_piece_loses_no_event() {
    let deployment = replica_set().await;
    let primary = deployment.server.primary().expect("a primary");
    let proxy = Proxy::start(primary).await;
    let client = Client::connect(proxy.uri("maxPoolSize=1&directConnection=true"))
        .await
        .expect("a client");
    for pieces in 0..=2 * PIECES {
        let things = deployment.collection::<Document>();
        let watched = client
            .database(things.database().name())
            .collection::<Document>("things");
        let mut changes = watched.watch().batch_size(2).await.expect("a stream");
        let all: Vec<Document> = (1..=5).map(|id| doc! { "_id": id }).collect();
        things.insert_many(&all).await.expect("stored");
        proxy.set_rule(|exchange| {
            if exchange.command == "getMore" {
                Action::Stepwise(ENDS.to_vec())
            } else {
                Action::Pass
            }
        });
        let (mut ids, mut left) = (Vec::new(), pieces);
        while ids.len() < all.len() {
            // The future is dropped after each piece.
            let next = run_for_pieces(Box::pin(changes.try_next()), left.min(1), &proxy).await;
            let event = match next {
                Some(event) => event,
                None if left > 0 => {
                    left -= 1;
                    continue;
                }
                None => {
                    proxy.pass_everything();
                    proxy.end_waits();
                    changes.try_next().await
                }
            };
            let event = event.expect("no error").expect("an event");
            ids.push(event.document_key.expect("a key").get_i32("_id").expect("an id"));
        }
        assert_eq!(ids, [1, 2, 3, 4, 5], "dropped after {pieces} pieces");
        proxy.pass_everything();
        proxy.end_waits();
        changes.close().await;
        assert_eq!(
            deployment.server.commands_seen("aggregate"),
            pieces + 1,
            "nothing is resumed"
        );
    }
}

/// There is one connection. The getMore of a stream that is not polled completes, and gives it back.
#[tokio::test]
async fn a_change_stream_that_is_not_polled_holds_no_connection() {
    let deployment = replica_set().await;
    let client = deployment.client_with("maxPoolSize=1").await;
    let things = client.database("shop").collection::<Document>("things");
    let mut changes = things
        .watch()
        .max_await_time(Duration::from_millis(10))
        .await
        .expect("a stream");
    for id in 0..5 {
        // A getMore is running, or waits for the connection.
        assert!(changes.try_next().now_or_never().is_none());
        things.insert_one(&doc! { "_id": id }).await.expect("stored");
        let event = changes.try_next().await.expect("no error").expect("an event");
        assert_eq!(event.document_key, Some(doc! { "_id": id }));
    }
}

/// A resume whose future was dropped is continued by the next call.
#[tokio::test]
async fn dropping_a_resume_at_every_piece_loses_no_event() {
    let deployment = replica_set().await;
    let primary = deployment.server.primary().expect("a primary");
    let proxy = Proxy::start(primary).await;
    let client = Client::connect(proxy.uri("maxPoolSize=1&directConnection=true"))
        .await
        .expect("a client");
    // The server still has the cursor, so the stream kills it before it resumes.
    let fail = doc! {
        "configureFailPoint": "failCommand",
        "mode": { "times": 1 },
        "data": {
            "failCommands": ["getMore"],
            "errorCode": 8000,
            "errorLabels": ["ResumableChangeStreamError"],
        },
    };
    for pieces in 0.. {
        let things = deployment.collection::<Document>();
        let watched = client
            .database(things.database().name())
            .collection::<Document>("things");
        let mut changes = watched.watch().await.expect("a stream");
        things.insert_one(&doc! { "_id": 1 }).await.expect("stored");
        let first = changes.try_next().await.expect("no error").expect("an event");
        assert_eq!(first.document_key, Some(doc! { "_id": 1 }));
        let opened = deployment.server.commands_seen("aggregate");
        client
            .database("admin")
            .run_command(fail.clone())
            .await
            .expect("a fail point");
        things.insert_one(&doc! { "_id": 2 }).await.expect("stored");
        proxy.set_rule(|exchange| match exchange.command {
            "aggregate" | "killCursors" => Action::Stepwise(ENDS.to_vec()),
            _ => Action::Pass,
        });
        let next = Box::pin(changes.try_next());
        let event = run_for_pieces(next, pieces, &proxy).await;
        proxy.pass_everything();
        proxy.end_waits();
        let is_done = event.is_some();
        let event = match event {
            Some(event) => event,
            None => changes.try_next().await,
        };
        let event = event.expect("no error").expect("an event");
        assert_eq!(
            event.document_key,
            Some(doc! { "_id": 2 }),
            "dropped after {pieces} pieces"
        );
        changes.close().await;
        let resumed = deployment.server.commands_seen("aggregate") - opened;
        assert_eq!(resumed, 1, "the resume is continued, not repeated");
        tokio::time::timeout(TIME_LIMIT, wait_until_idle(&client))
            .await
            .expect("nothing is in flight");
        if is_done {
            assert!(pieces >= PIECES, "{pieces}");
            return;
        }
    }
}

//! Dropping the futures that read from a change stream.

use std::pin::pin;

use marula_driver::{
    Client,
    bson::{Document, doc},
    internals::wait_until_idle,
};
use marula_driver_tests::{
    Proxy,
    polling::{Held, poll_times},
    proxy::Action,
    replica_set,
};

use super::harness::{ENDS, PIECES, TIME_LIMIT};

/// The next event continues with the getMore whose future was dropped.
#[tokio::test]
async fn dropping_next_of_a_change_stream_at_every_poll_loses_no_event() {
    let deployment = replica_set().await;
    let primary = deployment.server.primary().expect("a primary");
    let proxy = Proxy::start(primary).await;
    let client = Client::connect(proxy.uri("maxPoolSize=1&directConnection=true"))
        .await
        .expect("a client");
    for polls in 0.. {
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
        let (mut ids, mut dropped) = (Vec::new(), false);
        while ids.len() < all.len() {
            let next = Box::pin(changes.try_next());
            let event = match poll_times(next, polls, &proxy, Held::OfTheFuture).await {
                Some(event) => event,
                None => {
                    dropped = true;
                    proxy.pass_everything();
                    let mut next = pin!(changes.try_next());
                    loop {
                        tokio::select! {
                            event = &mut next => break event,
                            () = proxy.release() => {}
                        }
                    }
                }
            };
            let event = event.expect("no error").expect("an event");
            ids.push(event.document_key.expect("a key").get_i32("_id").expect("an id"));
        }
        assert_eq!(ids, [1, 2, 3, 4, 5], "dropped after {polls} polls");
        proxy.pass_everything();
        changes.close().await;
        if !dropped {
            assert!(polls > PIECES, "{polls}");
            assert_eq!(
                deployment.server.commands_seen("aggregate"),
                polls + 1,
                "nothing is resumed"
            );
            return;
        }
    }
}

/// A resume whose future was dropped is continued by the next call.
#[tokio::test]
async fn dropping_a_resume_at_every_poll_loses_no_event() {
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
    for polls in 0.. {
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
        let event = poll_times(next, polls, &proxy, Held::OfOthersToo).await;
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
            "dropped after {polls} polls"
        );
        changes.close().await;
        let resumed = deployment.server.commands_seen("aggregate") - opened;
        assert_eq!(resumed, 1, "the resume is continued, not repeated");
        tokio::time::timeout(TIME_LIMIT, wait_until_idle(&client))
            .await
            .expect("nothing is in flight");
        if is_done {
            assert!(polls > PIECES, "{polls}");
            return;
        }
    }
}

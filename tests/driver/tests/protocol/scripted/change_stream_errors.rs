//! Change streams: which errors resume and which end the stream, and in which call.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use marula_driver::{
    Client, ErrorKind,
    bson::{Bson, doc},
};
use marula_driver_tests::{Answer, ScriptedServer};

use super::{
    change_streams::{client_of, event, number, refused, resumable, sequence, watch},
    replies::{CURSOR, first_batch, next_batch},
};

/// Codes of errors that retryable reads are retried after. The server decides with its label whether
/// a change stream resumes.
#[tokio::test]
async fn an_error_reply_without_the_label_ends_the_stream() {
    for code in [10107, 91, 134, 11601] {
        let opened = vec![first_batch(CURSOR, vec![]), first_batch(CURSOR, vec![event(1)])];
        let server = ScriptedServer::start(doc! {}, sequence(opened, vec![refused(code)])).await;
        let client = client_of(&server).await;
        let mut changes = watch(&client).await;
        let error = changes.try_next().await.expect_err("not resumable");
        assert_eq!(error.code(), Some(code), "{error}");
        assert!(!changes.is_alive());
        assert!(changes.try_next().await.expect("the end").is_none());
        assert_eq!(server.requests_named("aggregate").len(), 1, "{code}");
    }
}

/// "Any error encountered which is not a server error" is resumable.
#[tokio::test]
async fn a_stream_resumes_after_an_invalid_reply() {
    for invalid in [
        Answer::Reply(doc! { "ok": 1 }),
        Answer::Reply(doc! { "ok": 1, "cursor": { "id": "seven", "ns": "d.c", "nextBatch": [] } }),
        next_batch(CURSOR, vec![Bson::Int32(1)]),
        // The first event is valid.
        next_batch(CURSOR, vec![event(1), Bson::Null]),
    ] {
        let begins_with_event = format!("{invalid:?}").contains("Null");
        let last = if begins_with_event { 2 } else { 1 };
        let opened = vec![
            first_batch(CURSOR, vec![]),
            first_batch(CURSOR + 1, vec![event(last)]),
        ];
        let server = ScriptedServer::start(doc! {}, sequence(opened, vec![invalid])).await;
        let client = client_of(&server).await;
        let mut changes = watch(&client).await;
        for expected in 1..=last {
            let next = changes.try_next().await.expect("the stream resumes");
            assert_eq!(next.map(number), Some(expected));
        }
        assert_eq!(server.requests_named("aggregate").len(), 2);
        server.wait_for("killCursors", 1).await;
    }
}

#[tokio::test]
async fn invalid_replies_in_a_row_end_the_stream_with_an_error() {
    for invalid in [
        Answer::Reply(doc! { "ok": 1 }),
        next_batch(CURSOR, vec![Bson::Int32(1)]),
    ] {
        let opened = vec![first_batch(CURSOR, vec![])];
        let server = ScriptedServer::start(doc! {}, sequence(opened, vec![invalid])).await;
        let client = client_of(&server).await;
        let mut changes = watch(&client).await;
        let error = changes.try_next().await.expect_err("always invalid");
        assert!(matches!(error.kind(), ErrorKind::InvalidReply(_)), "{error:?}");
        assert!(!changes.is_alive());
        assert_eq!(server.requests_named("aggregate").len(), 6);
    }
}

#[tokio::test]
async fn next_if_any_resumes_in_the_call_that_encounters_the_error() {
    for failure in [Answer::Close, resumable(6), refused(43)] {
        let opened = vec![first_batch(CURSOR, vec![])];
        let batches = vec![
            failure,
            next_batch(CURSOR, vec![event(1)]),
            next_batch(CURSOR, vec![]),
        ];
        let server = ScriptedServer::start(doc! {}, sequence(opened, batches)).await;
        let client = client_of(&server).await;
        let mut changes = watch(&client).await;
        let next = changes.next_if_any().await.expect("the stream resumes");
        assert_eq!(next.map(number), Some(1));
        assert!(changes.next_if_any().await.expect("no error").is_none());
        assert_eq!(server.requests_named("aggregate").len(), 2);
        assert_eq!(server.requests_named("getMore").len(), 3);
    }
}

/// The stream still exists, and its session is used by another command.
#[tokio::test]
async fn a_stream_that_has_ended_returns_its_session() {
    for (opened, batch) in [
        (first_batch(CURSOR, vec![]), refused(286)),
        (first_batch(CURSOR, vec![]), next_batch(0, vec![event(1)])),
        (first_batch(0, vec![event(1)]), Answer::Silence),
    ] {
        let hello = doc! { "logicalSessionTimeoutMinutes": 30 };
        let server = ScriptedServer::start(hello, sequence(vec![opened], vec![batch])).await;
        let client = client_of(&server).await;
        let mut changes = watch(&client).await;
        while let Ok(Some(_)) = changes.try_next().await {}
        assert!(!changes.is_alive());
        let database = client.database("d");
        database.run_command(doc! { "ping": 1 }).await.expect("a reply");
        let ping = server.requests_named("ping").pop().expect("a ping");
        assert!(ping.lsid().is_some());
        assert_eq!(ping.lsid(), server.requests_named("aggregate")[0].lsid());
        drop(changes);
    }
}

/// A getMore that an earlier call sent has the time limit of that call. The call that waits for it
/// has its own, and resumes.
#[tokio::test]
async fn the_time_limit_of_a_dropped_call_does_not_end_the_next() {
    const LIMIT: Duration = Duration::from_secs(2);
    let opened = vec![
        first_batch(CURSOR, vec![]),
        first_batch(CURSOR + 1, vec![event(1)]),
    ];
    let server = ScriptedServer::start(doc! {}, sequence(opened, vec![Answer::Silence])).await;
    let client = client_of(&server).await;
    let things = client
        .database("d")
        .collection::<marula_driver::bson::Document>("c");
    let mut changes = things.watch().timeout(LIMIT).await.expect("a stream");
    assert!(changes.try_next().now_or_never().is_none());
    server.wait_for("getMore", 1).await;
    // So that most of the time limit of the next call is left for the resume.
    tokio::time::sleep(LIMIT * 3 / 4).await;
    let next = changes.try_next().await.expect("the stream resumes");
    assert_eq!(next.map(number), Some(1));
}

/// After a timeout, the next call resumes.
#[tokio::test]
async fn a_call_that_times_out_does_not_end_the_stream() {
    let opened = vec![
        first_batch(CURSOR, vec![]),
        first_batch(CURSOR + 1, vec![event(1)]),
    ];
    let server = ScriptedServer::start(doc! {}, sequence(opened, vec![Answer::Silence])).await;
    let client = client_of(&server).await;
    let things = client
        .database("d")
        .collection::<marula_driver::bson::Document>("c");
    // Connects.
    let database = client.database("d");
    database.run_command(doc! { "ping": 1 }).await.expect("a reply");
    let limit = Duration::from_secs(1);
    let mut changes = things.watch().timeout(limit).await.expect("a stream");
    let error = changes.try_next().await.expect_err("no reply");
    assert!(matches!(error.kind(), ErrorKind::Timeout(_)), "{error:?}");
    assert!(changes.is_alive());
    assert_eq!(server.requests_named("aggregate").len(), 1);
    let next = changes.try_next().await.expect("the stream resumes");
    assert_eq!(next.map(number), Some(1));
}

/// The pause grows to 500 ms with each resume that fails.
#[tokio::test]
async fn a_time_limit_shorter_than_the_pause_permits_a_resume() {
    const LIMIT: Duration = Duration::from_millis(400);
    let fails = Arc::new(AtomicBool::new(false));
    let failing = Arc::clone(&fails);
    let server = ScriptedServer::start(doc! {}, move |request| match request.name() {
        "aggregate" | "getMore" if failing.load(Ordering::SeqCst) => Answer::Close,
        "aggregate" => first_batch(CURSOR, vec![]),
        "getMore" => next_batch(CURSOR, vec![event(1)]),
        _ => Answer::Success,
    })
    .await;
    let client = client_of(&server).await;
    let things = client
        .database("d")
        .collection::<marula_driver::bson::Document>("c");
    // On a busy machine, it may not be opened within the time limit.
    let mut changes = loop {
        if let Ok(changes) = things.watch().timeout(LIMIT).await {
            break changes;
        }
        assert!(server.requests_named("aggregate").len() < 20, "it is opened");
    };
    fails.store(true, Ordering::SeqCst);
    while server.requests_named("aggregate").len() < 20 {
        changes.try_next().await.expect_err("no reply");
    }
    fails.store(false, Ordering::SeqCst);
    let mut next = changes.try_next().await;
    while next.is_err() {
        assert!(server.requests_named("aggregate").len() < 60, "it resumes");
        next = changes.try_next().await;
    }
    assert_eq!(next.expect("no error").map(number), Some(1));
}

/// The server may still run the resume when its time limit has expired.
#[tokio::test]
async fn a_resume_after_one_that_timed_out_has_another_session() {
    const LIMIT: Duration = Duration::from_secs(1);
    let hello = doc! { "logicalSessionTimeoutMinutes": 30 };
    let opened = vec![
        first_batch(CURSOR, vec![]),
        Answer::Silence,
        first_batch(CURSOR, vec![event(1)]),
    ];
    let server = ScriptedServer::start(hello, sequence(opened, vec![resumable(6)])).await;
    let client = client_of(&server).await;
    let things = client
        .database("d")
        .collection::<marula_driver::bson::Document>("c");
    // Connects.
    let database = client.database("d");
    database.run_command(doc! { "ping": 1 }).await.expect("a reply");
    let mut changes = things.watch().timeout(LIMIT).await.expect("a stream");
    changes.try_next().await.expect_err("the resume times out");
    let next = changes.try_next().await.expect("the stream resumes");
    assert_eq!(next.map(number), Some(1));
    let all = server.requests_named("aggregate");
    assert_eq!(all.len(), 3);
    assert!(all[1].lsid().is_some() && all[2].lsid().is_some());
    assert_ne!(all[1].lsid(), all[2].lsid());
}

/// A session is dirty after a network error, also if the retry succeeds.
#[tokio::test]
async fn the_session_of_a_retried_resume_does_not_return_to_the_pool() {
    let hello = doc! { "logicalSessionTimeoutMinutes": 30 };
    let opened = vec![
        first_batch(CURSOR, vec![]),
        Answer::Close,
        first_batch(0, vec![event(1)]),
    ];
    let server = ScriptedServer::start(hello, sequence(opened, vec![resumable(6)])).await;
    let client = Client::connect(server.uri("")).await.expect("a client");
    let mut changes = watch(&client).await;
    let next = changes.try_next().await.expect("the stream resumes");
    assert_eq!(next.map(number), Some(1));
    drop(changes);
    let database = client.database("d");
    database.run_command(doc! { "ping": 1 }).await.expect("a reply");
    let (all, ping) = (server.requests_named("aggregate"), server.requests_named("ping"));
    assert_eq!(all.len(), 3, "one is a retry");
    assert_eq!(all[0].lsid(), all[2].lsid());
    assert_ne!(ping[0].lsid(), all[0].lsid());
}

//! Cursors: the fields that getMore inherits, and empty last batches.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use futures_util::{StreamExt, TryStreamExt};
use marula_driver::{
    Client, Collection, RETRYABLE_ERROR, SYSTEM_OVERLOADED_ERROR,
    bson::{Document, doc},
};
use marula_driver_tests::{Answer, ScriptedServer};

use super::replies::{CURSOR, documents, first_batch, next_batch};

async fn things(server: &ScriptedServer) -> Collection<Document> {
    let client = Client::connect(server.uri("")).await.expect("a client");
    client.database("d").collection("c")
}

#[tokio::test]
async fn a_get_more_names_the_collection_of_the_previous_reply() {
    let mut names = ["d.second", "d.third"].into_iter();
    let server = ScriptedServer::start(doc! {}, move |request| match request.name() {
        "find" => first_batch(CURSOR, documents(1)),
        "getMore" => match names.next() {
            Some(ns) => Answer::Reply(
                doc! { "ok": 1, "cursor": { "id": CURSOR, "ns": ns, "nextBatch": documents(1) } },
            ),
            None => next_batch(0, Vec::new()),
        },
        _ => Answer::Success,
    })
    .await;
    let mut cursor = things(&server).await.find(doc! {}).await.expect("a cursor");
    let mut read = Vec::new();
    while cursor.advance().await.expect("a document") {
        read.push(cursor.namespace().expect("a name").to_string());
    }
    assert_eq!(read, ["d.c", "d.second", "d.third"]);
    let named: Vec<String> = server
        .requests_named("getMore")
        .iter()
        .map(|request| request.command.get_str("collection").expect("a name").to_owned())
        .collect();
    assert_eq!(named, ["c", "second", "third"]);
}

/// A server whose cursors stay open until a batch is not full, as those of MongoDB: two batches of
/// two documents, then an empty one.
async fn with_empty_last_batches() -> ScriptedServer {
    let mut gets = 0;
    let hello = doc! { "logicalSessionTimeoutMinutes": 30 };
    ScriptedServer::start(hello, move |request| match request.name() {
        "find" => first_batch(CURSOR, documents(2)),
        "getMore" => {
            gets += 1;
            match gets % 2 {
                1 => next_batch(CURSOR, documents(2)),
                _ => next_batch(0, Vec::new()),
            }
        }
        _ => Answer::Success,
    })
    .await
}

#[tokio::test]
async fn an_empty_last_batch_ends_the_cursor_with_every_way_to_read() {
    let server = with_empty_last_batches().await;
    let things = things(&server).await;
    let find = async || things.find(doc! {}).batch_size(2).await.expect("a cursor");
    let mut cursor = find().await;
    let mut read = 0;
    while cursor.advance().await.expect("no error") {
        read += 1;
    }
    assert!(cursor.is_exhausted() && !cursor.advance().await.expect("the end"));
    let mut cursor = find().await;
    while cursor.try_next().await.expect("no error").is_some() {
        read += 1;
    }
    let mut cursor = find().await;
    while !cursor.is_exhausted() {
        read += usize::from(cursor.next_if_any().await.expect("no error").is_some());
    }
    let mut cursor = find().await;
    while let Some(document) = cursor.next().await {
        document.expect("a document");
        read += 1;
    }
    assert_eq!(find().await.try_collect().await.expect("all").len(), 4);
    let all: Vec<Document> = TryStreamExt::try_collect(find().await).await.expect("all");
    assert_eq!((read, all.len()), (16, 4));
    assert_eq!(server.requests_named("getMore").len(), 2 * 6);
    // With a limit, too, the last getMore finds that the server has closed the cursor.
    let limited = things
        .find(doc! {})
        .limit(4)
        .batch_size(2)
        .await
        .expect("a cursor");
    assert_eq!(limited.try_collect().await.expect("all").len(), 4);
    // The next operation uses the one session, which all cursors have returned.
    let lsid = server.requests()[0].lsid();
    things.find_one(doc! {}).await.expect("a document");
    let last = server.requests().pop().expect("a command");
    assert_eq!((last.name(), last.lsid()), ("find", lsid));
    assert!(server.requests_named("killCursors").is_empty());
}

#[tokio::test]
async fn a_cursor_dropped_after_a_full_batch_is_killed() {
    let server = with_empty_last_batches().await;
    let things = things(&server).await;
    for killed in 1..=2 {
        let mut cursor = things.find(doc! {}).batch_size(2).await.expect("a cursor");
        assert!(cursor.advance().await.expect("a document") && cursor.advance().await.expect("a document"));
        assert!(!cursor.is_exhausted(), "the server may have more documents");
        if killed == 1 {
            drop(cursor);
        } else {
            cursor.close().await;
        }
        server.wait_for("killCursors", killed).await;
    }
    assert!(server.requests_named("getMore").is_empty());
}

/// The server still has the cursor after such an error, and killCursors is sent before the error is
/// returned.
#[tokio::test]
async fn dropping_advance_during_kill_cursors_does_not_lose_the_error() {
    let server = ScriptedServer::start(doc! {}, |request| match request.name() {
        "find" => first_batch(CURSOR, documents(1)),
        "getMore" => Answer::Reply(doc! {
            "ok": 0, "code": 462, "errmsg": "overloaded",
            "errorLabels": [RETRYABLE_ERROR, SYSTEM_OVERLOADED_ERROR],
        }),
        "killCursors" => Answer::Silence,
        _ => Answer::Success,
    })
    .await;
    let client = Client::connect(server.uri("maxAdaptiveRetries=0"))
        .await
        .expect("a client");
    let things = client.database("d").collection::<Document>("c");
    let mut cursor = things.find(doc! {}).await.expect("a cursor");
    assert!(cursor.advance().await.expect("a document"));
    tokio::select! {
        advanced = cursor.advance() => panic!("{advanced:?}"),
        _ = server.wait_for("killCursors", 1) => {}
    }
    assert!(!cursor.is_exhausted(), "documents are missing");
    let error = cursor.advance().await.expect_err("the getMore failed");
    assert_eq!(error.code(), Some(462), "{error}");
    assert!(!cursor.advance().await.expect("the end") && cursor.is_exhausted());
    // killCursors is sent again, because the first was dropped.
    server.wait_for("killCursors", 2).await;
    assert_eq!(server.requests_named("getMore").len(), 1);
}

/// The pool has no idle connection for the getMore, and the server rejects the handshake of a new
/// one.
#[tokio::test]
async fn a_cursor_whose_get_more_was_not_sent_is_killed() {
    let refuse = Arc::new(AtomicBool::new(false));
    let refused = Arc::clone(&refuse);
    let server = ScriptedServer::start(doc! {}, move |request| match request.name() {
        "find" => first_batch(CURSOR, documents(1)),
        "hostInfo" => Answer::Silence,
        // The handshake of a pooled connection: the monitor polls with its existing connection.
        _ if request.is_hello()
            && request.command.contains_key("client")
            && refused.swap(false, Ordering::SeqCst) =>
        {
            Answer::Reply(doc! { "ok": 0, "code": 18, "codeName": "AuthenticationFailed", "errmsg": "no" })
        }
        _ => Answer::Success,
    })
    .await;
    let client = Client::connect(server.uri("serverMonitoringMode=poll"))
        .await
        .expect("a client");
    let things = client.database("d").collection::<Document>("c");
    let mut cursor = things.find(doc! {}).await.expect("a cursor");
    assert!(cursor.advance().await.expect("a document"));
    let admin = client.database("admin");
    let mut busy = admin.run_command(doc! { "hostInfo": 1 }).into_future();
    tokio::select! {
        _ = &mut busy => panic!("hostInfo has no answer"),
        _ = server.wait_for("hostInfo", 1) => {}
    }
    refuse.store(true, Ordering::SeqCst);
    let error = cursor.advance().await.expect_err("no connection");
    assert_eq!(error.code(), Some(18), "{error:?}");
    assert!(server.requests_named("getMore").is_empty());
    drop(cursor);
    server.wait_for("killCursors", 1).await;
}

/// The server may still execute a getMore whose connection was closed.
#[tokio::test]
async fn kill_cursors_does_not_use_the_session_of_a_get_more_with_network_error() {
    let hello = doc! { "logicalSessionTimeoutMinutes": 30 };
    let server = ScriptedServer::start(hello, |request| match request.name() {
        "find" => first_batch(CURSOR, documents(1)),
        "getMore" => Answer::Close,
        _ => Answer::Success,
    })
    .await;
    let client = Client::connect(server.uri("")).await.expect("a client");
    let things = client.database("d").collection::<Document>("c");
    let mut killed = 0;
    for explicit in [false, true] {
        for close in [false, true] {
            let mut session = client.start_session().await.expect("a session");
            let find = things.find(doc! {});
            let find = if explicit {
                find.session(&mut session)
            } else {
                find
            };
            let mut cursor = find.await.expect("a cursor");
            assert!(cursor.advance().await.expect("a document"));
            let error = cursor.advance().await.expect_err("the connection is closed");
            assert!(error.is_network(), "{error}");
            if close {
                cursor.close().await;
            } else {
                drop(cursor);
            }
            killed += 1;
            let kill = server.wait_for("killCursors", killed).await.pop().expect("one");
            assert_eq!(kill.lsid(), None, "explicit: {explicit}, close: {close}");
        }
    }
}

/// Only a reply with `ok: 0` says that the server has closed the cursor.
#[tokio::test]
async fn a_cursor_is_closed_after_a_reply_without_ok() {
    for (reply, is_closed) in [(doc! { "n": 1 }, true), (doc! { "ok": 0, "code": 1 }, false)] {
        let server = ScriptedServer::start(doc! {}, move |request| match request.name() {
            "find" => first_batch(CURSOR, documents(1)),
            "getMore" => Answer::Reply(reply.clone()),
            _ => Answer::Success,
        })
        .await;
        let things = things(&server).await;
        let mut cursor = things.find(doc! {}).await.expect("a cursor");
        assert!(cursor.advance().await.expect("a document"));
        cursor.advance().await.expect_err("no batch");
        cursor.close().await;
        // After the commands before it.
        things.find_one(doc! {}).await.expect("a reply");
        assert_eq!(server.requests_named("killCursors").len(), usize::from(is_closed));
    }
}

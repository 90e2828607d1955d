//! Cursors: what a getMore takes over from the one before, and last batches that are empty.

use futures_util::{StreamExt, TryStreamExt};
use marula_driver::{
    Client, Collection,
    bson::{Document, doc},
};
use marula_driver_tests::{Answer, ScriptedServer};

use super::replies::{CURSOR, documents, first_batch, next_batch};

async fn things(server: &ScriptedServer) -> Collection<Document> {
    let client = Client::connect(server.uri("")).await.expect("a client");
    client.database("d").collection("c")
}

#[tokio::test]
async fn a_get_more_names_the_collection_that_the_reply_before_it_named() {
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

/// A server whose cursors stay open until a batch is not full, as a real one's do: two full batches of two, then an empty one.
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
async fn an_empty_last_batch_is_the_end_in_all_ways_to_read() {
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
    // With a limit, too, the last getMore learns that the server has closed the cursor.
    let limited = things
        .find(doc! {})
        .limit(4)
        .batch_size(2)
        .await
        .expect("a cursor");
    assert_eq!(limited.try_collect().await.expect("all").len(), 4);
    // What follows uses the one session that all of them gave back.
    let lsid = server.requests()[0].lsid();
    things.find_one(doc! {}).await.expect("a document");
    let last = server.requests().pop().expect("a command");
    assert_eq!((last.name(), last.lsid()), ("find", lsid));
    assert!(server.requests_named("killCursors").is_empty());
}

#[tokio::test]
async fn a_cursor_whose_documents_are_all_read_is_freed_while_the_server_has_it() {
    let server = with_empty_last_batches().await;
    let things = things(&server).await;
    for killed in 1..=2 {
        let mut cursor = things.find(doc! {}).batch_size(2).await.expect("a cursor");
        assert!(cursor.advance().await.expect("a document") && cursor.advance().await.expect("a document"));
        assert!(!cursor.is_exhausted(), "more may follow");
        if killed == 1 {
            drop(cursor);
        } else {
            cursor.close().await;
        }
        server.wait_for("killCursors", killed).await;
    }
    assert!(server.requests_named("getMore").is_empty());
}

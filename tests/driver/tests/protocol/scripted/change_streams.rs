//! Change streams: resumes, sessions, pinned connections, events that cannot be read.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, StreamExt};
use marula_driver::{
    ChangeStream, ChangeStreamEvent, Client, ErrorKind,
    bson::{Array, Bson, Document, Timestamp, doc, oid::ObjectId},
};
use marula_driver_tests::{Answer, Request, ScriptedServer};

use super::replies::{CURSOR, first_batch, next_batch};

/// An insert event with this number as its token and in its document.
pub(crate) fn event(number: i32) -> Bson {
    let id = doc! { "_data": number.to_string() };
    doc! { "_id": id, "operationType": "insert", "fullDocument": { "number": number } }.into()
}

/// An error reply with the label of resumable errors.
pub(crate) fn resumable(code: i32) -> Answer {
    Answer::Reply(doc! {
        "ok": 0, "code": code, "errmsg": "from the script", "errorLabels": ["ResumableChangeStreamError"],
    })
}

pub(crate) fn refused(code: i32) -> Answer {
    Answer::Reply(doc! { "ok": 0, "code": code, "codeName": "Scripted", "errmsg": "from the script" })
}

/// Replies to the commands with these names in this order. The last reply to each is repeated.
pub(crate) fn sequence(
    mut aggregates: Vec<Answer>,
    mut get_mores: Vec<Answer>,
) -> impl FnMut(&Request) -> Answer + Send + 'static {
    fn next(answers: &mut Vec<Answer>) -> Answer {
        match answers.len() {
            0 => Answer::Silence,
            1 => answers[0].clone(),
            _ => answers.remove(0),
        }
    }
    move |request| match request.name() {
        "aggregate" => next(&mut aggregates),
        "getMore" => next(&mut get_mores),
        _ => Answer::Success,
    }
}

pub(crate) async fn client_of(server: &ScriptedServer) -> Client {
    Client::connect(server.uri("retryReads=false"))
        .await
        .expect("a client")
}

pub(crate) async fn watch(client: &Client) -> ChangeStream<ChangeStreamEvent<Document>> {
    let things = client.database("d").collection::<Document>("c");
    things.watch().await.expect("a stream")
}

/// The document of `$changeStream` in an aggregate.
fn stage(request: &Request) -> Document {
    let pipeline = request.command.get_array("pipeline").expect("a pipeline");
    let first = pipeline[0].as_document().expect("a stage");
    first
        .get_document("$changeStream")
        .expect("a change stream")
        .clone()
}

pub(crate) fn number(event: ChangeStreamEvent<Document>) -> i32 {
    let document = event.full_document.expect("a document");
    document.get_i32("number").expect("a number")
}

#[tokio::test]
async fn change_streams_prose_2_a_missing_token_is_an_error_and_closes_the_stream() {
    let batch: Array = vec![doc! { "operationType": "insert" }.into(), event(2)];
    let script = sequence(vec![first_batch(CURSOR, batch)], vec![]);
    let server = ScriptedServer::start(doc! {}, script).await;
    let client = client_of(&server).await;
    let mut changes = watch(&client).await;
    let error = changes.try_next().await.expect_err("no token");
    assert!(matches!(error.kind(), ErrorKind::InvalidReply(_)), "{error}");
    assert!(
        error
            .to_string()
            .contains("cannot provide resume functionality when the resume token is missing")
    );
    assert!(!changes.is_alive());
    assert!(changes.try_next().await.expect("the end").is_none());
    server.wait_for("killCursors", 1).await;
}

#[tokio::test]
async fn change_streams_prose_14_no_token_before_the_first_event() {
    let script = sequence(vec![first_batch(CURSOR, vec![event(1), event(2)])], vec![]);
    let server = ScriptedServer::start(doc! {}, script).await;
    let client = client_of(&server).await;
    let mut changes = watch(&client).await;
    assert_eq!(changes.resume_token(), None);
    assert_eq!(changes.try_next().await.expect("an event").map(number), Some(1));
    let token = changes.resume_token().expect("a token");
    assert_eq!(token.as_document().get_str("_data").expect("text"), "1");
}

/// The reply to the aggregate has neither events nor a token, so its `operationTime` is used.
#[tokio::test]
async fn a_stream_without_a_token_resumes_at_the_operation_time() {
    let opened = Answer::Reply(doc! {
        "ok": 1, "cursor": { "id": CURSOR, "ns": "d.c", "firstBatch": [] },
        "operationTime": Timestamp { time: 5, increment: 6 },
    });
    let again = first_batch(CURSOR, vec![event(1)]);
    let server = ScriptedServer::start(doc! {}, sequence(vec![opened, again], vec![Answer::Close])).await;
    let client = client_of(&server).await;
    let mut changes = watch(&client).await;
    assert_eq!(changes.try_next().await.expect("an event").map(number), Some(1));
    let opened = server.requests_named("aggregate");
    assert_eq!(stage(&opened[0]), doc! {});
    let time = Timestamp {
        time: 5,
        increment: 6,
    };
    assert_eq!(stage(&opened[1]), doc! { "startAtOperationTime": time });
}

#[tokio::test]
async fn servers_before_4_4_resume_by_code() {
    for (code, resumes) in [(189, true), (234, true), (43, true), (11601, false)] {
        let script = sequence(
            vec![first_batch(CURSOR, vec![]), first_batch(CURSOR, vec![event(1)])],
            vec![refused(code)],
        );
        let server = ScriptedServer::start(doc! { "maxWireVersion": 8 }, script).await;
        let client = client_of(&server).await;
        let mut changes = watch(&client).await;
        let next = changes.try_next().await;
        assert_eq!(next.is_ok(), resumes, "{code}: {next:?}");
        assert_eq!(changes.is_alive(), resumes, "{code}");
    }
}

/// A getMore that is running when the other branch is taken stays with the stream.
#[tokio::test]
async fn a_stream_in_select_sends_one_get_more_and_no_kill() {
    let script = sequence(vec![first_batch(CURSOR, vec![])], vec![Answer::Silence]);
    let server = ScriptedServer::start(doc! {}, script).await;
    let client = client_of(&server).await;
    let mut changes = watch(&client).await;
    for _ in 0..100 {
        tokio::select! {
            biased;
            next = changes.try_next() => panic!("{next:?}"),
            () = tokio::task::yield_now() => {}
        }
    }
    server.wait_for("getMore", 1).await;
    assert!(changes.next_if_any().now_or_never().is_none());
    assert!(changes.next().now_or_never().is_none());
    assert!(changes.is_alive());
    client
        .database("d")
        .run_command(doc! { "ping": 1 })
        .await
        .expect("a reply");
    assert_eq!(server.requests_named("getMore").len(), 1);
    assert!(server.requests_named("killCursors").is_empty());
}

#[tokio::test]
async fn next_if_any_sends_one_get_more_and_keeps_the_token_of_the_empty_batch() {
    let empty = |token: &str| {
        let token = doc! { "_data": token };
        let cursor = doc! { "id": CURSOR, "ns": "d.c", "nextBatch": [], "postBatchResumeToken": token };
        Answer::Reply(doc! { "ok": 1, "cursor": cursor })
    };
    let script = sequence(vec![first_batch(CURSOR, vec![])], vec![empty("a"), empty("b")]);
    let server = ScriptedServer::start(doc! {}, script).await;
    let client = client_of(&server).await;
    let things = client.database("d").collection::<Document>("c");
    let mut changes = things
        .watch()
        .max_await_time(Duration::from_millis(3))
        .await
        .expect("a stream");
    for (round, token) in ["a", "b", "b"].into_iter().enumerate() {
        assert!(changes.next_if_any().await.expect("an empty batch").is_none());
        let get_mores = server.requests_named("getMore");
        assert_eq!(get_mores.len(), round + 1);
        assert_eq!(get_mores[round].command.get_i64("maxTimeMS").expect("a limit"), 3);
        let kept = changes.resume_token().expect("a token");
        assert_eq!(kept.as_document().get_str("_data").expect("text"), token);
    }
    changes.close().await;
    assert_eq!(server.requests_named("killCursors").len(), 1);
}

#[tokio::test]
async fn the_stream_continues_after_an_event_of_another_type() {
    #[derive(Debug, serde::Deserialize)]
    struct Thing {
        number: u8,
    }
    let script = sequence(
        vec![first_batch(CURSOR, vec![event(1), event(-1), event(3)])],
        vec![],
    );
    let server = ScriptedServer::start(doc! {}, script).await;
    let client = client_of(&server).await;
    let mut changes = watch(&client).await.with_type::<ChangeStreamEvent<Thing>>();
    let first = changes.try_next().await.expect("an event").expect("the first");
    assert_eq!(first.full_document.expect("a document").number, 1);
    let error = changes.try_next().await.expect_err("not a u8");
    assert!(matches!(error.kind(), ErrorKind::Decode(_)), "{error}");
    let token = changes.resume_token().expect("a token");
    assert_eq!(token.as_document().get_str("_data").expect("text"), "-1");
    let third = changes.try_next().await.expect("an event").expect("the third");
    assert_eq!(third.full_document.expect("a document").number, 3);
}

/// The resume uses the session of the stream. After a network error, the session is not used for
/// anything else.
#[tokio::test]
async fn the_resume_uses_the_same_session() {
    for (failure, is_reused) in [(resumable(6), true), (Answer::Close, false)] {
        let script = sequence(
            vec![
                first_batch(CURSOR, vec![]),
                first_batch(CURSOR + 1, vec![event(1)]),
            ],
            vec![failure],
        );
        let hello = doc! { "logicalSessionTimeoutMinutes": 30 };
        let server = ScriptedServer::start(hello, script).await;
        let client = client_of(&server).await;
        let mut changes = watch(&client).await;
        assert_eq!(changes.try_next().await.expect("an event").map(number), Some(1));
        server.wait_for("killCursors", 1).await;
        changes.close().await;
        let (opened, asked) = (
            server.requests_named("aggregate"),
            server.requests_named("getMore"),
        );
        assert!(opened[0].lsid().is_some());
        assert_eq!(opened[0].lsid(), asked[0].lsid());
        assert_eq!(opened[0].lsid(), opened[1].lsid());
        let killed = server.requests_named("killCursors");
        assert_eq!((killed[0].lsid(), killed[1].lsid()), (None, opened[0].lsid()));
        client
            .database("d")
            .run_command(doc! { "ping": 1 })
            .await
            .expect("a reply");
        let ping = server.requests_named("ping").pop().expect("a ping");
        assert_eq!(ping.lsid() == opened[0].lsid(), is_reused);
    }
}

#[tokio::test]
async fn a_cursor_that_the_server_lost_is_not_killed() {
    let script = sequence(
        vec![first_batch(CURSOR, vec![]), first_batch(0, vec![event(1)])],
        vec![refused(43)],
    );
    let server = ScriptedServer::start(doc! {}, script).await;
    let client = client_of(&server).await;
    let mut changes = watch(&client).await;
    assert_eq!(changes.try_next().await.expect("an event").map(number), Some(1));
    assert!(
        changes.try_next().await.expect("the end").is_none(),
        "the server closed the cursor"
    );
    drop(changes);
    client
        .database("d")
        .run_command(doc! { "ping": 1 })
        .await
        .expect("a reply");
    assert!(server.requests_named("killCursors").is_empty());
}

/// The oplog does not contain the position anymore.
#[tokio::test]
async fn a_lost_position_ends_the_stream_with_a_typed_error() {
    let script = sequence(
        vec![first_batch(CURSOR, vec![]), refused(286)],
        vec![Answer::Close],
    );
    let server = ScriptedServer::start(doc! {}, script).await;
    let client = client_of(&server).await;
    let mut changes = watch(&client).await;
    let error = changes.try_next().await.expect_err("the history is lost");
    assert!(error.is_change_stream_history_lost(), "{error}");
    assert!(!changes.is_alive());
    assert!(changes.try_next().await.expect("the end").is_none());
    assert_eq!(server.requests_named("aggregate").len(), 2);
}

/// The resume itself is not resumed, but the next call resumes again.
#[tokio::test]
async fn a_resume_that_finds_no_server_is_reported_and_tried_again_by_the_next_call() {
    let script = sequence(
        vec![
            first_batch(CURSOR, vec![event(1)]),
            Answer::Close,
            first_batch(CURSOR, vec![event(2)]),
        ],
        vec![Answer::Close],
    );
    let server = ScriptedServer::start(doc! {}, script).await;
    let client = client_of(&server).await;
    let mut changes = watch(&client).await;
    assert_eq!(changes.try_next().await.expect("an event").map(number), Some(1));
    let error = changes.try_next().await.expect_err("the resume failed");
    assert!(error.is_network(), "{error}");
    assert!(changes.is_alive());
    assert_eq!(changes.try_next().await.expect("an event").map(number), Some(2));
    let opened = server.requests_named("aggregate");
    assert_eq!(opened.len(), 3);
    for resumed in &opened[1..] {
        assert_eq!(stage(resumed), doc! { "resumeAfter": { "_data": "1" } });
    }
}

/// With one connection, the resume can only run if the pinned connection was returned.
#[tokio::test]
async fn a_pinned_connection_is_returned_before_the_resume() {
    let hello = doc! { "msg": Bson::Null, "serviceId": ObjectId::new() };
    let script = sequence(
        vec![
            first_batch(CURSOR, vec![]),
            first_batch(CURSOR + 1, vec![event(1)]),
        ],
        vec![resumable(6)],
    );
    let server = ScriptedServer::start(hello, script).await;
    let client = Client::connect(server.uri("loadBalanced=true&maxPoolSize=1"))
        .await
        .expect("a client");
    let mut changes = watch(&client).await;
    assert_eq!(changes.try_next().await.expect("an event").map(number), Some(1));
    let kill = server.wait_for("killCursors", 1).await.pop().expect("one");
    let opened = server.requests_named("aggregate");
    assert_eq!(kill.connection, opened[0].connection, "the server of the cursor");
    drop(changes);
    server.wait_for("killCursors", 2).await;
    client
        .database("d")
        .run_command(doc! { "ping": 1 })
        .await
        .expect("a reply");
}

#[tokio::test]
async fn a_dropped_stream_closes_its_cursor() {
    let script = sequence(vec![first_batch(CURSOR, vec![])], vec![Answer::Silence]);
    let server = ScriptedServer::start(doc! {}, script).await;
    let client = client_of(&server).await;
    drop(watch(&client).await);
    server.wait_for("killCursors", 1).await;
    // Also if a getMore is running.
    for (killed, close) in [(2, false), (3, true)] {
        let mut changes = watch(&client).await;
        assert!(changes.try_next().now_or_never().is_none());
        server.wait_for("getMore", killed - 1).await;
        if close {
            changes.close().await;
        } else {
            drop(changes);
        }
        server.wait_for("killCursors", killed).await;
    }
}

#[tokio::test]
async fn the_options_are_sent_with_the_aggregate_and_the_resume() {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    let server = ScriptedServer::start(doc! {}, move |request| match request.name() {
        "aggregate" => first_batch(CURSOR, vec![]),
        "getMore" if seen.fetch_add(1, Ordering::SeqCst) == 0 => resumable(10107),
        "getMore" => next_batch(CURSOR, vec![event(1)]),
        _ => Answer::Success,
    })
    .await;
    let client = client_of(&server).await;
    let token = marula_driver::ResumeToken::from(marula_driver::bson::rawdoc! { "_data": "0" });
    let mut changes = client
        .watch()
        .pipeline([doc! { "$match": { "x": 1 } }])
        .full_document("whenAvailable")
        .full_document_before_change("required")
        .start_after(token)
        .show_expanded_events(true)
        .batch_size(5)
        .comment("why")
        .await
        .expect("a stream");
    assert!(changes.try_next().await.expect("an event").is_some());
    let opened = server.requests_named("aggregate");
    let expected = doc! {
        "allChangesForCluster": true, "fullDocument": "whenAvailable", "fullDocumentBeforeChange": "required",
        "startAfter": { "_data": "0" }, "showExpandedEvents": true,
    };
    for request in &opened {
        assert_eq!(stage(request), expected);
        assert_eq!(request.command.get_i32("aggregate").expect("a database"), 1);
        assert_eq!(request.command.get_str("$db").expect("a database"), "admin");
        assert_eq!(request.command.get_str("comment").expect("a comment"), "why");
    }
    assert_eq!(opened.len(), 2);
    assert_eq!(
        server.requests_named("getMore")[1]
            .command
            .get_str("comment")
            .expect("a comment"),
        "why"
    );
}

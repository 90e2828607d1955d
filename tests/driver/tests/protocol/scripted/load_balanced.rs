//! Sessions and cursors behind a load balancer whose hello reply has neither
//! `logicalSessionTimeoutMinutes` nor `msg: "isdbgrid"`.

use futures_util::{FutureExt, StreamExt};
use marula_driver::{
    Client, ClientSession, Collection, Cursor,
    bson::{Bson, Document, Timestamp, doc, oid::ObjectId},
    options::{ReadPreference, ReadPreferenceMode},
};
use marula_driver_tests::{Answer, Request, ScriptedServer};

use super::replies::{CURSOR, documents, first_batch, written};

struct Balanced {
    server: ScriptedServer,
    client: Client,
    things: Collection<Document>,
}

async fn balanced(script: impl FnMut(&Request) -> Answer + Send + 'static) -> Balanced {
    let hello = doc! { "msg": Bson::Null, "serviceId": ObjectId::new() };
    let server = ScriptedServer::start(hello, script).await;
    let client = Client::connect(server.uri("loadBalanced=true"))
        .await
        .expect("a client");
    Balanced {
        things: client.database("d").collection("c"),
        server,
        client,
    }
}

/// Opens cursors with batches of one document that never end; a getMore gets no reply.
fn script(request: &Request) -> Answer {
    match request.name() {
        "find" => first_batch(CURSOR, documents(1)),
        "insert" => written(request),
        "getMore" => Answer::Silence,
        _ => Answer::Success,
    }
}

impl Balanced {
    /// Opens a cursor and reads its first batch. Returns the cursor and its connection.
    async fn cursor(&self, session: Option<&mut ClientSession>) -> (Cursor<Document>, usize) {
        let find = self.things.find(doc! {});
        let find = match session {
            Some(session) => find.session(session),
            None => find,
        };
        let mut cursor = find.await.expect("a cursor");
        assert!(cursor.advance().await.expect("a document"));
        let opened = self.server.requests_named("find").pop().expect("a find");
        (cursor, opened.connection)
    }

    async fn ping(&self) -> Request {
        let admin = self.client.database("admin");
        admin.run_command(doc! { "ping": 1 }).await.expect("a reply");
        self.server.requests_named("ping").pop().expect("a ping")
    }
}

#[tokio::test]
async fn sessions_are_always_supported_and_reused() {
    let balanced = balanced(script).await;
    let first = balanced.ping().await.lsid().expect("a session");
    assert_eq!(
        balanced.ping().await.lsid().as_ref(),
        Some(&first),
        "the session was returned to the pool"
    );
    let mut session = balanced.client.start_session().await.expect("a session");
    assert_eq!(session.id().as_ref(), Some(&first));
    let admin = balanced.client.database("admin");
    let ping = admin.run_command(doc! { "ping": 1 }).session(&mut session);
    ping.await.expect("sessions are supported");
    let last = balanced.server.requests().pop().expect("a ping");
    assert_eq!(last.lsid().as_ref(), Some(&first));
}

#[tokio::test]
async fn commands_have_the_fields_for_a_mongos() {
    let time = doc! { "clusterTime": Timestamp { time: 5, increment: 1 } };
    let sent = time.clone();
    let balanced = balanced(move |request| match request.name() {
        "insert" => Answer::Reply(doc! { "ok": 1, "n": 1, "$clusterTime": sent.clone() }),
        _ => script(request),
    })
    .await;
    balanced.things.insert_one(&doc! {}).await.expect("stored");
    let insert = balanced.server.requests().pop().expect("an insert").command;
    assert!(insert.get_i64("txnNumber").is_ok(), "{insert}");
    let preference = ReadPreference::new(ReadPreferenceMode::SecondaryPreferred);
    let things = balanced.things.with_read_preference(preference);
    things.find_one(doc! {}).await.expect("a document");
    let find = balanced.server.requests().pop().expect("a find").command;
    let mode = find.get_document("$readPreference").expect("a preference");
    assert_eq!(mode, &doc! { "mode": "secondaryPreferred" });
    assert_eq!(find.get_document("$clusterTime").expect("a time"), &time);
}

#[tokio::test]
async fn a_write_with_a_network_error_is_retried() {
    let mut lost = false;
    let balanced = balanced(move |request| match request.name() {
        "insert" if !std::mem::replace(&mut lost, true) => Answer::Close,
        _ => script(request),
    })
    .await;
    balanced.things.insert_one(&doc! {}).await.expect("retried");
    let numbers: Vec<_> = balanced
        .server
        .requests_named("insert")
        .iter()
        .map(|request| (request.lsid(), request.command.get_i64("txnNumber").ok()))
        .collect();
    assert_eq!(numbers.len(), 2);
    assert!(numbers[0].1.is_some() && numbers[0] == numbers[1], "{numbers:?}");
}

#[tokio::test]
async fn a_dropped_cursor_is_killed_on_its_pinned_connection() {
    let balanced = balanced(script).await;
    let (cursor, connection) = balanced.cursor(None).await;
    let (other, beside) = balanced.cursor(None).await;
    assert_ne!(connection, beside);
    drop(cursor);
    drop(other);
    let mut killed: Vec<usize> = balanced
        .server
        .wait_for("killCursors", 2)
        .await
        .iter()
        .map(|request| request.connection)
        .collect();
    killed.sort_unstable();
    assert_eq!(killed, [connection, beside]);
}

#[tokio::test]
async fn dropping_a_get_more_before_it_is_sent_keeps_the_pinned_connection() {
    let balanced = balanced(script).await;
    let (mut cursor, connection) = balanced.cursor(None).await;
    drop(cursor.advance());
    drop(cursor);
    let killed = balanced.server.wait_for("killCursors", 1).await;
    assert_eq!(killed[0].connection, connection);
}

/// The connection has an outstanding reply, and is closed if the reply does not arrive; another
/// connection may lead to another mongos.
#[tokio::test]
async fn a_cursor_with_a_dropped_get_more_is_not_killed_on_another_connection() {
    let balanced = balanced(script).await;
    for (closed, as_stream) in [(1, false), (2, true)] {
        let (mut cursor, connection) = balanced.cursor(None).await;
        let opened = balanced.server.requests_named("find").pop().expect("a find");
        if as_stream {
            tokio::select! {
                _ = cursor.next() => panic!("no answer"),
                _ = balanced.server.wait_for("getMore", closed) => {}
            }
        } else {
            tokio::select! {
                _ = cursor.advance() => panic!("no answer"),
                _ = balanced.server.wait_for("getMore", closed) => {}
            }
        }
        drop(cursor);
        balanced.server.wait_for_closed(closed).await;
        let ping = balanced.ping().await;
        assert_ne!(ping.connection, connection);
        assert_ne!(ping.lsid(), opened.lsid(), "the getMore may still be executed");
        assert!(balanced.server.requests_named("killCursors").is_empty());
    }
}

#[tokio::test]
async fn the_cursor_of_an_ended_session_is_killed_on_its_pinned_connection() {
    let balanced = balanced(script).await;
    for (killed, close) in [(1, false), (2, true)] {
        let mut session = balanced.client.start_session().await.expect("a session");
        let (mut cursor, connection) = balanced.cursor(Some(&mut session)).await;
        drop(session);
        let error = cursor.advance().await.expect_err("the session has ended");
        assert!(error.to_string().contains("has ended"), "{error}");
        if close {
            cursor.close().await;
        } else {
            drop(cursor);
        }
        let kill = balanced
            .server
            .wait_for("killCursors", killed)
            .await
            .pop()
            .expect("one");
        assert_eq!((kill.connection, kill.lsid()), (connection, None));
    }
}

/// If the pool has no available connection, the cursor is killed when there is one, even if its
/// session has ended.
#[tokio::test]
async fn a_cursor_dropped_with_its_session_is_killed_when_a_connection_is_available() {
    let hello = doc! { "logicalSessionTimeoutMinutes": 30 };
    let server = ScriptedServer::start(hello, |request| match request.name() {
        "hostInfo" => Answer::Silence,
        _ => script(request),
    })
    .await;
    let client = Client::connect(server.uri("maxPoolSize=1"))
        .await
        .expect("a client");
    let things = client.database("d").collection::<Document>("c");
    let mut session = client.start_session().await.expect("a session");
    let cursor = things
        .find(doc! {})
        .session(&mut session)
        .await
        .expect("a cursor");
    let admin = client.database("admin");
    let mut busy = admin.run_command(doc! { "hostInfo": 1 }).into_future();
    assert!((&mut busy).now_or_never().is_none());
    drop(cursor);
    // The task that kills the cursor now waits for a connection.
    tokio::task::yield_now().await;
    drop(session);
    drop(busy);
    let kill = server.wait_for("killCursors", 1).await.pop().expect("one");
    assert_eq!(kill.lsid(), None);
}

/// The next getMore awaits the reply to the one that was dropped. A reply that is later than `socketTimeoutMS` is not
/// awaited again, as after any other command; the time limit of one call does not decide that.
#[tokio::test]
async fn a_reply_that_a_pinned_cursor_does_not_receive_in_time_closes_the_connection() {
    let balanced = balanced(script).await;
    let options = balanced.server.uri("loadBalanced=true&socketTimeoutMS=50");
    let client = Client::connect(options).await.expect("a client");
    let things = client.database("d").collection::<Document>("c");
    let mut cursor = things.find(doc! {}).await.expect("a cursor");
    assert!(cursor.advance().await.expect("a document"));
    tokio::select! {
        biased;
        _ = cursor.advance() => panic!("no answer"),
        _ = balanced.server.wait_for("getMore", 1) => {}
    }
    cursor.advance().await.expect_err("no answer");
    balanced.server.wait_for_closed(1).await;
    assert_eq!(balanced.server.requests_named("getMore").len(), 1);
}

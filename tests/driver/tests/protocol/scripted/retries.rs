//! Which error is returned when a retry fails.

use marula_driver::{
    Client, ErrorKind, NetworkPhase,
    bson::{Binary, Document, doc, spec::BinarySubtype},
};
use marula_driver_tests::{Answer, ScriptedServer};

/// The first attempt fails with a network error. Then a check of the server succeeds, so that it is
/// selected again, but the connection of the retry is closed in its handshake: the server does not
/// receive the command again.
#[tokio::test]
async fn the_first_error_is_returned_if_the_retry_is_not_sent() {
    for command in ["find", "insert"] {
        let (mut lost, mut found_by) = (None, None);
        let hello = doc! { "logicalSessionTimeoutMinutes": 30 };
        let server = ScriptedServer::start(hello, move |request| {
            if request.name() == command {
                lost = Some(request.connection);
                return Answer::Close;
            }
            if lost.is_none() {
                return Answer::Success;
            }
            // The monitor is first, on its connection or on a new one: it must discover the server
            // before the pool is ready again.
            if *found_by.get_or_insert(request.connection) == request.connection {
                Answer::Success
            } else {
                Answer::Close
            }
        })
        .await;
        let client = Client::connect(server.uri("serverMonitoringMode=poll"))
            .await
            .expect("a client");
        let things = client.database("d").collection::<Document>("c");
        let error = match command {
            "find" => things.find_one(doc! {}).await.expect_err("lost"),
            _ => things.insert_one(&doc! {}).await.map(drop).expect_err("lost"),
        };
        let ErrorKind::Network(network) = error.kind() else {
            panic!("{command}: {error}");
        };
        assert_eq!(network.phase(), NetworkPhase::Read, "{command}: {error}");
        assert_eq!(server.requests_named(command).len(), 1);
    }
}

/// The server requires reauthentication for the write and then closes the connection: the write is
/// retried with its transaction number (Retryable Writes specification, "RetryableWriteError
/// Labels": network errors of a write with a number have the label).
#[tokio::test]
async fn a_write_is_retried_after_a_network_error_during_reauthentication() {
    let payload = Binary {
        subtype: BinarySubtype::Generic,
        bytes: Vec::new(),
    };
    let (mut logins, mut inserts) = (0, 0);
    let hello = doc! { "logicalSessionTimeoutMinutes": 30 };
    let server = ScriptedServer::start(hello, move |request| match request.name() {
        "saslStart" => {
            logins += 1;
            match logins {
                2 => Answer::Close,
                _ => Answer::Reply(doc! {
                    "ok": 1, "conversationId": 1, "done": true, "payload": payload.clone(),
                }),
            }
        }
        "insert" => {
            inserts += 1;
            match inserts {
                1 => Answer::Reply(doc! { "ok": 0, "code": 391, "errmsg": "reauthentication required" }),
                _ => Answer::Reply(doc! { "ok": 1, "n": 1 }),
            }
        }
        _ => Answer::Success,
    })
    .await;
    let options = "authMechanism=PLAIN&authSource=$external&serverMonitoringMode=poll";
    let uri = server
        .uri(options)
        .replace("mongodb://", "mongodb://user:secret@");
    let client = Client::connect(uri).await.expect("a client");
    let things = client.database("d").collection::<Document>("c");
    things.insert_one(&doc! {}).await.expect("retried");
    let numbers: Vec<_> = server
        .requests_named("insert")
        .iter()
        .map(|request| (request.lsid(), request.command.get_i64("txnNumber").ok()))
        .collect();
    assert_eq!(numbers.len(), 2);
    assert!(numbers[0].1.is_some() && numbers[0] == numbers[1], "{numbers:?}");
}

/// The server has refused the command, so that nothing runs in its session: it returns to the session pool, and the
/// cursor is closed in it.
#[tokio::test]
async fn a_lost_reauthentication_does_not_make_the_session_dirty() {
    let payload = Binary {
        subtype: BinarySubtype::Generic,
        bytes: Vec::new(),
    };
    let (mut is_due, mut is_lost) = (false, false);
    let hello = doc! { "logicalSessionTimeoutMinutes": 30 };
    let server = ScriptedServer::start(hello, move |request| match request.name() {
        "saslStart" if std::mem::take(&mut is_lost) => Answer::Close,
        "saslStart" => Answer::Reply(doc! {
            "ok": 1, "conversationId": 1, "done": true, "payload": payload.clone(),
        }),
        "ping" => {
            is_due = true;
            Answer::Success
        }
        "find" => Answer::Reply(doc! { "ok": 1, "cursor": { "id": 7_i64, "ns": "d.c", "firstBatch": [] } }),
        "insert" | "getMore" if std::mem::take(&mut is_due) => {
            is_lost = true;
            Answer::Reply(doc! { "ok": 0, "code": 391, "errmsg": "reauthentication required" })
        }
        "insert" => Answer::Reply(doc! { "ok": 1, "n": 1 }),
        _ => Answer::Success,
    })
    .await;
    let options = "authMechanism=PLAIN&authSource=$external&serverMonitoringMode=poll&retryWrites=false";
    let uri = server
        .uri(options)
        .replace("mongodb://", "mongodb://user:secret@");
    let client = Client::connect(uri).await.expect("a client");
    let things = client.database("d").collection::<Document>("c");
    let ping = async || {
        client
            .database("d")
            .run_command(doc! { "ping": 1 })
            .await
            .expect("a reply")
    };

    ping().await;
    let error = things.insert_one(&doc! {}).await.expect_err("the login is lost");
    assert!(error.is_network(), "{error}");
    let mut cursor = things.find(doc! {}).await.expect("a cursor");
    ping().await;
    let error = cursor.advance().await.expect_err("the login is lost");
    assert!(error.is_network(), "{error}");
    cursor.close().await;
    // In the background: the server is checked first.
    server.wait_for("killCursors", 1).await;
    for name in ["find", "getMore", "killCursors"] {
        let [insert, other] = ["insert", name].map(|name| server.requests_named(name));
        assert!(insert[0].lsid().is_some());
        assert_eq!(other[0].lsid(), insert[0].lsid(), "{name}");
    }
}

//! Servers that break the protocol: each fault is reported as a typed error, and the client stays
//! usable.

use std::time::Duration;

use marula_driver::{
    Client, Error, ErrorKind,
    bson::{Document, doc},
    internals::wait_for_description,
};
use marula_driver_tests::{ClosedPort, Fault, MisbehavingServer, reply_to};

/// The time limit, which is reached only if a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(30);

async fn ping(server: &MisbehavingServer, options: &str) -> Result<Document, Error> {
    let client = Client::connect(server.uri(options))
        .await
        .expect("a valid connection string");
    let admin = client.database("admin");
    let pinged = admin.run_command(doc! { "ping": 1 });
    tokio::time::timeout(TIME_LIMIT, pinged.into_future())
        .await
        .expect("no hang")
}

#[tokio::test]
async fn a_reply_truncated_at_any_byte_is_a_network_error() {
    let whole = reply_to(1, &doc! { "ok": 1, "filler": "x".repeat(40) }).len();
    for count in 0..whole {
        let server = MisbehavingServer::start(Fault::CutAt(count)).await;
        let error = ping(&server, "").await.expect_err("the reply was truncated");
        assert!(error.is_network(), "truncated at {count}: {error}");
        assert!(error.address().is_some(), "truncated at {count}: {error}");
        assert_eq!(
            server.commands(),
            1,
            "a command that may have been executed is not retried"
        );
    }
    let server = MisbehavingServer::start(Fault::CutAt(whole)).await;
    assert!(ping(&server, "").await.is_ok(), "a complete reply");
}

#[tokio::test]
async fn invalid_messages_are_protocol_errors() {
    let mut wrong_request = reply_to(0, &doc! { "ok": 1 });
    wrong_request[8..12].copy_from_slice(&77_777_i32.to_le_bytes());
    let mut absurd_length = wrong_request.clone();
    absurd_length[..4].copy_from_slice(&i32::MAX.to_le_bytes());
    let mut negative_length = wrong_request.clone();
    negative_length[..4].copy_from_slice(&(-5_i32).to_le_bytes());
    let mut tiny_length = wrong_request.clone();
    tiny_length[..4].copy_from_slice(&20_i32.to_le_bytes());
    let mut unknown_opcode = wrong_request.clone();
    unknown_opcode[12..16].copy_from_slice(&1_i32.to_le_bytes());
    for (name, bytes) in [
        ("http", b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
        ("zeros", vec![0; 64]),
        ("ones", vec![0xFF; 64]),
        ("wrong request", wrong_request),
        ("absurd length", absurd_length),
        ("negative length", negative_length),
        ("tiny length", tiny_length),
        ("unknown opcode", unknown_opcode),
    ] {
        let server = MisbehavingServer::start(Fault::Bytes(bytes)).await;
        let error = ping(&server, "").await.expect_err(name);
        assert!(matches!(error.kind(), ErrorKind::Protocol(_)), "{name}: {error}");
    }
}

#[tokio::test]
async fn a_command_without_reply_fails_after_socket_timeout() {
    let server = MisbehavingServer::start(Fault::Silence).await;
    let error = ping(&server, "socketTimeoutMS=50").await.expect_err("no reply");
    assert!(error.is_timeout() && error.is_network(), "{error}");
}

#[tokio::test]
async fn server_selection_errors_name_the_failure_of_the_handshake() {
    let ssh = b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n".to_vec();
    let http = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".to_vec();
    for (fault, options, why) in [
        (Fault::CloseAtHandshake, "", "closed the connection"),
        (Fault::BytesAtHandshake(ssh), "", "wire protocol"),
        (Fault::BytesAtHandshake(http), "", "answers with HTTP"),
        (
            Fault::SilenceAtHandshake,
            "connectTimeoutMS=100",
            "connectTimeoutMS",
        ),
    ] {
        let server = MisbehavingServer::start(fault).await;
        let uri = server.uri(&format!("serverSelectionTimeoutMS=50&{options}"));
        let client = Client::connect(uri).await.expect("a client");
        let known = wait_for_description(&client, |text| text.contains(why));
        tokio::time::timeout(TIME_LIMIT, known).await.expect(why);
        let error = client.list_database_names().await.expect_err(why);
        assert!(matches!(error.kind(), ErrorKind::ServerSelection(_)), "{error}");
        let text = format!("{error:#}");
        assert!(text.contains(why), "{text} does not mention {why}");
    }
}

#[tokio::test]
async fn server_selection_errors_name_a_refused_connection() {
    let closed = ClosedPort::new();
    let address = closed.address();
    let client = Client::connect(format!("mongodb://{address}/?serverSelectionTimeoutMS=50"))
        .await
        .expect("a client");
    let known = wait_for_description(&client, |text| text.contains("refused"));
    tokio::time::timeout(TIME_LIMIT, known).await.expect("no hang");
    let error = client.list_database_names().await.expect_err("nothing listens");
    assert!(matches!(error.kind(), ErrorKind::ServerSelection(_)), "{error}");
    assert!(error.is_timeout());
    let text = format!("{error:#}");
    assert!(
        text.contains("refused") && text.contains(&address.to_string()),
        "{text}"
    );
}

#[tokio::test]
async fn a_reply_with_an_invalid_cursor_is_rejected() {
    for body in [
        doc! { "ok": 1 },
        doc! { "ok": 1, "cursor": 5 },
        doc! { "ok": 1, "cursor": { "id": 0_i64, "ns": "a.b" } },
        doc! { "ok": 1, "cursor": { "id": "x", "ns": "a.b", "firstBatch": [] } },
        doc! { "ok": 1, "cursor": { "id": 0_i64, "ns": "nodot", "firstBatch": [] } },
    ] {
        let server = MisbehavingServer::start(Fault::Reply(body.clone())).await;
        let client = Client::connect(server.uri("")).await.expect("a client");
        let things = client.database("a").collection::<Document>("b");
        let error = things.find(doc! {}).await.expect_err("no cursor");
        assert!(
            matches!(error.kind(), ErrorKind::InvalidReply(_)),
            "{body}: {error}"
        );
    }
}

#[tokio::test]
async fn a_batch_with_values_other_than_documents_is_rejected() {
    let body = doc! { "ok": 1, "cursor": { "id": 0_i64, "ns": "a.b", "firstBatch": [1, 2] } };
    let server = MisbehavingServer::start(Fault::Reply(body)).await;
    let client = Client::connect(server.uri("")).await.expect("a client");
    let things = client.database("a").collection::<Document>("b");
    let mut cursor = things.find(doc! {}).await.expect("a cursor");
    assert!(matches!(
        cursor.try_next().await.expect_err("no document").kind(),
        ErrorKind::InvalidReply(_)
    ));
    assert!(cursor.try_next().await.expect("the end").is_none());
}

#[tokio::test]
async fn a_connection_with_a_protocol_error_is_not_reused() {
    // The fault occurs once on each connection; the pool must not reuse such a connection.
    let server = MisbehavingServer::start(Fault::Bytes(vec![0xFF; 64])).await;
    let client = Client::connect(server.uri("maxPoolSize=1"))
        .await
        .expect("a client");
    for round in 0..3 {
        let admin = client.database("admin");
        let pinged = admin.run_command(doc! { "ping": 1 });
        let result = tokio::time::timeout(TIME_LIMIT, pinged.into_future())
            .await
            .expect("no hang");
        assert!(result.is_err(), "round {round}");
    }
    assert_eq!(server.commands(), 3, "every round used a new connection");
}

//! The states of a connection and its late replies, against a socket that the test writes to.

use std::{sync::Arc, task::Context};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::{
    ServerAddress,
    bson::{RawDocumentBuf, rawdoc},
    connection::{ReadBuffer, Stream},
    proto::description::HelloReply,
    types::late_replies::LateReplies,
};

/// A point in time that has passed.
const PAST: Duration = Duration::from_nanos(1);

/// An established connection and its other end.
async fn connected() -> (Connection, TcpStream) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
    let connection = Connection {
        address: ServerAddress::tcp("127.0.0.1", address.port()),
        stream: Stream::Tcp(ours.unwrap()),
        hello: HelloReply::default(),
        server_api: None,
        handshake_time: Duration::ZERO,
        mechanism: None,
        token: None,
        write: Vec::new(),
        read: ReadBuffer::default(),
        compression: None,
        last_request: 0,
        transactional_request: None,
        large_request: None,
        drain_end: None,
        outstanding: None,
        exhaust: false,
        is_established: true,
        state: State::Idle,
        unused_cursor: None,
        hello_body: 0..0,
        failure: None,
    };
    (connection, theirs.unwrap().0)
}

fn begin(connection: &mut Connection, filler: usize) {
    let (message, _) = connection.begin();
    let mut command = CommandBuilder::new(message.buffer);
    command.str("ping", &"x".repeat(filler));
    command.finish("admin").unwrap();
    message.finish().unwrap();
}

/// Sends a request that the other end reads.
async fn send(connection: &mut Connection, peer: &mut TcpStream) {
    begin(connection, 1);
    connection.send(Deadline::NEVER).await.unwrap();
    request(peer).await;
}

/// Reads a request and returns its body.
async fn request(peer: &mut TcpStream) -> Vec<u8> {
    let mut header = [0; 16];
    peer.read_exact(&mut header).await.unwrap();
    let length = i32::from_le_bytes(header[..4].try_into().unwrap());
    let mut rest = vec![0; usize::try_from(length).unwrap() - 16];
    peer.read_exact(&mut rest).await.unwrap();
    rest.split_off(5)
}

fn reply(answers: i32, flags: u32, body: &RawDocumentBuf) -> Vec<u8> {
    let length = i32::try_from(21 + body.as_bytes().len()).unwrap();
    let mut message: Vec<u8> = [length, 9, answers, 2013].map(i32::to_le_bytes).concat();
    message.extend(flags.to_le_bytes());
    message.push(0);
    message.extend(body.as_bytes());
    message
}

fn ok(answers: i32) -> Vec<u8> {
    reply(answers, 0, &rawdoc! { "ok": 1.0 })
}

/// Polls once, without a task that could be woken.
fn poll<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
    match std::pin::Pin::new(future).poll(&mut Context::from_waker(std::task::Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Reads what has arrived until this many bytes have, then drops the future of the operation.
async fn give_up_after(connection: &mut Connection, bytes: usize) {
    loop {
        assert!(poll(&mut Box::pin(connection.receive(Deadline::NEVER))).is_none());
        if connection.read.arrived() >= bytes {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// The connection works, and its replies are those to its requests.
async fn works(connection: &mut Connection, peer: &mut TcpStream) {
    assert_eq!(connection.condition(), Condition::Reusable);
    send(connection, peer).await;
    let answers = connection.request_id();
    peer.write_all(&ok(answers)).await.unwrap();
    connection.receive(Deadline::NEVER).await.unwrap();
    assert_eq!(connection.condition(), Condition::Reusable);
}

#[tokio::test]
async fn the_condition_follows_the_request() {
    let (mut connection, mut peer) = connected().await;
    assert_eq!(connection.condition(), Condition::Reusable);
    send(&mut connection, &mut peer).await;
    assert_eq!(connection.condition(), Condition::OwesReply);
    connection.expect_nothing();
    works(&mut connection, &mut peer).await;
    // A deadline leaves the reply outstanding; `fail` is for those who do not await it.
    send(&mut connection, &mut peer).await;
    let late = connection.receive(Deadline::after(Some(PAST))).await.unwrap_err();
    assert!(late.is_network() && late.address().is_some(), "{late}");
    assert!(connection.owes_reply() && connection.failure().is_none());
    let late = connection.fail(late);
    assert_eq!(connection.condition(), Condition::Broken);
    assert_eq!(
        connection.failure().map(ToString::to_string),
        Some(late.to_string())
    );
}

#[tokio::test]
async fn a_request_that_was_sent_in_part_breaks_the_connection() {
    for dropped in [true, false] {
        let (mut connection, _peer) = connected().await;
        begin(&mut connection, 40 << 20);
        if dropped {
            assert!(poll(&mut Box::pin(connection.send(Deadline::NEVER))).is_none());
        } else {
            connection.send(Deadline::after(Some(PAST))).await.unwrap_err();
        }
        assert_eq!(connection.condition(), Condition::Broken);
    }
}

#[tokio::test]
async fn a_deadline_before_the_first_byte_is_sent_leaves_the_connection_usable() {
    let (mut connection, mut peer) = connected().await;
    let Stream::Tcp(stream) = &connection.stream else {
        panic!("not encrypted");
    };
    // The socket takes nothing more.
    let mut stuffed = 0;
    loop {
        stream.writable().await.unwrap();
        match stream.try_write(&[0; 1 << 16]) {
            Ok(count) => stuffed += count,
            Err(_) if stuffed > 1 << 16 => break,
            Err(_) => {}
        }
    }
    begin(&mut connection, 1);
    let late = connection.send(Deadline::after(Some(PAST))).await.unwrap_err();
    assert!(late.is_network() && late.address().is_some(), "{late}");
    let mut read = vec![0; stuffed];
    peer.read_exact(&mut read).await.unwrap();
    works(&mut connection, &mut peer).await;
}

#[tokio::test]
async fn a_reply_is_drained_from_any_byte() {
    let (mut connection, mut peer) = connected().await;
    for cut in [0, 1, 2, 4, 15, 16, 20, 23] {
        // A preceding reply is in the buffer.
        works(&mut connection, &mut peer).await;
        send(&mut connection, &mut peer).await;
        let late = ok(connection.request_id());
        peer.write_all(&late[..cut]).await.unwrap();
        give_up_after(&mut connection, cut).await;
        assert!(connection.owes_reply());
        peer.write_all(&late[cut..]).await.unwrap();
        connection.drain_unused(KilledCursors::All).await.unwrap();
        works(&mut connection, &mut peer).await;
    }
}

#[tokio::test]
async fn a_reply_that_cannot_be_the_last_is_not_awaited() {
    let (mut connection, mut peer) = connected().await;
    send(&mut connection, &mut peer).await;
    let more = reply(connection.request_id(), 2, &rawdoc! { "ok": 1.0 });
    peer.write_all(&more).await.unwrap();
    connection.receive(Deadline::NEVER).await.unwrap();
    assert_eq!(connection.condition(), Condition::Broken, "exhaust");
    let (mut connection, mut peer) = connected().await;
    connection.is_established = false;
    send(&mut connection, &mut peer).await;
    assert_eq!(connection.condition(), Condition::Broken, "no user yet");
}

#[tokio::test]
async fn an_unexpected_late_reply_breaks_the_connection() {
    let surplus = [ok(1), vec![0]].concat();
    let streamed = reply(1, 2, &rawdoc! { "ok": 1.0 });
    for (bytes, fails) in [
        (ok(7), true),
        (streamed, true),
        (vec![0; 16], true),
        (surplus, false),
    ] {
        let (mut connection, mut peer) = connected().await;
        send(&mut connection, &mut peer).await;
        peer.write_all(&bytes).await.unwrap();
        peer.shutdown().await.unwrap();
        let drained = connection.drain_unused(KilledCursors::Opened).await;
        if fails {
            drained.unwrap_err();
            assert_eq!(connection.condition(), Condition::Broken);
        } else {
            // The surplus may arrive later: then it is found before the next use.
            assert!(connection.condition() == Condition::Broken || connection.has_perished());
        }
    }
}

#[tokio::test]
async fn an_interruption_ends_a_drain() {
    let (mut connection, mut peer) = connected().await;
    let interruption = connection.interruption();
    send(&mut connection, &mut peer).await;
    let task = tokio::spawn(async move {
        let error = connection.drain_unused(KilledCursors::Opened).await.unwrap_err();
        (connection.condition(), error)
    });
    tokio::task::yield_now().await;
    interruption.interrupt();
    let (condition, error) = task.await.unwrap();
    assert_eq!(condition, Condition::Broken);
    assert!(error.is_network(), "{error}");
}

#[tokio::test]
async fn each_byte_renews_the_time_limit() {
    let (mut connection, mut peer) = connected().await;
    send(&mut connection, &mut peer).await;
    let late = ok(connection.request_id());
    for byte in late.chunks(1).take(20) {
        peer.write_all(byte).await.unwrap();
        // The step ends with the byte, and the next one has a time limit of its own.
        let step = connection.drain_step(Deadline::NEVER).await;
        assert!(matches!(step, Ok(None)), "{step:?}");
        assert!(connection.owes_reply());
    }
}

#[tokio::test]
async fn a_silent_server_loses_the_connection() {
    let (mut connection, mut peer) = connected().await;
    send(&mut connection, &mut peer).await;
    peer.write_all(&ok(connection.request_id())[..20]).await.unwrap();
    let error = connection.drain_within(PAST, Deadline::NEVER).await.unwrap_err();
    assert!(error.is_network(), "{error}");
    assert_eq!(connection.condition(), Condition::Broken);
    assert!(connection.failure().is_some());
}

#[tokio::test]
async fn a_deadline_before_the_time_limit_leaves_the_reply_outstanding() {
    let (mut connection, mut peer) = connected().await;
    send(&mut connection, &mut peer).await;
    let error = connection.drain(Deadline::after(Some(PAST))).await.unwrap_err();
    assert!(error.is_network() && connection.owes_reply(), "{error}");
    let late = ok(connection.request_id());
    peer.write_all(&late).await.unwrap();
    connection.drain(Deadline::NEVER).await.unwrap();
    works(&mut connection, &mut peer).await;
}

#[tokio::test]
async fn a_reply_that_is_not_complete_in_time_breaks_the_connection_unless_the_caller_gives_up() {
    let past = Deadline::after(Some(PAST));
    for (end, limit, expected) in [
        (past, Deadline::NEVER, Condition::Broken),
        (Deadline::NEVER, past, Condition::OwesReply),
    ] {
        let (mut connection, mut peer) = connected().await;
        send(&mut connection, &mut peer).await;
        let error = connection.drain_until(end, limit).await.unwrap_err();
        assert!(error.is_network(), "{error}");
        assert_eq!(connection.condition(), expected);
    }
}

#[tokio::test]
async fn a_cursor_in_a_late_reply_is_killed() {
    let opened = rawdoc! { "firstBatch": [], "id": 7_i64, "ns": "shop.orders" };
    let continued = rawdoc! { "nextBatch": [], "id": 7_i64, "ns": "shop.orders" };
    for (cursor, killed, sends) in [
        (&opened, KilledCursors::Opened, true),
        (&opened, KilledCursors::All, true),
        (&continued, KilledCursors::Opened, false),
        (&continued, KilledCursors::All, true),
    ] {
        let (mut connection, mut peer) = connected().await;
        send(&mut connection, &mut peer).await;
        let body = rawdoc! { "ok": 1.0, "cursor": cursor.clone() };
        let late = reply(connection.request_id(), 0, &body);
        peer.write_all(&late).await.unwrap();
        if sends {
            let answer = async {
                let kill = request(&mut peer).await;
                let expected = rawdoc! { "killCursors": "orders", "cursors": [7_i64], "$db": "shop" };
                assert_eq!(kill, expected.as_bytes());
                peer.write_all(&ok(2)).await.unwrap();
            };
            let (drained, ()) = tokio::join!(connection.drain_unused(killed), answer);
            drained.unwrap();
        } else {
            connection.drain_unused(killed).await.unwrap();
        }
        works(&mut connection, &mut peer).await;
    }
}

#[tokio::test]
async fn a_cursor_that_no_operation_uses_is_killed() {
    let (mut connection, mut peer) = connected().await;
    send(&mut connection, &mut peer).await;
    let body = rawdoc! { "ok": 1.0, "cursor": { "firstBatch": [], "id": 7_i64, "ns": "shop.orders" } };
    let whole = reply(connection.request_id(), 0, &body);
    peer.write_all(&whole).await.unwrap();
    let body = connection.receive(Deadline::NEVER).await.unwrap();
    let cursor = OpenCursor::opened_by(connection.reply(body)).unwrap();
    connection.hold_cursor(cursor.clone());
    assert_eq!(connection.condition(), Condition::OwesReply);
    assert_eq!(connection.release_cursor().as_deref(), Some(&cursor));
    assert_eq!(connection.condition(), Condition::Reusable);
    connection.hold_cursor(cursor);
    let answer = async {
        let kill = request(&mut peer).await;
        let expected = rawdoc! { "killCursors": "orders", "cursors": [7_i64], "$db": "shop" };
        assert_eq!(kill, expected.as_bytes());
        peer.write_all(&ok(2)).await.unwrap();
    };
    let (drained, ()) = tokio::join!(connection.drain_unused(KilledCursors::Opened), answer);
    drained.unwrap();
    works(&mut connection, &mut peer).await;
}

/// The server closes it with the transaction.
#[tokio::test]
async fn a_cursor_of_a_transaction_is_not_killed() {
    let cursor = rawdoc! { "firstBatch": [], "id": 7_i64, "ns": "shop.orders" };
    let (mut connection, mut peer) = connected().await;
    begin(&mut connection, 1);
    let replies = Arc::new(LateReplies::default());
    connection.mark_transactional(replies.expect(1));
    connection.send(Deadline::NEVER).await.unwrap();
    request(&mut peer).await;
    let body = rawdoc! { "ok": 1.0, "cursor": cursor };
    peer.write_all(&reply(connection.request_id(), 0, &body))
        .await
        .unwrap();
    let drained = connection.drain_unused(KilledCursors::All).await.unwrap();
    assert!(drained.state_change.is_none());
    assert!(replies.is_empty());
    works(&mut connection, &mut peer).await;
}

#[tokio::test]
async fn what_a_late_reply_says_about_its_transaction_is_kept_for_the_session() {
    let (mut connection, mut peer) = connected().await;
    begin(&mut connection, 1);
    let replies = Arc::new(LateReplies::default());
    connection.mark_transactional(replies.expect(7));
    connection.send(Deadline::NEVER).await.unwrap();
    request(&mut peer).await;
    let body = rawdoc! { "ok": 1.0, "recoveryToken": { "a": 1 } };
    peer.write_all(&reply(connection.request_id(), 0, &body))
        .await
        .unwrap();
    connection.drain_unused(KilledCursors::Opened).await.unwrap();
    let taken = replies.take();
    let tokens: Vec<_> = taken
        .iter()
        .map(|late| (late.transaction, late.recovery_token.clone()))
        .collect();
    assert_eq!(tokens, [(Some(7), Some(rawdoc! { "a": 1 }))]);
    assert!(replies.is_empty());
}

#[tokio::test]
async fn a_reply_of_a_transaction_is_not_awaited_once_the_connection_is_closed() {
    for has_dropped in [false, true] {
        let (mut connection, mut peer) = connected().await;
        begin(&mut connection, 1);
        let replies = Arc::new(LateReplies::default());
        connection.mark_transactional(replies.expect(1));
        connection.send(Deadline::NEVER).await.unwrap();
        request(&mut peer).await;
        assert!(!replies.is_empty());
        if has_dropped {
            drop(connection);
        } else {
            drop(peer);
            connection.drain_unused(KilledCursors::All).await.unwrap_err();
        }
        assert!(replies.is_empty());
    }
}

#[tokio::test]
async fn a_state_change_in_a_late_reply_is_returned() {
    let (mut connection, mut peer) = connected().await;
    send(&mut connection, &mut peer).await;
    let body = rawdoc! { "ok": 0.0, "code": 10107, "errmsg": "not primary" };
    peer.write_all(&reply(connection.request_id(), 0, &body))
        .await
        .unwrap();
    let error = connection
        .drain_unused(KilledCursors::Opened)
        .await
        .unwrap()
        .state_change
        .unwrap();
    assert_eq!(
        (error.code(), error.address()),
        (Some(10107), Some(&connection.address))
    );
    works(&mut connection, &mut peer).await;
}

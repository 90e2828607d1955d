//! Invalid compressed replies: each is reported as a typed error that names the problem, the
//! connection is closed, and the pool stays usable.

use marula_driver::{
    ErrorKind,
    bson::{Document, doc, to_vec},
};
use marula_driver_tests::tap::{OP_COMPRESSED, OP_MSG, WireTap, compressed, compressed_frame};

use crate::compression::{Tap, server, tapped};

/// The content of a message with this body: flags, and a section of kind 0.
fn content(body: &Document) -> Vec<u8> {
    [&[0; 5], &to_vec(body).expect("a document")[..]].concat()
}

/// The uncompressed size and the compressed content of a valid reply.
fn packed(body: &Document, id: u8) -> (i32, Vec<u8>) {
    let content = content(body);
    let frame = compressed(&[&[0; 16], &content[..]].concat(), id);
    (content.len() as i32, frame[25..].to_vec())
}

/// Replies to the next ping with the frame, with the matching `responseTo`.
fn answer_ping(tap: &WireTap, frame: Vec<u8>) {
    tap.set_replies(move |passing| {
        if passing.command != "ping" {
            return passing.bytes.to_vec();
        }
        let mut frame = frame.clone();
        frame[8..12].copy_from_slice(&passing.bytes[8..12]);
        frame
    });
}

async fn assert_rejected(setup: &Tap, frame: Vec<u8>, why: &str) {
    let admin = setup.client.database("admin");
    answer_ping(&setup.tap, frame);
    let error = admin.run_command(doc! { "ping": 1 }).await.expect_err(why);
    assert!(matches!(error.kind(), ErrorKind::Protocol(_)), "{why}: {error}");
    assert!(error.to_string().contains(why), "{why}: {error}");
    assert!(error.address().is_some(), "{error}");
    setup.tap.pass_replies();
    let _ = setup.tap.take_requests();
    admin
        .run_command(doc! { "ping": 1 })
        .await
        .expect("another connection");
    let requests = setup.tap.take_requests();
    let ping = requests
        .iter()
        .find(|request| request.command() == "ping")
        .expect("a ping");
    let is_handshake = |request: &&marula_driver_tests::tap::Tapped| request.body.contains_key("client");
    let hello = requests
        .iter()
        .filter(is_handshake)
        .find(|hello| hello.connection == ping.connection);
    assert!(hello.is_some(), "{why}: the connection was reused");
}

#[tokio::test]
async fn frames_with_wrong_headers_are_protocol_errors() {
    let setup = tapped(server(), "compressors=snappy,zlib,zstd&maxPoolSize=1").await;
    let body = doc! { "ok": 1, "filler": "x".repeat(300) };
    for (frame, why) in [
        (
            compressed_frame(OP_COMPRESSED, 100, 1, &[0; 100]),
            "another compressed message",
        ),
        (compressed_frame(1, 100, 1, &[0; 100]), "opcode 1"),
        (
            compressed_frame(OP_MSG, -5, 2, &[0; 100]),
            "uncompressed size of -5",
        ),
        (
            compressed_frame(OP_MSG, i32::MAX, 3, &[0; 100]),
            "limit of a message is 48000000",
        ),
        (
            compressed_frame(OP_MSG, 48_000_000, 3, &[0; 100]),
            "limit of a message is 48000000",
        ),
        (
            compressed_frame(OP_MSG, 100, 9, &[0; 100]),
            "unknown compressorId 9",
        ),
        (compressed_frame(OP_MSG, 90, 0, &[0; 100]), "noop"),
        (compressed_frame(OP_MSG, 5, 0, &[0; 5]), "too few"),
        (compressed_frame(OP_MSG, 100, 0, &[]), "too short"),
        (compressed_frame(OP_MSG, 100, 0, &[7; 100]), "flag bits"),
    ] {
        assert_rejected(&setup, frame, why).await;
    }
    for (id, name) in [(1, "snappy"), (2, "zlib"), (3, "zstd")] {
        let why = format!("compressed by {name}");
        let (size, good) = packed(&body, id);
        for (size, content) in [
            (size - 1, good.clone()),
            (size + 1, good.clone()),
            (40_000_000, good.clone()),
            (size, good[..good.len() - 1].to_vec()),
            (size, [&good[..], &[0]].concat()),
            (size, vec![0xFF; 60]),
            (size, b"HTTP/1.1 400 Bad Request".to_vec()),
        ] {
            assert_rejected(&setup, compressed_frame(OP_MSG, size, id, &content), &why).await;
        }
        let (_, bomb) = packed(&doc! { "ok": 1, "filler": "\0".repeat(100_000_000) }, id);
        assert_rejected(&setup, compressed_frame(OP_MSG, 1_000, id, &bomb), &why).await;
    }
}

#[tokio::test]
async fn compressors_that_were_not_offered_are_rejected() {
    let body = doc! { "ok": 1 };
    let setup = tapped(server(), "compressors=snappy&maxPoolSize=1").await;
    for (id, name) in [(2, "zlib"), (3, "zstd")] {
        let (size, content) = packed(&body, id);
        let why = format!("by {name}, which was not offered");
        assert_rejected(&setup, compressed_frame(OP_MSG, size, id, &content), &why).await;
    }
    let setup = tapped(server(), "maxPoolSize=1").await;
    for id in 0..4 {
        let (size, content) = packed(&body, id);
        let frame = compressed_frame(OP_MSG, size, id, &content);
        assert_rejected(&setup, frame, "no compressor was offered").await;
    }
}

//! The fuzz target for OP_MSG replies: header, message and reply.

use marula_driver::{
    bson::{doc, to_vec},
    internals::{
        bulk_write::{ResultMerger, Summary, Written},
        command::{Reply, write_concern_error, write_errors},
        handshake::parse_hello,
        wire::{HEADER_LENGTH, Header, parse_op_msg, whole_command},
    },
};

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "op_msg",
    run,
    seeds,
};

/// Maximum message size of the connection.
const LIMIT: usize = 48_000_000;

fn run(bytes: &[u8]) {
    if let Some(header) = bytes.first_chunk::<HEADER_LENGTH>()
        && let Ok(header) = Header::parse(header, LIMIT)
    {
        assert!(
            (HEADER_LENGTH..=LIMIT).contains(&header.length),
            "the length exceeds the maximum message size"
        );
    }
    // The connection reads a message of the length in its header.
    if let Ok(message) = parse_op_msg(bytes) {
        let body = bytes.get(message.body).expect("the body lies within the message");
        read_reply(body);
    }
    if let Some(command) = whole_command(bytes) {
        assert!(command.as_bytes().len() >= 5);
    }
}

/// The body as a reply to `bulkWrite`, and as a document of its results cursor.
fn read_bulk_write(body: &[u8]) {
    let Ok(summary) = Summary::parse(body) else {
        return;
    };
    let mut merger = ResultMerger::new(false, true);
    for _ in 0..2 {
        merger.begin_command(0, 2, &summary);
        let _ = merger.add_result(body, |_| Some(Written::Update));
        let _ = merger.end_command();
    }
    let _ = merger.finish();
}

fn read_reply(body: &[u8]) {
    let _ = parse_hello(body);
    read_bulk_write(body);
    let Ok(reply) = Reply::scan(body) else {
        return;
    };
    if let Some(error) = reply.command_error() {
        assert!(!error.to_string().is_empty());
    }
    let _ = (
        write_errors(&reply),
        write_concern_error(&reply),
        reply.labels(),
        reply.failure_codes(),
    );
    if let Ok((cursor, at)) = reply.cursor() {
        assert_eq!(
            body.get(at..at + cursor.len()),
            Some(cursor),
            "the cursor is not inside the reply"
        );
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let hello = doc! {
        "isWritablePrimary": true, "setName": "rs", "hosts": ["a:1", "b:2"], "setVersion": 3, "ok": 1.0, "maxWireVersion": 25,
        "topologyVersion": { "processId": marula_driver::bson::ObjectId::from_bytes([1; 12]), "counter": 6_i64 },
        "lastWrite": { "lastWriteDate": marula_driver::bson::DateTime::from_millis(5) }, "tags": { "dc": "ny" },
    };
    let cursor = doc! {
        "cursor": { "id": 7_i64, "ns": "d.c", "firstBatch": [{ "_id": 1 }, { "_id": 2 }] }, "ok": 1,
        "$clusterTime": { "clusterTime": marula_driver::bson::Timestamp { time: 5, increment: 6 } },
    };
    let failures = doc! {
        "ok": 1, "n": 1, "writeErrors": [{ "index": 1, "code": 11000, "errmsg": "E", "keyPattern": { "a": 1 } }],
        "writeConcernError": { "code": 91, "errmsg": "x", "errorLabels": ["RetryableWriteError"] }, "errorLabels": ["L"],
    };
    let failed = doc! { "ok": 0, "code": 462, "codeName": "C", "errmsg": "m", "baseBackoffMS": 50 };
    let counts =
        doc! { "ok": 1, "nErrors": 1, "nInserted": 1_i64, "nUpserted": 1, "nMatched": 2, "nModified": 1 };
    let written = doc! { "ok": 1.0, "idx": 1, "n": 1, "nModified": 1, "upserted": { "_id": 5 } };
    let rejected = doc! { "ok": 0.0, "idx": 0, "code": 11000, "errmsg": "E", "keyValue": { "a": 1 } };
    let mut messages = Vec::new();
    for body in [hello, cursor, failures, failed, counts, written, rejected] {
        let body = to_vec(&body).expect("a document");
        for (flags, tail) in [(0_u32, Vec::new()), (2, sequence(&body))] {
            messages.push(message(flags, &body, &tail));
        }
    }
    messages
}

fn message(flags: u32, body: &[u8], tail: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let length = HEADER_LENGTH + 5 + body.len() + tail.len();
    for number in [length as i32, 7, 5, 2013] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&flags.to_le_bytes());
    bytes.push(0);
    bytes.extend_from_slice(body);
    bytes.extend_from_slice(tail);
    bytes
}

fn sequence(document: &[u8]) -> Vec<u8> {
    let name = b"documents\0";
    let mut bytes = vec![1];
    bytes.extend_from_slice(&((4 + name.len() + 2 * document.len()) as i32).to_le_bytes());
    bytes.extend_from_slice(name);
    bytes.extend_from_slice(document);
    bytes.extend_from_slice(document);
    bytes
}

//! Tests with random and corrupted replies: the result is an error or fields within the reply,
//! without a panic.

use proptest::prelude::*;

use super::*;
use crate::{
    bson::{Timestamp, doc, to_vec},
    error::{ErrorKind, WriteError},
    proto::wire::tests::{apply, config, damage},
};

/// Replies that together contain every field that is parsed.
fn replies() -> [Vec<u8>; 3] {
    let failed = doc! {
        "ok": 0.0, "code": 112, "codeName": "WriteConflict", "errmsg": "no", "errorLabels": ["A", "B"],
        "$clusterTime": { "clusterTime": Timestamp { time: 1, increment: 1 } },
    };
    let written = doc! {
        "ok": 1, "n": 3, "nModified": 2_i64, "upserted": [{ "index": 0, "_id": 7 }],
        "writeErrors": [{ "index": 1, "code": 11000, "errmsg": "dup", "keyPattern": { "a": 1 }, "keyValue": { "a": 2 } }],
        "writeConcernError": { "code": 64, "codeName": "x", "errmsg": "late", "errInfo": { "w": 1 }, "errorLabels": ["C"] },
    };
    let cursor = doc! { "cursor": { "firstBatch": [{ "a": 1 }], "id": 5_i64, "ns": "a.b" }, "ok": 1 };
    [failed, written, cursor].map(|reply| to_vec(&reply).unwrap())
}

/// Calls every method of a reply.
fn read_all(body: &[u8]) {
    let Ok(reply) = Reply::scan(body) else {
        return;
    };
    let _ = (
        reply.n(),
        reply.n_modified(),
        reply.cluster_time(),
        reply.upserted(),
    );
    let _ = (
        reply.labels(),
        reply.has_write_failures(),
        write_concern_error(&reply),
    );
    if let Some(error) = reply.command_error() {
        assert!(!error.to_string().is_empty());
    }
    if let Ok((cursor, offset)) = reply.cursor() {
        assert_eq!(&body[offset..offset + cursor.len()], cursor);
    }
    let errors: Vec<WriteError> = write_errors(&reply).unwrap_or_default();
    assert!(errors.len() <= body.len());
}

#[test]
fn a_reply_without_a_valid_ok_is_invalid() {
    for reply in [
        doc! { "n": 1 },
        doc! { "ok": "1" },
        doc! { "ok": Timestamp { time: 1, increment: 0 } },
    ] {
        let body = to_vec(&reply).unwrap();
        let error = Reply::scan(&body).unwrap().command_error().unwrap();
        assert!(matches!(error.kind(), ErrorKind::InvalidReply(_)), "{error:?}");
    }
}

#[test]
fn the_errors_of_single_writes_are_found() {
    for (reply, expected) in [
        (doc! { "ok": 1, "n": 1 }, false),
        (doc! { "ok": 1, "writeErrors": [] }, true),
        (doc! { "ok": 1, "nErrors": 0 }, false),
        (doc! { "ok": 1, "nErrors": 2 }, true),
        (doc! { "ok": 1, "nErrors": "2" }, false),
    ] {
        let body = to_vec(&reply).unwrap();
        assert_eq!(
            Reply::scan(&body).unwrap().reports_write_errors(),
            expected,
            "{reply}"
        );
    }
}

#[test]
fn valid_replies_are_parsed() {
    let [failed, written, cursor] = replies();
    let error = Reply::scan(&failed).unwrap().command_error().unwrap();
    assert_eq!((error.code(), error.labels().len()), (Some(112), 2));
    let written = Reply::scan(&written).unwrap();
    assert_eq!(
        (
            written.n().unwrap(),
            written.n_modified().unwrap(),
            written.labels().len()
        ),
        (3, 2, 1)
    );
    assert_eq!(write_errors(&written).unwrap()[0].index, 1);
    assert_eq!(write_concern_error(&written).unwrap().code, 64);
    assert!(Reply::scan(&cursor).unwrap().cursor().is_ok());
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_parsed_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_all(&bytes);
    }

    #[test]
    fn any_elements_are_parsed_or_rejected(elements in prop::collection::vec(0..20_u8, 0..100)) {
        let length = i32::try_from(elements.len() + 5).unwrap();
        let body = [&length.to_le_bytes()[..], &elements, &[0]].concat();
        read_all(&body);
    }

    #[test]
    fn a_corrupted_reply_is_parsed_or_rejected(which in 0..3_usize, damage in damage()) {
        let mut body = replies()[which].clone();
        apply(&mut body, &damage);
        read_all(&body);
    }
}

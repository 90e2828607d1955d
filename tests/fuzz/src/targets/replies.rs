//! The fuzz target for the replies to writes, and for the documents of listings.

use marula_driver::{
    CollectionSpecification, DatabaseSpecification, IndexModel,
    bson::{Bson, Document, doc, from_slice, to_vec},
    internals::{
        bulk_write::{ResultMerger, Summary, Written},
        command::{OpenCursor, Reply, state_change_in, write_concern_error, write_errors},
    },
};

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "replies",
    run,
    seeds,
};

/// The number of writes of the command.
const WRITES: usize = 3;

fn run(bytes: &[u8]) {
    reply(bytes);
    bulk_write(bytes);
    listings(bytes);
}

fn reply(bytes: &[u8]) {
    let Ok(reply) = Reply::scan(bytes) else { return };
    // The counts of the public results are whole numbers that BSON can hold.
    for count in [reply.n(), reply.n_modified()].into_iter().flatten() {
        assert!(i64::try_from(count).is_ok(), "{count}");
    }
    let _ = (reply.labels(), reply.failure_codes(), reply.cursor());
    let _ = (
        reply.operation_time(),
        reply.snapshot_time(),
        reply.recovery_token(),
    );
    for error in [
        reply.command_error(),
        reply.state_change(),
        state_change_in(bytes),
    ] {
        assert!(error.is_none_or(|error| !format!("{error} {error:?}").is_empty()));
    }
    if let Ok(errors) = write_errors(&reply) {
        assert!(reply.reports_write_errors() || errors.is_empty());
    }
    let _ = write_concern_error(&reply);
    let _ = (OpenCursor::opened_by(bytes), OpenCursor::continued_by(bytes));
}

/// The same bytes are the reply to `bulkWrite`, and each document of its results cursor.
fn bulk_write(bytes: &[u8]) {
    let id = Bson::Int32(1);
    let summary = Summary::parse(bytes).unwrap_or_default();
    for is_ordered in [true, false] {
        let mut merger = ResultMerger::new(is_ordered, true);
        merger.begin_command(0, WRITES, &summary);
        for _ in 0..2 {
            let written = |position| match position {
                0 => Some(Written::Insert(&id)),
                1 => Some(Written::Update),
                2 => Some(Written::Delete),
                _ => None,
            };
            if !matches!(merger.add_result(bytes, written), Ok(true)) {
                break;
            }
        }
        let _ = merger.end_command();
        if let Err(error) = merger.finish() {
            assert!(!error.to_string().is_empty());
        }
    }
}

/// A listing is read whatever the types of its details are, and is written again.
fn listings(bytes: &[u8]) {
    if let Ok(index) = from_slice::<IndexModel>(bytes) {
        let written = to_vec(&index).expect("an index that was read can be written");
        let read: IndexModel = from_slice(&written).expect("an index that was written can be read");
        assert_eq!(to_vec(&read).expect("as above"), written);
    }
    let _ = from_slice::<CollectionSpecification>(bytes);
    let _ = from_slice::<DatabaseSpecification>(bytes);
}

fn seeds() -> Vec<Vec<u8>> {
    let error = doc! { "index": 1, "code": 11_000, "errmsg": "duplicate", "keyPattern": { "a": 1 }, "keyValue": { "a": 5 } };
    [
        doc! { "ok": 1, "n": 2, "nModified": 1, "upserted": [{ "index": 0, "_id": 5 }], "writeErrors": [error.clone()] },
        doc! {
            "ok": 1, "n": 0, "writeConcernError": { "code": 91, "errmsg": "stopped", "errInfo": { "writeConcern": { "w": 2 } } },
            "errorLabels": ["RetryableWriteError"], "$clusterTime": { "clusterTime": marula_driver::bson::Timestamp { time: 1, increment: 2 } },
        },
        doc! { "ok": 0, "code": 10_107, "codeName": "NotWritablePrimary", "errmsg": "not primary", "topologyVersion": { "counter": 5_i64 } },
        doc! { "ok": 1, "cursor": { "id": 7_i64, "ns": "db.c", "firstBatch": [{ "ok": 1, "idx": 0, "n": 1 }] }, "recoveryToken": { "a": 1 } },
        doc! { "ok": 1, "nErrors": 1, "nInserted": 1_i64, "nUpserted": 0.0, "nMatched": 1, "nModified": 1, "nDeleted": 0 },
        doc! { "ok": 1.0, "idx": 1, "n": 1, "nModified": 1, "upserted": { "_id": 5 } },
        doc! { "ok": 0.0, "idx": 2, "code": 11_000, "errmsg": "duplicate", "n": 0 },
        doc! {
            "v": 2, "key": { "a": 1, "b": "text" }, "name": "a_1", "unique": true, "sparse": 1, "expireAfterSeconds": 5.5,
            "collation": { "locale": "de", "strength": 2 }, "weights": { "b": 3 }, "wildcardProjection": { "a": 1 },
            "partialFilterExpression": { "a": { "$gt": 5 } }, "storageEngine": { "wiredTiger": {} }, "bits": 26,
        },
        doc! {
            "name": "c", "type": "collection", "options": { "capped": true, "size": 4096, "validator": { "a": 1 }, "expireAfterSeconds": 5 },
            "info": { "readOnly": false }, "idIndex": { "v": 2, "key": { "_id": 1 }, "name": "_id_" },
        },
        doc! { "name": "db", "sizeOnDisk": 5_i64, "empty": false, "shards": { "a": 1 } },
    ]
    .map(|document: Document| to_vec(&document).expect("a document"))
    .to_vec()
}

//! Replies that several scripts use.

use marula_driver::bson::{Array, Document, doc};
use marula_driver_tests::{Answer, Request};

/// The id of open cursors in the replies of the scripts.
pub(crate) const CURSOR: i64 = 7;

/// The reply to a command that opens a cursor. The cursor stays open unless `id` is 0.
pub(crate) fn first_batch(id: i64, batch: Array) -> Answer {
    Answer::Reply(doc! { "ok": 1, "cursor": { "id": id, "ns": "d.c", "firstBatch": batch } })
}

/// The reply to a getMore. The cursor stays open unless `id` is 0.
pub(crate) fn next_batch(id: i64, batch: Array) -> Answer {
    Answer::Reply(doc! { "ok": 1, "cursor": { "id": id, "ns": "d.c", "nextBatch": batch } })
}

/// The documents `{_id: 0}` to `{_id: count - 1}`.
pub(crate) fn documents(count: i32) -> Array {
    (0..count).map(|n| doc! { "_id": n }.into()).collect()
}

/// The statements of a write command: the documents of its document sequence.
pub(crate) fn statements(command: &Document) -> &Array {
    ["documents", "updates", "deletes"]
        .iter()
        .find_map(|sequence| command.get_array(sequence).ok())
        .expect("a write has statements")
}

/// The reply to a write command of which each statement changed one document.
pub(crate) fn written(request: &Request) -> Answer {
    let n = i32::try_from(statements(&request.command).len()).expect("fewer than 2^31 statements");
    Answer::Reply(doc! { "ok": 1, "n": n, "nModified": n })
}

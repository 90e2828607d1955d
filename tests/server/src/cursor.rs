//! Open cursors of a member. A cursor holds the rest of its result, taken when the query ran.

use crate::deployment::lock;
use crate::error::{Error, Result, code};
use crate::storage::collection::MAX_DOCUMENT_SIZE;
use crate::value::document_size;
use bson::{Bson, Document, doc};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

/// The default size of a first batch.
pub(crate) const DEFAULT_FIRST_BATCH: usize = 101;

#[derive(Debug)]
struct Cursor {
    namespace: String,
    rows: VecDeque<Arc<Document>>,
    awaits: bool,
}

/// The open cursors of one member.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    open: Mutex<HashMap<i64, Cursor>>,
}

impl Cursors {
    /// The `cursor` field of a first reply; a cursor stays open if rows are left.
    pub(crate) fn first_batch(
        &self,
        namespace: &str,
        rows: Vec<Arc<Document>>,
        batch_size: Option<usize>,
        single_batch: bool,
    ) -> Document {
        let mut rows = VecDeque::from(rows);
        let batch = take_batch(&mut rows, batch_size.unwrap_or(DEFAULT_FIRST_BATCH));
        // A cursor with batch size 0 stays open even if it is empty, as nothing was looked at yet.
        let keep = !single_batch && (!rows.is_empty() || batch_size == Some(0));
        let id = if keep { self.keep(namespace, rows) } else { 0 };
        doc! { "firstBatch": batch, "id": id, "ns": namespace }
    }

    fn keep(&self, namespace: &str, rows: VecDeque<Arc<Document>>) -> i64 {
        let mut open = lock(&self.open);
        loop {
            let bytes = bson::Uuid::new().bytes();
            let id = i64::from_le_bytes([
                bytes[0],
                bytes[1],
                bytes[2],
                bytes[3],
                bytes[4],
                bytes[5],
                bytes[9],
                bytes[10] & 0x7f,
            ]);
            if id != 0 && !open.contains_key(&id) {
                open.insert(
                    id,
                    Cursor {
                        namespace: namespace.to_owned(),
                        rows,
                        awaits: false,
                    },
                );
                return id;
            }
        }
    }

    /// The `cursor` field of a getMore reply.
    pub(crate) fn next_batch(&self, id: i64, namespace: &str, batch_size: Option<usize>) -> Result<Document> {
        let mut open = lock(&self.open);
        let Some(cursor) = open.get_mut(&id) else {
            return Err(Error::new(
                code::CURSOR_NOT_FOUND,
                format!("cursor id {id} not found"),
            ));
        };
        if cursor.namespace != namespace {
            return Err(Error::new(
                code::UNAUTHORIZED,
                format!(
                    "Requested getMore on namespace '{namespace}', but cursor belongs to a different namespace {}",
                    cursor.namespace
                ),
            ));
        }
        let batch = take_batch(&mut cursor.rows, batch_size.unwrap_or(usize::MAX));
        let done = cursor.rows.is_empty();
        if done {
            open.remove(&id);
        }
        Ok(doc! { "nextBatch": batch, "id": if done { 0 } else { id }, "ns": namespace })
    }

    /// Whether getMore on this cursor waits for data.
    pub(crate) fn awaits_data(&self, id: i64) -> bool {
        lock(&self.open).get(&id).is_some_and(|cursor| cursor.awaits)
    }

    /// Closes a cursor; whether it was open on this namespace.
    pub(crate) fn kill(&self, id: i64, namespace: &str) -> bool {
        let mut open = lock(&self.open);
        let found = open.get(&id).is_some_and(|cursor| cursor.namespace == namespace);
        if found {
            open.remove(&id);
        }
        found
    }

    /// Number of open cursors.
    pub(crate) fn len(&self) -> usize {
        lock(&self.open).len()
    }

    /// Closes all.
    pub(crate) fn clear(&self) {
        lock(&self.open).clear();
    }
}

/// Takes up to `count` rows, and no more than fit in a reply; at least one.
fn take_batch(rows: &mut VecDeque<Arc<Document>>, count: usize) -> Vec<Bson> {
    let mut batch = Vec::new();
    let mut bytes = 0;
    while batch.len() < count
        && let Some(row) = rows.front()
    {
        bytes += document_size(row) + 8;
        if bytes > MAX_DOCUMENT_SIZE && !batch.is_empty() {
            break;
        }
        if let Some(row) = rows.pop_front() {
            batch.push(Bson::Document(Arc::unwrap_or_clone(row)));
        }
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: i32) -> Vec<Arc<Document>> {
        (0..count).map(|n| Arc::new(doc! {"_id": n})).collect()
    }

    #[test]
    fn batches_until_exhausted() {
        let cursors = Cursors::default();
        let first = cursors.first_batch("d.c", rows(5), Some(3), false);
        let id = first.get_i64("id").unwrap();
        assert_ne!(id, 0);
        assert_eq!(cursors.next_batch(id, "d.x", None).unwrap_err().code, 13);
        let next = cursors.next_batch(id, "d.c", Some(3)).unwrap();
        assert_eq!(
            (
                next.get_array("nextBatch").unwrap().len(),
                next.get_i64("id").unwrap()
            ),
            (2, 0)
        );
        assert_eq!(cursors.next_batch(id, "d.c", None).unwrap_err().code, 43);
    }

    #[test]
    fn single_batches_leave_no_cursor() {
        let cursors = Cursors::default();
        assert_eq!(
            cursors
                .first_batch("d.c", rows(5), Some(3), true)
                .get_i64("id")
                .unwrap(),
            0
        );
        assert_eq!(cursors.len(), 0);
        assert_ne!(
            cursors
                .first_batch("d.c", rows(0), Some(0), false)
                .get_i64("id")
                .unwrap(),
            0
        );
    }

    #[test]
    fn replies_stay_below_the_size_limit() {
        let big = Arc::new(doc! {"_id": 1, "text": "x".repeat(6 * 1024 * 1024)});
        let mut rows = VecDeque::from(vec![big; 5]);
        assert_eq!(take_batch(&mut rows, 100).len(), 2);
    }
}

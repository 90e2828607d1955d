//! The open cursors of a process. Most hold the remaining documents of a result computed when the
//! query ran; tailable cursors and change streams also return later changes.

use crate::change_stream::ChangeStream;
use crate::deployment::{Deployment, lock};
use crate::error::{Error, Result, code};
use crate::session_info::Owner;
use crate::storage::collection::MAX_DOCUMENT_SIZE;
use crate::storage::{Catalog, Namespace};
use crate::tail::Tail;
use crate::value::document_size;
use bson::{Bson, Document, doc};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

/// The default `batchSize` of a first batch.
pub(crate) const DEFAULT_FIRST_BATCH: usize = 101;

#[derive(Debug)]
struct Cursor {
    namespace: String,
    rows: VecDeque<Arc<Document>>,
    end: End,
    owner: Owner,
    source: Option<ReadFrom>,
    continuation: Continuation,
    /// Whether `getMore` waits for data.
    await_data: bool,
}

/// When the server detects that a cursor is exhausted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With the first batch, even if documents remain: no cursor is opened.
    SingleBatch,
    /// With the last document: a limit is reached, or the documents were sorted or listed in
    /// memory.
    WithLastRow,
    /// As [`End::WithLastRow`], except in the first batch: `aggregate` does not check there whether
    /// its plan is exhausted.
    WithLastRowOfGetMore,
    /// When a read finds no further document: if the last document fills a batch, the cursor stays
    /// open and the next batch is empty.
    PastLastRow,
}

/// The collection that a cursor reads, and the index it uses.
#[derive(Debug, Clone)]
pub(crate) struct ReadFrom {
    pub(crate) namespace: Namespace,
    pub(crate) uuid: bson::Uuid,
    pub(crate) index: Option<String>,
}

/// The result of a query, and the properties of its cursor.
#[derive(Debug)]
pub(crate) struct Opening<'o> {
    pub(crate) namespace: &'o str,
    pub(crate) rows: Vec<Arc<Document>>,
    pub(crate) batch_size: Option<usize>,
    pub(crate) end: End,
    pub(crate) owner: Owner,
    /// `None` if dropping the collection does not close the cursor.
    pub(crate) source: Option<ReadFrom>,
}

/// The source of documents beyond the computed result.
#[derive(Debug)]
enum Continuation {
    None,
    Tail(Box<Tail>),
    ChangeStream(Box<ChangeStream>),
}

/// The state that `getMore` reads.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'o> {
    pub(crate) deployment: &'o Deployment,
    pub(crate) catalog: &'o Catalog,
}

/// The open cursors of one process.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    open: Mutex<HashMap<i64, Cursor>>,
}

impl Cursors {
    /// Returns the `cursor` field of the first reply, and keeps the cursor unless it is exhausted
    /// as of [`End`].
    pub(crate) fn first_batch(&self, opening: Opening<'_>) -> Document {
        let Opening {
            namespace,
            rows,
            batch_size,
            end,
            owner,
            source,
        } = opening;
        let mut rows = VecDeque::from(rows);
        let count = batch_size.unwrap_or(DEFAULT_FIRST_BATCH);
        let batch = take_batch(&mut rows, count);
        // With batch size 0 nothing was read, so the cursor stays open even if there are no
        // documents.
        let ended = match end {
            End::SingleBatch => true,
            End::WithLastRow => rows.is_empty() && count > 0,
            End::WithLastRowOfGetMore | End::PastLastRow => rows.is_empty() && batch.len() < count,
        };
        let id = if ended {
            0
        } else {
            self.insert(Cursor {
                namespace: namespace.to_owned(),
                rows,
                end,
                owner,
                source,
                continuation: Continuation::None,
                await_data: false,
            })
        };
        doc! { "firstBatch": batch, "id": id, "ns": namespace }
    }

    /// Returns the `cursor` field of the first reply of a tailable cursor. The cursor is closed if
    /// the collection is empty.
    pub(crate) fn first_of_tail(
        &self,
        mut tail: Tail,
        origin: Origin<'_>,
        batch_size: Option<usize>,
        await_data: bool,
        owner: Owner,
    ) -> Result<Document> {
        let namespace = tail.namespace.to_string();
        let alive = origin
            .catalog
            .get(&tail.namespace)
            .is_some_and(|collection| collection.len() > 0);
        let rows = tail.next(origin.catalog, batch_size.unwrap_or(DEFAULT_FIRST_BATCH))?;
        let mut rows = VecDeque::from(rows);
        let batch = take_batch(&mut rows, usize::MAX);
        let id = if alive {
            self.insert(Cursor {
                namespace: namespace.clone(),
                rows,
                end: End::PastLastRow,
                owner,
                source: None,
                continuation: Continuation::Tail(Box::new(tail)),
                await_data,
            })
        } else {
            0
        };
        Ok(doc! { "firstBatch": batch, "id": id, "ns": namespace })
    }

    /// Returns the `cursor` field of the first reply of a change stream.
    pub(crate) fn first_of_stream(
        &self,
        namespace: &str,
        mut stream: ChangeStream,
        origin: Origin<'_>,
        batch_size: Option<usize>,
        owner: Owner,
    ) -> Result<Document> {
        let limit = batch_size.unwrap_or(DEFAULT_FIRST_BATCH);
        let batch = stream.next(origin.deployment, origin.catalog, limit)?;
        let id = if batch.ended {
            0
        } else {
            self.insert(Cursor {
                namespace: namespace.to_owned(),
                rows: VecDeque::new(),
                end: End::PastLastRow,
                owner,
                source: None,
                continuation: Continuation::ChangeStream(Box::new(stream)),
                await_data: true,
            })
        };
        Ok(
            doc! { "firstBatch": batch.events, "postBatchResumeToken": batch.token, "id": id, "ns": namespace },
        )
    }

    fn insert(&self, cursor: Cursor) -> i64 {
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
                open.insert(id, cursor);
                return id;
            }
        }
    }

    /// Returns the `cursor` field of a `getMore` reply.
    pub(crate) fn next_batch(
        &self,
        id: i64,
        namespace: &str,
        batch_size: Option<usize>,
        origin: Origin<'_>,
        requester: &Owner,
    ) -> Result<Document> {
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
        cursor.owner.check(id, requester)?;
        let advanced = cursor.advance(batch_size.unwrap_or(usize::MAX), origin);
        let done = match &advanced {
            Ok((_, done)) => *done,
            // An error closes the cursor.
            Err(_) => true,
        };
        if done {
            open.remove(&id);
        }
        let (mut reply, _) = advanced?;
        reply.insert("id", if done { 0 } else { id });
        reply.insert("ns", namespace);
        Ok(reply)
    }

    /// Whether `getMore` waits for data on this cursor; `None` if it is not open.
    pub(crate) fn awaits_data(&self, id: i64) -> Option<bool> {
        lock(&self.open).get(&id).map(|cursor| cursor.await_data)
    }

    /// Whether the cursor is open and one of a change stream.
    pub(crate) fn is_stream(&self, id: i64) -> bool {
        lock(&self.open)
            .get(&id)
            .is_some_and(|cursor| matches!(cursor.continuation, Continuation::ChangeStream(_)))
    }

    /// The session in which the cursor was opened; `None` if it is not open.
    pub(crate) fn session_of(&self, id: i64) -> Option<Option<Vec<u8>>> {
        lock(&self.open)
            .get(&id)
            .map(|cursor| cursor.owner.session.clone())
    }

    /// Closes a cursor if it is open on this namespace; returns whether it was.
    pub(crate) fn kill(&self, id: i64, namespace: &str) -> bool {
        let mut open = lock(&self.open);
        let found = open.get(&id).is_some_and(|cursor| cursor.namespace == namespace);
        if found {
            open.remove(&id);
        }
        found
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.open).len()
    }

    /// The ids of all cursors.
    pub(crate) fn ids(&self) -> Vec<i64> {
        lock(&self.open).keys().copied().collect()
    }

    /// Closes all cursors.
    pub(crate) fn clear(&self) {
        lock(&self.open).clear();
    }
}

impl Cursor {
    /// Returns the next batch, and whether the cursor is exhausted with it.
    fn advance(&mut self, count: usize, origin: Origin<'_>) -> Result<(Document, bool)> {
        if let Some(source) = &self.source {
            source.check(origin.catalog)?;
        }
        if let Continuation::ChangeStream(stream) = &mut self.continuation {
            let batch = stream.next(origin.deployment, origin.catalog, count)?;
            let reply = doc! { "nextBatch": batch.events, "postBatchResumeToken": batch.token };
            return Ok((reply, batch.ended));
        }
        if let Continuation::Tail(tail) = &mut self.continuation
            && self.rows.is_empty()
        {
            self.rows.extend(tail.next(origin.catalog, count)?);
        }
        let batch = take_batch(&mut self.rows, count);
        let end_detected = self.end != End::PastLastRow || batch.len() < count;
        let done = self.rows.is_empty() && end_detected && matches!(self.continuation, Continuation::None);
        Ok((doc! { "nextBatch": batch }, done))
    }
}

impl ReadFrom {
    /// Fails if the collection or the index was dropped.
    fn check(&self, catalog: &Catalog) -> Result<()> {
        let killed = |message: String| Err(Error::new(code::QUERY_PLAN_KILLED, message));
        let Some(collection) = catalog
            .get(&self.namespace)
            .filter(|collection| collection.uuid == self.uuid)
        else {
            return killed(format!("collection dropped. UUID {}", self.uuid));
        };
        match &self.index {
            Some(name) if collection.index(name).is_none() => {
                killed(format!("query plan killed :: index '{name}' dropped"))
            }
            _ => Ok(()),
        }
    }
}

/// Removes up to `count` documents that fit into a reply, but at least one if there is one and
/// `count` is not 0.
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

    fn standalone() -> Deployment {
        let settings = crate::settings::Settings {
            compressors: Vec::new(),
            kind: crate::settings::Kind::Single,
            version: "8.2".parse().unwrap(),
            replica_set_name: String::new(),
            advertised_hosts: None,
            parameters: Document::new(),
            access: crate::auth::AccessSettings::default(),
            tls: None,
            unix_path: None,
            print_violations: false,
            search: false,
        };
        Deployment::new(settings, Vec::new())
    }

    fn opening(count: i32, batch_size: Option<usize>, end: End) -> Opening<'static> {
        Opening {
            namespace: "d.c",
            rows: (0..count).map(|n| Arc::new(doc! {"_id": n})).collect(),
            batch_size,
            end,
            owner: Owner::default(),
            source: None,
        }
    }

    fn id(cursor: &Document) -> i64 {
        cursor.get_i64("id").unwrap()
    }

    #[test]
    fn batches_until_exhausted() {
        let cursors = Cursors::default();
        let deployment = standalone();
        let catalog = Catalog::default();
        let origin = Origin {
            deployment: &deployment,
            catalog: &catalog,
        };
        let next = |id, namespace, count| cursors.next_batch(id, namespace, count, origin, &Owner::default());
        let first = id(&cursors.first_batch(opening(5, Some(3), End::PastLastRow)));
        assert_ne!(first, 0);
        assert_eq!(next(first, "d.x", None).unwrap_err().code, 13);
        let second = next(first, "d.c", Some(2)).unwrap();
        assert_eq!(second.get_array("nextBatch").unwrap().len(), 2);
        assert_eq!(id(&second), first, "the end is not detected");
        let last = next(first, "d.c", Some(2)).unwrap();
        assert_eq!((last.get_array("nextBatch").unwrap().len(), id(&last)), (0, 0));
        assert_eq!(next(first, "d.c", None).unwrap_err().code, 43);
        for end in [End::WithLastRow, End::WithLastRowOfGetMore] {
            let first = id(&cursors.first_batch(opening(5, Some(3), end)));
            assert_eq!(id(&next(first, "d.c", Some(2)).unwrap()), 0, "{end:?}");
        }
    }

    #[test]
    fn cursor_stays_open_if_the_last_document_fills_the_first_batch() {
        let cursors = Cursors::default();
        let open = |rows, size, end| id(&cursors.first_batch(opening(rows, size, end))) != 0;
        assert!(!open(5, Some(3), End::SingleBatch));
        assert_eq!(cursors.len(), 0);
        for end in [End::PastLastRow, End::WithLastRowOfGetMore] {
            assert!(open(3, Some(3), end) && open(101, None, end) && open(0, Some(0), end));
            assert!(!open(2, Some(3), end) && !open(0, None, end));
        }
        assert!(!open(3, Some(3), End::WithLastRow) && open(0, Some(0), End::WithLastRow));
    }

    #[test]
    fn replies_stay_below_the_size_limit() {
        let big = Arc::new(doc! {"_id": 1, "text": "x".repeat(6 * 1024 * 1024)});
        let mut rows = VecDeque::from(vec![big; 5]);
        assert_eq!(take_batch(&mut rows, 100).len(), 2);
    }
}

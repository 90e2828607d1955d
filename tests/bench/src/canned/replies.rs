//! The precomputed replies of a server.

use bson::{Binary, DateTime, Document, RawDocumentBuf, Timestamp, doc, oid::ObjectId, spec::BinarySubtype};
use marula_bench_shared::contract::{
    DATABASE, Large, MANY, MANY_RICH, MANY_SMALL, MANY_TWEETS, ONE_LARGE, ONE_SMALL, ONE_TWEET, Rich, Small,
    WATCHED,
};

use super::{events, request::Request, tweet::tweet};
use crate::encode;

/// The role of a server in its deployment.
#[derive(Clone, Debug)]
pub(super) enum Role {
    Standalone,
    Primary { hosts: Vec<String> },
    Secondary { hosts: Vec<String>, me: usize },
}

/// A reply, and the offsets of the fields that differ between replies.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) bytes: Vec<u8>,
    /// Offsets of the cluster times.
    pub(super) times: Vec<usize>,
    /// Offset of the number of written documents.
    pub(super) written: Option<usize>,
}

/// The replies of one server.
#[derive(Debug)]
pub(super) struct Replies {
    all: Vec<Reply>,
    cursors: Vec<Cursor>,
}

/// The batches of a query: the first is the reply to `find` or `aggregate`, the others are requested by cursor id.
#[derive(Debug)]
struct Cursor {
    collection: &'static str,
    id: i64,
    first: usize,
    batches: usize,
}

const LEGACY_HELLO: usize = 0;
const HELLO: usize = 1;
const OK: usize = 2;
const WRITTEN: usize = 3;

/// Number of documents of the first batch, as in MongoDB.
const FIRST_BATCH: usize = 101;
/// Maximum size of the other batches.
const BATCH_BYTES: usize = 16 * 1024 * 1024;

/// Placeholder for the cluster time. No other bytes of a reply are equal to it.
const TIME: Timestamp = Timestamp {
    time: 0x5EED_C10C,
    increment: 0x0B5E_55ED,
};

impl Replies {
    pub(super) fn new(role: &Role, data: &Data) -> Self {
        let hello = encode::document(&in_set(role, hello(role)));
        let mut replies = Self {
            all: vec![
                Reply::new(legacy(&hello)),
                Reply::new(encode::message(&in_set(role, self::hello(role)), &[])),
                Reply::new(encode::message(&in_set(role, doc! { "ok": 1.0 }), &[])),
                written(role),
            ],
            cursors: Vec::new(),
        };
        // The benchmarks do not read from secondaries.
        let collections = match role {
            Role::Secondary { .. } => &[],
            _ => &data.collections[..],
        };
        let first_id = |index: usize| (i64::try_from(index).unwrap_or(0) + 1) * 1_000;
        for (index, (collection, documents)) in collections.iter().enumerate() {
            // The cursor id of batch n is the first id plus n.
            replies.add_cursor(role, collection, first_id(index), &batches(documents));
        }
        if let [_, ..] = collections
            && !data.events.is_empty()
        {
            let batches = events::batches(&data.events);
            replies.add_cursor(role, WATCHED, first_id(collections.len()), &batches);
        }
        replies
    }

    fn add_cursor(&mut self, role: &Role, collection: &'static str, id: i64, batches: &[&[Vec<u8>]]) {
        let first = self.all.len();
        for (n, batch) in batches.iter().enumerate() {
            let next = if n + 1 < batches.len() {
                id + (n as i64) + 1
            } else {
                0
            };
            let field = if n == 0 { "firstBatch" } else { "nextBatch" };
            self.all.push(cursor_reply(role, collection, next, field, batch));
        }
        self.cursors.push(Cursor {
            collection,
            id,
            first,
            batches: batches.len(),
        });
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<&Reply> {
        self.all.get(index)
    }

    /// The index of the reply to a request, and the number of written documents.
    pub(super) fn find(&self, request: Request<'_>) -> Option<(usize, i32)> {
        let index = match request {
            Request::Unacknowledged => return None,
            Request::Write(count) => return Some((WRITTEN, count)),
            Request::LegacyHello => LEGACY_HELLO,
            Request::Hello => HELLO,
            Request::Other => OK,
            Request::Find(collection) => {
                let cursor = self
                    .cursors
                    .iter()
                    .find(|cursor| cursor.collection.as_bytes() == collection);
                cursor.map_or(OK, |cursor| cursor.first)
            }
            Request::GetMore(id) => self
                .cursors
                .iter()
                .find_map(|cursor| cursor.batch(id))
                .unwrap_or(OK),
        };
        Some((index, 0))
    }
}

impl Cursor {
    fn batch(&self, id: i64) -> Option<usize> {
        let n = usize::try_from(id - self.id).ok()?;
        (1..self.batches).contains(&n).then_some(self.first + n)
    }
}

impl Reply {
    fn new(bytes: Vec<u8>) -> Self {
        // The times are in the last elements; a search of the whole reply would be slow.
        let tail = bytes.len().saturating_sub(400);
        let mut pattern = TIME.increment.to_le_bytes().to_vec();
        pattern.extend(TIME.time.to_le_bytes());
        let times = (tail..bytes.len().saturating_sub(7))
            .filter(|at| bytes[*at..].starts_with(&pattern))
            .collect();
        Self {
            bytes,
            times,
            written: None,
        }
    }
}

/// The documents of the collections, encoded once for all servers.
#[derive(Debug)]
pub(super) struct Data {
    collections: Vec<(&'static str, Vec<Vec<u8>>)>,
    events: Vec<Vec<u8>>,
}

impl Data {
    pub(super) fn new() -> Self {
        let many = u32::try_from(MANY).unwrap_or(0);
        let small = |count| (0..count).map(|n| encode::document(&Small::new(n))).collect();
        let tweets = |count| (0..count).map(|n| encode::document(&tweet(n))).collect();
        Self {
            collections: vec![
                (ONE_SMALL, small(1)),
                (ONE_LARGE, vec![encode::document(&Large::new(0))]),
                (ONE_TWEET, tweets(1)),
                (MANY_SMALL, small(many)),
                (MANY_TWEETS, tweets(many)),
                (
                    MANY_RICH,
                    (0..many).map(|n| encode::document(&Rich::new(n))).collect(),
                ),
            ],
            events: (0..many).map(events::event).collect(),
        }
    }
}

/// Splits a result into batches as MongoDB does: 101 documents, then batches of up to 16 MiB.
fn batches(documents: &[Vec<u8>]) -> Vec<&[Vec<u8>]> {
    let (first, mut rest) = documents.split_at(documents.len().min(FIRST_BATCH));
    let mut batches = vec![first];
    while !rest.is_empty() {
        let mut bytes = 0;
        let fitting = rest.iter().take_while(|document| {
            bytes += document.len();
            bytes <= BATCH_BYTES
        });
        let (batch, behind) = rest.split_at(fitting.count().max(1));
        batches.push(batch);
        rest = behind;
    }
    batches
}

fn cursor_reply(role: &Role, collection: &str, id: i64, field: &str, batch: &[Vec<u8>]) -> Reply {
    let mut array = bson::RawArrayBuf::new();
    for document in batch {
        array.push(RawDocumentBuf::from_bytes(document.clone()).expect("an encoded document"));
    }
    let mut cursor = RawDocumentBuf::new();
    let key = |name: &str| bson::raw::CString::try_from(name).expect("a name without NUL");
    cursor.append(key(field), array);
    if collection == WATCHED {
        cursor.append(key("postBatchResumeToken"), events::token_behind(batch));
    }
    cursor.append(key("id"), id);
    cursor.append(key("ns"), format!("{DATABASE}.{collection}"));
    let mut reply = RawDocumentBuf::new();
    reply.append(key("cursor"), cursor);
    for (name, value) in in_set(role, doc! { "ok": 1.0 }) {
        reply.append(key(&name), bson::RawBson::try_from(value).expect("a plain value"));
    }
    let mut message = encode::message(&Document::new(), &[]);
    message.truncate(21);
    message.extend(reply.as_bytes());
    Reply::new(encode::seal(message))
}

fn written(role: &Role) -> Reply {
    // Offset of the first value: after header, flags, section kind, length of the document, type
    // and name of the element.
    const WRITTEN_AT: usize = 16 + 4 + 1 + 4 + 3;
    let mut reply = doc! { "n": 1 };
    if !matches!(role, Role::Standalone) {
        reply.insert("electionId", election());
        reply.insert("opTime", doc! { "ts": TIME, "t": 1_i64 });
    }
    reply.insert("ok", 1.0);
    Reply {
        written: Some(WRITTEN_AT),
        ..Reply::new(encode::message(&in_set(role, reply), &[]))
    }
}

/// Adds the fields that members of a replica set add to every reply.
fn in_set(role: &Role, mut reply: Document) -> Document {
    if !matches!(role, Role::Standalone) {
        let hash = Binary {
            subtype: BinarySubtype::Generic,
            bytes: vec![0xA5; 20],
        };
        let signature = doc! { "hash": hash, "keyId": 7_300_000_000_000_000_001_i64 };
        reply.insert(
            "$clusterTime",
            doc! { "clusterTime": TIME, "signature": signature },
        );
        reply.insert("operationTime", TIME);
    }
    reply
}

fn election() -> ObjectId {
    ObjectId::from_bytes([0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 1])
}

/// The hello reply of MongoDB 8.0. It has no `topologyVersion`, so that monitors use polling.
fn hello(role: &Role) -> Document {
    let mut hello = doc! { "helloOk": true };
    match role {
        Role::Standalone => {
            hello.extend(doc! { "isWritablePrimary": true, "ismaster": true });
        }
        Role::Primary { hosts } => {
            hello.extend(member(hosts, 0));
            hello.extend(doc! { "isWritablePrimary": true, "ismaster": true, "secondary": false });
            hello.insert("electionId", election());
        }
        Role::Secondary { hosts, me } => {
            hello.extend(member(hosts, *me));
            hello.extend(doc! { "isWritablePrimary": false, "ismaster": false, "secondary": true });
        }
    }
    hello.extend(doc! {
        "maxBsonObjectSize": 16 * 1024 * 1024,
        "maxMessageSizeBytes": 48_000_000,
        "maxWriteBatchSize": 100_000,
        "localTime": DateTime::from_millis(1_790_000_000_000),
        "logicalSessionTimeoutMinutes": 30,
        "connectionId": 1,
        "minWireVersion": 0,
        "maxWireVersion": 25,
        "readOnly": false,
        "ok": 1.0,
    });
    hello
}

fn member(hosts: &[String], me: usize) -> Document {
    let date = DateTime::from_millis(1_790_000_000_000);
    doc! {
        "hosts": hosts,
        "setName": super::SET,
        "setVersion": 1,
        "primary": &hosts[0],
        "me": &hosts[me],
        "lastWrite": {
            "opTime": { "ts": Timestamp { time: 1_790_000_000, increment: 1 }, "t": 1_i64 },
            "lastWriteDate": date,
        },
    }
}

/// An `OP_REPLY` with one document.
fn legacy(document: &[u8]) -> Vec<u8> {
    let mut message = vec![0; 12];
    message.extend(1_i32.to_le_bytes());
    message.extend(8_i32.to_le_bytes());
    message.extend([0; 12]);
    message.extend(1_i32.to_le_bytes());
    message.extend(document);
    encode::seal(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_cut_as_servers_cut_them() {
        let documents = vec![vec![0; 4 * 1024 * 1024]; 110];
        let sizes: Vec<usize> = batches(&documents).into_iter().map(<[_]>::len).collect();
        assert_eq!(sizes, [101, 4, 4, 1]);
        assert_eq!(batches(&documents[..1]).len(), 1);
        assert_eq!(batches(&[]).len(), 1);
    }

    #[test]
    fn members_reply_with_a_cluster_time() {
        let data = Data {
            collections: vec![("c", vec![encode::document(&doc! { "_id": 1 })])],
            events: vec![events::event(0)],
        };
        let times = |role: &Role| {
            let replies = Replies::new(role, &data);
            (0..replies.len())
                .map(|n| replies.get(n).unwrap().times.len())
                .collect::<Vec<_>>()
        };
        assert_eq!(times(&Role::Standalone), [0; 7]);
        let hosts = vec!["h:1".to_owned()];
        assert_eq!(times(&Role::Primary { hosts }), [2, 2, 2, 3, 2, 2, 2]);
    }
}

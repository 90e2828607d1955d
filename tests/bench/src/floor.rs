//! The requests of the clients without a driver, and the fields of replies that they need.

use bson::{Binary, Document, doc, spec::BinarySubtype};
use marula_bench_shared::contract::{
    DATABASE, Failure, INSERTED, MANY_RICH, MANY_SMALL, MANY_TWEETS, Material, ONE_LARGE, ONE_SMALL,
    ONE_TWEET, Task, WATCHED, id,
};

use crate::encode;

/// The first host of the connection string, which is the standalone or the primary.
///
/// # Errors
/// If the text is not a connection string.
pub fn address(uri: &str) -> Result<&str, Failure> {
    let rest = uri
        .strip_prefix("mongodb://")
        .ok_or("the URI does not start with mongodb://")?;
    let hosts = rest.split(['/', '?']).next().unwrap_or(rest);
    Ok(hosts.split(',').next().unwrap_or(hosts))
}

/// The requests of an operation.
#[derive(Clone, Debug)]
pub struct Requests {
    /// Sent in this order, each after the reply to the one before.
    pub first: Vec<Vec<u8>>,
    /// A `getMore`, sent while the last reply has a cursor id.
    pub more: Option<Vec<u8>>,
}

/// The requests of an operation of the task.
#[must_use]
pub fn requests(task: Task, material: &Material) -> Requests {
    let only = |first: Vec<Vec<u8>>| Requests { first, more: None };
    let insert = |documents: &[Vec<u8>]| {
        let insert = doc! { "insert": INSERTED, "$db": DATABASE };
        only(vec![encode::message(&insert, documents)])
    };
    let find_one = |name: &str| {
        let find = doc! { "find": name, "$db": DATABASE, "filter": { "_id": id(0) }, "limit": 1, "singleBatch": true };
        only(vec![encode::message(&find, &[])])
    };
    let cursor = |name: &str, command| Requests {
        first: vec![encode::message(&command, &[])],
        more: Some(encode::message(
            &doc! { "getMore": 0_i64, "collection": name, "$db": DATABASE },
            &[],
        )),
    };
    let find = |name: &str| cursor(name, doc! { "find": name, "$db": DATABASE, "filter": {} });
    match task {
        Task::Ping | Task::PingRaw => only(vec![encode::message(&doc! { "ping": 1, "$db": "admin" }, &[])]),
        Task::InsertOne => insert(&[encode::document(&material.small)]),
        Task::InsertOne27k => insert(&[encode::document(&material.large)]),
        Task::InsertMany10k => insert(&material.many.iter().map(encode::document).collect::<Vec<_>>()),
        Task::InsertMany10kRich => insert(&material.rich.iter().map(encode::document).collect::<Vec<_>>()),
        Task::FindOne | Task::FindOneTimeout => find_one(ONE_SMALL),
        Task::FindOneTwoFields => only(vec![encode::message(
            &doc! {
                "find": ONE_SMALL,
                "$db": DATABASE,
                "filter": { "customer": { "$eq": "c-1" }, "quantity": { "$gt": 0 } },
                "limit": 1,
                "singleBatch": true,
            },
            &[],
        )]),
        Task::UpdateOne => only(vec![encode::message(
            &doc! { "update": INSERTED, "$db": DATABASE, "updates": [{
                "q": { "_id": id(0) },
                "u": { "$inc": { "quantity": 1 }, "$set": { "campaign": "spring" } },
            }] },
            &[],
        )]),
        Task::FindOne27k => find_one(ONE_LARGE),
        Task::FindOneRawTweet => find_one(ONE_TWEET),
        // Discarding the bytes is the lower bound of every way to decode them.
        Task::Find10kRaw | Task::Find10kOwned | Task::Find10kBorrowed => find(MANY_SMALL),
        Task::Find10kTweetsRaw | Task::Find10kTweetsDocument => find(MANY_TWEETS),
        Task::Find10kRich => find(MANY_RICH),
        Task::TransactionTwoInserts => only(transaction(material)),
        Task::ChangeStream10k => cursor(
            WATCHED,
            doc! { "aggregate": WATCHED, "$db": DATABASE, "pipeline": [{ "$changeStream": {} }], "cursor": {} },
        ),
    }
}

/// Two inserts and the commit.
fn transaction(material: &Material) -> Vec<Vec<u8>> {
    let session = Binary {
        subtype: BinarySubtype::Uuid,
        bytes: vec![0x5A; 16],
    };
    let fields = doc! { "$db": DATABASE, "lsid": { "id": session }, "txnNumber": 1_i64, "autocommit": false };
    let command = |mut command: Document, documents: &[Vec<u8>]| {
        command.extend(fields.clone());
        encode::message(&command, documents)
    };
    let small = [encode::document(&material.small)];
    let mut commit = doc! { "commitTransaction": 1 };
    commit.extend(fields.clone());
    commit.insert("$db", "admin");
    vec![
        command(doc! { "insert": INSERTED, "startTransaction": true }, &small),
        command(doc! { "insert": INSERTED }, &small),
        encode::message(&commit, &[]),
    ]
}

/// Offset of the cursor id, the first value of the body: after header, flags, section kind, length,
/// type and name.
const CURSOR_AT: usize = 16 + 4 + 1 + 4 + 1 + "getMore\0".len();

/// A `getMore` with the cursor id replaced.
///
/// # Panics
/// If the request is shorter than a `getMore`.
#[must_use]
pub fn with_cursor(more: &[u8], id: i64) -> Vec<u8> {
    let mut more = more.to_vec();
    more[CURSOR_AT..CURSOR_AT + 8].copy_from_slice(&id.to_le_bytes());
    more
}

/// The cursor id of a reply, unless it is 0. The precomputed replies have the id after the batch,
/// near the end.
#[must_use]
pub fn cursor_id(reply: &[u8]) -> Option<i64> {
    const ID: &[u8] = b"\x12id\0";
    if !reply.get(26..)?.starts_with(b"cursor\0") {
        return None;
    }
    let tail = &reply[reply.len().saturating_sub(400)..];
    let at = tail.windows(ID.len()).rposition(|window| window == ID)?;
    let id = i64::from_le_bytes(*tail.get(at + ID.len()..)?.first_chunk()?);
    (id != 0).then_some(id)
}

/// The length of a reply, from its first bytes; `None` if fewer than four bytes have been read.
#[must_use]
pub fn reply_length(read: &[u8]) -> Option<usize> {
    let length = i32::from_le_bytes(*read.first_chunk()?);
    usize::try_from(length).ok().filter(|length| *length >= 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_host_is_used() {
        assert_eq!(address("mongodb://a:1,b:2/?replicaSet=x").unwrap(), "a:1");
        assert!(address("http://a").is_err());
    }

    #[test]
    fn cursor_ids_are_read_and_replaced() {
        let more = requests(Task::Find10kRaw, &Material::new(Task::Find10kRaw))
            .more
            .unwrap();
        let asked = with_cursor(&more, 77);
        assert_eq!(i64::from_le_bytes(*asked[CURSOR_AT..].first_chunk().unwrap()), 77);
        let reply = |id: i64| {
            let cursor = doc! { "firstBatch": [{ "a": 1 }], "id": id, "ns": "bench.many_small" };
            encode::message(&doc! { "cursor": cursor, "ok": 1 }, &[])
        };
        assert_eq!(cursor_id(&reply(5)), Some(5));
        assert_eq!(cursor_id(&reply(0)), None);
        assert_eq!(cursor_id(&encode::message(&doc! { "ok": 1 }, &[])), None);
        assert_eq!(reply_length(&reply(5)), Some(reply(5).len()));
        assert_eq!(reply_length(&[1, 0, 0, 0]), None);
    }
}

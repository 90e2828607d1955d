//! Tests of batches with random and corrupted bytes: the result is documents within the reply, an
//! error, or the end, and reading terminates.

use proptest::prelude::*;

use super::*;
use crate::{
    bson::{Bson, doc, to_vec},
    proto::wire::tests::{apply, config, damage},
};

fn reply(count: i32) -> Vec<u8> {
    let documents: Vec<Bson> = (0..count)
        .map(|n| Bson::Document(doc! { "_id": n, "x": "text" }))
        .collect();
    let cursor = doc! { "firstBatch": documents, "id": 5_i64, "ns": "a.b" };
    to_vec(&doc! { "cursor": cursor, "ok": 1 }).unwrap()
}

/// Reads a reply as the driver does. Returns the number of documents.
fn read_all(body: &[u8]) -> Result<usize> {
    let reply = Reply::scan(body)?;
    let address = ServerAddress::tcp("a", 1);
    let first = first_document(&reply);
    let mut cursor = parse(&reply, &ReplyContext { address: &address })?;
    cursor
        .batch
        .attach(|| ReplyBuffer::new(body.to_vec(), 0..body.len()));
    walk(cursor.batch, body.len()).inspect(|count| {
        let expected = first.is_ok_and(|first| first.is_some());
        assert_eq!(expected, *count > 0, "find_one and find agree");
    })
}

/// Reads a batch to its end or to its first error.
fn walk(mut batch: Batch, limit: usize) -> Result<usize> {
    let mut count = 0;
    while batch.advance()? {
        count += 1;
        assert!(count <= limit, "more documents than bytes");
        assert!(batch.current().len() >= 5);
        let _ = batch.current_document();
        let _ = crate::operation::decode_owned::<crate::bson::Document>(batch.current());
    }
    assert!(batch.is_empty() && batch.current().is_empty());
    assert!(!batch.advance()?, "the end stays the end");
    Ok(count)
}

#[test]
fn whole_batches_are_read() {
    for count in [0, 1, 5] {
        assert_eq!(read_all(&reply(count)).unwrap(), usize::try_from(count).unwrap());
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_parsed_or_rejected(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        start in any::<usize>(),
        length in any::<usize>(),
    ) {
        let limit = bytes.len();
        let start = start % (limit + 1);
        let length = length % (limit - start + 1);
        let body = 0..limit;
        let batch = Batch {
            reply: ReplyBuffer::new(bytes, body),
            rest: start..start + length,
            current: 0..0,
        };
        let _ = walk(batch, limit);
    }

    #[test]
    fn a_corrupted_reply_returns_documents_or_an_error(count in 0..5, damage in damage()) {
        let mut body = reply(count);
        apply(&mut body, &damage);
        let _ = read_all(&body);
    }

    #[test]
    fn a_corrupted_batch_returns_documents_or_an_error(count in 1..5, damage in damage()) {
        // Only the batch is corrupted, so that the reply around it is valid.
        let mut body = reply(count);
        let at = body.windows(11).position(|bytes| bytes == b"firstBatch\0").unwrap() + 11;
        let mut batch = body.split_off(at);
        let rest = batch.split_off(batch.len() - 30);
        let length = batch.len();
        apply(&mut batch, &damage);
        batch.resize(length, 0);
        body.extend(batch);
        body.extend(rest);
        let _ = read_all(&body);
    }
}

//! The events of the change stream.

use bson::{DateTime, Document, RawDocument, RawDocumentBuf, Timestamp, doc};
use marula_bench_shared::contract::{DATABASE, Small, WATCHED, id};

use crate::encode;

/// Number of events of a batch.
const BATCH: usize = 1_000;

/// The event of the insert of the document `number`, encoded.
pub(super) fn event(number: u32) -> Vec<u8> {
    let document = bson::serialize_to_document(&Small::new(number)).expect("a document of this package");
    encode::document(&doc! {
        "_id": token(number),
        "operationType": "insert",
        "clusterTime": Timestamp { time: 1_790_000_000, increment: number },
        "wallTime": DateTime::from_millis(1_790_000_000_000 + i64::from(number)),
        "fullDocument": document,
        "ns": { "db": DATABASE, "coll": WATCHED },
        "documentKey": { "_id": id(number) },
    })
}

/// A resume token with the length of those of MongoDB 8.0 for an ObjectId.
fn token(number: u32) -> Document {
    doc! { "_data": format!("826AB1A780{number:08X}2B042C0100296E5A1004{:064X}46645F696400646600{number:08X}0004", 7) }
}

/// The batches of the stream: the first is empty.
pub(super) fn batches(events: &[Vec<u8>]) -> Vec<&[Vec<u8>]> {
    std::iter::once(&events[..0])
        .chain(events.chunks(BATCH))
        .collect()
}

/// The `postBatchResumeToken` of a batch: the token of its last event.
pub(super) fn token_behind(batch: &[Vec<u8>]) -> RawDocumentBuf {
    let last = batch.last().and_then(|event| {
        let event = RawDocument::from_bytes(event).ok()?;
        Some(event.get_document("_id").ok()?.to_owned())
    });
    last.unwrap_or_else(|| RawDocumentBuf::try_from(&token(0)).expect("a document"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_batch_is_empty_and_the_others_have_1_000_events() {
        let events: Vec<_> = (0..2_001).map(event).collect();
        let sizes: Vec<usize> = batches(&events).into_iter().map(<[_]>::len).collect();
        assert_eq!(sizes, [0, 1_000, 1_000, 1]);
    }

    #[test]
    fn a_batch_has_the_token_of_its_last_event() {
        let token_of =
            |batch: &[Vec<u8>]| bson::deserialize_from_slice::<Document>(token_behind(batch).as_bytes());
        assert_eq!(token_of(&[event(1), event(2)]).unwrap(), token(2));
        assert_eq!(token_of(&[]).unwrap(), token(0));
    }
}

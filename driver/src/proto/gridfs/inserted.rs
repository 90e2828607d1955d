//! The chunks that an upload has inserted ("Aborting an upload").

use std::ops::RangeInclusive;

use crate::bson::{Bson, Document, ObjectId, RawDocumentBuf, doc};

/// The chunks that an abort deletes: those of this upload, and no chunk of another file with the same
/// `_id`.
///
/// The chunks of inserts that succeeded are selected by their numbers: a unique index excludes other
/// chunks with these numbers. Those of the last insert, whose result may be unknown, are selected by
/// their own `_id`s.
#[derive(Clone, Debug, Default)]
pub struct InsertedChunks {
    /// The number of chunks that were certainly inserted.
    count: u64,
    /// The `_id`s of the last insert, unless it succeeded.
    last: Vec<ObjectId>,
    /// The smallest and the largest `_id` of all chunks. Limits the deletion to this upload even if
    /// the unique index does not exist.
    ids: Option<RangeInclusive<ObjectId>>,
    /// Whether the result of an insert before the last one is unknown, as inserts are unacknowledged.
    is_unknown: bool,
}

impl InsertedChunks {
    /// Must be called before an insert is sent.
    pub fn begin_insert(&mut self, chunks: &[RawDocumentBuf]) {
        self.is_unknown |= !self.last.is_empty();
        self.last.clear();
        self.last
            .extend(chunks.iter().filter_map(|chunk| chunk.get_object_id("_id").ok()));
        for id in &self.last {
            let (first, last) = self.ids.take().map_or((*id, *id), RangeInclusive::into_inner);
            self.ids = Some(first.min(*id)..=last.max(*id));
        }
    }

    /// Must be called after an insert that the server has acknowledged.
    pub fn insert_succeeded(&mut self) {
        self.count += self.last.len() as u64;
        self.last.clear();
    }

    /// Selects the chunks of this upload of the file with this `_id`. `None` if nothing was sent.
    pub fn filter(&self, id: &Bson) -> Option<Document> {
        let (first, last) = self.ids.clone()?.into_inner();
        let all = doc! { "_id": { "$gte": first, "$lte": last } };
        let mut filter = doc! { "files_id": id.clone() };
        if self.is_unknown {
            filter.extend(all);
            return Some(filter);
        }
        let mut counted = doc! { "n": { "$lt": i64::try_from(self.count).unwrap_or(i64::MAX) } };
        counted.extend(all);
        let ids: Vec<Bson> = self.last.iter().map(|id| Bson::ObjectId(*id)).collect();
        let uncertain = doc! { "_id": { "$in": ids } };
        match (self.count, self.last.is_empty()) {
            (_, true) => filter.extend(counted),
            (0, false) => filter.extend(uncertain),
            (_, false) => {
                filter.insert("$or", vec![Bson::Document(counted), Bson::Document(uncertain)]);
            }
        }
        Some(filter)
    }
}

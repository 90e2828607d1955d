//! The results of writes.

use std::collections::BTreeMap;

use crate::bson::Bson;

/// The result of inserting one document, also of an unacknowledged insert.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InsertOneResult {
    /// The `_id` of the document: that of the document itself, or the ObjectId that the driver
    /// added.
    pub inserted_id: Bson,
}

/// The result of inserting many documents, also of unacknowledged inserts.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct InsertManyResult {
    /// The `_id` of each document, by its index in the call, from 0.
    pub inserted_ids: BTreeMap<usize, Bson>,
}

/// The result of an update or a replacement. All counts are 0 if the write was unacknowledged.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct UpdateResult {
    /// Number of documents that the filter matched; 0 after an upsert.
    pub matched_count: u64,
    /// Number of documents that were modified. Less than the matched documents if some already had
    /// the new values.
    pub modified_count: u64,
    /// The `_id` of the upserted document. `None` if no document was upserted.
    pub upserted_id: Option<Bson>,
}

/// The result of a delete. The count is 0 if the write was unacknowledged.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DeleteResult {
    /// Number of documents that were deleted.
    pub deleted_count: u64,
}

/// The result of a bulk write. If the writes were unacknowledged, all counts are 0, `upserted_ids`
/// is empty, and `inserted_ids` contains all documents.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BulkWriteResult {
    /// Number of documents that were inserted, without upserts.
    pub inserted_count: u64,
    /// Number of documents that the filters of updates and replacements matched, without upserts.
    pub matched_count: u64,
    /// Number of documents that were modified.
    pub modified_count: u64,
    /// Number of documents that were deleted.
    pub deleted_count: u64,
    /// The `_id` of each inserted document, by the index of its model in the call, from 0.
    pub inserted_ids: BTreeMap<usize, Bson>,
    /// The `_id` of each upserted document, by the index of its model in the call, from 0.
    pub upserted_ids: BTreeMap<usize, Bson>,
}

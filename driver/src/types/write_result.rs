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

/// The result of a client bulk write.
///
/// If the writes were unacknowledged, `acknowledged` is `false`, all counts are 0, and there are no
/// verbose results.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ClientBulkWriteResult {
    /// Whether the server acknowledged the writes.
    pub acknowledged: bool,
    /// Number of documents that were inserted, without upserts.
    pub inserted_count: u64,
    /// Number of documents that were upserted.
    pub upserted_count: u64,
    /// Number of documents that the filters of updates and replacements matched, without upserts.
    pub matched_count: u64,
    /// Number of documents that were modified.
    pub modified_count: u64,
    /// Number of documents that were deleted.
    pub deleted_count: u64,
    /// The result of each write that succeeded. `None` unless
    /// [`verbose_results`](crate::action::ClientBulkWrite::verbose_results) was set.
    pub verbose_results: Option<VerboseResults>,
}

/// The results of the single writes of a client bulk write, by the index of the model in the call,
/// from 0. Writes that failed have no result.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct VerboseResults {
    /// The results of inserts.
    pub insert_results: BTreeMap<usize, InsertOneResult>,
    /// The results of updates and replacements. The server counts an upserted document as matched,
    /// so `matched_count` is 1 if `upserted_id` is set.
    pub update_results: BTreeMap<usize, UpdateResult>,
    /// The results of deletes.
    pub delete_results: BTreeMap<usize, DeleteResult>,
}

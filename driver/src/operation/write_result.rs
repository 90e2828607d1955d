//! The results of writes, and the error in the reply to a `findAndModify` with `ok: 1`.

use std::collections::BTreeMap;

use crate::{
    Error, ErrorKind, Result,
    bson::Bson,
    error::WriteFailure,
    proto::command::{Reply, write_concern_error, write_errors},
};

/// The result of inserting one document.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InsertOneResult {
    /// The `_id` of the document. A document without `_id` got an ObjectId from the driver.
    pub inserted_id: Bson,
}

/// The result of inserting many documents.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct InsertManyResult {
    /// The `_id` of each document, by its position in the call.
    pub inserted_ids: BTreeMap<usize, Bson>,
}

/// The result of an update or a replacement. All counts are 0 when the write was unacknowledged.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct UpdateResult {
    /// Number of documents that the filter matched; 0 after an upsert.
    pub matched_count: u64,
    /// Number of documents that were changed.
    pub modified_count: u64,
    /// The `_id` of the document that an upsert inserted.
    pub upserted_id: Option<Bson>,
}

/// The result of a delete. The count is 0 when the write was unacknowledged.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DeleteResult {
    /// Number of documents that were deleted.
    pub deleted_count: u64,
}

/// The result of a bulk write. All counts are 0 when the writes were unacknowledged.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BulkWriteResult {
    /// Number of documents that were inserted, without those of upserts.
    pub inserted_count: u64,
    /// Number of documents that the filters of updates and replacements matched, without upserts.
    pub matched_count: u64,
    /// Number of documents that were changed.
    pub modified_count: u64,
    /// Number of documents that were deleted.
    pub deleted_count: u64,
    /// The `_id` of each document that was inserted, by the position of its model in the call.
    pub inserted_ids: BTreeMap<usize, Bson>,
    /// The `_id` of each document that an upsert inserted, by the position of its model in the call.
    pub upserted_ids: BTreeMap<usize, Bson>,
}

/// The error that the reply to a `findAndModify` with `ok: 1` reports, if any.
pub(crate) fn check_single(reply: &Reply<'_>) -> Result<()> {
    if !reply.has_write_failures() {
        return Ok(());
    }
    let failure = WriteFailure {
        write_error: write_errors(reply)?.into_iter().next(),
        write_concern_error: write_concern_error(reply)?,
    };
    if failure == WriteFailure::default() {
        return Ok(());
    }
    Err(reply.decorate(Error::new(ErrorKind::Write(failure))))
}

//! What the error of a bulk write contains of the writes that were performed.

use std::collections::BTreeMap;

use crate::{
    base::bson::Bson,
    driver::{self, BulkWriteResult, ClientBulkWriteResult, VerboseResults},
};

/// The results of the writes of a bulk write that were performed although an error occurred, in
/// [`Error::BulkWrite`](crate::Error::BulkWrite).
///
/// If the bulk write ended because the reply to a command was not received, such as by a failed
/// connection, the writes of that command are not contained; they may have been performed.
///
/// ```no_run
/// # use marula::{Document, Error, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "people")]
/// # struct Person { _id: i64 }
/// # async fn run(people: marula::Collection<Person>, ada: Person, bob: Person) {
/// if let Err(Error::BulkWrite { performed, .. }) = people.bulk().insert(&ada).insert(&bob).await {
///     println!("inserted: the writes at {:?}", performed.inserted_ids.keys());
/// }
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PerformedWrites {
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
    /// The `_id` of each inserted document, by the index of the write in the call, from 0. Empty for
    /// [`Client::bulk`](crate::Client::bulk) without verbose results.
    pub inserted_ids: BTreeMap<usize, Bson>,
    /// The `_id` of each upserted document, by the index of the write in the call, from 0. Empty for
    /// [`Client::bulk`](crate::Client::bulk) without verbose results.
    pub upserted_ids: BTreeMap<usize, Bson>,
    /// The result of each write. `None` for [`Collection::bulk`](crate::Collection::bulk), and without
    /// [`verbose_results`](crate::collection::ClientBulk::verbose_results), unless they were needed to find
    /// version conflicts.
    pub verbose_results: Option<VerboseResults>,
    /// The write concern errors of the commands. Their writes are performed, but may be rolled back.
    pub write_concern_errors: Vec<driver::WriteConcernError>,
}

impl PerformedWrites {
    pub(crate) fn of(result: BulkWriteResult) -> Self {
        PerformedWrites {
            inserted_count: result.inserted_count,
            upserted_count: result.upserted_ids.len() as u64,
            matched_count: result.matched_count,
            modified_count: result.modified_count,
            deleted_count: result.deleted_count,
            inserted_ids: result.inserted_ids,
            upserted_ids: result.upserted_ids,
            verbose_results: None,
            write_concern_errors: Vec::new(),
        }
    }

    pub(crate) fn of_client(result: ClientBulkWriteResult) -> Self {
        let (mut inserted_ids, mut upserted_ids) = (BTreeMap::new(), BTreeMap::new());
        if let Some(verbose) = &result.verbose_results {
            let inserted = verbose.insert_results.iter();
            inserted_ids.extend(inserted.map(|(index, result)| (*index, result.inserted_id.clone())));
            let updated = verbose.update_results.iter();
            upserted_ids
                .extend(updated.filter_map(|(index, result)| Some((*index, result.upserted_id.clone()?))));
        }
        PerformedWrites {
            inserted_count: result.inserted_count,
            upserted_count: result.upserted_count,
            matched_count: result.matched_count,
            modified_count: result.modified_count,
            deleted_count: result.deleted_count,
            inserted_ids,
            upserted_ids,
            verbose_results: result.verbose_results,
            write_concern_errors: Vec::new(),
        }
    }
}

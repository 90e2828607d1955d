//! Storage statistics of collections and indexes.

use super::index::Index;
use super::key::Key;
use super::{Collection, RecordId};
use crate::value::document_size;
use bson::{Bson, Document, doc};

/// The unit of allocation, in bytes.
const PAGE: usize = 4096;

/// Rounds up to whole pages, at least one. Returns bytes.
fn pages(bytes: usize) -> i64 {
    (bytes.div_ceil(PAGE).max(1) * PAGE) as i64
}

impl Index {
    /// The storage size of the index in bytes: its keys, each with a record ID.
    pub(crate) fn storage_size(&self) -> i64 {
        let value_size = |value: &Bson| document_size(&doc! { "": value.clone() });
        let entry_size = |key: &Key| key.0.iter().map(value_size).sum::<usize>() + size_of::<RecordId>();
        let entries = self.entries();
        let bytes = entries.map(|(key, ids)| entry_size(key) * ids.len()).sum();
        pages(bytes)
    }
}

impl Collection {
    /// The storage size of the documents, in bytes.
    pub(crate) fn storage_size(&self) -> i64 {
        pages(self.bytes())
    }

    /// The storage size of all indexes, in bytes.
    pub(crate) fn indexes_size(&self) -> i64 {
        self.indexes.iter().map(Index::storage_size).sum()
    }

    /// The statistics of `collStats` and of `$collStats` with `storageStats`, in units of `scale`
    /// bytes.
    pub(crate) fn storage_stats(&self, scale: i64) -> Document {
        let number = |value: i64| i32::try_from(value).map_or(Bson::Int64(value), Bson::Int32);
        let scaled = |value: i64| number(value / scale);
        let (size, length) = (self.bytes() as i64, self.len() as i64);
        let mut stats = doc! { "size": scaled(size), "count": number(length) };
        if length > 0 {
            stats.insert("avgObjSize", number(size / length));
        }
        stats.extend(doc! {
            "numOrphanDocs": 0,
            "storageSize": scaled(self.storage_size()),
            "freeStorageSize": 0,
            "capped": self.capped.is_some(),
        });
        if let Some(capped) = self.capped {
            stats.insert("max", number(capped.max.map_or(0, |max| max as i64)));
            stats.insert("maxSize", scaled(capped.size as i64));
        }
        let sizes: Document = self
            .indexes
            .iter()
            .map(|index| (index.name.clone(), scaled(index.storage_size())))
            .collect();
        stats.extend(doc! {
            "nindexes": number(self.indexes.len() as i64),
            "indexBuilds": [],
            "totalIndexSize": scaled(self.indexes_size()),
            "totalSize": scaled(self.storage_size() + self.indexes_size()),
            "indexSizes": sizes,
            "scaleFactor": number(scale),
        });
        stats
    }
}

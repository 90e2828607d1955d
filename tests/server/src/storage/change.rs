//! Changes of the storage, and the oplog that records them for change streams.

use super::collection::RecordChange;
use super::{Collection, Namespace};
use bson::{Bson, DateTime, Document, Timestamp};
use std::collections::VecDeque;

/// The approximate maximum size of the oplog, in bytes.
const MAX_OPLOG_BYTES: usize = 64 * 1024 * 1024;
/// The maximum number of oplog entries.
const MAX_OPLOG_ENTRIES: usize = 100_000;

/// A change of a record, of a collection or of a database.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) namespace: Namespace,
    /// The UUID of the collection. `None` for views and databases.
    pub(crate) uuid: Option<bson::Uuid>,
    pub(crate) operation: ChangeOperation,
    /// The type of the namespace: `collection`, `view` or `timeseries`.
    pub(crate) kind: &'static str,
    /// Whether the collection has `changeStreamPreAndPostImages` enabled.
    pub(crate) images: bool,
}

/// The operation of a change.
#[derive(Debug, Clone)]
pub(crate) enum ChangeOperation {
    Record(RecordChange),
    Definition(Definition),
}

/// A change of a collection or database definition.
#[derive(Debug, Clone)]
pub(crate) enum Definition {
    Create,
    Drop,
    DropDatabase,
    Rename {
        to: Namespace,
        /// The UUID of the collection that the rename replaced.
        dropped: Option<bson::Uuid>,
    },
    /// Any other event: its `operationType` and `operationDescription`.
    Other(&'static str, Document),
}

impl Change {
    pub(super) fn record(
        namespace: &Namespace,
        uuid: bson::Uuid,
        images: bool,
        record: RecordChange,
    ) -> Change {
        Change {
            namespace: namespace.clone(),
            uuid: Some(uuid),
            operation: ChangeOperation::Record(record),
            kind: "collection",
            images,
        }
    }

    pub(super) fn definition(
        namespace: &Namespace,
        collection: &Collection,
        definition: Definition,
    ) -> Change {
        Change {
            namespace: namespace.clone(),
            uuid: collection.view.is_none().then_some(collection.uuid),
            operation: ChangeOperation::Definition(definition),
            kind: collection.kind(),
            images: false,
        }
    }

    pub(super) fn drop_database(database: &str) -> Change {
        Change {
            namespace: Namespace {
                database: database.to_owned(),
                collection: String::new(),
            },
            uuid: None,
            operation: ChangeOperation::Definition(Definition::DropDatabase),
            kind: "collection",
            images: false,
        }
    }

    /// Returns whether the change creates a collection.
    pub(super) fn creates(&self) -> bool {
        matches!(self.operation, ChangeOperation::Definition(Definition::Create))
    }

    /// The approximate size of the entry, in bytes.
    fn size(&self) -> usize {
        let documents = match &self.operation {
            ChangeOperation::Record(
                RecordChange::Insert(_, document) | RecordChange::Delete(_, document),
            ) => crate::value::document_size(document),
            ChangeOperation::Record(RecordChange::Replace { old, new, .. }) => {
                crate::value::document_size(old) + crate::value::document_size(new)
            }
            ChangeOperation::Definition(_) => 0,
        };
        // The other fields of an entry take about 256 bytes.
        documents + 256
    }
}

impl Collection {
    /// The type of the namespace: `collection`, `view` or `timeseries`.
    pub(crate) fn kind(&self) -> &'static str {
        if self.view.is_some() {
            "view"
        } else if self.time_field.is_some() {
            "timeseries"
        } else {
            "collection"
        }
    }

    /// Returns whether `changeStreamPreAndPostImages` is enabled.
    pub(crate) fn keeps_images(&self) -> bool {
        matches!(
            self.options.get("changeStreamPreAndPostImages"),
            Some(Bson::Document(images)) if images.get_bool("enabled").unwrap_or(false)
        )
    }
}

/// A change with its cluster time and its wall clock time.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) time: Timestamp,
    pub(crate) wall: DateTime,
    pub(crate) change: Change,
}

/// The most recent changes in cluster time order.
#[derive(Debug, Default)]
pub(crate) struct Oplog {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// The cluster time of the newest entry that was removed.
    last_removed: Option<Timestamp>,
}

impl Oplog {
    /// Appends a change and removes the oldest entries beyond the limits.
    pub(crate) fn push(&mut self, time: Timestamp, change: Change) {
        self.bytes += change.size();
        self.entries.push_back(Entry {
            time,
            wall: DateTime::now(),
            change,
        });
        while (self.bytes > MAX_OPLOG_BYTES || self.entries.len() > MAX_OPLOG_ENTRIES)
            && let Some(oldest) = self.entries.pop_front()
        {
            self.bytes -= oldest.change.size();
            self.last_removed = Some(oldest.time);
        }
    }

    /// The entries at and after a cluster time, or `None` if entries in that range were removed.
    pub(crate) fn starting_at(&self, time: Timestamp) -> Option<impl Iterator<Item = &Entry>> {
        if self.last_removed.is_some_and(|removed| removed >= time) {
            return None;
        }
        let start = self.entries.partition_point(|entry| entry.time < time);
        Some(self.entries.range(start..))
    }

    /// The entries after a cluster time, or `None` if entries in that range were removed.
    pub(crate) fn after(&self, time: Timestamp) -> Option<impl Iterator<Item = &Entry>> {
        if self.last_removed.is_some_and(|removed| removed > time) {
            return None;
        }
        let start = self.entries.partition_point(|entry| entry.time <= time);
        Some(self.entries.range(start..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_entries_are_detected() {
        let mut oplog = Oplog::default();
        let at = |increment: u32| Timestamp { time: 1, increment };
        let count = MAX_OPLOG_ENTRIES as u32 + 5;
        for number in 1..=count {
            oplog.push(at(number), Change::drop_database("d"));
        }
        assert!(oplog.after(at(4)).is_none());
        assert_eq!(oplog.after(at(5)).unwrap().count(), MAX_OPLOG_ENTRIES);
        assert_eq!(oplog.after(at(count)).unwrap().count(), 0);
    }
}

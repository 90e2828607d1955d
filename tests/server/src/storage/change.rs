//! What happened to the storage: the raw material of the oplog.

use super::collection::RecordChange;
use super::{Collection, Namespace};
use bson::{Bson, DateTime, Document, Timestamp};
use std::collections::VecDeque;

/// How many bytes of changes are kept, roughly.
const KEPT_BYTES: usize = 64 * 1024 * 1024;
/// How many changes are kept.
const KEPT_CHANGES: usize = 100_000;

/// One change.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) namespace: Namespace,
    pub(crate) uuid: Option<bson::Uuid>,
    pub(crate) what: What,
    /// The kind of the namespace: collection, view or timeseries.
    pub(crate) kind: &'static str,
    /// The collection keeps images of documents before and after.
    pub(crate) images: bool,
}

/// What happened.
#[derive(Debug, Clone)]
pub(crate) enum What {
    Record(RecordChange),
    Definition(Definition),
}

/// What happened to a collection or database.
#[derive(Debug, Clone)]
pub(crate) enum Definition {
    Create,
    Drop,
    DropDatabase,
    Rename {
        to: Namespace,
        dropped: Option<bson::Uuid>,
    },
    /// Anything else: the event's name, and its `operationDescription`.
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
            what: What::Record(record),
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
            what: What::Definition(definition),
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
            what: What::Definition(Definition::DropDatabase),
            kind: "collection",
            images: false,
        }
    }

    /// Whether the change is that the collection was created.
    pub(super) fn creates(&self) -> bool {
        matches!(self.what, What::Definition(Definition::Create))
    }

    fn size(&self) -> usize {
        let documents = match &self.what {
            What::Record(RecordChange::Insert(_, document) | RecordChange::Delete(_, document)) => {
                crate::value::document_size(document)
            }
            What::Record(RecordChange::Replace { old, new, .. }) => {
                crate::value::document_size(old) + crate::value::document_size(new)
            }
            What::Definition(_) => 0,
        };
        documents + 256
    }
}

impl Collection {
    /// `collection`, `view` or `timeseries`.
    pub(crate) fn kind(&self) -> &'static str {
        if self.view.is_some() {
            "view"
        } else if self.time_field.is_some() {
            "timeseries"
        } else {
            "collection"
        }
    }

    /// Whether documents before and after a change are kept for change streams.
    pub(crate) fn keeps_images(&self) -> bool {
        matches!(self.options.get("changeStreamPreAndPostImages"), Some(Bson::Document(images)) if images.get_bool("enabled").unwrap_or(false))
    }
}

/// A change with its place in time.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) time: Timestamp,
    pub(crate) wall: DateTime,
    pub(crate) change: Change,
}

/// The latest changes, in the order of their times.
#[derive(Debug, Default)]
pub(crate) struct Oplog {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// The time of the newest entry that was let go.
    lost: Option<Timestamp>,
}

impl Oplog {
    /// Adds a change, and lets the oldest go.
    pub(crate) fn push(&mut self, time: Timestamp, change: Change) {
        self.bytes += change.size();
        self.entries.push_back(Entry {
            time,
            wall: DateTime::now(),
            change,
        });
        while (self.bytes > KEPT_BYTES || self.entries.len() > KEPT_CHANGES)
            && let Some(oldest) = self.entries.pop_front()
        {
            self.bytes -= oldest.change.size();
            self.lost = Some(oldest.time);
        }
    }

    /// The entries at and after a time, or `None` if some of them are lost.
    pub(crate) fn from(&self, time: Timestamp) -> Option<impl Iterator<Item = &Entry>> {
        if self.lost.is_some_and(|lost| lost >= time) {
            return None;
        }
        let start = self.entries.partition_point(|entry| entry.time < time);
        Some(self.entries.range(start..))
    }

    /// The entries after a time, or `None` if some of them are lost.
    pub(crate) fn after(&self, time: Timestamp) -> Option<impl Iterator<Item = &Entry>> {
        if self.lost.is_some_and(|lost| lost > time) {
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
    fn old_entries_are_lost_and_missed() {
        let mut oplog = Oplog::default();
        let at = |increment: u32| Timestamp { time: 1, increment };
        let count = KEPT_CHANGES as u32 + 5;
        for number in 1..=count {
            oplog.push(at(number), Change::drop_database("d"));
        }
        assert!(oplog.after(at(4)).is_none());
        assert_eq!(oplog.after(at(5)).unwrap().count(), KEPT_CHANGES);
        assert_eq!(oplog.after(at(count)).unwrap().count(), 0);
    }
}

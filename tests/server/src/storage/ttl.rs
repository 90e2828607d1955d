//! TTL indexes: removal of expired documents.

use super::index::Index;
use super::{Catalog, Collection, Namespace, RecordId};
use crate::query::{Env, path};
use bson::{Bson, DateTime, Document};

impl Catalog {
    /// Runs one pass of the TTL monitor. Returns the number of removed documents.
    pub(crate) fn remove_expired(&mut self, now: DateTime) -> usize {
        let removed: Vec<(Namespace, usize)> = self
            .all_mut()
            .map(|(namespace, collection)| (namespace, remove_from(collection, now)))
            .filter(|(_, count)| *count > 0)
            .collect();
        removed
            .into_iter()
            .map(|(namespace, count)| {
                self.touch(namespace);
                count
            })
            .sum()
    }
}

fn remove_from(collection: &mut Collection, now: DateTime) -> usize {
    let mut expired: Vec<RecordId> = Vec::new();
    for index in &collection.indexes {
        let Some(seconds) = index.expire_after_seconds else {
            continue;
        };
        let bound = now
            .timestamp_millis()
            .saturating_sub(seconds.saturating_mul(1000));
        let old = collection
            .records()
            .filter(|(_, document)| is_expired(index, document, bound));
        expired.extend(old.map(|(id, _)| id));
    }
    expired.sort_unstable();
    expired.dedup();
    expired
        .into_iter()
        .filter(|id| collection.remove(*id).is_some())
        .count()
}

/// Returns whether the indexed date, or the earliest of an array of dates, is at or before `bound`
/// (milliseconds since the epoch). Other values never expire.
fn is_expired(index: &Index, document: &Document, bound: i64) -> bool {
    let included = index
        .partial
        .as_ref()
        .is_none_or(|partial| partial.matches(document, &Env::default()).unwrap_or(false));
    if !included {
        return false;
    }
    let pattern = index.key_pattern();
    let Some(field) = pattern.keys().next() else {
        return false;
    };
    let date = |value: &Bson| match value {
        Bson::DateTime(at) => Some(at.timestamp_millis()),
        _ => None,
    };
    let earliest = match path::get(document, field) {
        Some(Bson::Array(items)) => items.iter().filter_map(date).min(),
        Some(value) => date(value),
        None => None,
    };
    earliest.is_some_and(|at| at <= bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Namespace, index_spec};
    use bson::doc;

    #[test]
    fn removes_expired_documents() {
        let mut catalog = Catalog::default();
        let mut collection = Collection::new(None);
        let spec = doc! { "key": { "at": 1 }, "name": "at_1", "expireAfterSeconds": 10 };
        collection
            .add_index(
                index_spec::parse(&spec, crate::refusal::ServerProfile::default(), None).unwrap(),
                "db.c",
            )
            .unwrap();
        let date = |millis| Bson::DateTime(DateTime::from_millis(millis));
        for (id, at) in [
            (1, date(0)),
            (2, date(5_000)),
            (3, Bson::Int32(0)),
            (4, Bson::Array(vec![date(9_000), date(1)])),
        ] {
            collection
                .insert(doc! { "_id": id, "at": at }, "db.c", false)
                .unwrap();
        }
        let namespace = Namespace::new("db", "c").unwrap();
        catalog.put(&namespace, collection);
        assert_eq!(catalog.remove_expired(DateTime::from_millis(12_000)), 2);
        let left: Vec<i32> = catalog
            .get(&namespace)
            .unwrap()
            .records()
            .map(|(_, d)| d.get_i32("_id").unwrap())
            .collect();
        assert_eq!(left, [2, 3]);
    }
}

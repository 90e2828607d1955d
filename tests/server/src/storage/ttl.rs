//! The TTL monitor: removal of the documents that TTL indexes, and `expireAfterSeconds` of time
//! series and clustered collections, expire.

use super::index::Index;
use super::{Catalog, Collection, Namespace, RecordId};
use crate::query::{Env, path};
use crate::value::number::Number;
use bson::{Bson, DateTime, Document};

/// The latest time, in milliseconds, of the measurements of a time series collection whose documents
/// expire: 2038-01-19T03:14:07Z. If one measurement is outside of the years since 1970 up to that
/// time, none of the collection expires.
const MAX_MEASUREMENT: i64 = 2_147_483_647_999;

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
    expired.extend(expired_of_collection(collection, now));
    expired.sort_unstable();
    expired.dedup();
    expired
        .into_iter()
        .filter(|id| collection.remove(*id).is_some())
        .count()
}

/// The records that `expireAfterSeconds` of the collection expires.
fn expired_of_collection(collection: &Collection, now: DateTime) -> Vec<RecordId> {
    let seconds = |options: &Document, name: &str| {
        let number = Number::from_bson(options.get(name)?)?;
        Some(number.to_saturated_i64())
    };
    let Some(expire) = seconds(&collection.options, "expireAfterSeconds") else {
        return Vec::new();
    };
    let (field, span) = match (&collection.time_field, collection.options.get("timeseries")) {
        // The server removes whole buckets. A bucket is removed when a measurement with its earliest
        // time would be older by the maximum span of a bucket. This server has no buckets: each
        // measurement is removed as if it were in a bucket of its own.
        (Some(time), Some(Bson::Document(options))) => {
            let span = seconds(options, "bucketMaxSpanSeconds").unwrap_or_default();
            (time.as_str(), span)
        }
        // Other values of `_id` than dates do not expire.
        _ => ("_id", 0),
    };
    let dates = || {
        collection
            .records()
            .filter_map(|(id, document)| match document.get(field) {
                Some(Bson::DateTime(at)) => Some((id, at.timestamp_millis())),
                _ => None,
            })
    };
    let is_extended = |millis: i64| !(0..=MAX_MEASUREMENT).contains(&millis);
    if collection.time_field.is_some() && dates().any(|(_, at)| is_extended(at)) {
        return Vec::new();
    }
    let age = expire.saturating_add(span).saturating_mul(1000);
    let bound = now.timestamp_millis().saturating_sub(age);
    dates().filter(|(_, at)| *at <= bound).map(|(id, _)| id).collect()
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

    fn ids(catalog: &Catalog, namespace: &Namespace) -> Vec<i32> {
        let records = catalog.get(namespace).unwrap().records();
        records
            .map(|(_, document)| document.get_i32("n").unwrap())
            .collect()
    }

    #[test]
    fn removes_expired_measurements_after_the_span_of_a_bucket() {
        let namespace = Namespace::new("db", "ts").unwrap();
        let expired = |times: &[i64]| {
            let mut collection = Collection::new(None);
            collection.time_field = Some("at".to_owned());
            collection.options = doc! {
                "timeseries": { "timeField": "at", "bucketMaxSpanSeconds": 100 },
                "expireAfterSeconds": 10_i64,
            };
            for (n, seconds) in times.iter().enumerate() {
                let at = DateTime::from_millis(seconds * 1000);
                let measurement = doc! { "_id": n as i32, "n": n as i32, "at": at };
                collection.insert(measurement, "db.ts", false).unwrap();
            }
            let mut catalog = Catalog::default();
            catalog.put(&namespace, collection);
            catalog.remove_expired(DateTime::from_millis(210_000));
            ids(&catalog, &namespace)
        };
        assert_eq!(expired(&[99, 100, 101, 210]), [2, 3]);
        assert_eq!(expired(&[-1, 100]), [0, 1]);
        assert_eq!(expired(&[100, 2_147_483_648]), [0, 1]);
    }

    #[test]
    fn removes_expired_documents_of_a_clustered_collection() {
        let mut catalog = Catalog::default();
        let namespace = Namespace::new("db", "c").unwrap();
        let mut collection = Collection::new(None);
        collection.options = doc! { "clusteredIndex": { "key": { "_id": 1 } }, "expireAfterSeconds": 10 };
        let date = |seconds: i64| Bson::DateTime(DateTime::from_millis(seconds * 1000));
        let object_id = Bson::ObjectId(bson::oid::ObjectId::from_bytes([0; 12]));
        for (n, id) in [date(1), date(10), date(11), object_id].into_iter().enumerate() {
            collection
                .insert(doc! { "_id": id, "n": n as i32 }, "db.c", false)
                .unwrap();
        }
        catalog.put(&namespace, collection);
        assert_eq!(catalog.remove_expired(DateTime::from_millis(20_000)), 2);
        assert_eq!(ids(&catalog, &namespace), [2, 3]);
    }
}

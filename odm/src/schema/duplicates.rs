//! The documents that prevent a unique index.

use crate::{
    base::{
        bson::{Bson, Document, decode_document, doc, from_document},
        error::DuplicateKey,
    },
    driver::{
        self,
        options::{Collation, ReadConcern, ReadPreference},
    },
    models::index::normal::is_truthy,
};

/// Number of keys that an error names.
const SAMPLES: i64 = 5;

/// Finds some keys that several documents have, by the documents of the primary. The values of an
/// array are one key here, so that none may be found although documents have elements in common.
///
/// Without a collation in the specification the keys are compared by the default collation of the
/// collection, which the index inherits.
pub(super) async fn find(
    collection: &driver::Collection<Document>,
    specification: &Document,
) -> driver::Result<Vec<DuplicateKey>> {
    let empty = Document::new();
    let keys = specification.get_document("key").unwrap_or(&empty);
    let collection = collection
        .with_read_preference(ReadPreference::primary())
        .with_read_concern(ReadConcern::local());
    let group = collection
        .aggregate(pipeline(keys, specification))
        .allow_disk_use(true);
    let group = match specification.get_document("collation") {
        Ok(collation) => group.collation(from_document::<Collation>(collation)?),
        Err(_) => group,
    };
    let mut cursor = group.with_type::<Document>().await?;
    let mut found = Vec::new();
    while cursor.advance().await? {
        let group = decode_document(cursor.current()?.as_bytes())?;
        let values = group.get_document("_id").unwrap_or(&empty);
        let id = |name| group.get(name).cloned().unwrap_or(Bson::Null);
        found.push(DuplicateKey {
            key: keys.keys().cloned().zip(values.values().cloned()).collect(),
            count: group.get("count").and_then(integer).unwrap_or_default(),
            ids: [id("first"), id("last")],
        });
    }
    Ok(found)
}

fn integer(value: &Bson) -> Option<i64> {
    value.as_i64().or_else(|| value.as_i32().map(i64::from))
}

/// Groups the indexed documents by key. Field paths contain dots, so that the parts of the group's
/// id have numbers as names.
fn pipeline(keys: &Document, specification: &Document) -> Vec<Document> {
    let mut stages = Vec::new();
    if let Ok(filter) = specification.get_document("partialFilterExpression") {
        stages.push(doc! { "$match": filter.clone() });
    } else if specification.get("sparse").is_some_and(is_truthy) {
        let indexed: Vec<Document> = keys.keys().map(|key| doc! { key: { "$exists": true } }).collect();
        stages.push(doc! { "$match": { "$or": indexed } });
    }
    // A missing field is null in a unique index.
    let parts: Document = keys
        .keys()
        .enumerate()
        .map(|(n, key)| {
            let value = doc! { "$ifNull": [format!("${key}"), Bson::Null] };
            (n.to_string(), value.into())
        })
        .collect();
    stages.extend([
        doc! { "$group": {
            "_id": parts, "count": { "$sum": 1 }, "first": { "$first": "$_id" }, "last": { "$last": "$_id" },
        } },
        doc! { "$match": { "count": { "$gt": 1 } } },
        doc! { "$limit": SAMPLES },
    ]);
    stages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_can_be_numbers() {
        let keys = doc! { "a": 1 };
        let matched = doc! { "$match": { "$or": [{ "a": { "$exists": true } }] } };
        let is_sparse = |sparse: Bson| pipeline(&keys, &doc! { "sparse": sparse }).contains(&matched);
        assert!(is_sparse(true.into()) && is_sparse(1.into()) && is_sparse(1.0.into()));
        assert!(!is_sparse(false.into()) && !is_sparse(0.into()));
    }
}

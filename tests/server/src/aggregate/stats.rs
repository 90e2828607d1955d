//! `$collStats` and `$indexStats`, as far as an in-memory server has statistics.

use super::Source;
use crate::error::{Error, Result, code};
use crate::storage::Namespace;
use bson::{Bson, DateTime, Document, doc};

/// A stage that describes the collection instead of reading it.
#[derive(Debug, Clone)]
pub(crate) enum Stats {
    Collection { count: bool, storage: bool },
    Indexes,
}

impl Stats {
    pub(super) fn parse_collection(spec: &Document) -> Result<Stats> {
        let mut stats = (false, false);
        for (name, value) in spec {
            match (name.as_str(), value) {
                ("count", Bson::Document(_)) => stats.0 = true,
                ("storageStats", Bson::Document(_)) => stats.1 = true,
                ("latencyStats" | "queryExecStats", _) => {
                    return Err(Error::not_served(format!("$collStats.{name}")));
                }
                _ => {
                    return Err(Error::new(
                        40415,
                        format!("BSON field '$collStats.{name}' is an unknown field."),
                    ));
                }
            }
        }
        Ok(Stats::Collection {
            count: stats.0,
            storage: stats.1,
        })
    }

    pub(super) fn run(&self, source: Source<'_>) -> Result<Vec<Document>> {
        let name = source
            .collection
            .ok_or_else(|| Error::new(code::INVALID_NAMESPACE, "the stage needs a collection"))?;
        let namespace = Namespace::new(source.database, name)?;
        let collection = source.catalog.get(&namespace);
        match self {
            Stats::Indexes => Ok(collection
                .map(|collection| {
                    collection
                        .indexes
                        .iter()
                        .map(|index| {
                            doc! {
                                "name": &index.name,
                                "key": index.key_pattern(),
                                "host": source.host,
                                "accesses": { "ops": 0_i64, "since": DateTime::now() },
                                "spec": index.spec.clone(),
                            }
                        })
                        .collect()
                })
                .unwrap_or_default()),
            Stats::Collection { count, storage } => {
                let collection = collection.ok_or_else(|| {
                    Error::new(
                        code::NAMESPACE_NOT_FOUND,
                        format!("Unable to retrieve count in $collStats stage :: caused by :: Collection [{namespace}] not found."),
                    )
                })?;
                let mut row =
                    doc! { "ns": namespace.to_string(), "host": source.host, "localTime": DateTime::now() };
                if *storage {
                    let (size, length) = (collection.bytes() as i32, collection.len() as i32);
                    let mut stats = doc! {
                        "size": size,
                        "count": length,
                        "storageSize": size,
                        "totalIndexSize": 4096 * collection.indexes.len() as i32,
                        "totalSize": size + 4096 * collection.indexes.len() as i32,
                        "nindexes": collection.indexes.len() as i32,
                        "capped": collection.capped.is_some(),
                    };
                    if length > 0 {
                        stats.insert("avgObjSize", size / length);
                    }
                    if let Some(capped) = collection.capped {
                        stats.insert("maxSize", capped.size as i32);
                        stats.insert("max", capped.max.map_or(0, |max| max as i32));
                    }
                    row.insert("storageStats", stats);
                }
                if *count {
                    row.insert("count", collection.len() as i32);
                }
                Ok(vec![row])
            }
        }
    }
}

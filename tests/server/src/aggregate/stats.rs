//! `$collStats` and `$indexStats`, with the statistics that an in-memory server has.

use super::Source;
use crate::command::args::Args;
use crate::error::{Error, Result, code};
use crate::storage::Namespace;
use bson::{Bson, DateTime, Document, doc};

/// A `$collStats` or `$indexStats` stage.
#[derive(Debug, Clone)]
pub(crate) enum Stats {
    Collection {
        count: bool,
        /// The scale of `storageStats`, in bytes, if requested.
        storage: Option<i64>,
    },
    Indexes,
}

impl Stats {
    pub(super) fn parse_collection(spec: &Document) -> Result<Stats> {
        let mut stats = (false, None);
        for (name, value) in spec {
            match (name.as_str(), value) {
                ("count", Bson::Document(_)) => stats.0 = true,
                ("storageStats", Bson::Document(options)) => {
                    let args = Args::new("$collStats.storageStats", options);
                    args.only(&["scale", "verbose", "waitForLock", "numericOnly"])?;
                    stats.1 = Some(crate::command::stats::scale(args)?);
                }
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
            .ok_or_else(|| Error::new(code::INVALID_NAMESPACE, "the stage requires a collection"))?;
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
                if let Some(scale) = storage {
                    row.insert("storageStats", collection.storage_stats(*scale));
                }
                if *count {
                    row.insert("count", collection.len() as i32);
                }
                Ok(vec![row])
            }
        }
    }
}

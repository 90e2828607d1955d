//! `dbStats`, `collStats` and `validate`.

use super::Call;
use super::args::Args;
use super::view;
use crate::error::{Error, Result, code};
use crate::query::Env;
use crate::storage::Collection;
use crate::storage::index::{Index, Kind};
use crate::storage::namespace::check_database;
use bson::{Bson, Document, doc};

/// Parses `scale`: the unit of sizes, in bytes.
pub(crate) fn scale(args: Args<'_>) -> Result<i64> {
    match args.integer("scale")? {
        None => Ok(1),
        Some(scale) if scale >= 1 => Ok(scale),
        Some(scale) => Err(Error::new(
            51024,
            format!("BSON field 'scale' value must be >= 1, actual value '{scale}'"),
        )),
    }
}

pub(crate) fn db_stats(call: &Call<'_>) -> Result<Document> {
    check_database(call.db)?;
    let scale = scale(call.args())?;
    let catalog = call.catalog();
    let (mut collections, mut views, mut objects, mut indexes) = (0_i64, 0_i64, 0_i64, 0_i64);
    let (mut data, mut storage, mut index_storage) = (0_i64, 0_i64, 0_i64);
    for (_, collection) in catalog.collections(call.db) {
        if collection.view.is_some() {
            views += 1;
            continue;
        }
        collections += 1;
        objects += collection.len() as i64;
        indexes += collection.indexes.len() as i64;
        data += collection.bytes() as i64;
        storage += collection.storage_size();
        index_storage += collection.indexes_size();
    }
    let scaled = |value: i64| value as f64 / scale as f64;
    let average = if objects == 0 {
        0.0
    } else {
        data as f64 / objects as f64
    };
    let figures = doc! {
        "db": call.db,
        "collections": collections,
        "views": views,
        "objects": objects,
        "avgObjSize": average,
        "dataSize": scaled(data),
        "storageSize": scaled(storage),
        "indexes": indexes,
        "indexSize": scaled(index_storage),
        "totalSize": scaled(storage + index_storage),
        "scaleFactor": scale,
        // MongoDB also reports -1 if the data is not on a file system.
        "fsUsedSize": -1.0,
        "fsTotalSize": -1.0,
    };
    if !call.deployment.is_mongos() {
        return Ok(figures);
    }
    let mut shown = doc! { "raw": { "shard01/localhost:27217": figures.clone() } };
    shown.extend(figures);
    Ok(shown)
}

pub(crate) fn coll_stats(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    let scale = scale(call.args())?;
    let catalog = call.catalog();
    view::refuse(&catalog, &namespace)?;
    let mut shown = doc! { "ns": namespace.to_string() };
    if call.deployment.is_mongos() {
        shown.extend(doc! { "sharded": false, "primary": "shard01" });
    }
    let stats = match catalog.get(&namespace) {
        Some(collection) => collection.storage_stats(scale),
        None => doc! {
            "size": 0,
            "count": 0,
            "numOrphanDocs": 0,
            "storageSize": 0,
            "totalSize": 0,
            "nindexes": 0,
            "totalIndexSize": 0,
            "indexDetails": {},
            "indexSizes": {},
            "scaleFactor": scale as i32,
        },
    };
    if call.deployment.is_mongos() {
        shown.insert("shards", doc! { "shard01": stats.clone() });
        shown.insert("nchunks", 1);
    }
    shown.extend(stats);
    Ok(shown)
}

pub(crate) fn validate(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    let args = call.args();
    let (full, background) = (args.flag("full", false)?, args.flag("background", false)?);
    let invalid = |message: &str| Err(Error::new(code::INVALID_OPTIONS, message));
    if full && background {
        return invalid(
            "Running the validate command with both { background: true } and { full: true } is not supported.",
        );
    }
    if args.flag("repair", false)? && call.deployment.is_replicated() {
        return invalid(
            "Running the validate command with { repair: true } can only be done in standalone mode.",
        );
    }
    let catalog = call.catalog();
    let Some(collection) = catalog.get(&namespace) else {
        return Err(Error::new(
            code::NAMESPACE_NOT_FOUND,
            format!("Collection '{namespace}' does not exist to validate."),
        ));
    };
    if collection.view.is_some() {
        return Err(Error::new(
            code::COMMAND_NOT_SUPPORTED_ON_VIEW,
            "Cannot validate a view",
        ));
    }
    let result = Validation::of(collection)?.reply(collection);
    let mut reply = doc! { "ns": namespace.to_string(), "uuid": collection.uuid };
    reply.extend(result);
    if call.deployment.is_mongos() {
        return Ok(
            doc! { "valid": reply.get_bool("valid").unwrap_or(false), "raw": { "shard01/localhost:27217": reply } },
        );
    }
    Ok(reply)
}

/// The result of `validate`: whether every index contains exactly the keys of all documents.
struct Validation {
    not_compliant: i64,
    missing: Vec<Document>,
    extra: Vec<Document>,
}

impl Validation {
    fn of(collection: &Collection) -> Result<Validation> {
        let env = Env::with_collation(collection.collation.clone());
        let mut found = Validation {
            not_compliant: 0,
            missing: Vec::new(),
            extra: Vec::new(),
        };
        for (_, document) in collection.records() {
            if let Some(validator) = &collection.validator
                && !validator.filter.matches(document, &env)?
            {
                found.not_compliant += 1;
            }
        }
        for index in &collection.indexes {
            found.check(collection, index)?;
        }
        Ok(found)
    }

    fn check(&mut self, collection: &Collection, index: &Index) -> Result<()> {
        if index.kind == Kind::Listed {
            return Ok(());
        }
        let entry = |key: &crate::storage::key::Key, id: u64| {
            doc! { "indexName": &index.name, "recordId": id as i64, "indexKey": key.0.clone() }
        };
        for (id, document) in collection.records() {
            for key in index.keys(document)? {
                if !index.lookup_key(&key).any(|filed| filed == id) {
                    self.missing.push(entry(&key, id));
                }
            }
        }
        for (key, ids) in index.entries() {
            for id in ids {
                let document = collection.record(*id);
                if !document.is_some_and(|document| index.keys(document).is_ok_and(|keys| keys.contains(key)))
                {
                    self.extra.push(entry(key, *id));
                }
            }
        }
        Ok(())
    }

    fn reply(self, collection: &Collection) -> Document {
        let indexes = || collection.indexes.iter();
        let keys: Document = indexes()
            .map(|index| {
                let keys: i64 = index.entries().map(|(_, ids)| ids.len() as i64).sum();
                (index.name.clone(), number(keys))
            })
            .collect();
        let faulty = |index: &Index| {
            let mut all = self.missing.iter().chain(&self.extra);
            all.any(|entry| entry.get_str("indexName").is_ok_and(|name| name == index.name))
        };
        let details: Document = indexes()
            .map(|index| (index.name.clone(), doc! { "valid": !faulty(index) }.into()))
            .collect();
        let mut warnings: Vec<&str> = Vec::new();
        if self.not_compliant > 0 {
            warnings.push("Detected one or more documents not compliant with the collection's schema. Check logs for log id 5363500.");
        }
        let mut errors: Vec<String> = Vec::new();
        for (list, what) in [(&self.missing, "missing"), (&self.extra, "extra")] {
            if !list.is_empty() {
                errors.push(format!("Detected {} {what} index entries.", list.len()));
            }
        }
        doc! {
            "nInvalidDocuments": 0,
            "nNonCompliantDocuments": number(self.not_compliant),
            "nrecords": number(collection.len() as i64),
            "nIndexes": collection.indexes.len() as i32,
            "keysPerIndex": keys,
            "indexDetails": details,
            "valid": errors.is_empty(),
            "repaired": false,
            "warnings": warnings,
            "errors": errors,
            "extraIndexEntries": self.extra,
            "missingIndexEntries": self.missing,
            "corruptRecords": [],
        }
    }
}

fn number(value: i64) -> Bson {
    i32::try_from(value).map_or(Bson::Int64(value), Bson::Int32)
}

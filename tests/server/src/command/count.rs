//! `count` and `distinct`.

use super::Call;
use super::plan::{Scan, select};
use super::view;
use crate::error::Result;
use crate::query::Filter;
use crate::query::path::{Path, expanded};
use crate::value::compare::compare;
use crate::value::number::Number;
use bson::{Bson, Document, doc};

pub(crate) fn count(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    let args = call.args();
    let empty = Document::new();
    let catalog = call.catalog();
    let seen = view::readable(call, &catalog, &namespace)?;
    let collection = seen.as_deref();
    let env = call.env(collection)?;
    let filter = Filter::of_query(args.document("query")?.unwrap_or(&empty), &env)?;
    // A negative limit means its absolute value.
    let limit = args.integer("limit")?.unwrap_or(0).unsigned_abs();
    let skip = args.count("skip")?.unwrap_or(0) as u64;
    let found = match collection {
        None => 0,
        Some(collection) if filter.is_always_true() && args.get("hint").is_none() => collection.len() as u64,
        Some(collection) => {
            let scan = Scan {
                hint: args.get("hint"),
                ..Scan::default()
            };
            select(collection, &filter, scan, &env)?.len() as u64
        }
    };
    let mut counted = found.saturating_sub(skip);
    if limit > 0 {
        counted = counted.min(limit);
    }
    let counted = i32::try_from(counted).map_or(Number::Long(counted as i64), Number::Int);
    Ok(doc! { "n": counted.to_bson() })
}

pub(crate) fn distinct(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    let args = call.args();
    let key = Path::new(args.required_string("key")?);
    let empty = Document::new();
    let catalog = call.catalog();
    super::shard_key::check_distinct(call, catalog.get(&namespace))?;
    let seen = view::readable(call, &catalog, &namespace)?;
    let collection = seen.as_deref();
    let env = call.env(collection)?;
    let filter = Filter::of_query(args.document("query")?.unwrap_or(&empty), &env)?;
    let mut values: Vec<Bson> = Vec::new();
    if let Some(collection) = collection {
        let scan = Scan {
            hint: args.get("hint"),
            ..Scan::default()
        };
        for id in select(collection, &filter, scan, &env)? {
            if let Some(document) = collection.record(id) {
                values.extend(expanded(document, &key).into_iter().flatten());
            }
        }
    }
    // Of equal values the first is returned, in ascending order.
    values.sort_by(|a, b| compare(a, b, env.collation.as_ref()));
    values.dedup_by(|later, kept| compare(later, kept, env.collation.as_ref()).is_eq());
    Ok(doc! { "values": values })
}

//! The scan of a query: the records it examines and their order, by `hint`, by `min` and `max`, or
//! in natural order.

use crate::error::{Error, Result, code};
use crate::query::{Env, Filter};
use crate::refusal::{queries, stable_api};
use crate::storage::index::{Index, Kind};
use crate::storage::{Collection, RecordId};
use crate::value::compare::compare;
use crate::value::identical_documents;
use crate::value::number::Number;
use bson::{Bson, Document};
use std::cmp::Ordering;

/// The options that determine the scan, besides the filter.
#[derive(Default, Clone, Copy)]
pub(crate) struct Scan<'q> {
    pub(crate) hint: Option<&'q Bson>,
    pub(crate) min: Option<&'q Document>,
    pub(crate) max: Option<&'q Document>,
}

/// A hint resolved to an index or to a collection scan.
pub(crate) enum Hint<'c> {
    Natural(bool),
    Index(&'c Index),
}

/// Resolves a hint; fails if it names no index of the collection.
pub(crate) fn resolve<'c>(collection: &'c Collection, hint: &Bson) -> Result<Hint<'c>> {
    let missing = || {
        Error::bad_value(
            "error processing query: planner returned error :: caused by :: hint provided does not correspond to an existing index",
        )
    };
    match hint {
        Bson::String(name) if name == "$natural" => Ok(Hint::Natural(true)),
        Bson::String(name) => collection
            .index(name)
            .filter(|i| !i.hidden)
            .map(Hint::Index)
            .ok_or_else(missing),
        Bson::Document(pattern) => {
            if let Some(direction) = pattern.get("$natural") {
                return match Number::from_bson(direction).and_then(Number::to_exact_i64) {
                    Some(1) => Ok(Hint::Natural(true)),
                    Some(-1) => Ok(Hint::Natural(false)),
                    _ => Err(Error::bad_value("$natural hint must be 1 or -1")),
                };
            }
            let same = |index: &&Index| {
                identical_documents(&normalized(&index.key_pattern()), &normalized(pattern)) && !index.hidden
            };
            let mut found = collection.indexes.iter().filter(same);
            match (found.next(), found.next()) {
                (Some(index), None) => Ok(Hint::Index(index)),
                (None, _) => Err(missing()),
                (Some(one), Some(other)) => Err(Error::new(
                    code::INDEX_NOT_FOUND,
                    format!(
                        "error processing query: planner returned error :: caused by :: Hint matched multiple indexes, must hint \
                         by index name. Matched: {} and {}",
                        one.name, other.name
                    ),
                )),
            }
        }
        _ => Err(Error::failed_to_parse("hint must be a string or an object")),
    }
}

/// Converts the directions of a key pattern to doubles, so that `1`, `1.0` and `1_i64` compare
/// equal.
pub(crate) fn normalized(pattern: &Document) -> Document {
    let direction =
        |value: &Bson| Number::from_bson(value).map_or_else(|| value.clone(), |n| Bson::Double(n.to_f64()));
    pattern
        .iter()
        .map(|(name, value)| (name.clone(), direction(value)))
        .collect()
}

/// Returns the matching records in scan order.
pub(crate) fn select(
    collection: &Collection,
    filter: &Filter,
    scan: Scan<'_>,
    env: &Env,
) -> Result<Vec<RecordId>> {
    if filter.text().is_some() {
        env.required_text_index()?;
        queries::TEXT_HINT.check(env.profile, scan.hint.is_some(), &[])?;
        stable_api::TEXT.check(env.profile, env.strict, &[])?;
    }
    if let Some(near) = filter.near() {
        let patterns: Vec<Document> = collection.indexes.iter().map(Index::key_pattern).collect();
        near.check_index(patterns.iter())?;
        let mut found = Vec::new();
        for (id, document) in collection.records() {
            if filter.matches(document, env)?
                && let Some(nearest) = near.find(document)?
            {
                found.push((nearest.distance, id));
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        return Ok(found.into_iter().map(|(_, id)| id).collect());
    }
    let candidates = match scan.hint {
        None if scan.min.is_some() || scan.max.is_some() => {
            return Err(Error::new(
                51173,
                "When using min()/max() a hint of which index to use must be provided",
            ));
        }
        None => return collection.matching(filter, env),
        Some(hint) => match resolve(collection, hint)? {
            Hint::Natural(_) if scan.min.is_some() || scan.max.is_some() => {
                return Err(Error::new(51174, "min()/max() are only supported for indexes"));
            }
            Hint::Natural(true) => collection.records().map(|(id, _)| id).collect(),
            Hint::Natural(false) => collection.records().rev().map(|(id, _)| id).collect(),
            Hint::Index(index) if index.kind == Kind::Listed => {
                return Err(Error::not_served(format!("a hint to the index {}", index.name)));
            }
            Hint::Index(index) => bounded(index, scan)?,
        },
    };
    let mut found = Vec::new();
    for id in candidates {
        if let Some(document) = collection.record(id)
            && filter.matches(document, env)?
        {
            found.push(id);
        }
    }
    Ok(found)
}

/// Returns the records of an index from `min` (inclusive) to `max` (exclusive).
fn bounded(index: &Index, scan: Scan<'_>) -> Result<Vec<RecordId>> {
    let ids = index.scan();
    if scan.min.is_none() && scan.max.is_none() {
        return Ok(ids);
    }
    let pattern = index.key_pattern();
    for bound in [scan.min, scan.max].into_iter().flatten() {
        if !bound.keys().eq(pattern.keys()) {
            return Err(Error::new(
                51176,
                "min/max values must use the same fields, in the same order, as the hinted index",
            ));
        }
    }
    let ascending: Vec<bool> = pattern
        .values()
        .map(|d| Number::from_bson(d).is_none_or(|n| n.to_f64() >= 0.0))
        .collect();
    let order = |key: &[Bson], bound: &Document| {
        key.iter()
            .zip(bound.values())
            .zip(&ascending)
            .map(|((a, b), up)| {
                if *up {
                    compare(a, b, None)
                } else {
                    compare(b, a, None)
                }
            })
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    };
    let within: std::collections::BTreeSet<RecordId> = index
        .entries()
        .filter(|(key, _)| {
            scan.min.is_none_or(|min| order(&key.0, min).is_ge())
                && scan.max.is_none_or(|max| order(&key.0, max).is_lt())
        })
        .flat_map(|(_, ids)| ids.iter().copied())
        .collect();
    Ok(ids.into_iter().filter(|id| within.contains(id)).collect())
}

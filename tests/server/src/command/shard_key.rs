//! The rules of sharded collections for the shard key: targeting of writes, changes of the shard
//! key, indexes, and stages. All documents are stored in one place; the rules are those of a
//! cluster whose collection has chunks on several shards.

use super::Call;
use crate::aggregate::rules::all_stages;
use crate::error::{Error, Result};
use crate::query::{Env, Filter, path};
use crate::refusal::sharding as rows;
use crate::storage::index::Index;
use crate::storage::{Catalog, Collection, Namespace};
use crate::update::Update;
use crate::value::compare::equal;
use crate::value::format;
use bson::{Bson, Document};

/// The number of shards in messages about operations that target several.
const SHARDS: i32 = 2;

/// The shard key of a collection on a cluster; `None` for other collections.
fn key_of(collection: Option<&Collection>) -> Option<&Document> {
    collection.and_then(|collection| collection.shard_key.as_ref())
}

/// Whether an equality condition on the value selects a shard or, for `_id`, one document.
fn is_exact(value: &Bson, same_collation: bool) -> bool {
    match value {
        Bson::Array(_) | Bson::RegularExpression(_) | Bson::Undefined => false,
        Bson::String(_) | Bson::Document(_) => same_collation,
        _ => true,
    }
}

/// The value of an equality condition on the path or on one of the documents that it leads through.
fn equality<'s>(seeds: &'s [(String, Bson)], wanted: &str) -> Option<&'s Bson> {
    seeds.iter().find_map(|(seed, value)| {
        if seed == wanted {
            return Some(value);
        }
        let rest = wanted.strip_prefix(seed.as_str())?.strip_prefix('.')?;
        path::get(value.as_document()?, rest)
    })
}

/// Whether the filter has equality conditions on all fields of the shard key.
fn has_shard_key(key: &Document, filter: &Filter, env: &Env) -> bool {
    let mut seeds = Vec::new();
    filter.equality_seeds(&mut seeds);
    key.keys()
        .all(|field| equality(&seeds, field).is_some_and(|value| is_exact(value, env.collation.is_none())))
}

/// Whether the filter has an equality condition on `_id`.
fn has_id(collection: &Collection, filter: &Filter, env: &Env) -> bool {
    let mut seeds = Vec::new();
    filter.equality_seeds(&mut seeds);
    equality(&seeds, "_id").is_some_and(|value| is_exact(value, env.collation == collection.collation))
}

/// The fields of the shard key that the document does not have.
fn missing<'k>(key: &'k Document, document: &Document) -> Vec<&'k str> {
    let names = key.keys().map(String::as_str);
    names
        .filter(|field| path::get(document, field).is_none())
        .collect()
}

/// Fails if the value of a shard key field of the document is an array, or below one.
fn has_array(key: &Document, document: &Document) -> bool {
    key.keys().any(|field| {
        let mut at = document;
        for part in field.split('.') {
            match at.get(part) {
                Some(Bson::Array(_)) => return true,
                Some(Bson::Document(inner)) => at = inner,
                _ => return false,
            }
        }
        false
    })
}

/// Fails if the collection is sharded and the new document can't be targeted.
pub(crate) fn check_insert(call: &Call<'_>, collection: &Collection, document: &Document) -> Result<()> {
    let Some(key) = key_of(Some(collection)) else {
        return Ok(());
    };
    let profile = call.deployment.profile();
    let array = has_array(key, document);
    let incomplete = array || !missing(key, document).is_empty();
    let (shown, pattern) = (format::document(document), format::document(key));
    rows::INSERT_MISSING.check(profile, incomplete, &[&shown, &pattern])?;
    rows::INSERT_ARRAY.check(profile, array, &[])
}

/// A statement of `update`.
pub(crate) struct Statement<'s> {
    pub(crate) filter: &'s Filter,
    pub(crate) update: &'s Update,
    pub(crate) multi: bool,
    pub(crate) upsert: bool,
    pub(crate) body: &'s Document,
}

/// Fails if the collection is sharded and the update can't be targeted to a shard.
pub(crate) fn check_update(
    call: &Call<'_>,
    collection: Option<&Collection>,
    statement: &Statement<'_>,
    env: &Env,
) -> Result<()> {
    let (Some(collection), Some(key)) = (collection, key_of(collection)) else {
        return Ok(());
    };
    let profile = call.deployment.profile();
    let targeted = has_shard_key(key, statement.filter, env);
    if let Update::Replacement(replacement) = statement.update {
        let missing: Vec<String> = missing(key, replacement)
            .into_iter()
            .filter(|field| *field != "_id")
            .map(|field| format!("\"{field}\""))
            .collect();
        let names = format!(" {} ", missing.join(", "));
        rows::REPLACEMENT_MISSING.check(profile, !missing.is_empty(), &[&names])?;
    }
    rows::UPSERT.check(profile, statement.upsert && !targeted, &[])?;
    let refused = !targeted
        && !statement.multi
        && !statement.update.is_replacement()
        && !has_id(collection, statement.filter, env);
    let (shown, pattern) = (format::document(statement.body), format::document(key));
    let values: [&dyn std::fmt::Display; 3] = [&SHARDS, &shown, &pattern];
    rows::UPDATE_ONE_OLD.check(profile, refused, &values)?;
    rows::UPDATE_ONE.check(profile, refused, &values)
}

/// Fails if the collection is sharded and the deletion of one document can't be targeted.
pub(crate) fn check_delete(
    call: &Call<'_>,
    collection: Option<&Collection>,
    statement: &Document,
    filter: &Filter,
    env: &Env,
) -> Result<()> {
    let (Some(collection), Some(key)) = (collection, key_of(collection)) else {
        return Ok(());
    };
    let one = statement.get("limit").is_some_and(crate::value::truthy);
    let refused = one && !has_shard_key(key, filter, env) && !has_id(collection, filter, env);
    let (shown, pattern) = (format::document(statement), format::document(key));
    rows::DELETE_ONE.check(call.deployment.profile(), refused, &[&shown, &pattern])
}

/// Fails if the collection is sharded and `findAndModify` can't be targeted.
pub(crate) fn check_find_and_modify(
    call: &Call<'_>,
    collection: Option<&Collection>,
    filter: &Filter,
    env: &Env,
) -> Result<()> {
    let untargeted = key_of(collection).is_some_and(|key| !has_shard_key(key, filter, env));
    rows::FIND_AND_MODIFY.check(call.deployment.profile(), untargeted, &[])
}

/// Whether the documents have different values of the shard key.
pub(crate) fn is_changed(collection: &Collection, old: &Document, new: &Document) -> bool {
    let value = |document: &Document, field: &str| path::get(document, field).cloned().unwrap_or(Bson::Null);
    key_of(Some(collection)).is_some_and(|key| {
        key.keys()
            .any(|field| !equal(&value(old, field), &value(new, field), None))
    })
}

/// Fails if an update that changes the shard key of a document is not allowed to.
pub(crate) fn check_change(
    call: &Call<'_>,
    collection: &Collection,
    (filter, env): (&Filter, &Env),
    multi: bool,
    (old, new): (&Document, &Document),
) -> Result<()> {
    let Some(key) = key_of(Some(collection)) else {
        return Ok(());
    };
    let profile = call.deployment.profile();
    if !is_changed(collection, old, new) {
        return Ok(());
    }
    rows::CHANGE_MULTI.check(profile, multi, &[])?;
    rows::CHANGE_FILTER.check(profile, !has_shard_key(key, filter, env), &[])?;
    rows::CHANGE_OUTSIDE.check(profile, !call.body.contains_key("txnNumber"), &[])?;
    check_insert(call, collection, new)
}

/// Whether the index has the shard key as prefix.
pub(crate) fn has_prefix(index: &Document, key: &Document) -> bool {
    index.len() >= key.len()
        && key.iter().zip(index).all(|((field, kind), (path, found))| {
            field == path
                && match (kind, found) {
                    (Bson::String(kind), Bson::String(found)) => kind == found,
                    (Bson::String(_), _) | (_, Bson::String(_)) => false,
                    _ => equal(kind, found, None),
                }
        })
}

/// Whether a unique index keeps its documents unique on all shards.
pub(crate) fn may_be_unique(index: &Document, key: &Document) -> bool {
    let on_id = index.len() == 1 && index.contains_key("_id");
    let hashed = key.values().any(|kind| kind.as_str().is_some());
    on_id || (!hashed && has_prefix(index, key))
}

/// Whether the index can find the documents of a chunk.
pub(crate) fn supports(index: &Index, key: &Document) -> bool {
    has_prefix(&index.key_pattern(), key)
        && !index.sparse
        && index.partial.is_none()
        && (index.collation.is_none() || index.name == "_id_")
}

/// Fails if the collection is sharded and one of the new indexes is unique without the shard key as
/// prefix.
pub(crate) fn check_indexes(
    call: &Call<'_>,
    collection: Option<&Collection>,
    indexes: &[Index],
) -> Result<()> {
    let Some(key) = key_of(collection) else {
        return Ok(());
    };
    for index in indexes.iter().filter(|index| index.unique) {
        let pattern = index.key_pattern();
        rows::UNIQUE_INDEX.check(
            call.deployment.profile(),
            !may_be_unique(&pattern, key),
            &[&format::document(&pattern), &format::document(key)],
        )?;
    }
    Ok(())
}

/// Fails if `dropIndexes` has dropped the last index that supports the shard key, and restores the
/// indexes `old`. Dropping all indexes with `*` keeps one.
pub(crate) fn keep_supporting_index(
    call: &Call<'_>,
    collection: &mut Collection,
    old: &[Index],
) -> Result<()> {
    let Some(key) = collection.shard_key.clone() else {
        return Ok(());
    };
    let supports = |index: &&Index| supports(index, &key);
    if collection.indexes.iter().any(|index| supports(&index)) {
        return Ok(());
    }
    let Some(supporting) = old.iter().find(supports) else {
        return Ok(());
    };
    let profile = call.deployment.profile();
    if call.args().get("index") == Some(&Bson::from("*")) {
        if rows::LAST_INDEX.applies(profile) {
            collection.indexes.push(supporting.clone());
        }
        return Ok(());
    }
    let refused = rows::LAST_INDEX.check(profile, true, &[]);
    if refused.is_err() {
        collection.indexes = old.to_vec();
    }
    refused
}

/// Fails if a stage reads from or writes to a sharded collection and may not.
pub(crate) fn check_stages(call: &Call<'_>, catalog: &Catalog, stages: &[Bson]) -> Result<()> {
    let profile = call.deployment.profile();
    for (name, argument) in all_stages(stages) {
        let (database, collection) = match argument {
            Bson::String(collection) => (call.db, collection.as_str()),
            Bson::Document(spec) => {
                let field = if name == "$out" { "coll" } else { "from" };
                let database = spec.get_str("db").unwrap_or(call.db);
                (database, spec.get_str(field).unwrap_or_default())
            }
            _ => continue,
        };
        let Ok(namespace) = Namespace::new(database, collection) else {
            continue;
        };
        if key_of(catalog.get(&namespace)).is_none() {
            continue;
        }
        if matches!(name, "$lookup" | "$graphLookup") {
            rows::LOOKUP.check(profile, true, &[&namespace])?;
            rows::LOOKUP_TRANSACTION.check(profile, call.in_transaction(), &[&name])?;
        }
        if name == "$out" {
            rows::OUT.check(profile, true, &[&namespace])?;
            rows::OUT_NEW.check(profile, true, &[])?;
        }
    }
    Ok(())
}

/// Fails if `distinct` may not read the sharded collection.
pub(crate) fn check_distinct(call: &Call<'_>, collection: Option<&Collection>) -> Result<()> {
    if key_of(collection).is_none() {
        return Ok(());
    }
    let profile = call.deployment.profile();
    rows::DISTINCT_TRANSACTION.check(profile, call.in_transaction(), &[])?;
    let snapshot = super::concerns::snapshot_time(call.body).is_some();
    rows::DISTINCT_SNAPSHOT.check(profile, snapshot, &[])
}

/// The error of a `$merge` that changes the shard key.
pub(crate) fn merge_change() -> Error {
    rows::MERGE_CHANGE.error(&[])
}

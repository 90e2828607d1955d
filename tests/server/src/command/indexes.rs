//! `createIndexes`, `dropIndexes`.

use super::plan::normalized;
use super::{Call, encrypted_fields, timeseries};
use crate::error::{Error, Result, code};
use crate::refusal::ServerProfile;
use crate::refusal::indexes as rows;
use crate::storage::change::Definition;
use crate::storage::index::Index;
use crate::storage::index_relation::{Relation, is_clustered_index, relate};
use crate::storage::index_spec;
use crate::storage::{Catalog, Collection, Namespace};
use crate::value::{format, identical_documents, type_name};
use bson::{Bson, Document, doc};
use std::borrow::Cow;

pub(crate) fn create_indexes(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    let specs = requested(call)?;
    let profile = call.deployment.profile();
    let quorum = call.args().get("commitQuorum").is_some();
    rows::COMMIT_QUORUM_4_2.check(profile, quorum, &[])?;
    rows::COMMIT_QUORUM.check(profile, quorum, &[])?;
    let mut catalog = call.catalog();
    let created = catalog.get(&namespace).is_none();
    if call.in_transaction() && call.deployment.catalog().get(&namespace).is_some() {
        return Err(Error::new(
            code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
            format!(
                "Cannot create new indexes on existing collection {namespace} in a multi-document transaction."
            ),
        ));
    }
    let indexes = parse(call, catalog.get(&namespace), &specs)?;
    super::shard_key::check_indexes(call, catalog.get(&namespace), &indexes)?;
    let count = indexes.len();
    let collection = catalog.get_or_create(&namespace)?;
    let before = collection.indexes.len();
    let name = namespace.to_string();
    let built = indexes
        .into_iter()
        .try_for_each(|index| match relate(collection, &index, &name, profile)? {
            Relation::Same => Ok(()),
            Relation::New => collection
                .add_index(index, &name)
                .map_err(|error| build_failure(error, collection, &name, profile)),
        });
    if let Err(error) = built {
        // All indexes are created, or none.
        collection.indexes.truncate(before);
        if created {
            catalog.undo_create(&namespace);
        }
        return Err(error);
    }
    let after = collection.indexes.len();
    if after != before {
        let made = specs_of(&collection.indexes[before..]);
        record_change(
            &mut catalog,
            &namespace,
            "createIndexes",
            doc! { "indexes": made },
        );
    }
    if after != before || created {
        call.advance_clock();
    }
    let mut reply = doc! {
        "numIndexesBefore": before as i32,
        "numIndexesAfter": after as i32,
        "createdCollectionAutomatically": created,
    };
    if after == before {
        reply.insert("note", "all indexes already exist");
    } else if after - before < count {
        reply.insert("note", "index already exists");
    }
    if call.deployment.is_replicated() && after != before {
        reply.insert("commitQuorum", "votingMembers");
    }
    Ok(reply)
}

/// The error of an index build on a collection with documents.
fn build_failure(error: Error, collection: &Collection, name: &str, profile: ServerProfile) -> Error {
    if !profile.version.at_least(4, 4) {
        return error;
    }
    let build = bson::Uuid::new();
    error.caused(&format!(
        "Index build failed: {build}: Collection {name} ( {} )",
        collection.uuid
    ))
}

/// The specifications of the command.
fn requested<'c>(call: &Call<'c>) -> Result<Vec<Cow<'c, Document>>> {
    check_fields_before_5_0(call)?;
    let specs = call.args().documents("indexes")?.ok_or_else(|| {
        Error::new(
            code::MISSING_FIELD,
            "BSON field 'createIndexes.indexes' is missing but a required field",
        )
    })?;
    if specs.is_empty() {
        return Err(Error::bad_value("Must specify at least one index to create"));
    }
    if specs.len() > 1000 {
        return Err(Error::bad_value(
            "The number of indexes in one command is limited to 1000",
        ));
    }
    let ignores = call.args().flag("ignoreUnknownIndexOptions", false)?;
    let spec = |spec: &'c Document| {
        if ignores {
            Cow::Owned(index_spec::without_unknown_fields(spec))
        } else {
            Cow::Borrowed(spec)
        }
    };
    Ok(specs.into_iter().map(spec).collect())
}

/// Checks the types of the fields as the parser before 5.0 does, which has errors of its own.
fn check_fields_before_5_0(call: &Call<'_>) -> Result<()> {
    let profile = call.deployment.profile();
    let ignores = call.body.get("ignoreUnknownIndexOptions");
    if let Some(value) = ignores
        && !matches!(value, Bson::Boolean(_))
    {
        rows::IGNORE_TYPE.check(profile, true, &[&type_name(value)])?;
    }
    match call.body.get("indexes") {
        None => rows::INDEXES_MISSING.check(profile, true, &[]),
        Some(Bson::Array(specs)) => specs
            .iter()
            .filter(|spec| spec.as_document().is_none())
            .try_for_each(|spec| rows::INDEXES_ELEMENT.check(profile, true, &[&type_name(spec)])),
        Some(other) => rows::INDEXES_TYPE.check(profile, true, &[&type_name(other)]),
    }
}

/// Parses the specifications for a collection, without the clustered index.
fn parse(
    call: &Call<'_>,
    collection: Option<&Collection>,
    specs: &[Cow<'_, Document>],
) -> Result<Vec<Index>> {
    let profile = call.deployment.profile();
    if let Some(collection) = collection {
        if collection.view.is_some() {
            return Err(rows::ON_VIEW.error(&[]));
        }
        for spec in specs {
            encrypted_fields::check_index(&collection.options, spec)?;
            timeseries::check_index(collection, spec, profile)?;
        }
    }
    let collation = collection.and_then(|collection| collection.collation.as_ref());
    let clustered = collection.and_then(|collection| collection.options.get_document("clusteredIndex").ok());
    let mut indexes = Vec::with_capacity(specs.len());
    for spec in specs {
        let index = index_spec::parse(spec, profile, collation)?;
        if !is_clustered_index(spec, clustered, profile)? {
            indexes.push(index);
        }
    }
    Ok(indexes)
}

pub(crate) fn drop_indexes(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    let mut catalog = call.catalog();
    let collection = catalog
        .get_mut(&namespace)
        .ok_or_else(|| Error::new(code::NAMESPACE_NOT_FOUND, format!("ns not found {namespace}")))?;
    if collection.view.is_some() {
        return Err(rows::DROP_ON_VIEW.error(&[&namespace]));
    }
    let before = collection.indexes.len();
    let old = collection.indexes.clone();
    let selector = call.args().get("index").ok_or_else(|| {
        Error::new(
            code::MISSING_FIELD,
            "BSON field 'dropIndexes.index' is missing but a required field",
        )
    })?;
    let names = names(collection, selector);
    let builds = &call.deployment.index_builds;
    let aborted = builds.check_drop_indexes(call.deployment.profile(), &namespace, &names)?;
    match selector {
        Bson::String(name) if name == "*" => collection.indexes.truncate(1),
        _ if aborted => {}
        selector if is_clustered(collection, selector) => return Err(rows::DROP_CLUSTERED.error(&[])),
        Bson::Array(names) => {
            let mut positions = Vec::new();
            for name in names {
                positions.push(find(collection, name)?);
            }
            positions.sort_unstable();
            positions.dedup();
            for position in positions.into_iter().rev() {
                collection.indexes.remove(position);
            }
        }
        selector => {
            let position = find(collection, selector)?;
            collection.indexes.remove(position);
        }
    }
    super::shard_key::keep_supporting_index(call, collection, &old)?;
    let kept: Vec<&str> = collection
        .indexes
        .iter()
        .map(|index| index.name.as_str())
        .collect();
    let dropped = old.iter().filter(|index| !kept.contains(&index.name.as_str()));
    let dropped = specs_of(dropped);
    if !dropped.is_empty() {
        record_change(
            &mut catalog,
            &namespace,
            "dropIndexes",
            doc! { "indexes": dropped },
        );
    }
    call.advance_clock();
    Ok(doc! { "nIndexesWas": before as i32 })
}

/// `reIndex`. The indexes of this server are always complete, so that nothing is rebuilt.
pub(crate) fn reindex(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    rows::REINDEX.check(call.deployment.profile(), true, &[&namespace])?;
    let catalog = call.catalog();
    let collection = catalog
        .get(&namespace)
        .ok_or_else(|| rows::REINDEX_MISSING.error(&[]))?;
    if collection.view.is_some() {
        return Err(rows::REINDEX_VIEW.error(&[]));
    }
    if collection.time_field.is_some() {
        return Err(Error::not_served("reIndex of a time series collection"));
    }
    let specs = specs_of(&collection.indexes);
    Ok(doc! { "nIndexesWas": specs.len() as i64, "nIndexes": specs.len() as i32, "indexes": specs })
}

/// Whether the selector is the clustered index of the collection.
fn is_clustered(collection: &Collection, selector: &Bson) -> bool {
    let first = collection.indexes.first();
    let is = |index: &Index| match selector {
        Bson::String(name) => *name == index.name,
        Bson::Array(names) => names.iter().any(|name| name.as_str() == Some(&index.name)),
        Bson::Document(pattern) => *pattern == index.key_pattern(),
        _ => false,
    };
    collection.options.contains_key("clusteredIndex") && first.is_some_and(is)
}

/// The names of the indexes to drop. A key pattern has the name of its index, if there is one.
fn names<'s>(collection: &'s Collection, selector: &'s Bson) -> Vec<&'s str> {
    match selector {
        Bson::Array(names) => names.iter().filter_map(Bson::as_str).collect(),
        Bson::String(name) => vec![name],
        Bson::Document(pattern) => {
            let positions = by_pattern(collection, pattern).into_iter();
            positions
                .map(|position| collection.indexes[position].name.as_str())
                .collect()
        }
        _ => Vec::new(),
    }
}

fn specs_of<'i>(indexes: impl IntoIterator<Item = &'i Index>) -> Vec<Bson> {
    let specs = indexes.into_iter().map(|index| index.spec.clone());
    specs.map(Bson::Document).collect()
}

/// Records a change of the definition of a collection, for change streams.
pub(super) fn record_change(
    catalog: &mut Catalog,
    namespace: &Namespace,
    event: &'static str,
    description: Document,
) {
    if let Some(collection) = catalog.shared(namespace).cloned() {
        catalog.define(namespace, &collection, Definition::Other(event, description));
    }
}

/// Finds an index to drop; fails if it must not be dropped.
fn find(collection: &Collection, selector: &Bson) -> Result<usize> {
    let position = match selector {
        Bson::String(name) => collection
            .indexes
            .iter()
            .position(|index| index.name == *name)
            .ok_or_else(|| rows::DROP_MISSING.error(&[name]))?,
        Bson::Document(pattern) => match by_pattern(collection, pattern)[..] {
            [] => return Err(rows::DROP_MISSING_KEY.error(&[&format::document(pattern)])),
            [position] => position,
            [first, second, ..] => {
                let found = by_pattern(collection, pattern).len();
                let shown = [first, second].map(|at| format::document(&collection.indexes[at].spec));
                let key = format::document(pattern);
                return Err(rows::DROP_AMBIGUOUS.error(&[&found, &key, &shown[0], &shown[1]]));
            }
        },
        _ => {
            return Err(Error::type_mismatch(
                "dropIndexes.index must be a string, an array of strings or an object",
            ));
        }
    };
    if position == 0 {
        return Err(rows::DROP_ID.error(&[]));
    }
    Ok(position)
}

/// The positions of the indexes with this key pattern.
pub(super) fn by_pattern(collection: &Collection, pattern: &Document) -> Vec<usize> {
    let wanted = normalized(pattern);
    let has_pattern = |position: &usize| {
        let key = collection.indexes[*position].key_pattern();
        identical_documents(&normalized(&key), &wanted)
    };
    (0..collection.indexes.len()).filter(has_pattern).collect()
}

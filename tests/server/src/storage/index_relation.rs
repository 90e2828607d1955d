//! Compares a new index with the existing indexes: different, identical or conflicting.

use super::Collection;
use super::index::Index;
use crate::command::plan::normalized;
use crate::error::Result;
use crate::refusal::ServerProfile;
use crate::refusal::indexes as rows;
use crate::value::{format, identical, identical_documents};
use bson::{Bson, Document};

/// The maximum number of indexes of a collection.
const MAX_INDEXES: usize = 64;

/// The fields of a specification that are not compared, or that are part of the identity.
const NOT_OPTIONS: [&str; 9] = [
    "v",
    "key",
    "name",
    "ns",
    "collation",
    "background",
    "hidden",
    "textIndexVersion",
    "2dsphereIndexVersion",
];

/// The fields that are part of the identity since 5.0, and options before.
const LATER_IDENTITY: [&str; 4] = [
    "unique",
    "sparse",
    "partialFilterExpression",
    "wildcardProjection",
];

/// The relation of a new index to the existing ones.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    New,
    /// An identical index exists.
    Same,
}

/// Compares a new index with those of a collection. Returns an error for a conflict in name, key or
/// options, and if the collection cannot have another index of this type.
pub(crate) fn relate(
    collection: &Collection,
    new: &Index,
    namespace: &str,
    profile: ServerProfile,
) -> Result<Relation> {
    let existing = &collection.indexes;
    if let Some(index) = existing.iter().find(|index| index.name == new.name) {
        return same_name(index, new, profile);
    }
    if let Some(index) = existing.iter().find(|index| has_identity(index, new, profile)) {
        return other_name(index, new, profile);
    }
    if existing.len() >= MAX_INDEXES {
        let key = format::document(&new.key_pattern());
        return Err(rows::TOO_MANY.error(&[&namespace, &key]));
    }
    let is_text = |index: &&Index| index.spec.contains_key("textIndexVersion");
    if is_text(&new)
        && let Some(text) = existing.iter().find(is_text)
    {
        return Err(rows::SECOND_TEXT.error(&[&text.name]));
    }
    let expires = new.expire_after_seconds.is_some();
    rows::TTL_CAPPED.check(profile, collection.capped.is_some() && expires, &[])?;
    Ok(Relation::New)
}

fn same_name(index: &Index, new: &Index, profile: ServerProfile) -> Result<Relation> {
    let (wanted, found) = (format::document(&new.spec), format::document(&index.spec));
    if !has_identity(index, new, profile) {
        let key = |index: &Index| normalized(&index.key_pattern());
        let same_key = identical_documents(&key(index), &key(new));
        rows::NAME_COLLATION.check(profile, same_key, &[&found, &wanted])?;
        rows::NAME_TAKEN_BEFORE_5.check(profile, true, &[&found, &wanted])?;
        return Err(rows::NAME_TAKEN.error(&[&wanted, &found]));
    }
    if has_options(index, new, profile) || index.name == "_id_" {
        return Ok(Relation::Same);
    }
    rows::SAME_NAME_BEFORE_5.check(profile, true, &[&new.name])?;
    Err(rows::SAME_NAME.error(&[&wanted, &found]))
}

fn other_name(index: &Index, new: &Index, profile: ServerProfile) -> Result<Relation> {
    if has_options(index, new, profile) {
        rows::RENAMED_BEFORE_5.check(profile, true, &[&new.name])?;
        return Err(rows::RENAMED.error(&[&index.name]));
    }
    let (wanted, found) = (format::document(&new.spec), format::document(&index.spec));
    rows::OTHER_NAME_BEFORE_5.check(profile, true, &[&wanted, &found])?;
    Err(rows::OTHER_NAME.error(&[&wanted, &found]))
}

/// Whether the indexes are the same apart from their names and options. Indexes with the same key
/// are distinct if they differ in collation, and since 5.0 in the documents that they omit.
fn has_identity(index: &Index, new: &Index, profile: ServerProfile) -> bool {
    let key = |index: &Index| normalized(&index.key_pattern());
    identical_documents(&key(index), &key(new))
        && index.collation == new.collation
        && (!profile.version.at_least(5, 0) || is_equal(index, new, &LATER_IDENTITY))
}

/// Whether the options of two indexes with the same identity are equal.
fn has_options(index: &Index, new: &Index, profile: ServerProfile) -> bool {
    let names = |spec: &Document| -> Vec<String> {
        let names = spec.keys().filter(|name| !NOT_OPTIONS.contains(&name.as_str()));
        names.cloned().collect()
    };
    let mut all = names(&index.spec);
    all.extend(names(&new.spec));
    all.retain(|name| !profile.version.at_least(5, 0) || !LATER_IDENTITY.contains(&name.as_str()));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    is_equal(index, new, &all)
}

fn is_equal(index: &Index, new: &Index, names: &[&str]) -> bool {
    names.iter().all(|name| match *name {
        "unique" => index.unique == new.unique,
        "sparse" => index.sparse == new.sparse,
        "expireAfterSeconds" => index.expire_after_seconds == new.expire_after_seconds,
        "prepareUnique" => index.prepare_unique == new.prepare_unique,
        name => match (index.spec.get(name), new.spec.get(name)) {
            (None, None) => true,
            (Some(Bson::Document(a)), Some(Bson::Document(b))) => {
                identical_documents(&normalized(a), &normalized(b))
            }
            (Some(a), Some(b)) => identical(a, b),
            _ => false,
        },
    })
}

/// Compares a new index with the clustered index of a collection; returns whether it is that index.
/// `clustered`: the option `clusteredIndex` of the collection.
pub(crate) fn is_clustered_index(
    spec: &Document,
    clustered: Option<&Document>,
    profile: ServerProfile,
) -> Result<bool> {
    let Some(clustered) = clustered else {
        rows::CLUSTERED_COLLECTION.check(profile, spec.contains_key("clustered"), &[])?;
        return Ok(false);
    };
    let key = |spec: &Document| normalized(&spec.get_document("key").cloned().unwrap_or_default());
    let same_key = identical_documents(&key(spec), &key(clustered));
    if !same_key {
        rows::CLUSTERED_KEY.check(profile, spec.contains_key("clustered"), &[])?;
        let same_name = spec.get("name") == clustered.get("name");
        let shown = [format::document(spec), format::document(clustered)];
        rows::CLUSTERED_NAME.check(profile, same_name, &[&shown[0], &shown[1]])?;
    }
    Ok(same_key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::index_spec::parse;
    use bson::doc;

    fn outcome(new: &Document, version: &str) -> std::result::Result<bool, i32> {
        let profile = ServerProfile {
            version: version.parse().unwrap(),
            ..ServerProfile::default()
        };
        let index = |spec: &Document| parse(spec, profile, None).unwrap();
        let mut collection = Collection::new(None);
        let existing = index(&doc! { "key": { "a": 1 }, "name": "a_1", "unique": true });
        collection.add_index(existing, "db.c").unwrap();
        match relate(&collection, &index(new), "db.c", profile) {
            Ok(relation) => Ok(relation == Relation::New),
            Err(error) => Err(error.code),
        }
    }

    #[test]
    fn the_same_name_with_another_identity_is_a_conflict() {
        for (spec, before) in [
            (doc! { "key": { "a": 1 }, "name": "a_1" }, 85),
            (
                doc! { "key": { "a": 1 }, "name": "a_1", "unique": true, "sparse": true },
                85,
            ),
            (
                doc! { "key": { "a": 1 }, "name": "a_1", "unique": true, "partialFilterExpression": { "a": 1 } },
                85,
            ),
            (doc! { "key": { "b": 1 }, "name": "a_1", "unique": true }, 86),
        ] {
            assert_eq!(outcome(&spec, "5.0"), Err(86), "{spec}");
            assert_eq!(outcome(&spec, "4.4"), Err(before), "{spec}");
        }
    }

    #[test]
    fn the_same_identity_with_other_options_is_a_conflict() {
        for version in ["4.2", "8.2"] {
            let spec = doc! { "key": { "a": 1 }, "name": "a_1", "unique": true, "expireAfterSeconds": 1 };
            assert_eq!(outcome(&spec, version), Err(85));
            let spec = doc! { "key": { "a": 1 }, "name": "other", "unique": true };
            assert_eq!(outcome(&spec, version), Err(85));
        }
    }

    #[test]
    fn identical_and_different_indexes() {
        let spec = doc! { "key": { "a": 1.0 }, "name": "a_1", "unique": 1 };
        assert_eq!(outcome(&spec, "8.2"), Ok(false));
        // Indexes with the same key are distinct if only one of them is unique, since 5.0.
        let plain = doc! { "key": { "a": 1 }, "name": "plain" };
        assert_eq!(outcome(&plain, "8.2"), Ok(true));
        assert_eq!(outcome(&plain, "4.4"), Err(85));
    }
}

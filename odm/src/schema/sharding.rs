//! Shard keys: the comparison of the declared one with that of the cluster, the index that supports it, and the
//! commands that shard a collection.

use std::collections::BTreeMap;

use crate::{
    base::{
        bson::{Bson, Document, doc},
        error::{Result, SchemaError},
    },
    driver::{self, options::ReadPreference},
    models::{
        index::normal::{NormalCollation, NormalIndex, normalize, normalize_listed, number},
        shard_key::ShardKey,
    },
    schema::{
        Step,
        collated::DefaultCollation,
        declared::{Declared, DeclaredCollection},
        deployment::{Deployment, Feature},
        features::Unsupported,
        record::Recorded,
        target::Target,
    },
};

/// The shard key that a collection of the cluster has.
#[derive(Debug)]
pub(super) struct ExistingKey {
    key: Document,
    is_unique: bool,
}

/// The shard keys of the registered collections that are sharded, by namespace.
pub(super) type Sharded = BTreeMap<String, ExistingKey>;

/// Reads which of the collections with a declared shard key are sharded. Reads nothing on a deployment that is
/// not a sharded cluster.
pub(super) async fn read(
    database: &driver::Database,
    declared: &BTreeMap<String, DeclaredCollection>,
    deployment: &Deployment,
) -> driver::Result<Sharded> {
    let keyed = declared
        .iter()
        .filter(|(_, declared)| declared.shard_key().is_some());
    let namespaces: Vec<String> = keyed
        .map(|(name, _)| format!("{}.{name}", database.name()))
        .collect();
    let mut sharded = Sharded::new();
    if namespaces.is_empty() || !deployment.is_sharded() {
        return Ok(sharded);
    }
    let config = database
        .client()
        .database("config")
        .collection::<Document>("collections");
    let mut found = config
        .find(doc! { "_id": { "$in": namespaces }, "dropped": { "$ne": true } })
        .projection(doc! { "key": 1, "unique": 1 })
        .read_preference(ReadPreference::primary())
        .await?;
    while found.advance().await? {
        let document: Document = found.deserialize_current()?;
        if let (Ok(namespace), Ok(key)) = (document.get_str("_id"), document.get_document("key")) {
            let existing = ExistingKey {
                key: key.clone(),
                is_unique: document.get_bool("unique").unwrap_or(false),
            };
            sharded.insert(namespace.to_owned(), existing);
        }
    }
    Ok(sharded)
}

fn is_same_kind(a: &Bson, b: &Bson) -> bool {
    number(a) == number(b)
}

/// Whether the first keys are those of the shard key.
fn begins_with(index: &NormalIndex, key: &Document) -> bool {
    index.keys.len() >= key.len()
        && key
            .iter()
            .zip(&index.keys)
            .all(|((path, kind), (indexed, found))| path == indexed && is_same_kind(kind, found))
}

/// Whether the server can find the documents of a chunk by the index.
fn supports(index: &NormalIndex, key: &Document) -> bool {
    begins_with(index, key)
        && index.collation == NormalCollation::Simple
        && !index.options.contains_key("sparse")
        && !index.options.contains_key("partialFilterExpression")
}

fn is_unique(index: &NormalIndex) -> bool {
    index.options.contains_key("unique")
}

/// Adds the index that supports the shard key, unless a declared index supports it, or an existing one that is never
/// dropped.
///
/// # Errors
/// [`SchemaError::InvalidIndex`] for a declared unique index that does not begin with the shard key.
pub(super) fn with_supporting_index(
    mut indexes: Vec<Declared>,
    (model, shard_key): (&'static str, &ShardKey),
    listed: &[Document],
    recorded: &Recorded,
    default: DefaultCollation<'_>,
) -> Result<Vec<Declared>, SchemaError> {
    let key = shard_key.document();
    let is_hashed = key.values().any(|kind| kind.as_str().is_some());
    let is_refused =
        |index: &&Declared| is_unique(&index.normal) && (is_hashed || !begins_with(&index.normal, &key));
    if let Some(index) = indexes.iter().find(is_refused) {
        return Err(SchemaError::InvalidIndex {
            model: index.model,
            index: index.name.clone(),
            reason: format!(
                "the index is unique and does not begin with the shard key {shard_key} of model `{model}`: the shards cannot keep it \
                 unique"
            ),
        });
    }
    // Every collection has the index on `_id`.
    if key.len() == 1 && key.get("_id").is_some_and(|kind| kind.as_str().is_none()) {
        return Ok(indexes);
    }
    let is_exact = |index: &NormalIndex| index.keys.len() == key.len();
    let is_enough = |index: &NormalIndex| {
        supports(index, &key) && (!shard_key.is_unique() || is_exact(index) && is_unique(index))
    };
    let is_kept = |specification: &&Document| {
        let index = normalize_listed(specification);
        let is_recorded = specification
            .get_str("name")
            .is_ok_and(|name| recorded.contains_key(name));
        !is_recorded && !is_exact(&index) && is_enough(&index)
    };
    if indexes.iter().any(|index| is_enough(&index.normal)) || listed.iter().any(|index| is_kept(&index)) {
        return Ok(indexes);
    }
    let name = key.iter().map(|(path, kind)| match kind.as_str() {
        Some(kind) => format!("{path}_{kind}"),
        None => format!("{path}_1"),
    });
    let name = name.collect::<Vec<_>>().join("_");
    let mut specification = doc! { "key": key, "name": &name };
    if shard_key.is_unique() {
        specification.insert("unique", true);
    }
    if default != DefaultCollation::Simple {
        specification.insert("collation", doc! { "locale": "simple" });
    }
    let mut normal = normalize(&specification);
    normal.collation = NormalCollation::Simple;
    indexes.push(Declared {
        model,
        name,
        named: false,
        renamed_from: None,
        specification,
        normal,
    });
    Ok(indexes)
}

/// The step for the shard key of a collection of a cluster.
pub(super) fn step(declared: &ShardKey, existing: Option<&ExistingKey>) -> Step {
    let (key, unique) = (declared.document(), declared.is_unique());
    let Some(existing) = existing else {
        return Step::ShardCollection { key, unique };
    };
    let is_prefix = existing.key.len() <= key.len()
        && existing
            .key
            .iter()
            .zip(&key)
            .all(|((path, kind), (declared, declared_kind))| {
                path == declared && is_same_kind(kind, declared_kind)
            });
    if !is_prefix || existing.is_unique != unique {
        return Step::ShardKeyConflict {
            existing: existing.key.clone(),
            existing_unique: existing.is_unique,
            declared: key,
            declared_unique: unique,
        };
    }
    if existing.key.len() == key.len() {
        return Step::KeepShardKey { key };
    }
    Step::RefineShardKey {
        existing: existing.key.clone(),
        declared: key,
    }
}

/// What the deployment does not support of the step.
pub(super) fn unsupported(step: &Step, deployment: &Deployment) -> Vec<Unsupported> {
    let (key, command, feature) = match step {
        Step::ShardCollection { key, .. } => (key, "the command `shardCollection`", Feature::SHARDING),
        Step::RefineShardKey { declared, .. } => (
            declared,
            "the command `refineCollectionShardKey`",
            Feature::REFINED_SHARD_KEY,
        ),
        _ => return Vec::new(),
    };
    let is_compound_hashed = key.len() > 1 && key.values().any(|kind| kind.as_str().is_some());
    let compound = (
        "a hashed field beside others in the shard key",
        Feature::COMPOUND_HASHED,
    );
    let needed = [Some((command, feature)), is_compound_hashed.then_some(compound)];
    let lacking = needed.into_iter().flatten().filter_map(|(what, feature)| {
        let requirement = deployment.lacks(feature)?;
        Some(Unsupported {
            feature: what.to_owned(),
            requirement,
        })
    });
    lacking.collect()
}

impl Target<'_> {
    /// Shards the collection. Not an error if another client has sharded it by the same key.
    pub(super) async fn shard(&self, key: &Document, unique: bool) -> Result<()> {
        let admin = self.database.client().database("admin");
        if !self.deployment.has(Feature::SHARDING_OF_ALL_DATABASES) {
            let enabling = doc! { "enableSharding": self.database.name() };
            admin.run_command(enabling).await?;
        }
        let sharding = doc! {
            "shardCollection": &self.plan.namespace, "key": key.clone(), "unique": unique,
            "collation": { "locale": "simple" },
        };
        admin.run_command(sharding).await?;
        Ok(())
    }

    /// Adds fields to the shard key.
    pub(super) async fn refine_shard_key(&self, key: &Document) -> Result<()> {
        let refining = doc! { "refineCollectionShardKey": &self.plan.namespace, "key": key.clone() };
        let admin = self.database.client().database("admin");
        admin.run_command(refining).await?;
        Ok(())
    }
}

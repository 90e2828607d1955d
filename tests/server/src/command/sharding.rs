//! Commands of mongos only. Sharding a collection does not change how it is stored; the rules for
//! its shard key are in [`shard_key`].

use super::list::cursor_batch_size;
use super::{Call, shard_key};
use crate::error::{Error, Result, code};
use crate::refusal::{ServerProfile, sharding as rows};
use crate::storage::change::Definition;
use crate::storage::index::{Index, Kind};
use crate::storage::{Catalog, Collection, Namespace};
use crate::value::compare::equal;
use crate::value::{format, identical_documents};
use bson::{Bson, Document, doc};

pub(crate) fn is_dbgrid(call: &Call<'_>) -> Result<Document> {
    Ok(doc! { "isdbgrid": 1, "hostname": &call.deployment.hosts[call.member.index] })
}

pub(crate) fn list_shards(_: &Call<'_>) -> Result<Document> {
    Ok(doc! { "shards": [super::system::shard()] })
}

pub(crate) fn enable(call: &Call<'_>) -> Result<Document> {
    let database = call.args().required_string(call.key)?;
    crate::storage::namespace::check_database(database)?;
    call.deployment.enable_sharding(database);
    Ok(Document::new())
}

pub(crate) fn shard_collection(call: &Call<'_>) -> Result<Document> {
    let args = call.args();
    let name = args.required_string(call.key)?;
    let key = args.required_document("key")?;
    let namespace = parse_namespace(name)?;
    let profile = call.deployment.profile();
    let enabled = call.deployment.is_sharding_enabled(&namespace.database);
    rows::NOT_ENABLED.check(profile, !enabled, &[&namespace.database])?;
    let sharding = Sharding {
        key,
        unique: args.flag("unique", false)?,
        collation: args.document("collation")?,
    };
    sharding.apply(&mut call.catalog(), &namespace, profile)?;
    Ok(doc! { "collectionsharded": name })
}

/// `refineCollectionShardKey`: adds fields to the end of the shard key.
pub(crate) fn refine_key(call: &Call<'_>) -> Result<Document> {
    let args = call.args();
    let name = args.required_string(call.key)?;
    let key = args.required_document("key")?;
    let namespace = parse_namespace(name)?;
    let profile = call.deployment.profile();
    let mut catalog = call.catalog();
    let collection = catalog
        .get(&namespace)
        .and_then(|collection| Some((collection, collection.shard_key.clone()?)));
    rows::REFINE_NOT_SHARDED.check(profile, collection.is_none(), &[&namespace])?;
    let Some((collection, old)) = collection else {
        return Ok(Document::new());
    };
    let sharding = Sharding {
        key,
        unique: collection.is_shard_key_unique,
        collation: None,
    };
    sharding.check_key(profile)?;
    if identical_documents(&old, key) {
        return Ok(Document::new());
    }
    let (shown, old_shown) = (format::document(key), format::document(&old));
    rows::REFINE_NO_EXTENSION.check(profile, !shard_key::has_prefix(key, &old), &[&shown, &old_shown])?;
    for index in collection
        .indexes
        .iter()
        .filter(|index| index.unique && index.name != "_id_")
    {
        let pattern = index.key_pattern();
        let refused = !shard_key::may_be_unique(&pattern, key);
        rows::EXISTING_UNIQUE.check(
            profile,
            refused,
            &[&namespace, &format::document(&pattern), &shown],
        )?;
    }
    let supported = collection
        .indexes
        .iter()
        .any(|index| shard_key::supports(index, key));
    rows::REFINE_NO_INDEX.check(profile, !supported, &[&namespace])?;
    catalog.get_or_create(&namespace)?.shard_key = Some(key.clone());
    if let Some(collection) = catalog.shared(&namespace).cloned() {
        let description = doc! { "shardKey": key.clone(), "oldShardKey": old };
        catalog.define(
            &namespace,
            &collection,
            Definition::Other("refineCollectionShardKey", description),
        );
    }
    Ok(Document::new())
}

/// The documents of `config.collections`: the sharded collections.
pub(super) fn sharded_collections(catalog: &Catalog, profile: ServerProfile) -> Vec<Document> {
    let all = catalog.databases().flat_map(|(database, collections)| {
        collections
            .iter()
            .map(move |(name, collection)| (format!("{database}.{name}"), collection))
    });
    let sharded = all.filter_map(|(namespace, collection)| {
        let key = collection.shard_key.clone()?;
        let mut document = doc! {
            "_id": namespace, "uuid": collection.uuid, "key": key, "unique": collection.is_shard_key_unique, "noBalance": false,
        };
        if !profile.version.at_least(5, 0) {
            document.insert("dropped", false);
        }
        Some(document)
    });
    sharded.collect()
}

/// Parses `database.collection`.
pub(crate) fn parse_namespace(name: &str) -> Result<Namespace> {
    match name.split_once('.') {
        Some((database, collection)) => Namespace::new(database, collection),
        None => Err(Error::new(
            code::INVALID_NAMESPACE,
            format!("Invalid namespace specified '{name}'"),
        )),
    }
}

/// The options of `shardCollection`.
pub(crate) struct Sharding<'s> {
    pub(crate) key: &'s Document,
    pub(crate) unique: bool,
    pub(crate) collation: Option<&'s Document>,
}

impl Sharding<'_> {
    /// Shards the collection, which is created if it does not exist.
    pub(crate) fn apply(
        &self,
        catalog: &mut Catalog,
        namespace: &Namespace,
        profile: ServerProfile,
    ) -> Result<()> {
        self.check_key(profile)?;
        self.check_collation(catalog.get(namespace), profile)?;
        let collection = catalog.get_or_create(namespace)?;
        if let Some(key) = &collection.shard_key {
            let other = !identical_documents(key, self.key) || collection.is_shard_key_unique != self.unique;
            return rows::ALREADY.check(profile, other, &[namespace]);
        }
        rows::VIEW.check(profile, collection.view.is_some(), &[])?;
        rows::CAPPED.check(profile, collection.capped.is_some(), &[])?;
        self.prepare_index(collection, namespace, profile)?;
        collection.shard_key = Some(self.key.clone());
        collection.is_shard_key_unique = self.unique;
        if let Some(collection) = catalog.shared(namespace).cloned() {
            let description =
                doc! { "shardKey": self.key.clone(), "unique": self.unique, "numInitialChunks": 0_i64 };
            catalog.define(
                namespace,
                &collection,
                Definition::Other("shardCollection", description),
            );
        }
        Ok(())
    }

    fn check_key(&self, profile: ServerProfile) -> Result<()> {
        if self.key.is_empty() {
            return Err(Error::bad_value("The shard key cannot be empty"));
        }
        let is_hashed = |kind: &Bson| kind.as_str() == Some("hashed");
        let hashed = self.key.values().filter(|kind| is_hashed(kind)).count();
        let ascending = |kind: &Bson| crate::value::is_number(kind) && equal(kind, &Bson::Int32(1), None);
        let invalid = self
            .key
            .iter()
            .find(|(_, kind)| !(ascending(kind) || is_hashed(kind) && hashed == 1));
        let shown = format::document(self.key);
        let old = invalid.is_some() || (hashed > 0 && self.key.len() > 1);
        rows::PATTERN_OLD.check(profile, old, &[&shown])?;
        if let Some((field, _)) = invalid {
            rows::PATTERN.check(profile, true, &[&shown, field])?;
        }
        rows::UNIQUE_HASHED.check(profile, self.unique && hashed > 0, &[])
    }

    fn check_collation(&self, collection: Option<&Collection>, profile: ServerProfile) -> Result<()> {
        let simple =
            |collation: &Document| collation.get_str("locale").is_ok_and(|locale| locale == "simple");
        if let Some(collation) = self.collation {
            let shown = format::document(collation);
            return rows::OTHER_COLLATION.check(profile, !simple(collation), &[&shown]);
        }
        let default = collection.and_then(|collection| collection.collation.as_ref());
        match default {
            Some(default) => {
                let shown = format::document(&default.to_document());
                rows::COLLATION.check(profile, true, &[&shown])
            }
            None => Ok(()),
        }
    }

    /// Fails if the indexes of the collection don't allow the shard key. Creates the index on the
    /// shard key if the collection is empty.
    fn prepare_index(
        &self,
        collection: &mut Collection,
        namespace: &Namespace,
        profile: ServerProfile,
    ) -> Result<()> {
        let shown = format::document(self.key);
        for index in &collection.indexes {
            let pattern = index.key_pattern();
            let unique = index.unique || index.prepare_unique;
            let refused = unique && index.name != "_id_" && !shard_key::may_be_unique(&pattern, self.key);
            let pattern = format::document(&pattern);
            rows::EXISTING_UNIQUE.check(profile, refused, &[namespace, &pattern, &shown])?;
        }
        let supporting: Vec<&Index> = collection
            .indexes
            .iter()
            .filter(|index| shard_key::supports(index, self.key))
            .collect();
        if !supporting.is_empty() {
            let exact = |index: &&&Index| index.key_pattern().len() == self.key.len();
            let not_unique = self.unique
                && supporting
                    .iter()
                    .find(exact)
                    .is_some_and(|index| !index.unique && index.name != "_id_");
            return rows::NOT_UNIQUE.check(profile, not_unique, &[namespace, &shown]);
        }
        rows::NO_INDEX.check(profile, collection.len() > 0, &[])?;
        let names: Vec<String> = self
            .key
            .iter()
            .map(|(field, kind)| format!("{field}_{}", kind.as_str().unwrap_or("1")))
            .collect();
        let name = names.join("_");
        let mut spec = doc! { "v": 2, "key": self.key.clone(), "name": &name };
        if self.unique {
            spec.insert("unique", true);
        }
        let hashed = self.key.values().any(|kind| kind.as_str().is_some());
        let kind = if hashed { Kind::Listed } else { Kind::Ordered };
        let mut index = Index::new(&name, spec, kind);
        index.unique = self.unique;
        collection.add_index(index, &namespace.to_string())
    }
}

/// `checkMetadataConsistency`. Returns an empty cursor.
pub(crate) fn check_metadata(call: &Call<'_>) -> Result<Document> {
    let namespace = match call.body.get(call.key) {
        Some(Bson::String(collection)) => Namespace::new(call.db, collection)?.to_string(),
        _ => format!("{}.$cmd.aggregate", call.db),
    };
    let batch_size = cursor_batch_size(call)?;
    Ok(doc! { "cursor": super::list::listed(call, &namespace, Vec::new(), batch_size)? })
}

//! The catalog of databases and collections.

use super::change::{Change, Definition};
use super::{Collection, Namespace};
use crate::error::{Error, Result, code};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Collections by database and name. A clone shares each collection until it is changed (copy on
/// write).
#[derive(Debug, Default, Clone)]
pub(crate) struct Catalog {
    databases: BTreeMap<String, BTreeMap<String, Arc<Collection>>>,
    /// Collections with possible record changes.
    touched: Vec<Namespace>,
    /// Definition changes since the last call of `take_changes`.
    definitions: Vec<Change>,
}

impl Catalog {
    pub(crate) fn get(&self, namespace: &Namespace) -> Option<&Collection> {
        self.databases
            .get(&namespace.database)?
            .get(&namespace.collection)
            .map(Arc::as_ref)
    }

    /// The shared collection, to test whether two catalogs share it.
    pub(crate) fn shared(&self, namespace: &Namespace) -> Option<&Arc<Collection>> {
        self.databases
            .get(&namespace.database)?
            .get(&namespace.collection)
    }

    /// A collection for modification, or `None` if it does not exist.
    pub(crate) fn get_mut(&mut self, namespace: &Namespace) -> Option<&mut Collection> {
        let collection = self
            .databases
            .get_mut(&namespace.database)?
            .get_mut(&namespace.collection)?;
        if self.touched.last() != Some(namespace) {
            self.touched.push(namespace.clone());
        }
        Some(Arc::make_mut(collection))
    }

    /// A collection for modification. It is created with default options if it does not exist.
    pub(crate) fn get_or_create(&mut self, namespace: &Namespace) -> Result<&mut Collection> {
        if self.get(namespace).is_none() {
            self.check_creatable(namespace)?;
            self.create(namespace, Collection::new(None));
        }
        self.get_mut(namespace).ok_or_else(|| {
            Error::new(
                code::INTERNAL_ERROR,
                format!("collection {namespace} does not exist"),
            )
        })
    }

    pub(crate) fn create(&mut self, namespace: &Namespace, collection: Collection) {
        self.define(namespace, &collection, Definition::Create);
        self.put(namespace, collection);
    }

    /// Reverts the creation of a collection in the current command.
    pub(crate) fn undo_create(&mut self, namespace: &Namespace) {
        self.take(namespace);
        self.definitions
            .retain(|change| change.namespace != *namespace || !change.creates());
    }

    /// Records a change of a collection's definition.
    pub(crate) fn define(&mut self, namespace: &Namespace, collection: &Collection, definition: Definition) {
        self.definitions
            .push(Change::definition(namespace, collection, definition));
    }

    /// Checks that a collection can be created: the namespace is valid, and no database name
    /// differs in case only.
    pub(crate) fn check_creatable(&self, namespace: &Namespace) -> Result<()> {
        namespace.check_creatable()?;
        let wanted = &namespace.database;
        if self.databases.contains_key(wanted) {
            return Ok(());
        }
        match self
            .databases
            .keys()
            .find(|name| name.eq_ignore_ascii_case(wanted))
        {
            None => Ok(()),
            Some(name) => Err(Error::new(
                code::DATABASE_DIFFER_CASE,
                format!(
                    "db already exists with different case already have: [{name}] trying to create [{wanted}]"
                ),
            )),
        }
    }

    /// Inserts or replaces a collection.
    pub(crate) fn put(&mut self, namespace: &Namespace, collection: Collection) {
        let database = self.databases.entry(namespace.database.clone()).or_default();
        database.insert(namespace.collection.clone(), Arc::new(collection));
        self.touched.push(namespace.clone());
    }

    /// Removes a collection, and its database if it was the last collection.
    pub(crate) fn take(&mut self, namespace: &Namespace) -> Option<Collection> {
        let database = self.databases.get_mut(&namespace.database)?;
        let collection = database.remove(&namespace.collection);
        if database.is_empty() {
            self.databases.remove(&namespace.database);
        }
        collection.map(Arc::unwrap_or_clone)
    }

    pub(crate) fn drop_collection(&mut self, namespace: &Namespace) -> Option<Collection> {
        let collection = self.take(namespace)?;
        self.define(namespace, &collection, Definition::Drop);
        Some(collection)
    }

    /// Drops a database. Returns whether it existed.
    pub(crate) fn drop_database(&mut self, database: &str) -> bool {
        let names: Vec<String> = self.collections(database).map(|(name, _)| name.clone()).collect();
        for collection in names {
            self.drop_collection(&Namespace {
                database: database.to_owned(),
                collection,
            });
        }
        let existed = self.definitions.iter().any(|change| {
            change.namespace.database == database
                && matches!(
                    change.operation,
                    super::change::ChangeOperation::Definition(Definition::Drop)
                )
        });
        if existed {
            self.definitions.push(Change::drop_database(database));
        }
        existed
    }

    /// Returns the changes since the last call: first definitions, then records by collection.
    pub(crate) fn take_changes(&mut self) -> Vec<Change> {
        let mut changes = std::mem::take(&mut self.definitions);
        for namespace in std::mem::take(&mut self.touched) {
            let collection = self
                .databases
                .get_mut(&namespace.database)
                .and_then(|database| database.get_mut(&namespace.collection));
            if let Some(collection) = collection
                && !collection.changes().is_empty()
            {
                let uuid = collection.uuid;
                let images = collection.keeps_images();
                let records = Arc::make_mut(collection).take_changes();
                changes.extend(
                    records
                        .into_iter()
                        .map(|record| Change::record(&namespace, uuid, images, record)),
                );
            }
        }
        changes
    }

    /// Marks a collection as possibly changed.
    pub(crate) fn touch(&mut self, namespace: Namespace) {
        self.touched.push(namespace);
    }

    /// The databases with their collections, in name order.
    pub(crate) fn databases(&self) -> impl Iterator<Item = (&String, &BTreeMap<String, Arc<Collection>>)> {
        self.databases.iter()
    }

    /// The collections of a database, in name order.
    pub(crate) fn collections(&self, database: &str) -> impl Iterator<Item = (&String, &Collection)> {
        self.databases
            .get(database)
            .into_iter()
            .flatten()
            .map(|(name, collection)| (name, collection.as_ref()))
    }

    /// All collections, for modification.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = (Namespace, &mut Collection)> {
        self.databases.iter_mut().flat_map(|(database, collections)| {
            collections.iter_mut().map(|(collection, value)| {
                (
                    Namespace {
                        database: database.clone(),
                        collection: collection.clone(),
                    },
                    Arc::make_mut(value),
                )
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_names_must_not_differ_in_case_only() {
        let mut catalog = Catalog::default();
        let shop = Namespace::new("shop", "items").unwrap();
        catalog.get_or_create(&shop).unwrap();
        let other = Namespace::new("Shop", "items").unwrap();
        let refused = catalog.get_or_create(&other).unwrap_err();
        assert_eq!((refused.code, catalog.databases().count()), (13297, 1));
        assert!(
            catalog
                .get_or_create(&Namespace::new("shop", "Items").unwrap())
                .is_ok()
        );
        catalog.drop_database("shop");
        assert!(catalog.get_or_create(&other).is_ok());
    }
}

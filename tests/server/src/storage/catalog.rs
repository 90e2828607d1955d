//! All databases and collections.

use super::{Collection, Namespace};
use crate::error::{Error, Result, code};
use std::collections::BTreeMap;

/// The collections by database and name.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    databases: BTreeMap<String, BTreeMap<String, Collection>>,
}

impl Catalog {
    /// A collection, if it exists.
    pub(crate) fn get(&self, namespace: &Namespace) -> Option<&Collection> {
        self.databases
            .get(&namespace.database)?
            .get(&namespace.collection)
    }

    /// A collection to change, if it exists.
    pub(crate) fn get_mut(&mut self, namespace: &Namespace) -> Option<&mut Collection> {
        self.databases
            .get_mut(&namespace.database)?
            .get_mut(&namespace.collection)
    }

    /// A collection to write to, made with default options if it does not exist.
    pub(crate) fn get_or_create(&mut self, namespace: &Namespace) -> Result<&mut Collection> {
        if self.get(namespace).is_none() {
            self.check_creatable(namespace)?;
        }
        let database = self.databases.entry(namespace.database.clone()).or_default();
        Ok(database
            .entry(namespace.collection.clone())
            .or_insert_with(|| Collection::new(None)))
    }

    /// Whether a collection may be made under this name: the rules of names, and no database differs from its own only in
    /// case.
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

    /// Puts a collection under a name, in place of what was there.
    pub(crate) fn put(&mut self, namespace: &Namespace, collection: Collection) {
        let database = self.databases.entry(namespace.database.clone()).or_default();
        database.insert(namespace.collection.clone(), collection);
    }

    /// Takes a collection out; a database without collections is gone too.
    pub(crate) fn take(&mut self, namespace: &Namespace) -> Option<Collection> {
        let database = self.databases.get_mut(&namespace.database)?;
        let collection = database.remove(&namespace.collection);
        if database.is_empty() {
            self.databases.remove(&namespace.database);
        }
        collection
    }

    /// Drops a database; whether it existed.
    pub(crate) fn drop_database(&mut self, database: &str) -> bool {
        self.databases.remove(database).is_some()
    }

    /// The databases with their collections, by name.
    pub(crate) fn databases(&self) -> impl Iterator<Item = (&String, &BTreeMap<String, Collection>)> {
        self.databases.iter()
    }

    /// The collections of a database, by name.
    pub(crate) fn collections(&self, database: &str) -> impl Iterator<Item = (&String, &Collection)> {
        self.databases.get(database).into_iter().flatten()
    }

    /// Every collection, to change.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = (Namespace, &mut Collection)> {
        self.databases.iter_mut().flat_map(|(database, collections)| {
            collections.iter_mut().map(|(collection, value)| {
                (
                    Namespace {
                        database: database.clone(),
                        collection: collection.clone(),
                    },
                    value,
                )
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_must_not_differ_only_in_case() {
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

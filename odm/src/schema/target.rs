//! The changes of one collection that a plan makes.

use std::collections::BTreeSet;

use crate::bson::{Document, doc, from_document};
use crate::driver::{self, IndexModel};
use crate::error::{Applied, Error, IndexChange, Result, SchemaError};
use crate::schema::record::{Creation, Kind};
use crate::schema::{CollectionPlan, Step, duplicates, list_collections, options, record};

/// `CannotConvertIndexToUnique`: documents have the same key.
const CANNOT_CONVERT_INDEX_TO_UNIQUE: i32 = 359;

/// The collection that the steps change.
pub(super) struct Target<'a> {
    pub(super) database: &'a driver::Database,
    pub(super) plan: &'a CollectionPlan,
    pub(super) record: bool,
}

impl Target<'_> {
    pub(super) fn collection(&self) -> driver::Collection<Document> {
        self.database.collection(&self.plan.collection)
    }

    pub(super) fn index(&self, name: &str) -> (String, String) {
        (self.plan.namespace.clone(), name.to_owned())
    }

    /// Creates the collection. Not an error if another client has created it with the same options
    /// since the plan was made (48 NamespaceExists).
    pub(super) async fn create_collection(&self, declared: &Document) -> Result<()> {
        let mut command = doc! { "create": &self.plan.collection };
        command.extend(declared.clone());
        let Err(error) = self.database.run_command(command).await else {
            return Ok(());
        };
        if error.code() != Some(48) {
            return Err(error.into());
        }
        let existing = list_collections(self.database, &[&self.plan.collection]).await?;
        match options::step(declared, existing.get(&self.plan.collection)) {
            Some(Step::KeepCollection) => Ok(()),
            _ => Err(SchemaError::ConcurrentChange {
                namespace: self.plan.namespace.clone(),
                source: error,
            }
            .into()),
        }
    }

    /// Creates indexes with one `createIndexes`, so that the server scans the collection once. Adds them
    /// to `created` when they exist.
    pub(super) async fn create(
        &self,
        specifications: &[&Document],
        created: &mut Vec<(String, String)>,
    ) -> Result<()> {
        if specifications.is_empty() {
            return Ok(());
        }
        let models = specifications
            .iter()
            .map(|specification| from_document::<IndexModel>(specification))
            .collect::<Result<Vec<_>, _>>()
            .map_err(driver::Error::from)?;
        let names: Vec<String> = specifications.iter().map(|s| name_of(s).to_owned()).collect();
        let creation = if self.record {
            Some(self.begin(Kind::Index, &names).await?)
        } else {
            None
        };
        let reply = self.collection().create_indexes(models).await;
        if let Err(error) = reply {
            if let Some(creation) = creation {
                creation.failed(&error).await;
            }
            return Err(self.failed_build(specifications, error).await);
        }
        created.extend(names.iter().map(|name| self.index(name)));
        if let Some(creation) = creation {
            creation.succeeded().await?;
        }
        Ok(())
    }

    /// Records that the creation of indexes begins.
    pub(super) async fn begin<'a>(&'a self, kind: Kind, names: &'a [String]) -> Result<Creation<'a>> {
        Ok(Creation::begin(self.database, &self.plan.collection, kind, names).await?)
    }

    /// Confirms the records of indexes that other instances created, if they exist as they are declared.
    pub(super) async fn confirm(&self, unconfirmed: &BTreeSet<(Kind, String)>) -> Result<()> {
        for step in &self.plan.steps {
            let (kind, name) = match step {
                Step::Keep { name, .. } => (Kind::Index, name),
                Step::KeepSearchIndex { name, .. } => (Kind::Search, name),
                _ => continue,
            };
            if unconfirmed.contains(&(kind, name.clone())) {
                record::confirm(self.database, &self.plan.collection, kind, name).await?;
            }
        }
        Ok(())
    }

    /// The error of `createIndexes`. 85 IndexOptionsConflict and 86 IndexKeySpecsConflict: the
    /// conflicting index was created after the plan was made.
    pub(super) async fn failed_build(&self, specifications: &[&Document], error: driver::Error) -> Error {
        if matches!(error.code(), Some(85 | 86)) {
            return SchemaError::ConcurrentChange {
                namespace: self.plan.namespace.clone(),
                source: error,
            }
            .into();
        }
        if !error.is_duplicate_key() {
            return error.into();
        }
        let of_index = match Error::from(error.clone()) {
            Error::Duplicate { index, .. } => index,
            _ => None,
        };
        let is_unique = |s: &&&Document| s.get_bool("unique").unwrap_or(false);
        let named = specifications
            .iter()
            .find(|s| Some(name_of(s)) == of_index.as_deref());
        let Some(specification) = named.or_else(|| specifications.iter().find(is_unique)) else {
            return error.into();
        };
        // The error of the build is reported even if the duplicates cannot be read.
        let samples = duplicates::find(&self.collection(), specification).await;
        SchemaError::Duplicates {
            namespace: self.plan.namespace.clone(),
            index: name_of(specification).to_owned(),
            samples: samples.unwrap_or_default(),
            source: Some(error),
        }
        .into()
    }

    /// Fails if documents violate a unique index.
    pub(super) async fn check_unique(&self, specification: &Document) -> Result<()> {
        let samples = duplicates::find(&self.collection(), specification).await?;
        if samples.is_empty() {
            return Ok(());
        }
        let (namespace, index) = self.index(name_of(specification));
        Err(SchemaError::Duplicates {
            namespace,
            index,
            samples,
            source: None,
        }
        .into())
    }

    pub(super) async fn coll_mod(&self, name: &str, options: Document) -> Result<()> {
        let mut index = doc! { "name": name };
        index.extend(options);
        let command = doc! { "collMod": &self.plan.collection, "index": index };
        self.database.run_command(command).await?;
        Ok(())
    }

    pub(super) async fn modify(
        &self,
        name: &str,
        existing: &Document,
        changes: &[IndexChange],
        applied: &mut Applied,
    ) -> Result<()> {
        for change in changes {
            if *change == IndexChange::Unique {
                // No further duplicates are written from here on.
                self.coll_mod(name, IndexChange::PrepareUnique.options()).await?;
                if let Err(error) = self.make_unique(name, existing).await {
                    // The first error is reported also if the index cannot be changed back.
                    let back = self.coll_mod(name, doc! { "prepareUnique": false }).await;
                    if back.is_err() {
                        applied.change(self.index(name), IndexChange::PrepareUnique);
                    }
                    return Err(error);
                }
            } else {
                self.coll_mod(name, change.options()).await?;
            }
            applied.change(self.index(name), change.clone());
        }
        Ok(())
    }

    /// The last step of the change of an index to unique.
    async fn make_unique(&self, name: &str, existing: &Document) -> Result<()> {
        self.check_unique(existing).await?;
        match self.coll_mod(name, IndexChange::Unique.options()).await {
            Err(Error::Driver(error)) if error.code() == Some(CANNOT_CONVERT_INDEX_TO_UNIQUE) => {
                Err(SchemaError::Duplicates {
                    namespace: self.plan.namespace.clone(),
                    index: name.to_owned(),
                    samples: Vec::new(),
                    source: Some(error),
                }
                .into())
            }
            changed => changed,
        }
    }

    /// Builds the declared index in place of the existing one.
    pub(super) async fn rebuild(
        &self,
        existing: &Document,
        declared: &Document,
        differences: &[String],
        applied: &mut Applied,
    ) -> Result<()> {
        let (old, new) = (name_of(existing), name_of(declared));
        if declared.get_bool("unique").unwrap_or(false) {
            // The existing index is not dropped for one that cannot be built.
            self.check_unique(declared).await?;
        }
        // The server permits neither two indexes of one name nor two with equal keys.
        let is_first = old != new && differences.iter().any(|name| name == "key");
        if is_first {
            self.create(&[declared], &mut applied.created).await?;
        }
        self.drop(old).await?;
        applied.dropped.push(self.index(old));
        if self.record && old != new {
            // An index of this name that another client creates later is not one of these.
            record::dropped(self.database, &self.plan.collection, Kind::Index, old).await?;
        }
        if !is_first {
            self.create(&[declared], &mut applied.created).await?;
        }
        // Both halves are done: they are one step.
        let (old, new) = (self.index(old), self.index(new));
        applied.dropped.retain(|index| *index != old);
        applied.created.retain(|index| *index != new);
        applied.rebuilt.push(new);
        Ok(())
    }

    pub(super) async fn drop(&self, name: &str) -> Result<()> {
        self.collection().drop_index(name).await?;
        Ok(())
    }
}

pub(super) fn name_of(specification: &Document) -> &str {
    specification.get_str("name").unwrap_or_default()
}

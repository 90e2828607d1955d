//! The changes of one collection that a plan makes.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::{
    base::{
        bson::{Document, doc},
        error::{Applied, Error, IndexChange, Result, SchemaError},
    },
    driver::{self, IndexModel, error::code},
    models::index::normal::{is_truthy, normalize},
    query::handle::sharded::shard_key,
    schema::{
        CollectionPlan, Step,
        builds::{Listed, is_prevented_by_build, repeat_within, wait_for_builds},
        collated::with_simple_collation,
        deployment::Deployment,
        duplicates, list_collections, options,
        record::{self, Creation, Kind},
    },
};

/// How long to wait for index builds before a failed change to unique is reverted. The change may
/// have waited for as long as it is permitted to.
const REVERT_WAIT: Duration = Duration::from_secs(5);

/// The collection that the steps change.
pub(super) struct Target<'a> {
    pub(super) database: &'a driver::Database,
    pub(super) plan: &'a CollectionPlan,
    pub(super) deployment: Deployment,
    pub(super) record: bool,
    /// How long to wait for index builds of other clients.
    pub(super) build_wait: Duration,
}

impl Target<'_> {
    pub(super) fn collection(&self) -> driver::Collection<Document> {
        self.database.collection(&self.plan.collection)
    }

    pub(super) fn index(&self, name: &str) -> (String, String) {
        (self.plan.namespace.clone(), name.to_owned())
    }

    /// Creates the collection. Not an error if another client has created it with the same options
    /// since the plan was made.
    pub(super) async fn create_collection(&self, declared: &Document) -> Result<()> {
        let mut command = doc! { "create": &self.plan.collection };
        command.extend(declared.clone());
        let Err(error) = self.database.run_command(command).await else {
            return Ok(());
        };
        if error.code() != Some(code::NAMESPACE_EXISTS) {
            return Err(error.into());
        }
        let existing = list_collections(self.database, &[&self.plan.collection]).await?;
        match options::step(declared, existing.get(&self.plan.collection), &self.deployment) {
            Some(Step::KeepCollection) => Ok(()),
            _ => Err(SchemaError::ConcurrentChange {
                namespace: self.plan.namespace.clone(),
                source: error,
            }
            .into()),
        }
    }

    /// Creates indexes with one `createIndexes`, so that the server scans the collection once. Adds
    /// them to `created` when they exist.
    pub(super) async fn create(
        &self,
        specifications: &[&Document],
        created: &mut Vec<(String, String)>,
    ) -> Result<()> {
        if specifications.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = specifications.iter().map(|s| name_of(s).to_owned()).collect();
        let creation = self.begin_if_recorded(&names).await?;
        self.build(specifications, creation, created).await
    }

    /// Waits until other clients have built indexes. Returns those whose build has failed.
    ///
    /// # Errors
    /// [`SchemaError::BuildInProgress`] after the limit.
    pub(super) async fn await_builds<'s>(
        &self,
        specifications: &[&'s Document],
    ) -> Result<Vec<&'s Document>> {
        if specifications.is_empty() {
            return Ok(Vec::new());
        }
        let is_of = |listed: &Listed, s: &Document| listed.building.contains(name_of(s));
        let list = || Listed::of(self.database, &self.plan.collection, &self.deployment);
        let listed = repeat_within(self.build_wait, list, |listed| {
            listed
                .as_ref()
                .is_ok_and(|listed| specifications.iter().any(|s| is_of(listed, s)))
        })
        .await?;
        if let Some(building) = specifications.iter().find(|s| is_of(&listed, s)) {
            return Err(SchemaError::BuildInProgress {
                namespace: self.plan.namespace.clone(),
                prevented: format!("the creation of index `{}`", name_of(building)),
                building: listed.building.into_iter().collect(),
                waited: self.build_wait,
                source: None,
            }
            .into());
        }
        let exists = |s: &Document| {
            listed
                .specifications
                .iter()
                .any(|listed| name_of(listed) == name_of(s))
        };
        Ok(specifications.iter().copied().filter(|s| !exists(s)).collect())
    }

    /// Creates indexes whose creation has begun.
    async fn build(
        &self,
        specifications: &[&Document],
        creation: Option<Creation<'_>>,
        created: &mut Vec<(String, String)>,
    ) -> Result<()> {
        let models = specifications.iter().map(|specification| model(specification));
        let reply = self.collection().create_indexes(models).await;
        if let Err(error) = reply {
            if let Some(creation) = creation {
                creation.failed(&error).await;
            }
            return Err(self.failed_build(specifications, error).await);
        }
        created.extend(specifications.iter().map(|s| self.index(name_of(s))));
        if let Some(creation) = creation {
            creation.succeeded().await?;
        }
        Ok(())
    }

    async fn begin_if_recorded<'a>(&'a self, names: &'a [String]) -> Result<Option<Creation<'a>>> {
        if !self.record {
            return Ok(None);
        }
        Ok(Some(self.begin(Kind::Index, names).await?))
    }

    /// Records that the creation of indexes begins.
    pub(super) async fn begin<'a>(&'a self, kind: Kind, names: &'a [String]) -> Result<Creation<'a>> {
        Ok(Creation::begin(self.database, &self.plan.collection, kind, names).await?)
    }

    /// Confirms the records of indexes that other instances created, if they exist as they are
    /// declared.
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

    /// The error of `createIndexes`. A conflicting index was created after the plan was made.
    pub(super) async fn failed_build(&self, specifications: &[&Document], error: driver::Error) -> Error {
        if matches!(
            error.code(),
            Some(code::INDEX_OPTIONS_CONFLICT | code::INDEX_KEY_SPECS_CONFLICT)
        ) {
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
        let is_unique = |s: &&&Document| s.get("unique").is_some_and(is_truthy);
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
        self.run_coll_mod(&self.index_mod(name, options)).await
    }

    /// The command `collMod` with these options of an index.
    fn index_mod(&self, name: &str, options: Document) -> Document {
        let mut index = doc! { "name": name };
        index.extend(options);
        doc! { "collMod": &self.plan.collection, "index": index }
    }

    /// Sends a command `collMod`, again while an index of the collection is built.
    pub(super) async fn run_coll_mod(&self, command: &Document) -> Result<()> {
        self.run_coll_mod_within(self.build_wait, command).await
    }

    async fn run_coll_mod_within(&self, limit: Duration, command: &Document) -> Result<()> {
        let send = || self.database.run_command(command.clone()).into_future();
        let Err(error) = wait_for_builds(limit, send).await else {
            return Ok(());
        };
        let index = command.get_document("index").map(name_of);
        let prevented = match index {
            Ok(name) => format!("the change of index `{name}`"),
            Err(_) => "the change of the options".to_owned(),
        };
        Err(self.explained(error, prevented, limit).await)
    }

    /// The error of a command. If an index build has prevented it, the indexes that are being built
    /// are named.
    async fn explained(&self, error: driver::Error, prevented: String, waited: Duration) -> Error {
        if !is_prevented_by_build(&error) {
            return error.into();
        }
        // The error is reported also if the indexes cannot be listed.
        let listed = Listed::of(self.database, &self.plan.collection, &self.deployment).await;
        SchemaError::BuildInProgress {
            namespace: self.plan.namespace.clone(),
            prevented,
            building: listed.unwrap_or_default().building.into_iter().collect(),
            waited,
            source: Some(error),
        }
        .into()
    }

    /// The error of a drop of an index.
    async fn failed_drop(&self, name: &str, error: driver::Error) -> Error {
        if error.code() == Some(code::CANNOT_DROP_SHARD_KEY_INDEX) {
            let collection = self.collection();
            return SchemaError::ShardKeyIndex {
                namespace: self.plan.namespace.clone(),
                index: name.to_owned(),
                key: shard_key(collection.namespace(), self.database).await,
                source: error,
            }
            .into();
        }
        let prevented = format!("the drop of index `{name}`");
        self.explained(error, prevented, self.build_wait).await
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
                    let back = self.index_mod(name, doc! { "prepareUnique": false });
                    if self.run_coll_mod_within(REVERT_WAIT, &back).await.is_err() {
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
        // The server lists an index without a collation as it is, and not as one that inherits.
        self.check_unique(&with_simple_collation(existing)).await?;
        match self.coll_mod(name, IndexChange::Unique.options()).await {
            Err(Error::Driver(error)) if error.code() == Some(code::CANNOT_CONVERT_INDEX_TO_UNIQUE) => {
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
        if declared.get("unique").is_some_and(is_truthy) {
            // The existing index is not dropped for one that cannot be built.
            self.check_unique(declared).await?;
        }
        // The server permits neither two indexes of one name nor two with equal keys, and one text
        // index.
        let is_text = normalize(existing).is_text() && normalize(declared).is_text();
        let is_first = old != new && !is_text && differences.iter().any(|name| name == "key");
        if is_first {
            self.create(&[declared], &mut applied.created).await?;
            self.drop(old).await?;
            applied.dropped.push(self.index(old));
            self.forget(old).await?;
        } else {
            // An error of a record is one before the drop, so that the index is built again in any
            // case.
            let names = [new.to_owned()];
            let creation = self.begin_if_recorded(&names).await?;
            if let Err(error) = self.send_drop(old).await {
                if let Some(creation) = creation {
                    creation.failed(&error).await;
                }
                return Err(self.failed_drop(old, error).await);
            }
            applied.dropped.push(self.index(old));
            let built = self.build(&[declared], creation, &mut applied.created).await;
            let forgotten = if old == new {
                Ok(())
            } else {
                self.forget(old).await
            };
            built.and(forgotten)?;
        }
        // Both halves are done: they are one step.
        let (old, new) = (self.index(old), self.index(new));
        applied.dropped.retain(|index| *index != old);
        applied.created.retain(|index| *index != new);
        applied.rebuilt.push(new);
        Ok(())
    }

    /// Removes the record of a dropped index: an index of this name that another client creates
    /// later is not one of these.
    async fn forget(&self, name: &str) -> Result<()> {
        if self.record {
            record::dropped(self.database, &self.plan.collection, Kind::Index, name).await?;
        }
        Ok(())
    }

    pub(super) async fn drop(&self, name: &str) -> Result<()> {
        match self.send_drop(name).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.failed_drop(name, error).await),
        }
    }

    /// Drops an index, again while an index of the collection is built.
    async fn send_drop(&self, name: &str) -> driver::Result<()> {
        let collection = &self.collection();
        wait_for_builds(
            self.build_wait,
            || async move { collection.drop_index(name).await },
        )
        .await
    }
}

/// The index with this specification. Its options are sent as they are, also those that the driver
/// does not know.
fn model(specification: &Document) -> IndexModel {
    let mut model = IndexModel::new(specification.get_document("key").cloned().unwrap_or_default());
    for (name, value) in specification.iter().filter(|(name, _)| *name != "key") {
        model = if name == "name" {
            model.name(value.as_str().unwrap_or_default())
        } else {
            model.other(name, value.clone())
        };
    }
    model
}

pub(super) fn name_of(specification: &Document) -> &str {
    specification.get_str("name").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_the_driver_does_not_know_are_sent() {
        let specification = doc! { "key": { "a": 1 }, "name": "x", "sparse": 1, "prepareUnique": true };
        let model = model(&specification);
        assert_eq!(
            (model.keys, model.options.name.as_deref()),
            (doc! { "a": 1 }, Some("x"))
        );
        assert_eq!(model.options.other, doc! { "sparse": 1, "prepareUnique": true });
    }
}

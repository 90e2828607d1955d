//! Search indexes: lists, creates, updates and drops them, and waits until queries can use them.

use std::time::{Duration, Instant};

use crate::{
    base::{
        bson::{Document, doc},
        error::{Applied, Result, SchemaError},
    },
    driver::{self, SearchIndexModel, error::code},
    models::index::{SearchIndexDeclaration, SearchIndexKind},
    schema::{
        Schema, SchemaPlan, Step,
        apply::Apply,
        record::{self, Kind, Recorded},
        search_plan::{self, Listed, is_unsupported},
        target::Target,
    },
};

/// The pause between two lists of search indexes.
const PAUSE: Duration = Duration::from_millis(500);
/// How long a search index is waited for that is dropped to be created again with another type.
const DROP_LIMIT: Duration = Duration::from_secs(120);

/// What [`Schema::search`] does about declared search indexes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SearchMode {
    /// They are planned and applied. A deployment without search is
    /// [`SchemaError::SearchUnsupported`].
    #[default]
    Required,
    /// They are planned and applied, and skipped on a deployment without search, such as in
    /// development; the plan contains them as [`Step::SkipSearchIndex`].
    Optional,
    /// They are ignored, and nothing is sent for them.
    Off,
}

/// The search indexes of a collection. A collection that does not exist has none.
async fn list(collection: &driver::Collection<Document>) -> driver::Result<Vec<Listed>> {
    let listed = async {
        let listing = collection.list_search_indexes(None).with_type::<Document>();
        listing.await?.try_collect().await
    };
    match listed.await {
        Ok(listed) => Ok(listed.iter().map(Listed::of).collect()),
        Err(error) if error.code() == Some(code::NAMESPACE_NOT_FOUND) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

impl Schema {
    /// The steps for the search indexes of a collection.
    pub(super) async fn search_steps(
        &self,
        collection: &driver::Collection<Document>,
        declared: &[SearchIndexDeclaration],
        recorded: &Recorded,
    ) -> Result<Vec<Step>> {
        if self.search == SearchMode::Off || (declared.is_empty() && recorded.is_empty()) {
            return Ok(Vec::new());
        }
        match list(collection).await {
            Ok(listed) => Ok(search_plan::steps(declared, &listed, recorded)),
            Err(error) if is_unsupported(&error) => {
                let names = declared.iter().map(|index| index.index_name().to_owned());
                if self.search == SearchMode::Optional || declared.is_empty() {
                    return Ok(names.map(|name| Step::SkipSearchIndex { name }).collect());
                }
                Err(SchemaError::SearchUnsupported {
                    namespace: collection.namespace().to_string(),
                    indexes: names.collect(),
                    source: error,
                }
                .into())
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Target<'_> {
    /// Takes the steps for search indexes.
    pub(super) async fn apply_search(&self, apply: &Apply, applied: &mut Applied) -> Result<()> {
        for step in &self.plan.steps {
            match step {
                Step::CreateSearchIndex {
                    name,
                    kind,
                    definition,
                } => {
                    self.create_search(name, *kind, definition, applied).await?;
                }
                step if !apply.changes(step) => {}
                Step::UpdateSearchIndex { name, declared, .. } => {
                    let collection = self.collection();
                    collection.update_search_index(name, declared).await?;
                    applied.updated_search.push(self.index(name));
                }
                Step::SearchIndexConflict {
                    name, kind, declared, ..
                } => {
                    self.collection().drop_search_index(name).await?;
                    applied.dropped_search.push(self.index(name));
                    self.wait_for_drop(name).await?;
                    self.create_search(name, *kind, declared, applied).await?;
                }
                Step::ObsoleteSearchIndex {
                    name,
                    undeclared_since: None,
                    ..
                } if apply.drop_obsolete != Some(Duration::ZERO) => {
                    record::hidden(self.database, &self.plan.collection, Kind::Search, name).await?;
                }
                Step::ObsoleteSearchIndex { name, .. } => {
                    self.collection().drop_search_index(name).await?;
                    applied.dropped_search.push(self.index(name));
                    record::dropped(self.database, &self.plan.collection, Kind::Search, name).await?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Creates a search index. Not an error if another client has created an equal one since the
    /// plan was made.
    async fn create_search(
        &self,
        name: &str,
        kind: SearchIndexKind,
        definition: &Document,
        applied: &mut Applied,
    ) -> Result<()> {
        if !self.record {
            self.send_search(name, kind, definition).await?;
            applied.created_search.push(self.index(name));
            return Ok(());
        }
        let names = [name.to_owned()];
        let creation = self.begin(Kind::Search, &names).await?;
        let created = self.send_search(name, kind, definition).await;
        if let Err(error) = created {
            if let Some(error) = error.driver() {
                creation.failed(error).await;
            }
            return Err(error);
        }
        applied.created_search.push(self.index(name));
        Ok(creation.succeeded().await?)
    }

    async fn send_search(&self, name: &str, kind: SearchIndexKind, definition: &Document) -> Result<()> {
        let collection = self.collection();
        let model = SearchIndexModel::new(definition.clone())
            .name(name)
            .kind(kind.as_str());
        let mut created = collection.create_search_index(model.clone()).await;
        if created
            .as_ref()
            .is_err_and(|e| e.code() == Some(code::NAMESPACE_NOT_FOUND))
        {
            match self
                .database
                .run_command(doc! { "create": &self.plan.collection })
                .await
            {
                Err(error) if error.code() != Some(code::NAMESPACE_EXISTS) => return Err(error.into()),
                _ => created = collection.create_search_index(model).await,
            }
        }
        let Err(error) = created else {
            return Ok(());
        };
        if error.code() != Some(code::INDEX_ALREADY_EXISTS) {
            return Err(error.into());
        }
        let listed = list(&collection).await?;
        let is_equal = listed
            .iter()
            .any(|index| index.name == name && search_plan::is_equal(index, kind, definition));
        if is_equal {
            return Ok(());
        }
        Err(SchemaError::ConcurrentChange {
            namespace: self.plan.namespace.clone(),
            source: error,
        }
        .into())
    }

    /// Waits until a search index that was dropped is no longer listed.
    async fn wait_for_drop(&self, name: &str) -> Result<()> {
        let began = Instant::now();
        loop {
            let listed = list(&self.collection()).await?;
            let Some(index) = listed.into_iter().find(|index| index.name == name) else {
                return Ok(());
            };
            if began.elapsed() >= DROP_LIMIT {
                return Err(SchemaError::SearchIndexTimeout {
                    pending: vec![(self.plan.namespace.clone(), index.name, index.status)],
                    waited: began.elapsed(),
                }
                .into());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl SchemaPlan {
    /// Waits until queries can use the declared search indexes with their declared definitions,
    /// except for those that are skipped, or that differ and are not changed.
    pub(super) async fn wait_for_search(&self, apply: &Apply, limit: Duration) -> Result<()> {
        let declared = self.schema.declarations.collections()?;
        let mut expected = Vec::new();
        for plan in &self.collections {
            let is_left = |index: &SearchIndexDeclaration| {
                plan.steps.iter().any(|step| match step {
                    Step::SkipSearchIndex { name } => name == index.index_name(),
                    Step::UpdateSearchIndex { name, .. } | Step::SearchIndexConflict { name, .. } => {
                        name == index.index_name() && !apply.changes(step)
                    }
                    _ => false,
                })
            };
            let Some(declared) = declared.get(&plan.collection) else {
                continue;
            };
            let mut indexes = declared.search_indexes();
            indexes.retain(|index| !is_left(index));
            if !indexes.is_empty() && self.schema.search != SearchMode::Off {
                expected.push((plan, indexes));
            }
        }
        let began = Instant::now();
        loop {
            let mut pending = Vec::new();
            for (plan, indexes) in &expected {
                let collection = self.schema.database.collection(&plan.collection);
                let listed = list(&collection).await?;
                for index in indexes {
                    let found = listed.iter().find(|listed| listed.name == index.index_name());
                    if found.is_some_and(|listed| listed.is_ready(index)) {
                        continue;
                    }
                    if let Some(failed) = found.filter(|listed| listed.status == "FAILED") {
                        return Err(SchemaError::SearchIndexFailed {
                            namespace: plan.namespace.clone(),
                            index: failed.name.clone(),
                            message: failed.message.clone().unwrap_or_default(),
                        }
                        .into());
                    }
                    let status = found.map_or("MISSING", |listed| listed.status.as_str());
                    let (namespace, name) = (plan.namespace.clone(), index.index_name().to_owned());
                    pending.push((namespace, name, status.to_owned()));
                }
            }
            let waited = began.elapsed();
            if pending.is_empty() {
                return Ok(());
            }
            if waited >= limit {
                return Err(SchemaError::SearchIndexTimeout { pending, waited }.into());
            }
            tokio::time::sleep(PAUSE.min(limit - waited)).await;
        }
    }
}

//! Applies plans.

use std::time::Duration;

use crate::{
    base::{
        bson::{DateTime, doc},
        error::{Applied, Error, Result, SchemaError},
    },
    schema::{
        CollectionPlan, SchemaPlan, Step,
        deployment::Feature,
        lease::{Lease, SHORTEST},
        options, record,
        target::Target,
    },
};

/// The options of [`SchemaPlan::apply`]: which steps of a plan are taken. Created by
/// [`additive`](Apply::additive) or [`full`](Apply::full).
#[derive(Clone, Debug)]
#[must_use]
pub struct Apply {
    pub(super) allow_conflicts: bool,
    pub(super) coll_mod: bool,
    pub(super) rebuild: bool,
    pub(super) drop_obsolete: Option<Duration>,
    record: bool,
    lease: Duration,
    lease_wait: Duration,
    pub(super) search_wait: Option<Duration>,
}

impl Apply {
    /// Creates missing collections and indexes; changes and drops none. A plan that changes an
    /// existing one is rejected before anything is written. Waits for at most
    /// [`lease_wait`](Apply::lease_wait) for the end of index builds of other clients, if the
    /// indexes are declared.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let plan = db.schema().register::<Order>().plan().await?;
    /// let applied = plan.apply(Apply::additive()).await?;
    /// assert_eq!(applied.created[0].1, "customer_1_created_at_-1");
    /// # Ok(()) });
    /// ```
    pub fn additive() -> Self {
        Apply {
            allow_conflicts: false,
            coll_mod: false,
            rebuild: false,
            drop_obsolete: None,
            record: true,
            lease: Duration::from_secs(30),
            lease_wait: Duration::from_secs(120),
            search_wait: None,
        }
    }

    /// Takes all steps: creates collections and indexes, changes their options, rebuilds indexes,
    /// hides obsolete ones, and drops those that have been hidden for a week. Unknown indexes are
    /// kept. A collection whose options cannot be changed is an error.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let applied = db.schema().register::<Order>().plan().await?.apply(Apply::full()).await?;
    /// println!("{applied}");
    /// # Ok(()) });
    /// ```
    pub fn full() -> Self {
        Self::additive()
            .coll_mod(true)
            .rebuild(true)
            .drop_obsolete(Duration::from_secs(7 * 86_400))
    }

    /// Whether to change options of existing indexes that the server can change without building
    /// them again (`expireAfterSeconds`, `hidden`, and to `unique`), and options of existing
    /// collections: validators, pre- and post-images (MongoDB 6.0+), expiration, a coarser
    /// granularity of a time series, the size of a capped collection (MongoDB 6.0+), the pipeline
    /// of a view, further fields of a shard key (MongoDB 4.4+); and the definitions of search indexes, which the server builds again in the
    /// background. Default: `false`.
    ///
    /// An index must be built again, and conflicts with the declared one, if the server is older
    /// than the change: `unique` needs MongoDB 6.0, `expireAfterSeconds` of an index that has none
    /// MongoDB 5.1. With the strict Stable API, indexes cannot be changed to `unique`, and images
    /// not changed at all. If the members of the deployment have several versions, the oldest
    /// decides. `featureCompatibilityVersion` is not considered: if it is lower than the version of
    /// the servers, the server may refuse a change, which is an error.
    ///
    /// While an index of the collection is built, such as by a rolling build, the server refuses
    /// these changes: they are sent again for at most [`lease_wait`](Apply::lease_wait).
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let apply = Apply::additive().coll_mod(true);
    /// db.schema().register::<Order>().plan().await?.apply(apply).await?;
    /// # Ok(()) });
    /// ```
    pub fn coll_mod(mut self, yes: bool) -> Self {
        self.coll_mod = yes;
        self
    }

    /// Whether to drop and build again an index that conflicts with the declared one. Queries do
    /// not have the index meanwhile, unless keys and names differ: then the new one is built first.
    /// Default: `false`.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let apply = Apply::additive().rebuild(true);
    /// db.schema().register::<Order>().plan().await?.apply(apply).await?;
    /// # Ok(()) });
    /// ```
    pub fn rebuild(mut self, yes: bool) -> Self {
        self.rebuild = yes;
        self
    }

    /// Hides obsolete indexes (MongoDB 4.4+), and drops them `after` this time: until then a hidden
    /// index can be shown again at once by declaring it. Zero drops them without hiding. Default:
    /// they are kept. MongoDB 4.2 cannot hide indexes: they are dropped this time after they were
    /// found, and queries use them until then.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// use std::time::Duration;
    /// let apply = Apply::full().drop_obsolete(Duration::from_secs(60));
    /// db.schema().register::<Order>().plan().await?.apply(apply).await?;
    /// # Ok(()) });
    /// ```
    pub fn drop_obsolete(mut self, after: Duration) -> Self {
        self.drop_obsolete = Some(after);
        self
    }

    /// Whether to leave existing collections and indexes that differ from the declared ones as they
    /// are, and take the other steps, instead of rejecting the plan. Default: `false`.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let apply = Apply::additive().allow_conflicts(true);
    /// db.schema().register::<Order>().plan().await?.apply(apply).await?;
    /// # Ok(()) });
    /// ```
    pub fn allow_conflicts(mut self, yes: bool) -> Self {
        self.allow_conflicts = yes;
        self
    }

    /// Whether to record created indexes in the collection `marula_schema`, so that they can be
    /// recognized as [obsolete](Step::Obsolete) later. Default: `true`.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let apply = Apply::additive().record(false);
    /// db.schema().register::<Order>().plan().await?.apply(apply).await?;
    /// # Ok(()) });
    /// ```
    pub fn record(mut self, yes: bool) -> Self {
        self.record = yes;
        self
    }

    /// How long the lease of an instance that ended without giving it back prevents others from
    /// changing indexes. At least 1 s: a shorter time is taken for 1 s. In a sharded cluster it
    /// must be longer than the clocks of the mongos differ. Default: 30 s.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// use std::time::Duration;
    /// let apply = Apply::full().lease(Duration::from_secs(60));
    /// db.schema().register::<Order>().plan().await?.apply(apply).await?;
    /// # Ok(()) });
    /// ```
    pub fn lease(mut self, validity: Duration) -> Self {
        self.lease = validity.max(SHORTEST);
        self
    }

    /// How long to wait while another instance changes indexes; for each collection, while another
    /// client builds indexes that are declared; and, for each change of a collection or an index
    /// and each drop of an index, while another index of the collection is built. Then
    /// [`SchemaError::LeaseTimeout`] or [`SchemaError::BuildInProgress`] is the error. Default: 2
    /// minutes.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// use std::time::Duration;
    /// let apply = Apply::full().lease_wait(Duration::from_secs(60));
    /// db.schema().register::<Order>().plan().await?.apply(apply).await?;
    /// # Ok(()) });
    /// ```
    pub fn lease_wait(mut self, limit: Duration) -> Self {
        self.lease_wait = limit;
        self
    }

    /// How long to wait until queries can use all declared search indexes, with their declared
    /// definitions. Default: no wait.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// use std::time::Duration;
    /// let apply = Apply::additive().wait_for_search(Duration::from_secs(300));
    /// db.schema().register::<Order>().plan().await?.apply(apply).await?;
    /// # Ok(()) });
    /// ```
    pub fn wait_for_search(mut self, limit: Duration) -> Self {
        self.search_wait = Some(limit);
        self
    }

    /// Whether the step is taken, and is not a creation. Only one instance at a time takes such
    /// steps.
    pub(super) fn changes(&self, step: &Step) -> bool {
        match step {
            Step::Modify { .. }
            | Step::ModifyCollection { .. }
            | Step::RefineShardKey { .. }
            | Step::UpdateSearchIndex { .. } => self.coll_mod,
            Step::Conflict { .. } | Step::SearchIndexConflict { .. } => self.rebuild,
            Step::Obsolete { hidden_at: since, .. }
            | Step::ObsoleteSearchIndex {
                undeclared_since: since,
                ..
            } => match (self.drop_obsolete, since) {
                (None, _) => false,
                (Some(Duration::ZERO), _) | (_, None) => true,
                (Some(after), Some(since)) => has_passed(after, *since),
            },
            Step::CreateCollection { .. }
            | Step::KeepCollection
            | Step::CollectionConflict { .. }
            | Step::UnsupportedCollectionChange { .. }
            | Step::Unsupported { .. }
            | Step::EncryptedFieldsConflict { .. }
            | Step::ShardCollection { .. }
            | Step::KeepShardKey { .. }
            | Step::ShardKeyConflict { .. }
            | Step::Create { .. }
            | Step::Building { .. }
            | Step::Keep { .. }
            | Step::Unknown { .. }
            | Step::CreateSearchIndex { .. }
            | Step::KeepSearchIndex { .. }
            | Step::UnknownSearchIndex { .. }
            | Step::SkipSearchIndex { .. } => false,
        }
    }

    /// What the deployment does not support, or else the first difference between what exists and
    /// what is declared that may not be changed.
    fn refused(&self, plan: &SchemaPlan) -> Option<SchemaError> {
        if let Some(unsupported) = plan.unsupported() {
            return Some(unsupported);
        }
        // A field that is encrypted in the model and not in the collection would be stored as a
        // plain value.
        let is_allowed =
            |step: &Step| self.allow_conflicts && !matches!(step, Step::EncryptedFieldsConflict { .. });
        plan.steps()
            .filter(|(_, step)| !self.changes(step) && !is_allowed(step))
            .find_map(|(collection, step)| step.difference(collection))
    }
}

fn has_passed(time: Duration, since: DateTime) -> bool {
    let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    DateTime::now()
        .timestamp_millis()
        .saturating_sub(since.timestamp_millis())
        >= millis
}

/// An error after some steps, with what was done.
fn partly(applied: Applied, error: Error) -> Error {
    if applied.is_empty() {
        return error;
    }
    let (applied, source) = (Box::new(applied), Box::new(error));
    SchemaError::PartlyApplied { applied, source }.into()
}

impl SchemaPlan {
    /// Takes the steps of the plan that `apply` allows. If there are none, nothing is written.
    ///
    /// Missing indexes are created with one `createIndexes` for each collection. Several instances
    /// of an application may do so concurrently: an equal index that was created in the meantime is
    /// not an error. Encrypted collections are created, collections are sharded, and changes, rebuilds and drops are made by
    /// one instance at a time, which holds a lease in the collection `marula_schema`: the others
    /// wait, then make a new plan and apply what is left of it.
    ///
    /// If the future is dropped, some of the steps may have been taken, and the lease expires after
    /// [`Apply::lease`]. A new plan contains the other steps.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let plan = db.schema().register::<Order>().plan().await?;
    /// println!("{plan}"); // look at it, or ask a person
    /// let applied = plan.apply(Apply::additive()).await?;
    /// assert_eq!(applied.created.len(), 1);
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// - [`Error::Schema`] with [`CollectionConflict`](SchemaError::CollectionConflict),
    ///   [`EncryptedFieldsConflict`](SchemaError::EncryptedFieldsConflict),
    ///   [`OptionsConflict`](SchemaError::OptionsConflict) or
    ///   [`KeySpecsConflict`](SchemaError::KeySpecsConflict) for an existing collection or index
    ///   that differs and may not be changed, and
    ///   [`ShardKeyConflict`](SchemaError::ShardKeyConflict) for a shard key: nothing was done;
    /// - [`Unsupported`](SchemaError::Unsupported) for all declarations that the server refuses
    ///   because of its version: nothing was done;
    /// - [`Duplicates`](SchemaError::Duplicates) if existing documents violate a unique index;
    /// - [`SearchIndexFailed`](SchemaError::SearchIndexFailed) and
    ///   [`SearchIndexTimeout`](SchemaError::SearchIndexTimeout) for search indexes that queries
    ///   cannot use after [`Apply::wait_for_search`];
    /// - [`LeaseTimeout`](SchemaError::LeaseTimeout) if another instance changes indexes for too
    ///   long, and [`BuildInProgress`](SchemaError::BuildInProgress) if another client builds an
    ///   index for too long;
    /// - [`PartlyApplied`](SchemaError::PartlyApplied) for an error after the first step: it lists
    ///   what was done, and its source is one of the other errors;
    /// - [`Error::Driver`] for other errors of the driver.
    pub async fn apply(&self, apply: Apply) -> Result<Applied> {
        if let Some(refused) = apply.refused(self) {
            return Err(refused.into());
        }
        let applied = self.apply_steps(&apply).await?;
        let Some(limit) = apply.search_wait else {
            return Ok(applied);
        };
        match self.wait_for_search(&apply, limit).await {
            Ok(()) => Ok(applied),
            Err(error) => Err(partly(applied, error)),
        }
    }

    async fn apply_steps(&self, apply: &Apply) -> Result<Applied> {
        let mut applied = Applied::default();
        // The data keys of a collection are created once.
        let is_exclusive = |step: &Step| {
            apply.changes(step) || step.creates_data_keys() || matches!(step, Step::ShardCollection { .. })
        };
        let taken = if self.steps().any(|(_, step)| is_exclusive(step)) {
            let lease = Lease::acquire(self.schema.database(), apply.lease, apply.lease_wait).await?;
            let work = async {
                // The preceding holder may have taken the same steps.
                let plan = self.schema.clone().plan().await?;
                match apply.refused(&plan) {
                    Some(refused) => Err(refused.into()),
                    None => plan.run(apply, &mut applied).await,
                }
            };
            lease.hold(work).await
        } else {
            self.run(apply, &mut applied).await
        };
        match taken {
            Ok(()) => Ok(applied),
            Err(error) => Err(partly(applied, error)),
        }
    }

    /// Takes the steps, and adds each to `applied` when it is taken.
    async fn run(&self, apply: &Apply, applied: &mut Applied) -> Result<()> {
        for collection in &self.collections {
            self.run_steps(collection, apply, applied).await?;
        }
        Ok(())
    }

    async fn run_steps(&self, plan: &CollectionPlan, apply: &Apply, applied: &mut Applied) -> Result<()> {
        let target = Target {
            database: self.schema.database(),
            plan,
            deployment: self.deployment,
            record: apply.record,
            build_wait: apply.lease_wait,
        };
        if let Some(Step::CreateCollection { options }) = plan.steps.first() {
            self.create_collection(&target, options).await?;
            applied.created_collections.push(plan.namespace.clone());
        }
        let (mut missing, mut building) = (Vec::new(), Vec::new());
        for step in &plan.steps {
            match step {
                Step::Create { specification, .. } => missing.push(specification),
                Step::Building { specification, .. } => building.push(specification),
                _ => {}
            }
        }
        target.create(&missing, &mut applied.created).await?;
        let failed = target.await_builds(&building).await?;
        target.create(&failed, &mut applied.created).await?;
        if apply.record
            && let Some(unconfirmed) = self.unconfirmed.get(&plan.collection)
        {
            target.confirm(unconfirmed).await?;
        }
        for step in &plan.steps {
            if let Step::ShardCollection { key, unique } = step {
                target.shard(key, *unique).await?;
                applied.sharded_collections.push(plan.namespace.clone());
            }
        }
        for step in plan.steps.iter().filter(|step| apply.changes(step)) {
            target.change(step, apply, applied).await?;
        }
        target.apply_search(apply, applied).await
    }
}

impl Target<'_> {
    /// Takes a step that is not a creation, and does not concern a search index.
    async fn change(&self, step: &Step, apply: &Apply, applied: &mut Applied) -> Result<()> {
        let collection = &self.plan.collection;
        match step {
            Step::ModifyCollection {
                existing,
                declared,
                differences,
            } => {
                for command in options::coll_mods(collection, existing, declared, differences) {
                    self.run_coll_mod(&command).await?;
                }
                applied.modified_collections.push(self.plan.namespace.clone());
            }
            Step::RefineShardKey { declared, .. } => {
                self.refine_shard_key(declared).await?;
                applied.refined_shard_keys.push(self.plan.namespace.clone());
            }
            Step::Modify {
                name,
                existing,
                changes,
                ..
            } => self.modify(name, existing, changes, applied).await?,
            Step::Conflict {
                existing,
                declared,
                differences,
                ..
            } => self.rebuild(existing, declared, differences, applied).await?,
            Step::Obsolete {
                name,
                hidden_at: None,
                ..
            } if apply.drop_obsolete != Some(Duration::ZERO) => {
                if self.deployment.has(Feature::HIDDEN) {
                    self.coll_mod(name, doc! { "hidden": true }).await?;
                    applied.hidden.push(self.index(name));
                }
                record::hidden(self.database, collection, record::Kind::Index, name).await?;
            }
            Step::Obsolete { name, .. } => {
                self.drop(name).await?;
                applied.dropped.push(self.index(name));
                record::dropped(self.database, collection, record::Kind::Index, name).await?;
            }
            // Search indexes follow.
            _ => {}
        }
        Ok(())
    }
}

//! Schemas: the indexes that registered models declare, a plan to create them, and its application.
//!
//! A plan compares the declared indexes with the existing ones. It contains one [`Step`] for each
//! index: create, keep, conflict or unknown. Applying it creates missing indexes; existing indexes
//! are neither changed nor dropped.
//!
//! ```no_run
//! # use marula::{Model, schema::Apply};
//! # async fn run<Order: Model, Customer: Model>(db: marula::Database) -> marula::Result<()> {
//! let plan = db.schema().register::<Order>().register::<Customer>().plan().await?;
//! println!("{plan}");
//! plan.apply(Apply::additive()).await?;
//! # Ok(()) }
//! ```

use std::fmt;
use std::ops::Deref;

use crate::bson::{Document, from_document};
use crate::driver::{self, IndexModel};
use crate::error::{Error, Result, SchemaError};
use crate::model::Model;

mod declared;
mod plan;

use declared::Declarations;
pub use plan::{CollectionPlan, Plan, Step};

/// The registered models of a database.
#[derive(Clone, Debug)]
#[must_use = "a schema does nothing until a plan is made and applied"]
pub struct Schema {
    database: driver::Database,
    declarations: Declarations,
}

impl Schema {
    pub(crate) fn new(database: driver::Database) -> Self {
        Schema {
            database,
            declarations: Declarations::default(),
        }
    }

    /// Adds the indexes that a model declares to its collection, [`Model::COLLECTION`]. Several
    /// models can be registered for one collection; an index that two of them declare equally is
    /// created once. Errors in declarations are returned by [`plan`](Schema::plan).
    pub fn register<D: Model>(self) -> Self {
        self.register_named::<D>(D::COLLECTION)
    }

    /// As [`register`](Schema::register), for a collection of another name.
    pub fn register_named<D: Model>(mut self, collection: &str) -> Self {
        self.declarations.add::<D>(self.database.name(), collection);
        self
    }

    /// Compares the declared indexes with the existing ones, with one `listIndexes` for each
    /// collection. Writes nothing. A collection that does not exist has no indexes.
    ///
    /// # Errors
    /// [`Error::Schema`] for declarations that are invalid or conflict with one another;
    /// [`Error::Driver`] for errors of the driver. A conflict with an existing index is not an
    /// error here, see [`Plan::conflict`].
    pub async fn plan(self) -> Result<SchemaPlan> {
        let mut plan = Plan::default();
        for (collection, declared) in self.declarations.collections()? {
            let handle = self.database.collection::<Document>(collection);
            let listed = handle
                .list_indexes()
                .with_type::<Document>()
                .await?
                .try_collect()
                .await?;
            let namespace = format!("{}.{collection}", self.database.name());
            plan.collections
                .push(plan::compare(&namespace, collection, declared, &listed));
        }
        Ok(SchemaPlan {
            plan,
            database: self.database,
        })
    }
}

/// A [`Plan`] and the database it applies to. `Display` prints the plan.
#[derive(Clone, Debug)]
#[must_use = "a plan does nothing until it is applied"]
pub struct SchemaPlan {
    plan: Plan,
    database: driver::Database,
}

impl Deref for SchemaPlan {
    type Target = Plan;
    fn deref(&self) -> &Plan {
        &self.plan
    }
}

impl fmt::Display for SchemaPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}

/// The options of [`SchemaPlan::apply`]. Created by [`additive`](Apply::additive).
#[derive(Clone, Debug)]
#[must_use]
pub struct Apply {
    allow_conflicts: bool,
}

impl Apply {
    /// Creates missing indexes; changes and drops none. A plan with a conflict is rejected before
    /// anything is written.
    pub fn additive() -> Self {
        Apply {
            allow_conflicts: false,
        }
    }

    /// Whether to create the missing indexes although other indexes conflict with existing ones,
    /// which stay as they are. Default: `false`.
    pub fn allow_conflicts(mut self, yes: bool) -> Self {
        self.allow_conflicts = yes;
        self
    }
}

/// The result of [`SchemaPlan::apply`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// The created indexes, each as `database.collection` and index name. They include those that
    /// another client created after the plan was made.
    pub created: Vec<(String, String)>,
}

impl SchemaPlan {
    /// Creates the missing indexes, with one `createIndexes` for each collection. If there are
    /// none, nothing is sent. Several instances of an application may apply the same plan
    /// concurrently: an equal index that was created in the meantime is not an error.
    ///
    /// After an error, or if the future is dropped, some of the indexes may have been created; a
    /// new plan contains the others.
    ///
    /// # Errors
    /// [`Error::Schema`] for a conflict in the plan, or with an index that was created after the
    /// plan was made; [`Error::Duplicate`] if existing documents violate a unique index;
    /// [`Error::Driver`] for other errors of the driver.
    pub async fn apply(&self, apply: Apply) -> Result<Applied> {
        if let Some(conflict) = self.plan.conflict().filter(|_| !apply.allow_conflicts) {
            return Err(conflict.into());
        }
        let mut applied = Applied::default();
        for collection in &self.plan.collections {
            let created = self.create(collection).await?;
            applied.created.extend(
                created
                    .into_iter()
                    .map(|name| (collection.namespace.clone(), name)),
            );
        }
        Ok(applied)
    }

    /// Creates the missing indexes of a collection with one `createIndexes`, so that the server
    /// scans the collection once.
    async fn create(&self, collection: &CollectionPlan) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let mut models = Vec::new();
        for step in &collection.steps {
            if let Step::Create { name, specification } = step {
                names.push(name.clone());
                models.push(from_document::<IndexModel>(specification).map_err(driver::Error::from)?);
            }
        }
        if names.is_empty() {
            return Ok(names);
        }
        let handle = self.database.collection::<Document>(&collection.collection);
        match handle.create_indexes(models).await {
            Ok(_) => Ok(names),
            Err(e) => Err(conflict(collection, &e).map_or_else(|| e.into(), Error::from)),
        }
    }
}

/// The conflict that the server reports as 85 IndexOptionsConflict or 86 IndexKeySpecsConflict: the
/// conflicting index was created after the plan was made.
fn conflict(collection: &CollectionPlan, e: &driver::Error) -> Option<SchemaError> {
    let namespace = collection.namespace.clone();
    let source = e.clone();
    match e.code() {
        Some(85 | 86) => Some(SchemaError::ConcurrentChange { namespace, source }),
        _ => None,
    }
}

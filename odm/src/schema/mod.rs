//! Schemas: the indexes that registered models declare, a plan to create them, and its application.
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

/// The models of a database.
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

    /// Adds a model.
    pub fn register<D: Model>(self) -> Self {
        self.register_named::<D>(D::COLLECTION)
    }

    /// Adds a model whose documents are in a collection of another name.
    pub fn register_named<D: Model>(mut self, collection: &str) -> Self {
        self.declarations.add::<D>(self.database.name(), collection);
        self
    }

    /// Compares what is declared with what the server has. Reads only.
    ///
    /// # Errors
    /// [`Error::Schema`] for declarations that contradict one another or that no server accepts; what the driver reports.
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

/// A [`Plan`] with the database it was made for. `Display` prints it.
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

/// What a plan may do.
#[derive(Clone, Debug)]
#[must_use]
pub struct Apply {
    allow_conflicts: bool,
}

impl Apply {
    /// Creates what is missing; changes and drops nothing. A plan with a conflict is refused before anything is written.
    pub fn additive() -> Self {
        Apply {
            allow_conflicts: false,
        }
    }

    /// Whether to create what is missing even though other indexes are in conflict. Default: no.
    pub fn allow_conflicts(mut self, yes: bool) -> Self {
        self.allow_conflicts = yes;
        self
    }
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// The indexes created, each as `database.collection` and name.
    pub created: Vec<(String, String)>,
}

impl SchemaPlan {
    /// Does what the plan says, as far as it is allowed. An empty plan writes nothing. Several replicas of an application
    /// may do it at once: an index that exists by then is no error.
    ///
    /// Dropped while it waits, some of the indexes may have been created; a new plan has the rest.
    ///
    /// # Errors
    /// [`Error::Schema`] for a conflict, in the plan or come up since; [`Error::Duplicate`] when a unique index cannot be
    /// built over the documents there are; what the driver reports.
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

    /// Creates the missing indexes of a collection in one command, so that its documents are read once.
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

/// The conflict that a server reports: it came up after the plan was made.
fn conflict(collection: &CollectionPlan, e: &driver::Error) -> Option<SchemaError> {
    let namespace = collection.namespace.clone();
    let source = e.clone();
    match e.code() {
        Some(85 | 86) => Some(SchemaError::Raced { namespace, source }),
        _ => None,
    }
}

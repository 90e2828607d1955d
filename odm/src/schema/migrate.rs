//! [`Schema::migrate`]: upgrades the stored documents of all registered models.

use std::pin::Pin;

use crate::{
    base::error::Result,
    driver,
    models::model::Model,
    query::{
        handle::Collection,
        write::migrate::{Migrate, MigrateOptions, Migration, migrate_setters},
    },
    schema::Schema,
};

/// The migration of one collection.
type Running<'a> = Pin<Box<dyn Future<Output = Result<Migration>> + Send + 'a>>;
/// What is called after each batch, with the collection.
type Progress<'a> = Box<dyn FnMut(&str, &Migration) + Send + 'a>;
/// The migration of a collection of one model.
type Run = for<'a> fn(
    &'a driver::Database,
    &'a str,
    MigrateOptions,
    &'a mut (dyn FnMut(&Migration) + Send),
) -> Running<'a>;

/// A registered model whose documents have a version.
#[derive(Clone, Debug)]
pub(super) struct Versions {
    collection: String,
    run: Run,
}

impl Versions {
    /// The migration of a model. `None` if its documents have no version.
    pub(super) fn of<D: Model>(collection: &str) -> Option<Self> {
        D::BEHAVIOR.schema?;
        Some(Versions {
            collection: collection.to_owned(),
            run: run::<D>,
        })
    }
}

fn run<'a, D: Model>(
    database: &'a driver::Database,
    collection: &'a str,
    options: MigrateOptions,
    progress: &'a mut (dyn FnMut(&Migration) + Send),
) -> Running<'a> {
    let collection =
        Collection::<D>::from_driver(&database.collection::<crate::base::bson::Document>(collection));
    let migrate = Migrate::new(collection).with_options(options);
    migrate.on_progress(progress).into_future()
}

impl Schema {
    /// Upgrades the stored documents of the registered models whose documents have a
    /// [version](crate::Versioned), one collection after the other. See
    /// [`Collection::migrate`](crate::Collection::migrate).
    ///
    /// ```no_run
    /// # use marula::Model;
    /// # async fn run<Order: Model, Customer: Model>(db: marula::Database) -> marula::Result<()> {
    /// let schema = db.schema().register::<Order>().register::<Customer>();
    /// for (namespace, migration) in schema.migrate().await? {
    ///     println!("{namespace}: {migration}");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn migrate<'a>(self) -> MigrateSchema<'a> {
        MigrateSchema {
            schema: self,
            options: MigrateOptions::default(),
            progress: None,
        }
    }
}

/// Upgrades the documents of several collections. Output: what was done in each, by
/// `database.collection`. See [`Schema::migrate`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct MigrateSchema<'a> {
    schema: Schema,
    options: MigrateOptions,
    progress: Option<Progress<'a>>,
}

impl<'a> MigrateSchema<'a> {
    migrate_setters!();

    /// Calls a function after each batch, with `database.collection` and what was done in it until
    /// then. Default: none.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let migrating = db.schema().register::<Order>().migrate();
    /// migrating.on_progress(|namespace, progress| println!("{namespace}: {progress}")).await?;
    /// # Ok(()) });
    /// ```
    pub fn on_progress(mut self, function: impl FnMut(&str, &Migration) + Send + 'a) -> Self {
        self.progress = Some(Box::new(function));
        self
    }

    async fn run(mut self) -> Result<Vec<(String, Migration)>> {
        // The declarations are checked as by a plan.
        self.schema.declarations.collections()?;
        let mut done = Vec::new();
        for versions in &self.schema.versions {
            let namespace = format!("{}.{}", self.schema.database.name(), versions.collection);
            let mut progress = |migration: &Migration| {
                if let Some(progress) = &mut self.progress {
                    progress(&namespace, migration);
                }
            };
            let running = (versions.run)(
                &self.schema.database,
                &versions.collection,
                self.options,
                &mut progress,
            );
            let migration = running.await?;
            done.push((namespace, migration));
        }
        Ok(done)
    }
}

impl<'a> IntoFuture for MigrateSchema<'a> {
    type Output = Result<Vec<(String, Migration)>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

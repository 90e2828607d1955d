//! The commands `plan`, `diff`, `verify`, `apply` and `migrate` for the schema of an application
//! (feature `cli`).
//!
//! An application mounts them in its own command line, with the models that it registers:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use clap::Parser;
//! use marula::cli::SchemaCommand;
//! # use marula::{Document, prelude::*};
//! # #[derive(Document)]
//! # #[document(collection = "orders")]
//! # struct Order { _id: i64 }
//!
//! #[derive(Parser)]
//! enum Command {
//!     /// Serves requests.
//!     Serve,
//!     /// Compares and changes the indexes of the database.
//!     #[command(subcommand)]
//!     Schema(SchemaCommand),
//! }
//!
//! # async fn serve(_: marula::Database) -> ExitCode { ExitCode::SUCCESS }
//! # async fn run() -> marula::Result<ExitCode> {
//! let db = marula::connect("mongodb://localhost").await?.database("shop");
//! # Ok(
//! match Command::parse() {
//!     Command::Serve => serve(db).await,
//!     Command::Schema(command) => command.run(db.schema().register::<Order>()).await,
//! }
//! # ) }
//! ```
//!
//! `shop schema plan`, `shop schema apply --full --json` and so on. The exit code is 0 after success, 1
//! if `diff` or `verify` find a difference or `migrate` could not upgrade a document, and 2 after an
//! error.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use crate::{
    base::{
        bson::{Bson, Document, doc},
        error::{Applied, Result, with_sources},
        relaxed_json::relaxed,
    },
    query::write::migrate::Migration,
    schema::{Apply, Plan, Schema, Step},
};

/// A command for the schema of an application. A `clap` subcommand.
#[derive(Clone, Debug, clap::Subcommand)]
#[non_exhaustive]
pub enum SchemaCommand {
    /// Prints what is to be done about each collection and index. Writes nothing.
    Plan(PlanArguments),
    /// Prints the collections and indexes that are missing or differ; exits with 1 if there are any. Writes nothing.
    Diff(PlanArguments),
    /// Exits with 1 if a collection or an index is missing or differs. Prints nothing, unlike `diff`. Writes nothing.
    Verify,
    /// Creates missing collections and indexes, and changes others as far as the options permit.
    Apply(ApplyArguments),
    /// Upgrades stored documents of older versions; exits with 1 if a document cannot be upgraded. Prints a line after
    /// each batch. After an interruption, run it again.
    Migrate(MigrateArguments),
}

/// The options of `plan` and `diff`.
#[derive(Clone, Debug, Default, clap::Args)]
#[non_exhaustive]
pub struct PlanArguments {
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// The options of `apply`. See [`Apply`].
#[derive(Clone, Debug, Default, clap::Args)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ApplyArguments {
    /// Changes, rebuilds and drops indexes: all options below, with 7 days.
    #[arg(long)]
    pub full: bool,
    /// Changes options that the server can change without building an index again.
    #[arg(long)]
    pub coll_mod: bool,
    /// Drops indexes that conflict with declared ones, and builds them again.
    #[arg(long)]
    pub rebuild: bool,
    /// Hides indexes that are no longer declared, and drops them after this number of days.
    #[arg(long, value_name = "DAYS")]
    pub drop_obsolete: Option<u32>,
    /// Leaves collections and indexes that differ as they are, and takes the other steps.
    #[arg(long)]
    pub allow_conflicts: bool,
    /// Waits up to this number of seconds until queries can use all declared search indexes.
    #[arg(long, value_name = "SECONDS")]
    pub wait_for_search: Option<u32>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// The options of `migrate`. See [`Collection::migrate`](crate::Collection::migrate).
#[derive(Clone, Debug, clap::Args)]
#[non_exhaustive]
pub struct MigrateArguments {
    /// Upgrades and checks the documents without writing them.
    #[arg(long)]
    pub dry_run: bool,
    /// Maximum number of documents that are read and written together.
    #[arg(long, value_name = "DOCUMENTS", default_value_t = 100)]
    pub batch_size: u32,
    /// Prints JSON, and no lines after batches.
    #[arg(long)]
    pub json: bool,
}

impl MigrateArguments {
    async fn write(&self, schema: Schema, output: &mut (dyn Write + Send)) -> Result<bool> {
        let migrating = schema.migrate().dry_run(self.dry_run).batch_size(self.batch_size);
        if self.json {
            let migrations = migrating.await?;
            let _ = output.write_all(line(&migrations_document(&migrations)).as_bytes());
            return Ok(migrations.iter().all(|(_, migration)| migration.is_complete()));
        }
        let printed = &mut *output;
        let migrations = migrating
            .on_progress(move |namespace, progress| {
                // Reported by the exit code of the reader, as below.
                let _ = writeln!(printed, "{namespace}: {progress}");
            })
            .await?;
        for (namespace, migration) in &migrations {
            if migration.examined == 0 {
                let _ = writeln!(output, "{namespace}: nothing to do");
            }
            for failure in &migration.failures {
                let _ = writeln!(output, "{namespace}: {failure}");
            }
        }
        Ok(migrations.iter().all(|(_, migration)| migration.is_complete()))
    }
}

impl ApplyArguments {
    fn apply(&self) -> Apply {
        let mut apply = if self.full {
            Apply::full()
        } else {
            Apply::additive().coll_mod(self.coll_mod).rebuild(self.rebuild)
        };
        if let Some(days) = self.drop_obsolete {
            apply = apply.drop_obsolete(Duration::from_secs(86_400 * u64::from(days)));
        }
        if let Some(seconds) = self.wait_for_search {
            apply = apply.wait_for_search(Duration::from_secs(u64::from(seconds)));
        }
        apply.allow_conflicts(self.allow_conflicts)
    }
}

impl SchemaCommand {
    /// Runs the command, prints its result to the standard output and an error to the standard error.
    /// Returns the exit code of the process.
    ///
    /// If the future is dropped: see [`SchemaPlan::apply`](crate::schema::SchemaPlan::apply).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// use marula::cli::SchemaCommand;
    /// let exit = SchemaCommand::Verify.run(db.schema().register::<Order>()).await;
    /// # let _ = exit; Ok(()) });
    /// ```
    pub async fn run(self, schema: Schema) -> ExitCode {
        // An output that was closed is not an error of the command.
        match self.write(schema, &mut io::stdout()).await {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(1),
            Err(error) => {
                let mut text = String::new();
                let _ = with_sources(&mut text, &error);
                let _ = writeln!(io::stderr(), "error: {text}");
                ExitCode::from(2)
            }
        }
    }

    /// As [`run`](Self::run), to another output. Returns `false` if `diff` or `verify` find a
    /// difference, or if `migrate` could not upgrade a document.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// use marula::cli::SchemaCommand;
    /// let mut output = Vec::new();
    /// let is_in_sync = SchemaCommand::Verify.write(db.schema().register::<Order>(), &mut output).await?;
    /// assert!(!is_in_sync); // the index is missing
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// Those of [`Schema::plan`], [`SchemaPlan::apply`](crate::schema::SchemaPlan::apply) and
    /// [`Schema::migrate`].
    pub async fn write(self, schema: Schema, output: &mut (dyn Write + Send)) -> Result<bool> {
        let (text, is_success) = match self {
            SchemaCommand::Plan(arguments) => {
                let plan = schema.plan().await?;
                let text = if arguments.json {
                    line(&plan_document(&plan))
                } else {
                    plan.to_string()
                };
                (text, true)
            }
            SchemaCommand::Diff(arguments) => {
                let plan = schema.plan().await?;
                let differences = differences(&plan);
                let text = if arguments.json {
                    line(&plan_document(&differences))
                } else {
                    differences.to_string()
                };
                (text, plan.is_empty())
            }
            SchemaCommand::Verify => (String::new(), schema.plan().await?.is_empty()),
            SchemaCommand::Apply(arguments) => {
                let applied = schema.plan().await?.apply(arguments.apply()).await?;
                let text = if arguments.json {
                    line(&applied_document(&applied))
                } else {
                    format!("{applied}\n")
                };
                (text, true)
            }
            SchemaCommand::Migrate(arguments) => return arguments.write(schema, output).await,
        };
        // Reported by the exit code of the reader.
        let _ = output.write_all(text.as_bytes());
        Ok(is_success)
    }
}

fn line(document: &Document) -> String {
    format!("{}\n", relaxed(document))
}

/// The plan without the indexes that are kept.
fn differences(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for collection in &mut plan.collections {
        collection.steps.retain(|step| {
            !matches!(
                step,
                Step::KeepCollection
                    | Step::Keep { .. }
                    | Step::Unknown { .. }
                    | Step::KeepShardKey { .. }
                    | Step::KeepSearchIndex { .. }
                    | Step::UnknownSearchIndex { .. }
                    | Step::SkipSearchIndex { .. }
            )
        });
    }
    plan.collections.retain(|collection| !collection.steps.is_empty());
    plan
}

fn plan_document(plan: &Plan) -> Document {
    let collections: Vec<Document> = plan
        .collections
        .iter()
        .map(|collection| {
            let steps: Vec<Document> = collection.steps.iter().map(step_document).collect();
            doc! { "namespace": &collection.namespace, "steps": steps }
        })
        .collect();
    doc! { "inSync": plan.is_empty(), "collections": collections }
}

fn step_document(step: &Step) -> Document {
    match step {
        Step::CreateCollection { options } => {
            doc! { "step": "createCollection", "declared": options.clone() }
        }
        Step::KeepCollection => doc! { "step": "keepCollection" },
        Step::ModifyCollection {
            existing,
            declared,
            differences,
        } => doc! {
            "step": "modifyCollection", "existing": existing.clone(), "declared": declared.clone(),
            "differences": differences.clone(),
        },
        Step::CollectionConflict {
            existing,
            declared,
            differences,
        } => doc! {
            "step": "collectionConflict", "existing": existing.clone(), "declared": declared.clone(),
            "differences": differences.clone(),
        },
        Step::UnsupportedCollectionChange {
            existing,
            declared,
            differences,
            option,
            requirement,
        } => doc! {
            "step": "unsupportedCollectionChange", "existing": existing.clone(), "declared": declared.clone(),
            "differences": differences.clone(), "option": option, "needs": requirement.to_string(),
        },
        Step::Unsupported { feature, requirement } => doc! {
            "step": "unsupported", "feature": feature, "needs": requirement.to_string(),
        },
        Step::EncryptedFieldsConflict {
            existing,
            declared,
            differences,
        } => doc! {
            "step": "encryptedFieldsConflict", "existing": existing.clone(), "declared": declared.clone(),
            "differences": differences.clone(),
        },
        Step::Create { name, specification } => {
            doc! { "step": "create", "index": name, "declared": specification.clone() }
        }
        Step::Building { name, specification } => {
            doc! { "step": "building", "index": name, "declared": specification.clone() }
        }
        Step::Keep { name, declared_as } => {
            let mut step = doc! { "step": "keep", "index": name };
            if let Some(declared) = declared_as {
                step.insert("declaredAs", declared);
            }
            step
        }
        Step::Modify {
            name,
            existing,
            declared,
            changes,
        } => doc! {
            "step": "modify", "index": name, "existing": existing.clone(), "declared": declared.clone(),
            "changes": changes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        },
        Step::Conflict {
            name,
            existing,
            declared,
            differences,
        } => doc! {
            "step": "conflict", "index": name, "existing": existing.clone(), "declared": declared.clone(),
            "differences": differences.clone(),
        },
        Step::Obsolete {
            name,
            specification,
            hidden_at,
        } => doc! {
            "step": "obsolete", "index": name, "existing": specification.clone(),
            "hiddenAt": hidden_at.map_or(Bson::Null, Bson::from),
        },
        Step::Unknown { name, specification } => {
            doc! { "step": "unknown", "index": name, "existing": specification.clone() }
        }
        Step::ShardCollection { key, unique } => {
            doc! { "step": "shardCollection", "declared": key.clone(), "unique": unique }
        }
        Step::KeepShardKey { key } => doc! { "step": "keepShardKey", "existing": key.clone() },
        Step::RefineShardKey { existing, declared } => doc! {
            "step": "refineShardKey", "existing": existing.clone(), "declared": declared.clone(),
        },
        Step::ShardKeyConflict {
            existing,
            existing_unique,
            declared,
            declared_unique,
        } => doc! {
            "step": "shardKeyConflict", "existing": existing.clone(), "existingUnique": existing_unique,
            "declared": declared.clone(), "declaredUnique": declared_unique,
        },
        Step::CreateSearchIndex {
            name,
            kind,
            definition,
        } => doc! {
            "step": "createSearchIndex", "index": name, "type": kind.as_str(), "declared": definition.clone(),
        },
        Step::KeepSearchIndex {
            name,
            status,
            queryable,
        } => doc! { "step": "keepSearchIndex", "index": name, "status": status, "queryable": *queryable },
        Step::UpdateSearchIndex {
            name,
            existing,
            declared,
        } => doc! {
            "step": "updateSearchIndex", "index": name, "existing": existing.clone(), "declared": declared.clone(),
        },
        Step::SearchIndexConflict {
            name,
            existing_kind,
            kind,
            existing,
            declared,
        } => doc! {
            "step": "searchIndexConflict", "index": name, "existingType": existing_kind, "type": kind.as_str(),
            "existing": existing.clone(), "declared": declared.clone(),
        },
        Step::ObsoleteSearchIndex {
            name,
            definition,
            undeclared_since,
        } => doc! {
            "step": "obsoleteSearchIndex", "index": name, "existing": definition.clone(),
            "undeclaredSince": undeclared_since.map_or(Bson::Null, Bson::from),
        },
        Step::UnknownSearchIndex { name, definition } => {
            doc! { "step": "unknownSearchIndex", "index": name, "existing": definition.clone() }
        }
        Step::SkipSearchIndex { name } => doc! { "step": "skipSearchIndex", "index": name },
    }
}

fn applied_document(applied: &Applied) -> Document {
    let indexes = |indexes: &[(String, String)]| -> Vec<Document> {
        indexes
            .iter()
            .map(|(namespace, index)| doc! { "namespace": namespace, "index": index })
            .collect()
    };
    let changes = applied.index_changes.iter();
    let changes: Vec<Document> = changes
        .map(|(namespace, index, change)| {
            doc! { "namespace": namespace, "index": index, "change": change.to_string() }
        })
        .collect();
    doc! {
        "createdCollections": applied.created_collections.clone(),
        "modifiedCollections": applied.modified_collections.clone(),
        "shardedCollections": applied.sharded_collections.clone(),
        "refinedShardKeys": applied.refined_shard_keys.clone(),
        "created": indexes(&applied.created),
        "modified": indexes(&applied.modified),
        "indexChanges": changes,
        "rebuilt": indexes(&applied.rebuilt),
        "hidden": indexes(&applied.hidden),
        "dropped": indexes(&applied.dropped),
        "createdSearch": indexes(&applied.created_search),
        "updatedSearch": indexes(&applied.updated_search),
        "droppedSearch": indexes(&applied.dropped_search),
    }
}

fn migrations_document(migrations: &[(String, Migration)]) -> Document {
    let migrations: Vec<Document> = migrations
        .iter()
        .map(|(namespace, migration)| {
            let failures: Vec<Document> = migration
                .failures
                .iter()
                .map(|failure| doc! { "id": failure.id.clone(), "error": failure.to_string() })
                .collect();
            doc! {
                "namespace": namespace,
                "examined": count(migration.examined),
                "upgraded": count(migration.upgraded),
                "superseded": count(migration.superseded),
                "failed": count(migration.failed),
                "failures": failures,
            }
        })
        .collect();
    doc! { "migrations": migrations }
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

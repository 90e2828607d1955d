//! Migrations: an application with commands for its indexes and collection options.
//!
//! ```sh
//! export MONGODB_URI=mongodb://localhost/shop
//! cargo run --example migrations -- schema plan
//! cargo run --example migrations -- schema apply --full
//! ```
//!
//! Without arguments it shows the way from an older version of the model to the current one, on an
//! in-process replica set, or in the database `marula_migrations` of `MONGODB_URI`, which it drops
//! first.

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use marula::bson::DateTime;
use marula::cli::SchemaCommand;
use marula::schema::{Apply, Schema, SyncMode};
use marula::{Database, Document, Result};
use marula_examples::deployment::Deployment;

/// The model of the current version.
#[derive(Document)]
#[document(
    collection = "visits",
    json_schema(level = "moderate", action = "warn"),
    index(at, ttl = "30d"),
    index(page, -at, renamed_from = "page_and_time")
)]
pub(crate) struct Visit {
    _id: i64,
    page: String,
    at: DateTime,
}

/// The model of an older version.
#[derive(Document)]
#[document(
    collection = "visits",
    index(at, ttl = "90d"),
    index(page, -at, name = "page_and_time"),
    index(browser)
)]
pub(crate) struct OldVisit {
    _id: i64,
    page: String,
    browser: String,
    at: DateTime,
}

/// All models of the application.
pub(crate) fn schema(db: &Database) -> Schema {
    db.schema().register::<Visit>()
}

/// The collections and indexes as the older version creates them.
pub(crate) async fn install_old_version(db: &Database) -> Result<()> {
    let old = db.schema().register::<OldVisit>();
    let applied = old.sync(SyncMode::Additive).await?;
    println!("the older version: {applied}");
    Ok(())
}

/// What a deployment of the current version does, step by step.
pub(crate) async fn migrate(db: &Database) -> Result<()> {
    let plan = schema(db).plan().await?;
    println!("\nplan:\n{plan}");
    if let Err(error) = plan.apply(Apply::additive()).await {
        println!("additive: {error}\n");
    }
    let applied = schema(db).sync(SyncMode::Full).await?;
    println!("full: {applied}");
    schema(db).sync(SyncMode::Verify).await?;
    println!("verified\n\nplan:\n{}", schema(db).plan().await?);
    Ok(())
}

/// The command line of the application.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Compares and changes the indexes of the database.
    #[command(subcommand)]
    Schema(SchemaCommand),
}

/// Runs a command line.
pub(crate) async fn run(arguments: Arguments) -> std::result::Result<ExitCode, Box<dyn Error>> {
    let deployment = Deployment::start().await?;
    let code = match arguments.command {
        Some(Command::Schema(command)) => {
            let db = deployment.client.default_database();
            let db = db.unwrap_or_else(|| deployment.client.database("marula_migrations"));
            command.run(schema(&db)).await
        }
        None => {
            let db = deployment.empty_database("marula_migrations").await?;
            install_old_version(&db).await?;
            migrate(&db).await?;
            ExitCode::SUCCESS
        }
    };
    deployment.stop().await;
    Ok(code)
}

#[tokio::main]
pub(crate) async fn main() -> std::result::Result<ExitCode, Box<dyn Error>> {
    run(Arguments::parse()).await
}

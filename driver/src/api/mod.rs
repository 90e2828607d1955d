//! What applications call: handles and fluent actions.

mod action;
mod client;
mod collection;
mod cursor;
mod database;
#[cfg(not(feature = "internals"))]
mod environment;
#[cfg(feature = "internals")]
#[path = "environment_replaced.rs"]
mod environment;
mod resolve;
mod session;
mod settings;
mod write_model;

pub use action::{
    aggregate::Aggregate,
    bulk_write::BulkWrite,
    count::{CountDocuments, EstimatedDocumentCount},
    create::CreateCollection,
    delete::Delete,
    distinct::Distinct,
    drop::{DropCollection, DropDatabase, DropIndex},
    find::{Find, FindOne},
    find_and_modify::FindOneAnd,
    indexes::{CreateIndex, CreateIndexes, ListIndexNames, ListIndexes},
    insert::{InsertMany, InsertOne},
    list::{ListCollectionNames, ListCollections, ListDatabaseNames, ListDatabases},
    modify::{ModifyCollection, RenameCollection},
    run_command::RunCommand,
    run_cursor_command::RunCursorCommand,
    search_indexes::{CreateSearchIndex, CreateSearchIndexes, DropSearchIndex, UpdateSearchIndex},
    update::{IntoUpdate, Update, UpdateModification},
};
pub use client::Client;
pub use collection::Collection;
pub use cursor::Cursor;
pub use database::Database;
#[cfg(not(feature = "internals"))]
use environment::Environment;
#[cfg(feature = "internals")]
pub use environment::{Environment, EnvironmentVariables};
pub use session::{ClientSession, StartSession};
pub use write_model::WriteModel;

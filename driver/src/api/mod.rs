//! What applications call: handles and fluent actions.

mod action;
mod client;
mod collection;
pub(crate) mod command;
mod cursor;
mod database;
#[allow(unreachable_pub, reason = "public to `internals` only")]
mod environment;
#[cfg(feature = "internals")]
#[allow(unreachable_pub, reason = "public to `internals` only")]
pub(crate) mod hooks;
mod resolve;
mod session;
mod settings;

pub use action::{
    aggregate::Aggregate,
    count::EstimatedDocumentCount,
    create::CreateCollection,
    distinct::Distinct,
    drop::{DropCollection, DropDatabase, DropIndex},
    indexes::{CreateIndex, CreateIndexes, ListIndexNames, ListIndexes},
    list::{ListCollectionNames, ListCollections, ListDatabaseNames, ListDatabases},
    modify::{ModifyCollection, RenameCollection},
    run_command::RunCommand,
    run_cursor_command::RunCursorCommand,
    search_indexes::{CreateSearchIndex, CreateSearchIndexes, DropSearchIndex, UpdateSearchIndex},
};
pub use client::Client;
pub use collection::Collection;
pub use command::{
    bulk_write::WriteModel,
    update::{IntoUpdate, UpdateModification},
};
pub use cursor::Cursor;
pub use database::Database;
#[allow(unreachable_pub, reason = "public to `internals` only")]
pub use environment::Environment;
pub use session::{ClientSession, StartSession};

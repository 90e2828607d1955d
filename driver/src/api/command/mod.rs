//! The commands, one file for each: its options, its action, the method that starts it, how it is
//! written, and how its reply is read.
//!
//! A new command is a file here; its public names are re-exported in [`action`], [`options`] and
//! [`model`]. Arguments are serialized when they are set. Their errors are returned when the action
//! is awaited, and nothing is sent before.

mod batcher;
pub(crate) mod common;
pub(crate) mod declare;
mod deferred;
pub(crate) mod shown;
pub(crate) mod wire;

mod aggregate;
mod bulk_write;
mod client_bulk_write;
mod coll_mod;
mod count;
mod count_documents;
mod create;
mod create_indexes;
mod create_search_indexes;
mod delete;
mod distinct;
mod drop;
mod drop_database;
mod drop_indexes;
mod drop_search_index;
mod encrypted_collection;
mod end_sessions;
mod end_transaction;
mod explain;
mod find;
mod find_and_modify;
mod get_more;
mod insert;
mod kill_cursors;
mod list_collections;
mod list_databases;
mod list_indexes;
mod list_search_indexes;
mod preceding;
mod rename_collection;
mod run_command;
mod run_cursor_command;
mod update;
mod update_search_index;
mod watch;

/// Actions, re-exported at `marula_driver::action`.
pub(crate) mod action {
    pub use super::{
        aggregate::Aggregate,
        bulk_write::BulkWrite,
        client_bulk_write::ClientBulkWrite,
        coll_mod::ModifyCollection,
        count::EstimatedDocumentCount,
        count_documents::CountDocuments,
        create::CreateCollection,
        create_indexes::{CreateIndex, CreateIndexes},
        create_search_indexes::{CreateSearchIndex, CreateSearchIndexes},
        delete::Delete,
        distinct::Distinct,
        drop::DropCollection,
        drop_database::DropDatabase,
        drop_indexes::DropIndex,
        drop_search_index::DropSearchIndex,
        explain::Explain,
        find::{Find, FindOne},
        find_and_modify::{FindOneAndDelete, FindOneAndReplace, FindOneAndUpdate},
        insert::{InsertMany, InsertOne},
        list_collections::{ListCollectionNames, ListCollections},
        list_databases::{ListDatabaseNames, ListDatabases},
        list_indexes::{ListIndexNames, ListIndexes},
        rename_collection::RenameCollection,
        run_command::RunCommand,
        run_cursor_command::RunCursorCommand,
        update::{ReplaceOne, UpdateMany, UpdateOne},
        update_search_index::UpdateSearchIndex,
        watch::Watch,
    };
}

#[cfg(feature = "encryption")]
pub(crate) use run_command::NOT_MONGOCRYPTD;

/// Options of commands, re-exported at `marula_driver::options`.
pub(crate) mod options {
    pub use super::{
        aggregate::AggregateOptions,
        bulk_write::BulkWriteOptions,
        client_bulk_write::ClientBulkWriteOptions,
        coll_mod::ModifyCollectionOptions,
        count::EstimatedDocumentCountOptions,
        count_documents::CountDocumentsOptions,
        create::CreateCollectionOptions,
        create_indexes::CreateIndexesOptions,
        delete::DeleteOptions,
        distinct::DistinctOptions,
        drop::DropCollectionOptions,
        drop_database::DropDatabaseOptions,
        drop_indexes::DropIndexOptions,
        explain::ExplainOptions,
        find::FindOptions,
        find_and_modify::{FindOneAndDeleteOptions, FindOneAndReplaceOptions, FindOneAndUpdateOptions},
        insert::{InsertManyOptions, InsertOneOptions},
        list_collections::ListCollectionsOptions,
        list_databases::ListDatabasesOptions,
        list_indexes::ListIndexesOptions,
        preceding::PrecedingOptions,
        rename_collection::RenameCollectionOptions,
        run_command::RunCommandOptions,
        run_cursor_command::RunCursorCommandOptions,
        update::{ReplaceOneOptions, UpdateManyOptions, UpdateOneOptions},
        watch::ChangeStreamOptions,
    };
}

/// Arguments and results of commands, re-exported at the root of the crate.
pub(crate) mod model {
    pub use super::{
        bulk_write::WriteModel,
        client_bulk_write::ClientWriteModel,
        create_indexes::{IndexModel, IndexOptions},
        create_search_indexes::SearchIndexModel,
        list_collections::CollectionSpecification,
        list_databases::DatabaseSpecification,
        update::{IntoUpdate, UpdateModification},
    };
}

use crate::{
    Error, Result,
    bson::{RawDocument, find_element},
    types::concern::{ReadConcern, ReadConcernLevel},
};
pub(super) use end_sessions::EndSessions;
pub(super) use end_transaction::EndTransaction;
pub(super) use get_more::GetMore;
pub(super) use kill_cursors::KillCursors;
pub(super) use watch::{ChangeStreamAggregate, Target};

pub(crate) use deferred::Deferred;

/// Implements `IntoFuture` for an action with `async fn run(self)`. The future is boxed: one
/// allocation per action, which keeps the futures of applications small.
///
/// Most actions are `in place` and have `async fn run(&mut self)`: if the action were passed by
/// value, the future would contain it twice, as the argument and as the local variable.
///
/// The generics of the action, in brackets, must contain the lifetime `'a`, which bounds the
/// future.
macro_rules! awaitable {
    (in place [$($generics:tt)*] $action:ty => $output:ty) => {
        impl<$($generics)*> IntoFuture for $action {
            type Output = crate::Result<$output>;
            type IntoFuture = std::pin::Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

            fn into_future(mut self) -> Self::IntoFuture {
                Box::pin(async move { self.run().await })
            }
        }
    };
    ([$($generics:tt)*] $action:ty => $output:ty) => {
        impl<$($generics)*> IntoFuture for $action {
            type Output = crate::Result<$output>;
            type IntoFuture = std::pin::Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

            fn into_future(self) -> Self::IntoFuture {
                Box::pin(self.run())
            }
        }
    };
}
pub(crate) use awaitable;

/// The `session` setter of an action.
macro_rules! session_setter {
    () => {
        /// Runs the command in this session. Awaiting the action fails if the session has ended or
        /// belongs to another client, and if the write concern is unacknowledged. Default: an
        /// implicit session.
        pub fn session(mut self, session: &'a mut crate::ClientSession) -> Self {
            self.session = Some(session.shared());
            self
        }
    };
}
pub(crate) use session_setter;

/// The `timeout` setter of an action without other options.
macro_rules! timeout_setter {
    () => {
        /// `timeoutMS`: the time limit for the whole operation, including server selection and
        /// retries. It replaces all other time limits of the operation. Zero means no limit.
        /// Default: that of the collection.
        pub fn timeout(mut self, value: std::time::Duration) -> Self {
            self.timeout = Some(value);
            self
        }
    };
}
pub(crate) use timeout_setter;

/// The explicit session of an action, if any.
pub(crate) type InSession<'a> = Option<&'a crate::execution::SessionHandle>;

/// Rejects a read concern of one operation that the level `snapshot` of a snapshot session would
/// replace ([Snapshot Reads]).
///
/// [Snapshot Reads]:
/// https://github.com/mongodb/specifications/blob/master/source/sessions/snapshot-sessions.md
pub(crate) fn check_read_concern(session: InSession<'_>, concern: Option<&ReadConcern>) -> Result<()> {
    let (Some(session), Some(concern)) = (session, concern) else {
        return Ok(());
    };
    if concern.level == Some(ReadConcernLevel::Snapshot) || !session.lock().is_snapshot() {
        return Ok(());
    }
    let found = concern.level.as_ref().map_or_else(
        || "the server's default".to_owned(),
        |level| format!("{:?}", level.as_str()),
    );
    Err(Error::invalid_argument(format!(
        "a snapshot session requires the read concern \"snapshot\" for all reads, found {found} for this operation"
    )))
}

/// `name` in one of the documents that `command` lists.
pub(crate) fn name_in(listed: &[u8], command: &str) -> Result<String> {
    let name = find_element(listed, "name")?.and_then(|element| element.str().ok());
    name.map(str::to_owned).ok_or_else(|| {
        let error = Error::invalid_reply(format!("a document of {command} has no string \"name\""));
        match RawDocument::from_bytes(listed) {
            Ok(document) => error.with_response(document),
            Err(_) => error,
        }
    })
}

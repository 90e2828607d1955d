//! `dropDatabase`: [`Database::drop`] ([Collection Management]).
//!
//! [Collection Management]: https://github.com/mongodb/specifications/blob/master/source/collection-management/collection-management.md

use super::{
    InSession, awaitable,
    common::timed_administration_options,
    declare::{define_options, option_setters},
    session_setter,
    wire::WriteOptions,
};
use crate::{
    Database, Result,
    operation::{Operation, OperationOverrides, Properties, ReplyContext, write_result},
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
    },
    types::concern::WriteConcern,
};

/// The options of `drop_database`. See `api/command/declare.rs`.
macro_rules! drop_database_options {
    ($then:path { $($arguments:tt)* }) => {
        timed_administration_options! { $then { $($arguments)* } }
    };
}

drop_database_options! { define_options {
    /// Options of [`Database::drop`].
    pub struct DropDatabaseOptions;
} }

impl Database {
    /// Drops the database with all its collections. Dropping a database that does not exist
    /// succeeds.
    pub fn drop(&self) -> DropDatabase<'_> {
        DropDatabase {
            database: self,
            options: DropDatabaseOptions::default(),
            session: None,
        }
    }
}

/// Drops a database. Await it; see [`Database::drop`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct DropDatabase<'a> {
    database: &'a Database,
    options: DropDatabaseOptions,
    session: InSession<'a>,
}

impl<'a> DropDatabase<'a> {
    drop_database_options! { option_setters { DropDatabaseOptions } }

    session_setter!();

    async fn run(mut self) -> Result<()> {
        let options = &mut self.options;
        options.deferred.take_result()?;
        let timeout = self
            .database
            .start_timeout("dropDatabase", options.timeout, self.session)?;
        let mut operation = DropDatabaseOperation {
            database: self.database.name(),
            options,
            write_concern: options
                .write_concern
                .as_deref()
                .unwrap_or(&self.database.concerns().write_concern),
        };
        let executor = self.database.client().executor();
        executor.run_in(self.session, timeout, &mut operation).await
    }
}

awaitable!(['a] DropDatabase<'a> => ());

/// The `dropDatabase` command.
struct DropDatabaseOperation<'a> {
    database: &'a str,
    options: &'a DropDatabaseOptions,
    write_concern: &'a WriteConcern,
}

impl Operation for DropDatabaseOperation<'_> {
    type Output = ();

    fn properties(&self) -> Properties<'_> {
        Properties::administration("dropDatabase", self.database, self.write_concern)
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        command.i32("dropDatabase", 1);
        self.options.write(command, server);
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<()> {
        write_result::check_single(reply)
    }
}

//! `dropIndexes`: [`Collection::drop_index`] and [`Collection::drop_indexes`] ([Index Management]).
//!
//! [Index Management]: https://github.com/mongodb/specifications/blob/master/source/index-management/index-management.md

use super::{
    InSession, awaitable,
    common::timed_administration_options,
    declare::{define_options, option_setters},
    session_setter,
    wire::WriteOptions,
};
use crate::{
    Collection, Error, Namespace, Result,
    api::collection::CollectionInner,
    operation::{Operation, OperationOverrides, Properties, ReplyContext, write_result},
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
    },
    types::concern::WriteConcern,
};

/// The options of `drop_indexes`. See `api/command/declare.rs`.
macro_rules! drop_indexes_options {
    ($then:path { $($arguments:tt)* }) => {
        timed_administration_options! { $then { $($arguments)* }
            /// Read the raw storage of the collection (MongoDB 8.2+; ignored by older servers). For
            /// MongoDB's own tools.
            #[doc(hidden)]
            raw_data: plain bool = "rawData" since is_8_2;
        }
    };
}

drop_indexes_options! { define_options {
    /// Options of [`Collection::drop_index`] and [`Collection::drop_indexes`].
    pub struct DropIndexOptions;
} }

impl<T> Collection<T> {
    /// Drops the index with this name, as [`list_index_names`](Self::list_index_names) returns it.
    /// The index on `_id` cannot be dropped.
    ///
    /// # Errors
    /// [`ErrorKind::Command`](crate::ErrorKind::Command) with code 27 (`IndexNotFound`) if the
    /// index does not exist, and with code 26 (`NamespaceNotFound`) if the collection does not
    /// exist. [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) if the name is
    /// empty or `*`.
    pub fn drop_index(&self, name: impl Into<String>) -> DropIndex<'_> {
        DropIndex {
            collection: self.inner(),
            index: Index::Name(name.into()),
            options: DropIndexOptions::default(),
            session: None,
        }
    }

    /// Drops all indexes except the index on `_id`. The server returns error 26
    /// (`NamespaceNotFound`) if the collection does not exist.
    pub fn drop_indexes(&self) -> DropIndex<'_> {
        DropIndex {
            collection: self.inner(),
            index: Index::All,
            options: DropIndexOptions::default(),
            session: None,
        }
    }
}

/// Drops indexes. Await it; see [`Collection::drop_index`] and [`Collection::drop_indexes`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct DropIndex<'a> {
    collection: &'a CollectionInner,
    index: Index,
    options: DropIndexOptions,
    session: InSession<'a>,
}

impl<'a> DropIndex<'a> {
    drop_indexes_options! { option_setters { DropIndexOptions } }

    session_setter!();

    async fn run(mut self) -> Result<()> {
        let index = match &self.index {
            Index::All => "*",
            // The server would drop all indexes for `"*"` (Index Management, "Standard API").
            Index::Name(name) if name.is_empty() || name == "*" => {
                return Err(Error::invalid_argument(format!(
                    "\"{name}\" is not an index name; use drop_indexes to drop all indexes"
                )));
            }
            Index::Name(name) => name,
        };
        let options = &mut self.options;
        options.deferred.take_result()?;
        let timeout = self
            .collection
            .start_timeout("dropIndexes", options.timeout, self.session)?;
        let mut operation = DropIndexes {
            namespace: self.collection.namespace(),
            index,
            options,
            write_concern: options
                .write_concern
                .as_deref()
                .unwrap_or(self.collection.write_concern()),
        };
        let executor = self.collection.executor();
        executor.run_in(self.session, timeout, &mut operation).await
    }
}

awaitable!(['a] DropIndex<'a> => ());

/// Which indexes are dropped.
#[derive(Debug)]
enum Index {
    Name(String),
    All,
}

/// The `dropIndexes` command.
struct DropIndexes<'a> {
    namespace: &'a Namespace,
    index: &'a str,
    options: &'a DropIndexOptions,
    write_concern: &'a WriteConcern,
}

impl Operation for DropIndexes<'_> {
    type Output = ();

    fn properties(&self) -> Properties<'_> {
        Properties::administration("dropIndexes", &self.namespace.database, self.write_concern)
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.namespace.collection)
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        command.str("dropIndexes", &self.namespace.collection);
        command.str("index", self.index);
        self.options.write(command, server);
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<()> {
        write_result::check_single(reply)
    }
}

//! `renameCollection`: [`Collection::rename`] ([Collection Management]).
//!
//! [Collection Management]: https://github.com/mongodb/specifications/blob/master/source/collection-management/collection-management.md

use super::{
    InSession, awaitable,
    common::administration_options,
    declare::{define_options, option_setters},
    session_setter,
    wire::WriteOptions,
};
use crate::{
    Collection, Namespace, Result,
    api::collection::CollectionInner,
    operation::{Operation, OperationOverrides, Properties, ReplyContext, write_result},
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
    },
    types::concern::WriteConcern,
};

/// The options of `rename_collection`. See `api/command/declare.rs`.
macro_rules! rename_collection_options {
    ($then:path { $($arguments:tt)* }) => {
        administration_options! { $then { $($arguments)* }
            /// Drop an existing collection with the new name. If `false` and there is such a
            /// collection, the server returns error 48 (`NamespaceExists`). Default: `false`.
            drop_target: plain bool = "dropTarget";
        }
    };
}

rename_collection_options! { define_options {
    /// Options of [`Collection::rename`].
    pub struct RenameCollectionOptions;
} }

impl<T> Collection<T> {
    /// Renames the collection within its database. The documents and indexes are kept. This handle
    /// keeps the old name; see [`with_name`](Self::with_name).
    ///
    /// # Errors
    /// [`ErrorKind::Command`](crate::ErrorKind::Command) with code 26 (`NamespaceNotFound`) if the
    /// collection does not exist, and with code 48 (`NamespaceExists`) if a collection has the new
    /// name, unless [`drop_target`](RenameCollection::drop_target) is set; with code 323 (`APIStrictError`) if the client
    /// declares the strict Stable API and the server is older than 8.1.
    pub fn rename(&self, to: &str) -> RenameCollection<'_> {
        RenameCollection {
            collection: self.inner(),
            to: Namespace::new(&self.namespace().database, to),
            options: RenameCollectionOptions::default(),
            session: None,
        }
    }
}

/// Renames a collection. Await it; see [`Collection::rename`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct RenameCollection<'a> {
    collection: &'a CollectionInner,
    to: Namespace,
    options: RenameCollectionOptions,
    session: InSession<'a>,
}

impl<'a> RenameCollection<'a> {
    rename_collection_options! { option_setters { RenameCollectionOptions } }

    session_setter!();

    async fn run(mut self) -> Result<()> {
        let options = &mut self.options;
        options.deferred.take_result()?;
        let timeout = self
            .collection
            .start_timeout("renameCollection", options.timeout, self.session)?;
        let mut operation = Rename {
            from: self.collection.namespace(),
            to: &self.to,
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

awaitable!(['a] RenameCollection<'a> => ());

/// The `renameCollection` command, which is sent to the database `admin`.
struct Rename<'a> {
    from: &'a Namespace,
    to: &'a Namespace,
    options: &'a RenameCollectionOptions,
    write_concern: &'a WriteConcern,
}

impl Operation for Rename<'_> {
    type Output = ();

    fn properties(&self) -> Properties<'_> {
        Properties::administration("renameCollection", "admin", self.write_concern)
            .without_causal_consistency()
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.from.collection)
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        command.str("renameCollection", &self.from.to_string());
        command.str("to", &self.to.to_string());
        self.options.write(command, server);
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<()> {
        write_result::check_single(reply)
    }
}

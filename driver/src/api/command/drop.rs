//! `drop`: [`Collection::drop`] ([Collection Management]).
//!
//! [Collection Management]:
//! https://github.com/mongodb/specifications/blob/master/source/collection-management/collection-management.md

use super::{
    InSession, awaitable,
    common::timed_administration_options,
    declare::{define_options, option_setters},
    encrypted_collection::state_collections,
    session_setter,
    wire::WriteOptions,
};
use std::time::Duration;

use crate::{
    Collection, Error, Namespace, Result,
    api::collection::CollectionInner,
    bson::{Bson, IntoDocument, RawDocumentBuf, rawdoc},
    error::code::NAMESPACE_NOT_FOUND,
    operation::{Operation, OperationOverrides, Properties, ReplyContext, write_result},
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
    },
    types::{concern::WriteConcern, timeout::Timeout},
};

/// The options of `drop`. See `api/command/declare.rs`.
macro_rules! drop_collection_options {
    ($then:path { $($arguments:tt)* }) => {
        timed_administration_options! { $then { $($arguments)* }
            /// `encryptedFields` of a collection for Queryable Encryption: its state collections
            /// `enxcol_.<name>.esc` and `enxcol_.<name>.ecoc` are dropped first. Not sent. Default: none.
            encrypted_fields: document;
        }
    };
}

drop_collection_options! { define_options {
    /// Options of [`Collection::drop`].
    pub struct DropCollectionOptions;
} }

impl<T> Collection<T> {
    /// Drops the collection with its documents and indexes. Dropping a collection that does not
    /// exist succeeds.
    pub fn drop(&self) -> DropCollection<'_> {
        DropCollection {
            collection: self.inner(),
            options: DropCollectionOptions::default(),
            session: None,
        }
    }
}

/// Drops a collection. Await it; see [`Collection::drop`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct DropCollection<'a> {
    collection: &'a CollectionInner,
    options: DropCollectionOptions,
    session: InSession<'a>,
}

impl<'a> DropCollection<'a> {
    drop_collection_options! { option_setters { DropCollectionOptions } }

    session_setter!();

    async fn run(mut self) -> Result<()> {
        let options = &mut self.options;
        options.deferred.take_result()?;
        let timeout = self
            .collection
            .start_timeout("drop", options.timeout, self.session)?;
        let namespace = self.collection.namespace();
        if self.options.encrypted_fields.is_none()
            && let Some(encryption) = self.collection.executor().encryption()
        {
            // Boxed, because most clients do not encrypt.
            self.options.encrypted_fields = match encryption.encrypted_fields(namespace) {
                Some(fields) => Some(fields.to_owned()),
                None => Box::pin(self.fields_of_server(timeout)).await?,
            };
        }
        if let Some(fields) = &self.options.encrypted_fields {
            for name in state_collections(&namespace.collection, fields) {
                let namespace = Namespace::new(&namespace.database, name);
                // Boxed, because it is rare.
                Box::pin(self.drop(&namespace, timeout)).await?;
            }
        }
        self.drop(namespace, timeout).await
    }

    /// `encryptedFields` in the options of the collection on the server.
    async fn fields_of_server(&self, timeout: Timeout) -> Result<Option<RawDocumentBuf>> {
        let namespace = self.collection.namespace();
        let database = self.collection.client().database(&namespace.database);
        let filter = rawdoc! { "name": namespace.collection.as_str() };
        let mut list = database.list_collections().filter(filter);
        if let Some(left) = timeout.remaining() {
            list = list.timeout(left.max(Duration::from_millis(1)));
        }
        let Some(found) = list.await?.try_next().await? else {
            return Ok(None);
        };
        Ok(match found.options.get("encryptedFields") {
            Some(Bson::Document(fields)) => Some(fields.into_raw_document()?),
            _ => None,
        })
    }

    async fn drop(&self, namespace: &Namespace, timeout: Timeout) -> Result<()> {
        let mut operation = DropOperation {
            namespace,
            options: &self.options,
            write_concern: self
                .options
                .write_concern
                .as_deref()
                .unwrap_or(self.collection.write_concern()),
        };
        let executor = self.collection.executor();
        executor.run_in(self.session, timeout, &mut operation).await
    }
}

awaitable!(['a] DropCollection<'a> => ());

/// `drop`, which also succeeds if the collection does not exist.
struct DropOperation<'a> {
    namespace: &'a Namespace,
    options: &'a DropCollectionOptions,
    write_concern: &'a WriteConcern,
}

impl Operation for DropOperation<'_> {
    type Output = ();

    fn properties(&self) -> Properties<'_> {
        Properties::administration("drop", &self.namespace.database, self.write_concern)
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.namespace.collection)
    }

    fn operation_name(&self) -> &str {
        "dropCollection"
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        command.str("drop", &self.namespace.collection);
        self.options.write(command, server);
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<()> {
        write_result::check_single(reply)
    }

    /// Some servers return `NamespaceNotFound` for a collection that does not exist.
    fn recover(&mut self, error: Error) -> Result<()> {
        if error.code() == Some(NAMESPACE_NOT_FOUND) {
            Ok(())
        } else {
            Err(error)
        }
    }
}

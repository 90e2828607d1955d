//! `collMod`: [`Database::modify_collection`] ([Collection Management]).
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
    Database, Namespace, Result,
    operation::{Operation, OperationOverrides, Properties, ReplyContext, write_result},
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
    },
    types::concern::WriteConcern,
};

/// The options of `modify_collection`. See `api/command/declare.rs`.
macro_rules! modify_collection_options {
    ($then:path { $($arguments:tt)* }) => {
        administration_options! { $then { $($arguments)* }
            /// An index and its new options, e.g. `doc! { "name": "a_1", "hidden": true }`.
            /// Default: none.
            index: document = "index";
            /// The validation rules: a query, or a schema in `$jsonSchema`. Default: unchanged.
            validator: document = "validator";
            /// Which writes are validated: `off`, `strict` (all) or `moderate` (inserts, and
            /// updates of valid documents). Default: unchanged.
            validation_level: into String = "validationLevel";
            /// How invalid documents are handled: `error` (the write fails), `warn` (the server
            /// logs a warning) or `errorAndLog` (both, MongoDB 8.1+). Default: unchanged.
            validation_action: into String = "validationAction";
            /// The collection or view that a view reads. Requires `pipeline`. Default: unchanged.
            view_on: into String = "viewOn";
            /// The aggregation pipeline of a view, one document per stage. Default: unchanged.
            pipeline: documents = "pipeline";
            /// `expireAfterSeconds`: how long documents of a time series or clustered collection
            /// are kept. Fractions of a second are not sent. Default: unchanged.
            expire_after_seconds: plain std::time::Duration => write_expiry;
            /// Options of a time series collection, e.g. `doc! { "granularity": "hours" }`.
            /// Default: unchanged.
            timeseries: document = "timeseries";
            /// Whether change streams can return pre- and post-images, e.g. `doc! { "enabled": true
            /// }` (MongoDB 6.0+). Default: unchanged.
            change_stream_pre_and_post_images: document = "changeStreamPreAndPostImages";
        }
    };
}

modify_collection_options! { define_options {
    /// Options of [`Database::modify_collection`].
    pub struct ModifyCollectionOptions;
} }

impl Database {
    /// Changes options of a collection or view, or of an index (`collMod`). Options that are not
    /// set do not change.
    ///
    /// # Errors
    /// [`ErrorKind::Command`](crate::ErrorKind::Command) with code 26 (`NamespaceNotFound`) if the
    /// collection or view does not exist.
    pub fn modify_collection(&self, name: &str) -> ModifyCollection<'_> {
        ModifyCollection {
            database: self,
            namespace: Namespace::new(self.name(), name),
            options: ModifyCollectionOptions::default(),
            session: None,
        }
    }
}

/// Changes options of a collection. Await it; see [`Database::modify_collection`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct ModifyCollection<'a> {
    database: &'a Database,
    namespace: Namespace,
    options: ModifyCollectionOptions,
    session: InSession<'a>,
}

impl<'a> ModifyCollection<'a> {
    modify_collection_options! { option_setters { ModifyCollectionOptions } }

    session_setter!();

    async fn run(mut self) -> Result<()> {
        let options = &mut self.options;
        options.deferred.take_result()?;
        let timeout = self
            .database
            .start_timeout("collMod", options.timeout, self.session)?;
        let mut operation = CollMod {
            namespace: &self.namespace,
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

awaitable!(['a] ModifyCollection<'a> => ());

impl ModifyCollectionOptions {
    fn write_expiry(&self, command: &mut CommandBuilder<'_>, _server: &HelloReply) {
        if let Some(expiry) = self.expire_after_seconds {
            command.i64(
                "expireAfterSeconds",
                i64::try_from(expiry.as_secs()).unwrap_or(i64::MAX),
            );
        }
    }
}

/// Changes the options of a collection.
struct CollMod<'a> {
    namespace: &'a Namespace,
    options: &'a ModifyCollectionOptions,
    write_concern: &'a WriteConcern,
}

impl Operation for CollMod<'_> {
    type Output = ();

    fn properties(&self) -> Properties<'_> {
        Properties::administration("collMod", &self.namespace.database, self.write_concern)
            .without_causal_consistency()
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.namespace.collection)
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        command.str("collMod", &self.namespace.collection);
        self.options.write(command, server);
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<()> {
        write_result::check_single(reply)
    }
}

//! `create`: [`Database::create_collection`] ([Collection Management]).
//!
//! [Collection Management]: https://github.com/mongodb/specifications/blob/master/source/collection-management/collection-management.md

use super::{
    InSession, awaitable,
    common::administration_options,
    create_indexes::create_index,
    declare::{define_options, option_setters},
    encrypted_collection::{check_server, clustered_index, index_keys, state_collections},
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
    types::{concern::WriteConcern, timeout::Timeout},
};

/// The options of `create_collection`. See `api/command/declare.rs`.
macro_rules! create_collection_options {
    ($then:path { $($arguments:tt)* }) => {
        administration_options! { $then { $($arguments)* }
            /// Create a capped collection: a collection of fixed size whose oldest documents are
            /// overwritten. Requires `size`. Default: `false`.
            capped: plain bool = "capped";
            /// The maximum size of a capped collection in bytes. Default: none; required for a
            /// capped collection.
            size: plain u64 = "size";
            /// The maximum number of documents of a capped collection. Default: none.
            max: plain u64 = "max";
            /// Options of the storage engine. Default: the server's.
            storage_engine: document = "storageEngine";
            /// The validation rules: a query, or a schema in `$jsonSchema`. Default: none.
            validator: document = "validator";
            /// Which writes are validated: `off`, `strict` (all) or `moderate` (inserts, and
            /// updates of valid documents). Default: `strict`.
            validation_level: into String = "validationLevel";
            /// How invalid documents are handled: `error` (the write fails), `warn` (the server
            /// logs a warning) or `errorAndLog` (both, MongoDB 8.1+). Default: `error`.
            validation_action: into String = "validationAction";
            /// Create a view that reads the collection or view with this name. Default: none,
            /// create a collection.
            view_on: into String = "viewOn";
            /// The aggregation pipeline of a view, one document per stage. Default: empty.
            pipeline: documents = "pipeline";
            /// The default collation of the collection. Default: binary comparison.
            collation: boxed crate::options::Collation = "collation";
            /// `expireAfterSeconds`: how long documents of a time series or clustered collection
            /// are kept. Fractions of a second are not sent. Default: no limit.
            expire_after_seconds: plain std::time::Duration => write_expiry;
            /// Create a time series collection with these options (MongoDB 5.0+), e.g.
            /// `doc! { "timeField": "at", "metaField": "sensor" }`. Default: none.
            timeseries: document = "timeseries";
            /// Create a clustered collection with this index (MongoDB 5.3+), e.g.
            /// `doc! { "key": { "_id": 1 }, "unique": true }`. Default: none.
            clustered_index: document = "clusteredIndex";
            /// Whether change streams can return pre- and post-images, e.g.
            /// `doc! { "enabled": true }` (MongoDB 6.0+). Default: disabled.
            change_stream_pre_and_post_images: document = "changeStreamPreAndPostImages";
            /// The default options of the collection's indexes: `doc! { "storageEngine": … }`.
            /// Default: the server's.
            index_option_defaults: document = "indexOptionDefaults";
            /// Create a collection for Queryable Encryption with these fields (MongoDB 7.0+), and the
            /// collections and the index that it needs: `enxcol_.<name>.esc`, `enxcol_.<name>.ecoc`, and
            /// an index on `__safeContent__`. Default: none.
            encrypted_fields: document = "encryptedFields";
        }
    };
}

create_collection_options! { define_options {
    /// Options of [`Database::create_collection`].
    pub struct CreateCollectionOptions;
} }

impl Database {
    /// Creates a collection or view with this name. A collection without options need not be
    /// created: the first insert creates it.
    ///
    /// # Errors
    /// [`ErrorKind::Command`](crate::ErrorKind::Command) with code 48 (`NamespaceExists`) if a
    /// collection or view with this name exists. A mongos, and every server since MongoDB 7.0,
    /// reports success if its options are the same.
    ///
    /// ```no_run
    /// # async fn run(shop: marula_driver::Database) -> marula_driver::Result<()> {
    /// use marula_driver::bson::doc;
    /// shop.create_collection("log").capped(true).size(1 << 20).await?;
    /// shop.create_collection("open_orders")
    ///     .view_on("orders")
    ///     .pipeline([doc! { "$match": { "state": "open" } }])
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn create_collection(&self, name: &str) -> CreateCollection<'_> {
        CreateCollection {
            database: self,
            namespace: Namespace::new(self.name(), name),
            options: CreateCollectionOptions::default(),
            session: self.session(),
        }
    }
}

/// Creates a collection or view. Await it; see [`Database::create_collection`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct CreateCollection<'a> {
    database: &'a Database,
    namespace: Namespace,
    options: CreateCollectionOptions,
    session: InSession<'a>,
}

impl<'a> CreateCollection<'a> {
    create_collection_options! { option_setters { CreateCollectionOptions } }

    session_setter!();

    async fn run(mut self) -> Result<()> {
        let options = &mut self.options;
        options.deferred.take_result()?;
        let timeout = self
            .database
            .start_timeout("create", options.timeout, self.session)?;
        if self.options.encrypted_fields.is_none()
            && let Some(encryption) = self.database.client().executor().encryption()
            && let Some(fields) = encryption.encrypted_fields(&self.namespace)
        {
            self.options.encrypted_fields = Some(fields.to_owned());
        }
        if self.options.encrypted_fields.is_some() {
            // Boxed, because it is rare.
            return Box::pin(self.create_encrypted(timeout)).await;
        }
        self.create(&self.namespace, &self.options, false, timeout).await
    }

    /// Creates the state collections, the collection and its index. A failure ends it: what was created remains.
    async fn create_encrypted(&self, timeout: Timeout) -> Result<()> {
        let Some(fields) = &self.options.encrypted_fields else {
            return Ok(());
        };
        for name in state_collections(&self.namespace.collection, fields) {
            let mut options = CreateCollectionOptions::default().clustered_index(clustered_index());
            options.write_concern.clone_from(&self.options.write_concern);
            let namespace = Namespace::new(self.database.name(), name);
            self.create(&namespace, &options, true, timeout).await?;
        }
        self.create(&self.namespace, &self.options, true, timeout).await?;
        let executor = self.database.client().executor();
        let (namespace, write_concern) = (&self.namespace, self.concern_of(&self.options));
        let keys = index_keys();
        create_index(executor, namespace, keys, write_concern, self.session, timeout).await
    }

    fn concern_of<'o>(&'o self, options: &'o CreateCollectionOptions) -> &'o WriteConcern {
        let inherited = &self.database.concerns().write_concern;
        options.write_concern.as_deref().unwrap_or(inherited)
    }

    async fn create(
        &self,
        namespace: &Namespace,
        options: &CreateCollectionOptions,
        is_for_encryption: bool,
        timeout: Timeout,
    ) -> Result<()> {
        let mut operation = Create {
            namespace,
            options,
            write_concern: self.concern_of(options),
            is_for_encryption,
        };
        let executor = self.database.client().executor();
        executor.run_in(self.session, timeout, &mut operation).await
    }
}

awaitable!(['a] CreateCollection<'a> => ());

impl CreateCollectionOptions {
    fn write_expiry(&self, command: &mut CommandBuilder<'_>, _server: &HelloReply) {
        if let Some(expiry) = self.expire_after_seconds {
            command.i64(
                "expireAfterSeconds",
                i64::try_from(expiry.as_secs()).unwrap_or(i64::MAX),
            );
        }
    }
}

/// The `create` command.
struct Create<'a> {
    namespace: &'a Namespace,
    options: &'a CreateCollectionOptions,
    write_concern: &'a WriteConcern,
    /// Whether it is one of the collections of Queryable Encryption.
    is_for_encryption: bool,
}

impl Operation for Create<'_> {
    type Output = ();

    fn properties(&self) -> Properties<'_> {
        Properties::administration("create", &self.namespace.database, self.write_concern)
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.namespace.collection)
    }

    fn operation_name(&self) -> &str {
        "createCollection"
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        if self.is_for_encryption {
            check_server(server)?;
        }
        command.str("create", &self.namespace.collection);
        self.options.write(command, server);
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<()> {
        write_result::check_single(reply)
    }
}

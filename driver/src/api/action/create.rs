//! `create_collection`.

use std::time::Duration;

use super::{Deferred, InSession, awaitable, session_setter, setters};
use crate::{
    Database, Namespace, Result,
    bson::{Bson, IntoDocument},
    operation::create::{Create, CreateOptions},
    types::collation::Collation,
};

/// Creates a collection. Await it; see [`Database::create_collection`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct CreateCollection<'a> {
    database: &'a Database,
    namespace: Namespace,
    options: CreateOptions,
    deferred: Deferred,
    session: InSession<'a>,
}

impl<'a> CreateCollection<'a> {
    pub(crate) fn new(database: &'a Database, name: &str) -> Self {
        Self {
            database,
            namespace: Namespace::new(database.name(), name),
            options: CreateOptions::default(),
            deferred: Deferred::default(),
            session: None,
        }
    }

    setters! {
        /// Keep a fixed size and overwrite the oldest documents; needs `size`.
        capped: plain = bool;
        /// Bytes of a capped collection.
        size: plain = u64;
        /// Most documents of a capped collection.
        max: plain = u64;
        /// Options of the storage engine.
        storage_engine: document;
        /// A filter or `$jsonSchema` that documents must match.
        validator: document;
        /// `off`, `strict` or `moderate`.
        validation_level: value = String;
        /// `error` or `warn`.
        validation_action: value = String;
        /// The collection a view shows.
        view_on: value = String;
        /// How strings compare in the collection, unless an operation says otherwise.
        collation: value = Collation;
        /// When documents of a time series or clustered collection expire; whole seconds.
        expire_after_seconds: plain = Duration;
        /// Makes a time series collection.
        timeseries: document;
        /// Makes a clustered collection.
        clustered_index: document;
        /// Whether change streams can show documents as they were and became.
        change_stream_pre_and_post_images: document;
        /// Defaults of the collection's indexes.
        index_option_defaults: document;
        /// A note that shows up in the server's logs and profiler.
        comment: value = Bson;
    }

    /// The pipeline of a view.
    pub fn pipeline<D: IntoDocument>(mut self, stages: impl IntoIterator<Item = D>) -> Self {
        self.options.pipeline = Some(self.deferred.documents("pipeline", stages));
        self
    }

    session_setter!();

    async fn run(self) -> Result<()> {
        self.deferred.into_result()?;
        let mut operation = Create {
            namespace: &self.namespace,
            options: &self.options,
            write_concern: &self.database.concerns().write_concern,
        };
        self.database
            .client()
            .executor()
            .run_in(self.session, &mut operation)
            .await
    }
}

awaitable!(['a] CreateCollection<'a> => ());

//! `modify_collection` and `rename`.

use std::time::Duration;

use super::{Deferred, InSession, awaitable, session_setter, setters};
use crate::{
    Database, Namespace, Result,
    api::collection::CollectionInner,
    bson::{Bson, IntoDocument},
    operation::modify_collection::{Modify, ModifyOptions, Rename, RenameOptions},
};

/// Changes a collection. Await it; see [`Database::modify_collection`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct ModifyCollection<'a> {
    database: &'a Database,
    namespace: Namespace,
    options: ModifyOptions,
    session: InSession<'a>,
    deferred: Deferred,
}

impl<'a> ModifyCollection<'a> {
    pub(crate) fn new(database: &'a Database, name: &str) -> Self {
        Self {
            database,
            namespace: Namespace::new(database.name(), name),
            options: ModifyOptions::default(),
            session: None,
            deferred: Deferred::default(),
        }
    }

    setters! {
        /// Which index to change and how, e.g. `doc! { "name": "a_1", "hidden": true }`.
        index: document;
        /// A filter or `$jsonSchema` that documents must match.
        validator: document;
        /// `off`, `strict` or `moderate`.
        validation_level: value = String;
        /// `error` or `warn`.
        validation_action: value = String;
        /// The collection a view shows.
        view_on: value = String;
        /// When documents of a time series or clustered collection expire; whole seconds.
        expire_after_seconds: plain = Duration;
        /// The granularity of a time series collection.
        timeseries: document;
        /// Whether change streams can show documents as they were and became.
        change_stream_pre_and_post_images: document;
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
        let mut operation = Modify {
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

/// Renames a collection. Await it; see [`Collection::rename`](crate::Collection::rename).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct RenameCollection<'a> {
    collection: &'a CollectionInner,
    to: Namespace,
    options: RenameOptions,
    session: InSession<'a>,
}

impl<'a> RenameCollection<'a> {
    pub(crate) fn new(collection: &'a CollectionInner, to: Namespace) -> Self {
        Self {
            collection,
            to,
            options: RenameOptions::default(),
            session: None,
        }
    }

    setters! {
        /// Drop a collection that has the new name. Without it, that is error 48 (NamespaceExists).
        drop_target: plain = bool;
        /// A note that shows up in the server's logs and profiler.
        comment: value = Bson;
    }

    session_setter!();

    async fn run(self) -> Result<()> {
        let mut operation = Rename {
            from: self.collection.namespace(),
            to: &self.to,
            options: &self.options,
            write_concern: self.collection.write_concern(),
        };
        self.collection
            .executor()
            .run_in(self.session, &mut operation)
            .await
    }
}

awaitable!(['a] ModifyCollection<'a> => ());
awaitable!(['a] RenameCollection<'a> => ());

//! Dropping collections, databases and indexes.

use std::time::Duration;

use super::{InSession, awaitable, session_setter, setters};
use crate::{
    Database, Result,
    api::collection::CollectionInner,
    bson::Bson,
    operation::drop::{Drop, DropOptions, What},
};

macro_rules! common_setters {
    () => {
        setters! {
            /// How long the server may work on the operation; it then answers with code 50.
            /// Zero means no limit, even where the cluster has a default limit (`defaultMaxTimeMS`).
            max_time: plain = Duration;
            /// A note that shows up in the server's logs and profiler.
            comment: value = Bson;
        }
    };
}

/// Drops a collection. Await it; see [`Collection::drop`](crate::Collection::drop).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct DropCollection<'a> {
    collection: &'a CollectionInner,
    options: DropOptions,
    session: InSession<'a>,
}

impl<'a> DropCollection<'a> {
    pub(crate) fn new(collection: &'a CollectionInner) -> Self {
        Self {
            collection,
            options: DropOptions::default(),
            session: None,
        }
    }

    common_setters!();

    session_setter!();

    async fn run(self) -> Result<()> {
        let mut operation = Drop {
            what: What::Collection(self.collection.namespace()),
            options: &self.options,
            write_concern: self.collection.write_concern(),
        };
        self.collection
            .executor()
            .run_in(self.session, &mut operation)
            .await
    }
}

/// Drops indexes. Await it; see [`Collection::drop_index`](crate::Collection::drop_index).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct DropIndex<'a> {
    collection: &'a CollectionInner,
    name: String,
    all: bool,
    options: DropOptions,
    session: InSession<'a>,
}

impl<'a> DropIndex<'a> {
    /// `*` stands for all indexes, so a single index of that name is refused.
    pub(crate) fn new(collection: &'a CollectionInner, name: String, all: bool) -> Self {
        Self {
            collection,
            name,
            all,
            options: DropOptions::default(),
            session: None,
        }
    }

    common_setters!();
    setters! {
        /// For MongoDB's own tools: work on the collection's storage as it is (server 8.2). Older servers are not told.
        #[doc(hidden)]
        raw_data: plain = bool;
    }

    session_setter!();

    async fn run(self) -> Result<()> {
        if !self.all && (self.name.is_empty() || self.name == "*") {
            return Err(crate::Error::invalid_argument(format!(
                "\"{}\" is no index name; use drop_indexes to drop all",
                self.name
            )));
        }
        let mut operation = Drop {
            what: What::Index(self.collection.namespace(), &self.name),
            options: &self.options,
            write_concern: self.collection.write_concern(),
        };
        self.collection
            .executor()
            .run_in(self.session, &mut operation)
            .await
    }
}

/// Drops a database. Await it; see [`Database::drop`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct DropDatabase<'a> {
    database: &'a Database,
    options: DropOptions,
    session: InSession<'a>,
}

impl<'a> DropDatabase<'a> {
    pub(crate) fn new(database: &'a Database) -> Self {
        Self {
            database,
            options: DropOptions::default(),
            session: None,
        }
    }

    common_setters!();

    session_setter!();

    async fn run(self) -> Result<()> {
        let mut operation = Drop {
            what: What::Database(self.database.name()),
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

awaitable!(['a] DropCollection<'a> => ());
awaitable!(['a] DropIndex<'a> => ());
awaitable!(['a] DropDatabase<'a> => ());

//! Creating and listing indexes.

use std::{marker::PhantomData, time::Duration};

use super::{InSession, awaitable, session_setter, setters};
use crate::{
    Cursor, IndexModel, Result,
    api::collection::CollectionInner,
    bson::Bson,
    operation::{
        create_indexes::{self, CreateIndexesOptions},
        list::{self, ListOptions},
    },
};

/// Creates indexes. Await it for their names; see [`Collection::create_indexes`](crate::Collection::create_indexes).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct CreateIndexes<'a> {
    collection: &'a CollectionInner,
    models: Vec<IndexModel>,
    options: CreateIndexesOptions,
    session: InSession<'a>,
}

/// Creates one index. Await it for its name; see [`Collection::create_index`](crate::Collection::create_index).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct CreateIndex<'a>(CreateIndexes<'a>);

impl<'a> CreateIndexes<'a> {
    pub(crate) fn new(collection: &'a CollectionInner, models: Vec<IndexModel>) -> Self {
        Self {
            collection,
            models,
            options: CreateIndexesOptions::default(),
            session: None,
        }
    }

    setters! {
        /// For MongoDB's own tools: work on the collection's storage as it is (server 8.2). Older servers are not told.
        #[doc(hidden)]
        raw_data: plain = bool;
        /// How long the server may work on the operation; it then answers with code 50.
        /// Zero means no limit, even where the cluster has a default limit (`defaultMaxTimeMS`).
        max_time: plain = Duration;
        /// How many members must be ready before the index is: a number, or `votingMembers`.
        commit_quorum: value = Bson;
        /// A note that shows up in the server's logs and profiler.
        comment: value = Bson;
    }

    session_setter!();

    async fn run(self) -> Result<Vec<String>> {
        let mut operation = create_indexes::CreateIndexes {
            namespace: self.collection.namespace(),
            models: &self.models,
            options: &self.options,
            write_concern: self.collection.write_concern(),
        };
        self.collection
            .executor()
            .run_in(self.session, &mut operation)
            .await
    }
}

impl<'a> CreateIndex<'a> {
    pub(crate) fn new(collection: &'a CollectionInner, model: IndexModel) -> Self {
        Self(CreateIndexes::new(collection, vec![model]))
    }

    /// As [`CreateIndexes::max_time`].
    pub fn max_time(self, value: Duration) -> Self {
        Self(self.0.max_time(value))
    }

    /// As [`CreateIndexes::commit_quorum`].
    pub fn commit_quorum(self, value: impl Into<Bson>) -> Self {
        Self(self.0.commit_quorum(value))
    }

    /// As [`CreateIndexes::comment`].
    pub fn comment(self, value: impl Into<Bson>) -> Self {
        Self(self.0.comment(value))
    }

    /// As [`CreateIndexes::raw_data`].
    #[doc(hidden)]
    pub fn raw_data(self, value: bool) -> Self {
        Self(self.0.raw_data(value))
    }

    /// Runs in this session, and not in one of the operation's own.
    pub fn session(self, session: &'a mut crate::ClientSession) -> Self {
        Self(self.0.session(session))
    }

    async fn run(self) -> Result<String> {
        Ok(self.0.run().await?.pop().unwrap_or_default())
    }
}

/// Lists indexes. Await it for a [`Cursor`]; see [`Collection::list_indexes`](crate::Collection::list_indexes).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct ListIndexes<'a, T = IndexModel> {
    collection: &'a CollectionInner,
    options: ListOptions,
    output: PhantomData<fn() -> T>,
    session: InSession<'a>,
}

impl<'a> ListIndexes<'a> {
    pub(crate) fn new(collection: &'a CollectionInner) -> Self {
        Self {
            collection,
            options: ListOptions::default(),
            output: PhantomData,
            session: None,
        }
    }
}

impl<'a, T> ListIndexes<'a, T> {
    setters! {
        /// For MongoDB's own tools: work on the collection's storage as it is (server 8.2). Older servers are not told.
        #[doc(hidden)]
        raw_data: plain = bool;
        /// How many indexes the server sends at a time.
        batch_size: plain = u32;
        /// A note that shows up in the server's logs and profiler.
        comment: value = Bson;
    }

    /// Decodes the specifications as `U`, e.g. as [`Document`](crate::bson::Document) to see every field.
    pub fn with_type<U>(self) -> ListIndexes<'a, U> {
        ListIndexes {
            collection: self.collection,
            options: self.options,
            output: PhantomData,
            session: self.session,
        }
    }

    session_setter!();

    async fn run(self) -> Result<Cursor<T>> {
        let mut operation = list::ListIndexes {
            namespace: self.collection.namespace(),
            options: &self.options,
            read_preference: crate::types::read_preference::PRIMARY,
        };
        let reply = self
            .collection
            .executor()
            .run_in(self.session, &mut operation)
            .await?;
        let client = self.collection.client();
        Ok(match reply {
            Some(reply) => Cursor::new(client, reply, self.options.batch_size, self.options.comment)
                .in_session(self.session),
            None => Cursor::empty(client, self.collection.namespace().clone()),
        })
    }
}

/// Lists the names of indexes. Await it; see
/// [`Collection::list_index_names`](crate::Collection::list_index_names).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct ListIndexNames<'a>(ListIndexes<'a>);

impl<'a> ListIndexNames<'a> {
    pub(crate) fn new(collection: &'a CollectionInner) -> Self {
        Self(ListIndexes::new(collection))
    }

    /// Runs in this session, and not in one of the operation's own.
    pub fn session(self, session: &'a mut crate::ClientSession) -> Self {
        Self(self.0.session(session))
    }

    async fn run(self) -> Result<Vec<String>> {
        #[derive(serde::Deserialize)]
        struct Named {
            name: String,
        }
        let mut cursor = self.0.with_type::<Named>().run().await?;
        let mut names = Vec::new();
        while let Some(index) = cursor.try_next().await? {
            names.push(index.name);
        }
        Ok(names)
    }
}

awaitable!(['a] CreateIndexes<'a> => Vec<String>);
awaitable!(['a] CreateIndex<'a> => String);
awaitable!(['a, T: 'a] ListIndexes<'a, T> => Cursor<T>);
awaitable!(['a] ListIndexNames<'a> => Vec<String>);

//! Listing collections and databases.

use super::{Deferred, InSession, awaitable, session_setter, setters};
use crate::{
    Client, Cursor, Database, Result,
    bson::{Bson, IntoDocument},
    operation::list::{self, CollectionSpecification, DatabaseSpecification, ListOptions},
    types::read_preference::PRIMARY,
};

macro_rules! common_setters {
    () => {
        setters! {
            /// Lists only what matches, e.g. `doc! { "name": "orders" }`.
            filter: document;
            /// A note that shows up in the server's logs and profiler.
            comment: value = Bson;
        }
    };
}

/// Lists collections. Await it for a [`Cursor`]; see [`Database::list_collections`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct ListCollections<'a> {
    database: &'a Database,
    options: ListOptions,
    deferred: Deferred,
    session: InSession<'a>,
}

impl<'a> ListCollections<'a> {
    pub(crate) fn new(database: &'a Database) -> Self {
        Self {
            database,
            options: ListOptions::default(),
            deferred: Deferred::default(),
            session: None,
        }
    }

    common_setters!();
    setters! {
        /// For MongoDB's own tools: work on the collection's storage as it is (server 8.2). Older servers are not told.
        #[doc(hidden)]
        raw_data: plain = bool;
        /// How many collections the server sends at a time.
        batch_size: plain = u32;
    }

    /// List only collections the user may read, for users who may not list all. The server asks for it together with a
    /// list of names alone: see [`ListCollectionNames::authorized_collections`].
    pub fn authorized_collections(mut self, value: bool) -> Self {
        self.options.authorized = Some(value);
        self
    }

    session_setter!();

    async fn run(self) -> Result<Cursor<CollectionSpecification>> {
        self.deferred.into_result()?;
        let mut operation = list::ListCollections {
            database: self.database.name(),
            options: &self.options,
            read_preference: PRIMARY,
        };
        let client = self.database.client();
        let reply = client.executor().run_in(self.session, &mut operation).await?;
        Ok(
            Cursor::new(client, reply, self.options.batch_size, self.options.comment)
                .in_session(self.session),
        )
    }
}

/// Lists the names of collections. Await it; see [`Database::list_collection_names`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct ListCollectionNames<'a> {
    database: &'a Database,
    options: ListOptions,
    deferred: Deferred,
    session: InSession<'a>,
}

impl<'a> ListCollectionNames<'a> {
    pub(crate) fn new(database: &'a Database) -> Self {
        Self {
            database,
            options: ListOptions::default(),
            deferred: Deferred::default(),
            session: None,
        }
    }

    common_setters!();

    /// List only collections the user may read, for users who may not list all.
    pub fn authorized_collections(mut self, value: bool) -> Self {
        self.options.authorized = Some(value);
        self
    }

    session_setter!();

    async fn run(mut self) -> Result<Vec<String>> {
        // A filter on anything but the name needs the whole specification.
        let by_name_only = self.options.filter.as_ref().is_none_or(|filter| {
            filter
                .iter()
                .all(|element| matches!(element, Ok((key, _)) if key.as_str() == "name"))
        });
        self.options.name_only = by_name_only.then_some(true);
        let mut cursor = ListCollections {
            database: self.database,
            options: self.options,
            deferred: self.deferred,
            session: self.session,
        }
        .run()
        .await?;
        let mut names = Vec::new();
        while let Some(collection) = cursor.try_next().await? {
            names.push(collection.name);
        }
        Ok(names)
    }
}

/// Lists databases. Await it; see [`Client::list_databases`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct ListDatabases<'a> {
    client: &'a Client,
    options: ListOptions,
    deferred: Deferred,
    session: InSession<'a>,
}

impl<'a> ListDatabases<'a> {
    pub(crate) fn new(client: &'a Client) -> Self {
        Self {
            client,
            options: ListOptions::default(),
            deferred: Deferred::default(),
            session: None,
        }
    }

    common_setters!();

    /// List only databases the user may see.
    pub fn authorized_databases(mut self, value: bool) -> Self {
        self.options.authorized = Some(value);
        self
    }

    session_setter!();

    async fn run(self) -> Result<Vec<DatabaseSpecification>> {
        self.deferred.into_result()?;
        let mut operation = list::ListDatabases {
            options: &self.options,
            read_preference: PRIMARY,
        };
        self.client.executor().run_in(self.session, &mut operation).await
    }
}

/// Lists the names of databases. Await it; see [`Client::list_database_names`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct ListDatabaseNames<'a>(ListDatabases<'a>);

impl<'a> ListDatabaseNames<'a> {
    pub(crate) fn new(client: &'a Client) -> Self {
        let mut list = ListDatabases::new(client);
        list.options.name_only = Some(true);
        Self(list)
    }

    /// Lists only what matches.
    pub fn filter(self, filter: impl IntoDocument) -> Self {
        Self(self.0.filter(filter))
    }

    /// Runs in this session, and not in one of the operation's own.
    pub fn session(self, session: &'a mut crate::ClientSession) -> Self {
        Self(self.0.session(session))
    }

    async fn run(self) -> Result<Vec<String>> {
        let databases = self.0.run().await?;
        Ok(databases.into_iter().map(|database| database.name).collect())
    }
}

awaitable!(['a] ListCollections<'a> => Cursor<CollectionSpecification>);
awaitable!(['a] ListCollectionNames<'a> => Vec<String>);
awaitable!(['a] ListDatabases<'a> => Vec<DatabaseSpecification>);
awaitable!(['a] ListDatabaseNames<'a> => Vec<String>);

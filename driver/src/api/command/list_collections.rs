//! `listCollections`: [`Database::list_collections`] and [`Database::list_collection_names`]
//! ([Enumerating Collections]).
//!
//! [Enumerating Collections]: https://github.com/mongodb/specifications/blob/master/source/enumerate-collections.md

use serde::{Deserialize, Deserializer, de::Error as _};

use super::{
    InSession, awaitable,
    declare::{define_options, option_setters},
    name_in, session_setter,
    wire::WriteOptions,
};
use crate::{
    Cursor, Database, Result,
    api::cursor::CursorTimeoutOptions,
    bson::{Document, exact},
    operation::{
        Operation, OperationOverrides, Properties, ReplyContext,
        cursor::{self, CursorReply},
    },
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        timeout::MaxTime,
    },
    types::{
        read_preference::PRIMARY,
        stored_fields::{StoredFields, document, text},
    },
};

/// A collection or view in the reply to `listCollections`.
///
/// A field other than the name has its default value if it was stored with another type.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct CollectionSpecification {
    /// The name, without that of the database.
    pub name: String,
    /// `type`: `collection`, `view` or `timeseries`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The options of the collection, as given to `create`. For a view: `viewOn` and `pipeline`.
    pub options: Document,
    /// The UUID of the collection (`uuid`), and whether it is read-only (`readOnly`).
    pub info: Document,
    /// The specification of the index on `_id`. `None` for views.
    #[serde(rename = "idIndex", skip_serializing_if = "Option::is_none")]
    pub id_index: Option<Document>,
}

impl<'de> Deserialize<'de> for CollectionSpecification {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let mut fields = StoredFields::new(exact::deserialize(deserializer)?);
        let name = fields.take("name", text);
        Ok(Self {
            name: name.ok_or_else(|| D::Error::custom("a collection has no string \"name\""))?,
            kind: fields.take("type", text).unwrap_or_default(),
            options: fields.take("options", document).unwrap_or_default(),
            info: fields.take("info", document).unwrap_or_default(),
            id_index: fields.take("idIndex", document),
        })
    }
}

/// The options of `list_collections`. See `api/command/declare.rs`.
macro_rules! list_collections_options {
    ($then:path { $($arguments:tt)* }) => {
        $then! { { $($arguments)* }
            /// Return only the collections that match, e.g. `doc! { "name": "orders" }`. Default:
            /// all.
            filter: document = "filter";
            /// Return only the collections that the user has privileges on, for users without the
            /// privilege to list all. The server applies it only to lists of names, as
            /// [`Database::list_collection_names`](crate::Database::list_collection_names) returns.
            /// Default: `false`.
            authorized_collections: plain bool = "authorizedCollections";
            /// The number of collections per batch. Default: the server's.
            [cursor] batch_size: plain u32;
            /// How the timeout applies to the cursor. An error without a timeout. Default:
            /// `CursorLifetime`.
            [cursor] timeout_mode: plain crate::options::TimeoutMode;
            /// A comment that appears in the server's log, in the profiler and in `currentOp`
            /// (MongoDB 4.4+). Default: none.
            comment: boxed crate::bson::Bson = "comment";
            /// `timeoutMS`: the time limit for the whole operation, including server selection and
            /// retries. It replaces all other time limits of the operation. Zero means no limit.
            /// Default: that of the database.
            timeout: plain std::time::Duration;
            /// Read the raw storage of the collection (MongoDB 8.2+; ignored by older servers). For
            /// MongoDB's own tools.
            #[doc(hidden)]
            [cursor driver] raw_data: plain bool = "rawData" since is_8_2;
        }
    };
}

list_collections_options! { define_options {
    /// Options of [`Database::list_collections`] and [`Database::list_collection_names`].
    pub struct ListCollectionsOptions;
} }

impl Database {
    /// Lists the collections and views of the database with their options. Awaiting the action
    /// returns a [`Cursor`], which is empty if the database does not exist. Does not use the read
    /// preference of the database: runs on the primary, unless `directConnection` selects another
    /// server.
    pub fn list_collections(&self) -> ListCollections<'_> {
        ListCollections {
            database: self,
            options: ListCollectionsOptions::default(),
            session: None,
        }
    }

    /// Lists the names of the collections and views of the database. Does not use the read
    /// preference of the database: runs on the primary, unless `directConnection` selects another
    /// server.
    pub fn list_collection_names(&self) -> ListCollectionNames<'_> {
        ListCollectionNames {
            database: self,
            options: ListCollectionsOptions::default(),
            session: None,
        }
    }
}

/// Lists collections. Await it for a [`Cursor`] of [`CollectionSpecification`]s; see
/// [`Database::list_collections`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct ListCollections<'a> {
    database: &'a Database,
    options: ListCollectionsOptions,
    session: InSession<'a>,
}

impl<'a> ListCollections<'a> {
    list_collections_options! { option_setters { ListCollectionsOptions } }

    session_setter!();

    async fn run(self) -> Result<Cursor<CollectionSpecification>> {
        list(self.database, self.options, false, self.session).await
    }
}

awaitable!(['a] ListCollections<'a> => Cursor<CollectionSpecification>);

/// Lists the names of collections. Await it for a [`Vec`] of names; see
/// [`Database::list_collection_names`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct ListCollectionNames<'a> {
    database: &'a Database,
    options: ListCollectionsOptions,
    session: InSession<'a>,
}

impl<'a> ListCollectionNames<'a> {
    list_collections_options! { option_setters { ListCollectionsOptions without cursor } }

    session_setter!();

    async fn run(self) -> Result<Vec<String>> {
        // `nameOnly` would omit the fields that other filters need (Enumerating Collections,
        // "Getting Collection Names").
        let name_only = self.options.filter.as_ref().is_none_or(|filter| {
            filter
                .iter()
                .all(|element| matches!(element, Ok((key, _)) if key.as_str() == "name"))
        });
        let mut cursor = list(self.database, self.options, name_only, self.session).await?;
        let mut names = Vec::new();
        while cursor.advance().await? {
            names.push(name_in(cursor.current_bytes()?, "listCollections")?);
        }
        Ok(names)
    }
}

awaitable!(['a] ListCollectionNames<'a> => Vec<String>);

async fn list(
    database: &Database,
    mut options: ListCollectionsOptions,
    name_only: bool,
    session: InSession<'_>,
) -> Result<Cursor<CollectionSpecification>> {
    options.deferred.take_result()?;
    let timeout = CursorTimeoutOptions {
        mode: options.timeout_mode,
        ..database.cursor_timeout("listCollections", session, options.timeout)?
    }
    .start(session)?;
    let mut operation = ListCollectionsOperation {
        database: database.name(),
        name_only,
        options: &options,
        has_max_time: timeout.has_max_time(),
    };
    let client = database.client();
    let reply = client
        .executor()
        .run_in(session, timeout.of_operation(), &mut operation)
        .await?;
    // The server keeps the comment for each getMore (Enumerating Collections, "comment").
    Ok(Cursor::new(client, reply, options.batch_size, None)
        .in_session(session)
        .with_time_limit(timeout))
}

/// `listCollections` on the primary (Enumerating Collections, "Replica Sets").
struct ListCollectionsOperation<'a> {
    database: &'a str,
    name_only: bool,
    options: &'a ListCollectionsOptions,
    has_max_time: bool,
}

impl Operation for ListCollectionsOperation<'_> {
    type Output = CursorReply;

    fn properties(&self) -> Properties<'_> {
        Properties::read("listCollections", self.database, PRIMARY).without_causal_consistency()
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        command.i32("listCollections", 1);
        if self.name_only {
            command.bool("nameOnly", true);
        }
        cursor::write_cursor(command, self.options.batch_size);
        self.options.write(command, server);
        Ok(())
    }

    fn max_time(&self) -> MaxTime {
        MaxTime::of_operation(self.has_max_time)
    }

    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<CursorReply> {
        cursor::parse(reply, context)
    }

    fn cursor(output: &mut CursorReply) -> Option<&mut CursorReply> {
        Some(output)
    }
}

//! `listDatabases`: [`Client::list_databases`] and [`Client::list_database_names`] ([Enumerating
//! Databases]).
//!
//! [Enumerating Databases]:
//! https://github.com/mongodb/specifications/blob/master/source/enumerate-databases.md

use serde::{Deserialize, Deserializer, de::Error as _};

use super::{
    InSession, awaitable,
    declare::{define_options, option_setters},
    name_in, session_setter,
    wire::WriteOptions,
};
use crate::{
    Client, Error, Result,
    bson::{Bson, RawElements, exact, find_element, from_slice},
    operation::{Operation, OperationOverrides, Properties, ReplyContext},
    proto::{
        command::{CommandBuilder, Reply, array_bytes, document_bytes},
        description::HelloReply,
    },
    types::{
        read_preference::PRIMARY,
        stored_fields::{StoredFields, boolean, float, text},
    },
};

/// A database in the reply to `listDatabases`.
///
/// A field other than the name has its default value if the server returns another type.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DatabaseSpecification {
    /// The name of the database.
    pub name: String,
    /// `sizeOnDisk`: the total size of the files of the database, in bytes. 0 in a reply with
    /// `nameOnly`.
    pub size_on_disk: i64,
    /// Whether the database contains no data. `false` in a reply with `nameOnly`.
    pub empty: bool,
}

impl<'de> Deserialize<'de> for DatabaseSpecification {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let mut fields = StoredFields::new(exact::deserialize(deserializer)?);
        let name = fields.take("name", text);
        Ok(Self {
            name: name.ok_or_else(|| D::Error::custom("a database has no string \"name\""))?,
            size_on_disk: fields.take("sizeOnDisk", int64).unwrap_or_default(),
            empty: fields.take("empty", boolean).unwrap_or_default(),
        })
    }
}

/// A number, without its fraction.
fn int64(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int64(number) => Some(*number),
        _ => float(value).map(|number| number as i64),
    }
}

/// The options of `list_databases`. See `api/command/declare.rs`.
macro_rules! list_databases_options {
    ($then:path { $($arguments:tt)* }) => {
        $then! { { $($arguments)* }
            /// Return only the databases that match, e.g. `doc! { "name": "shop" }`. Default: all.
            filter: document = "filter";
            /// `true`: return only the databases that the user has privileges on. `false`: return
            /// all; an error if the user does not have the privilege to list all. Default: as
            /// `false` for users with that privilege, as `true` for others.
            authorized_databases: plain bool = "authorizedDatabases";
            /// A comment that appears in the server's log, in the profiler and in `currentOp`
            /// (MongoDB 4.4+). Default: none.
            comment: boxed crate::bson::Bson = "comment";
            /// `timeoutMS`: the time limit for the whole operation, including server selection and
            /// retries. It replaces all other time limits of the operation. Zero means no limit.
            /// Default: that of the client.
            timeout: plain std::time::Duration;
        }
    };
}

list_databases_options! { define_options {
    /// Options of [`Client::list_databases`] and [`Client::list_database_names`].
    pub struct ListDatabasesOptions;
} }

impl Client {
    /// Lists the databases with their sizes. Does not use the read preference of the client: runs
    /// on the primary, unless `directConnection` selects another server.
    pub fn list_databases(&self) -> ListDatabases<'_> {
        ListDatabases {
            client: self,
            options: ListDatabasesOptions::default(),
            session: None,
        }
    }

    /// Lists the names of the databases. Faster than [`list_databases`](Self::list_databases),
    /// because the server does not determine the sizes. Does not use the read preference of the
    /// client: runs on the primary, unless `directConnection` selects another server.
    pub fn list_database_names(&self) -> ListDatabaseNames<'_> {
        ListDatabaseNames {
            client: self,
            options: ListDatabasesOptions::default(),
            session: None,
        }
    }
}

/// Lists databases. Await it for a [`Vec`] of [`DatabaseSpecification`]s; see
/// [`Client::list_databases`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct ListDatabases<'a> {
    client: &'a Client,
    options: ListDatabasesOptions,
    session: InSession<'a>,
}

impl<'a> ListDatabases<'a> {
    list_databases_options! { option_setters { ListDatabasesOptions } }

    session_setter!();

    async fn run(self) -> Result<Vec<DatabaseSpecification>> {
        list(self.client, self.options, false, self.session).await
    }
}

awaitable!(['a] ListDatabases<'a> => Vec<DatabaseSpecification>);

/// Lists the names of databases. Await it for a [`Vec`] of names; see
/// [`Client::list_database_names`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct ListDatabaseNames<'a> {
    client: &'a Client,
    options: ListDatabasesOptions,
    session: InSession<'a>,
}

impl<'a> ListDatabaseNames<'a> {
    list_databases_options! { option_setters { ListDatabasesOptions } }

    session_setter!();

    async fn run(self) -> Result<Vec<String>> {
        let databases = list(self.client, self.options, true, self.session).await?;
        Ok(databases.into_iter().map(|database| database.name).collect())
    }
}

awaitable!(['a] ListDatabaseNames<'a> => Vec<String>);

/// Runs the command of both actions.
async fn list(
    client: &Client,
    mut options: ListDatabasesOptions,
    name_only: bool,
    session: InSession<'_>,
) -> Result<Vec<DatabaseSpecification>> {
    options.deferred.take_result()?;
    client.check_outside("listDatabases", session)?;
    let timeout = client.start_timeout(options.timeout, session)?;
    let mut operation = ListDatabasesOperation {
        name_only,
        options: &options,
    };
    client.executor().run_in(session, timeout, &mut operation).await
}

/// `listDatabases` on the primary.
struct ListDatabasesOperation<'a> {
    name_only: bool,
    options: &'a ListDatabasesOptions,
}

impl Operation for ListDatabasesOperation<'_> {
    type Output = Vec<DatabaseSpecification>;

    fn properties(&self) -> Properties<'_> {
        Properties::read("listDatabases", "admin", PRIMARY).without_causal_consistency()
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        command.i32("listDatabases", 1);
        if self.name_only {
            command.bool("nameOnly", true);
        }
        self.options.write(command, server);
        Ok(())
    }

    fn parse(
        &mut self,
        reply: &Reply<'_>,
        _context: &ReplyContext<'_>,
    ) -> Result<Vec<DatabaseSpecification>> {
        let databases = find_element(reply.body, "databases")?.and_then(|element| array_bytes(element.value));
        let invalid =
            || Error::invalid_reply("the reply to listDatabases has no documents in an array \"databases\"");
        RawElements::new(databases.ok_or_else(invalid)?)?
            .map(|element| {
                let database = document_bytes(element?.value).ok_or_else(invalid)?;
                name_in(database, "listDatabases")?;
                Ok(from_slice(database)?)
            })
            .collect()
    }
}

//! `listIndexes`: [`Collection::list_indexes`] and [`Collection::list_index_names`] ([Index
//! Management]).
//!
//! [Index Management]: https://github.com/mongodb/specifications/blob/master/source/index-management/index-management.md

use std::marker::PhantomData;

use super::{
    InSession, awaitable,
    declare::{define_options, option_setters},
    name_in, session_setter,
    wire::WriteOptions,
};
use crate::{
    Collection, Cursor, Error, IndexModel, Namespace, Result,
    api::{collection::CollectionInner, cursor::CursorTimeoutOptions},
    bson::Document,
    error::code::NAMESPACE_NOT_FOUND,
    operation::{
        Operation, OperationOverrides, Properties, ReplyContext,
        cursor::{self, CursorReply},
    },
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        timeout::MaxTime,
    },
    types::read_preference::PRIMARY,
};

/// The options of `list_indexes`. See `api/command/declare.rs`.
macro_rules! list_indexes_options {
    ($then:path { $($arguments:tt)* }) => {
        $then! { { $($arguments)* }
            /// The number of indexes per batch. Default: the server's.
            [cursor] batch_size: plain u32;
            /// How the timeout applies to the cursor. An error without a timeout. Default:
            /// `CursorLifetime`.
            [cursor] timeout_mode: plain crate::options::TimeoutMode;
            /// A comment that appears in the server's log, in the profiler and in `currentOp`
            /// (MongoDB 4.4+). Default: none.
            comment: boxed crate::bson::Bson = "comment";
            /// `timeoutMS`: the time limit for the whole operation, including server selection and
            /// retries. It replaces all other time limits of the operation. Zero means no limit.
            /// Default: that of the collection.
            timeout: plain std::time::Duration;
            /// Read the raw storage of the collection (MongoDB 8.2+; ignored by older servers). For
            /// MongoDB's own tools.
            #[doc(hidden)]
            [cursor driver] raw_data: plain bool = "rawData" since is_8_2;
        }
    };
}

list_indexes_options! { define_options {
    /// Options of [`Collection::list_indexes`] and [`Collection::list_index_names`].
    pub struct ListIndexesOptions;
} }

impl<T> Collection<T> {
    /// Lists the indexes. Awaiting the action returns a [`Cursor`] of [`IndexModel`]s, or of `U`
    /// after [`with_type::<U>()`](ListIndexes::with_type). The cursor is empty if the collection
    /// does not exist. Does not use the read preference of the collection: runs on the primary,
    /// unless `directConnection` selects another server.
    pub fn list_indexes(&self) -> ListIndexes<'_> {
        ListIndexes {
            collection: self.inner(),
            options: ListIndexesOptions::default(),
            session: None,
            output: PhantomData,
        }
    }

    /// Lists the names of the indexes; none if the collection does not exist. Does not use the read
    /// preference of the collection: runs on the primary, unless `directConnection` selects another
    /// server.
    pub fn list_index_names(&self) -> ListIndexNames<'_> {
        ListIndexNames {
            collection: self.inner(),
            options: ListIndexesOptions::default(),
            session: None,
        }
    }
}

/// Lists indexes. Await it for a [`Cursor`]; see [`Collection::list_indexes`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct ListIndexes<'a, T = IndexModel> {
    collection: &'a CollectionInner,
    options: ListIndexesOptions,
    session: InSession<'a>,
    output: PhantomData<fn() -> T>,
}

impl<'a, T> ListIndexes<'a, T> {
    list_indexes_options! { option_setters { ListIndexesOptions } }

    session_setter!();

    /// Deserializes the specifications as `U`, e.g. as [`Document`](crate::bson::Document) for
    /// fields that [`IndexModel`] does not have.
    pub fn with_type<U>(self) -> ListIndexes<'a, U> {
        ListIndexes {
            collection: self.collection,
            options: self.options,
            session: self.session,
            output: PhantomData,
        }
    }

    async fn run(self) -> Result<Cursor<T>> {
        list(self.collection, self.options, self.session).await
    }
}

awaitable!(['a, T: 'a] ListIndexes<'a, T> => Cursor<T>);

/// Lists the names of indexes. Await it for a [`Vec`] of names; see
/// [`Collection::list_index_names`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct ListIndexNames<'a> {
    collection: &'a CollectionInner,
    options: ListIndexesOptions,
    session: InSession<'a>,
}

impl<'a> ListIndexNames<'a> {
    list_indexes_options! { option_setters { ListIndexesOptions without cursor } }

    session_setter!();

    async fn run(self) -> Result<Vec<String>> {
        let mut cursor = list::<Document>(self.collection, self.options, self.session).await?;
        let mut names = Vec::new();
        while cursor.advance().await? {
            names.push(name_in(cursor.current_bytes()?, "listIndexes")?);
        }
        Ok(names)
    }
}

awaitable!(['a] ListIndexNames<'a> => Vec<String>);

async fn list<T>(
    collection: &CollectionInner,
    mut options: ListIndexesOptions,
    session: InSession<'_>,
) -> Result<Cursor<T>> {
    options.deferred.take_result()?;
    let timeout = CursorTimeoutOptions {
        mode: options.timeout_mode,
        ..collection.cursor_timeout("listIndexes", session, options.timeout)?
    }
    .start(session)?;
    let mut operation = ListIndexesOperation {
        namespace: collection.namespace(),
        options: &options,
        has_max_time: timeout.has_max_time(),
    };
    let reply = collection
        .executor()
        .run_in(session, timeout.of_operation(), &mut operation)
        .await?;
    let client = collection.client();
    let Some(reply) = reply else {
        return Ok(Cursor::empty(client, collection.namespace().clone()));
    };
    let comment = options.comment.map(|comment| *comment);
    Ok(Cursor::new(client, reply, options.batch_size, comment)
        .in_session(session)
        .with_time_limit(timeout))
}

/// `listIndexes` on the primary. `None` if the collection does not exist.
struct ListIndexesOperation<'a> {
    namespace: &'a Namespace,
    options: &'a ListIndexesOptions,
    has_max_time: bool,
}

impl Operation for ListIndexesOperation<'_> {
    type Output = Option<CursorReply>;

    fn properties(&self) -> Properties<'_> {
        Properties::read("listIndexes", &self.namespace.database, PRIMARY).without_causal_consistency()
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.namespace.collection)
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        command.str("listIndexes", &self.namespace.collection);
        cursor::write_cursor(command, self.options.batch_size);
        self.options.write(command, server);
        Ok(())
    }

    fn max_time(&self) -> MaxTime {
        MaxTime::of_operation(self.has_max_time)
    }

    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<Option<CursorReply>> {
        cursor::parse(reply, context).map(Some)
    }

    fn recover(&mut self, error: Error) -> Result<Option<CursorReply>> {
        if error.code() == Some(NAMESPACE_NOT_FOUND) {
            Ok(None)
        } else {
            Err(error)
        }
    }

    fn cursor(output: &mut Option<CursorReply>) -> Option<&mut CursorReply> {
        output.as_mut()
    }
}

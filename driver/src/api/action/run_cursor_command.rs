//! `run_cursor_command`.

use std::{marker::PhantomData, time::Duration};

use super::{Deferred, InSession, awaitable, session_setter, setters};
use crate::{
    Cursor, Database, Result,
    bson::{Bson, Document, IntoDocument, RawDocumentBuf},
    operation::run_command::{self, RunCommand},
    types::read_preference::{PRIMARY, ReadPreference},
};

/// Runs any command that opens a cursor. Await it for a [`Cursor`]; see [`Database::run_cursor_command`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct RunCursorCommand<'a, T = Document> {
    database: &'a Database,
    command: RawDocumentBuf,
    read_preference: Option<ReadPreference>,
    options: GetMoreOptions,
    session: InSession<'a>,
    deferred: Deferred,
    output: PhantomData<fn() -> T>,
}

#[derive(Debug, Default)]
struct GetMoreOptions {
    batch_size: Option<u32>,
    max_await_time: Option<Duration>,
    comment: Option<Bson>,
}

impl<'a> RunCursorCommand<'a> {
    pub(crate) fn new(database: &'a Database, command: impl IntoDocument) -> Self {
        let mut deferred = Deferred::default();
        Self {
            database,
            command: deferred.document("command", command),
            read_preference: None,
            options: GetMoreOptions::default(),
            session: None,
            deferred,
            output: PhantomData,
        }
    }
}

impl<'a, T> RunCursorCommand<'a, T> {
    setters! {
        /// How many documents a getMore fetches. The command itself is sent as it is given.
        batch_size: plain = u32;
        /// The `maxTimeMS` of a getMore, which only a tailable cursor that awaits data may have.
        max_await_time: plain = Duration;
        /// A note on each getMore that shows up in the server's logs and profiler.
        comment: value = Bson;
    }

    /// Decodes the results as `U`.
    pub fn with_type<U>(self) -> RunCursorCommand<'a, U> {
        RunCursorCommand {
            database: self.database,
            command: self.command,
            read_preference: self.read_preference,
            options: self.options,
            session: self.session,
            deferred: self.deferred,
            output: PhantomData,
        }
    }

    /// Which member runs the command; the primary unless this is set, whatever the database's preference.
    pub fn read_preference(mut self, preference: ReadPreference) -> Self {
        self.deferred
            .check(preference.validate().map_err(crate::Error::invalid_argument));
        self.read_preference = Some(preference);
        self
    }

    session_setter!();

    async fn run(self) -> Result<Cursor<T>> {
        self.deferred.into_result()?;
        let mut operation = run_command::RunCursorCommand(RunCommand {
            database: self.database.name(),
            command: &self.command,
            read_preference: self.read_preference.as_ref().unwrap_or(PRIMARY),
            implicit_session: true,
            reply: PhantomData,
        });
        let client = self.database.client();
        let reply = client.executor().run_in(self.session, &mut operation).await?;
        let mut cursor = Cursor::new(client, reply, self.options.batch_size, self.options.comment)
            .in_session(self.session);
        cursor.max_await_time(self.options.max_await_time);
        Ok(cursor)
    }
}

awaitable!(['a, T: 'a] RunCursorCommand<'a, T> => Cursor<T>);

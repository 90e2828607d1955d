//! A command given by the application that returns a cursor: [`Database::run_cursor_command`] ([Run
//! Command]).
//!
//! [Run Command]: https://github.com/mongodb/specifications/blob/master/source/run-command/run-command.md

use std::marker::PhantomData;

use super::shown::{FieldNames, debug_without_values};
use super::{
    Deferred, InSession, awaitable,
    declare::{define_options, option_setters},
    run_command::CustomCommand,
    session_setter,
};
use crate::{
    Cursor, Database, Result,
    api::cursor::CursorTimeoutOptions,
    bson::{Document, IntoDocument, RawDocumentBuf},
    operation::{
        Operation, OperationOverrides, Properties, ReplyContext,
        cursor::{self, CursorReply},
    },
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        timeout::MaxTime,
    },
};

/// The options of `run_cursor_command`. All but the read preference apply to getMore. See
/// `api/command/declare.rs`.
macro_rules! run_cursor_command_options {
    ($then:path { $($arguments:tt)* }) => {
        $then! { { $($arguments)* }
            /// `batchSize` of getMore: the number of documents per batch after the first. The size
            /// of the first batch is an option of the command itself. Default: the server's, 16 MiB
            /// per batch.
            batch_size: plain u32;
            /// Whether the cursor of the command is tailable, which determines how the timeout applies to
            /// it, and whether [`Client::shutdown`](crate::Client::shutdown) waits for its end. The driver
            /// does not read the command. Default: `NonTailable`.
            cursor_type: plain crate::options::CursorType;
            /// How the timeout applies to the cursor. An error without a timeout, and
            /// `CursorLifetime` is one for a tailable cursor. Default: `CursorLifetime`; `Iteration` for
            /// a tailable cursor.
            timeout_mode: plain crate::options::TimeoutMode;
            /// `maxTimeMS` of getMore: how long the server waits for documents of a tailable cursor
            /// with `awaitData`, sent in whole milliseconds (at least 1). The server rejects it for
            /// other cursors. Default: the server's, 1 second.
            max_await_time: plain std::time::Duration;
            /// `comment` of getMore (MongoDB 4.4+; not sent to older servers). Default: none.
            comment: boxed crate::bson::Bson;
            /// `timeoutMS`: the time limit for the whole operation, including server selection and
            /// retries. It replaces all other time limits of the operation. Zero means no limit.
            /// Default: that of the database.
            timeout: plain std::time::Duration;
            /// The read preference of the command. Default: primary; the read preference of the
            /// database is not used.
            read_preference: read_preference;
        }
    };
}

run_cursor_command_options! { define_options {
    /// Options of [`Database::run_cursor_command`].
    pub struct RunCursorCommandOptions;
} }

impl Database {
    /// Runs a command that returns a cursor, e.g. a `find` with options that
    /// [`Collection::find`](crate::Collection::find) does not have. The command is sent as it is,
    /// with the fields that the driver adds to all commands. Further batches are fetched from the
    /// same server in the same session. Awaiting the action returns a [`Cursor`] of documents, or
    /// of `U` after [`with_type::<U>()`](RunCursorCommand::with_type).
    ///
    /// # Errors
    /// As [`run_command`](Self::run_command), and
    /// [`ErrorKind::InvalidReply`](crate::ErrorKind::InvalidReply) if the reply has no cursor.
    pub fn run_cursor_command(&self, command: impl IntoDocument) -> RunCursorCommand<'_> {
        let mut deferred = Deferred::default();
        RunCursorCommand {
            database: self,
            command: deferred.document("command", command),
            deferred,
            options: RunCursorCommandOptions::default(),
            session: self.session(),
            output: PhantomData,
        }
    }
}

/// Runs a command that returns a cursor. Await it for a [`Cursor`]; see
/// [`Database::run_cursor_command`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct RunCursorCommand<'a, T = Document> {
    database: &'a Database,
    command: RawDocumentBuf,
    deferred: Deferred,
    options: RunCursorCommandOptions,
    session: InSession<'a>,
    output: PhantomData<fn() -> T>,
}

debug_without_values! {
    [T] RunCursorCommand<'_, T>, "RunCursorCommand", |it|
    database: it.database.name(), command: FieldNames(&it.command), options: it.options
}

impl<'a, T> RunCursorCommand<'a, T> {
    run_cursor_command_options! { option_setters { RunCursorCommandOptions } }

    session_setter!();

    /// Deserializes the results as `U`. Default: [`Document`].
    pub fn with_type<U>(self) -> RunCursorCommand<'a, U> {
        RunCursorCommand {
            database: self.database,
            command: self.command,
            deferred: self.deferred,
            options: self.options,
            session: self.session,
            output: PhantomData,
        }
    }

    async fn run(mut self) -> Result<Cursor<T>> {
        self.deferred.take_result()?;
        let options = &mut self.options;
        options.deferred.take_result()?;
        let timeout = CursorTimeoutOptions {
            mode: options.timeout_mode,
            cursor_type: options.cursor_type.unwrap_or_default(),
            max_await_time: options.max_await_time,
            ..self
                .database
                .cursor_timeout("runCursorCommand", self.session, options.timeout)?
        }
        .start(self.session)?;
        let mut operation = RunCursorCommandOperation {
            command: CustomCommand::new(
                self.database.name(),
                &self.command,
                options.read_preference.as_deref(),
            ),
            has_max_time: timeout.has_max_time(),
        };
        let client = self.database.client();
        let reply = client
            .executor()
            .run_in(self.session, timeout.of_operation(), &mut operation)
            .await?;
        let comment = options.comment.take().map(|comment| *comment);
        let mut cursor = Cursor::new(client, reply, options.batch_size, comment)
            .in_session(self.session)
            .with_time_limit(timeout);
        cursor.max_await_time(options.max_await_time);
        Ok(cursor)
    }
}

awaitable!(['a, T: 'a] RunCursorCommand<'a, T> => Cursor<T>);

/// Runs a command and parses the cursor in its reply.
struct RunCursorCommandOperation<'a> {
    command: CustomCommand<'a>,
    has_max_time: bool,
}

impl Operation for RunCursorCommandOperation<'_> {
    type Output = CursorReply;

    fn properties(&self) -> Properties<'_> {
        self.command.properties()
    }

    fn collection(&self) -> Option<&str> {
        self.command.collection()
    }

    fn operation_name(&self) -> &str {
        "runCursorCommand"
    }

    fn is_sensitive(&self) -> bool {
        self.command.is_sensitive()
    }

    fn overrides(&self) -> OperationOverrides {
        self.command.overrides()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, _server: &HelloReply) -> Result<()> {
        self.command.build(command)
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

//! `explain`: how the server would run another command ([CRUD specification], "Explain").
//!
//! [CRUD specification]: https://github.com/mongodb/specifications/blob/master/source/crud/crud.md

use std::{borrow::Cow, fmt, time::Duration};

use super::{
    Deferred, InSession, awaitable, check_read_concern,
    declare::{define_options, option_setters},
    wire::WriteOptions,
};
use crate::{
    Error, Result,
    api::{collection::CollectionInner, cursor::CursorTimeoutOptions},
    bson::{Document, RawDocument},
    operation::{
        Operation, OperationOverrides, Properties, ReadScope, ReplyContext, decode_owned,
        write_command::Statements,
    },
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        server_selection::Criteria,
    },
    types::{
        concern::ReadConcern, cursor_type::CursorType, read_preference::ReadPreference,
        server_requirement::ServerRequirement, timeout_mode::TimeoutMode,
    },
};

/// The options of `explain`. See `api/command/declare.rs`.
macro_rules! explain_options {
    ($then:path { $($arguments:tt)* }) => {
        $then! { { $($arguments)* }
            /// How much the explanation contains. Default: `QueryPlanner`, the command is not executed.
            verbosity: plain crate::options::ExplainVerbosity;
            /// `maxTimeMS` of `explain`: the time limit for the explanation on the server, sent in whole
            /// milliseconds (1 to 2³¹ - 1). If it expires, the server returns error 50
            /// (`MaxTimeMSExpired`). Not sent if a `timeout` (`timeoutMS`) applies: it is computed from
            /// the time left. Default: that of the explained action, if it is set.
            max_time: plain std::time::Duration = "maxTimeMS";
            /// A comment that appears in the server's log, in the profiler and in `currentOp`
            /// (MongoDB 4.4+). The comment of the explained action is part of the explained command.
            /// Default: none.
            comment: boxed crate::bson::Bson = "comment";
            /// `timeoutMS`: the time limit for the whole explanation, including server selection and
            /// retries. It replaces all other time limits. Zero means no limit. Default: that of the
            /// explained action, or else of its collection or database.
            timeout: plain std::time::Duration;
        }
    };
}

explain_options! { define_options {
    /// Options of [`Explain`].
    pub struct ExplainOptions;
} }

/// Defines the method `explain` of an action.
macro_rules! explain_method {
    ($($body:tt)*) => {
        /// Returns how the server would run the command, instead of running it: awaiting the returned
        /// action returns the reply to `explain`. Nothing is written, also with a
        /// [verbosity](crate::action::Explain::verbosity) that executes the command. See
        /// [`Explain`](crate::action::Explain) for its options.
        $($body)*
    };
}
pub(super) use explain_method;

/// Writes the explained command.
type Build<'a> =
    Box<dyn Fn(&CollectionInner, &mut CommandBuilder<'_>, &HelloReply) -> Result<()> + Send + Sync + 'a>;

/// On which server the explained command would run.
#[derive(Debug, Default)]
pub(super) enum Explained {
    /// A write: on a writable server.
    #[default]
    Write,
    /// A read, with the concern and the read preference of the action.
    Read(Option<Box<ReadConcern>>, Option<Box<ReadPreference>>),
    /// A pipeline with `$out` or `$merge`, as a read.
    AggregateWithWrite(Option<Box<ReadConcern>>, Option<Box<ReadPreference>>),
}

/// Options of a cursor, which are checked as those of the explained action. An explanation has no cursor.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExplainedCursor {
    pub(super) timeout_mode: Option<TimeoutMode>,
    pub(super) cursor_type: CursorType,
    pub(super) max_await_time: Option<Duration>,
}

/// Explains a command. Await it for the reply of the server as a [`Document`], which contains
/// `queryPlanner` and, depending on the [`verbosity`](Self::verbosity), `executionStats`; an
/// aggregation may return `stages`, and a sharded cluster `shards`.
///
/// An explanation runs in the session of the explained action. It cannot be part of a transaction. It
/// has the read concern and the read preference of the action, but no write concern. The time limits of the
/// action apply where the explanation sets none, also after [`with_options`](Self::with_options). It is
/// [retryable](crate::action#retries), because it writes nothing.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) if an argument of the explained
/// action is invalid, or if a transaction is in progress in its session: nothing is sent then.
/// Also if the read concern of the action cannot be used in its session, or if the time limits of the action
/// contradict each other. [`ErrorKind::Command`](crate::ErrorKind::Command) if the server rejects the command,
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if it does not support an option.
/// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) if the time limit expires, and
/// [`ErrorKind::Shutdown`](crate::ErrorKind::Shutdown) if the client was shut down or its runtime has ended.
///
/// # Cancel safety
/// If the future is dropped, the late reply is discarded.
///
/// ```no_run
/// # async fn run(books: marula_driver::Collection<marula_driver::bson::Document>) -> marula_driver::Result<()> {
/// use std::time::Duration;
/// use marula_driver::{bson::doc, options::ExplainVerbosity};
///
/// let explained = books
///     .find(doc! { "author": "Shelley" })
///     .explain()
///     .verbosity(ExplainVerbosity::ExecutionStats)
///     .max_time(Duration::from_secs(2))
///     .await?;
/// let examined = explained.get_document("executionStats").ok().and_then(|stats| stats.get("totalDocsExamined"));
/// println!("examined documents: {examined:?}");
/// # Ok(()) }
/// ```
#[must_use = "nothing is sent before the action is awaited"]
pub struct Explain<'a> {
    collection: Cow<'a, CollectionInner>,
    whole_database: bool,
    explained: Explained,
    build: Build<'a>,
    deferred: Deferred,
    /// The time limits of the explained action, which apply where the options set none.
    max_time: Option<Duration>,
    timeout: Option<Duration>,
    cursor: ExplainedCursor,
    /// The server version that the options of the explained action need.
    requires: Option<Box<ServerRequirement>>,
    options: ExplainOptions,
    session: InSession<'a>,
}

impl<'a> Explain<'a> {
    /// `build` writes the explained command. Its concerns and `maxTimeMS` are omitted. `deferred` are
    /// the first errors of its arguments.
    pub(super) fn new(
        collection: Cow<'a, CollectionInner>,
        session: InSession<'a>,
        deferred: [Deferred; 2],
        explained: Explained,
        build: impl Fn(&CollectionInner, &mut CommandBuilder<'_>, &HelloReply) -> Result<()> + Send + Sync + 'a,
    ) -> Self {
        let [first, second] = deferred;
        Self {
            collection,
            whole_database: false,
            explained,
            build: Box::new(build),
            deferred: first.or(second),
            max_time: None,
            timeout: None,
            cursor: ExplainedCursor::default(),
            requires: None,
            options: ExplainOptions::default(),
            session,
        }
    }

    /// The explained action has invalid arguments.
    pub(super) fn with_error(mut self, error: Deferred) -> Self {
        self.deferred = self.deferred.or(error);
        self
    }

    /// An aggregation on a database instead of a collection.
    pub(super) fn of_database(mut self, whole_database: bool) -> Self {
        self.whole_database = whole_database;
        self
    }

    /// The time limits of the explained action, which options can replace.
    pub(super) fn with_limits(mut self, max_time: Option<Duration>, timeout: Option<Duration>) -> Self {
        self.max_time = max_time;
        self.timeout = timeout;
        self
    }

    /// The server version that the explained action needs.
    pub(super) fn requiring(mut self, requires: Option<Box<ServerRequirement>>) -> Self {
        self.requires = requires;
        self
    }

    /// The options of the cursor of the explained action.
    pub(super) fn with_cursor(mut self, cursor: ExplainedCursor) -> Self {
        self.cursor = cursor;
        self
    }

    explain_options! { option_setters { ExplainOptions } }

    async fn run(&mut self) -> Result<Document> {
        self.deferred.take_result()?;
        self.options.deferred.take_result()?;
        if self
            .session
            .is_some_and(|session| session.lock().open_transaction().is_some())
        {
            // The error of the server would abort the transaction.
            return Err(Error::invalid_argument(
                "explain cannot be part of a transaction; explain the operation without the session, or after the \
                 transaction",
            ));
        }
        self.options.max_time = self.options.max_time.or(self.max_time);
        // Checked with the time limit of the action, because the explanation has no cursor.
        let of_action = CursorTimeoutOptions {
            mode: self.cursor.timeout_mode,
            cursor_type: self.cursor.cursor_type,
            max_await_time: self.cursor.max_await_time,
            ..self
                .collection
                .cursor_timeout("explain", self.session, self.timeout)?
        }
        .start(self.session)?;
        let timeout = match self.options.timeout {
            Some(own) => self
                .collection
                .start_timeout("explain", Some(own), self.session)?,
            None => of_action.of_operation(),
        };
        let (concern, preference) = match &self.explained {
            Explained::Write => (None, None),
            Explained::Read(concern, preference) | Explained::AggregateWithWrite(concern, preference) => {
                (concern.as_deref(), preference.as_deref())
            }
        };
        check_read_concern(self.session, concern)?;
        let mut operation = ExplainOperation {
            collection: &self.collection,
            whole_database: self.whole_database,
            explained: &self.explained,
            build: &self.build,
            requires: self.requires.as_deref(),
            options: &self.options,
            scope: self.collection.read_scope(concern, preference),
        };
        let executor = self.collection.executor();
        executor.run_in(self.session, timeout, &mut operation).await
    }
}

awaitable!(in place ['a] Explain<'a> => Document);

impl fmt::Debug for Explain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Explain")
            .field("namespace", self.collection.namespace())
            .field("explained", &self.explained)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Writes an `update` or `delete` with one statement. Outside of `explain`, statements are sent as a
/// document sequence.
pub(super) fn build_single(
    statement: &mut impl Statements,
    collection: &CollectionInner,
    command: &mut CommandBuilder<'_>,
    server: &HelloReply,
) -> Result<()> {
    single(statement, &collection.namespace().collection, command, server)
}

fn single<S: Statements>(
    statement: &mut S,
    collection: &str,
    command: &mut CommandBuilder<'_>,
    server: &HelloReply,
) -> Result<()> {
    let mut encoded = Vec::new();
    statement.append(0, &mut encoded)?;
    command.str(S::KIND.command(), collection);
    let encoded = RawDocument::from_bytes(&encoded).map_err(Error::invalid_argument)?;
    command.documents(S::KIND.sequence(), [encoded]);
    statement.write_options(command, server);
    Ok(())
}

/// The `explain` command.
struct ExplainOperation<'a> {
    collection: &'a CollectionInner,
    whole_database: bool,
    explained: &'a Explained,
    build: &'a Build<'a>,
    requires: Option<&'a ServerRequirement>,
    options: &'a ExplainOptions,
    scope: ReadScope<'a>,
}

impl Operation for ExplainOperation<'_> {
    type Output = Document;

    fn properties(&self) -> Properties<'_> {
        let read = self.scope.properties("explain").without_causal_consistency();
        Properties {
            criteria: match self.explained {
                Explained::Write => Criteria::Writable,
                Explained::Read(..) => Criteria::Read(self.scope.read_preference),
                Explained::AggregateWithWrite(..) => Criteria::AggregateWithWrite(self.scope.read_preference),
            },
            ..read
        }
    }

    fn collection(&self) -> Option<&str> {
        (!self.whole_database).then_some(&self.scope.namespace.collection)
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn requirement(&self) -> Option<&ServerRequirement> {
        self.requires
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        command.nested("explain", |command| {
            (self.build)(self.collection, command, server)
        })?;
        command.str("verbosity", self.options.verbosity.unwrap_or_default().as_str());
        self.options.write(command, server);
        match self.explained {
            Explained::Write => {}
            Explained::Read(..) | Explained::AggregateWithWrite(..) => {
                command.read_concern(self.scope.read_concern);
            }
        }
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<Document> {
        decode_owned(reply.body)
    }
}

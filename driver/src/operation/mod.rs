//! The trait [`Operation`], which the executor runs, and what the commands in `api/command` share.

pub(crate) mod cursor;
mod properties;
pub(crate) mod write_command;
pub(crate) mod write_result;

pub(crate) use crate::proto::session::OperationOverrides;
use cursor::CursorReply;
pub(crate) use properties::{ImplicitSession, Properties, Retry};

use crate::{
    Error, Namespace, Result, ServerAddress,
    pool::PooledConnection,
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        server_selection::Patience,
        session::ServerSession,
        timeout::MaxTime,
        wire::{DEFAULT_MAX_MESSAGE_SIZE, MessageWriter},
    },
    types::{concern::ReadConcern, read_preference::ReadPreference, server_requirement::ServerRequirement},
};

/// What the server may be doing with the command of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CommandState {
    /// It was not sent, or the server has refused it.
    #[default]
    Idle,
    /// It was sent, and its reply was not read.
    Running,
    /// Its reply was read, and is decrypted.
    Answered,
}

/// How an operation uses the session that it borrows of a cursor or of a change stream. The owner of the session keeps
/// this value, for the case that the future of the operation is dropped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionUse {
    /// The state of the command that was sent last.
    pub(crate) command: CommandState,
    /// Whether a reply was not read because of a network error or because it violates the wire protocol.
    pub(crate) is_reply_lost: bool,
}

impl SessionUse {
    /// The session after the operation has ended or its future was dropped: marked as dirty after a reply was lost, and
    /// `None` while the server may run a command in it ("A session ID MUST NOT be used simultaneously by more than one
    /// operation", Driver Sessions).
    pub(crate) fn end(self, session: Option<ServerSession>) -> Option<ServerSession> {
        let mut session = session.filter(|_| self.command != CommandState::Running)?;
        if self.is_reply_lost {
            session.mark_dirty();
        }
        Some(session)
    }
}

/// The namespace, read concern and read preference of a read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadScope<'a> {
    pub(crate) namespace: &'a Namespace,
    pub(crate) read_concern: &'a ReadConcern,
    pub(crate) read_preference: &'a ReadPreference,
}

impl<'a> ReadScope<'a> {
    /// The properties of a read command with this name.
    #[inline]
    pub(crate) fn properties(&self, name: &'a str) -> Properties<'a> {
        Properties::read(name, &self.namespace.database, self.read_preference)
    }
}

/// A command: how it is written and how its reply is parsed. It has no access to connections or to
/// the time.
pub(crate) trait Operation {
    /// The result of the reply.
    type Output;

    /// The properties of the operation.
    fn properties(&self) -> Properties<'_>;

    /// The collection that the command is about, for events and traces. `None` for a command on a
    /// database or on the deployment.
    fn collection(&self) -> Option<&str> {
        None
    }

    /// The name of the operation in traces (OpenTelemetry specification, "Covered Operations"): that
    /// of the command, with a few exceptions.
    fn operation_name(&self) -> &str {
        self.properties().name
    }

    /// The concerns and the read preference that the operation sets itself, which transactions do
    /// not permit or restrict.
    fn overrides(&self) -> OperationOverrides {
        OperationOverrides::default()
    }

    /// The server version that the operation needs. It is checked before each attempt.
    #[inline]
    fn requirement(&self) -> Option<&ServerRequirement> {
        None
    }

    /// For a command of a cursor: the number of the transaction that the cursor was opened in,
    /// `Some(None)` if it was opened outside of transactions.
    fn cursor_transaction(&self) -> Option<Option<i64>> {
        None
    }

    /// How long server selection waits until a server is suitable.
    fn patience(&self) -> Patience {
        Patience::UntilDeadline
    }

    /// Whether events omit the command and its reply (Command Logging and Monitoring, "Security").
    fn is_sensitive(&self) -> bool {
        false
    }

    /// Writes the fields of the command, beginning with its name. Called for each attempt.
    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()>;

    /// What the command sends as `maxTimeMS` if the operation has a time limit (`timeoutMS`). The
    /// executor writes it.
    fn max_time(&self) -> MaxTime {
        MaxTime::Remaining
    }

    /// Parses a reply with `ok: 1`.
    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<Self::Output>;

    /// The cursor in the output. It takes the bytes of the reply. If it is still open, it also
    /// takes the implicit session and, in load-balanced mode, the connection.
    fn cursor(_output: &mut Self::Output) -> Option<&mut CursorReply> {
        None
    }

    /// Fixes the parts of the command that depend on the limits of the server. Called when the
    /// server of an attempt is known, before [`properties`](Self::properties) determine the session
    /// and the retries. A retry must contain what the first attempt contained.
    fn prepare(&mut self, _server: &HelloReply) {}

    /// Writes the document sequences, which follow the body.
    fn build_sequences(&mut self, _message: &mut MessageWriter<'_>, _server: &HelloReply) -> Result<()> {
        Ok(())
    }

    /// The result of an unacknowledged write, which has no reply.
    fn unacknowledged(&mut self) -> Result<Self::Output> {
        let name = self.properties().name;
        Err(Error::invalid_argument(format!(
            "{name} requires an acknowledged write concern"
        )))
    }

    /// Called after an attempt whose reply was not read, because of a network error or because it violates the
    /// wire protocol: the server may still run the command. The session
    /// of the executor is then marked as dirty; an operation that has a session of its own does so
    /// itself, whether or not a retry succeeds.
    fn reply_lost(&mut self) {}

    /// Called when the state of the command changes. If the future of the operation is dropped, the last state
    /// is that in which the server may be, for operations that have a session of their own.
    #[inline(always)]
    fn command_state(&mut self, _state: CommandState) {}

    /// Called if the server replied with `ok: 0`, except for `ReauthenticationRequired`, after
    /// which the command is sent again.
    fn refused(&mut self, _error: &Error) {}

    /// Converts some errors of the server to a result, e.g. `NamespaceNotFound` of a drop. `error` is the one that
    /// would be returned: a timeout if the time limit has expired.
    fn recover(&mut self, error: Error) -> Result<Self::Output> {
        Err(error)
    }

    /// The failure of a write that the output does not contain, for traces.
    fn failure(&self) -> Option<Error> {
        None
    }

    /// The pinned connection of the cursor that the operation continues. The executor takes it
    /// while the operation runs.
    fn pin(&mut self) -> Option<&mut Option<Box<PooledConnection>>> {
        None
    }
}

/// Bytes of a message that a command with many statements leaves unused, for `lsid`, `txnNumber`,
/// `$clusterTime`, the read concern and the Stable API options. A retry can have fields that the
/// first attempt did not have, and must contain the same statements.
pub(crate) const RESERVED: usize = 1000;

/// The maximum number of bytes that the statements and the command's own fields may take in a
/// message to this server.
pub(crate) fn message_budget(server: &HelloReply) -> usize {
    let budget = single_budget(server);
    server.max_statement_bytes.map_or(budget, |most| most.min(budget))
}

/// As [`message_budget`], for a command with one statement.
pub(crate) fn single_budget(server: &HelloReply) -> usize {
    let limit = server.max_message_size().unwrap_or(DEFAULT_MAX_MESSAGE_SIZE);
    limit.saturating_sub(RESERVED)
}

/// The origin of a reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyContext<'a> {
    pub(crate) address: &'a ServerAddress,
}

/// Deserializes a document that the server returned; `T` may borrow from it. The error contains the
/// bytes of the document as its response, so that callers can identify the document.
#[inline]
pub(crate) fn decode<'de, T: serde::Deserialize<'de>>(bytes: &'de [u8]) -> Result<T> {
    match crate::bson::from_slice(bytes) {
        Ok(value) => Ok(value),
        Err(error) => Err(undecoded(error, bytes)),
    }
}

/// As [`decode`], for types that do not borrow. `Document` is decoded without serde and without
/// recursion.
#[inline]
pub(crate) fn decode_owned<T: serde::de::DeserializeOwned + 'static>(bytes: &[u8]) -> Result<T> {
    match crate::bson::from_slice_owned(bytes) {
        Ok(value) => Ok(value),
        Err(error) => Err(undecoded(error, bytes)),
    }
}

/// The error of a document that cannot be decoded.
#[cold]
pub(crate) fn undecoded(error: crate::bson::DecodeError, bytes: &[u8]) -> crate::Error {
    let error = crate::Error::from(error);
    match crate::bson::RawDocument::from_bytes(bytes) {
        Ok(document) => error.with_response(document),
        Err(_) => error,
    }
}

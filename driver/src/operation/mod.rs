//! One file per server command: its options, how it is written, how its reply is read.

pub(crate) mod aggregate;
pub(crate) mod count;
pub(crate) mod create;
pub(crate) mod create_indexes;
pub(crate) mod cursor;
pub(crate) mod distinct;
pub(crate) mod drop;
pub(crate) mod get_more;
pub(crate) mod kill_cursors;
pub(crate) mod list;
pub(crate) mod modify_collection;
pub(crate) mod run_command;
pub(crate) mod search_indexes;
pub(crate) mod write_command;
pub(crate) mod write_result;

use std::{any::Any, fmt};

use cursor::CursorReply;

use crate::{
    Namespace, Result, ServerAddress,
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        retry::Intent,
        server_selection::Criteria,
        session::ServerSession,
        wire::{DEFAULT_MAX_MESSAGE_SIZE, MessageWriter, ReplyBuffer},
    },
    types::{
        concern::{ReadConcern, WriteConcern},
        read_preference::ReadPreference,
    },
};

/// Where and how a read runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadScope<'a> {
    pub(crate) namespace: &'a Namespace,
    pub(crate) read_concern: &'a ReadConcern,
    pub(crate) read_preference: &'a ReadPreference,
}

/// Whether an operation may be sent a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    /// Never.
    No,
    /// As the Retryable Reads specification says.
    Read,
    /// With a transaction number, as the Retryable Writes specification says.
    Write,
}

/// A command as data: what to send and how to read the reply. Knows nothing of sockets, servers' addresses or time.
pub(crate) trait Operation {
    /// What the reply is turned into.
    type Output;

    /// The command's name.
    const NAME: &'static str;

    /// The same of this one command, where the application names it.
    fn command_name(&self) -> &str {
        Self::NAME
    }

    /// The database the command is addressed to.
    fn database(&self) -> &str;

    /// Where it may run.
    fn target(&self) -> Criteria<'_>;

    /// Whether it may be sent again.
    fn retry(&self) -> Retry {
        Retry::No
    }

    /// Whose permission it needs to be sent again to an overloaded server.
    fn intent(&self) -> Intent {
        match self.retry() {
            Retry::Read => Intent::Read,
            Retry::Write | Retry::No => Intent::Write,
        }
    }

    /// The write concern it is sent with, if it writes.
    fn write_concern(&self) -> Option<&WriteConcern> {
        None
    }

    /// False for an unacknowledged write.
    fn expects_reply(&self) -> bool {
        self.write_concern().is_none_or(WriteConcern::is_acknowledged)
    }

    /// The session this operation must use instead of one of its own: that of the cursor it continues.
    fn session(&self) -> Option<&ServerSession> {
        None
    }

    /// Whether the command belongs to a session at all.
    fn uses_session(&self) -> bool {
        true
    }

    /// Whether it fails when the application's session has ended, instead of being sent without one.
    fn needs_session(&self) -> bool {
        true
    }

    /// Called when the server of a try is known, and before the try asks anything else: fixes what the command will hold, as
    /// far as the server's limits decide about it. A retry holds what the first try held.
    fn prepare(&mut self, _server: &HelloReply) {}

    /// Writes the command's own fields, its name first. Called again for a retry.
    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()>;

    /// Writes document sequences after the body.
    fn build_sequences(&mut self, _message: &mut MessageWriter<'_>, _server: &HelloReply) -> Result<()> {
        Ok(())
    }

    /// Reads a reply with `ok: 1`.
    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<Self::Output>;

    /// The result of an unacknowledged write, whose reply never comes.
    fn unacknowledged(&mut self) -> Result<Self::Output> {
        Err(crate::Error::invalid_argument(format!(
            "{} cannot be unacknowledged",
            Self::NAME
        )))
    }

    /// The server replied to the command with this error (`ok: 0`). Not called for "reauthentication required", after which
    /// the command is sent again.
    fn refused(&mut self, _error: &crate::Error) {}

    /// Turns some errors of the server into a result, e.g. "namespace not found" of a drop.
    fn recover(&mut self, error: crate::Error) -> Result<Self::Output> {
        Err(error)
    }

    /// Lets an output that needs the reply's bytes take them out of the connection.
    fn attach_reply(_output: &mut Self::Output, _take: impl FnOnce() -> ReplyBuffer) {}

    /// The cursor that the output is, if the server has more for it: it keeps the session, and behind a load balancer the
    /// connection.
    fn open_cursor(_output: &mut Self::Output) -> Option<&mut CursorReply> {
        None
    }

    /// Where the cursor that this operation continues keeps its connection, if it has one. It is taken for the time of the
    /// operation.
    fn pin(&mut self) -> Option<&mut Option<Pinned>> {
        None
    }
}

/// A connection that somebody holds on to. This layer does not know connections, so it cannot look inside.
pub(crate) struct Pinned(pub(crate) Box<dyn Any + Send + Sync>);

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pinned")
    }
}

/// Writes `rawData`, which servers before 8.2 do not know and need not be told.
fn write_raw_data(command: &mut CommandBuilder<'_>, raw_data: Option<bool>, server: &HelloReply) {
    command.optional_bool("rawData", raw_data.filter(|_| server.max_wire_version >= 27));
}

/// Bytes of a message that a command with many statements leaves unused. `lsid`, `txnNumber`, `$clusterTime`, a read concern
/// and the declared API go into them: a retry can have fields that the first try did not have, and must hold the same statements.
const RESERVED: usize = 1000;

/// Bytes that statements and the fields of one command may take in a message to this server.
fn message_budget(server: &HelloReply) -> usize {
    let limit = server.max_message_size().unwrap_or(DEFAULT_MAX_MESSAGE_SIZE);
    limit.saturating_sub(RESERVED)
}

/// Where a reply came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyContext<'a> {
    pub(crate) address: &'a ServerAddress,
}

/// Decodes a document that the server returned; `T` may borrow from it. The error carries the document's bytes as response, so that callers can
/// say which document it was.
#[inline]
pub(crate) fn decode<'de, T: serde::Deserialize<'de>>(bytes: &'de [u8]) -> Result<T> {
    match crate::bson::from_slice(bytes) {
        Ok(value) => Ok(value),
        Err(error) => Err(with_document(error, bytes)),
    }
}

/// As [`decode`], for types that own what they hold: documents as trees are built without serde, at any depth.
#[inline]
pub(crate) fn decode_owned<T: serde::de::DeserializeOwned + 'static>(bytes: &[u8]) -> Result<T> {
    match crate::bson::from_slice_owned(bytes) {
        Ok(value) => Ok(value),
        Err(error) => Err(with_document(error, bytes)),
    }
}

#[cold]
fn with_document(error: crate::bson::DecodeError, bytes: &[u8]) -> crate::Error {
    let error = crate::Error::from(error);
    match crate::bson::RawDocument::from_bytes(bytes) {
        Ok(document) => error.with_response(document),
        Err(_) => error,
    }
}

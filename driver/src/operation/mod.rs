//! What the executor runs: [`Operation`], and what the commands in `api/command` share.

pub(crate) mod cursor;
mod properties;
pub(crate) mod write_command;
pub(crate) mod write_result;

use cursor::CursorReply;
pub(crate) use properties::{ImplicitSession, Properties, Retry};

use crate::{
    Error, Namespace, Result, ServerAddress,
    pool::PooledConnection,
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        wire::{DEFAULT_MAX_MESSAGE_SIZE, MessageWriter},
    },
    types::{concern::ReadConcern, read_preference::ReadPreference},
};

/// Where and how a read runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadScope<'a> {
    pub(crate) namespace: &'a Namespace,
    pub(crate) read_concern: &'a ReadConcern,
    pub(crate) read_preference: &'a ReadPreference,
}

impl<'a> ReadScope<'a> {
    /// The properties of a read in this scope.
    #[inline]
    pub(crate) fn properties(&self, name: &'a str) -> Properties<'a> {
        Properties::read(name, &self.namespace.database, self.read_preference)
    }
}

/// A command as data: what to send and how to read the reply. It has no access to connections or to the time.
pub(crate) trait Operation {
    /// What the reply is turned into.
    type Output;

    /// The properties of this operation.
    fn properties(&self) -> Properties<'_>;

    /// Writes the fields of the command, its name first. Called again for a retry.
    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()>;

    /// Reads a reply with `ok: 1`.
    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<Self::Output>;

    /// The cursor in the output. It takes the reply's bytes; if the server has more documents, it also takes the session, and
    /// behind a load balancer the connection.
    fn cursor(_output: &mut Self::Output) -> Option<&mut CursorReply> {
        None
    }

    /// Fixes what the command holds as far as the server's limits decide about it. Called when the server of an attempt is
    /// known, before [`properties`](Self::properties) decide about session and retries. A retry holds what the first attempt
    /// held.
    fn prepare(&mut self, _server: &HelloReply) {}

    /// Writes document sequences after the body.
    fn build_sequences(&mut self, _message: &mut MessageWriter<'_>, _server: &HelloReply) -> Result<()> {
        Ok(())
    }

    /// The result of an unacknowledged write.
    fn unacknowledged(&mut self) -> Result<Self::Output> {
        let name = self.properties().name;
        Err(Error::invalid_argument(format!(
            "{name} cannot be unacknowledged"
        )))
    }

    /// The server replied to the command with this error (`ok: 0`). Not called for ReauthenticationRequired, after which
    /// the command is sent again.
    fn refused(&mut self, _error: &Error) {}

    /// Turns some errors of the server into a result, e.g. NamespaceNotFound of a drop.
    fn recover(&mut self, error: Error) -> Result<Self::Output> {
        Err(error)
    }

    /// The pinned connection of the cursor that the operation continues. It is taken for the time of the operation.
    fn pin(&mut self) -> Option<&mut Option<Box<PooledConnection>>> {
        None
    }
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

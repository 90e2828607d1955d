//! Command events (Command Logging and Monitoring specification).

use std::time::Duration;

use super::ConnectionInfo;
use crate::{Error, bson::RawDocumentBuf};

/// One step of a command. Each try of an operation is a command of its own: a started event, and then one of the others.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CommandEvent {
    /// A command is about to be sent.
    Started(CommandStartedEvent),
    /// Its reply has come and says `ok: 1`. Write errors and write concern errors count as success.
    Succeeded(CommandSucceededEvent),
    /// The reply says `ok: 0`, or there is none.
    Failed(CommandFailedEvent),
}

impl CommandEvent {
    /// The command's name, as in the reply to `listCommands`.
    pub fn command_name(&self) -> &str {
        match self {
            Self::Started(event) => &event.command_name,
            Self::Succeeded(event) => &event.command_name,
            Self::Failed(event) => &event.command_name,
        }
    }

    /// The number of the message that carried the command; the same in all its events.
    pub fn request_id(&self) -> i32 {
        match self {
            Self::Started(event) => event.request_id,
            Self::Succeeded(event) => event.request_id,
            Self::Failed(event) => event.request_id,
        }
    }

    /// The connection it ran on.
    pub fn connection(&self) -> &ConnectionInfo {
        match self {
            Self::Started(event) => &event.connection,
            Self::Succeeded(event) => &event.connection,
            Self::Failed(event) => &event.connection,
        }
    }
}

/// A command is about to be sent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CommandStartedEvent {
    /// The command as it is sent, document sequences as arrays in it. Empty for sensitive commands.
    pub command: RawDocumentBuf,
    /// The database it is addressed to.
    pub database_name: String,
    /// Its name.
    pub command_name: String,
    /// The number of the message.
    pub request_id: i32,
    /// The number of the operation: the same for all its tries, for all commands of a bulk write or `insert_many`, and for
    /// all commands of a cursor (the one that opens it, `getMore`, `killCursors`).
    pub operation_id: i64,
    /// The connection it runs on.
    pub connection: ConnectionInfo,
}

/// A command got its reply.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CommandSucceededEvent {
    /// From sending the command to having read the reply.
    pub duration: Duration,
    /// The reply; `{ok: 1}` for an unacknowledged write. Empty for sensitive commands.
    pub reply: RawDocumentBuf,
    /// The database the command was addressed to.
    pub database_name: String,
    /// Its name.
    pub command_name: String,
    /// The number of the message.
    pub request_id: i32,
    /// The number of the operation.
    pub operation_id: i64,
    /// The connection it ran on.
    pub connection: ConnectionInfo,
}

/// A command failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CommandFailedEvent {
    /// From sending the command to the failure.
    pub duration: Duration,
    /// Why. For sensitive commands it holds no more of the server's reply than code, code name and labels.
    pub failure: Error,
    /// The database the command was addressed to.
    pub database_name: String,
    /// Its name.
    pub command_name: String,
    /// The number of the message.
    pub request_id: i32,
    /// The number of the operation.
    pub operation_id: i64,
    /// The connection it ran on.
    pub connection: ConnectionInfo,
}

//! Command events ([Command Logging and Monitoring]).
//!
//! [Command Logging and Monitoring]:
//! https://github.com/mongodb/specifications/blob/master/source/command-logging-and-monitoring/command-logging-and-monitoring.md

use std::time::Duration;

use super::ConnectionInfo;
use crate::{Error, bson::RawDocumentBuf};

/// An event of command monitoring. Each attempt of an operation emits a started event, followed by
/// a succeeded or a failed event. If the future of the operation is dropped before the reply was
/// received, the failed event contains a network error of the kind
/// [`Interrupted`](std::io::ErrorKind::Interrupted).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CommandEvent {
    /// A command is about to be sent.
    Started(CommandStartedEvent),
    /// The reply to a command with `ok: 1` was received. Replies with write errors or a write
    /// concern error are included.
    Succeeded(CommandSucceededEvent),
    /// The reply to a command has `ok: 0`, or no reply was received.
    Failed(CommandFailedEvent),
}

impl CommandEvent {
    /// The name of the command, e.g. `find`.
    pub fn command_name(&self) -> &str {
        match self {
            Self::Started(event) => &event.command_name,
            Self::Succeeded(event) => &event.command_name,
            Self::Failed(event) => &event.command_name,
        }
    }

    /// The database of the command.
    pub fn database_name(&self) -> &str {
        match self {
            Self::Started(event) => &event.database_name,
            Self::Succeeded(event) => &event.database_name,
            Self::Failed(event) => &event.database_name,
        }
    }

    /// The collection of the command. `None` for a command on a database or on the deployment, and
    /// for a command of `run_command` that the driver does not know.
    pub fn collection_name(&self) -> Option<&str> {
        match self {
            Self::Started(event) => event.collection_name.as_deref(),
            Self::Succeeded(event) => event.collection_name.as_deref(),
            Self::Failed(event) => event.collection_name.as_deref(),
        }
    }

    /// `requestID` of the message. All events of one command have the same. Each connection counts
    /// its messages: [`connection`](Self::connection) and this number identify a command of a client.
    pub fn request_id(&self) -> i32 {
        match self {
            Self::Started(event) => event.request_id,
            Self::Succeeded(event) => event.request_id,
            Self::Failed(event) => event.request_id,
        }
    }

    /// The connection of the command.
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
    /// The command as it is sent, with document sequences as array fields. Empty for commands that
    /// authenticate or create users.
    pub command: RawDocumentBuf,
    /// The database that the command runs on.
    pub database_name: String,
    /// The collection of the command; see [`CommandEvent::collection_name`].
    pub collection_name: Option<String>,
    /// The name of the command.
    pub command_name: String,
    /// `requestID` of the message, counted on its connection. The events of one command have the
    /// same.
    pub request_id: i32,
    /// The ID of the operation, which its attempts share. All commands of a bulk write or
    /// `insert_many` share one, and so do all commands of a cursor (the one that opens it,
    /// `getMore`, `killCursors`).
    pub operation_id: i64,
    /// The connection of the command.
    pub connection: ConnectionInfo,
}

/// A command succeeded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CommandSucceededEvent {
    /// The time from sending the command to receiving the reply.
    pub duration: Duration,
    /// The reply; `{ok: 1}` for an unacknowledged write. Empty for commands that authenticate or
    /// create users.
    pub reply: RawDocumentBuf,
    /// The database that the command ran on.
    pub database_name: String,
    /// The collection of the command; see [`CommandEvent::collection_name`].
    pub collection_name: Option<String>,
    /// The name of the command.
    pub command_name: String,
    /// `requestID` of the message.
    pub request_id: i32,
    /// The ID of the operation; see [`CommandStartedEvent::operation_id`].
    pub operation_id: i64,
    /// The connection of the command.
    pub connection: ConnectionInfo,
}

/// A command failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CommandFailedEvent {
    /// The time from sending the command to the failure.
    pub duration: Duration,
    /// The error. For commands that authenticate or create users, it contains only the code, the
    /// code name and the labels of the reply.
    pub failure: Error,
    /// The database that the command ran on.
    pub database_name: String,
    /// The collection of the command; see [`CommandEvent::collection_name`].
    pub collection_name: Option<String>,
    /// The name of the command.
    pub command_name: String,
    /// `requestID` of the message.
    pub request_id: i32,
    /// The ID of the operation; see [`CommandStartedEvent::operation_id`].
    pub operation_id: i64,
    /// The connection of the command.
    pub connection: ConnectionInfo,
}

//! The events of one command (Command Logging and Monitoring specification).

use std::{io, time::Instant};

use super::attempt::Attempt;
use crate::{
    Error, ErrorKind, NetworkPhase,
    bson::{RawDocument, RawDocumentBuf, rawdoc},
    error::CommandError,
    operation::Operation,
    pool::PooledConnection,
    proto::{
        event::{
            CommandEvent, CommandFailedEvent, CommandStartedEvent, CommandSucceededEvent, ConnectionInfo,
            EventListener,
        },
        wire::whole_command,
    },
};

/// The events of a command that was sent. Dropped before the command has ended, it emits a failure.
pub(super) struct CommandMonitor<'a> {
    listener: &'a EventListener<CommandEvent>,
    sent: Instant,
    sensitive: bool,
    ended: bool,
    database_name: String,
    command_name: String,
    request_id: i32,
    operation_id: i64,
    connection: ConnectionInfo,
}

impl<'a> CommandMonitor<'a> {
    /// Emits `CommandStartedEvent` for the command that was written to the connection. `None`
    /// without a listener. Boxed, since most operations have none.
    pub(super) fn start<O: Operation>(
        attempt: &Attempt<'a>,
        operation: &O,
        connection: &PooledConnection,
    ) -> Option<Box<Self>> {
        let listener = attempt.executor.settings.command_listener.as_ref()?;
        if !listener.is_interested() {
            return None;
        }
        let command = whole_command(connection.request()).unwrap_or_default();
        let properties = operation.properties();
        let hello = connection.hello();
        let mut monitor = Box::new(Self {
            listener,
            sent: Instant::now(),
            sensitive: operation.is_sensitive(),
            ended: false,
            database_name: properties.database.to_owned(),
            command_name: properties.name.to_owned(),
            request_id: connection.request_id(),
            operation_id: attempt.operation_id,
            connection: ConnectionInfo {
                address: attempt.server.address().clone(),
                connection_id: connection.id(),
                server_connection_id: hello.connection_id,
                service_id: hello.service_id,
            },
        });
        listener.emit(&CommandEvent::Started(CommandStartedEvent {
            command: monitor.shown(command),
            database_name: monitor.database_name.clone(),
            command_name: monitor.command_name.clone(),
            request_id: monitor.request_id,
            operation_id: monitor.operation_id,
            connection: monitor.connection.clone(),
        }));
        monitor.sent = Instant::now();
        Some(monitor)
    }

    /// Called after a reply with `ok: 1`, or without a reply after an unacknowledged write.
    pub(super) fn succeeded(monitor: Option<Box<Self>>, reply: Option<&[u8]>) {
        if let Some(mut monitor) = monitor {
            monitor.emit_succeeded(reply);
        }
    }

    /// Called after a reply with `ok: 0`, or if no reply was received.
    pub(super) fn failed(monitor: Option<Box<Self>>, error: &Error) {
        if let Some(mut monitor) = monitor {
            monitor.emit_failed(error);
        }
    }

    fn emit_succeeded(&mut self, reply: Option<&[u8]>) {
        self.ended = true;
        let duration = self.sent.elapsed();
        let reply = match reply {
            // A reply with `ok: 1` is a document.
            Some(bytes) => RawDocument::from_bytes(bytes)
                .map(ToOwned::to_owned)
                .unwrap_or_default(),
            None => rawdoc! { "ok": 1 },
        };
        self.listener
            .emit(&CommandEvent::Succeeded(CommandSucceededEvent {
                duration,
                reply: self.shown(reply),
                database_name: self.database_name.clone(),
                command_name: self.command_name.clone(),
                request_id: self.request_id,
                operation_id: self.operation_id,
                connection: self.connection.clone(),
            }));
    }

    fn emit_failed(&mut self, error: &Error) {
        self.ended = true;
        let duration = self.sent.elapsed();
        self.listener.emit(&CommandEvent::Failed(CommandFailedEvent {
            duration,
            failure: if self.sensitive {
                redacted(error)
            } else {
                error.clone()
            },
            database_name: self.database_name.clone(),
            command_name: self.command_name.clone(),
            request_id: self.request_id,
            operation_id: self.operation_id,
            connection: self.connection.clone(),
        }));
    }

    fn shown(&self, document: RawDocumentBuf) -> RawDocumentBuf {
        if self.sensitive {
            RawDocumentBuf::new()
        } else {
            document
        }
    }
}

impl Drop for CommandMonitor<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let why = io::Error::new(io::ErrorKind::Interrupted, "the operation was dropped");
            let error = Error::network(NetworkPhase::Read, why).with_address(&self.connection.address);
            self.emit_failed(&error);
        }
    }
}

/// Code, code name and labels of the error: what a reply to a sensitive command may show.
fn redacted(error: &Error) -> Error {
    let ErrorKind::Command(command) = error.kind() else {
        return error.clone();
    };
    Error::new(ErrorKind::Command(CommandError {
        code: command.code,
        code_name: command.code_name.clone(),
        message: String::new(),
    }))
    .with_labels(error.labels().to_vec())
}

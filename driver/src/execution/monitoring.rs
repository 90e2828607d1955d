//! The events and the span of one command (Command Logging and Monitoring, OpenTelemetry).

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
    telemetry::{CommandSpan, TracedCommand},
};

/// The events and the span of a command that was sent. Dropped before the command has ended, it
/// reports a failure.
pub(super) struct CommandMonitor<'a> {
    /// `None` without a listener.
    events: Option<CommandEvents<'a>>,
    span: CommandSpan,
}

impl<'a> CommandMonitor<'a> {
    /// Emits `CommandStartedEvent` and starts a span for the command that was written to the
    /// connection. `None` without a listener and a tracer. Boxed, since most operations have none.
    pub(super) fn start<O: Operation>(
        attempt: &Attempt<'a>,
        operation: &O,
        connection: &PooledConnection,
    ) -> Option<Box<Self>> {
        let listener = attempt.executor.settings.command_listener.as_ref();
        let listener = listener.filter(|listener| listener.is_interested());
        let is_traced = attempt.scope.span.is_recording();
        if listener.is_none() && !is_traced {
            return None;
        }
        // Started before the listener is called: the span contains all that the command causes.
        let span = if is_traced {
            let properties = operation.properties();
            attempt.scope.span.command(&TracedCommand {
                name: properties.name,
                database: properties.database,
                collection: operation.collection(),
                is_sensitive: operation.is_sensitive(),
                address: attempt.server.address(),
                connection_id: connection.id(),
                server_connection_id: connection.hello().connection_id,
                message: connection.request(),
            })
        } else {
            CommandSpan::none()
        };
        let mut monitor = Box::new(Self { events: None, span });
        monitor.events =
            listener.map(|listener| CommandEvents::start(listener, attempt, operation, connection));
        Some(monitor)
    }

    /// Called after a reply with `ok: 1`, or without a reply after an unacknowledged write.
    pub(super) fn succeeded(monitor: Option<Box<Self>>, reply: Option<&[u8]>) {
        if let Some(mut monitor) = monitor {
            monitor.span.succeeded(reply);
            if let Some(events) = &mut monitor.events {
                events.emit_succeeded(reply);
            }
        }
    }

    /// Called after a reply with `ok: 0`, or if no reply was received.
    pub(super) fn failed(monitor: Option<Box<Self>>, error: &Error) {
        if let Some(mut monitor) = monitor {
            monitor.span.failed(error);
            if let Some(events) = &mut monitor.events {
                events.emit_failed(error);
            }
        }
    }
}

/// The events of a command that was sent. Dropped before the command has ended, it emits a failure.
struct CommandEvents<'a> {
    listener: &'a EventListener<CommandEvent>,
    sent: Instant,
    sensitive: bool,
    ended: bool,
    database_name: String,
    collection_name: Option<String>,
    command_name: String,
    request_id: i32,
    operation_id: i64,
    connection: ConnectionInfo,
}

impl<'a> CommandEvents<'a> {
    fn start<O: Operation>(
        listener: &'a EventListener<CommandEvent>,
        attempt: &Attempt<'a>,
        operation: &O,
        connection: &PooledConnection,
    ) -> Self {
        let command = whole_command(connection.request()).unwrap_or_default();
        let properties = operation.properties();
        let hello = connection.hello();
        let mut events = Self {
            listener,
            sent: Instant::now(),
            sensitive: operation.is_sensitive(),
            ended: false,
            database_name: properties.database.to_owned(),
            collection_name: operation.collection().map(str::to_owned),
            command_name: properties.name.to_owned(),
            request_id: connection.request_id(),
            operation_id: attempt.scope.id,
            connection: ConnectionInfo {
                address: attempt.server.address().clone(),
                connection_id: connection.id(),
                server_connection_id: hello.connection_id,
                service_id: hello.service_id,
            },
        };
        listener.emit(&CommandEvent::Started(CommandStartedEvent {
            command: events.shown(command),
            database_name: events.database_name.clone(),
            collection_name: events.collection_name.clone(),
            command_name: events.command_name.clone(),
            request_id: events.request_id,
            operation_id: events.operation_id,
            connection: events.connection.clone(),
        }));
        events.sent = Instant::now();
        events
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
                collection_name: self.collection_name.clone(),
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
            collection_name: self.collection_name.clone(),
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

impl Drop for CommandEvents<'_> {
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

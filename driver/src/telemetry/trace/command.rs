//! The span of a command.

use std::{fmt, sync::Arc};

use opentelemetry::{
    KeyValue,
    global::BoxedSpan,
    trace::{Span, Status},
};

use super::{
    error, namespace,
    operation::{Recorded, Started},
    system,
};
use crate::{
    Error, ServerAddress,
    proto::{
        event::catch_panic,
        open_telemetry::{CommandFields, Target, cursor_id, statement},
        wire::{command_body, whole_command},
    },
    telemetry::text,
};

/// A command that was written and is about to be sent.
pub(crate) struct TracedCommand<'a> {
    pub(crate) name: &'a str,
    pub(crate) database: &'a str,
    pub(crate) collection: Option<&'a str>,
    /// Sensitive commands have no span.
    pub(crate) is_sensitive: bool,
    pub(crate) address: &'a ServerAddress,
    pub(crate) connection_id: u32,
    pub(crate) server_connection_id: Option<i64>,
    /// The bytes of the message.
    pub(crate) message: &'a [u8],
}

/// The span of a command. Dropped before it is ended, it ends with an error.
pub(crate) struct CommandSpan(Option<Sent>);

struct Sent {
    span: BoxedSpan,
    operation: Arc<Started>,
}

impl CommandSpan {
    /// No span.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    pub(super) fn start(operation: &Arc<Started>, command: &TracedCommand<'_>) -> Self {
        if command.is_sensitive {
            operation.set_recorded(Recorded::Secret);
            return Self::none();
        }
        let span = operation.client.start(
            command.name.to_owned(),
            command.attributes(),
            &operation.context,
            |span, is_recording| is_recording.then_some(span),
        );
        let Some(mut span) = span else {
            return Self::none();
        };
        let limit = operation.client.text_limit;
        if limit > 0
            && let Some(command) = whole_command(command.message)
        {
            let text = text::document(&statement(&command), limit);
            catch_panic(|| span.set_attribute(KeyValue::new("db.query.text", text)));
        }
        Self(Some(Sent {
            span,
            operation: Arc::clone(operation),
        }))
    }

    /// Ends the span after a reply with `ok: 1`, or without a reply after an unacknowledged write.
    pub(crate) fn succeeded(&mut self, reply: Option<&[u8]>) {
        let Some(mut sent) = self.0.take() else {
            return;
        };
        catch_panic(|| {
            if let Some(id) = reply.and_then(cursor_id) {
                sent.span.set_attribute(KeyValue::new("db.mongodb.cursor_id", id));
            }
            sent.span.end();
        });
    }

    /// Ends the span after a reply with `ok: 0`, or if no reply was received.
    pub(crate) fn failed(&mut self, error: &Error) {
        let Some(mut sent) = self.0.take() else {
            return;
        };
        sent.operation.set_recorded(Recorded::OnCommand);
        catch_panic(|| {
            sent.span.set_status(Status::error(error.to_string()));
            sent.span.set_attributes(error::attributes(error));
            sent.span.end();
        });
    }
}

impl TracedCommand<'_> {
    fn attributes(&self) -> Vec<KeyValue> {
        let target = Target {
            name: self.name,
            database: self.database,
            collection: self.collection,
        };
        let mut attributes = Vec::with_capacity(14);
        attributes.push(system());
        namespace(&target, &mut attributes);
        attributes.push(KeyValue::new("db.command.name", self.name.to_owned()));
        attributes.push(KeyValue::new("db.query.summary", target.summary()));
        attributes.push(KeyValue::new("server.address", self.address.host().into_owned()));
        let transport = match self.address.port() {
            Some(port) => {
                attributes.push(KeyValue::new("server.port", i64::from(port)));
                "tcp"
            }
            None => "unix",
        };
        attributes.push(KeyValue::new("network.transport", transport));
        attributes.push(KeyValue::new(
            "db.mongodb.driver_connection_id",
            i64::from(self.connection_id),
        ));
        if let Some(id) = self.server_connection_id {
            attributes.push(KeyValue::new("db.mongodb.server_connection_id", id));
        }
        let fields = command_body(self.message).map_or_else(CommandFields::default, CommandFields::read);
        if let Some(lsid) = fields.lsid {
            attributes.push(KeyValue::new("db.mongodb.lsid", lsid));
        }
        if let Some(number) = fields.transaction_number {
            attributes.push(KeyValue::new("db.mongodb.txn_number", number));
        }
        if let Some(id) = fields.cursor_id {
            attributes.push(KeyValue::new("db.mongodb.cursor_id", id));
        }
        attributes
    }
}

impl Drop for CommandSpan {
    /// The future of the operation was dropped.
    fn drop(&mut self) {
        if self.0.is_some() {
            self.failed(&error::dropped());
        }
    }
}

impl fmt::Debug for CommandSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CommandSpan")
    }
}

//! Log messages of the component `command` (Command Logging and Monitoring). All are at level
//! debug.

use tracing::{Level, enabled};

use super::{Style, endpoint, milliseconds, text};
use crate::proto::event::CommandEvent;

const TARGET: &str = "marula_driver::command";

/// Whether a subscriber is interested in the messages.
pub(super) fn is_wanted() -> bool {
    enabled!(target: TARGET, Level::DEBUG)
}

/// Emits one message: its own fields, the fields of all command messages, and the text.
macro_rules! message {
    ($style:ident, $event:ident, $text:literal $(, $field:ident = $value:expr)*) => {{
        let (host, port) = endpoint(&$event.connection.address);
        let service = $event.connection.service_id.map(|id| id.to_hex());
        emit!(
            debug,
            $style,
            commandName = $event.command_name,
            databaseName = $event.database_name,
            requestId = $event.request_id,
            operationId = $event.operation_id,
            driverConnectionId = $event.connection.connection_id,
            serverConnectionId = $event.connection.server_connection_id,
            serverHost = &*host,
            serverPort = port,
            serviceId = service.as_deref(),
            $($field = $value,)*
            $text
        );
    }};
}

pub(super) fn log(style: &Style, event: &CommandEvent) {
    let limit = style.max_document_length;
    match event {
        CommandEvent::Started(event) => {
            let command = text::document(&event.command, limit);
            message!(style, event, "Command started", command = command);
        }
        CommandEvent::Succeeded(event) => {
            let (duration, reply) = (milliseconds(event.duration), text::document(&event.reply, limit));
            message!(
                style,
                event,
                "Command succeeded",
                durationMS = duration,
                reply = reply
            );
        }
        CommandEvent::Failed(event) => {
            let (duration, failure) = (milliseconds(event.duration), text::error(&event.failure));
            let reply = event
                .failure
                .server_response()
                .map(|reply| text::document(reply, limit));
            message!(
                style,
                event,
                "Command failed",
                durationMS = duration,
                failure = failure,
                serverResponse = reply.as_deref()
            );
        }
    }
}

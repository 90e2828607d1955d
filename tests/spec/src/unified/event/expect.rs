//! Compares recorded events with expected ones.

use marula_driver::{
    bson::{Bson, Document, ObjectId},
    event::{CommandEvent, ConnectionInfo, PoolEvent, SdamEvent},
};

use super::{Event, EventLog};
use crate::unified::{
    description,
    matcher::{Lookup, matches_root, show},
};

/// An expected event: its name and fields.
pub(crate) struct Expected<'a> {
    name: &'a str,
    expected_fields: &'a Document,
}

impl<'a> Expected<'a> {
    /// Parses `{nameOfTheEvent: {…}}`.
    pub(crate) fn new(event: &'a Bson) -> Result<Self, String> {
        let document = event
            .as_document()
            .ok_or("an expected event must be a document")?;
        match document.iter().next() {
            Some((name, Bson::Document(expected_fields))) if document.len() == 1 => Ok(Self {
                name,
                expected_fields,
            }),
            _ => Err(format!(
                "an expected event must have one key with a document: {}",
                show(event)
            )),
        }
    }

    /// Compares a recorded event with this one.
    ///
    /// # Errors
    /// Returns the first difference.
    pub(crate) fn matches(&self, event: &Event, lookup: &dyn Lookup) -> Result<(), String> {
        if event.name() != self.name {
            return Err(format!("expected {}, found {}", self.name, summary(event)));
        }
        self.expected_fields
            .iter()
            .try_for_each(|(key, expected_fields)| field(event, key, expected_fields, lookup))
            .map_err(|why| format!("{}: {why}", summary(event)))
    }
}

/// Compares all events of a client and type with an element of `expectEvents`.
pub(crate) fn check(list: &Document, log: &EventLog, lookup: &dyn Lookup) -> Result<(), String> {
    let group = list.get_str("eventType").unwrap_or("command");
    let expected = list.get_array("events").map_err(|e| e.to_string())?;
    let extra_is_fine = list.get_bool("ignoreExtraEvents").unwrap_or(false);
    let actual: Vec<Event> = log
        .events()
        .into_iter()
        .filter(|event| event.group() == group)
        .collect();
    let all = || {
        let names: Vec<String> = actual.iter().map(summary).collect();
        format!("all {group} events: [{}]", names.join(", "))
    };
    for (index, expected_fields) in expected.iter().enumerate() {
        let expected_fields = Expected::new(expected_fields)?;
        match actual.get(index) {
            None => {
                return Err(format!(
                    "{group} event {index}: expected {}, found none; {}",
                    expected_fields.name,
                    all()
                ));
            }
            Some(event) => expected_fields
                .matches(event, lookup)
                .map_err(|why| format!("{group} event {index}: {why}; {}", all()))?,
        }
    }
    if actual.len() > expected.len() && !extra_is_fine {
        return Err(format!(
            "expected {} {group} event(s), found {}; {}",
            expected.len(),
            actual.len(),
            all()
        ));
    }
    Ok(())
}

/// A short description for messages.
fn summary(event: &Event) -> String {
    match event {
        Event::Command(event_) => format!("{} of {}", event.name(), event_.command_name()),
        _ => event.name().to_owned(),
    }
}

fn field(event: &Event, key: &str, expected_fields: &Bson, lookup: &dyn Lookup) -> Result<(), String> {
    let text = |actual: &str| match expected_fields {
        Bson::String(expected_fields) if expected_fields == actual => Ok(()),
        _ => Err(format!(
            "{key}: expected {}, found \"{actual}\"",
            show(expected_fields)
        )),
    };
    let flag = |actual: bool| match expected_fields {
        Bson::Boolean(expected_fields) if *expected_fields == actual => Ok(()),
        _ => Err(format!(
            "{key}: expected {}, found {actual}",
            show(expected_fields)
        )),
    };
    let kind = |actual: &str| match expected_fields
        .as_document()
        .map(|d| (d.get_str("type"), d.len()))
    {
        Some((Ok(expected_fields), 1)) if expected_fields == actual => Ok(()),
        Some((_, 0)) => Ok(()),
        _ => Err(format!(
            "{key}: expected {}, found type \"{actual}\"",
            show(expected_fields)
        )),
    };
    match (event, key) {
        (Event::Command(event), "commandName") => text(event.command_name()),
        (Event::Command(event), "databaseName") => text(database(event)),
        (Event::Command(event), "hasServiceId") => flag(has_service(event.connection())),
        (Event::Command(event), "hasServerConnectionId") => {
            flag(event.connection().server_connection_id.is_some_and(|id| id > 0))
        }
        (Event::Command(CommandEvent::Started(event)), "command") => {
            document(expected_fields, &event.command, lookup).map_err(|why| format!("command {why}"))
        }
        (Event::Command(CommandEvent::Succeeded(event)), "reply") => {
            document(expected_fields, &event.reply, lookup).map_err(|why| format!("reply {why}"))
        }
        (Event::Pool(PoolEvent::PoolCleared { service_id, .. }), "hasServiceId") => {
            flag(is_set(service_id.as_ref()))
        }
        (
            Event::Pool(PoolEvent::PoolCleared {
                interrupt_in_use_connections,
                ..
            }),
            "interruptInUseConnections",
        ) => flag(*interrupt_in_use_connections),
        (Event::Pool(PoolEvent::ConnectionClosed { reason, .. }), "reason") => text(&reason.to_string()),
        (Event::Pool(PoolEvent::ConnectionCheckOutFailed { reason, .. }), "reason") => {
            text(&reason.to_string())
        }
        (Event::Sdam(event), "awaited") => match event {
            SdamEvent::ServerHeartbeatStarted { awaited, .. }
            | SdamEvent::ServerHeartbeatSucceeded { awaited, .. }
            | SdamEvent::ServerHeartbeatFailed { awaited, .. } => flag(*awaited),
            _ => Err("the event has no \"awaited\"".to_owned()),
        },
        (Event::Sdam(event), "previousDescription" | "newDescription") => {
            let before = key == "previousDescription";
            match event {
                SdamEvent::ServerDescriptionChanged { previous, new, .. } => {
                    kind(&description::server_type(if before { previous } else { new }))
                }
                SdamEvent::TopologyDescriptionChanged { previous, new, .. } => {
                    kind(&description::topology_type(if before { previous } else { new }))
                }
                _ => Err(format!("the event has no \"{key}\"")),
            }
        }
        _ => Err(format!("the event has no \"{key}\"")),
    }
}

fn document(
    expected_fields: &Bson,
    actual: &marula_driver::bson::RawDocument,
    lookup: &dyn Lookup,
) -> Result<(), String> {
    let expected_fields = expected_fields
        .as_document()
        .ok_or("must be an expected document")?;
    let actual =
        marula_driver::bson::decode_document(actual.as_bytes()).map_err(|e| format!("is malformed: {e}"))?;
    matches_root(expected_fields, &actual, lookup)
}

fn database(event: &CommandEvent) -> &str {
    match event {
        CommandEvent::Started(event) => &event.database_name,
        CommandEvent::Succeeded(event) => &event.database_name,
        CommandEvent::Failed(event) => &event.database_name,
        _ => "",
    }
}

fn has_service(connection: &ConnectionInfo) -> bool {
    is_set(connection.service_id.as_ref())
}

fn is_set(id: Option<&ObjectId>) -> bool {
    id.is_some_and(|id| id.bytes() != [0; 12])
}

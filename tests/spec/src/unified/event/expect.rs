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

/// One expected event: its name and what it must hold.
pub(crate) struct Expected<'a> {
    name: &'a str,
    wanted: &'a Document,
}

impl<'a> Expected<'a> {
    /// Reads `{nameOfTheEvent: {…}}`.
    pub(crate) fn new(event: &'a Bson) -> Result<Self, String> {
        let document = event
            .as_document()
            .ok_or("an expected event must be a document")?;
        match document.iter().next() {
            Some((name, Bson::Document(wanted))) if document.len() == 1 => Ok(Self { name, wanted }),
            _ => Err(format!(
                "an expected event must have one key with a document: {}",
                show(event)
            )),
        }
    }

    /// Whether this is the event.
    ///
    /// # Errors
    /// Why it is not.
    pub(crate) fn matches(&self, event: &Event, lookup: &dyn Lookup) -> Result<(), String> {
        if event.name() != self.name {
            return Err(format!("expected {}, found {}", self.name, summary(event)));
        }
        self.wanted
            .iter()
            .try_for_each(|(key, wanted)| field(event, key, wanted, lookup))
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
    for (index, wanted) in expected.iter().enumerate() {
        let wanted = Expected::new(wanted)?;
        match actual.get(index) {
            None => {
                return Err(format!(
                    "{group} event {index}: expected {}, found no more; {}",
                    wanted.name,
                    all()
                ));
            }
            Some(event) => wanted
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

/// An event for a message.
fn summary(event: &Event) -> String {
    match event {
        Event::Command(event_) => format!("{} of {}", event.name(), event_.command_name()),
        _ => event.name().to_owned(),
    }
}

fn field(event: &Event, key: &str, wanted: &Bson, lookup: &dyn Lookup) -> Result<(), String> {
    let text = |actual: &str| match wanted {
        Bson::String(wanted) if wanted == actual => Ok(()),
        _ => Err(format!("{key}: expected {}, found \"{actual}\"", show(wanted))),
    };
    let flag = |actual: bool| match wanted {
        Bson::Boolean(wanted) if *wanted == actual => Ok(()),
        _ => Err(format!("{key}: expected {}, found {actual}", show(wanted))),
    };
    let kind = |actual: &str| match wanted.as_document().map(|d| (d.get_str("type"), d.len())) {
        Some((Ok(wanted), 1)) if wanted == actual => Ok(()),
        Some((_, 0)) => Ok(()),
        _ => Err(format!(
            "{key}: expected {}, found type \"{actual}\"",
            show(wanted)
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
            document(wanted, &event.command, lookup).map_err(|why| format!("command {why}"))
        }
        (Event::Command(CommandEvent::Succeeded(event)), "reply") => {
            document(wanted, &event.reply, lookup).map_err(|why| format!("reply {why}"))
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
            _ => Err("this event has no \"awaited\"".to_owned()),
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
                _ => Err(format!("this event has no \"{key}\"")),
            }
        }
        _ => Err(format!("this event has no \"{key}\"")),
    }
}

fn document(
    wanted: &Bson,
    actual: &marula_driver::bson::RawDocument,
    lookup: &dyn Lookup,
) -> Result<(), String> {
    let wanted = wanted.as_document().ok_or("must be compared with a document")?;
    let actual =
        marula_driver::bson::decode_document(actual.as_bytes()).map_err(|e| format!("is malformed: {e}"))?;
    matches_root(wanted, &actual, lookup)
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

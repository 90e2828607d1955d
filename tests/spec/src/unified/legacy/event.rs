//! `expectations`: the expected events.

use marula_driver::bson::{Bson, Document, doc};

use super::keys::Keys;

/// Converts `expectations`. The actual command may have other keys at its top level.
pub(super) fn events(expectations: Vec<Document>) -> Result<Vec<Document>, String> {
    let converted = |(index, expectation): (usize, Document)| {
        let place = format!("expectations[{index}]");
        let mut keys = Keys::new(&place, expectation);
        let started = keys.required("command_started_event", Keys::document)?;
        keys.finish()?;
        let mut keys = Keys::new(format!("{place}.command_started_event"), started);
        let mut event = doc! { "command": command(keys.required("command", Keys::document)?) };
        for (from, to) in [("command_name", "commandName"), ("database_name", "databaseName")] {
            if let Some(name) = keys.text(from)? {
                event.insert(to, name);
            }
        }
        keys.finish()?;
        Ok(doc! { "commandStartedEvent": event })
    };
    expectations.into_iter().enumerate().map(converted).collect()
}

/// A command: the value `null` stands for a key that must not exist.
fn command(command: Document) -> Document {
    let is_update = super::command_name(&command).is_some_and(|name| name == "update");
    command
        .into_iter()
        .map(|(key, value)| match value {
            Bson::Null => (key, Bson::Document(doc! { "$$exists": false })),
            Bson::Array(updates) if is_update && key == "updates" => {
                (key, updates.into_iter().map(update).collect())
            }
            value => (key, value),
        })
        .collect()
}

/// An update: `multi` and `upsert` are `false` if the file does not have them.
fn update(update: Bson) -> Bson {
    let Bson::Document(mut update) = update else {
        return update;
    };
    for option in ["multi", "upsert"] {
        if !update.contains_key(option) {
            update.insert(option, doc! { "$$unsetOrMatches": false });
        }
    }
    Bson::Document(update)
}

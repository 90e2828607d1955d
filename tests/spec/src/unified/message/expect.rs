//! Compares collected log messages with expected ones.

use marula_driver::bson::{Bson, Document};

use super::{Collector, Message, level};
use crate::unified::matcher::{Lookup, matches_root, show};

/// The prefix of a redacted failure in the driver's log messages.
const REDACTED: &str = "redacted: ";

/// Compares all log messages of a client with an element of `expectLogMessages`.
pub(crate) fn check(list: &Document, collector: &Collector, lookup: &dyn Lookup) -> Result<(), String> {
    let expected = documents(list, "messages");
    let ignored = documents(list, "ignoreMessages");
    let extra_is_fine = list.get_bool("ignoreExtraMessages").unwrap_or(false);
    let is_ignored = |message: &Message| {
        ignored
            .iter()
            .any(|wanted| compare(wanted, message, lookup).is_ok())
    };
    let actual: Vec<Message> = collector
        .messages()
        .into_iter()
        .filter(|message| !is_ignored(message))
        .collect();
    let all = || {
        let names: Vec<String> = actual.iter().map(summary).collect();
        format!("all messages: [{}]", names.join(", "))
    };
    for (index, wanted) in expected.iter().enumerate() {
        let Some(message) = actual.get(index) else {
            let wanted = show(&Bson::Document((*wanted).clone()));
            return Err(format!(
                "message {index}: expected {wanted}, found none; {}",
                all()
            ));
        };
        compare(wanted, message, lookup)
            .map_err(|why| format!("message {index}, {}: {why}; {}", summary(message), all()))?;
    }
    if actual.len() > expected.len() && !extra_is_fine {
        return Err(format!(
            "expected {} message(s), found {}; {}",
            expected.len(),
            actual.len(),
            all()
        ));
    }
    Ok(())
}

fn documents<'a>(list: &'a Document, key: &str) -> Vec<&'a Document> {
    let elements = list.get_array(key).map(Vec::as_slice).unwrap_or_default();
    elements.iter().filter_map(Bson::as_document).collect()
}

fn summary(message: &Message) -> String {
    let text = message.data.get_str("message").unwrap_or("?");
    match message.data.get_str("commandName") {
        Ok(command) => format!("\"{text}\" of {command}"),
        Err(_) => format!("\"{text}\""),
    }
}

fn compare(wanted: &Document, message: &Message, lookup: &dyn Lookup) -> Result<(), String> {
    let name = wanted.get_str("level").unwrap_or_default();
    if level(name) != Some(message.level) {
        return Err(format!("expected level {name}, found {}", message.level));
    }
    let component = wanted.get_str("component").unwrap_or_default();
    if component != message.component {
        return Err(format!(
            "expected component {component}, found {}",
            message.component
        ));
    }
    if let Ok(redacted) = wanted.get_bool("failureIsRedacted") {
        match message.data.get_str("failure") {
            Ok(failure) if failure.starts_with(REDACTED) == redacted => {}
            found => return Err(format!("failureIsRedacted: {redacted}, found {found:?}")),
        }
    }
    let data = wanted.get_document("data").map_err(|error| error.to_string())?;
    matches_root(data, &message.data, lookup)
}

#[cfg(test)]
mod tests {
    use marula_driver::{bson::doc, options::ClientOptions};
    use tracing::Level;

    use super::*;
    use crate::unified::{entity::Entities, stop::Stop};

    fn collected(messages: &[Document]) -> std::sync::Arc<Collector> {
        let Ok(collector) = Collector::new(&doc! { "command": "debug" }, &mut ClientOptions::default())
        else {
            panic!("a collector");
        };
        for data in messages {
            let message = |level, component| Message {
                level,
                component,
                data: data.clone(),
            };
            collector.collect(message(Level::DEBUG, "command"));
            // These two are not observed.
            collector.collect(message(Level::TRACE, "command"));
            collector.collect(message(Level::DEBUG, "topology"));
        }
        collector
    }

    fn is_match(list: &Document, messages: &[Document]) -> bool {
        check(list, &collected(messages), &Entities::default()).is_ok()
    }

    #[test]
    fn messages_are_compared_in_order() {
        let wanted = |n: i32| doc! { "level": "debug", "component": "command", "data": { "n": n } };
        let (one, two) = (doc! { "n": 1_i64, "m": 0 }, doc! { "n": 2_i64 });
        let list = doc! { "messages": [wanted(1), wanted(2)] };
        assert!(is_match(&list, &[one.clone(), two.clone()]));
        assert!(!is_match(&list, &[two.clone(), one.clone()]));
        assert!(!is_match(&list, std::slice::from_ref(&one)));
        let list = doc! { "messages": [wanted(1)] };
        assert!(!is_match(&list, &[one.clone(), two.clone()]));
        let list = doc! { "messages": [wanted(1)], "ignoreExtraMessages": true };
        assert!(is_match(&list, &[one.clone(), two.clone()]));
        let list = doc! { "messages": [wanted(2)], "ignoreMessages": [wanted(1)] };
        assert!(is_match(&list, &[one.clone(), two]));
        for other in [doc! { "level": "info" }, doc! { "component": "topology" }] {
            let mut wanted = wanted(1);
            wanted.extend(other);
            assert!(!is_match(
                &doc! { "messages": [wanted] },
                std::slice::from_ref(&one)
            ));
        }
    }

    #[test]
    fn redaction_is_compared() {
        for (failure, is) in [
            (Some("redacted: X (1)"), Some(true)),
            (Some("no"), Some(false)),
            (None, None),
        ] {
            let mut data = Document::new();
            if let Some(failure) = failure {
                data.insert("failure", failure);
            }
            for expected in [true, false] {
                let wanted = doc! { "level": "debug", "component": "command", "failureIsRedacted": expected, "data": {} };
                let list = doc! { "messages": [wanted] };
                assert_eq!(
                    is_match(&list, std::slice::from_ref(&data)),
                    is == Some(expected),
                    "{failure:?}"
                );
            }
        }
    }

    #[test]
    fn unknown_levels_are_rejected() {
        let made = Collector::new(&doc! { "command": "loud" }, &mut ClientOptions::default());
        assert!(matches!(made, Err(Stop::Failed(_))));
    }
}

//! Log messages as structured `tracing` events ([Logging]).
//!
//! [Logging]:
//! https://github.com/mongodb/specifications/blob/master/source/logging/logging.md

#[cfg(not(feature = "internals"))]
#[macro_use]
mod emit;
#[cfg(feature = "internals")]
#[macro_use]
#[path = "emit_tagged.rs"]
mod emit;

mod command;
mod discovery;
mod level;
mod pool;
mod selection;
mod text;

use std::sync::Arc;

use super::Listeners;
use crate::{ServerAddress, proto::event::EventListener, types::variables::Variables};
pub(crate) use discovery::SrvPollingLog;
use emit::Style;
use level::{Component, Severity};
pub(crate) use selection::{LoggedSelection, SelectionLog};

/// Wraps the listeners of the application with listeners that log the events first.
pub(crate) fn attach(
    listeners: Listeners,
    max_document_length: Option<usize>,
    variables: Variables<'_>,
    tag: Option<String>,
) -> Listeners {
    let limit = |component| level::limit(variables, component);
    let debug = |component| limit(component) >= Severity::Debug;
    let (commands, pools, discovery) = (
        debug(Component::Command),
        debug(Component::Connection),
        debug(Component::Topology),
    );
    let selection = limit(Component::ServerSelection);
    let style = Arc::new(Style::new(
        text::max_document_length(max_document_length, variables),
        tag,
    ));
    let Listeners {
        command, pool, sdam, ..
    } = listeners;
    Listeners {
        command: join(commands, command, command::is_wanted, &style, command::log),
        pool: join(pools, pool, pool::is_wanted, &style, pool::log),
        sdam: join(discovery, sdam, discovery::is_wanted, &style, discovery::log),
        srv_polling: SrvPollingLog::new(&style, discovery),
        selection: SelectionLog::new(&style, selection),
    }
}

/// Logs the warnings of a connection string at level warn with the target
/// `marula_driver::connection_string`. The messages contain no values, which can be secrets.
pub(crate) fn connection_string_warnings(warnings: &[String]) {
    for warning in warnings {
        tracing::warn!(
            target: "marula_driver::connection_string",
            warning = warning.as_str(),
            "Connection string option ignored or deprecated"
        );
    }
}

/// Logs a call that is made in the body of a transaction and is not part of it.
pub(crate) fn call_outside_transaction(
    operation: &str,
    database: &str,
    collection: Option<&str>,
    hint: &str,
) {
    tracing::warn!(
        target: "marula_driver::transaction",
        operation,
        databaseName = database,
        collectionName = collection,
        hint,
        "Call outside of the running transaction"
    );
}

/// Logs a message of libmongocrypt with the target `marula_driver::encryption`. Its messages contain no values; its trace
/// messages, which do, are not passed on.
#[cfg(feature = "encryption")]
pub(crate) fn log_mongocrypt(level: marula_mongocrypt::LogLevel, message: &str) {
    use marula_mongocrypt::LogLevel;

    /// Emits the message at a level.
    macro_rules! message {
        ($level:ident) => {
            tracing::$level!(target: "marula_driver::encryption", "libmongocrypt: {message}")
        };
    }
    match level {
        LogLevel::Warning => message!(warn),
        LogLevel::Info => message!(info),
        _ => message!(error),
    }
}

/// Runs the future in the current span.
pub(super) fn in_current_span<F: Future>(future: F) -> impl Future<Output = F::Output> {
    tracing::Instrument::in_current_span(future)
}

/// Logs an event, then calls the listener of the application, which may inspect the logs.
fn join<E: 'static>(
    enabled: bool,
    own: Option<EventListener<E>>,
    is_wanted: fn() -> bool,
    style: &Arc<Style>,
    log: impl Fn(&Style, &E) + Send + Sync + 'static,
) -> Option<EventListener<E>> {
    if !enabled {
        return own;
    }
    let style = Arc::clone(style);
    Some(match own {
        None => EventListener::while_interested(is_wanted, move |event| log(&style, event)),
        Some(own) => EventListener::new(move |event| {
            if is_wanted() {
                log(&style, event);
            }
            own.emit(event);
        }),
    })
}

/// The fields `serverHost` and `serverPort`.
fn endpoint(address: &ServerAddress) -> (std::borrow::Cow<'_, str>, Option<u16>) {
    (address.host(), address.port())
}

/// The field `durationMS`.
fn milliseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tracing::{Event, Metadata, Subscriber, span};

    use super::*;
    use crate::{
        Error,
        bson::ObjectId,
        proto::{description::TopologyDescription, server_selection::Criteria},
    };

    /// A subscriber that counts the events and panics on each.
    #[derive(Default)]
    struct Panicking(Arc<AtomicUsize>);

    impl Subscriber for Panicking {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }

        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

        fn event(&self, _: &Event<'_>) {
            self.0.fetch_add(1, Ordering::Relaxed);
            panic!("the panic of a subscriber");
        }

        fn enter(&self, _: &span::Id) {}

        fn exit(&self, _: &span::Id) {}
    }

    #[test]
    fn a_panic_of_the_subscriber_ends_neither_selections_nor_srv_polling() {
        let subscriber = Panicking::default();
        let events = Arc::clone(&subscriber.0);
        let style = Arc::new(Style::new(1000, None));
        let topology = TopologyDescription::default();
        tracing::subscriber::with_default(subscriber, || {
            SrvPollingLog::new(&style, true).report(ObjectId::from_bytes([0; 12]), "record", "problem");
            let selection = SelectionLog::new(&style, Severity::Debug)
                .begin("find", 1, Criteria::Writable)
                .expect("the subscriber is interested");
            selection.started(&topology);
            selection.waiting(&topology, None);
            selection.succeeded(&topology, &ServerAddress::parse("a.example:27017").unwrap());
            selection.failed(&topology, &Error::protocol("failure"));
        });
        assert_eq!(events.load(Ordering::Relaxed), 5);
    }
}

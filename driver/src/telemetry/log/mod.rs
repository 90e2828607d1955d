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

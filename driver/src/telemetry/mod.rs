//! Delivery of events: the queue that keeps their order, log messages through the crate `tracing`,
//! and spans through the crate `opentelemetry`.
//!
//! Log messages are created from events, by listeners in front of those of the application. Without
//! the feature `tracing` there are no such listeners; with it, events are created only if a
//! subscriber is interested.

mod context;
mod event_queue;
#[cfg(feature = "tracing")]
mod log;
#[cfg(not(feature = "tracing"))]
#[path = "log_off.rs"]
mod log;
mod scope;
#[cfg(any(feature = "opentelemetry", feature = "tracing"))]
mod text;
#[cfg(feature = "opentelemetry")]
mod trace;
#[cfg(not(feature = "opentelemetry"))]
#[path = "trace_off.rs"]
mod trace;

use crate::proto::event::{CommandEvent, EventListener, PoolEvent, SdamEvent};
pub(crate) use context::in_current_context;
pub(crate) use event_queue::EventQueue;
#[cfg(feature = "encryption")]
pub(crate) use log::log_mongocrypt;
pub(crate) use log::{
    LoggedSelection, SelectionLog, SrvPollingLog, attach, call_outside_transaction,
    connection_string_warnings,
};
pub(crate) use scope::{CommandScope, OperationScope};
pub(crate) use trace::{CommandSpan, OperationSpan, TracedCommand, Tracing, TransactionSpan, untraced};

/// The listeners of a client, by kind of event. Without a listener, events of the kind are not
/// created.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    pub(crate) command: Option<EventListener<CommandEvent>>,
    pub(crate) pool: Option<EventListener<PoolEvent>>,
    pub(crate) sdam: Option<EventListener<SdamEvent>>,
    pub(crate) selection: SelectionLog,
    pub(crate) srv_polling: SrvPollingLog,
}

//! What a client's events become for those who watch it from outside: log messages, through the crate `tracing`.
//!
//! Only the events are read. Logs are one more listener behind that of the application, so that without the feature
//! `tracing` nothing is here, and with it events are made only while a subscriber wants them.

mod event_queue;
#[cfg(feature = "tracing")]
mod log;
#[cfg(not(feature = "tracing"))]
#[path = "log_off.rs"]
mod log;

use crate::proto::event::{CommandEvent, EventListener, PoolEvent, SdamEvent};
pub(crate) use event_queue::EventQueue;
pub(crate) use log::{LoggedSelection, SelectionLog, SrvPollingLog, attach, connection_string_warnings};

/// The listeners of one client, by kind of event. `None`: no event of the kind is made.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    pub(crate) command: Option<EventListener<CommandEvent>>,
    pub(crate) pool: Option<EventListener<PoolEvent>>,
    pub(crate) sdam: Option<EventListener<SdamEvent>>,
    pub(crate) selection: SelectionLog,
    pub(crate) srv_polling: SrvPollingLog,
}

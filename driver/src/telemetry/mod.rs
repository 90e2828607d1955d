//! What a client's events become for those who watch it from outside: log messages, through the crate `tracing`.
//!
//! Only the events are read. Logs are one more listener behind that of the application, so that without the feature
//! `tracing` nothing is here, and with it events are made only while a subscriber wants them.

#[cfg(feature = "tracing")]
mod log;
#[cfg(not(feature = "tracing"))]
#[path = "log_off.rs"]
mod log;

use crate::{
    proto::event::{
        CommandEvent, EventListener, PoolEvent, SdamEvent, ServerSelectionEvent, SrvPollingProblem,
    },
    types::variables::Variables,
};
pub(crate) use log::{attach, connection_string_warnings};

/// Who is told of a client's events.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    pub(crate) command: Option<EventListener<CommandEvent>>,
    pub(crate) pool: Option<EventListener<PoolEvent>>,
    pub(crate) sdam: Option<EventListener<SdamEvent>>,
    pub(crate) selection: Option<EventListener<ServerSelectionEvent>>,
    pub(crate) srv_polling: Option<EventListener<SrvPollingProblem>>,
}

/// How a client logs.
#[derive(Debug, Default)]
#[cfg_attr(not(feature = "tracing"), allow(dead_code, reason = "nothing is logged"))]
pub(crate) struct LogSettings {
    /// Where the `MONGODB_LOG_…` variables are.
    pub(crate) variables: Variables,
    /// What the application says about the length of documents.
    pub(crate) max_document_length: Option<usize>,
    /// Tells the messages of this client from those of others, in tests.
    pub(crate) tag: Option<String>,
}

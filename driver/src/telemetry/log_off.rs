//! Replaces `log` without the feature `tracing`. Nothing is logged.

use std::{convert::Infallible, time::Duration};

use super::Listeners;
use crate::{
    Error, ServerAddress,
    bson::ObjectId,
    proto::{description::TopologyDescription, server_selection::Criteria},
    types::variables::Variables,
};

/// Returns the listeners unchanged.
pub(crate) fn attach(
    listeners: Listeners,
    _max_document_length: Option<usize>,
    _variables: Variables<'_>,
    _tag: Option<String>,
) -> Listeners {
    listeners
}

/// Logs nothing.
pub(crate) fn connection_string_warnings(_warnings: &[String]) {}

/// Logs nothing.
pub(crate) fn call_outside_transaction(
    _operation: &str,
    _database: &str,
    _collection: Option<&str>,
    _hint: &str,
) {
}

/// Logs nothing.
#[cfg(feature = "encryption")]
pub(crate) fn log_mongocrypt(_level: marula_mongocrypt::LogLevel, _message: &str) {}

/// Returns the future unchanged.
pub(super) fn in_current_span<F: Future>(future: F) -> F {
    future
}

/// Logs nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct SelectionLog;

impl SelectionLog {
    pub(crate) fn is_wanted(&self) -> bool {
        false
    }

    pub(crate) fn begin(&self, _: &str, _: i64, _: Criteria<'_>) -> Option<LoggedSelection> {
        None
    }
}

/// Does not exist without the feature `tracing`.
#[derive(Debug)]
pub(crate) struct LoggedSelection(Infallible);

impl LoggedSelection {
    pub(crate) fn started(&self, _: &TopologyDescription) {
        match self.0 {}
    }

    pub(crate) fn waiting(&self, _: &TopologyDescription, _: Option<Duration>) {
        match self.0 {}
    }

    pub(crate) fn succeeded(&self, _: &TopologyDescription, _: &ServerAddress) {
        match self.0 {}
    }

    pub(crate) fn failed(&self, _: &TopologyDescription, _: &Error) {
        match self.0 {}
    }
}

/// Logs nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct SrvPollingLog;

impl SrvPollingLog {
    pub(crate) fn report(&self, _: ObjectId, _: &str, _: &str) {}
}

//! Logs without the feature `tracing`: there are none.

use super::{Listeners, LogSettings};

/// Leaves the listeners as they are.
pub(crate) fn attach(listeners: Listeners, _settings: LogSettings) -> Listeners {
    listeners
}

/// Logs nothing.
pub(crate) fn connection_string_warnings(_warnings: &[String]) {}

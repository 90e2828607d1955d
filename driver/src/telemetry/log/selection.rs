//! Log messages of the component `serverSelection` (Server Selection, "Logging"): "Waiting for
//! suitable server …" at level info, all others at debug.

use std::{sync::Arc, time::Duration};

use tracing::{Level, enabled};

use super::{Style, endpoint, level::Severity, milliseconds, text};
use crate::{
    Error, ServerAddress,
    proto::{description::TopologyDescription, event::catch_panic, server_selection::Criteria},
};

const TARGET: &str = "marula_driver::server_selection";

/// Logs server selections.
#[derive(Clone, Debug, Default)]
pub(crate) struct SelectionLog(Option<Enabled>);

/// The settings of a client whose selections are logged.
#[derive(Clone, Debug)]
struct Enabled {
    style: Arc<Style>,
    limit: Severity,
}

/// A server selection that is logged.
#[derive(Debug)]
pub(crate) struct LoggedSelection {
    log: Enabled,
    operation: String,
    operation_id: i64,
    selector: String,
}

impl SelectionLog {
    /// `limit` is the least severe level that the environment variables allow.
    pub(super) fn new(style: &Arc<Style>, limit: Severity) -> Self {
        Self((limit >= Severity::Info).then(|| Enabled {
            style: Arc::clone(style),
            limit,
        }))
    }

    /// Whether a subscriber is interested in messages of level info.
    pub(crate) fn is_wanted(&self) -> bool {
        self.0.is_some() && enabled!(target: TARGET, Level::INFO)
    }

    /// `None` if no subscriber is interested in the messages of this selection.
    pub(crate) fn begin(
        &self,
        operation: &str,
        operation_id: i64,
        criteria: Criteria<'_>,
    ) -> Option<LoggedSelection> {
        Some(LoggedSelection {
            log: self.0.clone().filter(|_| self.is_wanted())?,
            operation: operation.to_owned(),
            operation_id,
            selector: criteria.to_string(),
        })
    }
}

/// Emits one message: the fields of all selection messages, its own fields, and the text. A panic
/// of the subscriber does not fail the operation.
macro_rules! message {
    ($level:ident, $selection:ident, $topology:ident, $text:literal $(, $field:ident = $value:expr)*) => {{
        let style = &*$selection.log.style;
        catch_panic(|| emit!(
            $level,
            style,
            selector = $selection.selector,
            operation = $selection.operation,
            operationId = $selection.operation_id,
            topologyDescription = %$topology,
            $($field = $value,)*
            $text
        ));
    }};
}

impl LoggedSelection {
    pub(crate) fn started(&self, topology: &TopologyDescription) {
        if self.logs_debug() {
            message!(debug, self, topology, "Server selection started");
        }
    }

    /// No server is suitable. `remaining` is the time until the selection fails; `None` without a
    /// limit.
    pub(crate) fn waiting(&self, topology: &TopologyDescription, remaining: Option<Duration>) {
        message!(
            info,
            self,
            topology,
            "Waiting for suitable server to become available",
            remainingTimeMS = remaining.map(milliseconds)
        );
    }

    pub(crate) fn succeeded(&self, topology: &TopologyDescription, address: &ServerAddress) {
        if self.logs_debug() {
            let (host, port) = endpoint(address);
            message!(
                debug,
                self,
                topology,
                "Server selection succeeded",
                serverHost = &*host,
                serverPort = port
            );
        }
    }

    pub(crate) fn failed(&self, topology: &TopologyDescription, error: &Error) {
        if self.logs_debug() {
            let failure = text::error(error);
            message!(
                debug,
                self,
                topology,
                "Server selection failed",
                failure = failure
            );
        }
    }

    fn logs_debug(&self) -> bool {
        self.log.limit >= Severity::Debug
    }
}

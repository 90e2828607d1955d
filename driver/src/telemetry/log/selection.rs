//! Messages of the component `serverSelection`: waiting at level info, everything else at debug.

use tracing::{Level, enabled};

use super::{Style, endpoint, level::Severity, milliseconds, text};
use crate::proto::event::{SelectionStep, ServerSelectionEvent};

const TARGET: &str = "marula_driver::server_selection";

/// Whether somebody reads at least the more severe ones.
pub(super) fn is_wanted() -> bool {
    enabled!(target: TARGET, Level::INFO)
}

pub(super) fn log(style: &Style, event: &ServerSelectionEvent, limit: Severity) {
    /// One message: the fields of all selections, those of its own, and the text.
    macro_rules! message {
        ($level:ident, $text:literal $(, $field:ident = $value:expr)*) => {
            emit!(
            $level,
            style,
                selector = event.selector,
                operation = event.operation,
                operationId = event.operation_id,
                topologyDescription = %event.topology,
                $($field = $value,)*
                $text
            )
        };
    }
    match &event.step {
        SelectionStep::Waiting { remaining } => message!(
            info,
            "Waiting for suitable server to become available",
            remainingTimeMS = remaining.map(milliseconds)
        ),
        _ if limit < Severity::Debug => {}
        SelectionStep::Started => message!(debug, "Server selection started"),
        SelectionStep::Succeeded { address } => {
            let (host, port) = endpoint(address);
            message!(
                debug,
                "Server selection succeeded",
                serverHost = &*host,
                serverPort = port
            );
        }
        SelectionStep::Failed { failure } => {
            let failure = text::error(failure);
            message!(debug, "Server selection failed", failure = failure);
        }
    }
}

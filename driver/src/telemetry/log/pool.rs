//! Log messages of the component `connection` (CMAP, "Connection Pool Logging"). All are at level
//! debug.

use tracing::{Level, enabled};

use super::{Style, endpoint, milliseconds, text};
use crate::{
    Error,
    bson::ObjectId,
    proto::event::{CheckOutFailedReason, ConnectionClosedReason, PoolEvent},
};

const TARGET: &str = "marula_driver::connection";

/// Whether a subscriber is interested in the messages.
pub(super) fn is_wanted() -> bool {
    enabled!(target: TARGET, Level::DEBUG)
}

pub(super) fn log(style: &Style, event: &PoolEvent) {
    let (host, port) = endpoint(event.address());
    /// Emits one message: the fields of all pool messages, its own fields, and the text.
    macro_rules! message {
        ($text:literal $(, $field:ident = $value:expr)*) => {
            emit!(
            debug,
            style,
                serverHost = &*host,
                serverPort = port,
                $($field = $value,)*
                $text
            )
        };
    }
    match event {
        PoolEvent::PoolCreated { options, .. } => message!(
            "Connection pool created",
            maxIdleTimeMS = options.max_idle_time.map(milliseconds),
            minPoolSize = options.min_pool_size,
            maxPoolSize = options.max_pool_size,
            maxConnecting = options.max_connecting,
            waitQueueTimeoutMS = options.wait_queue_timeout.map(milliseconds)
        ),
        PoolEvent::PoolReady { .. } => message!("Connection pool ready"),
        PoolEvent::PoolCleared { service_id, .. } => {
            let service = service_id.map(ObjectId::to_hex);
            message!("Connection pool cleared", serviceId = service.as_deref());
        }
        PoolEvent::PoolClosed { .. } => message!("Connection pool closed"),
        PoolEvent::ConnectionCreated { connection_id, .. } => {
            message!("Connection created", driverConnectionId = *connection_id);
        }
        PoolEvent::ConnectionReady {
            connection_id,
            duration,
            ..
        } => message!(
            "Connection ready",
            driverConnectionId = *connection_id,
            durationMS = milliseconds(*duration)
        ),
        PoolEvent::ConnectionClosed {
            connection_id,
            reason,
            error,
            ..
        } => {
            let error = shown(error.as_ref(), *reason == ConnectionClosedReason::Error);
            message!(
                "Connection closed",
                driverConnectionId = *connection_id,
                reason = closed_reason(*reason),
                error = error.as_deref()
            );
        }
        PoolEvent::ConnectionCheckOutStarted { .. } => message!("Connection checkout started"),
        PoolEvent::ConnectionCheckOutFailed {
            reason,
            error,
            duration,
            ..
        } => {
            let error = shown(error.as_ref(), *reason == CheckOutFailedReason::ConnectionError);
            message!(
                "Connection checkout failed",
                reason = failed_reason(*reason),
                error = error.as_deref(),
                durationMS = milliseconds(*duration)
            );
        }
        PoolEvent::ConnectionCheckedOut {
            connection_id,
            duration,
            ..
        } => message!(
            "Connection checked out",
            driverConnectionId = *connection_id,
            durationMS = milliseconds(*duration)
        ),
        PoolEvent::ConnectionCheckedIn { connection_id, .. } => {
            message!("Connection checked in", driverConnectionId = *connection_id);
        }
    }
}

/// The text of the error, for reasons that have one.
fn shown(error: Option<&Error>, has_error: bool) -> Option<String> {
    error.filter(|_| has_error).map(text::error)
}

/// The reason in the wording of the specification.
fn closed_reason(reason: ConnectionClosedReason) -> &'static str {
    match reason {
        ConnectionClosedReason::Stale => "Connection became stale because the pool was cleared",
        ConnectionClosedReason::Idle => {
            "Connection has been available but unused for longer than the configured max idle time"
        }
        ConnectionClosedReason::Error => "An error occurred while using the connection",
        ConnectionClosedReason::PoolClosed => "Connection pool was closed",
    }
}

/// The reason in the wording of the specification.
fn failed_reason(reason: CheckOutFailedReason) -> &'static str {
    match reason {
        CheckOutFailedReason::Timeout => "Wait queue timeout elapsed without a connection becoming available",
        CheckOutFailedReason::ConnectionError => {
            "An error occurred while trying to establish a new connection"
        }
        CheckOutFailedReason::PoolClosed => "Connection pool was closed",
    }
}

//! Log messages of the component `topology` (SDAM Logging and Monitoring). All are at level debug.

use std::sync::Arc;

use tracing::{Level, enabled};

use super::{Style, endpoint, milliseconds, text};
use crate::{
    ServerAddress,
    bson::ObjectId,
    proto::event::{SdamEvent, catch_panic},
};

const TARGET: &str = "marula_driver::topology";

/// Whether a subscriber is interested in the messages.
pub(super) fn is_wanted() -> bool {
    enabled!(target: TARGET, Level::DEBUG)
}

pub(super) fn log(style: &Style, event: &SdamEvent) {
    match event {
        SdamEvent::TopologyOpening { topology_id } => {
            deployment(style, *topology_id, "Starting topology monitoring");
        }
        SdamEvent::TopologyDescriptionChanged {
            topology_id,
            previous,
            new,
        } => emit!(
            debug,
            style,
            topologyId = topology_id.to_hex(),
            previousDescription = %previous,
            newDescription = %new,
            "Topology description changed"
        ),
        SdamEvent::TopologyClosed { topology_id } => {
            deployment(style, *topology_id, "Stopped topology monitoring");
        }
        SdamEvent::ServerOpening { topology_id, address } => {
            server(style, *topology_id, address, "Starting server monitoring");
        }
        SdamEvent::ServerClosed { topology_id, address } => {
            server(style, *topology_id, address, "Stopped server monitoring");
        }
        // The message for the topology description contains the server descriptions.
        SdamEvent::ServerDescriptionChanged { .. } => {}
        SdamEvent::ServerHeartbeatStarted { .. }
        | SdamEvent::ServerHeartbeatSucceeded { .. }
        | SdamEvent::ServerHeartbeatFailed { .. } => heartbeat(style, event),
    }
}

/// Logs problems with the SRV records of a `mongodb+srv` client. The specifications define no
/// message for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct SrvPollingLog(Option<Arc<Style>>);

impl SrvPollingLog {
    pub(super) fn new(style: &Arc<Style>, is_enabled: bool) -> Self {
        Self(is_enabled.then(|| Arc::clone(style)))
    }

    /// Logs one problem. A panic of the subscriber does not end SRV polling.
    pub(crate) fn report(&self, topology_id: ObjectId, record: &str, problem: &str) {
        if let Some(style) = self.0.as_deref() {
            catch_panic(|| {
                emit!(
                    debug,
                    style,
                    topologyId = topology_id.to_hex(),
                    srvRecord = record,
                    failure = problem,
                    "SRV record problem"
                );
            });
        }
    }
}

fn deployment(style: &Style, topology_id: ObjectId, text: &str) {
    emit!(debug, style, topologyId = topology_id.to_hex(), "{text}");
}

fn server(style: &Style, topology_id: ObjectId, address: &ServerAddress, text: &str) {
    let (host, port) = endpoint(address);
    emit!(
        debug,
        style,
        topologyId = topology_id.to_hex(),
        serverHost = &*host,
        serverPort = port,
        "{text}"
    );
}

fn heartbeat(style: &Style, event: &SdamEvent) {
    /// Emits one message: the fields of all heartbeat messages, its own fields, and the text.
    macro_rules! message {
        ($topology:ident, $address:ident, $awaited:ident, $driver:ident, $server:ident,
            $text:literal $(, $field:ident = $value:expr)*) => {{
            let (host, port) = endpoint($address);
            emit!(
            debug,
            style,
                topologyId = $topology.to_hex(),
                serverHost = &*host,
                serverPort = port,
                driverConnectionId = *$driver,
                serverConnectionId = *$server,
                awaited = *$awaited,
                $($field = $value,)*
                $text
            );
        }};
    }
    match event {
        SdamEvent::ServerHeartbeatStarted {
            topology_id,
            address,
            awaited,
            driver_connection_id: driver,
            server_connection_id: server,
        } => message!(
            topology_id,
            address,
            awaited,
            driver,
            server,
            "Server heartbeat started"
        ),
        SdamEvent::ServerHeartbeatSucceeded {
            topology_id,
            address,
            duration,
            reply,
            awaited,
            driver_connection_id: driver,
            server_connection_id: server,
        } => message!(
            topology_id,
            address,
            awaited,
            driver,
            server,
            "Server heartbeat succeeded",
            durationMS = milliseconds(*duration),
            reply = text::document(reply, style.max_document_length)
        ),
        SdamEvent::ServerHeartbeatFailed {
            topology_id,
            address,
            duration,
            failure,
            awaited,
            driver_connection_id: driver,
            server_connection_id: server,
        } => message!(
            topology_id,
            address,
            awaited,
            driver,
            server,
            "Server heartbeat failed",
            durationMS = milliseconds(*duration),
            failure = text::error(failure)
        ),
        _ => {}
    }
}
